"""Bots: two opponents from a paper, one of odds, uniform play, any policy.

`RandomBot` and `HeuristicBot` are the hand-made opponents of Gendre & Kaneko
(2019), section 5.1.2. They were made for `dudo_single_round`. In `dudo` they
decide first whether to challenge, and then which claim to make. `OddsBot` has
nothing random.

All bots are `pyspiel.Bot`s. Like OpenSpiel's own bots they take the player whom
they play and a random number generator that has `choice`, such as
`np.random.RandomState`.
"""

from typing import Any

import numpy as np
from open_spiel.python.bots import uniform_random
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import odds
from dudo_spiel import validation
from dudo_spiel.games import dudo
from dudo_spiel.games import dudo_single_round

UniformBot = uniform_random.UniformRandomBot


class _DistributionBot(pyspiel.Bot):
  """A bot that samples its actions from `distribution(state)`."""

  def __init__(self, player_id: int,
               rng: annotations.RandomGenerator | None) -> None:
    pyspiel.Bot.__init__(self)
    self._player_id = player_id
    self._rng: Any = rng

  def distribution(self, state: pyspiel.State) -> dict[int, float]:
    """Returns {action: probability} of the bot's actions in a state."""
    raise NotImplementedError

  def player_id(self) -> int:
    """Returns the player whom the bot plays."""
    return self._player_id

  def restart_at(self, state: pyspiel.State) -> None:
    """Does nothing, as the bot remembers nothing."""

  def provides_policy(self) -> bool:
    """Returns True, as `get_policy` returns the bot's probabilities."""
    return True

  def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
    """Returns a list of (action, probability)."""
    return list(self.distribution(state).items())

  def step_with_policy(
      self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
    """Returns a list of (action, probability), and a sampled action."""
    policy = self.get_policy(state)
    if not policy:
      return [], pyspiel.INVALID_ACTION
    actions, probabilities = zip(*policy)
    weights = np.array(probabilities, dtype=np.float64)
    action = self._rng.choice(actions, p=weights / weights.sum())
    return policy, int(action)

  def step(self, state: pyspiel.State) -> int:
    """Returns a sampled action."""
    return self.step_with_policy(state)[1]


class PolicyBot(_DistributionBot):
  """Plays an OpenSpiel policy, whether it is written in Python or in C++.

  Args:
    player_id: the player whom it plays.
    rng: a random number generator with `choice`.
    policy: the policy.
  """

  def __init__(self, player_id: int, rng: annotations.RandomGenerator | None,
               policy: annotations.Policy) -> None:
    super().__init__(player_id, rng)
    self._policy = policy

  def distribution(self, state: pyspiel.State) -> dict[int, float]:
    """Returns {action: probability} of the policy in a state."""
    return self._policy.action_probabilities(state)


class _ClaimBot(_DistributionBot):
  """A bot for games of claims, which `_CLAIM_GAMES` lists.

  A subclass has the probability of a challenge, and perhaps other weights of
  claims than their odds, the probability that they are true.
  """

  def challenge_probability(self, state: pyspiel.State,
                            is_next_claimer: bool) -> float:
    """Returns the probability of challenging the last claim.

    `is_next_claimer` says whether the bot claims next if nobody challenges.
    """
    raise NotImplementedError

  def claim_weight(self, state: pyspiel.State, claim: int) -> float:
    """Returns a weight: legal claims are made in proportion to theirs."""
    return odds.odds_in_order(state.claim_order(), claim,
                              state.hand(self._player_id))

  def distribution(self, state: pyspiel.State) -> dict[int, float]:
    """Returns {action: probability} of the bot's actions in a state."""
    game = state.get_game()
    legal = (state.legal_actions(self._player_id)
             if state.current_player() == self._player_id else [])
    if not legal:
      return {}
    if isinstance(game, dudo.DudoGame):
      return self._dudo(state, legal, game.dudo_action)
    if not isinstance(game, dudo_single_round.DudoSingleRoundGame):
      raise ValueError(
          f"game={game.get_type().short_name}: {type(self).__name__} plays "
          f"only {', '.join(_CLAIM_GAMES)}")
    if state.phase() == "claim":
      return self._claims(state, legal, 1.0)
    if legal == [game.challenge_action]:
      return {game.challenge_action: 1.0}
    is_next = self._player_id == (state.claimer() + 1) % game.num_players()
    challenge = self.challenge_probability(state, is_next)
    return {game.pass_action: 1.0 - challenge,
            game.challenge_action: challenge}

  def _dudo(self, state, legal, dudo_action):
    """Returns {action: probability} in `dudo` or `dudo_ir`."""
    claims = [action for action in legal if action != dudo_action]
    if not claims:
      return {dudo_action: 1.0}
    if len(claims) == len(legal):
      return self._claims(state, claims, 1.0)
    challenge = self.challenge_probability(state, True)
    return {**self._claims(state, claims, 1.0 - challenge),
            dudo_action: challenge}

  def _claims(self, state, claims, total):
    """Returns {claim: probability}, with probabilities that sum to `total`."""
    weights = [self.claim_weight(state, claim) for claim in claims]
    if not any(weights):
      weights = [1.0] * len(claims)
    norm = sum(weights)
    return {claim: total * weight / norm
            for claim, weight in zip(claims, weights)}


class RandomBot(_ClaimBot):
  """Prefers claims just above the last one, and rarely challenges.

  Attributes:
    CHALLENGE: the probability of a challenge.
    CLAIM_WEIGHTS: the weights of the claims above the last one, the weakest
      first. It makes no stronger claims.
  """

  CHALLENGE = 1 / 16
  CLAIM_WEIGHTS = (1 / 9,) * 6 + (1 / 24,) * 6 + (1 / 72,) * 6

  def challenge_probability(self, state: pyspiel.State,
                            is_next_claimer: bool) -> float:
    """Returns the probability of challenging the last claim."""
    return self.CHALLENGE

  def claim_weight(self, state: pyspiel.State, claim: int) -> float:
    """Returns the claim's weight among the legal claims."""
    distance = claim - state.last_claim() - 1
    weights = self.CLAIM_WEIGHTS
    return weights[distance] if distance < len(weights) else 0.0


class HeuristicBot(_ClaimBot):
  """Goes by the odds that claims are true, given its own dice.

  It makes claims in proportion to their odds. It challenges only if it is the
  next claimer, with the probability that the claim is false.
  """

  def challenge_probability(self, state: pyspiel.State,
                            is_next_claimer: bool) -> float:
    """Returns the probability of challenging the last claim."""
    if not is_next_claimer:
      return 0.0
    return 1.0 - self.claim_weight(state, state.last_claim())


class OddsBot(_ClaimBot):
  """Challenges claims of low odds, and makes the claim of the highest.

  Odds are the probability that a claim is true, given the bot's own dice. It
  challenges a claim whose odds are below a threshold, in any seat. Otherwise it
  makes the legal claim with the highest odds, of equals the strongest.

  Args:
    player_id: the player whom it plays.
    rng: a random number generator with `choice`.
    threshold: the lowest odds of a claim that it does not challenge.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel import bots
    >>> state = pyspiel.load_game("dudo(numdice=1)").new_initial_state()
    >>> for action in (0, 1, 2):  # rolls a one and a two; the claim is 1x4
    ...   state.apply_action(action)
    >>> policy = bots.OddsBot(1, None).get_policy(state)
    >>> [state.action_to_string(action) for action, p in policy if p > 0]
    ['Dudo']
  """

  THRESHOLD = 0.4

  def __init__(self, player_id: int, rng: annotations.RandomGenerator | None,
               threshold: float = THRESHOLD) -> None:
    super().__init__(player_id, rng)
    self._threshold = validation.number("threshold", threshold, 0.0, 1.0)

  def challenge_probability(self, state: pyspiel.State,
                            is_next_claimer: bool) -> float:
    """Returns 1 if the odds of the last claim are below the threshold."""
    return float(self.claim_weight(state, state.last_claim()) <
                 self._threshold)

  def _claims(self, state, claims, total):
    best = max(claims, key=lambda claim: (self.claim_weight(state, claim),
                                          claim))
    return {claim: total * (claim == best) for claim in claims}


_CLAIM_GAMES = ("dudo", "dudo_ir", "dudo_single_round",
                "dudo_single_round_ir")
_BOTS = {"uniform": UniformBot, "random": RandomBot,
         "heuristic": HeuristicBot, "odds": OddsBot}
_WORDS = {"uniform": "plays every legal move with the same probability",
          "random": "likes claims just above the last one, and rarely "
                    "challenges",
          "heuristic": "goes by the odds that claims are true, given its own "
                       "dice",
          "odds": "makes the claim that is likeliest, given its own dice, and "
                  "challenges claims with odds below 40%"}


def check_generator(rng: annotations.RandomGenerator | None) -> None:
  """Raises a ValueError unless bots can draw from it; None is for no play."""
  if rng is not None and not callable(getattr(rng, "choice", None)):
    raise ValueError(f"rng={rng!r}: must have a method `choice`, as "
                     "np.random.RandomState has")


def bot_names(game: pyspiel.Game) -> list[str]:
  """Returns a list of the bots that play the game, the best first."""
  claims = validation.game("game", game).get_type().short_name in _CLAIM_GAMES
  return (["odds", "heuristic", "random", "uniform"] if claims else
          ["uniform"])


def describe(name: str) -> str:
  """Returns what a bot does, in words for a player.

  Example:
    >>> from dudo_spiel import bots
    >>> bots.describe("uniform")
    'plays every legal move with the same probability'
  """
  return _WORDS[validation.choice("name", name, tuple(_WORDS))]


def make_bot(name: str, game: pyspiel.Game, player_id: int,
             rng: annotations.RandomGenerator | None) -> pyspiel.Bot:
  """Returns a bot.

  Args:
    name: one of `bot_names(game)`.
    game: the game to play.
    player_id: the player whom it plays.
    rng: a random number generator with `choice`, such as
      `np.random.RandomState`.

  Example:
    >>> import numpy as np
    >>> import pyspiel
    >>> from dudo_spiel import bots
    >>> game = pyspiel.load_game("dudo(numdice=1)")
    >>> rng = np.random.RandomState(1)
    >>> seats = [bots.make_bot(name, game, player, rng)
    ...          for player, name in enumerate(["heuristic", "random"])]
    >>> state = game.new_initial_state()
    >>> while not state.is_terminal():
    ...   if state.is_chance_node():
    ...     state.apply_action(0)  # a one
    ...   else:
    ...     state.apply_action(seats[state.current_player()].step(state))
    >>> sum(state.returns())
    0.0
  """
  names = bot_names(game)
  if not isinstance(name, str) or name not in names:
    raise ValueError(
        f"name={name!r}: must be a bot that plays "
        f"{game.get_type().short_name}: {', '.join(names)}")
  validation.integer("player_id", player_id, 0, game.num_players() - 1)
  check_generator(rng)
  return _BOTS[name](player_id, rng)
