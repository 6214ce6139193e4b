"""CFR in rational numbers, without any rounding, to compare `cfr` with.

Where the largest regret of an information set is exactly zero, regret matching
plays uniformly. In floating-point numbers a sum that should be zero may be
1e-18, and then it decides the strategy.
"""

import fractions

_LARGEST_DENOMINATOR = 10**6  # of chances and payoffs, which are floats


class ExactCFR:
  """CFR (Zinkevich et al. 2007) with alternating updates.

  Args:
    game: a `pyspiel.Game` whose chances and payoffs are simple fractions.
  """

  def __init__(self, game):
    self._num_players = game.num_players()
    self._regret = {}  # (player, information state): [action]
    self._sum = {}
    self._strategy = {}
    self._actions = {}
    self._root = self._make_tree(game.new_initial_state())

  def _make_tree(self, state):
    """Returns a tree of (key, payoffs or chances, children)."""
    if state.is_terminal():
      return None, [_exact(payoff) for payoff in state.returns()], ()
    if state.is_chance_node():
      outcomes = state.chance_outcomes()
      return None, [_exact(chance) for _, chance in outcomes], [
          self._make_tree(state.child(action)) for action, _ in outcomes]
    legal = state.legal_actions()
    key = state.current_player(), state.information_state_string()
    if key not in self._actions:
      self._actions[key] = legal
      self._strategy[key] = [fractions.Fraction(1, len(legal))] * len(legal)
      self._regret[key] = [fractions.Fraction(0)] * len(legal)
      self._sum[key] = [fractions.Fraction(0)] * len(legal)
    return key, (), [self._make_tree(state.child(action)) for action in legal]

  def iterate(self):
    """Runs one iteration."""
    for player in range(self._num_players):
      one = fractions.Fraction(1)
      self._evaluate(self._root, player, one, one)
      for key, regrets in self._regret.items():
        if key[0] == player:
          self._strategy[key] = _normalized([max(r, 0) for r in regrets])

  def _evaluate(self, node, player, own, others):
    """Returns what a node is worth to the player; adds regrets and averages.

    Args:
      node: what `_make_tree` returns.
      player: the player who learns.
      own: the player's reach.
      others: the reach of all others and of chance.
    """
    key, payoffs_or_chances, children = node
    if not children:
      return payoffs_or_chances[player]
    if key is None:
      return sum(chance * self._evaluate(child, player, own, others * chance)
                 for chance, child in zip(payoffs_or_chances, children))
    strategy = self._strategy[key]
    if key[0] != player:
      return sum(p * self._evaluate(child, player, own, others * p)
                 for p, child in zip(strategy, children))
    values = [self._evaluate(child, player, own * p, others)
              for p, child in zip(strategy, children)]
    value = sum(p * v for p, v in zip(strategy, values))
    for a, p in enumerate(strategy):
      self._regret[key][a] += others * (values[a] - value)
      self._sum[key][a] += own * p
    return value

  def current(self):
    """Returns {(player, info_state): {action: probability}}."""
    return self._named(self._strategy)

  def average(self):
    """Returns {(player, info_state): {action: probability}}."""
    return self._named({key: _normalized(sums)
                        for key, sums in self._sum.items()})

  def _named(self, table):
    return {key: dict(zip(self._actions[key], map(float, shares)))
            for key, shares in table.items()}


def _exact(number):
  return fractions.Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)


def _normalized(weights):
  """Returns probabilities in proportion to weights; uniform if all are 0."""
  total = sum(weights)
  if total == 0:
    return [fractions.Fraction(1, len(weights))] * len(weights)
  return [weight / total for weight in weights]
