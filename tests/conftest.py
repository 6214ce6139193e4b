"""Makes Ctrl-C work in tests, and lets the files that take longest begin."""

import pathlib
import signal

# Background jobs of a shell ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Two processes finish at about the same time if the longest files come first.
# Neighbours in this list compile different kernels.
_FIRST = ("test_solver_contract.py", "test_recall_solver.py", "test_pfsi.py",
          "test_match_solver.py", "test_cfr.py", "test_pair_trainer.py",
          "test_open_spiel.py", "test_programs.py")


def pytest_configure(config):
  config.option.loadscopereorder = False  # which would sort by tests a file


def pytest_collection_modifyitems(items):
  folder = pathlib.Path(__file__).parent
  missing = [name for name in _FIRST if not any(folder.rglob(name))]
  assert not missing, f"_FIRST names files that do not exist: {missing}"
  ranks = {name: rank for rank, name in enumerate(_FIRST)}
  items.sort(key=lambda item: ranks.get(item.path.name, len(_FIRST)))
