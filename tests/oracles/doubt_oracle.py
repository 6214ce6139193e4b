"""Q-learning of doubt in plain Python, on the states of OpenSpiel's `dudo`.

The steps are those at the top of `doubt_kernels`; the rules of the game are
those of the game itself.
"""

from dudo_spiel import bots
from dudo_spiel import odds


class Draws:
  """Hands out a game's random numbers, one after the other.

  Args:
    uniform: function of a counter.
  """

  def __init__(self, uniform):
    self._uniform = uniform
    self._counter = 0

  def __call__(self):
    self._counter += 1
    return self._uniform(self._counter)


def _roll(state, x):
  """Applies the roll in which a uniform x falls."""
  reached = 0.0
  for roll, chance in state.chance_outcomes():
    reached += chance
    if x < reached:
      state.apply_action(roll)
      return
  raise ValueError(f"x={x}: must be below the sum of all chances")


def _claim_odds(state, player, claim):
  order = state.claim_order()
  quantity, rank = order.claims[claim]
  return odds.claim_odds(quantity, rank, state.hand(player), order.num_dice,
                         order.num_sides, order.wild_ones)


def dummy_claim(state, player, draw):
  """Returns the claim of a dummy."""
  order, hand = state.claim_order(), state.hand(player)
  sides, last = order.num_sides, state.last_claim()
  claims = [claim for claim in state.legal_actions()
            if claim < len(order.claims)]
  quantity, rank = order.claims[last] if last >= 0 else (0, 0)
  kind = ("honest", "bluff", "random")[int(3 * draw())]
  wanted = None
  if kind == "honest":
    commonest = max(range(1, sides + 1),
                    key=lambda face: (hand.count(face), -face))
    wanted = (quantity + 1 if quantity else hand.count(commonest)), commonest
  elif kind == "bluff":
    x = draw()
    if not quantity:
      face = 1 + int(sides * x)
      wanted = hand.count(face) + 1, face
    elif rank == sides:
      wanted = quantity + 1, rank
    else:
      wanted = [(quantity + 1, rank), (quantity, rank + 1),
                (quantity + 1, rank + 1)][int(3 * x)]
  if wanted and wanted[0] <= order.num_dice:
    return order.index(*wanted)
  return claims[int(draw() * len(claims))]


def _heuristic_claim(state, player, x):
  bot = bots.HeuristicBot(player, None)
  claims = [claim for claim in state.legal_actions()
            if claim < len(state.claim_order().claims)]
  weights = [bot.claim_weight(state, claim) for claim in claims]
  if not any(weights):
    return claims[int(x * len(claims))]
  remaining = x * sum(weights)
  for claim, weight in zip(claims, weights):
    remaining -= weight
    if remaining < 0.0:
      return claim
  return claims[-1]


def play(game, table, draw, *, player, opponents, alpha, round_reward,
         game_reward):
  """Plays a game and learns from it.

  Args:
    game: `dudo` with the rules of the report.
    table: {(hand, claim): probability to doubt}, 0.5 if left out; modified.
    draw: the `Draws`.
    player: the seat of the agent.
    opponents: "dummy" or "heuristic".
    alpha: the learning rate.
    round_reward: for a doubt.
    game_reward: for a game.

  Returns:
    Whether the agent wins.
  """

  def learn(doubted, reward):
    q = table.get(doubted, 0.5)
    table[doubted] = min(max(q + alpha * reward * (1.0 - q), 0.0), 1.0)

  state, record = game.new_initial_state(), []
  while not state.is_terminal() and state.dice[player]:
    if state.is_chance_node():
      _roll(state, draw())
      continue
    mover, last = state.current_player(), state.last_claim()
    legal = state.legal_actions()
    says_dudo = legal == [game.dudo_action]
    if not says_dudo and last >= 0:
      if mover == player:
        chance = table.get((state.hand(mover), last), 0.5)
      else:
        chance = 1.0 - _claim_odds(state, mover, last)
        if opponents == "dummy":
          chance = 0.5 * 0.5 + 0.5 * chance
      says_dudo = draw() < chance
    if says_dudo:
      doubted, before = (state.hand(mover), last), state.dice[mover]
      state.apply_action(game.dudo_action)
      if mover == player:
        record.append(doubted)
        is_right = state.dice[mover] == before
        learn(doubted, round_reward if is_right else -round_reward)
    elif mover != player and opponents == "heuristic":
      state.apply_action(_heuristic_claim(state, mover, draw()))
    else:
      state.apply_action(dummy_claim(state, mover, draw))
  has_won = state.dice[player] > 0
  for doubted in record:
    learn(doubted, game_reward if has_won else -game_reward)
  return has_won
