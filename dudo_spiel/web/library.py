"""The policies that a page shows, and what is computed from them."""

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
_MOST_PREPARED = 3  # dice each, with perfect recall
_MAX_CACHED = 8192  # about 5 kB each
_MAX_AT_ONCE = 2  # computations of values, which take memory


class Library:
  """All policies of a page.

  Args:
    paths: list of policy files; each takes the place of what the package has
      for its game.

  Attributes:
    match: the `policies.RecallPolicy` or `policies.MatchPolicy` for two-player
      Dudo.
    match_name: what to call it.
    is_certain: whether how exploitable it is was measured here, or when the
      package was made; else only its file says so.
    single_round: the `policies.SingleRoundPolicy`, or None.
    small: {short name: policy} of `neumann_poker` and `liar_die`.
  """

  def __init__(self, paths=()):
    self.match = policy_bots.load_policy()
    self.match_name = "the policy that comes with the package"
    self.is_certain = True
    self.single_round = None
    self.small = {}
    for path in paths:
      self._add(policy_bots.load_policy(path), path)
    self._limit = threading.Semaphore(_MAX_AT_ONCE)
    # Each instance has a cache of its own, which ends with it.
    self.values = functools.lru_cache(_MAX_CACHED)(self._values)
    self.belief = functools.lru_cache(_MAX_CACHED)(self._belief)

  def _add(self, policy, path):
    game = getattr(policy, "game", None)
    if isinstance(policy, (policies.MatchPolicy, policies.RecallPolicy)):
      self.match, self.match_name = policy, "the policy from the file"
      self.is_certain = not (self.remembers_all and policy.measures)
      if self.remembers_all and not policy.measures:
        policy.measure()
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
    return self.match.match

  @property
  def remembers_all(self):
    """Whether the policy for two-player Dudo has perfect recall."""
    return isinstance(self.match, policies.RecallPolicy)

  @property
  def remembers(self):
    """What it remembers of a round, in words."""
    return "all claims" if self.remembers_all else self.rules.abstraction.text

  @property
  def rounds(self):
    """The rounds (starter's dice, other's dice) that it knows, sorted."""
    if self.remembers_all:
      return sorted(self.match.rounds)
    tables = self.match.tables
    return sorted(dice for dice in tables if dice[::-1] in tables)

  def exploitability(self, dice):
    """Returns how exploitable it is from a round on, None if unknown."""
    found = self.match.measures.get(dice) if self.remembers_all else None
    return None if found is None else found.exploitability

  def knows(self, dice):
    """Returns whether the policy plays a match from these (own, other) dice."""
    if self.remembers_all:
      return tuple(dice) in self.match.rounds
    low, high = sorted(dice)
    return all({(a, b), (b, a)} <= self.match.tables.keys()
               for a in range(1, low + 1) for b in range(1, high + 1))

  def dudo_game(self, numdice, starting_player):
    """Returns `dudo` with the policy's rules.

    Args:
      numdice: how many dice each player has.
      starting_player: who starts.
    """
    parameters = self.match.game.get_parameters()
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
    """Has everything compiled that an answer needs."""
    dice = min(self.rounds, key=sum)
    self.values(dice, (0,), bytes([1] * dice[0]))

  def prepare(self):
    """Computes what each hand is worth at the start of a match.

    Who begins at the same time asks for these at the same time. With five dice
    each they take half a minute. With perfect recall they would take two, and
    keep others waiting; so there they are for up to three dice.
    """
    most = _MOST_PREPARED if self.remembers_all else MAX_DICE
    for number in range(1, most + 1):
      if self.knows((number, number)):
        for hand in self.rules.rolls(number).hands:
          self.values((number, number), (), bytes(hand))

  def _values(self, dice, claims, hand):
    """Returns the `ActionValues` of a hand; cached as `values`.

    Args:
      dice: (own dice, opponent's dice).
      claims: tuple of int.
      hand: bytes.
    """
    with self._limit:
      return exploitability.action_values(self.match, dice, list(claims), hand)

  def _belief(self, dice, claims):
    """Returns the `Posterior` of the opponent's dice; cached as `belief`."""
    return exploitability.posterior(self.match, dice, list(claims))
