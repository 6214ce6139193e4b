"""Re-solving a subgame of Dudo in plain Python, hand by hand.

The searcher is to act after a history, where the policy stores nothing and says
Dudo. The gadget of CFR-D (Burch, Johanson & Bowling 2014) stands above it: with
each of its hands the opponent may follow, or leave and get a given value. A
share of its hands cannot leave. Below the gadget it is the growing tree of
`growing_oracle`.
"""

import growing_oracle


class GadgetOracle(growing_oracle.GrowingOracle):
  """Discounted CFR on a growing subtree below a gadget.

  Args:
    dice: (starter's dice, other's dice).
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.
    challenges: for each role [claim][count], what it gets by a challenge.
    history: tuple of claims.
    reach: [hand], how likely the searcher comes there with each hand.
    prior: [hand], how likely the opponent does.
    leave: [hand], what the opponent gets if it leaves.
    trust: the share of the opponent's hands that cannot leave.
  """

  def __init__(self, dice, num_sides, wild_ones, challenges, history, reach,
               prior, leave, trust):
    super().__init__(dice, num_sides, wild_ones, challenges)
    self.nodes = {history: []}
    self.history = history
    self.gadget = [[0.0, 0.0] for _ in prior]  # regrets: follow, leave
    self.entered = [0.0] * len(prior)  # sums of how often a hand comes
    self._searcher = len(history) % 2
    self._reach, self._prior, self._leave = reach, prior, leave
    self._trust = trust

  def follows(self, hand):
    """Returns how likely the opponent follows if it may leave."""
    follow, leave = (max(x, 0.0) for x in self.gadget[hand])
    return follow / (follow + leave) if follow + leave > 0.0 else 1.0

  def _reaches(self, role, opponents):
    return self._reach if role == self._searcher else opponents

  def iterate(self):
    """Runs one iteration, with alternating updates."""
    self.iteration += 1
    t = self.iteration
    for role in range(2):
      follow = [self.follows(hand) for hand in range(len(self._prior))]
      entering = [x * (self._trust + (1.0 - self._trust) * p)
                  for x, p in zip(self._prior, follow)]
      new = {}
      values = [self._walk(self.history, role, hand, own,
                           self._reaches(1 - role, entering), new)
                for hand, own in enumerate(self._reaches(role, entering))]
      self._learn(new)
      if role == self._searcher:
        continue
      for hand, value in enumerate(values):
        self.entered[hand] += t**2 * entering[hand]
        leave = self._leave[hand]
        mean = follow[hand] * value + (1.0 - follow[hand]) * leave
        for action, worth in enumerate((value, leave)):
          total = self.gadget[hand][action] + worth - mean
          self.gadget[hand][action] = total * (
              t**1.5 / (t**1.5 + 1.0) if total > 0.0 else 0.5)

  def range(self):
    """Returns [hand], how often the opponent comes, on average."""
    weight = sum(t**2 for t in range(1, self.iteration + 1))
    return [x / weight for x in self.entered]

  def best_values(self):
    """Returns [hand], what the opponent's best response gets below."""
    return [self._best(self.history, 1 - self._searcher, hand, self._reach,
                       None)[0] for hand in range(len(self._prior))]

  def gap(self):
    """Returns the NashConv of the subgame with its gadget."""
    opponents, trust = self.range(), self._trust
    total = sum(own * self._best(self.history, self._searcher, hand, opponents,
                                 None)[0]
                for hand, own in enumerate(self._reach))
    for x, entering, value, leave in zip(self._prior, opponents,
                                         self.best_values(), self._leave):
      total += x * (trust * value + (1.0 - trust) * max(value, leave))
      total -= (x - entering) * leave
    return total

  def grow(self, share):
    """Stores the claims that gain more than a share of half the gap."""
    threshold = share * 0.5 * self.gap()
    average, best = self.range(), self.best_values()
    # An opponent who would come after all counts in full.
    wanted = [x if value > leave else entering
              for x, entering, value, leave in zip(self._prior, average, best,
                                                   self._leave)]
    found = set()
    for role in range(2):
      for follows in (False, True):
        gains = {}
        for hand, own in enumerate(self._reaches(role, wanted)):
          here = self._best(self.history, role, hand,
                            self._reaches(1 - role, average), None)
          for key, gain in here[1 + follows].items():
            gains[key] = gains.get(key, 0.0) + own * gain
        found |= {key for key, gain in gains.items() if gain > threshold}
    for history, claim in found:
      self.nodes.setdefault(history, []).append(claim)
    for claims in self.nodes.values():
      claims.sort()

  def dudo_values(self):
    """Returns [hand], what the opponent gets if it is challenged at once."""
    return [self._leaf(1 - self._searcher, self._searcher, self.history[-1],
                       hand, self._reach) for hand in range(len(self._prior))]

  def dudo_share(self, limits):
    """Returns how much Dudo makes the average policy safe.

    Args:
      limits: [hand], how much the opponent may get.
    """
    share = 0.0
    for value, dudo, limit in zip(self.best_values(), self.dudo_values(),
                                  limits):
      if value > limit >= dudo:
        share = max(share, (value - limit) / (value - dudo))
      elif value > limit:
        share = 1.0
    return share
