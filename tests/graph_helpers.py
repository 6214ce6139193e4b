"""What tests of the solvers on graphs share: deals, nodes and comparisons."""

import numpy as np
from oracles import pfsi_oracle
import pyspiel

from dudo_spiel.algorithms.graphs import graph_kernels


def load(parameters, abstraction="wait_type_recall", recall_length=2):
  """Returns a small single-round game under an abstraction."""
  return pyspiel.load_game(
      f"dudo_single_round_ir({parameters},abstraction={abstraction},"
      f"recall_length={recall_length})")


def node_and_heap(graph, state):
  """Returns the node of a state and its number in the node's heap."""
  arrays, claims = graph.arrays, state.claim_list()
  node, last = 0, -1
  for i, claim in enumerate(claims):
    if i:
      node = arrays.child[arrays.child_begin[node]]  # all pass
    node = arrays.child[arrays.child_begin[node] + claim - last - 1]
    last = claim
  if state.phase() == "claim":
    return (arrays.child[arrays.child_begin[node]] if claims else node), 0
  heap, player = 1, (state.claimer() + 1) % graph.num_players
  while player != state.current_player():
    heap = 2 * heap + state.challenges(player)
    player = (player + 1) % graph.num_players
  return node, heap


def dealt_chooser(solver, iteration):
  """Returns choose(state), which roll a chance node has in an iteration."""
  rolls = solver.rolls([iteration])[0]
  return lambda state: int(rolls[len(state.history())])


def walked_chooser(graph, seed, iteration):
  """Returns choose(state), the outcome that an iteration on a graph takes."""

  def choose(state):
    replay, node = graph.game.new_initial_state(), 0
    for action in state.history():
      legal = replay.legal_actions()
      node = graph.arrays.child[graph.arrays.child_begin[node] +
                                legal.index(action)]
      replay.apply_action(action)
    edge = graph_kernels.sampled_edge(graph.arrays, node, np.uint64(seed),
                                      iteration)
    return state.legal_actions()[edge - graph.arrays.child_begin[node]]

  return choose


class SingleRoundOracle(pfsi_oracle.Oracle):
  """Remembers a state of each set."""

  def __init__(self, game, **kwargs):
    self.states = {}

    def set_key(state):
      key = pfsi_oracle.single_round_set(state)
      self.states.setdefault(key, state)
      return key

    super().__init__(game, set_key, pfsi_oracle.single_round_node, **kwargs)


def assert_same_tables(solver, oracle):
  """Asserts that all sets of a `SingleRoundOracle` are those of a solver."""
  game, layout = solver.graph.game, solver.graph.layout
  regret, cumulative = (table.reshape(layout.num_rolls, -1)
                        for table in solver.tables)
  seen = np.zeros_like(regret, dtype=bool)
  for state in oracle.states.values():
    table = oracle.table(state)
    entry = layout.locate(state, state.current_player())
    roll = game.roll_table.index(state.hand(state.current_player()))
    span = slice(entry, entry + len(table.actions))
    np.testing.assert_allclose(regret[roll, span], list(table.regret.values()),
                               atol=1e-9)
    np.testing.assert_allclose(cumulative[roll, span],
                               list(table.cumulative.values()), atol=1e-9)
    seen[roll, span] = True
  assert np.all(regret[~seen] == 0.0)


def assert_same_walked_tables(solver, oracle):
  """Asserts that all sets of an oracle on a walked game are a solver's."""
  graph = solver.graph
  number = {key: i for i, key in enumerate(zip(graph.set_player.tolist(),
                                               graph.info_states))}
  for key, table in oracle.tables.items():
    begin = graph.set_entry[number[key]]
    span = slice(begin, begin + len(table.actions))
    np.testing.assert_allclose(solver.tables.regret[span],
                               list(table.regret.values()), atol=1e-9)
    np.testing.assert_allclose(solver.tables.cumulative[span],
                               list(table.cumulative.values()), atol=1e-9)
