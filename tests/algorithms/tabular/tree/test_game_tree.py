import pickle
import subprocess
import sys
import tracemalloc

import helpers
import numpy as np
from open_spiel.python import games  # noqa: F401, registers Python games
from open_spiel.python.algorithms import outcome_sampling_mccfr
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.tree import info_states
from dudo_spiel.algorithms.tabular.tree import tree_size
from dudo_spiel.algorithms.tabular.tree import tree_walk

_GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker",
          "dudo(numdice=1,dice_sides=2)", "liar_die(sides=3)",
          "liar_die_ir(sides=3)", "tiny_hanabi")


@pytest.mark.parametrize("game", _GAMES)
def test_nodes_are_the_games_states(game):
  game = pyspiel.load_game(game)
  tree = game_tree.GameTree(game)
  states = {tuple(state.history()): state for state in helpers.all_states(game)}
  assert tree.num_nodes == len(states)
  chance_reach = tree.chance_reach()
  seen = set()
  for node in range(tree.num_nodes):
    history = tuple(tree.history(node))
    seen.add(history)
    state = states[history]
    assert tree.player[node] == state.current_player()
    children = range(tree.child_begin[node], tree.child_begin[node + 1])
    assert [tree.action[child] for child in children] == state.legal_actions()
    assert all(tree.parent[child] == node for child in children)
    if state.is_terminal():
      np.testing.assert_array_equal(tree.returns[node], state.returns())
    elif not state.is_chance_node():
      info_set = tree.info_set[node]
      assert tree.info_states[info_set] == state.information_state_string()
      assert tree.set_player[info_set] == state.current_player()
      assert list(tree.set_actions[info_set]) == state.legal_actions()
    else:
      assert [chance_reach[child] for child in children] == pytest.approx(
          [chance_reach[node] * p for _, p in state.chance_outcomes()])
  assert seen == states.keys()
  assert str(tree.state(tree.set_node[0])) == str(
      states[tuple(tree.history(tree.set_node[0]))])


@pytest.mark.parametrize("game, nodes, sets", [
    # Rudolf's counts of Liar's Dice with one die and 2 to 4 faces.
    ("liars_dice(dice_sides=2)", 64, 32),
    ("liars_dice(dice_sides=3)", 576, 192),
    ("liars_dice(dice_sides=4)", 4096, 1024),
    ("leduc_poker", 3780, 936)])
def test_published_sizes(game, nodes, sets):
  tree = game_tree.GameTree(pyspiel.load_game(game))
  assert np.sum(tree.player >= 0) == nodes
  assert tree.num_info_sets == sets


def test_split_sets_remember():
  tree = game_tree.GameTree(
      pyspiel.load_game("dudo_ir(numdice=1,dice_sides=2,recall_length=1)"))
  real = game_tree.GameTree(pyspiel.load_game("dudo(numdice=1,dice_sides=2)"))
  split = tree.with_perfect_recall()
  # With two players, one's own claims and the last one tell all claims.
  assert split.num_info_sets == real.num_info_sets > tree.num_info_sets
  pairs = set(zip(split.info_set.tolist(), real.info_set.tolist()))
  assert len(pairs) == real.num_info_sets + 1
  assert tree.num_info_sets == len(set(tree.info_set.tolist())) - 1


def _split_by_a_dictionary(tree):
  """Returns each node's set and each set's text, see `with_perfect_recall`."""
  numbers, texts, info_set = {}, [], [-1] * tree.num_nodes
  for node in range(tree.num_nodes):
    if tree.info_set[node] < 0:
      continue
    at, before = node, ()
    while at > 0 and not before:
      action, at = int(tree.action[at]), int(tree.parent[at])
      if tree.player[at] == tree.player[node]:
        before = info_set[at], action
    key = int(tree.info_set[node]), before
    info_set[node] = numbers.setdefault(key, len(numbers))
    if len(texts) < len(numbers):
      texts.append(f"{tree.info_states[key[0]]} after {before}")
  return info_set, texts


@pytest.mark.oracle
@pytest.mark.parametrize("game", [
    "dudo_ir(numdice=1,dice_sides=2,recall_length=1)", "kuhn_poker(players=3)",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3))"])
def test_sets_are_split_as_a_dictionary_splits_them(game):
  tree = game_tree.GameTree(pyspiel.load_game(game))
  split = tree.with_perfect_recall()
  info_set, texts = _split_by_a_dictionary(tree)
  assert split.info_set.tolist() == info_set
  assert list(split.info_states) == texts
  assert [info_set.index(s) for s in range(len(texts))] == (
      split.set_node.tolist())


@pytest.mark.oracle
def test_texts_are_numbered_as_a_dictionary_numbers_them():
  rng = np.random.default_rng(0)
  index, known = info_states.SetIndex(), {}
  for count in (0, 1, 5000, 3, 2000):
    players = rng.integers(0, 3, count).astype(np.int8)
    texts = [" Zürich\n骰"[:n % 9] * (n % 4) + str(n // 50)[:n % 3]
             for n in rng.integers(0, 3000, count).tolist()]
    texts = [text + "\0" * (player % 2)
             for text, player in zip(texts, players.tolist())]
    numbers = index.add(players, texts, np.zeros(count, np.int32))
    assert numbers.tolist() == [
        known.setdefault(key, len(known))
        for key in zip(players.tolist(), texts)]
  found, players, _, numbers = index.finish()
  assert 500 < len(known) == len(found) == index.num_sets
  ordered = sorted(known, key=lambda key: key[0])  # a stable sort
  assert list(zip(players.tolist(), found)) == ordered
  assert numbers.tolist() == [ordered.index(key) for key in known]


def test_a_set_with_different_actions_is_found():
  index = info_states.SetIndex()
  player = np.zeros(2, np.int8)
  index.add(player, ["a", "b"], np.array([0, 1], np.int32))
  with pytest.raises(info_states.DifferentActionsError, match="^b$"):
    index.add(player, ["a", "b"], np.array([0, 2], np.int32))


def test_information_states_are_like_a_list():
  tree = game_tree.GameTree(pyspiel.load_game("kuhn_poker"))
  texts = list(tree.info_states)
  assert tree.info_states == texts
  assert tree.info_states != texts[:-1]
  assert tree.info_states != texts[::-1]
  assert tree.info_states[2:4] == texts[2:4]
  assert tree.info_states[-1] == texts[-1] in tree.info_states
  assert tree.info_states.index(texts[3]) == 3
  assert pickle.loads(pickle.dumps(tree.info_states)) == texts
  assert repr(tree.info_states) == repr(texts)
  with pytest.raises(IndexError):
    tree.info_states[len(texts)]


def test_information_states_take_little_memory():
  game = pyspiel.load_game("turn_based_simultaneous_game("
                           "game=goofspiel(num_cards=4,points_order=random))")
  game_tree.GameTree(game)
  tracemalloc.start()
  tree = game_tree.GameTree(game)
  taken, _ = tracemalloc.get_traced_memory()
  tracemalloc.stop()
  arrays = sum(array.nbytes for array in vars(tree).values()
               if isinstance(array, np.ndarray))
  letters = sum(map(len, tree.info_states))
  assert taken - arrays < 1.2 * letters + 30 * tree.num_info_sets


@pytest.mark.parametrize("game, message", [
    ("matrix_pd", "not sequential.*convert_to_turn_based"),
    ("goofspiel", "not sequential"),
    ("dark_chess", "no information states"),
    ("python_dynamic_routing", "not sequential")])
def test_games_that_do_not_fit(game, message):
  with pytest.raises(ValueError, match=message):
    game_tree.GameTree(pyspiel.load_game(game))


@pytest.mark.parametrize("game, advice", [
    ("dudo(numdice=2)", "numdice.*fsicfr.MatchSolver"),
    ("dudo", "fsicfr.MatchSolver"),
    ("dudo(numdice=20)", "fsicfr.MatchSolver"),
    ("dudo_ir(start_dice=2v1)", "fsicfr.MatchSolver"),
    ("dudo(players=3,numdice=1)", "players"),
    ("dudo_single_round", "pfsi.PFSISolver"),
    ("neumann_poker(num_ranks=1000)", "num_ranks"),
    ("liar_die(sides=8)", r"\(sides\)"),  # players must be 2
    ("liars_dice(dice_sides=9)", "dice_sides"),
    ("turn_based_simultaneous_game(game=oshi_zumo(coins=6,size=2))",
     r"smaller \(coins, horizon, min_bid, size\)"),
    ("dark_hex", "smaller.*outcome_sampling_mccfr")])
def test_games_that_are_too_large_are_not_walked(game, advice, monkeypatch):
  game = pyspiel.load_game(game)
  monkeypatch.delattr(tree_walk, "Walk")
  monkeypatch.setattr(ram, "available_bytes", lambda: 10**9)
  with pytest.raises(ValueError, match=(
      f"^game=.*more memory.*has more than .* hist.* 1.0 GB.*{advice}")):
    game_tree.GameTree(game)


_HUGE = ("dudo(numdice=2)", "dark_hex",
         "turn_based_simultaneous_game(game=oshi_zumo(coins=6,size=2))",
         "cursor_go(board_size=2,max_cursor_moves=2)")


@pytest.mark.parametrize("game", _HUGE[1:])
def test_huge_games_can_be_sampled_as_the_error_says(game):
  game = pyspiel.load_game(game)
  with pytest.raises(ValueError, match="OpenSpiel's outcome_sampling_mccfr"):
    game_tree.GameTree(game, max_nodes=10**4)
  np.random.seed(1)
  solver = outcome_sampling_mccfr.OutcomeSamplingSolver(game)
  solver.iteration()
  probabilities = solver.average_policy().action_probabilities(
      game.new_initial_state())
  assert sum(probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("game", _HUGE)
def test_huge_games_are_not_walked_on_any_machine(game, monkeypatch):
  game = pyspiel.load_game(game)
  monkeypatch.delattr(tree_walk, "Walk")
  monkeypatch.setattr(ram, "available_bytes", lambda: 10**11)
  with pytest.raises(ValueError, match="^game=.*more memory than there is"):
    game_tree.GameTree(game)


@pytest.mark.parametrize("game", [*_GAMES, "neumann_poker(num_ranks=20)"])
def test_a_game_of_just_the_limit_is_walked(game):
  game = pyspiel.load_game(game)
  size = game_tree.GameTree(game).num_nodes
  assert game_tree.GameTree(game, max_nodes=size).num_nodes == size
  with pytest.raises(ValueError, match=f"has more than {size - 1:,} histories"):
    game_tree.GameTree(game, max_nodes=size - 1)


@pytest.mark.parametrize("game, is_all", [
    ("neumann_poker(num_ranks=5)", True),
    ("neumann_poker(num_ranks=3,num_bets=5)", True),
    ("neumann_poker(num_ranks=3,asymmetric=True)", True),
    ("liar_die(sides=2)", True), ("liar_die_ir(sides=4)", True),
    ("dudo(numdice=1,dice_sides=3)", False),
    ("dudo(start_dice=2v1,dice_sides=2)", False),
    ("dudo(numdice=1,dice_sides=2)", False)])
def test_games_know_how_many_histories_they_have_at_least(game, is_all):
  game = pyspiel.load_game(game)
  size = game_tree.GameTree(game).num_nodes
  assert game.min_histories() <= size
  assert not is_all or game.min_histories() == size


@pytest.mark.parametrize("game", ["liars_dice_ir(dice_sides=3)", "leduc_poker"])
def test_estimates_refuse_no_game_within_the_limit(game):
  game = pyspiel.load_game(game)
  size = game_tree.GameTree(game).num_nodes
  for seed in range(3):
    assert not tree_size.is_surely_larger(game, size, seed)
    assert tree_size.is_surely_larger(game, size // 10, seed)


def test_a_walk_stops_before_memory_is_full(monkeypatch):
  game = pyspiel.load_game("liars_dice(dice_sides=5)")
  monkeypatch.setattr(ram, "available_bytes", lambda: 2**26 + 10**6)
  with pytest.raises(ValueError, match=(
      "^game=liars_dice.*after .* histories it needs .* GB more, but .* GB are "
      r"available; choose parameters .* smaller \(dice_sides, numdice\)")):
    game_tree.GameTree(game)


_LIMITED = """
import resource, sys
import pyspiel
from dudo_spiel.algorithms import cfr
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for name in sys.argv[2:]:
  game = pyspiel.load_game(name)
  if game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
    game = pyspiel.convert_to_turn_based(game)
  try:
    print("solved", cfr.CFRSolver(game).compiled.tree.num_nodes)
  except ValueError as error:
    print("refused", "more memory than there is" in str(error))
"""
_HUGE = ("oshi_zumo(coins=4,size=1)", "oshi_zumo(coins=6,size=2)",
         "cursor_go(board_size=2,max_cursor_moves=2)")


def _solve_within(limit, *names):
  """Returns the lines of a process that may map so many bytes."""
  return subprocess.run(
      [sys.executable, "-c", _LIMITED, str(limit), *names], check=True,
      capture_output=True, text=True).stdout.splitlines()


def test_a_limit_of_memory_refuses_games_and_leaves_the_process_well():
  lines = _solve_within(3 * 2**30, *_HUGE[1:], "dark_hex", "kuhn_poker")
  assert lines == 3 * ["refused True"] + ["solved 58"]


@pytest.mark.slow
def test_games_whose_histories_are_long_are_refused_within_8_gb():
  assert _solve_within(8 * 2**30, *_HUGE) == 3 * ["refused True"]


@pytest.mark.slow
def test_a_walk_that_was_not_foreseen_to_fail_stops_in_time():
  # 3.3 million histories; the limit is too near for an estimate.
  lines = _solve_within(
      2**30, "goofspiel(num_cards=5,points_order=random,imp_info=True)",
      "leduc_poker")
  assert lines[1] == "solved 9457"
  assert lines[0] in ("refused True", "solved 3346656")


@pytest.mark.slow
def test_more_than_five_million_histories_are_walked_and_compiled():
  game = pyspiel.load_game("liars_dice(dice_sides=8)")
  tree = game_tree.GameTree(game)
  assert tree.num_nodes == 8_388_553
  walked = compiled_game.CompiledGame(game, tree=tree)
  assert walked.form_name == "deal"
  assert walked.num_entries == compiled_game.CompiledGame(game).num_entries


def test_memory_that_a_process_may_take_is_counted():
  program = ("import resource; from dudo_spiel.algorithms.runtime import ram; "
             "before = ram.available_bytes(); "
             "resource.setrlimit(resource.RLIMIT_AS, (2**36, 2**36)); "
             "print(min(before, 2**36) >= ram.available_bytes() > 0); "
             "resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20)); "
             "print(ram.available_bytes() == 0)")
  shown = subprocess.run([sys.executable, "-c", program], check=True,
                         capture_output=True, text=True).stdout
  assert shown.split() == ["True", "True"]


@pytest.mark.parametrize("groups, limits, used, expected", [
    ("0::/", {"": 5000}, "memory.current", 3900),
    ("0::/a/b", {"a": 3000, "a/b": "max"}, "memory.current", 1900),
    ("3:cpu:/x\n4:memory:/a\n0::/", {"memory": 2**63 - 1, "memory/a": 4000},
     "memory.usage_in_bytes", 2900),
    ("0::/elsewhere", {"": "max"}, "memory.current", 6 * 1024)])
def test_memory_of_control_groups_is_counted(groups, limits, used, expected,
                                             tmp_path):
  (tmp_path / "proc/self").mkdir(parents=True)
  (tmp_path / "proc/meminfo").write_text("Free: 9 kB\nMemAvailable: 6 kB\n")
  (tmp_path / "proc/self/cgroup").write_text(f"{groups}\n")
  is_first = used == "memory.usage_in_bytes"
  for folder, limit in limits.items():
    path = tmp_path / "sys/fs/cgroup" / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / ("memory.limit_in_bytes" if is_first else "memory.max")).write_text(
        f"{limit}\n")
    (path / used).write_text("1500\n")
    (path / "memory.stat").write_text(
        f"anon 7\n{'total_' if is_first else ''}inactive_file 400\n")
  assert ram.available_bytes(str(tmp_path)) == expected
