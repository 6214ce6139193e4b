"""What all games of this package share: parameters, errors and pickling."""

import pyspiel

from dudo_spiel.games import observer

MAX_PLAYERS = 6
MAX_DICE = 20
MAX_SIDES = 20

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)


def game_type(short_name, long_name, parameters, *, max_num_players=2,
              utility=pyspiel.GameType.Utility.ZERO_SUM):
  """Returns the type of a sequential dice or card game with hidden hands."""
  return pyspiel.GameType(
      short_name=short_name,
      long_name=long_name,
      dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
      chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
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


def check_range(name, value, low, high=None):
  """Raises a ValueError unless low <= value (<= high)."""
  if value < low or (high is not None and value > high):
    allowed = (f"at least {low}"
               if high is None else f"between {low} and {high}")
    raise ValueError(f"{name}={value}: must be {allowed}")


def check_choice(name, value, choices):
  """Raises a ValueError unless the value is one of the choices."""
  if value not in choices:
    raise ValueError(
        f"{name}={value!r}: must be one of {', '.join(map(repr, choices))}")


def _load_state(serialized):
  return pyspiel.deserialize_game_and_state(serialized)[1]


def _load_game(name):
  return pyspiel.load_game(name)


def _sample(state, number):
  """Returns the action at the quantile `number` of what may happen."""
  if not state.is_chance_node():
    actions = state.legal_actions()
    return actions[int(number * len(actions))]
  outcomes = state.chance_outcomes()
  for action, probability in outcomes:
    number -= probability
    if number < 0:
      return action
  return outcomes[-1][0]


class Game(pyspiel.Game):
  """A game whose size depends on its parameters.

  A subclass sets `_TYPE`, reads its parameters from the dict that `_parameters`
  returns, builds the `GameInfo` from them before calling this constructor, and
  says of which pieces observations and information states are made.
  """

  _TYPE = None

  def __init__(self, info, params):
    super().__init__(self._TYPE, info, params)

  @classmethod
  def _parameters(cls, params):
    """Returns the parameters with defaults for those that are missing."""
    specification = cls._TYPE.parameter_specification
    for name, value in (params or {}).items():
      if name not in specification:
        raise ValueError(
            f"unknown parameter {name!r}: {cls._TYPE.short_name} has "
            f"{', '.join(sorted(specification))}")
      expected = type(specification[name])
      if type(value) is not expected:
        raise ValueError(f"{name}={value!r}: must be of type "
                         f"{expected.__name__}")
    return {**specification, **(params or {})}

  def _pieces(self):
    """Returns the pieces (private, public) of an observation."""
    raise NotImplementedError

  def _recall_pieces(self):
    """Returns the pieces (private, public) of an information state."""
    raise NotImplementedError

  def make_py_observer(self, iig_obs_type=None, params=None):
    """Returns an object used for observing game state."""
    if params:
      raise ValueError(f"params={params}: observation parameters are not "
                       "supported, leave them out")
    kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
    private, public = (self._recall_pieces() if kind.perfect_recall else
                       self._pieces())
    return observer.make_observer(kind, self.num_players(), private, public)

  def __reduce__(self):
    """Pickles as a call of a function here: loading imports this package."""
    return _load_game, (str(self),)


class State(pyspiel.State):
  """A state whose `_current` is the player to move, CHANCE or TERMINAL.

  Attributes of subclasses are ints, bytes and strings only: OpenSpiel copies
  each attribute when it clones a state, and these cost nothing to copy.
  """

  def __init__(self, game):
    super().__init__(game)
    self._current = CHANCE

  def current_player(self):
    """Returns the player to move, or the id of chance or of a terminal."""
    return self._current

  def is_terminal(self):
    """Returns True if the game is over."""
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
    """Returns whether the player does not know the next action.

    Args:
      player: the player.
      earlier: a state on the way to this one, of which the next action is
        meant.
    """
    raise NotImplementedError

  def resample_from_infostate(self, player_id, rng):
    """Returns a state that the player cannot tell from this one.

    Hidden rolls and deals are drawn anew as chance draws them, hidden
    decisions evenly. OpenSpiel's ISMCTS needs this.

    Args:
      player_id: the player.
      rng: a function that returns random numbers in [0, 1).
    """
    state = self.get_game().new_initial_state()
    for action in self.history():
      if self._is_hidden_from(player_id, state):
        action = _sample(state, rng())
      state.apply_action(action)
    return state

  def __reduce__(self):
    """Pickles as a call of a function here: loading imports this package."""
    return _load_state, (pyspiel.serialize_game_and_state(
        self.get_game(), self),)
