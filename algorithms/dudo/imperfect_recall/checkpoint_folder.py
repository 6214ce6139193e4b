"""Trainings in folders: a file for each pair of rounds, and a main file.

A pair's file is written only when its tables have changed, since the tables of
large rounds take gigabytes. The main file says which files belong together, and
what they hold. It is replaced last, so the folder is whole at all times.

One process at a time may write to a folder: see `TrainingFolders.hold`.
"""

import contextlib
import math
import os
import re
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import deals
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import regret_tables

_FILE_KIND = "match_solver"
_ROUND_FILE_KIND = "match_solver_round"
_MAIN_FILE = "match.npz"
_LOCK_FILE = "match.lock"
_TABLE_NAMES = regret_tables.RegretTables("regret", "total")  # in files
_LEAST = {"total": 0.0}  # what the numbers of a table are at least
_ROUND_FILES = r"\d+v\d+-\d+(-\d+)?\.npz"
_MAX_ATTEMPTS = 5  # to read a folder while another process writes to it
_MAX_ROUNDING = 1.0 + 1e-6


class _RoundFile(NamedTuple):
  """The file of a pair of rounds in a folder.

  Attributes:
    name: its name, None if there is no file yet.
    digest: its `checkpoint.Archive.digest`; None if that is not known.
    contents: what tells its tables from all others of this solver, or None.
  """
  name: str | None
  digest: str | None
  contents: tuple[int, int] | None


class _Training(NamedTuple):
  """What the main file of a folder says.

  Attributes:
    records: [round] `deals.RECORD`.
    names: for each pair of rounds the name of its file, or None.
    digests: for each pair of rounds the digest of its file, or None.
    seconds: for each pair of rounds how long it was trained.
    values: dict from rounds to their starters' values.
  """
  records: np.ndarray
  names: list[str | None]
  digests: list[str | None]
  seconds: list[float]
  values: dict[tuple[int, int], float]


class TrainingFolders:
  """Saves trainings and loads them, and knows what it left in which folder."""

  def __init__(self):
    self._saved = {}  # by folder: list of `_RoundFile`, one for each pair
    self._stamps = {}  # by folder: of the main file, as we left it
    self._num_loads = 0  # as many times all tables were replaced
    self._held = {}  # by (process, folder): how many contexts hold it

  @contextlib.contextmanager
  def hold(self, path):
    """Keeps others from saving to a folder as long as the context lasts.

    It may be entered again within the context. `save` enters it, too. The lock
    ends with the process, however that ends. Forked processes do not have it.

    Args:
      path: the folder; it is made if it does not exist.

    Raises:
      ValueError: if another process or another solver holds the folder.
    """
    path = _absolute(path)
    if os.path.lexists(path) and not os.path.isdir(path):
      raise ValueError(f"path={path!r}: must be a folder")
    os.makedirs(path, exist_ok=True)
    key = os.getpid(), path
    with contextlib.ExitStack() as stack:
      if not self._held.get(key):
        try:
          stack.enter_context(files.locked(os.path.join(path, _LOCK_FILE)))
        except files.HeldError as error:
          who = ("another solver of this process"
                 if error.process == str(os.getpid()) else
                 f"process {error.process or 'unknown'}")
          raise ValueError(
              f"path={path!r}: {who} is training there; wait until it has "
              "finished, or choose another folder") from error
      self._held[key] = self._held.get(key, 0) + 1
      try:
        yield
      finally:
        self._held[key] -= 1

  def check_known(self, path):
    """Raises a ValueError if a folder has what this solver does not know."""
    path = _absolute(path)
    if files.stamp(os.path.join(path, _MAIN_FILE)) != self._stamps.get(path):
      raise ValueError(f"path={path!r}: has a training that this solver has "
                       "not loaded, or another process has written there; "
                       "load it first, or choose another folder")

  def save(self, path, identity, trainers):
    """Writes what has changed since the folder was last saved to or loaded.

    Args:
      path: the folder; it is made if it does not exist.
      identity: dict that tells this training from others.
      trainers: list of `trainer.RoundTrainer`.
    """
    with self.hold(path):
      self.check_known(path)
      self._save(_absolute(path), identity, trainers)

  def _save(self, path, identity, trainers):
    parts = rf"({_ROUND_FILES}|{re.escape(_MAIN_FILE)})\.\d+\.part"
    for name in os.listdir(path):  # what killed processes have left
      if re.fullmatch(parts, name):
        os.unlink(os.path.join(path, name))
    before = self._saved.get(path)
    saved = list(before or [_RoundFile(None, None, None)] * len(trainers))
    for number, trainer in enumerate(trainers):
      contents = self._contents(trainer)
      if saved[number].contents == contents:
        continue
      saved[number] = _RoundFile(None, None, contents)
      if trainer.num_sweeps:
        name = _new_name(trainer, before or [])
        digest = checkpoint.save(os.path.join(path, name), _ROUND_FILE_KIND, {},
                                 _arrays_of(trainer))
        saved[number] = _RoundFile(name, digest, contents)
    names = [file.name for file in saved]
    values = pair_trainer.known_values(trainers)
    main_file = os.path.join(path, _MAIN_FILE)
    try:
      checkpoint.save(
          main_file, _FILE_KIND,
          {**identity, "files": names,
           "digests": [file.digest for file in saved],
           "seconds": [trainer.seconds for trainer in trainers],
           "values": [[*key, value] for key, value in values.items()]},
          {"states": _states(trainers)})
    finally:
      stamp = files.stamp(main_file)
      if stamp != self._stamps.get(path):  # it was replaced
        self._saved[path], self._stamps[path] = saved, stamp
    for name in os.listdir(path):
      if name not in names and re.fullmatch(_ROUND_FILES, name):
        os.unlink(os.path.join(path, name))

  def _contents(self, trainer):
    """Returns what tells a trainer's tables from all that it had before."""
    return self._num_loads, trainer.num_sweeps

  def load(self, path, identity, trainers):
    """Reads a training into the trainers.

    All files are read and checked before anything is changed, and then once
    more. Only if the second reading is broken off are the trainers as new.

    Args:
      path: the folder.
      identity: dict of what the training there must have.
      trainers: list of `trainer.RoundTrainer`, modified in place.
    """
    path = _absolute(path)
    main_file = os.path.join(path, _MAIN_FILE)
    for attempt in range(_MAX_ATTEMPTS):
      with contextlib.ExitStack() as stack:
        main = stack.enter_context(checkpoint.opened(main_file, _FILE_KIND))
        training = _read_main(main, identity, trainers)
        try:
          archives = [_open_round(stack, path, *file, trainer)
                      for *file, trainer in zip(training.names,
                                                training.digests, trainers)]
        except ValueError:
          if (files.stamp(main_file) == main.stamp or
              attempt == _MAX_ATTEMPTS - 1):
            raise
          continue  # another process has saved in the meantime
        _verify(archives, trainers)
        self._take(path, training, archives, trainers)
        self._stamps[path] = main.stamp
        return

  def _take(self, path, training, archives, trainers):
    """Makes the trainers what a folder holds."""
    self._num_loads += 1
    first = 0
    try:
      for archive, trainer in zip(archives, trainers):
        trainer.reset()
        if archive is not None:
          for name, table in _arrays_of(trainer).items():
            archive.read_into(name, table)
      for trainer, seconds in zip(trainers, training.seconds):
        end = first + len(trainer.rounds)
        trainer.records[:] = training.records[first:end]
        trainer.seconds = seconds
        trainer.values = {key: training.values[key] for key in trainer.rounds
                          if key in training.values}
        first = end
    except BaseException:
      for trainer in trainers:
        trainer.reset()
      raise
    self._saved[path] = [
        _RoundFile(name, digest, self._contents(trainer))
        for name, digest, trainer in zip(training.names, training.digests,
                                         trainers)]


def is_saved_in(path):
  """Returns whether a training was saved to the folder."""
  return os.path.exists(os.path.join(_absolute(path), _MAIN_FILE))


def _absolute(path):
  return os.path.abspath(files.path_text(path))


def _states(trainers):
  """Returns the records as files hold them, [round, 3] float64."""
  records = np.concatenate([trainer.records for trainer in trainers])
  return records.view(np.float64).reshape(len(records), -1)


def _arrays_of(trainer):
  """Returns the tables of a pair of rounds, by their names in its file."""
  return {f"{a}v{b} {name}": table
          for (a, b), tables in trainer.tables.items()
          for name, table in zip(_TABLE_NAMES, tables)}


def _least(name):
  """Returns what the numbers of an array of a pair's file are at least."""
  return _LEAST.get(name.split()[-1], -math.inf)


def _new_name(trainer, saved):
  """Returns a name for a pair's file that no file of the folder has.

  Args:
    trainer: the `trainer.RoundTrainer`.
    saved: list of `_RoundFile`, those to which the main file refers.
  """
  a, b = trainer.rounds[0]
  taken = {file.name for file in saved}
  begin = f"{a}v{b}-{trainer.num_sweeps}"
  name, number = f"{begin}.npz", 1
  while name in taken:
    number += 1
    name = f"{begin}-{number}.npz"
  return name


def _read_main(archive, identity, trainers):
  """Returns the `_Training` of a main file, or raises a ValueError."""
  path, header = archive.path, archive.header
  if "power" in header:  # the name of gamma in version 0.1.0
    header["gamma"] = header["power"]
  checkpoint.check_header(path, header, identity)
  names = checkpoint.field(path, header, "files", _names, trainers)
  digests = [None] * len(names)
  if "digests" in header:  # not in files of version 0.1.0
    digests = checkpoint.field(path, header, "digests", _digests, names)
  seconds = checkpoint.field(path, header, "seconds", checkpoint.numbers,
                             len(trainers), 0.0)
  values = checkpoint.field(path, header, "values",
                            round_rules.values_from_file)
  for trainer in trainers:
    known = [key in values for key in trainer.rounds]
    if any(known) != all(known):
      raise ValueError(f"path={path!r}: its values must have both or none of "
                       f"the rounds {trainer.rounds}")
  states = archive.read("states", _states(trainers).shape, (np.float64,))
  records = states.reshape(-1).view(deals.RECORD)
  first = 0
  for trainer, name in zip(trainers, names):
    of_pair = records[first:first + len(trainer.rounds)]
    first += len(trainer.rounds)
    _check_records(path, of_pair, name is not None)
  return _Training(records, names, digests, seconds, values)


def _check_records(path, records, has_file):
  """Raises a ValueError unless these can be the records of a pair of rounds.

  Args:
    path: of the main file.
    records: [round] `deals.RECORD`.
    has_file: whether there is a file with tables.
  """
  sweeps, weights = records["sweeps"], records["weight"]
  is_count = np.all((sweeps >= 0) & (sweeps <= checkpoint.MAX_COUNT) &
                    (sweeps == np.floor(sweeps)))
  if not is_count or sweeps[0] - sweeps[-1] not in (0, 1):
    raise ValueError(f"path={path!r}: its states have {sweeps.tolist()} sweeps;"
                     " must be the same whole number of at least 0, or one "
                     "more for the first")
  if np.any((weights > 0) != (sweeps > 0)) or np.any(
      np.abs(records["value"]) > weights * _MAX_ROUNDING):
    raise ValueError(f"path={path!r}: its states have weights that do not fit "
                     "their sweeps and values")
  if sweeps.any() and not has_file:
    raise ValueError(f"path={path!r}: its files must have one for every pair "
                     "of rounds with sweeps")


def _names(name, value, trainers):
  """Returns the value if it is a list of files of pairs, or raises."""
  if not isinstance(value, list) or len(value) != len(trainers):
    raise ValueError(f"{name}: must be a list of {len(trainers)} names")
  for item, trainer in zip(value, trainers):
    a, b = trainer.rounds[0]
    if item is not None and not (
        isinstance(item, str) and item.startswith(f"{a}v{b}-") and
        re.fullmatch(_ROUND_FILES, item)):
      raise ValueError(f"{name}: {str(item)[:99]!r} must be a file of this "
                       f"folder such as {a}v{b}-10.npz")
  return value


def _digests(name, value, names):
  """Returns the value if it is a list of a str for each name, or raises."""
  if not isinstance(value, list) or len(value) != len(names) or not all(
      digest is None or isinstance(digest, str) for digest in value):
    raise ValueError(f"{name}: must be a list of {len(names)} strings")
  return value


def _open_round(stack, folder, name, digest, trainer):
  """Returns the `checkpoint.Archive` of a pair's file; None if it has none.

  Args:
    stack: the `contextlib.ExitStack` that will close it.
    folder: of the file.
    name: of the file, or None.
    digest: what the file must have; None for any.
    trainer: the `trainer.RoundTrainer`.
  """
  if name is None:
    return None
  path = os.path.join(folder, name)
  try:
    archive = stack.enter_context(checkpoint.opened(path, _ROUND_FILE_KIND))
  except FileNotFoundError as error:
    raise ValueError(f"path={path!r}: must be a whole file of this training "
                     f"({error})") from error
  for array, table in _arrays_of(trainer).items():
    archive.check(array, table.shape, (table.dtype,))
  if digest not in (None, archive.digest):
    raise ValueError(f"path={path!r}: must be the file of this training, but "
                     f"is one of another: its digest is {archive.digest}; must "
                     f"be {digest}")
  return archive


def _verify(archives, trainers):
  """Raises a ValueError unless all tables in the files are whole."""
  for archive, trainer in zip(archives, trainers):
    if archive is not None:
      for name in _arrays_of(trainer):
        archive.verify(name, _least(name))
