"""CFR and its variants in plain, slow Python, to compare `cfr` with."""

import collections


class OracleCFR:
  """CFR by recursion over states, with the options of `cfr.RegretSolver`.

  It follows Zinkevich et al. (2007). The discounts are those of Brown &
  Sandholm (2019), the predictions those of Farina et al. (2021) and Xu et al.
  (2024), the perturbed games (with epsilon) those of Farina et al. (2017). Its
  tables are dicts with keys (player, information state).

  Args:
    game: the game.
    alpha: the power that discounts positive regrets, or a function that returns
      it for an iteration.
    beta: the same for negative regrets.
    gamma: the power of the iteration that weighs its strategy in the average,
      or a function likewise.
    prediction: the weight of the latest regrets as a prediction of the next.
    alternating: whether the players are updated one after the other.
    epsilon: the least probability of every action.
  """

  def __init__(self, game, alpha, beta, gamma, prediction, alternating,
               epsilon=0.0):
    self._game = game
    self._powers = alpha, beta
    self._gamma = gamma
    self._prediction = prediction
    self._alternating = alternating
    self._epsilon = epsilon
    self._t = 0
    self._regret = collections.defaultdict(dict)
    self._sum = collections.defaultdict(dict)
    self._matched = {}  # the strategies by regret matching
    self._strategy = {}  # the same, perturbed: these are played
    self._fill(game.new_initial_state())

  def _fill(self, state):
    if state.current_player() >= 0:
      legal = state.legal_actions()
      key = state.current_player(), state.information_state_string()
      self._strategy[key] = {a: 1.0 / len(legal) for a in legal}
      self._matched[key] = dict(self._strategy[key])
      self._regret[key] = dict.fromkeys(legal, 0.0)
      self._sum[key] = dict.fromkeys(legal, 0.0)
    for action in state.legal_actions():
      self._fill(state.child(action))

  def iterate(self):
    """Runs one iteration."""
    self._t += 1
    players = range(self._game.num_players())
    if self._alternating:
      for player in players:
        self._strategy.update(self._improve(player))
    else:
      changes = [self._improve(player) for player in players]
      for change in changes:
        self._strategy.update(change)

  def _improve(self, player):
    """Updates a player's tables and returns the player's next strategies."""
    new = collections.defaultdict(lambda: collections.defaultdict(float))
    reach = collections.defaultdict(float)
    self._walk(self._game.new_initial_state(), player, 1.0, 1.0, new, reach)
    following = {}
    decay = ((self._t - 1) / self._t)**self._at(self._gamma, self._t)
    for key, regrets in new.items():
      for action, probability in self._strategy[key].items():
        self._sum[key][action] = (
            decay * self._sum[key][action] + reach[key] * probability)
        total = self._regret[key][action] + regrets[action]
        power = self._powers[0] if total > 0 else self._powers[1]
        self._regret[key][action] = total * self._discount(power)
      scores = {a: max(0.0, r + self._prediction * regrets[a])
                for a, r in self._regret[key].items()}
      norm = sum(scores.values())
      self._matched[key] = {a: x / norm if norm > 0 else 1.0 / len(scores)
                            for a, x in scores.items()}
      rest = 1.0 - len(scores) * self._epsilon
      following[key] = {a: self._epsilon + rest * p
                        for a, p in self._matched[key].items()}
    return following

  @staticmethod
  def _at(power, iteration):
    return power(iteration) if callable(power) else power

  def _discount(self, power):
    # What is discounted now is the old sum of the next iteration.
    power = self._at(power, self._t + 1)
    if power in (float("inf"), float("-inf")):
      return 1.0 if power > 0 else 0.0
    return self._t**power / (self._t**power + 1)

  def _walk(self, state, player, own, others, new, reach):
    """Returns the player's expected utility; adds to `new` and `reach`."""
    if state.is_terminal():
      return state.returns()[player]
    if state.is_chance_node():
      return sum(p * self._walk(state.child(a), player, own, others * p, new,
                                reach) for a, p in state.chance_outcomes())
    key = state.current_player(), state.information_state_string()
    utilities = {}
    for action, p in self._strategy[key].items():
      is_own = state.current_player() == player
      utilities[action] = self._walk(
          state.child(action), player, own * p if is_own else own,
          others if is_own else others * p, new, reach)
    value = sum(p * utilities[a] for a, p in self._strategy[key].items())
    if state.current_player() == player:
      reach[key] += own
      matched = sum(p * utilities[a] for a, p in self._matched[key].items())
      for action, utility in utilities.items():
        new[key][action] += others * (utility - matched)
    return value

  def regrets(self):
    """Returns {(player, info_state): {action: cumulative regret}}."""
    return self._regret

  def current(self):
    """Returns {(player, info_state): {action: probability}}."""
    return self._strategy

  def average(self):
    """Returns {(player, info_state): {action: probability}}."""
    result = {}
    for key, sums in self._sum.items():
      norm = sum(sums.values())
      result[key] = {a: x / norm if norm > 0 else 1.0 / len(sums)
                     for a, x in sums.items()}
    return result
