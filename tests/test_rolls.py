import collections
import itertools

import numpy as np
import pytest

from dudo_spiel import rolls
from dudo_spiel import rules


@pytest.mark.parametrize("num_dice, num_sides",
                         [(0, 6), (1, 6), (3, 6), (5, 6), (4, 2), (3, 5)])
def test_table_against_all_ordered_throws(num_dice, num_sides):
  throws = itertools.product(range(1, num_sides + 1), repeat=num_dice)
  ways = collections.Counter(tuple(sorted(throw)) for throw in throws)
  table = rolls.RollTable(num_dice, num_sides)
  assert table.num_rolls == len(ways) == rolls.num_rolls(num_dice, num_sides)
  assert [tuple(hand) for hand in table.hands] == sorted(ways)
  for roll, faces in enumerate(sorted(ways)):
    assert table.probabilities[roll] == pytest.approx(
        ways[faces] / num_sides**num_dice, abs=1e-15)
    assert table.index(faces[::-1]) == roll
    assert tuple(table.faces[roll]) == faces
    assert [faces.count(r) for r in range(1, num_sides + 1)] == list(
        table.counts[roll])
  assert table.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
  assert table.outcomes == tuple(enumerate(table.probabilities))


def test_five_dice_have_252_rolls():
  assert rolls.roll_table(5).num_rolls == 252
  assert rolls.roll_table(5) is rolls.roll_table(5)


@pytest.mark.parametrize("wild_ones", [True, False])
def test_matches_are_those_that_the_rules_count(wild_ones):
  table = rolls.RollTable(4, 5)
  expected = [[rules.count_matches(hand, rank, wild_ones)
               for rank in range(1, 6)] for hand in table.hands]
  np.testing.assert_array_equal(table.matches(wild_ones), expected)


@pytest.mark.parametrize("faces", [[1, 2], [1, 2, 7], [0, 1, 2], [1, 2, 300],
                                   "112"])
def test_faces_that_are_no_roll_are_refused(faces):
  with pytest.raises(ValueError, match="faces="):
    rolls.roll_table(3).index(faces)


def test_a_table_too_large_is_refused_before_it_is_made():
  with pytest.raises(ValueError, match="numdice=20, dice_sides=20"):
    rolls.RollTable(20, 20)


def test_hand_name():
  assert rolls.hand_name(bytes([1, 2, 5, 6, 6])) == "12566"
  assert rolls.hand_name(bytes([1, 1, 12])) == "11(12)"
  assert rolls.hand_name(b"") == ""
