"""The policies behind the page, and a cache of what is computed from them."""

import functools
import threading

import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.games import liar_die
from dudo_spiel.games import neumann_poker

MAX_DICE = 5  # of a player in a match on the page
MAX_MEASURED_DICE = 8  # in play
_MAX_EXACT_DICE = 5  # in play, for exploitability without bounds
_BOUND_SECONDS = 12.0  # for the bounds of each seat of a round
_MAX_PREPARED_DICE = 3  # of a player, with perfect recall
_MAX_CACHED = 8192  # about 5 kB each
_MAX_CONCURRENT = 2  # computations of values, which take memory


class PolicyStore:
  """All policies of a page; a file replaces the policy for its game.

  Attributes:
    dudo: the `policies.RecallPolicy` or `policies.MatchPolicy` for two-player
      Dudo.
    dudo_name: str, what the page calls this policy.
    is_verified: whether its exploitability was measured here or when the
      package was made. Otherwise it is only what the file says.
    single_round: the `policies.SingleRoundPolicy`, or None.
    small: {short name: policy} of `neumann_poker` and `liar_die`.
    values: values(dice, claims, hand), a cached `exploitability.action_values`
      of the policy for Dudo. The claims are a tuple, the hand is bytes.
    belief: belief(dice, claims), a cached `exploitability.posterior`.
  """

  def __init__(self, paths=()):
    self.dudo = policy_bots.load_policy()
    self.dudo_name = "the policy that comes with the package"
    self.is_verified = True
    self.single_round = None
    self.small = {}
    self._measured = {}  # (starter's dice, other's dice): (lower, upper)
    for path in paths:
      self._add(policy_bots.load_policy(path), path)
    self._limit = threading.Semaphore(_MAX_CONCURRENT)
    self.values = functools.lru_cache(_MAX_CACHED)(self._values)
    self.belief = functools.lru_cache(_MAX_CACHED)(self._belief)

  def _add(self, policy, path):
    game = getattr(policy, "game", None)
    if isinstance(policy, (policies.MatchPolicy, policies.RecallPolicy)):
      self.dudo, self.dudo_name = policy, "the policy from the file"
      self.is_verified = all(policy.exploitability_from(dice) is None
                             for dice in policy.rounds)
      policy.ensure_values()
    elif isinstance(policy, policies.SingleRoundPolicy):
      self.single_round = policy
    elif isinstance(game, neumann_poker.NeumannPokerGame):
      self.small["neumann_poker"] = policy
    elif isinstance(game, liar_die.LiarDieGame):
      self.small["liar_die"] = policy
    else:
      raise ValueError(
          f"policy={path!r}: is a policy for {game}; must be one for "
          "two-player dudo, dudo_single_round, neumann_poker or liar_die")

  @property
  def rules(self):
    """The `round_rules.RoundRules` of two-player Dudo."""
    return self.dudo.rules

  @property
  def rounds(self):
    """The rounds (starter's dice, other's dice) of this policy, sorted."""
    return sorted(self.dudo.rounds)

  def exploitability_bounds(self, dice):
    """Returns (lower, upper) of a round's exploitability, None if unknown."""
    exact = self.dudo.exploitability_from(dice)
    return self._measured.get(dice) if exact is None else (exact, exact)

  def is_measurable(self, dice):
    """Returns whether `measure` computes a round's exploitability."""
    return (self.dudo.exploitability_from(dice) is None and
            sum(dice) <= MAX_MEASURED_DICE)

  def measure(self, report):
    """Measures the exploitability of rounds, small ones first.

    Args:
      report: report(fraction, text) is called before each round, with the
        fraction of the work that is done.

    Returns:
      How many rounds were measured.
    """
    rounds = sorted(filter(self.is_measurable, self.rounds), key=sum)
    weights = [2.0**sum(dice) for dice in rounds]
    for number, dice in enumerate(rounds):
      report(sum(weights[:number]) / sum(weights),
             f"round {dice[0]}v{dice[1]}")
      if sum(dice) <= _MAX_EXACT_DICE:
        exact = exploitability.round_exploitability(self.dudo, dice)
        self._measured[dice] = exact, exact
        continue
      lower = upper = 0.0
      for role in (0, 1):
        *_, bounds = exploitability.refine_bounds(self.dudo, dice, role,
                                                  _BOUND_SECONDS)
        lower += bounds.lower / 2.0
        upper += bounds.upper / 2.0
      self._measured[dice] = max(0.0, lower), upper
    return len(rounds)

  def dudo_game(self, numdice, starting_player):
    """Returns `dudo` with the policy's rules."""
    parameters = self.dudo.game.get_parameters()
    parameters.pop("recall_length", None)
    return pyspiel.load_game("dudo", {
        **parameters, "start_dice": "", "numdice": numdice,
        "starting_player": starting_player})

  def single_round_game(self):
    """Returns the game of one round, of the policy or of four players."""
    if self.single_round is None:
      return pyspiel.load_game("dudo_single_round")
    parameters = self.single_round.game.get_parameters()
    for name in ("abstraction", "recall_length"):
      parameters.pop(name, None)
    return pyspiel.load_game("dudo_single_round", parameters)

  def warm_up(self):
    """Compiles the kernels that answers need."""
    dice = min(self.rounds, key=sum)
    self.values(dice, (0,), bytes([1] * dice[0]))

  def prepare(self):
    """Computes and caches the values of all hands at the start of a match.

    People who begin at the same time ask for these at the same time. With five
    dice each they take half a minute. With perfect recall they would take two
    minutes and delay other answers, so fewer dice are prepared.
    """
    max_dice = (_MAX_PREPARED_DICE if self.dudo.has_perfect_recall else
                MAX_DICE)
    for number in range(1, max_dice + 1):
      if self.dudo.plays_from((number, number)):
        for hand in self.rules.rolls(number).hands:
          self.values((number, number), (), bytes(hand))

  def _values(self, dice, claims, hand):
    with self._limit:
      return exploitability.action_values(self.dudo, dice, list(claims), hand)

  def _belief(self, dice, claims):
    return exploitability.posterior(self.dudo, dice, list(claims))
