

import signal

import numpy as np
from oracles import abstraction_oracle
from oracles import round_oracle
import pytest

from dudo_spiel import rules as rules_lib
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.dudo.imperfect_recall import deals
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer

pytestmark = pytest.mark.oracle

VALUES = {(1, 1): -0.03, (1, 2): -0.6, (2, 1): 0.62, (2, 2): 0.01}
OTHER_HOUSE = rules_lib.HouseRules(False, "one", False)


# With some seeds regrets differ only by rounding, which then decides what is
# played and sets the oracle apart; with this one they do not.
def make_trainer(rules, rounds, **kwargs):
  return pair_trainer.PairTrainer(rules, rounds, **{
      "seed": 1, "gamma": 0.0, "dtype": np.float64, **kwargs})


def _last_claims_rules(num_sides, num_claims):
  """Returns the usual rules; players remember the last claims."""
  return abstract_rules.AbstractRules(num_sides, rules_lib.HouseRules(),
                                      abstractions.LastClaims(num_claims))


def deals_of(rules, dice, shifts):
  """Returns the deals of these shifts, and what they weigh for each role."""
  tables = [rules.rolls(n) for n in dice]
  large = int(dice[1] > dice[0])
  many, few = tables[large].num_rolls, tables[1 - large].num_rolls
  pairs = []
  for shift in shifts:
    for h in range(many):
      pair = [h, (h + shift) % few]
      pairs.append(tuple(pair if large == 0 else pair[::-1]))
  weights = [[few / len(shifts) * tables[1 - role].probabilities[deal[1 - role]]
              for deal in pairs] for role in range(2)]
  return pairs, weights


@pytest.mark.parametrize("sides, house, rounds, memory, shifts, gamma", [
    (4, rules_lib.HouseRules(), [(1, 1)], 1, None, 0),
    (4, rules_lib.HouseRules(), [(1, 1)], 2, 2, 1),
    pytest.param(6, rules_lib.HouseRules(), [(1, 1)], 1, None, 0,
                 marks=pytest.mark.slow),
    pytest.param(6, rules_lib.HouseRules(), [(1, 1)], 3, None, 1,
                 marks=pytest.mark.slow),
    pytest.param(6, rules_lib.HouseRules(), [(1, 1)], 12, 1, 0,
                 marks=pytest.mark.slow),
    (3, rules_lib.HouseRules(), [(1, 2), (2, 1)], 1, 1, 0),
    (3, rules_lib.HouseRules(), [(1, 2), (2, 1)], 2, 2, 2),
    (3, rules_lib.HouseRules(), [(1, 2), (2, 1)], 3, None, 1),
    (3, OTHER_HOUSE, [(1, 2), (2, 1)], 3, 2, 1),
    (2, rules_lib.HouseRules(), [(2, 2)], 2, 2, 1),
    (2, OTHER_HOUSE, [(2, 2)], 3, None, 0),
    (2, rules_lib.HouseRules(), [(1, 3), (3, 1)], 2, 1, 0),
    (3, rules_lib.HouseRules(), [(1, 2), (2, 1)], "claims1_ranks3", 2, 1),
    (3, rules_lib.HouseRules(), [(1, 2), (2, 1)], "claims2_ranks1", 2, 1),
    (3, OTHER_HOUSE, [(1, 2), (2, 1)], "claims2_ranks2", None, 1),
    (3, OTHER_HOUSE, [(1, 2), (2, 1)], "player_ranks", 2, 0),
    (2, rules_lib.HouseRules(), [(2, 2)], "claims1_ranks1", None, 0),
    (2, rules_lib.HouseRules(), [(2, 2)], "claims2_ranks2", 2, 1),
    (2, rules_lib.HouseRules(), [(2, 2)], "player_ranks", None, 1),
])
def test_sweeps_are_those_of_the_oracle(sides, house, rounds, memory, shifts,
                                        gamma):
  kind = abstractions.parse("memory", memory)
  rules = abstract_rules.AbstractRules(sides, house, kind)
  trainer = make_trainer(rules, rounds, num_shifts=shifts, gamma=gamma)
  oracle = round_oracle.RoundOracle(
      sides, house, abstraction_oracle.ABSTRACTIONS[kind.name], VALUES)
  sums = {key: [0.0, 0.0] for key in rounds}
  with trainer.at_work(VALUES):
    for t in range(3):
      assert trainer.iteration == t
      for dice in rounds:
        few = min(rules.rolls(n).num_rolls for n in dice)
        pairs, weights = deals_of(rules, dice, trainer.shifts(dice, t) if
                                  shifts is not None else range(few))
        values = oracle.sweep(dice, pairs, weights, (t + 1)**gamma)
        chances = [w * rules.rolls(dice[0]).probabilities[deal[0]]
                   for deal, w in zip(pairs, weights[0])]
        sums[dice][0] += (t + 1)**gamma * np.dot(values, chances)
        sums[dice][1] += (t + 1)**gamma
      trainer.iterate()
      compare(rules, trainer.tables, oracle)
  for key, record in zip(rounds, trainer.records):
    np.testing.assert_allclose(record.tolist(), [3, *sums[key]], rtol=1e-12)


def compare(rules, tables, oracle):
  """Compares all tables; the oracle's have every information set."""
  seen = {key: np.zeros(table.regret.shape, bool)
          for key, table in tables.items()}
  for name in ("regret", "cumulative"):
    for key, numbers in getattr(oracle, name).items():
      own, other, _, hand = key
      row = rules.graph(own + other).first_row(oracle.claims[key])
      rows = slice(row, row + len(numbers))
      np.testing.assert_allclose(
          getattr(tables[own, other], name)[rows, hand], numbers, atol=1e-9)
      seen[own, other][rows, hand] = True
    for key, table in tables.items():
      hands = rules.rolls(key[0]).num_rolls
      unseen = ~seen[key][:, :hands]
      assert not getattr(table, name)[:, :hands][unseen].any()


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [[(1, 2), (2, 1)], [(2, 2)]])
@pytest.mark.parametrize("memory", [
    abstractions.LastClaims(1), abstractions.LastClaims(3),
    abstractions.LastClaims(2, 1),
    abstractions.PlayerRanks()], ids=lambda kind: kind.name)
def test_threads_change_nothing(monkeypatch, rounds, memory):
  monkeypatch.setattr(pair_trainer, "MIN_PARALLEL_CELLS", 0)
  rules = abstract_rules.AbstractRules(6, rules_lib.HouseRules(), memory)
  trainers = [make_trainer(rules, rounds, num_shifts=3, gamma=1.0,
                           num_threads=threads, dtype=np.float32)
              for threads in (1, 2)]
  for trainer in trainers:
    with trainer.at_work(VALUES):
      trainer.iterate(4)
      trainer.update_values()
  first, second = trainers
  assert first.values == second.values
  assert np.array_equal(first.records, second.records)
  for key, tables in first.tables.items():
    assert np.array_equal(tables.regret, second.tables[key].regret)
    assert np.array_equal(tables.cumulative, second.tables[key].cumulative)


@pytest.mark.parametrize("regret", [1e-45, 1e-39, 2.0**120])
def test_regrets_of_any_size_give_strategies(regret):
  """Regrets whose sum has no finite inverse count as none."""
  rules = _last_claims_rules(3, 2)
  trainer = make_trainer(rules, [(1, 1)], dtype=np.float32)
  trainer.tables[1, 1].regret.fill(regret)
  with trainer.at_work({}):
    trainer.iterate()
    trainer.update_values()
  tables = trainer.tables[1, 1]
  assert all(np.isfinite(table).all() for table in tables)
  np.testing.assert_allclose(tables.cumulative[:6, :3], 1 / 6, rtol=1e-6)
  assert np.isfinite(trainer.values[1, 1])


def test_compiling_changes_nothing():
  rules = _last_claims_rules(3, 2)
  trainers = [make_trainer(rules, [(1, 2), (2, 1)], num_shifts=2)
              for _ in range(2)]
  for trainer, iterations in zip(trainers, ([5], [0, 2, 0, 3])):
    with trainer.at_work(VALUES):
      for count in iterations:
        trainer.iterate(count)
      assert not trainer.values
      trainer.update_values()
  first, second = trainers
  assert first.values == second.values
  assert np.array_equal(first.records, second.records)
  for key, tables in first.tables.items():
    assert np.array_equal(tables.regret, second.tables[key].regret)


def test_shifts_meet_every_deal_equally_often():
  rules = _last_claims_rules(6, 1)
  trainer = make_trainer(rules, [(2, 3), (3, 2)], num_shifts=7)
  for dice in ((2, 3), (3, 2)):
    shifts = [shift for t in range(6) for shift in trainer.shifts(dice, t)]
    assert sorted(shifts) == sorted(2 * list(range(21)))
    met = set()
    for t in range(3):
      pairs, _ = deals_of(rules, dice, trainer.shifts(dice, t))
      met.update(pairs)
    assert len(met) == 21 * 56


@pytest.mark.parametrize("dice", [(1, 1), (1, 2), (3, 1), (2, 2)])
def test_weights_make_samples_unbiased(dice):
  rules = _last_claims_rules(6, 1)
  few = min(rules.rolls(n).num_rolls for n in dice)
  whole = deals.shifted_deals(rules, dice, range(few), np.float64)
  assert len(set(zip(*whole.hands))) == len(whole.chances)
  assert whole.chances.sum() == pytest.approx(1.0)
  parts = [deals.shifted_deals(rules, dice, [s], np.float64)
           for s in range(few)]
  assert np.mean([part.chances.sum() for part in parts]) == pytest.approx(1.0)
  both = deals.all_deals(rules, dice, np.float64)
  assert sorted(zip(*both.hands)) == sorted(zip(*whole.hands))
  assert both.chances.sum() == pytest.approx(1.0)
  for batch in (whole, both, *parts):
    for role in range(2):
      hands = np.full(len(batch.chances), -1)
      for deal, hand, length, step in batch.segments[role]:
        assert np.all(hands[deal:deal + length] == -1)
        hands[deal:deal + length] = hand + step * np.arange(length)
      assert np.array_equal(hands, batch.hands[role])


class _Interrupting:
  """Looks like a trainer, but Ctrl-C comes when its counts are first read."""

  def __init__(self, trainer):
    self._trainer = trainer
    self._has_come = False

  def __getattr__(self, name):
    if name == "records" and not self._has_come:
      self._has_come = True
      signal.raise_signal(signal.SIGINT)
    return getattr(self._trainer, name)


def test_an_interrupt_takes_another_training_as_a_whole():
  rules = _last_claims_rules(3, 1)
  trained, new = (make_trainer(rules, [(1, 1)]) for _ in range(2))
  with trained.at_work({}):
    trained.iterate(5)
  with pytest.raises(KeyboardInterrupt):
    new.copy_from(_Interrupting(trained))
  assert new.iteration == trained.iteration == 5
  for ours, theirs in zip(new.tables[1, 1], trained.tables[1, 1]):
    np.testing.assert_array_equal(ours, theirs)
