import itertools
import math

import numpy as np
from oracles import abstraction_oracle
import pyspiel
import pytest

from dudo_spiel import claims as claims_lib
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms.dudo.imperfect_recall import abstraction_graph
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions

# (dice in play, sides, wild ones)
_ROUNDS = [(2, 3, True), (3, 2, False), (1, 5, True), (4, 2, True)]


def graph_of(name, num_dice, num_sides=6, wild_ones=True):
  order = claims_lib.claim_order(num_dice, num_sides, wild_ones)
  return abstraction_graph.of_round(abstractions.parse("memory", name), order)


def histories(num_claims):
  """Returns all lists of claims, shortest first."""
  return [list(claims) for k in range(num_claims + 1)
          for claims in itertools.combinations(range(num_claims), k)]


@pytest.mark.oracle
@pytest.mark.parametrize("name", abstraction_oracle.ABSTRACTIONS)
@pytest.mark.parametrize("num_dice, num_sides, wild_ones", _ROUNDS)
def test_histories_are_merged_as_they_should_be(name, num_dice, num_sides,
                                                wild_ones):
  order = claims_lib.claim_order(num_dice, num_sides, wild_ones)
  memory = graph_of(name, num_dice, num_sides, wild_ones)
  arrays = memory.arrays
  numbers, roles = {}, {}  # by what is remembered
  for claims in histories(order.num_claims):
    known = abstraction_oracle.ABSTRACTIONS[name](claims, order.ranks)
    node, last = memory.index(claims), claims[-1] if claims else -1
    assert numbers.setdefault(known, node) == node
    roles.setdefault(node, set()).add(len(claims) % 2)
    assert arrays.last[node] == last
    assert memory.first_row(claims) == arrays.row_begin[node]
    assert arrays.row_begin[node + 1] - arrays.row_begin[node] == (
        order.num_claims - 1 - last + bool(claims))
    for a, claim in enumerate(range(last + 1, order.num_claims)):
      assert arrays.child_begin[node] + a == memory.index([*claims, claim])
  assert sorted(numbers.values()) == list(range(memory.num_nodes))
  assert memory.num_rows == arrays.row_begin[-1]
  for node, of_node in roles.items():
    assert set(np.flatnonzero(arrays.acts[node])) == of_node


@pytest.mark.parametrize("name", abstraction_oracle.ABSTRACTIONS)
def test_units_are_nodes_with_the_same_children(name):
  arrays = graph_of(name, 2, 4).arrays
  num_units, num_nodes = len(arrays.unit_before), len(arrays.last)
  assert sorted(arrays.unit_node) == list(range(num_nodes))
  assert arrays.wave_begin[-1] == num_units == len(arrays.unit_begin) - 1
  parents = {node: set() for node in range(num_nodes)}
  members = [arrays.unit_node[begin:end] for begin, end in
             itertools.pairwise(arrays.unit_begin)]
  children = set()
  for unit, nodes in enumerate(members):
    assert list(nodes) == sorted(nodes) and len(nodes) > 0
    assert len(set(arrays.last[nodes])) == 1
    assert len(set(arrays.child_begin[nodes])) == 1
    level = arrays.last[nodes[0]] + 1
    assert arrays.wave_begin[level] <= unit < arrays.wave_begin[level + 1]
    first, count = arrays.child_begin[nodes[0]], arrays.num_claims - level
    if count:
      assert (first, count) not in children  # all that have these
      children.add((first, count))
    for child in range(first, first + count):
      assert arrays.last[child] == level + child - first
      parents[child].update(nodes)
  for node in range(1, num_nodes):
    # The reach of a child is that of all its parents, unit by unit.
    unit, found = arrays.last_parent_unit[node], set()
    while unit >= 0:
      found.update(members[unit])
      assert arrays.unit_before[unit] < unit
      unit = arrays.unit_before[unit]
    assert found == parents[node]
  assert arrays.last_parent_unit[0] == num_units


@pytest.mark.parametrize("num_claims, length", [
    (12, 1), (12, 2), (12, 3), (6, 6), (6, 9), (8, 5), (2, 1)])
def test_last_claims_are_numbered_as_in_files(num_claims, length):
  memory = graph_of(length, 1, num_claims)
  known = [claims for claims in histories(num_claims) if len(claims) <= length]
  assert [memory.index(claims) for claims in known] == list(range(len(known)))


def test_numbers_of_information_sets_are_those_of_figure_1():
  # Neller & Hnath (2011), figure 1(b): own dice, opponent's dice, sets.
  for own, other, sets in [(1, 1, 1794), (1, 2, 5928), (2, 1, 20748),
                           (2, 2, 48825), (3, 3, 437192), (4, 4, 2327598),
                           (5, 5, 9084852)]:
    assert sets == math.comb(own + 5, 5) * abstraction_graph.num_nodes(
        abstractions.LastClaims(3), claims_lib.claim_order(own + other))


def test_the_full_game_has_as_many_rows_as_are_summed_up():
  memory = graph_of(3, 10)
  assert memory.num_nodes == 36_051
  assert memory.num_rows == memory.arrays.row_begin[-1] == 559_735
  assert np.all(np.diff(memory.arrays.row_begin) > 0)


def test_too_many_nodes_are_refused():
  with pytest.raises(ValueError, match="recall_length=9: .* at most"):
    graph_of(9, 10)
  for name in ("claims4_ranks9", "claims30_ranks3", "player_ranks"):
    with pytest.raises(ValueError, match=f"memory='{name}': .* at most"):
      graph_of(name, 40, 30)


@pytest.mark.parametrize("kwargs, named", [
    ({"recall_length": 12}, "recall_length=12: "),
    ({"memory": "claims12"}, "memory='claims12': "),
    ({"memory": 12}, "memory='claims12': "),
    ({"memory": abstractions.LastClaims(12)}, "memory='claims12': ")])
def test_the_argument_by_which_a_memory_is_too_large_is_named(kwargs, named):
  with pytest.raises(ValueError, match=f"^{named}.* needs .* memory"):
    fsicfr.MatchSolver(pyspiel.load_game("dudo"), **kwargs)


def test_names_and_words():
  for name, kind, text in [
      ("claims1", abstractions.LastClaims(1), "the last claim"),
      ("claims12", abstractions.LastClaims(12), "the last 12 claims"),
      ("claims2_ranks1", abstractions.LastClaims(2, 1),
       "the last 2 claims and the rank of the one before them"),
      ("claims1_ranks3", abstractions.LastClaims(1, ranks=3),
       "the last claim and the ranks of the 3 before it"),
      ("player_ranks", abstractions.PlayerRanks(),
       "the last claim and which ranks each player had claimed before it")]:
    assert abstractions.parse("memory", name) == kind
    assert abstractions.parse("memory", kind) == kind
    assert (kind.name, kind.text) == (name, text)
    assert hash(kind) == hash(abstractions.parse("memory", name))
  assert abstractions.parse("memory", 3) == abstractions.LastClaims(3)
  assert abstractions.LastClaims(3) != abstractions.LastClaims(3, 1)


@pytest.mark.parametrize("value", [
    "claims", "claims0", "claims2_ranks0", "ranks2", "Claims3", "claims3 ", "",
    0, -1, 2.0, True, [], {"claims": 2}])
def test_other_abstractions_are_refused_with_all_that_there_are(value):
  with pytest.raises(ValueError, match="^memory=.*: must be") as error:
    abstractions.parse("memory", value)
  for word in ("'claims3'", "'claims2_ranks2'", "'player_ranks'",
               "LastClaims", "PlayerRanks"):
    assert word in str(error.value)


@pytest.mark.parametrize("arguments, message", [
    ((0,), "claims=0"), ((1.5,), "claims=1.5"), ((2, -1), "ranks=-1")])
def test_last_claims_are_counted(arguments, message):
  with pytest.raises(ValueError, match=message):
    abstractions.LastClaims(*arguments)
