"""Games compiled from their rules, compared with the same games walked."""

import contextlib
import functools

import numpy as np
import pyspiel
import pytest

from dudo_spiel import deal_rules
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.tree import known_rules
from dudo_spiel.algorithms.tabular.tree import rules_tree
from dudo_spiel.algorithms.tabular.tree import tree_size
from dudo_spiel.algorithms.tabular.tree import tree_walk
from dudo_spiel.games import dudo

_DUDO = "dudo(numdice=1,dice_sides=3)"
_GAMES = [
    "liars_dice(dice_sides=2)", "liars_dice(dice_sides=4)",
    "liars_dice(numdice=2,dice_sides=2)", "liars_dice(dice_sides=1)",
    "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
    _DUDO, "dudo(numdice=3,start_dice=1v1,dice_sides=2)",
    "dudo(numdice=1,dice_sides=3,starting_player=1)",
    "dudo(numdice=1,dice_sides=3,wild_ones=False)",
    "dudo(numdice=1,dice_sides=2,die_loss=one,exact_reward=False)",
    "dudo_ir(numdice=1,dice_sides=2)",
    "dudo_ir(numdice=1,dice_sides=3,recall_length=1,starting_player=1)",
    # Those who remember all claims but the first know that one as well.
    "dudo_ir(numdice=1,dice_sides=2,recall_length=2)",
    "dudo_ir(numdice=1,dice_sides=2,recall_length=3)",
    "neumann_poker", "neumann_poker(num_ranks=4,asymmetric=True)",
    "neumann_poker(num_ranks=17,num_bets=3,ante=0.3,bet=0.7,raise_size=1.1)",
    "dudo_single_round(players=2,numdice=1,dice_sides=3)",
    "dudo_single_round(players=2,numdice=2,dice_sides=2)",
    "dudo_single_round(players=2,numdice=1,dice_sides=4,claim_window=2,"
    "max_amount=1)",
]
_LARGE_GAMES = ["liars_dice", "liars_dice(numdice=2,dice_sides=3)",
                "dudo(numdice=1)", "dudo_ir(numdice=1,dice_sides=5)",
                "neumann_poker(num_ranks=100)",
                "dudo_single_round(players=2,numdice=1,dice_sides=5)"]


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


def _assert_same(ours, theirs):
  """Compares two arrays, or two tuples of arrays, bit by bit."""
  if isinstance(ours, tuple):
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs):
      _assert_same(our, their)
    return
  assert ours.dtype == theirs.dtype
  assert ours.shape == theirs.shape
  assert ours.tobytes() == theirs.tobytes()


def _check_equal_to_the_walk(game):
  walked = compiled_game.CompiledGame(game, tree=game_tree.GameTree(game))
  built = compiled_game.CompiledGame(game)
  assert isinstance(built.tree, rules_tree.RulesTree)
  # Before other arrays are made: it must not depend on them.
  assert built.tree.fingerprint() == walked.tree.fingerprint()
  for name in ("num_players", "num_nodes", "num_info_sets", "is_split"):
    assert getattr(built.tree, name) == getattr(walked.tree, name), name
  for name in ("info_states", "set_actions"):
    assert list(getattr(built.tree, name)) == list(getattr(walked.tree, name))
  for name in ("player", "parent", "action", "child_begin", "chance",
               "info_set", "depth_begin", "returns", "set_player", "set_node"):
    _assert_same(getattr(built.tree, name), getattr(walked.tree, name))
  assert built.form_name == walked.form_name
  assert built.has_perfect_recall == walked.has_perfect_recall
  assert built.num_entries == walked.num_entries
  _assert_same(built.form.set_entry, walked.form.set_entry)
  _assert_same(built.form.set_stride, walked.form.set_stride)
  _assert_same(built.blocks, walked.blocks)
  workspaces = [compiled.workspace().arrays for compiled in (built, walked)]
  assert workspaces[0]._fields == workspaces[1]._fields
  for ours, theirs in zip(*workspaces):
    if isinstance(ours, (np.ndarray, tuple)):
      _assert_same(ours, theirs)
    else:
      assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("game", _GAMES)
def test_every_array_is_that_of_the_walk(game):
  _check_equal_to_the_walk(_load(game))


@pytest.mark.slow
@pytest.mark.parametrize("game", _LARGE_GAMES)
def test_every_array_of_a_larger_game_is_that_of_the_walk(game):
  _check_equal_to_the_walk(_load(game))


@pytest.mark.parametrize("game", _GAMES)
def test_sizes_are_known_before_anything_is_made(game):
  rules = known_rules.find_rules(_load(game))
  lines = rules.lines()
  assert rules.num_lines == len(lines.actor)
  assert rules.num_tables == len(rules.returns()) > lines.table.max()
  assert np.array_equal(lines.table >= 0, lines.actor == deal_rules.END)
  for player, hands in enumerate(rules.hands()):
    assert sorted(set(hands.tolist())) == list(range(rules.num_hands[player]))
    assert len(set(rules.hand_texts(player))) == rules.num_hands[player]


@pytest.mark.parametrize("game", [_DUDO, "liars_dice(numdice=2,dice_sides=2)"])
def test_histories_need_no_arrays(game):
  tree = rules_tree.make_tree(_load(game))
  walked = game_tree.GameTree(_load(game))
  for node in range(walked.num_nodes):
    assert tree.history(node) == walked.history(node)
  assert "parent" not in vars(tree)


def test_solvers_do_the_same_on_both(monkeypatch, tmp_path):
  built = cfr.CFRPlusSolver(_load(_DUDO))
  monkeypatch.setattr(known_rules, "find_rules", lambda game: None)
  game = pyspiel.load_game(_DUDO)  # not the one that is kept
  walked = cfr.CFRPlusSolver(game)
  assert isinstance(built.compiled.tree, rules_tree.RulesTree)
  assert not isinstance(walked.compiled.tree, rules_tree.RulesTree)
  built.run(20)
  walked.run(20)
  for ours, theirs in zip(built.tables, walked.tables):
    _assert_same(ours, theirs)
  policies = built.average_policy(), walked.average_policy()
  assert policies[0].distance(policies[1]) == 0.0
  assert exploitability.exploitability(game, policies[0]) == (
      walked.exploitability())
  walked.save(tmp_path / "solver.npz")
  built.run(1)
  built.load(tmp_path / "solver.npz")
  assert built.iteration == 20


@pytest.mark.parametrize("game", [
    _DUDO, "dudo_ir(numdice=1,dice_sides=2,recall_length=1)"])
def test_other_forms_and_perfect_recall_are_made_too(game):
  game = _load(game)
  walked = game_tree.GameTree(game)
  for form in ("sequence", "history"):
    if form == "history" or game.get_type().short_name == "dudo":
      compiled = compiled_game.CompiledGame(game, form)
      assert isinstance(compiled.tree, rules_tree.RulesTree)
      theirs = compiled_game.CompiledGame(game, form, walked)
      _assert_same(compiled.form.set_entry, theirs.form.set_entry)
  ours = compiled_game.compile_game(game, perfect_recall=True)
  if game.get_type().short_name == "dudo_ir":
    split = walked.with_perfect_recall()
    _assert_same(ours.tree.info_set, split.info_set)
    assert ours.tree.fingerprint() == split.fingerprint()
    assert ours.form_name == compiled_game.CompiledGame(
        game, tree=split).form_name


def test_nothing_is_walked(monkeypatch):
  monkeypatch.delattr(tree_walk, "Walk")
  large = compiled_game.CompiledGame(
      _load("liars_dice(numdice=2,dice_sides=4)"))
  assert large.tree.num_nodes == 33_554_261  # 256 deals of 2^17 - 1 lines
  assert large.tree.num_info_sets == 2**16 * 10
  assert not {"player", "parent", "returns", "info_set"} & set(
      vars(large.tree))
  solver = cfr.CFRPlusSolver(_load("dudo(numdice=1)"))
  solver.run(10)
  assert solver.compiled.tree.num_nodes == 294_883
  policy = solver.average_policy()
  assert len(policy.info_states) == 24_576
  assert sum(policy.at(1, "p1 roll:6 dice:1,1 start:0 claims:2x1"
                      ).values()) == pytest.approx(1.0)


class _MisereState(dudo.DudoState):

  def returns(self):
    return [-value for value in super().returns()]


class _MisereGame(dudo.DudoGame):
  """Whoever loses the last die wins; it inherits rules that are not its own."""

  def new_initial_state(self):
    return _MisereState(self)


class _LyingGame(_MisereGame):
  """Tells rules by which it does not play."""

  def deal_rules(self):
    return dudo.DudoGame.deal_rules(self)


class _SilentGame(_MisereGame):
  """Tells no rules."""

  def deal_rules(self):
    return None


@pytest.mark.parametrize("game_class, message", [
    (_MisereGame, "^game=dudo.*_MisereGame inherits its method deal_rules"),
    (_LyingGame, r"^game=dudo.*rules of RollRules: after the actions \[.* "
     r"returns is \[.*, and by the rules \["),
    (_SilentGame, None)])
def test_a_game_with_other_rules_is_walked(game_class, message):
  game = game_class({"numdice": 1, "dice_sides": 2})
  with (pytest.warns(UserWarning, match=message) if message else
        contextlib.nullcontext()):
    compiled = compiled_game.CompiledGame(game)
  assert not isinstance(compiled.tree, rules_tree.RulesTree)
  real = compiled_game.CompiledGame(_load("dudo(numdice=1,dice_sides=2)"))
  assert np.array_equal(compiled.tree.returns, -real.tree.returns)
  assert np.array_equal(compiled.form.arrays.matrix_0,
                        -real.form.arrays.matrix_0)


@pytest.mark.parametrize("game", [
    "dudo(players=3,numdice=1,dice_sides=2)",
    "dudo(start_dice=2v1,dice_sides=2)",
    "dudo_single_round(players=3,numdice=1,dice_sides=2)",
    "dudo_single_round_ir(players=2,numdice=1,dice_sides=2)",
    "liars_dice_ir(dice_sides=2)", "liar_die(sides=3)", "kuhn_poker"])
def test_games_beyond_the_rules_tell_none(game):
  assert known_rules.find_rules(_load(game)) is None


def test_inherited_rules_that_tell_nothing_do_not_matter():
  longer = _MisereGame({"numdice": 2, "dice_sides": 2})  # dice rolled again
  assert known_rules.find_rules(longer) is None


def test_games_without_rules_are_walked():
  tree = rules_tree.make_tree(_load("liar_die(sides=3)"))
  assert type(tree) is game_tree.GameTree


@pytest.mark.parametrize("game", ["dudo(numdice=1,dice_sides=20)",
                                  "liars_dice(numdice=5,dice_sides=6)",
                                  "neumann_poker(num_ranks=10000)"])
def test_games_that_are_too_large_are_refused_by_their_rules(game, monkeypatch):
  game = pyspiel.load_game(game)
  for name in ("lines", "hands", "returns"):
    monkeypatch.setattr(type(known_rules.find_rules(game)), name, None)
  monkeypatch.setattr(ram, "available_bytes", lambda: 4 * 2**30)
  with pytest.raises(ValueError, match="^game=.*smaller parameters"):
    cfr.CFRSolver(game)


def test_the_need_of_memory_follows_from_the_rules(monkeypatch):
  game = _load("liars_dice(numdice=2,dice_sides=4)")
  needed = known_rules.form_bytes(known_rules.find_rules(game))
  solver = cfr.CFRSolver(_load("dudo(numdice=1)"))
  rules = known_rules.find_rules(solver.game)
  assert solver.memory_bytes < known_rules.form_bytes(rules)
  # That of the histories would be several gigabytes.
  assert needed < convergence.estimated_memory(str(game)) < 1e9
  assert convergence.estimated_memory("liars_dice(numdice=100)") > 1e14
  monkeypatch.setattr(ram, "available_bytes", lambda: needed - 1)
  with pytest.raises(ValueError, match="^game=liars_dice.*GB of memory"):
    compiled_game.CompiledGame(game)
  monkeypatch.setattr(ram, "available_bytes", lambda: needed)
  compiled = compiled_game.CompiledGame(game)
  with pytest.raises(ValueError, match="^game=liars_dice.*33,554,261 hist"):
    compiled.tree.parent  # noqa: B018


def test_only_the_deal_form_may_have_more_histories_than_a_walk(monkeypatch):
  game = _load("liars_dice(numdice=2,dice_sides=4)")
  monkeypatch.delattr(tree_walk, "Walk")
  size = 33_554_261  # known exactly, without estimates
  assert tree_size.is_surely_larger(game, size - 1)
  assert not tree_size.is_surely_larger(game, size)
  monkeypatch.setattr(ram, "available_bytes", lambda: 10**9)
  for form in ("sequence", "history"):
    with pytest.raises(ValueError, match="^game=liars_dice.*histories"):
      compiled_game.CompiledGame(game, form)
