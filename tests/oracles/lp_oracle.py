"""Exact values of two-player zero-sum games, by linear programming.

This is the sequence form of Koller, Megiddo & von Stengel (1996). It is built
by a traversal of the game's states and solved by scipy's HiGHS. OpenSpiel's
`sequence_form_lp` solves the same program with cvxpy, which this project does
not install.
"""

import numpy as np
import scipy.optimize
import scipy.sparse


def game_value(game):
  """Returns the value of the game to player 0."""
  sequences = [{(): 0}, {(): 0}]  # (info_state, action) -> sequence
  parents = [{}, {}]  # info_state -> the sequence that leads to it
  actions = [{}, {}]  # info_state -> legal actions
  payoffs = {}  # (sequence of player 0, sequence of player 1) -> payoff

  def traverse(state, reach, at):
    if state.is_terminal():
      payoffs[at] = payoffs.get(at, 0.0) + reach * state.returns()[0]
    elif state.is_chance_node():
      for action, probability in state.chance_outcomes():
        traverse(state.child(action), reach * probability, at)
    else:
      player = state.current_player()
      info_state = state.information_state_string(player)
      legal = state.legal_actions()
      assert parents[player].setdefault(info_state, at[player]) == at[player]
      assert actions[player].setdefault(info_state, legal) == legal
      for action in legal:
        sequence = sequences[player].setdefault((info_state, action),
                                                len(sequences[player]))
        traverse(state.child(action), reach,
                 (sequence, at[1]) if player == 0 else (at[0], sequence))

  traverse(game.new_initial_state(), 1.0, (0, 0))

  def flow(player):
    """Returns the matrix of the constraints on a player's plan.

    Row 0 says that the empty sequence has weight 1. Each other row belongs to
    an information set: the weights of its actions add up to the weight of the
    sequence that leads to it.
    """
    rows, columns, values = [0], [0], [1.0]
    for row, (info_state, parent) in enumerate(parents[player].items(), 1):
      rows.append(row)
      columns.append(parent)
      values.append(-1.0)
      for action in actions[player][info_state]:
        rows.append(row)
        columns.append(sequences[player][info_state, action])
        values.append(1.0)
    shape = (len(parents[player]) + 1, len(sequences[player]))
    return scipy.sparse.csr_matrix((values, (rows, columns)), shape)

  keys = np.array(list(payoffs))
  payoff = scipy.sparse.csr_matrix(
      (list(payoffs.values()), (keys[:, 0], keys[:, 1])),
      (len(sequences[0]), len(sequences[1])))
  mine, theirs = flow(0), flow(1)
  # Maximise v[0] over plans x and vectors v, subject to mine x = e0 and
  # theirs' v <= payoff' x. (A prime transposes.)
  cost = np.zeros(mine.shape[1] + theirs.shape[0])
  cost[mine.shape[1]] = -1.0
  solution = scipy.optimize.linprog(
      cost,
      A_ub=scipy.sparse.hstack([-payoff.T, theirs.T]),
      b_ub=np.zeros(theirs.shape[1]),
      A_eq=scipy.sparse.hstack(
          [mine, scipy.sparse.csr_matrix((mine.shape[0], theirs.shape[0]))]),
      b_eq=np.eye(1, mine.shape[0])[0],
      bounds=[(0, None)] * mine.shape[1] + [(None, None)] * theirs.shape[0],
      method="highs-ds")
  assert solution.status == 0, solution.message
  return -solution.fun
