import itertools

import pytest
import scipy.stats

from dudo_spiel import odds
from dudo_spiel import rules


@pytest.mark.parametrize("trials", [0, 1, 5, 20])
@pytest.mark.parametrize("chance", [1 / 6, 1 / 3, 1.0])
def test_binomial_tail(trials, chance):
  for successes in range(-1, trials + 2):
    assert odds.binomial_tail(trials, successes, chance) == pytest.approx(
        scipy.stats.binom.sf(successes - 1, trials, chance), abs=1e-12)


@pytest.mark.parametrize("wild_ones", [True, False])
def test_claim_odds_against_all_throws_of_the_other_dice(wild_ones):
  hand = bytes([1, 2, 2])
  throws = list(itertools.product(range(1, 5), repeat=4))
  for rank in range(1, 5):
    for quantity in range(1, 8):
      holds = sum(
          rules.count_matches(hand + bytes(throw), rank, wild_ones) >= quantity
          for throw in throws)
      assert odds.claim_odds(quantity, rank, hand, 7, 4, wild_ones) == (
          pytest.approx(holds / len(throws), abs=1e-12))
