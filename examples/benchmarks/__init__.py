"""Programs that measure speed and memory."""
