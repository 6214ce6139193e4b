"""Bots for the games: the paper's two opponents, uniform play, any policy.

`RandomBot` and `HeuristicBot` are the hand-made opponents of Gendre & Kaneko
(2019), section 5.1.2. They were made for `dudo_single_round`; in `dudo`, where
the player to move is always the next claimer and challenging is one of the
moves, they decide about a challenge first and about a claim if they do not.

All bots are `pyspiel.Bot`s, constructed as OpenSpiel's own are: with the player
whom they play and a random number generator that has `choice`.
"""

import numpy as np
from open_spiel.python.bots import uniform_random
import pyspiel

from dudo_spiel import odds
from dudo_spiel.games import dudo
from dudo_spiel.games import dudo_single_round

UniformBot = uniform_random.UniformRandomBot


class _DistributionBot(pyspiel.Bot):
  """A bot that samples its action from `distribution(state)`."""

  def __init__(self, player_id, rng):
    pyspiel.Bot.__init__(self)
    self._player_id = player_id
    self._rng = rng

  def distribution(self, state):
    """Returns {action: probability} of the bot's actions in the state."""
    raise NotImplementedError

  def player_id(self):
    """Returns the player whom the bot plays."""
    return self._player_id

  def restart_at(self, state):
    """The bot remembers nothing, so there is nothing to forget."""

  def provides_policy(self):
    """Returns True: the bot's probabilities are known."""
    return True

  def get_policy(self, state):
    """Returns a list of (action, probability)."""
    return list(self.distribution(state).items())

  def step_with_policy(self, state):
    """Returns a list of (action, probability), and the action chosen."""
    policy = self.get_policy(state)
    if not policy:
      return [], pyspiel.INVALID_ACTION
    actions, probabilities = zip(*policy)
    weights = np.array(probabilities, dtype=np.float64)
    action = self._rng.choice(actions, p=weights / weights.sum())
    return policy, int(action)

  def step(self, state):
    """Returns the action chosen."""
    return self.step_with_policy(state)[1]


class PolicyBot(_DistributionBot):
  """Plays any OpenSpiel policy, written in Python or in C++."""

  def __init__(self, player_id, rng, policy):
    super().__init__(player_id, rng)
    self._policy = policy

  def distribution(self, state):
    """Returns {action: probability} of the policy."""
    return self._policy.action_probabilities(state)


class _ClaimBot(_DistributionBot):
  """A bot for games of claims: how likely to challenge, which claim to make."""

  def challenge_probability(self, state, is_next_claimer):
    """Returns the probability of challenging the last claim."""
    raise NotImplementedError

  def claim_weight(self, state, claim):
    """Returns how much the claim weighs among those that are legal."""
    raise NotImplementedError

  def distribution(self, state):
    """Returns {action: probability} of the bot's actions in the state."""
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
    claims = [action for action in legal if action != dudo_action]
    if len(claims) == len(legal):
      return self._claims(state, claims, 1.0)
    challenge = self.challenge_probability(state, True) if claims else 1.0
    return {**self._claims(state, claims, 1.0 - challenge),
            dudo_action: challenge}

  def _claims(self, state, claims, total):
    """Returns {claim: probability} with the probabilities adding to total."""
    weights = [self.claim_weight(state, claim) for claim in claims]
    if not any(weights):
      weights = [1.0] * len(claims)
    norm = sum(weights)
    return {claim: total * weight / norm
            for claim, weight in zip(claims, weights)}


class RandomBot(_ClaimBot):
  """Mostly claims little more than the last claim, and challenges rarely."""

  CHALLENGE = 1 / 16
  # By how far a claim is above the last one; further ones are not made.
  CLAIM_WEIGHTS = (1 / 9,) * 6 + (1 / 24,) * 6 + (1 / 72,) * 6

  def challenge_probability(self, state, is_next_claimer):
    """Returns the probability of challenging the last claim."""
    return self.CHALLENGE

  def claim_weight(self, state, claim):
    """Returns how much the claim weighs among those that are legal."""
    distance = claim - state.last_claim() - 1
    weights = self.CLAIM_WEIGHTS
    return weights[distance] if distance < len(weights) else 0.0


class HeuristicBot(_ClaimBot):
  """Goes by the odds of the claims, given its own dice.

  A claim weighs as much as it is likely; the bot challenges only as the next
  claimer, the likelier the less likely the claim is.
  """

  def challenge_probability(self, state, is_next_claimer):
    """Returns the probability of challenging the last claim."""
    if not is_next_claimer:
      return 0.0
    return 1.0 - self.claim_weight(state, state.last_claim())

  def claim_weight(self, state, claim):
    """Returns how much the claim weighs among those that are legal."""
    order = state.claim_order()
    quantity, rank = order.claims[claim]
    return odds.claim_odds(quantity, rank, state.hand(self._player_id),
                           order.num_dice, order.num_sides, order.wild_ones)


_CLAIM_GAMES = ("dudo", "dudo_ir", "dudo_single_round",
                "dudo_single_round_ir")
_BOTS = {"uniform": UniformBot, "random": RandomBot,
         "heuristic": HeuristicBot}


def bot_names(game):
  """Returns the names of the bots that play the game, the best first."""
  claims = game.get_type().short_name in _CLAIM_GAMES
  return ["heuristic", "random", "uniform"] if claims else ["uniform"]


def make_bot(name, game, player_id, rng):
  """Returns the bot called `name`.

  Args:
    name: one of `bot_names(game)`.
    game: the game that it is to play.
    player_id: the player whom it plays.
    rng: a random number generator with `choice`, such as
      `np.random.RandomState`.
  """
  if name not in bot_names(game):
    raise ValueError(
        f"bot={name!r}: for {game.get_type().short_name} it must be one of "
        f"{', '.join(bot_names(game))}")
  return _BOTS[name](player_id, rng)
