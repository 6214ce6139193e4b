import itertools

import numpy as np
import pytest

from dudo_spiel import claims


def test_order_of_one_die_each_is_the_papers_table():
  # Neller & Hnath (2011), table after equation 1.
  assert claims.ClaimOrder(2).names == (
      "1x2", "1x3", "1x4", "1x5", "1x6", "1x1",
      "2x2", "2x3", "2x4", "2x5", "2x6", "2x1")


@pytest.mark.parametrize("num_dice", [2, 3, 7, 10, 30])
def test_strength_is_equation_1_with_its_signs_mended(num_dice):
  for n in range(1, num_dice + 1):
    for r in range(2, 7):
      assert claims.claim_strength(n, r, num_dice) == 5 * n + n // 2 + r - 7
    ones = 11 * n - 6 if n <= num_dice // 2 else 5 * num_dice + n - 1
    assert claims.claim_strength(n, 1, num_dice) == ones


@pytest.mark.parametrize("num_dice", [2, 5, 8])
def test_ones_stand_before_twice_as_many_twos(num_dice):
  order = claims.ClaimOrder(num_dice)
  for n in range(1, num_dice // 2 + 1):
    assert order.index(n, 1) + 1 == order.index(2 * n, 2)
  strongest = [f"{n}x1" for n in range(num_dice // 2 + 1, num_dice + 1)]
  assert list(order.names[-len(strongest):]) == strongest


@pytest.mark.parametrize("wild_ones", [True, False])
@pytest.mark.parametrize("num_sides", [2, 3, 6, 12])
def test_order_is_a_bijection_in_which_more_of_a_rank_is_stronger(
    num_sides, wild_ones):
  for num_dice in range(1, 12):
    order = claims.ClaimOrder(num_dice, num_sides, wild_ones)
    pairs = set(itertools.product(range(1, num_dice + 1),
                                  range(1, num_sides + 1)))
    assert set(order.claims) == pairs
    assert len(order.claims) == order.num_claims == num_sides * num_dice
    for n, r in pairs:
      if n < num_dice:
        assert order.index(n + 1, r) > order.index(n, r)


def test_without_wild_ones_the_order_is_by_quantity_then_rank():
  order = claims.ClaimOrder(3, 4, wild_ones=False)
  assert order.claims == tuple(itertools.product((1, 2, 3), (1, 2, 3, 4)))


def test_arrays_and_names_say_the_same():
  order = claims.claim_order(7, 5, True)
  assert order is claims.claim_order(7, 5, True)
  np.testing.assert_array_equal(
      np.stack([order.quantities, order.ranks], axis=1), order.claims)
  for claim, name in enumerate(order.names):
    assert order.parse(name) == claim


@pytest.mark.parametrize("name", ["3", "x", "3x", "x3", "-1x3", "ax2", ""])
def test_a_malformed_claim_is_refused(name):
  with pytest.raises(ValueError, match="claim="):
    claims.claim_order(4).parse(name)


@pytest.mark.parametrize("name, argument", [
    ("0x2", "quantity=0"), ("5x2", "quantity=5"), ("1x0", "rank=0"),
    ("1x7", "rank=7")])
def test_a_claim_that_does_not_exist_is_refused(name, argument):
  with pytest.raises(ValueError, match=argument):
    claims.claim_order(4).parse(name)


def test_claims_in_mask():
  assert claims.claims_in_mask(0) == []
  assert claims.claims_in_mask(1 << 90 | 1 << 3 | 1) == [0, 3, 90]


@pytest.mark.parametrize("history", [3, "12", [0, 0], [2, 1], [-1], [12],
                                     [0.5], [None]])
def test_histories_that_no_round_has(history):
  order = claims.claim_order(2)
  order.check_history([])
  order.check_history((0, 3, 11))
  with pytest.raises(ValueError, match="^claims="):
    order.check_history(history)
