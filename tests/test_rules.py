import pytest

from dudo_spiel import claims
from dudo_spiel import rules

_DIFFERENCE = rules.HouseRules()
_ONE = rules.HouseRules(die_loss="one")
_NO_REWARD = rules.HouseRules(exact_reward=False)
_ONE_NO_REWARD = rules.HouseRules(die_loss="one", exact_reward=False)


@pytest.mark.parametrize("count, house, after, winner", [
    # The paper's examples: Cal (player 2) challenges the seven sixes that Bob
    # (player 1) claimed.
    (10, _DIFFERENCE, [5, 5, 2], 1),
    (5, _DIFFERENCE, [5, 3, 5], 2),
    (7, _DIFFERENCE, [4, 5, 4], 1),
    # Nobody loses more dice than there are.
    (15, _DIFFERENCE, [5, 5, 0], 1),
    (1, _DIFFERENCE, [5, 0, 5], 2),
    # With "one", the loser loses one die whatever the difference.
    (10, _ONE, [5, 5, 4], 1),
    (5, _ONE, [5, 4, 5], 2),
    (7, _ONE, [4, 5, 4], 1),
    # Without the reward, an exact claim costs only the challenger a die.
    (10, _NO_REWARD, [5, 5, 2], 1),
    (5, _NO_REWARD, [5, 3, 5], 2),
    (7, _NO_REWARD, [5, 5, 4], 1),
    (7, _ONE_NO_REWARD, [5, 5, 4], 1),
    (9, _ONE_NO_REWARD, [5, 5, 4], 1),
    (6, _ONE_NO_REWARD, [5, 4, 5], 2),
])
def test_every_row_of_the_die_loss_rule(count, house, after, winner):
  result = rules.resolve_challenge([5, 5, 5], claimant=1, challenger=2,
                                   quantity=7, count=count, house=house)
  assert result == (bytes(after), winner)


def test_exact_claim_costs_all_living_players_but_the_claimant():
  result = rules.resolve_challenge([3, 0, 1, 2], claimant=3, challenger=0,
                                   quantity=2, count=2, house=_DIFFERENCE)
  assert result == (bytes([2, 0, 0, 2]), 3)


def test_ones_count_for_every_rank_but_not_the_other_way_round():
  hands = bytes([1, 1, 2, 5, 5, 5])
  assert rules.count_matches(hands, 5) == 5
  assert rules.count_matches(hands, 3) == 2
  assert rules.count_matches(hands, 1) == 2
  assert rules.count_matches(hands, 5, wild_ones=False) == 3


def test_round():
  order = claims.claim_order(6)
  mask = sum(1 << order.parse(name) for name in ("1x5", "2x5", "3x4"))
  # Player 1 is out; player 2 starts, so 3, 0 and then 2 follow.
  this_round = rules.Round(bytes([2, 0, 1, 3]), 2, bytes([1, 4, 6, 2, 4, 5]),
                           mask)
  assert this_round.all_hands() == [b"\1\4", b"", b"\6", b"\2\4\5"]
  assert [order.names[c] for c in this_round.claim_list()] == [
      "1x5", "2x5", "3x4"]
  assert [this_round.actor(turn) for turn in range(4)] == [2, 3, 0, 2]
  # Player 2 challenges player 0's three fours: two fours and a one are three.
  assert this_round.challenge(6, _DIFFERENCE) == (3, bytes([2, 0, 0, 2]), 0)
  no_wilds = rules.HouseRules(wild_ones=False)
  order = claims.claim_order(6, 6, False)
  mask = 1 << order.parse("3x4")
  # Player 3 challenges player 2: without wild ones there are only two fours.
  assert this_round._replace(claims=mask).challenge(6, no_wilds) == (
      2, bytes([2, 0, 0, 3]), 3)
