"""Fictitious play in plain, slow Python: equations 3 to 25 of Schulze.

The paper is "An extensive-form fictitious play algorithm with local best
decision updates". A leaf is its path from the root: what each actor did, and
how likely it was if chance did it. Everything is a sum over leaves.
"""

import collections
import math

TIE = 1e-12  # utilities that are no further apart are equal


class Step:
  """An action on the path to a leaf.

  Attributes:
    node: str, the history before it.
    key: (player, information state), None for chance.
    action: the action.
    chance: its probability, if chance acts.
  """

  def __init__(self, state, action, chance=None):
    self.node = state.history_str()
    self.key = None if chance is not None else (
        state.current_player(), state.information_state_string())
    self.action = action
    self.chance = chance


class OracleFictitiousPlay:
  """BDFP or XFP.

  Args:
    game: a `pyspiel.Game`.
    is_full: whether full best responses are mixed in (XFP), or best decisions.
    epsilon: the smallest probability of an action.
    alternating: whether players are updated one after the other.
    settle: function of (key, actions) that chooses among equally good actions.
    start: {key: {action: probability}}, the initial strategy; None is uniform.

  Attributes:
    strategy: {key: {action: probability}}, b_n.
    num_ties: at how many sets `settle` was asked.
  """

  def __init__(self, game, is_full, epsilon, alternating, settle, start=None):
    self._is_full = is_full
    self._epsilon = epsilon
    self._alternating = alternating
    self._settle = settle
    self._players = range(game.num_players())
    self._leaves = []  # (path, returns)
    self._actions = {}
    self._collect_leaves(game.new_initial_state(), [])
    self.strategy = start or {key: dict.fromkeys(legal, 1 / len(legal))
                              for key, legal in self._actions.items()}
    self.num_ties = 0
    self._n = 1
    self._iterates = []

  def _collect_leaves(self, state, path):
    if state.is_terminal():
      self._leaves.append((path, state.returns()))
    elif state.is_chance_node():
      for action, chance in state.chance_outcomes():
        self._collect_leaves(state.child(action),
                             [*path, Step(state, action, chance)])
    else:
      legal = state.legal_actions()
      self._actions[state.current_player(),
                    state.information_state_string()] = legal
      for action in legal:
        self._collect_leaves(state.child(action), [*path, Step(state, action)])

  def iterate(self):
    """Makes b_(n+1) of b_n."""
    if self._alternating:
      for player in self._players:
        self.strategy = {**self.strategy, **self._next(player)}
    else:
      changes = [self._next(player) for player in self._players]
      for change in changes:
        self.strategy = {**self.strategy, **change}
    self._n += 1
    self._iterates.append(self.strategy)

  def _next(self, player):
    """Returns a player's next behaviour strategy."""
    keys = [key for key in self._actions if key[0] == player]
    if not self._is_full:
      return {key: self._step(key, self._decision(key, self._utilities(
          key, self.strategy)), 1.0, 1.0) for key in keys}
    response = self._response(player, keys)
    return {key: self._step(key, response[key], self._reach(key, self.strategy),
                            self._reach(key, response)) for key in keys}

  def _step(self, key, decision, old_reach, new_reach):
    """Equation 21; with equal reaches it is equation 3."""
    alpha = 1 / (self._n + 1)
    share = alpha * new_reach / ((1 - alpha) * old_reach + alpha * new_reach)
    return {a: p + share * (decision[a] - p)
            for a, p in self.strategy[key].items()}

  def _utilities(self, key, strategy):
    """Equations 5 to 10: {action: U(I, a)}."""
    utilities = dict.fromkeys(self._actions[key], 0.0)
    nodes = {}  # P^-i(x) of each x in I
    for path, returns in self._leaves:
      for j, step in enumerate(path):
        if step.key == key:
          nodes[step.node] = self._others(path[:j], key[0])
          own = math.prod(strategy[later.key][later.action]
                          for later in path[j + 1:]
                          if later.key and later.key[0] == key[0])
          utilities[step.action] += (
              self._others(path, key[0]) * own * returns[key[0]])
    reach = sum(nodes.values())
    return {a: u / reach for a, u in utilities.items()}

  def _others(self, path, player):
    """Equation 8: P^-i of the end of a path."""
    steps = [step for step in path
             if step.key is None or step.key[0] != player]
    return math.prod(step.chance if step.key is None else
                     self.strategy[step.key][step.action] for step in steps)

  def _reach(self, key, strategy):
    """Equations 15 and 16: P^i(I)."""
    nodes = {}
    for path, _ in self._leaves:
      for j, step in enumerate(path):
        if step.key == key:
          nodes[step.node] = math.prod(
              strategy[before.key][before.action] for before in path[:j]
              if before.key and before.key[0] == key[0])
    return sum(nodes.values())

  def _decision(self, key, utilities):
    """Equations 4 and 23, with every action at least epsilon."""
    best_utility = max(utilities.values())
    best = [a for a, u in utilities.items() if u > best_utility - TIE]
    if len(best) > 1:
      self.num_ties += 1
      best = [self._settle(key, best)]
    scale = 1 - self._epsilon * len(utilities)
    return {a: self._epsilon + scale * (a == best[0]) for a in utilities}

  def _response(self, player, keys):
    """Equation 22: a best response, from the last sets to the first."""
    depth = collections.defaultdict(int)
    for path, _ in self._leaves:
      own = [step.key for step in path if step.key and step.key[0] == player]
      for j, key in enumerate(own):
        depth[key] = max(depth[key], j)
    response = {key: self.strategy[key] for key in keys}
    for key in sorted(keys, key=depth.get, reverse=True):
      response[key] = self._decision(key, self._utilities(key, response))
    return response

  def average(self):
    """Returns the plain mean of all iterates."""
    return {key: {a: sum(b[key][a] for b in self._iterates) /
                  len(self._iterates) for a in legal}
            for key, legal in self._actions.items()}
