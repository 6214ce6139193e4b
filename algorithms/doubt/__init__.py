"""An agent that learns by Q-learning when to doubt."""
