"""How solvers converge: a run of any solver on any game, measured on its way.

Games and solvers are given by name, so that a run can be a job on another
machine (see `jobs`) and a line of a table:

  "leduc_poker", "goofspiel(num_cards=4,imp_info=True)": what OpenSpiel loads.
    Games with simultaneous moves are made turn-based.
  "perfect_recall(goofspiel(num_cards=4))": a game whose players remember all
    that they knew and did, even if its information states forget some of it.
  "cfr", "dcfr(alpha=1.5,beta=-inf,gamma=2)": a solver of `SOLVERS` and its
    arguments.
"""

from collections.abc import Iterable
import difflib
import functools
import inspect
import re
import time
from typing import Any
from typing import NamedTuple

import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import table_solver
from dudo_spiel.algorithms.tabular.tree import known_rules
from dudo_spiel.algorithms.tabular.tree import tree_size

estimated_histories = tree_size.estimated_histories
SOLVERS = {**cfr.SOLVERS, **fictitious_play.SOLVERS}
_REMEMBERING = re.compile(r"perfect_recall\((.*)\)", re.DOTALL)
_SOLVER = re.compile(r"([^(),=\s]+)(?:\((.*)\))?", re.DOTALL)
_MAX_BYTES = 10**15  # more makes no difference
_MARGIN = 1.3  # by which the estimate may be wrong
_PROCESS_BYTES = 300e6  # Python, OpenSpiel and the kernels
_HISTORY_BYTES = 180  # of a history, its information sets and tables included


class Measurement(NamedTuple):
  """How good a solver was at one time.

  Attributes:
    iteration: after how many iterations.
    seconds: how long they took, without compilation and measurements.
    exploitability: of the average policy.
    value: what it is worth to player 0.
  """
  iteration: int
  seconds: float
  exploitability: float
  value: float


class SolverName(NamedTuple):
  """The name of a solver, taken apart.

  Attributes:
    name: a key of `SOLVERS`.
    arguments: {name: value}, sorted by name.
  """
  name: str
  arguments: dict[str, Any]

  @property
  def parameters(self) -> str:
    """The arguments as text, the same for all ways to write them."""
    return ",".join(f"{key}={_value_text(value)}"
                    for key, value in self.arguments.items())

  def __str__(self):
    """Returns the whole name, as `solver_name` reads it."""
    return f"{self.name}({self.parameters})" if self.arguments else self.name


def _check_text(name, value):
  if not isinstance(value, str):
    raise ValueError(f"{name}={validation.shown(value)}: must be a str")


def solver_name(text: str) -> SolverName:
  """Returns the `SolverName` of a text; a ValueError if there is no such one.

  Args:
    text: such as "cfr" or "dcfr(alpha=1.5,beta=-inf,gamma=2)".

  Example:
    >>> from dudo_spiel.algorithms import convergence
    >>> str(convergence.solver_name("dcfr(gamma=2.0, alpha=1.5)"))
    'dcfr(alpha=1.5,gamma=2)'
  """
  _check_text("solver", text)
  if text.count("(") != text.count(")"):
    raise ValueError(f"solver={text}: must have as many ( as )")
  match = _SOLVER.fullmatch(text.strip())
  name = match[1] if match else text
  if name not in SOLVERS:
    similar = difflib.get_close_matches(name.lower(), SOLVERS, 1)
    raise ValueError(f"solver={text}: must be one of {', '.join(SOLVERS)}" + (
        f"; did you mean {similar[0]}?" if similar else ""))
  values = {}
  for item in filter(None, (match and match[2] or "").split(",")):
    key, _, value = (part.strip() for part in item.partition("="))
    if not key or not value or key in values:
      raise ValueError(f"solver={text}: {item.strip()!r} must be a name, = and "
                       "a value, each name once")
    values[key] = _value(value)
  allowed = _arguments_of(SOLVERS[name])
  for key in values:
    if key not in allowed:
      raise ValueError(f"solver={text}: {key} must be one of "
                       f"{', '.join(allowed)}")
  return SolverName(name, dict(sorted(values.items())))


def with_plan(solver: SolverName, iterations: int) -> SolverName:
  """Returns a `SolverName` that plans this many iterations if it plans any.

  Args:
    solver: the `SolverName`.
    iterations: how many it will run.
  """
  name = "planned_iterations"
  if (name in solver.arguments or
      name not in _arguments_of(SOLVERS[solver.name])):
    return solver
  return SolverName(solver.name, dict(sorted(
      {**solver.arguments, name: iterations}.items())))


def split_solvers(text: str) -> list[str]:
  """Returns the list of names in a text, with commas between them."""
  # A comma within brackets has a closing bracket before the next opening one.
  parts = re.split(r",(?![^()]*\))", text)
  return [part.strip() for part in parts if part.strip()]


def _value(text):
  """Returns a number, True or False, or the text itself."""
  for convert in (int, float, {"True": True, "False": False}.__getitem__):
    try:
      return convert(text)
    except (ValueError, KeyError):
      pass
  return text


def _value_text(value):
  is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
  return f"{value:.12g}" if is_number else str(value)


def _arguments_of(solver_class):
  """Returns the names of a solver's arguments that a name may have."""
  names = []
  for kind in solver_class.__mro__:
    if "__init__" in vars(kind):
      parameters = inspect.signature(kind.__init__).parameters.values()
      names += [parameter.name for parameter in parameters
                if parameter.kind == parameter.KEYWORD_ONLY
                and parameter.name not in names]
      if not any(parameter.kind == parameter.VAR_KEYWORD
                 for parameter in parameters):
        break
  return names


class LoadedGame(NamedTuple):
  """A game by its name.

  Attributes:
    game: the `pyspiel.Game`, turn-based.
    options: {name: value}, arguments that a solver needs for it.
    name: the same for all ways to write the game's parameters.
  """
  game: pyspiel.Game
  options: dict[str, Any]
  name: str


def load_game(text: str) -> LoadedGame:
  """Returns the `LoadedGame` of a name, or raises a ValueError.

  Args:
    text: what OpenSpiel loads, perhaps within "perfect_recall(...)".
  """
  _check_text("game", text)
  match = _REMEMBERING.fullmatch(text.strip())
  name = match[1] if match else text.strip()
  registered = pyspiel.registered_names()
  short_name = name.partition("(")[0]
  if short_name not in registered:
    similar = difflib.get_close_matches(short_name, registered)
    raise ValueError(f"game={text}: OpenSpiel has no such game" + (
        f"; did you mean {' or '.join(similar)}?" if similar else ""))
  try:
    game = pyspiel.load_game(name)
    name = pyspiel.game_parameters_to_string(
        pyspiel.game_parameters_from_string(name)).removesuffix("()")
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
      game = pyspiel.convert_to_turn_based(game)
  except pyspiel.SpielError as error:
    raise ValueError(f"game={text}: {error}") from error
  if match:
    return LoadedGame(game, {"perfect_recall": True}, f"perfect_recall({name})")
  return LoadedGame(game, {}, name)


# A process that measures several solvers on a game walks it only once.
_kept_game = functools.lru_cache(maxsize=1)(load_game)


def compile_game(game: str) -> compiled_game.CompiledGame:
  """Returns the `CompiledGame` on which solvers of a game iterate.

  Args:
    game: a name that `load_game` reads, such as "leduc_poker".
  """
  loaded = _kept_game(game)
  return compiled_game.compile_game(loaded.game, **loaded.options)


def make_solver(solver: str, game: str) -> table_solver.TableSolver:
  """Returns a new solver.

  Args:
    solver: a name that `solver_name` reads, such as "dcfr(gamma=2)".
    game: a name that `load_game` reads, such as "leduc_poker".

  Example:
    >>> from dudo_spiel.algorithms import convergence
    >>> solver = convergence.make_solver("dcfr(alpha=1.5,beta=0,gamma=2)",
    ...                                  "kuhn_poker")
    >>> type(solver).__name__
    'DiscountedCFRSolver'
  """
  name = solver_name(solver)
  loaded = _kept_game(game)
  return SOLVERS[name.name](loaded.game, **loaded.options, **name.arguments)


def measure(game: str, solver: str, iterations: Iterable[int] | None = None,
            seconds: Iterable[float] | None = None) -> list[Measurement]:
  """Runs a new solver and returns how good it was on its way.

  Args:
    game: a name that `load_game` reads, such as "leduc_poker".
    solver: a name that `solver_name` reads, such as "dcfr(gamma=2)".
    iterations: list of int, after how many iterations to measure; or None.
    seconds: list of float, after how many seconds to measure; or None.

  Returns:
    List of `Measurement`, in the order of time.

  Example:
    >>> from dudo_spiel.algorithms import convergence
    >>> for point in convergence.measure("kuhn_poker", "cfr+", [10, 100]):
    ...   print(point.iteration, point.exploitability < 0.1)
    10 True
    100 True
  """
  points, by_time = check_points(iterations, seconds)
  run = make_solver(solver, game)
  run.run(0)  # these compile what needs to be, before the clock starts
  run.exploitability()
  elapsed, results = 0.0, []
  for point in points:
    begin = time.perf_counter()
    if by_time:
      run.run(seconds=max(point - elapsed, 0.0))
    else:
      run.run(int(point) - run.iteration)
    elapsed += time.perf_counter() - begin
    results.append(Measurement(run.iteration, elapsed,
                               float(run.exploitability()),
                               float(run.expected_values()[0])))
  return results


def check_points(iterations: Iterable[int] | None,
                 seconds: Iterable[float] | None) -> tuple[list[float], bool]:
  """Returns when to measure, sorted, and whether that is in seconds.

  Args:
    iterations: list of int, or None.
    seconds: list of float, or None.
  """
  if (iterations is None) == (seconds is None):
    raise ValueError(f"iterations={iterations}, seconds={seconds}: one of them "
                     "must be given, and not both")
  points: list[float] = []
  if seconds is not None:
    points = [validation.number("seconds", point, 0.0) for point in seconds]
  elif iterations is not None:
    points = [validation.integer("iterations", point, 0)
              for point in iterations]
  if not points:
    raise ValueError(f"iterations={iterations}, seconds={seconds}: must be at "
                     "least one point")
  return sorted(set(points)), iterations is None


def estimated_memory(game: str) -> int:
  """Returns about how many bytes `measure` takes on a game.

  Args:
    game: a name that `load_game` reads, such as "leduc_poker".

  Example:
    >>> from dudo_spiel.algorithms import convergence
    >>> convergence.estimated_memory("kuhn_poker") < 10**9
    True
  """
  loaded = load_game(game).game
  rules = known_rules.find_rules(loaded)
  if rules is not None and not rules.forgets:
    return int(_PROCESS_BYTES + min(known_rules.form_bytes(rules), _MAX_BYTES))
  histories = estimated_histories(loaded)
  return int(_PROCESS_BYTES + _MARGIN * _HISTORY_BYTES * histories)
