"""Base classes: parameters and errors, resampling and pickling."""

from collections.abc import Callable
import itertools
from typing import Any
from typing import Self

import pyspiel

from dudo_spiel import deal_rules
from dudo_spiel import validation
from dudo_spiel.games import observer

MAX_PLAYERS = 6
MAX_DICE = 20
MAX_SIDES = 20

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)


def game_type(short_name, long_name, parameters, *, max_num_players=2,
              utility=pyspiel.GameType.Utility.ZERO_SUM, has_chance=True):
  """Returns the `GameType` of a sequential game with hidden information.

  Games for two get the parameter `players` besides `parameters`, a dict with
  default values.
  """
  chance = pyspiel.GameType.ChanceMode
  if max_num_players == 2:
    parameters = {**parameters, "players": 2}
  return pyspiel.GameType(
      short_name=short_name,
      long_name=long_name,
      dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
      chance_mode=(chance.EXPLICIT_STOCHASTIC if has_chance else
                   chance.DETERMINISTIC),
      information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
      utility=utility,
      reward_model=pyspiel.GameType.RewardModel.TERMINAL,
      max_num_players=max_num_players,
      min_num_players=2,
      provides_information_state_string=True,
      provides_information_state_tensor=True,
      provides_observation_string=True,
      provides_observation_tensor=True,
      provides_factored_observation_string=True,
      parameter_specification=parameters)


def _load_state(serialized):
  return pyspiel.deserialize_game_and_state(serialized)[1]


def _load_game(name):
  return pyspiel.load_game(name)


def sample(weighted, number):
  """Samples from a list of (item, weight) by a random number in [0, 1)."""
  items, weights = zip(*weighted)
  sums = list(itertools.accumulate(weights))
  return next((item for item, bound in zip(items, sums)
               if number * sums[-1] < bound), items[-1])


def _fields(pieces, state, player):
  """Returns the fields of all pieces in one dict."""
  return {name: value for piece in pieces
          for name, value in piece.fields(state, player).items()}


class Game(pyspiel.Game):
  """The base class of the games.

  A subclass
  - sets `_TYPE` to its `GameType`;
  - reads its parameters from the dict that `_parameters` returns, and makes a
    `GameInfo` of them before it calls this constructor;
  - implements `_pieces` and `_recall_pieces`;
  - may implement `deal_rules`, from which solvers compile it faster.

  Args:
    info: the `pyspiel.GameInfo`.
    params: dict of all parameters.
  """

  _TYPE = None

  def __init__(self, info: pyspiel.GameInfo, params: dict[str, Any]) -> None:
    super().__init__(self._TYPE, info, params)

  @classmethod
  def _parameters(cls, params):
    """Returns the parameters, with defaults for those that are missing.

    A game for two accepts `players=2`, which stock OpenSpiel programs pass, and
    drops it: the game prints the same with and without.
    """
    specification = cls._TYPE.parameter_specification
    given = params or {}
    for name, value in given.items():
      if name not in specification:
        raise ValueError(
            f"{name}={value!r}: {cls._TYPE.short_name} has no such parameter, "
            f"only {', '.join(sorted(specification))}")
      expected = type(specification[name])
      if type(value) is not expected:
        raise ValueError(f"{name}={value!r}: must be of type "
                         f"{expected.__name__}")
    params = {**specification, **given}
    if cls._TYPE.max_num_players == 2 and params.pop("players") != 2:
      raise ValueError(f"players={given['players']}: must be 2, as "
                       f"{cls._TYPE.short_name} is a game for two")
    return params

  def deal_rules(self) -> deal_rules.DealRules | None:
    """Returns the rules as tables, or None: then solvers walk all histories.

    A subclass does not inherit them, as it may have other rules: solvers take
    them only from the class of the game itself, and warn if it inherits some.
    They also compare them with a few random histories, and warn if they differ.
    """
    return None

  def _pieces(self):
    """Returns lists (private, public) of the pieces of an observation."""
    raise NotImplementedError

  def _recall_pieces(self):
    """Returns lists (private, public) of an information state's pieces."""
    raise NotImplementedError

  def _history_pieces(self):
    """Returns the same of players who forget nothing."""
    return self._recall_pieces()

  def make_py_observer(self,
                       iig_obs_type: pyspiel.IIGObservationType | None = None,
                       params: dict[str, Any] | None = None) -> Any:
    """Returns an observer of states, by default one without recall.

    The games have no observation parameters, so `params` must be empty.
    """
    if params:
      raise ValueError(f"params={params}: observation parameters are not "
                       "supported; leave them out")
    kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
    private, public = (self._recall_pieces() if kind.perfect_recall else
                       self._pieces())
    return observer.make_observer(kind, self.num_players(), private, public)

  def __reduce__(self):
    """Pickles a call of `_load_game`, so that unpickling registers games."""
    return _load_game, (str(self),)


class State(pyspiel.State):
  """The base class of states. Only `Game.new_initial_state` makes one.

  A subclass keeps `_current` up to date: the player to move, CHANCE or
  TERMINAL. Its attributes are only ints, bytes and strings, because OpenSpiel
  copies every attribute when it clones a state, and these are cheap to copy. It
  implements `_is_hidden_from`, and OpenSpiel's hooks:
  - `_legal_actions(player)` returns a list of actions in ascending order;
  - `_apply_action(action)` changes the state;
  - `_action_to_string(player, action)` returns the action's name;
  - `chance_outcomes()`, if there are any, `returns()` and `__str__()`.

  Args:
    game: the game.
  """

  def __init__(self, game: Game) -> None:
    super().__init__(game)
    self._current = CHANCE

  def current_player(self) -> int:
    """Returns the player to move, CHANCE or TERMINAL."""
    return self._current

  def is_terminal(self) -> bool:
    """Returns whether the game is over."""
    return self._current == TERMINAL

  def _illegal(self, action):
    """Returns the error for an action that the rules do not allow."""
    if self._current == TERMINAL:
      return ValueError(f"action={action}: the game is over")
    if self._current == CHANCE:
      allowed = f"0..{len(self.chance_outcomes()) - 1}"
      who = "a chance outcome"
    else:
      allowed = ", ".join(
          f"{legal} ({self._action_to_string(self._current, legal)})"
          for legal in self._legal_actions(self._current))
      who = f"legal for player {self._current}"
    return ValueError(f"action={action}: not {who}; allowed are {allowed}")

  def _is_hidden_from(self, player, earlier):
    """Returns whether the player has not seen the action made in `earlier`.

    That is a state in the history of this one.
    """
    raise NotImplementedError

  # OpenSpiel's structs, which are dicts for JSON.

  def _to_struct(self):
    """Returns the state: what all players together know if they forget nothing.

    Private fields are lists by player.
    """
    private, public = self.get_game()._history_pieces()
    players = range(self.num_players())
    views = [_fields(private, self, player) for player in players]
    return {"current_player": self._current,
            **{name: [view[name] for view in views] for name in views[0]},
            **_fields(public, self, 0)}

  def _to_observation_struct(self, player):
    """Returns what a player knows: what the information state has."""
    validation.integer("player", player, 0, self.num_players() - 1)
    private, public = self.get_game()._recall_pieces()
    return {"player": player, **_fields([*private, *public], self, player)}

  def _action_to_struct(self, player, action):
    """Returns the action's name, and what `_action_fields` has."""
    return {"name": self._action_to_string(player, action),
            **self._action_fields(player, action)}

  def _action_fields(self, player, action):
    """Returns what an action's name says as a dict for JSON."""
    return {}

  def _struct_to_actions(self, action_dict):
    """Returns the legal action of a struct in a list."""
    actions = [action for action in self.legal_actions()
               if self._action_to_struct(self._current, action) == action_dict]
    if not actions:
      raise ValueError(f"action_struct={action_dict}: must be a legal action "
                       f"of {self}")
    return actions

  def resample_from_infostate(self, player_id: int,
                              rng: Callable[[], float]) -> Self:
    """Returns a random state that looks the same to the player as this one.

    Chance outcomes that the player has not seen are sampled again by `rng`,
    which returns numbers in [0, 1). So are hidden decisions, uniformly.
    OpenSpiel's ISMCTS needs this method.
    """
    state = self.get_game().new_initial_state()
    for action in self.history():
      if self._is_hidden_from(player_id, state):
        action = sample(state.chance_outcomes() if state.is_chance_node() else
                        [(legal, 1.0) for legal in state.legal_actions()],
                        rng())
      state.apply_action(action)
    return state

  def __reduce__(self):
    """Pickles a call of `_load_state`, so that unpickling registers games."""
    return _load_state, (pyspiel.serialize_game_and_state(
        self.get_game(), self),)
