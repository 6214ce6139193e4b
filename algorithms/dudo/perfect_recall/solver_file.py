"""The rounds of a `recall_solver.PerfectRecallSolver` in its file.

A file has these arrays for each round, named as in "2v1_regret":

  schedule: [6] int64, by the columns below.
  counts, claims, has_child: the tree (see `growing_tree.tree_from_rows`).
  regret, cumulative, seen: the tables (see `dcfr_kernels.LearnTables`).
  outcomes, responses: the measurements of the last expansion.

Files may come from strangers, so every array is checked before it is used.

`average_policy` reads the policy of such a file without its solver, round by
round, because the file of a large match may be larger than a machine's memory.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import dcfr_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.tabular.tree import named_games

_SCHEDULE = ("iteration", "work_done", "next_expansion", "next_drop", "nodes",
             "rows")
_MAX_SUM = 1.0 + 1e-6  # of probabilities, with rounding
_MAX_RESPONSE = 1.01
_ROUNDING = 2.0  # by which sums of many numbers may be too large
_MAX_ITERATIONS = 2**38  # of a round; the sum of their weights fits in float32


class RoundState(NamedTuple):
  """The state of a round in a file."""
  tree: growing_tree.TreeArrays
  tables: dcfr_kernels.LearnTables
  schedule: dict[str, int]  # with the names of `_SCHEDULE`
  # [role, claim, count] float64, the probabilities of challenges at the last
  # expansion
  outcomes: np.ndarray
  responses: np.ndarray  # [role] float64, the payoffs of best responses then


def arrays_of(key, training):
  """Returns {name: array}, the whole state of a round.

  Args:
    key: (starter's dice, other's dice).
    training: the `recall_solver._RoundTraining`.
  """
  trainer = training.trainer
  tree = trainer.tree
  schedule = [trainer.iteration, training.work_done, training.next_expansion,
              training.next_drop, tree.num_nodes, len(tree.claim)]
  arrays = {"schedule": np.array(schedule, np.int64),
            **growing_tree.rows_of(tree), "regret": trainer.tables.regret,
            "cumulative": trainer.tables.cumulative,
            "seen": trainer.tables.last_update,
            "outcomes": training.outcomes, "responses": training.responses}
  return {_name(key, name): array for name, array in arrays.items()}


def _name(key, name):
  return f"{key[0]}v{key[1]}_{name}"


def read(path, identity, keys, trainings):
  """Reads a file.

  Args:
    path: where.
    identity: dict of what its header must have.
    keys: list of (starter's dice, other's dice).
    trainings: for each round its `recall_solver._RoundTraining`.

  Returns:
    (iteration, index of the current round, max_bytes of the solver that saved
    it, list of `RoundState`).
  """
  with archives.opened(path, base_solver.FILE_KIND) as archive:
    parameters = base_solver.check_identity(path, archive.header, identity,
                                            ("max_bytes",))
    iteration = archives.field(path, archive.header, "iteration",
                               validation.integer, 0, archives.MAX_COUNT)
    current = archives.field(path, archive.header, "present",
                             validation.integer, 0, len(keys) - 1)
    archive.check_packing()
    states = [_read_round(archive, key, training)
              for key, training in zip(keys, trainings)]
  if sum(state.schedule["iteration"] for state in states) != iteration:
    raise ValueError(f"path={archive.path!r}: its iteration={iteration} must "
                     "be the sum of those of the rounds")
  return iteration, current, parameters.get("max_bytes"), states


def _demand(is_right, archive, key, name, what):
  """Raises a ValueError unless an array of a round is right."""
  if not is_right:
    raise ValueError(f"path={archive.path!r}: its {_name(key, name)} must be "
                     f"{what}")


def _read_tree(archive, key, hands):
  """Returns the schedule of a round, {name: int}, and its `TreeArrays`."""
  schedule = dict(zip(_SCHEDULE, archive.read(
      _name(key, "schedule"), (len(_SCHEDULE),), (np.dtype(np.int64),),
      0).tolist()))
  _demand(schedule["iteration"] <= min(schedule["next_expansion"],
                                       _MAX_ITERATIONS) and
          max(schedule.values()) <= archives.MAX_COUNT and
          schedule["rows"] <= growing_tree.MAX_ROWS, archive, key, "schedule",
          "one of a training")
  return schedule, growing_tree.read_tree(
      archive, _name(key, ""), hands, schedule["nodes"], schedule["rows"],
      "cumulative")


def _read_round(archive, key, training):
  """Returns the `RoundState` of a round, or raises a ValueError.

  Args:
    archive: the `archives.Archive`.
    key: (starter's dice, other's dice).
    training: the `recall_solver._RoundTraining`.
  """
  schedule, tree = _read_tree(archive, key, training.trainer.hands)
  count, dtype = schedule["iteration"], training.trainer.tables.regret.dtype

  def table(name, size, dtype, low, high=None):
    entries = np.empty(size, dtype)  # a table that grows owns its memory
    archive.read_into(_name(key, name), entries, low, high)
    return entries

  for name in ("regret", "cumulative"):  # before any memory is allocated
    archive.check(_name(key, name), (tree.num_entries,), (dtype,))
  ram.check("path", repr(archive.path), 2 * dtype.itemsize * tree.num_entries,
            f"its round {key[0]}v{key[1]}", "a machine that has more")
  tables = dcfr_kernels.LearnTables(
      # Payoffs are from -1 to 1, and iteration t has the weight t^2.
      table("regret", tree.num_entries, dtype, -np.inf,
            _ROUNDING * 2.0 * count),
      table("cumulative", tree.num_entries, dtype, 0.0,
            _ROUNDING * dcfr_kernels.total_weight(count)),
      table("seen", tree.num_nodes, np.int64, 0))
  _demand(tables.last_update.max() <= count, archive, key, "seen",
          f"at most {count}")
  outcomes, responses = (
      archive.read(_name(key, name), shape, (np.dtype(np.float64),), *low)
      for name, shape, *low in (("outcomes", training.outcomes.shape, 0.0),
                                ("responses", (2,))))
  _demand(outcomes.sum() <= _MAX_SUM, archive, key, "outcomes", "chances")
  _demand(np.abs(responses).max() <= _MAX_RESPONSE, archive, key, "responses",
          "between -1 and 1")
  return RoundState(tree, tables, schedule, outcomes, responses)


def restore(training, state):
  """Gives a `recall_solver._RoundTraining` a `RoundState`."""
  schedule = state.schedule
  training.trainer.set_state(state.tree, state.tables, schedule["iteration"])
  training.work_done = schedule["work_done"]
  training.next_expansion = schedule["next_expansion"]
  training.next_drop = schedule["next_drop"]
  training.outcomes, training.responses = state.outcomes, state.responses
  training.version += 1


class _SavedRound(stored_rounds.LazyRound):
  """The average policy of a round in a solver's file, read on every call.

  Args:
    path: the file.
    digest: its `archives.Archive.digest`.
    match: the `round_rules.RoundRules`.
    key: (starter's dice, other's dice).
  """

  def __init__(self, path, digest, match, key):
    self._path = path
    self._digest = digest
    self._match = match
    self._key = key

  def read(self):
    """Returns the `stored_rounds.StoredRound`, its table in floats."""
    with archives.opened(self._path, base_solver.FILE_KIND) as archive:
      if archive.digest != self._digest:
        raise ValueError(f"path={archive.path!r}: was replaced by another file "
                         "after the policy was made; must stay the same")
      hands = round_hands.RoundHands(self._match, self._key)
      _, tree = _read_tree(archive, self._key, hands)
      return stored_rounds.StoredRound(hands, tree, archive.read(
          _name(self._key, "cumulative"), (tree.num_entries,),
          (np.dtype(np.float32), np.dtype(np.float64)), 0.0))


def average_policy(path: annotations.PathLike) -> recall_policy.RecallPolicy:
  """Returns the average policy of a solver's file, a `RecallPolicy`.

  Its rounds are read from the file whenever they are needed. So the file must
  not change; if it is replaced by another one, the policy raises a ValueError.

  Args:
    path: a file by `PerfectRecallSolver.save`.
  """
  with archives.opened(path, base_solver.FILE_KIND) as archive:
    archives.check_header(path, archive.header,
                          {"solver": "PerfectRecallSolver"})
    archive.check_packing()
    digest = archive.digest
    name = archives.field(path, archive.header, "game", archives.text)
  try:
    game = named_games.load(name)
  except ValueError as error:
    raise ValueError(f"path={path!r}: its game {name[:99]} cannot be loaded "
                     f"({error})") from error
  match = round_rules.round_rules(game)
  return recall_policy.RecallPolicy(game, {
      key: _SavedRound(path, digest, match, key)
      for key in round_rules.match_keys(game)})
