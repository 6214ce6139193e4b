"""Trains whole matches of two-player Dudo, round by round.

Serves `fsicfr`.
"""

import math
import os
import re
import time

import numpy as np
import tqdm

from dudo_spiel.algorithms.match import policy as match_policy
from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.match import trainer as match_trainer
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.games import dudo

_FILE_KIND = "match_solver"
_ROUND_FILE_KIND = "match_solver_round"
_MAIN_FILE = "match.npz"
# Files of rounds, and what a process that was killed has left half-written.
_OWN_FILES = re.compile(r"\d+v\d+-\d+\.npz(\.\d+\.part)?|match\.npz\.\d+\.part")
_EXACT_HANDS = 21  # who has no more hands than two dice meets all of them
_SAMPLED_HANDS = 8  # others meet so many
_SHARE_POWER = 0.5  # of a round's cost: small rounds get more iterations
_BAR_SECONDS = 0.5
_REGRET_SECONDS = 10.0  # the average regret takes some time to compute
_SAVE_SECONDS = 45.0


class MatchSolver:
  """Trains all rounds of a match of two-player Dudo.

  Players remember the last claims of a round, but not who started it, so that
  both seats learn from the same tables. How good the average policy is can be
  computed by `round_response`.

  Args:
    game: `dudo` or `dudo_ir` with two players.
    recall_length: how many claims players remember in `dudo`; a `dudo_ir` has
      a recall length of its own.
    seed: for the deals.
    num_threads: how many threads to use, None for all; results do not depend
      on it.
    hands_met: how many hands of the other player each hand meets in an
      iteration; "all" sweeps over all deals; None chooses by the size.
    power: iteration t weighs t^power in regrets and averages; 0 is the paper's
      form, at most 4.
    dtype: "float32", or "float64" for twice the memory.

  Attributes:
    game: the game.
    match: its `match_rounds.MatchRules`.
    rounds: list of (starter's dice, other's dice), in order of training.
  """

  def __init__(self, game, recall_length=3, seed=0, num_threads=None, *,
               hands_met=None, power=1.0, dtype="float32"):
    recall_length = _recall_length(game, recall_length)
    if dtype not in ("float64", "float32"):
      raise ValueError(f"dtype={dtype!r}: must be 'float64' or 'float32'")
    if hands_met not in (None, "all"):
      hands_met = arguments.integer("hands_met", hands_met, 1)
    self.game = game
    self.match = match_rounds.match_rules(game, recall_length)
    self.rounds = match_rounds.round_keys(game.start_dice)
    self._seed = arguments.integer("seed", seed, 0)
    self._num_threads = jit.thread_count(num_threads)
    self._hands_met = hands_met
    self._power = arguments.number("power", power, 0.0, 4.0)
    self._dtype = np.dtype(dtype)
    self._jobs = _jobs(self.rounds)
    ram.check("recall_length", recall_length, self.memory_bytes,
                 f"training {game}", "a shorter recall_length or fewer dice")
    self._tables = {key: match_rounds.new_table(self.match, key, self._dtype)
                    for key in self.rounds}
    self._states = {key: np.zeros(3) for key in self.rounds}
    self._seconds = dict.fromkeys(self._jobs, 0.0)
    self._values = {}
    self._saved = {}  # by folder: for each job its file and its sweeps
    self._stamps = {}  # by folder: of the main file, as we left it
    self._last_save = 0.0  # by the clock, within `run`

  @property
  def memory_bytes(self):
    """How much memory training takes."""
    return _memory_needed(self.match, self._jobs, self._hands_met,
                          self._num_threads, self._dtype)

  @property
  def iteration(self):
    """How many iterations every round was trained, at least."""
    return min(map(self._iterations_of, self._jobs))

  @property
  def seconds(self):
    """How long the rounds were trained in all."""
    return sum(self._seconds.values())

  def _trainer(self, job):
    return match_trainer.RoundTrainer(
        self.match, job, self._tables, self._states, self._values, self._seed,
        self._num_threads, _shifts(self.match, job, self._hands_met),
        self._power)

  def iterations(self, own_dice, opponent_dice):
    """Returns how many iterations the round was trained."""
    return int(self._states[self._round(own_dice, opponent_dice)][0])

  def value(self, own_dice, opponent_dice):
    """Returns what the round is worth to its starter, who has own_dice.

    It is the exact value if both play the average policy.
    """
    key = self._round(own_dice, opponent_dice)
    if key not in self._values:
      raise ValueError(f"own_dice={own_dice}, opponent_dice={opponent_dice}: "
                       "this round, or one on which it rests, is not trained "
                       "yet; call run")
    return self._values[key]

  def _round(self, own_dice, opponent_dice):
    key = own_dice, opponent_dice
    if key not in self._states:
      raise ValueError(
          f"own_dice={own_dice!r}, opponent_dice={opponent_dice!r}: must be a "
          "round of the match: "
          + ", ".join(f"({a}, {b})" for a, b in self.rounds))
    return key

  def evaluate_and_update_policy(self):
    """Runs one iteration of each round."""
    self.run(iterations=1)

  def run(self, iterations=None, seconds=None, *, total=False, save_to=None):
    """Trains all rounds, from the fewest dice up.

    Args:
      iterations: how many iterations of each round.
      seconds: how long in all (instead of `iterations`). Larger rounds get a
        larger share, but less than in proportion to their cost. Values are
        computed in extra time.
      total: whether these include what was run before, so that an interrupted
        run can be finished by the same call.
      save_to: a folder to save to at least once a minute, and at the end.
    """
    if (iterations is None) == (seconds is None):
      raise ValueError(f"iterations={iterations}, seconds={seconds}: one of "
                       "them must be given")
    if iterations is not None:
      arguments.integer("iterations", iterations, 0)
      goals = dict.fromkeys(self._jobs, iterations)
    else:
      arguments.number("seconds", seconds, 0.0)
      shares = {job: sum(math.prod(self.match.table_shape(key))
                         for key in job)**_SHARE_POWER for job in self._jobs}
      scale = seconds / sum(shares.values())
      goals = {job: share * scale for job, share in shares.items()}
    measure = self._iterations_of if seconds is None else self._seconds.get
    self._last_save = time.perf_counter()
    with tqdm.tqdm(total=sum(goals.values()), disable=None,
                   bar_format=_bar_format(seconds is None)) as bar:
      for job in self._jobs:
        begin = 0 if total else measure(job)
        bar.update(min(measure(job) - begin, goals[job]))
        self._train(job, measure, begin + goals[job], bar, save_to)
    if save_to is not None:
      self.save(save_to)

  def _iterations_of(self, job):
    return int(min(self._states[key][0] for key in job))

  def _train(self, job, measure, goal, bar, save_to):
    """Trains a job until its measure is at its goal; then sets its values."""
    if measure(job) >= goal and all(key in self._values for key in job):
      return
    trainer = self._trainer(job)
    if measure(job) < goal:
      # From now on what rests on this job is out of date.
      for later in self._jobs[self._jobs.index(job):]:
        for key in later:
          self._values.pop(key, None)
      if not trainer.iteration:
        trainer.iterate()  # not timed, as kernels may be compiled first
    regret, told = float("nan"), time.perf_counter()
    regret_told = told - _REGRET_SECONDS
    done = min(measure(job), goal)
    while measure(job) < goal:
      begin = time.perf_counter()
      trainer.iterate()
      now = time.perf_counter()
      self._seconds[job] += now - begin
      if now - told > _BAR_SECONDS:
        if now - regret_told > _REGRET_SECONDS and not bar.disable:
          regret, regret_told = trainer.average_regret(), now
        bar.update(min(measure(job), goal) - done)
        bar.set_postfix_str(self._progress(job, regret))
        done, told = min(measure(job), goal), now
      self._save_sometimes(save_to, _SAVE_SECONDS)
    bar.update(goal - done)
    self._save_sometimes(save_to, 0.2 * _SAVE_SECONDS)  # values take a while
    self._values.update(trainer.values())

  def _save_sometimes(self, save_to, seconds):
    """Saves, if there is a folder and the last time was so long ago."""
    if (save_to is not None and
        time.perf_counter() - self._last_save > seconds):
      self.save(save_to)
      self._last_save = time.perf_counter()

  def _progress(self, job, regret):
    """Returns a line about a job."""
    count, value, weight = self._states[job[0]]
    return (f"{job[0][0]}v{job[0][1]}: {count:,.0f} it, value "
            f"{value / max(weight, 1.0):+.4f}, regret {regret:.3g}")

  def current_policy(self):
    """Returns the current policy, a `match_policy.MatchPolicy` (a copy)."""
    return self._policy({key: np.maximum(self._tables[key].regret, 0.0)
                         for key in self.rounds})

  def average_policy(self):
    """Returns the average policy, a `match_policy.MatchPolicy` (a copy)."""
    tables = {}
    for key in self.rounds:
      weight = sum(self._states[k][2] for k in {key, key[::-1]})
      tables[key] = self._tables[key].total.astype(np.float32)
      tables[key] *= np.float32(1.0 / max(weight, 1.0))
    return self._policy(tables)

  def _policy(self, tables):
    for key, table in tables.items():
      table[:, self.match.rolls(key[0]).num_rolls:] = 0.0
    return match_policy.MatchPolicy(self.game, self.match.recall_length, tables,
                                    self._values)

  # Files.

  def _identity(self):
    """Returns what a folder's solver and this one must have in common."""
    return {"game": str(self.game), "recall_length": self.match.recall_length,
            "seed": self._seed, "hands_met": self._hands_met,
            "power": self._power, "dtype": self._dtype.name}

  def _arrays_of(self, job):
    """Returns the tables of a job, by their names in its file."""
    return {f"{a}v{b} {part}": table for a, b in job
            for part, table in self._tables[a, b]._asdict().items()}

  def save(self, path):
    """Writes all that is needed to go on exactly from here to a folder.

    Each pair of rounds has a file, which is written only if it has changed. The
    main file is replaced last, so that the folder is whole at all times.
    """
    path = os.path.abspath(os.fspath(path))
    os.makedirs(path, exist_ok=True)
    main_file = os.path.join(path, _MAIN_FILE)
    if _stamp(main_file) != self._stamps.get(path):
      raise ValueError(f"path={path!r}: has a training that this solver has "
                       "not loaded, or another process has written there; "
                       "load it first, or choose another folder")
    saved = self._saved.setdefault(path, {})
    for job in self._jobs:
      sweeps = sum(int(self._states[key][0]) for key in job)
      if saved.get(job, (None, 0))[1] != sweeps:
        name = f"{job[0][0]}v{job[0][1]}-{sweeps}.npz"
        checkpoint.save(os.path.join(path, name), _ROUND_FILE_KIND, {},
                        self._arrays_of(job))
        saved[job] = (name, sweeps)
    files = [saved.get(job, (None, 0))[0] for job in self._jobs]
    try:
      checkpoint.save(
          main_file, _FILE_KIND,
          {**self._identity(), "files": files,
           "seconds": [self._seconds[job] for job in self._jobs],
           "values": [[*key, value] for key, value in self._values.items()]},
          {"states": np.array([self._states[key] for key in self.rounds])})
    finally:
      self._stamps[path] = _stamp(main_file)
    for name in os.listdir(path):
      if name not in (_MAIN_FILE, *files) and _OWN_FILES.fullmatch(name):
        os.unlink(os.path.join(path, name))

  def load(self, path):
    """Goes on from a folder that a solver of the same match saved to.

    If a file there is damaged, the solver is as new.
    """
    path = os.path.abspath(os.fspath(path))
    header, arrays = checkpoint.load(os.path.join(path, _MAIN_FILE), _FILE_KIND)
    checkpoint.check_header(path, header, self._identity())
    self._reset()
    try:
      for job, name in zip(self._jobs, header["files"]):
        if name is not None:
          self._load_job(job, os.path.join(path, name))
    except BaseException:
      self._reset()
      raise
    for key, state in zip(self.rounds, arrays["states"]):
      self._states[key][:] = state
    self._seconds.update(zip(self._jobs, header["seconds"]))
    self._values.update({(a, b): value for a, b, value in header["values"]})
    self._stamps[path] = _stamp(os.path.join(path, _MAIN_FILE))
    self._saved[path] = {
        job: (name, sum(int(self._states[key][0]) for key in job))
        for job, name in zip(self._jobs, header["files"]) if name is not None}

  def _load_job(self, job, path):
    """Reads the tables of a job."""
    try:
      _, arrays = checkpoint.load(path, _ROUND_FILE_KIND)
      checkpoint.copy_tables(path, arrays, self._arrays_of(job))
    except (FileNotFoundError, ValueError) as error:
      raise ValueError(f"path={path!r}: must be a whole file of this training "
                       f"({error})") from error

  def _reset(self):
    """Forgets all that was learned."""
    for key in self.rounds:
      for table in self._tables[key]:
        table.fill(0)
      self._states[key][:] = 0
    self._seconds = dict.fromkeys(self._jobs, 0.0)
    self._values.clear()

  @staticmethod
  def is_saved_in(path):
    """Returns whether a solver was saved to the folder."""
    return os.path.exists(os.path.join(path, _MAIN_FILE))


def memory_needed(game, recall_length=3, num_threads=None):
  """Returns how many bytes a `MatchSolver` and its policy need."""
  match = match_rounds.match_rules(game, _recall_length(game, recall_length))
  return _memory_needed(match, _jobs(match_rounds.round_keys(game.start_dice)),
                        None, jit.thread_count(num_threads), np.float32)


def _memory_needed(match, jobs, hands_met, num_threads, dtype):
  entries = sum(math.prod(match.table_shape(key)) for job in jobs
                for key in job)
  policy = entries * np.dtype(np.float32).itemsize
  training = max(
      match_trainer.memory_bytes(match, job, _shifts(match, job, hands_met),
                                 num_threads, dtype) for job in jobs)
  return 2 * entries * np.dtype(dtype).itemsize + max(policy, training)


def _recall_length(game, recall_length):
  """Returns how many claims are remembered in the game."""
  if isinstance(game, dudo.DudoIRGame):
    return game.recall_length
  return arguments.integer("recall_length", recall_length, 1)


def _jobs(rounds):
  """Returns the rounds that are trained together: (a, b) and (b, a)."""
  return [tuple(dict.fromkeys([key, key[::-1]]))
          for key in rounds if key[0] <= key[1]]


def _shifts(match, job, hands_met):
  """Returns how many hands each hand meets in a job's iterations."""
  few = min(match.rolls(n).num_rolls for n in job[0])
  if hands_met is None:
    hands_met = "all" if few <= _EXACT_HANDS else _SAMPLED_HANDS
  return few if hands_met == "all" else min(hands_met, few)


def _stamp(path):
  """Returns what changes when a file is replaced; None if there is none."""
  try:
    status = os.stat(path)
  except FileNotFoundError:
    return None
  return status.st_mtime_ns, status.st_ino


def _bar_format(counts):
  """Returns how the progress bar looks."""
  number = "{n:.0f}/{total:.0f} " + ("iterations" if counts else "s")
  return "{percentage:3.0f}%|{bar:10}| " + number + "{postfix}"
