"""Regret matching and its measures in plain Python, slow and obvious.

Hart & Mas-Colell (2000), as Neller & Lanctot (2013), section 2, write it down.
"""


def matched(regrets):
  """Returns probabilities in proportion to the positive regrets."""
  positive = [max(regret, 0.0) for regret in regrets]
  total = sum(positive)
  if total <= 0.0:
    return [1.0 / len(regrets)] * len(regrets)
  return [regret / total for regret in positive]


def sample(strategy, x):
  """Returns the action in which a uniform x falls."""
  reached = 0.0
  for action, chance in enumerate(strategy):
    reached += chance
    if x < reached:
      return action
  return max(a for a, chance in enumerate(strategy) if chance > 0.0)


class RegretMatching:
  """Two players who match regrets.

  Args:
    payoffs: payoffs[player][row][column].
    strategies: the strategies of the first iteration.
    draw: function (iteration, player) that returns a uniform number, or None
      for expected payoffs.
  """

  def __init__(self, payoffs, strategies, draw=None):
    self.payoffs = payoffs
    self.strategies = [list(strategy) for strategy in strategies]
    self.draw = draw
    self.iteration = 0
    self.sizes = [len(strategy) for strategy in self.strategies]
    self.regrets = [[0.0] * size for size in self.sizes]
    self.sums = [[0.0] * size for size in self.sizes]
    self.joint = [[0.0] * self.sizes[1] for _ in range(self.sizes[0])]

  def _payoff(self, player, own, other):
    row, column = (own, other) if player == 0 else (other, own)
    return self.payoffs[player][row][column]

  def iterate(self):
    """Runs one iteration."""
    self.iteration += 1
    played = [list(strategy) for strategy in self.strategies]
    if self.draw is not None:
      for player in range(2):
        action = sample(played[player], self.draw(self.iteration, player))
        played[player] = [float(a == action)
                          for a in range(self.sizes[player])]
    for player in range(2):
      values = [sum(chance * self._payoff(player, own, other)
                    for other, chance in enumerate(played[1 - player]))
                for own in range(self.sizes[player])]
      mean = sum(chance * value
                 for chance, value in zip(played[player], values))
      for action, value in enumerate(values):
        self.regrets[player][action] += value - mean
        self.sums[player][action] += self.strategies[player][action]
    for row in range(self.sizes[0]):
      for column in range(self.sizes[1]):
        self.joint[row][column] += played[0][row] * played[1][column]
    self.strategies = [matched(regrets) for regrets in self.regrets]


class ConditionalRegretMatching(RegretMatching):
  """Hart & Mas-Colell's procedure: "had I played k whenever I played j".

  Args:
    payoffs: payoffs[player][row][column].
    strategies: the strategies of the first iteration.
    draw: function (iteration, player) that returns a uniform number.
  """

  def __init__(self, payoffs, strategies, draw):
    super().__init__(payoffs, strategies, draw)
    self.regrets = [[[0.0] * size for _ in range(size)] for size in self.sizes]

  def iterate(self):
    """Runs one iteration."""
    self.iteration += 1
    played = [sample(strategy, self.draw(self.iteration, player))
              for player, strategy in enumerate(self.strategies)]
    self.joint[played[0]][played[1]] += 1.0
    for player in range(2):
      own, other = played[player], played[1 - player]
      payoffs = [payoff for row in self.payoffs[player] for payoff in row]
      inertia = self.sizes[player] * (max(payoffs) - min(payoffs))
      regrets = self.regrets[player][own]
      for action in range(self.sizes[player]):
        self.sums[player][action] += self.strategies[player][action]
        regrets[action] += (self._payoff(player, action, other) -
                            self._payoff(player, own, other))
      switch = [max(regret, 0.0) / (inertia * self.iteration)
                for regret in regrets]
      switch[own] = 1.0 - sum(chance for action, chance in enumerate(switch)
                              if action != own)
      self.strategies[player] = switch


def ce_dist(payoffs, joint):
  """Returns what both gain by the best swap of recommended actions."""
  rows, columns = range(len(joint)), range(len(joint[0]))
  gain = sum(
      max(sum(joint[advised][k] * (payoffs[0][new][k] - payoffs[0][advised][k])
              for k in columns) for new in rows) for advised in rows)
  return gain + sum(
      max(sum(joint[k][advised] * (payoffs[1][k][new] - payoffs[1][k][advised])
              for k in rows) for new in columns) for advised in columns)


def cce_dist(payoffs, joint):
  """Returns what both gain by the best action that they always play."""
  rows, columns = range(len(joint)), range(len(joint[0]))
  gain = max(sum(joint[i][k] * (payoffs[0][new][k] - payoffs[0][i][k])
                 for i in rows for k in columns) for new in rows)
  return gain + max(
      sum(joint[k][i] * (payoffs[1][k][new] - payoffs[1][k][i])
          for i in columns for k in rows) for new in columns)
