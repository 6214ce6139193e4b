"""What files hold of the rounds of a `recall_solver.PerfectRecallSolver`.

A file has these arrays for each round, named as in "2v1_regret":

  schedule: [6] int64, by the columns below.
  counts, claims, has_child: the tree (see `growing_tree.tree_from_rows`).
  regret, cumulative, seen: the tables (see `dcfr_kernels.LearnTables`).
  outcomes, responses: what was measured when the tree last grew.

Files may come from strangers: every array is checked before it is used.

`average_policy` reads the policy of such a file without its solver, round by
round: files of large matches take more memory than many machines have.
"""

from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import dcfr_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import ram

FILE_KIND = "solver"
_SCHEDULE = ("iteration", "work", "next_growth", "next_drop", "nodes", "rows")
_MOST = 1.0 + 1e-6  # of a sum of chances
_MAX_RESPONSE = 1.01


class RoundState(NamedTuple):
  """What a file says of a round.

  Attributes:
    tree: the `growing_tree.TreeArrays`.
    tables: the `dcfr_kernels.LearnTables`.
    schedule: {name: int}, by `_SCHEDULE`.
    outcomes: see `recall_solver`.
    responses: see `recall_solver`.
  """
  tree: growing_tree.TreeArrays
  tables: dcfr_kernels.LearnTables
  schedule: dict[str, int]
  outcomes: np.ndarray
  responses: np.ndarray


def arrays_of(key, now):
  """Returns {name: array}, all that decides how a round goes on.

  Args:
    key: (starter's dice, other's dice).
    now: the round, as `recall_solver` has it.
  """
  trainer = now.trainer
  tree = trainer.tree
  schedule = [trainer.iteration, now.work, now.next_growth, now.next_drop,
              tree.num_nodes, len(tree.claim)]
  arrays = {"schedule": np.array(schedule, np.int64),
            **growing_tree.rows_of(tree), "regret": trainer.tables.regret,
            "cumulative": trainer.tables.cumulative,
            "seen": trainer.tables.last_update,
            "outcomes": now.outcomes, "responses": now.responses}
  return {_name(key, name): array for name, array in arrays.items()}


def _name(key, name):
  return f"{key[0]}v{key[1]}_{name}"


def read(path, identity, keys, rounds):
  """Reads a file.

  Args:
    path: where.
    identity: dict of what its header must have.
    keys: list of (starter's dice, other's dice).
    rounds: list of the rounds, as `recall_solver` has them.

  Returns:
    (iteration, number of the present round, max_bytes of the solver that saved
    it, list of `RoundState`).
  """
  with checkpoint.opened(path, FILE_KIND) as archive:
    max_bytes = _check_settings(path, archive.header, identity)
    iteration = checkpoint.field(path, archive.header, "iteration",
                                 validation.integer, 0, checkpoint.MAX_COUNT)
    present = checkpoint.field(path, archive.header, "present",
                               validation.integer, 0, len(keys) - 1)
    states = [_read_round(archive, key, now)
              for key, now in zip(keys, rounds)]
  if sum(state.schedule["iteration"] for state in states) != iteration:
    raise ValueError(f"path={archive.path!r}: its iteration={iteration} must "
                     "be the sum of those of the rounds")
  return iteration, present, max_bytes, states


def _check_settings(path, header, identity):
  """Raises a ValueError that names the first setting that is another one.

  Args:
    path: where the file is.
    header: its header.
    identity: see `read`.

  Returns:
    Its max_bytes, which may be another.
  """
  settings = dict(identity)
  expected = settings.pop("parameters")
  checkpoint.check_header(path, header, settings)
  found = header.get("parameters")
  found = found if isinstance(found, dict) else {}
  checkpoint.check_header(path, found, {
      name: value for name, value in expected.items() if name != "max_bytes"})
  return found.get("max_bytes")


def _read_round(archive, key, now):
  """Returns the `RoundState` of a round."""
  def array(name, shape, dtype, low=None):
    limits = () if low is None else (low,)
    return archive.read(_name(key, name), shape, (np.dtype(dtype),), *limits)

  def demand(is_right, name, what):
    if not is_right:
      raise ValueError(f"path={archive.path!r}: its {_name(key, name)} must "
                       f"be {what}")

  schedule = dict(zip(_SCHEDULE, array("schedule", (len(_SCHEDULE),),
                                       np.int64, 0).tolist()))
  nodes, rows, count = (schedule[name]
                        for name in ("nodes", "rows", "iteration"))
  demand(count <= schedule["next_growth"] <= checkpoint.MAX_COUNT and
         schedule["next_drop"] <= checkpoint.MAX_COUNT and
         rows <= growing_tree.MAX_ROWS, "schedule", "one of a training")
  tree = growing_tree.read_tree(archive, _name(key, ""), now.trainer.hands,
                                nodes, rows)
  dtype = now.trainer.tables.regret.dtype

  def table(name, count, dtype, low):
    # Tables that grow must own their memory.
    numbers = np.empty(count, dtype)
    archive.read_into(_name(key, name), numbers, low)
    return numbers

  for name in ("regret", "cumulative"):  # before any memory is taken
    archive.check(_name(key, name), (tree.num_entries,), (dtype,))
  ram.check("path", repr(archive.path), 2 * dtype.itemsize * tree.num_entries,
            f"its round {key[0]}v{key[1]}", "a machine that has more")
  tables = dcfr_kernels.LearnTables(
      table("regret", tree.num_entries, dtype, -np.inf),
      table("cumulative", tree.num_entries, dtype, 0.0),
      table("seen", nodes, np.int64, 0))
  demand(tables.last_update.max() <= count, "seen", f"at most {count}")
  outcomes = array("outcomes", now.outcomes.shape, np.float64, 0.0)
  demand(outcomes.sum() <= _MOST, "outcomes", "chances")
  responses = array("responses", (2,), np.float64)
  demand(np.abs(responses).max() <= _MAX_RESPONSE, "responses",
         "between -1 and 1")
  return RoundState(tree, tables, schedule, outcomes, responses)


def take(now, state):
  """Lets a round go on with what a file says of it.

  Args:
    now: the round, as `recall_solver` has it.
    state: the `RoundState`.
  """
  now.trainer.set_state(state.tree, state.tables, state.schedule["iteration"])
  now.work = state.schedule["work"]
  now.next_growth = state.schedule["next_growth"]
  now.next_drop = state.schedule["next_drop"]
  now.outcomes, now.responses = state.outcomes, state.responses
  now.version += 1


class _SavedRound(stored_rounds.LazyRound):
  """The average policy of a round in a solver's file, read at each call.

  Args:
    path: the file.
    digest: its `checkpoint.Archive.digest`.
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
    with checkpoint.opened(self._path, FILE_KIND) as archive:
      if archive.digest != self._digest:
        raise ValueError(f"path={archive.path!r}: was replaced by another file "
                         "after the policy was made; must stay the same")
      schedule = archive.read(_name(self._key, "schedule"), (len(_SCHEDULE),),
                              (np.dtype(np.int64),), 0)
      nodes, rows = (int(schedule[_SCHEDULE.index(name)])
                     for name in ("nodes", "rows"))
      if rows > growing_tree.MAX_ROWS:
        raise ValueError(f"path={archive.path!r}: its "
                         f"{_name(self._key, 'schedule')} must be one of a "
                         "training")
      hands = round_hands.RoundHands(self._match, self._key)
      tree = growing_tree.read_tree(archive, _name(self._key, ""), hands, nodes,
                                    rows)
      return stored_rounds.StoredRound(hands, tree, archive.read(
          _name(self._key, "cumulative"), (tree.num_entries,),
          (np.dtype(np.float32), np.dtype(np.float64)), 0.0))


def average_policy(path: annotations.PathLike) -> recall_policy.RecallPolicy:
  """Returns the average policy of a solver's file, a `RecallPolicy`.

  Its rounds are read from the file whenever they are needed. So the file must
  stay as it is; another one in its place is refused.

  Args:
    path: a file by `PerfectRecallSolver.save`.
  """
  with checkpoint.opened(path, FILE_KIND) as archive:
    checkpoint.check_header(path, archive.header,
                            {"solver": "PerfectRecallSolver"})
    digest = archive.digest
    name = checkpoint.field(path, archive.header, "game", checkpoint.text)
  try:
    game = pyspiel.load_game(name)
  except pyspiel.SpielError as error:
    raise ValueError(f"path={path!r}: its game {name[:99]} cannot be "
                     "loaded") from error
  match = round_rules.round_rules(game)
  return recall_policy.RecallPolicy(game, {
      key: _SavedRound(path, digest, match, key)
      for key in round_rules.match_keys(game)})
