"""Policies as tables: OpenSpiel policies that solvers return and save."""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import random
import re

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.tabular import convertible
from dudo_spiel.algorithms.tabular.tree import rules_tree

FILE_KIND = "policy"
_MAX_ROUNDING = 1e-3  # of sums of probabilities, also after float32
_MAX_WALKED = 1_000_000  # histories of a game that is compared with a file
_MAX_SAMPLED = 500  # states of a larger game


class SeatPolicy(policy_lib.Policy):
  """Plays each seat by a policy of its own.

  Args:
    game: the `pyspiel.Game`.
    policies: list of OpenSpiel policies, one for each player.

  Example:
    >>> import pyspiel
    >>> from open_spiel.python import policy
    >>> from dudo_spiel.algorithms import cfr
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policies
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> solver = cfr.CFRSolver(game)
    >>> solver.run(1000)
    >>> both = policies.SeatPolicy(
    ...     game, [solver.average_policy(), policy.UniformRandomPolicy(game)])
    >>> bool(exploitability.expected_values(game, both)[0] > 0.0)
    True
  """

  def __init__(self, game: pyspiel.Game,
               policies: Sequence[annotations.Policy]) -> None:
    validation.game("game", game)
    super().__init__(game, list(range(game.num_players())))
    if not isinstance(policies, (list, tuple)) or (
        len(policies) != game.num_players()):
      raise ValueError(f"policies={policies!r}: must be a list of "
                       f"{game.num_players()} policies, one for each player")
    self._policies = [validation.policy("policies", one) for one in policies]

  def action_probabilities(self, state: pyspiel.State,
                           player_id: int | None = None) -> dict[int, float]:
    """Returns {action: probability} by the policy of the player."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    return self._policies[player].action_probabilities(state, player)


class TablePolicy(convertible.ConvertiblePolicy):
  """An OpenSpiel policy for all information states of a game.

  It also plays other games with the same actions and chance outcomes and at
  least as fine information states: a policy of `liars_dice_ir` plays
  `liars_dice`, and one of `dudo_ir` plays `dudo`.

  Args:
    game: the `pyspiel.Game` that the policy is for.
    info_states: sequence of str, the information states of the abstraction.
    players: [state] int, who acts in each.
    actions: list of tuple of int, the legal actions in each.
    probabilities: [sum of the numbers of actions] float64, the probabilities of
      these actions, state by state.
    fingerprint: function that returns the `game_tree.GameTree.fingerprint` of
      the abstraction, for files; None if that is not known.
    abstraction: the `pyspiel.Game` that has these information states; None for
      the game itself.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import cfr
    >>> solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
    >>> solver.run(1000)
    >>> policy = solver.average_policy()
    >>> policy.at(1, "2b")[1] > 0.99  # the king calls a bet
    True
  """

  def __init__(self, game: pyspiel.Game, info_states: Sequence[str],
               players: np.ndarray, actions: Sequence[tuple[int, ...]],
               probabilities: np.ndarray,
               fingerprint: Callable[[], str] | None = None,
               abstraction: pyspiel.Game | None = None) -> None:
    super().__init__(game, list(range(game.num_players())))
    self.info_states = info_states
    self.players = np.asarray(players, dtype=np.int64)
    self.actions = [tuple(legal) for legal in actions]
    self.probabilities = np.asarray(probabilities, dtype=np.float64)
    counts = [len(legal) for legal in self.actions]
    self._begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    self._own_game = game if abstraction is None else abstraction
    self._own_name = str(self._own_game)
    self._fingerprint = fingerprint
    self.check_game(game)

  @functools.cached_property
  def _index(self):
    """{(player, info_state): index}, made on first use."""
    return {
        (player, key): i
        for i, (player, key) in enumerate(zip(self.players.tolist(),
                                              self.info_states))
    }

  def __getstate__(self):
    """Pickles the fingerprint itself, as functions may not be pickled."""
    contents = {name: value for name, value in self.__dict__.items()
                if name != "_index"}
    if self._fingerprint is not None:
      contents["_fingerprint"] = functools.partial(str, self._fingerprint())
    return contents

  def _info_state(self, state, player):
    """Returns the player's information state in the abstraction."""
    if str(state.get_game()) == self._own_name:
      return state.information_state_string(player)
    own_state = self._own_game.new_initial_state()
    for action in state.history():
      if action not in own_state.legal_actions():
        raise ValueError(f"state={state}: is not one of {self._own_name}")
      own_state.apply_action(action)
    if own_state.legal_actions() != state.legal_actions():
      raise ValueError(f"state={state}: is not one of {self._own_name}")
    return own_state.information_state_string(player)

  def at(self, player: int, info_state: str) -> dict[int, float]:
    """Returns {action: probability} at an information state."""
    try:
      i = self._index[player, info_state]
    except (KeyError, TypeError):  # TypeError: not hashable
      raise ValueError(
          f"info_state={info_state!r}: is not one of player {player} in "
          f"{self._own_name}") from None
    values = self.probabilities[self._begin[i]:self._begin[i + 1]].tolist()
    return dict(zip(self.actions[i], values))

  def action_probabilities(self, state: pyspiel.State,
                           player_id: int | None = None) -> dict[int, float]:
    """Returns {action: probability} for the legal actions of the state."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    info_state = self._info_state(state, player)
    if (player, info_state) not in self._index:
      raise ValueError(f"state={state}: player {player} has no information "
                       f"state {info_state!r} in {self._own_name}")
    return self.at(player, info_state)

  def check_game(self, game: pyspiel.Game) -> None:
    """Raises a ValueError if the policy surely cannot play the game."""
    validation.game("game", game)
    for what in ("num_players", "num_distinct_actions"):
      found, expected = (getattr(one, what)() for one in (game, self._own_game))
      if found != expected:
        raise ValueError(f"game={game}: its {what} is {found}; must be "
                         f"{expected}, as in {self._own_name}")

  def _is_table_of(self, game):
    return str(game) == self._own_name

  def to_pyspiel(self,
                 game: pyspiel.Game | None = None) -> pyspiel.TabularPolicy:
    """Returns a C++ `pyspiel.TabularPolicy`.

    Args:
      game: a `pyspiel.Game` that the policy plays; None for the policy's own
        `game`.
    """
    if not self._is_table_of(self._game_to_convert(game)):
      return super().to_pyspiel(game)
    return pyspiel.TabularPolicy({
        key: list(self.at(player, key).items()) for player, key in self._index
    })

  def distance(self, other: annotations.Policy) -> float:
    """Returns the largest difference of a probability to another policy.

    The game is walked if the other policy needs states.

    Args:
      other: any OpenSpiel policy with probabilities at this policy's
        information states.
    """
    if isinstance(other, TablePolicy):
      if self._index.keys() != other._index.keys():
        raise ValueError(f"other={other.game}: has other information states "
                         f"than {self.game}")
      if self.info_states is other.info_states:
        return float(np.max(np.abs(self.probabilities - other.probabilities)))
    read = _reader(validation.policy("other", other))

    @functools.cache
    def nodes():
      tree = rules_tree.make_tree(self._own_game)
      return tree, dict(zip(zip(tree.set_player.tolist(), tree.info_states),
                            tree.set_node))

    def state(*info_set):
      tree, node = nodes()
      return tree.state(node[info_set])

    difference = 0.0
    for player, key in self._index:
      theirs = read(player, key, functools.partial(state, player, key))
      for action, probability in self.at(player, key).items():
        difference = max(difference,
                         abs(probability - theirs.get(action, 0.0)))
    return difference

  def save(self, path: annotations.PathLike) -> None:
    """Writes the policy to one file, which `policies.load_policy` reads."""
    header = {"game": self._own_name, "info_states": list(self.info_states),
              "actions": self.actions}
    if self._fingerprint is not None:
      header["fingerprint"] = self._fingerprint()
    if self._own_game is not self.game:
      header["plays"] = str(self.game)
    archives.save(path, FILE_KIND, header,
                  {"players": self.players,
                   "probabilities": self.probabilities})


def from_file(archive, game, plays=None):
  """Returns the policy in a `archives.Archive`.

  Args:
    archive: the archive.
    game: the `pyspiel.Game` that has the policy's information states.
    plays: the `pyspiel.Game` that the policy is for, if it is another one.
  """
  path, header = archive.path, archive.header
  info_states = archives.field(path, header, "info_states", _texts)
  actions = archives.field(path, header, "actions", _legal_actions,
                           len(info_states), game.num_distinct_actions())
  counts = np.array([len(legal) for legal in actions], np.int64)
  players = archive.read("players", counts.shape, (np.int64,), 0)
  if np.any(players >= game.num_players()):
    raise ValueError(f"path={path!r}: its players must be below "
                     f"{game.num_players()}")
  if len(set(zip(players.tolist(), info_states))) < len(info_states):
    raise ValueError(f"path={path!r}: its info_states must differ")
  probabilities = archive.read("probabilities", (int(counts.sum()),),
                               (np.float64,))
  if not are_distributions(np.repeat(np.arange(len(counts)), counts),
                           probabilities):
    raise ValueError(f"path={path!r}: its probabilities must be a distribution "
                     "at every information state")
  fingerprint = None
  if "fingerprint" in header:  # only of policies made from a game's tree
    fingerprint = functools.partial(str, archives.field(
        path, header, "fingerprint", archives.text))
  policy = TablePolicy(game if plays is None else plays, info_states, players,
                       actions, probabilities, fingerprint,
                       None if plays is None else game)
  _check_info_states(path, game, policy)
  if plays is not None:
    for state, player in _sampled_states(plays):
      policy.action_probabilities(state, player)
  return policy


def _check_info_states(path, game, policy):
  """Raises a ValueError unless a game has the information states of a policy.

  A game that is too large to walk in a few seconds must have those of some
  random histories.

  Args:
    path: the file of the policy.
    game: the `pyspiel.Game` that must have them.
    policy: the `TablePolicy`.
  """
  is_known = policy._fingerprint is None or _is_known_by_name(game)
  try:
    tree = rules_tree.make_tree(game, _MAX_WALKED if is_known else None)
  except ValueError as error:
    if not (is_known and game.get_type().provides_information_state_string):
      raise ValueError(f"path={path!r}: is a policy for another game than "
                       f"this {game} ({error})") from error
    found = {(player, state.information_state_string(player)):
             state.legal_actions(player)
             for state, player in _sampled_states(game)}
  else:
    if not is_known and tree.fingerprint() != policy._fingerprint():
      raise ValueError(
          f"path={path!r}: is a policy for another game that also prints as "
          f"{game}: the game's fingerprint is {tree.fingerprint()}; must be "
          f"{policy._fingerprint()}")
    found = dict(zip(zip(tree.set_player.tolist(), tree.info_states),
                     tree.set_actions))
    for player, info_state in policy._index.keys() - found.keys():
      raise ValueError(f"path={path!r}: its info_states must be those of {game}"
                       f", in which player {player} has no {info_state!r}")
  for (player, info_state), legal in found.items():
    i = policy._index.get((player, info_state))
    if i is None:
      raise ValueError(f"path={path!r}: its info_states must be those of {game}"
                       f", but lack {info_state!r} of player {player}")
    if sorted(policy.actions[i]) != sorted(legal):
      raise ValueError(
          f"path={path!r}: its actions of player {player} at {info_state!r} are"
          f" {validation.shown(policy.actions[i])}; must be "
          f"{validation.shown(list(legal))}, as in {game}")


def _sampled_states(game):
  """Yields (state, player) for the decisions of random histories.

  Args:
    game: the `pyspiel.Game`.
  """
  rng = random.Random(0)
  state = game.new_initial_state()
  for _ in range(_MAX_SAMPLED):
    if state.is_terminal():
      state = game.new_initial_state()
    if state.is_simultaneous_node():
      players = range(game.num_players())
      yield from ((state, player) for player in players)
      state.apply_actions([rng.choice(state.legal_actions(player))
                           for player in players])
    else:
      if not state.is_chance_node():
        yield state, state.current_player()
      state.apply_action(rng.choice(state.legal_actions()))


def _is_known_by_name(game):
  """Returns whether all games with the same string are the same."""
  types = {type.short_name: type for type in pyspiel.registered_games()}
  # The string of a game that is made from another one contains the other's.
  return all(name in types and
             "filename" not in types[name].parameter_specification
             for name in re.findall(r"(\w+)\(", str(game)))


def are_distributions(sets, probabilities):
  """Returns whether the probabilities of every set add up to one.

  Args:
    sets: [entry] int64, the set of each entry; every set occurs.
    probabilities: [entry] float64.
  """
  sums = np.bincount(sets, weights=probabilities)
  return bool(np.all(probabilities >= 0.0) and
              np.all(np.abs(sums - 1.0) <= _MAX_ROUNDING))


def _texts(name, value):
  """Returns the value if it is a list of str, or raises a ValueError."""
  if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
    raise ValueError(f"{name}: must be a list of strings")
  return value


def _legal_actions(name, value, count, num_actions):
  """Returns the value if it is a list of lists of actions, or raises."""
  if not isinstance(value, list) or len(value) != count:
    raise ValueError(f"{name}: must be a list of {count} lists")
  for legal in value:
    if not (isinstance(legal, list) and legal and
            all(type(action) is int and 0 <= action < num_actions
                for action in legal) and len(set(legal)) == len(legal)):
      raise ValueError(f"{name}: must be lists of different actions below "
                       f"{num_actions}")
  return value


def from_strategy(compiled, strategy):
  """Returns a strategy [entry] of a `CompiledGame` as a `TablePolicy`."""
  tree = compiled.tree
  if tree.is_split:
    raise ValueError(
        f"game={compiled.game}: OpenSpiel has no information states in which "
        "its players remember all; solve it without perfect_recall to get a "
        "policy, or measure the solution with nash_conv and expected_values")
  _, _, entries = compiled.entries_of_sets()
  return TablePolicy(compiled.game, tree.info_states, tree.set_player,
                     tree.set_actions, strategy[entries], tree.fingerprint)


def to_strategy(compiled, policy):
  """Returns any OpenSpiel policy as a strategy of a compiled game.

  Args:
    compiled: the `compiled_game.CompiledGame`.
    policy: a policy in Python or C++ that can play the game, or a list of one
      for each player.

  Returns:
    [entry] float64.
  """
  tree = compiled.tree
  policies = [policy] * tree.num_players
  if isinstance(policy, (list, tuple)):
    policies = list(policy)
    if len(policies) != tree.num_players:
      raise ValueError(f"policy={policy!r}: has {len(policies)} policies; must "
                       f"have {tree.num_players}, one for each player")
  sets, _, entries = compiled.entries_of_sets()
  strategy = np.zeros(compiled.num_entries)
  if isinstance(policy, TablePolicy) and policy.info_states is tree.info_states:
    strategy[entries] = policy.probabilities
    return strategy
  readers = [_reader(one) for one in policies]
  values = []
  for s in range(tree.num_info_sets):
    player = int(tree.set_player[s])
    distribution = readers[player](player, tree.info_states[s],
                                   lambda s=s: tree.state(tree.set_node[s]))
    values += [distribution.get(action, 0.0) for action in tree.set_actions[s]]
  values = np.array(values)
  sums = np.bincount(sets, weights=values)
  wrong = np.abs(sums - 1.0) > 1e-6
  wrong[sets[~(values >= 0.0)]] = True
  if np.any(wrong):
    s = int(np.argmax(wrong))
    raise ValueError(
        f"policy={policy}: its probabilities at {tree.info_states[s]!r} are "
        f"{values[sets == s].tolist()}; they must be a distribution over the "
        "legal actions")
  strategy[entries] = values
  return strategy


def _reader(policy):
  """Returns read(player, info_state, make_state) -> {action: probability}.

  The state is made only for policies that need it.
  """
  if isinstance(policy, policy_lib.TabularPolicy):
    def by_key(player, key):
      del player
      return dict(enumerate(policy.policy_for_key(key).tolist()))
  elif isinstance(policy, TablePolicy):
    by_key = policy.at
  elif isinstance(policy, pyspiel.TabularPolicy):
    def by_key(player, key):
      del player
      return dict(policy.action_probabilities(key))
  else:
    validation.policy("policy", policy)
    by_key = None

  def read(player, key, make_state):
    if by_key is not None:
      try:
        distribution = by_key(player, key)
        if distribution:
          return distribution
      except (KeyError, ValueError, pyspiel.SpielError):
        pass  # perhaps it needs a state
    try:
      if isinstance(policy, pyspiel.Policy):
        return dict(policy.action_probabilities(make_state()))
      return policy.action_probabilities(make_state(), player)
    except (KeyError, TypeError, pyspiel.SpielError) as error:
      raise ValueError(f"policy={policy}: has no probabilities for player "
                       f"{player} at {key!r}") from error

  return read
