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
    epsilon: the smallest probability of every action.
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
        self._strategy.update(self._update_player(player))
    else:
      changes = [self._update_player(player) for player in players]
      for change in changes:
        self._strategy.update(change)

  def _update_player(self, player):
    """Updates a player's tables and returns the player's next strategies."""
    latest = collections.defaultdict(lambda: collections.defaultdict(float))
    reach = collections.defaultdict(float)
    self._traverse(self._game.new_initial_state(), player, 1.0, 1.0, latest,
                   reach)
    strategies = {}
    for key, regrets in latest.items():
      self._add_strategy(key, regrets, reach[key])
      scores = self._add_regrets(key, regrets)
      norm = sum(scores.values())
      self._matched[key] = {a: x / norm if norm > 0 else 1.0 / len(scores)
                            for a, x in scores.items()}
      scale = 1.0 - len(scores) * self._epsilon
      strategies[key] = {a: self._epsilon + scale * p
                         for a, p in self._matched[key].items()}
    return strategies

  def _add_strategy(self, key, regrets, reach):
    """Adds what was played in a set to the sums of its strategies."""
    del regrets
    decay = ((self._t - 1) / self._t)**self._at(self._gamma, self._t)
    for action, probability in self._strategy[key].items():
      self._sum[key][action] = (
          decay * self._sum[key][action] + reach * probability)

  def _add_regrets(self, key, regrets):
    """Adds a set's regrets; the next strategy is proportional to the result."""
    for action in regrets:
      total = self._regret[key][action] + regrets[action]
      power = self._powers[0] if total > 0 else self._powers[1]
      self._regret[key][action] = total * self._discount(power)
    return {a: max(0.0, r + self._prediction * regrets[a])
            for a, r in self._regret[key].items()}

  @staticmethod
  def _at(power, iteration):
    return power(iteration) if callable(power) else power

  def _discount(self, power):
    # The next iteration discounts the sum of this one.
    power = self._at(power, self._t + 1)
    if power in (float("inf"), float("-inf")):
      return 1.0 if power > 0 else 0.0
    return self._t**power / (self._t**power + 1)

  def _traverse(self, state, player, own, others, latest, reach):
    """Returns the player's expected utility; adds to `latest` and `reach`."""
    if state.is_terminal():
      return state.returns()[player]
    if state.is_chance_node():
      return sum(p * self._traverse(state.child(a), player, own, others * p,
                                    latest, reach)
                 for a, p in state.chance_outcomes())
    key = state.current_player(), state.information_state_string()
    utilities = {}
    for action, p in self._strategy[key].items():
      is_own = state.current_player() == player
      utilities[action] = self._traverse(
          state.child(action), player, own * p if is_own else own,
          others if is_own else others * p, latest, reach)
    value = sum(p * utilities[a] for a, p in self._strategy[key].items())
    if state.current_player() == player:
      reach[key] += own
      matched = sum(p * utilities[a] for a, p in self._matched[key].items())
      for action, utility in utilities.items():
        latest[key][action] += others * (utility - matched)
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


class OracleAPCFRPlus(OracleCFR):
  """APCFR+ (Meng et al. 2026): PCFR+ that learns how much to predict.

  Args:
    game: the game.
    alternating: whether the players are updated one after the other.
    epsilon: the smallest probability of every action.
  """

  def __init__(self, game, alternating, epsilon=0.0):
    super().__init__(game, float("inf"), float("-inf"), 2, None, alternating,
                     epsilon)
    self._latest = {}  # the regrets of the iteration before
    self._errors = collections.defaultdict(float)  # sums of squares
    self._moves = collections.defaultdict(float)

  def _add_regrets(self, key, regrets):
    latest = self._latest.get(key, dict.fromkeys(regrets, 0.0))
    self._latest[key] = dict(regrets)
    for action, regret in regrets.items():
      old = self._regret[key][action]
      self._regret[key][action] = max(0.0, old + regret)
      self._errors[key] += (regret - latest[action])**2
      self._moves[key] += (self._regret[key][action] - old)**2
    asymmetry = 0.0  # where nothing moved there is nothing to predict
    if self._moves[key] > 0.0:
      asymmetry = min((self._errors[key] / self._moves[key])**0.5, 5.0)
    return {a: max(0.0, self._regret[key][a] + regrets[a] / (1.0 + asymmetry))
            for a in regrets}


class OracleVADCFR(OracleCFR):
  """VAD-CFR (Li et al. 2026), listing 5 of the paper.

  Args:
    game: the game.
    warmup: how many iterations do not count in the average.
    alternating: whether the players are updated one after the other.
    epsilon: the smallest probability of every action.
  """

  def __init__(self, game, warmup, alternating, epsilon=0.0):
    super().__init__(game, None, None, None, None, alternating, epsilon)
    self._warmup = warmup
    self._ewma = {}

  def _add_strategy(self, key, regrets, reach):
    if self._t <= self._warmup:
      return
    size = max(map(abs, regrets.values()))
    gamma = min(4.0, 2.0 + 1.5 * min(1.0, size / 2.0))
    weight = (self._t**gamma * (1.0 + size / 2.0)**0.5 / (1.0 + size**1.5))
    for action, probability in self._strategy[key].items():
      self._sum[key][action] += weight * reach * probability

  def _add_regrets(self, key, regrets):
    size = max(map(abs, regrets.values()))
    self._ewma[key] = (0.1 * size + 0.9 * self._ewma[key]
                       if key in self._ewma else size)
    volatility = min(1.0, self._ewma[key] / 2.0)
    alpha = max(0.1, 1.5 - 0.5 * volatility)
    beta = min(alpha, -0.1 - 0.5 * volatility)
    optimism = (1.0 - 0.5 * volatility) / (1.0 + (self._t - 1) / 100.0)
    scores = {}
    for action, regret in regrets.items():
      boosted = 1.1 * regret if regret > 0 else regret
      old = self._regret[key][action]
      self._regret[key][action] = max(
          -20.0, self._share(alpha, beta, old) * old + boosted)
      total = self._regret[key][action]
      scores[action] = max(0.0, self._share(alpha, beta, total) * total +
                           optimism * boosted)**1.5
    return scores

  def _share(self, alpha, beta, total):
    power = self._t**(alpha if total >= 0 else beta)
    return power / (power + 1.0)

  def average(self):
    """Returns the average; the current strategies while there is none."""
    return self.current() if self._t <= self._warmup else super().average()
