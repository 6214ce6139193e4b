import itertools
import math

import numpy as np
import pytest

from dudo_spiel.algorithms.match import claim_memory

SIZES = [(12, 1), (12, 2), (12, 3), (6, 6), (6, 9), (8, 5), (1, 1)]


def memories(num_claims, recall_length):
  return [claims for k in range(min(recall_length, num_claims) + 1)
          for claims in itertools.combinations(range(num_claims), k)]


@pytest.mark.parametrize("num_claims, recall_length", SIZES)
def test_every_claim_leads_to_the_memory_it_should(num_claims, recall_length):
  memory = claim_memory.ClaimMemory(num_claims, recall_length)
  arrays = memory.arrays
  known = memories(num_claims, recall_length)
  number = {claims: i for i, claims in enumerate(known)}
  assert memory.num_memories == len(known)
  for i, claims in enumerate(known):
    last = claims[-1] if claims else -1
    assert memory.index(list(claims)) == i
    assert (arrays.length[i], arrays.last[i]) == (len(claims), last)
    assert memory.first_row(claims) == arrays.row_begin[i]
    assert arrays.row_begin[i + 1] - arrays.row_begin[i] == (
        num_claims - 1 - last + bool(claims))
    for a, claim in enumerate(range(last + 1, num_claims)):
      after = (*claims, claim)[-recall_length:]
      assert arrays.child_begin[i] + a == number[after]
      assert memory.index([*claims, claim]) == number[after]
  assert arrays.row_begin[-1] == memory.num_rows


@pytest.mark.parametrize("num_claims, recall_length", SIZES)
def test_units_are_memories_with_the_same_children(num_claims, recall_length):
  memory = claim_memory.ClaimMemory(num_claims, recall_length)
  arrays = memory.arrays
  known = memories(num_claims, recall_length)
  assert sorted(arrays.unit_memory) == list(range(len(known)))
  for unit in range(len(arrays.unit_begin) - 1):
    members = arrays.unit_memory[arrays.unit_begin[unit]:
                                 arrays.unit_begin[unit + 1]]
    assert len(members) > 0
    assert len(set(arrays.last[members])) == 1
    assert len(set(arrays.child_begin[members])) == 1
    level = arrays.last[members[0]] + 1
    assert arrays.level_begin[level] <= unit < arrays.level_begin[level + 1]
    num_children = num_claims - level
    children = range(arrays.child_begin[members[0]],
                     arrays.child_begin[members[0]] + num_children)
    if recall_length > 1:
      assert all(arrays.group[child] == unit for child in children)


def test_numbers_of_information_sets_are_those_of_figure_1():
  # Neller & Hnath (2011), figure 1(b): own dice, opponent's dice, sets.
  for own, other, sets in [(1, 1, 1794), (1, 2, 5928), (2, 1, 20748),
                           (2, 2, 48825), (3, 3, 437192), (4, 4, 2327598),
                           (5, 5, 9084852)]:
    assert sets == math.comb(own + 5, 5) * claim_memory.num_memories(
        6 * (own + other), 3)


def test_the_full_game_has_as_many_rows_as_are_summed_up():
  memory = claim_memory.claim_memory(60, 3)
  assert memory.num_memories == 36_051
  assert memory.num_rows == memory.arrays.row_begin[-1] == 559_735
  assert np.all(np.diff(memory.arrays.row_begin) > 0)


def test_too_many_memories_are_refused():
  with pytest.raises(ValueError, match="recall_length=9: .* at most"):
    claim_memory.ClaimMemory(60, 9)
  with pytest.raises(ValueError, match="recall_length=0"):
    claim_memory.ClaimMemory(60, 0)
