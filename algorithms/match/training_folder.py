"""Trainings in folders: a file for each pair of rounds, and a main file.

A pair's file is written only when its tables have changed, since the tables of
large rounds take gigabytes. The main file says which files belong together. It
is replaced last, so the folder is whole at all times.

Serves `solver`.
"""

import os
import re
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.match import trainer as match_trainer
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import tables as tables_lib

_FILE_KIND = "match_solver"
_ROUND_FILE_KIND = "match_solver_round"
_MAIN_FILE = "match.npz"
_TABLE_NAMES = tables_lib.RegretTables("regret", "total")  # in files
# Files of rounds, and what a process that was killed has left half-written.
_OWN_FILES = re.compile(r"\d+v\d+-\d+\.npz(\.\d+\.part)?|match\.npz\.\d+\.part")


class _RoundFile(NamedTuple):
  """The file of a pair of rounds in a folder.

  Attributes:
    name: its name, None if there is no file yet.
    sweeps: how many sweeps its tables have.
  """
  name: str | None
  sweeps: int


class TrainingFolders:
  """Saves trainings and loads them, and knows what it left in which folder."""

  def __init__(self):
    self._saved = {}  # by folder: list of `_RoundFile`, one for each pair
    self._stamps = {}  # by folder: of the main file, as we left it

  def save(self, path, identity, trainers):
    """Writes what has changed since the folder was last saved to or loaded.

    Args:
      path: the folder; it is made if it does not exist.
      identity: dict that tells this training from others.
      trainers: list of `trainer.RoundTrainer`.
    """
    path = os.path.abspath(os.fspath(path))
    os.makedirs(path, exist_ok=True)
    main_file = os.path.join(path, _MAIN_FILE)
    if _stamp(main_file) != self._stamps.get(path):
      raise ValueError(f"path={path!r}: has a training that this solver has "
                       "not loaded, or another process has written there; "
                       "load it first, or choose another folder")
    saved = self._saved.setdefault(path,
                                   [_RoundFile(None, 0) for _ in trainers])
    for number, trainer in enumerate(trainers):
      sweeps = trainer.num_sweeps
      if saved[number].sweeps != sweeps:
        a, b = trainer.rounds[0]
        name = f"{a}v{b}-{sweeps}.npz"
        checkpoint.save(os.path.join(path, name), _ROUND_FILE_KIND, {},
                        _arrays_of(trainer))
        saved[number] = _RoundFile(name, sweeps)
    files = [file.name for file in saved]
    values = match_trainer.known_values(trainers)
    try:
      checkpoint.save(
          main_file, _FILE_KIND,
          {**identity, "files": files,
           "seconds": [trainer.seconds for trainer in trainers],
           "values": [[*key, value] for key, value in values.items()]},
          {"states": _states(trainers)})
    finally:
      self._stamps[path] = _stamp(main_file)
    for name in os.listdir(path):
      if name not in (_MAIN_FILE, *files) and _OWN_FILES.fullmatch(name):
        os.unlink(os.path.join(path, name))

  def load(self, path, identity, trainers):
    """Reads a training into the trainers.

    If a file is damaged, the trainers are as new.

    Args:
      path: the folder.
      identity: dict of what the training there must have.
      trainers: list of `trainer.RoundTrainer`, modified in place.
    """
    path = os.path.abspath(os.fspath(path))
    header, arrays = checkpoint.load(os.path.join(path, _MAIN_FILE), _FILE_KIND)
    if "power" in header:  # the name of gamma in version 0.1.0
      header["gamma"] = header["power"]
    checkpoint.check_header(path, header, identity)
    checkpoint.copy_tables(path, arrays, {"states": _states(trainers)})
    _reset(trainers)
    try:
      for trainer, name in zip(trainers, header["files"]):
        if name is not None:
          _load_tables(os.path.join(path, name), trainer)
    except BaseException:
      _reset(trainers)
      raise
    records = arrays["states"].reshape(-1).view(match_rounds.RECORD)
    values = {(a, b): value for a, b, value in header["values"]}
    self._saved = {path: []}
    first = 0
    for trainer, name, seconds in zip(trainers, header["files"],
                                      header["seconds"]):
      trainer.records[:] = records[first:first + len(trainer.rounds)]
      first += len(trainer.rounds)
      trainer.seconds = seconds
      trainer.values = {key: values[key] for key in trainer.rounds
                        if key in values}
      self._saved[path].append(_RoundFile(name, trainer.num_sweeps))
    self._stamps[path] = _stamp(os.path.join(path, _MAIN_FILE))


def is_saved_in(path):
  """Returns whether a training was saved to the folder."""
  return os.path.exists(os.path.join(path, _MAIN_FILE))


def _states(trainers):
  """Returns the records as files hold them, [round, 3] float64."""
  records = np.concatenate([trainer.records for trainer in trainers])
  return records.view(np.float64).reshape(len(records), -1)


def _reset(trainers):
  """Forgets all that was learned."""
  for trainer in trainers:
    trainer.reset()


def _stamp(path):
  """Returns what changes when a file is replaced; None if there is none."""
  try:
    status = os.stat(path)
  except FileNotFoundError:
    return None
  return status.st_mtime_ns, status.st_ino


def _arrays_of(trainer):
  """Returns the tables of a pair of rounds, by their names in its file."""
  return {f"{a}v{b} {name}": table
          for (a, b), tables in trainer.tables.items()
          for name, table in zip(_TABLE_NAMES, tables)}


def _load_tables(path, trainer):
  """Reads the tables of a pair of rounds."""
  try:
    _, arrays = checkpoint.load(path, _ROUND_FILE_KIND)
    checkpoint.copy_tables(path, arrays, _arrays_of(trainer))
  except (FileNotFoundError, ValueError) as error:
    raise ValueError(f"path={path!r}: must be a whole file of this training "
                     f"({error})") from error
