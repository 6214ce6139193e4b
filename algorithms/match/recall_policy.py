"""Policies for matches of Dudo with perfect recall, from growing trees.

Wherever a `RecallPolicy` has stored nothing it takes the default action: Dudo,
or the weakest claim if it opens the round. Within a round it remembers all
claims, and from one round to the next it forgets all but the dice.

Serves `recall_solver`, `perfect_recall` and `policies`.
"""

import numpy as np

from dudo_spiel.algorithms.match import growing_kernels
from dudo_spiel.algorithms.match import growing_tree
from dudo_spiel.algorithms.match import recall_trainer
from dudo_spiel.algorithms.match import round_hands
from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.match import rounds_policy
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import jit

FILE_KIND = "recall_policy"
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))
_LEVELS = 255  # of a quantized weight


class RecallPolicy(rounds_policy.RoundsPolicy):
  """An OpenSpiel policy that plays every state of a match of Dudo.

  Args:
    game: the `pyspiel.Game`, `dudo` with two players.
    rounds: dict from (starter's dice, other's dice) to (`round_hands.
      RoundHands`, `growing_tree.TreeArrays`, [number] float or uint8) of the
      round; the probabilities of actions are proportional to the positive
      numbers. In the average policy of a solver, numbers are sums over the
      iterations of how often the player's own moves lead to the action.
  """

  def __init__(self, game, rounds):
    super().__init__(game)
    match_rounds.match_rules(game, 1)
    if not isinstance(rounds, dict):
      raise ValueError(f"rounds={rounds!r}: must be a dict by rounds")
    self._rounds = dict(rounds)

  def _known(self):
    return self._rounds.keys()

  def _needed(self, game):
    return match_rounds.match_keys(game)

  def action_probabilities(self, state, player_id=None):
    """Returns {action: probability} for the legal actions of the state."""
    arguments.state("state", state)
    player = arguments.player("player_id", player_id, state)
    game = state.get_game()
    if not self._has_rules_of(game):
      raise ValueError(f"state={state}: is not one of {self.game}")
    if state.current_player() != player or player < 0:
      raise ValueError(f"state={state}: player_id={player_id} does not decide "
                       "there")
    starter = state.round().starter
    key = state.dice[starter], state.dice[1 - starter]
    if key not in self._rounds:
      raise ValueError(f"state={state}: is in the round {key[0]}v{key[1]}; the "
                       f"policy knows {self._known_text()}")
    hands, tree, table = self._rounds[key]
    claims = state.claim_list()
    node = growing_tree.find(tree, claims)
    chances = dict.fromkeys(state.legal_actions(), 0.0)
    if node < 0:
      chances[game.dudo_action] = 1.0
      return chances
    role = int(player != starter)
    hand = game.rolls(key[role]).index(state.hand(player))
    last = claims[-1] if claims else -1
    number = hands.classes[role][hands.level[last + 1], hand]
    rows = tree.claim[tree.row_begin[node]:tree.row_begin[node + 1]].tolist()
    begin, end = tree.table_begin[node:node + 2]
    weights = np.maximum(table[begin:end].reshape(len(rows), -1)[:, number],
                         0.0).astype(np.float64)
    actions = [game.dudo_action if claim == hands.order.num_claims else claim
               for claim in rows]
    total = weights.sum()
    if total > 0.0:
      chances.update(zip(actions, (weights / total).tolist()))
    else:
      chances[actions[0]] = 1.0
    return chances

  def intervals(self, num_threads=None):
    """Returns {round: (low, high)}, how good the policy is, exactly.

    In the match from a round on, the policy gets at least `low` when it starts,
    and the starter at most `high` against it.

    Args:
      num_threads: how many threads to use, None for all.
    """
    lows, highs = {}, {}
    match = match_rounds.match_rules(self.game, 1)
    with recall_trainer.thread_pool(jit.thread_count(num_threads)) as pool:
      for key in match_rounds.match_keys(self.game):
        _, tree, table = self._rounds[key]
        if table.dtype == np.uint8:
          table = table.astype(np.float32)
        trainer = recall_trainer.RecallTrainer(match, key, dtype=table.dtype)
        trainer.take(tree, growing_kernels.LearnTables(
            table, table, np.zeros(tree.num_nodes, np.int64)))
        lows[key], highs[key] = trainer.certify(lows, highs, pool)
    return {key: (lows[key], highs[key]) for key in lows}

  def exploitability(self, num_threads=None):
    """Returns half the NashConv of the policy in the whole match, exactly.

    Args:
      num_threads: how many threads to use, None for all.
    """
    low, high = list(self.intervals(num_threads).values())[-1]
    return 0.5 * (high - low)

  def quantized(self, min_reach=0.0):
    """Returns the policy with 8 bits a weight, without what it rarely needs.

    Args:
      min_reach: it says Dudo where its own moves lead at most this often with a
        hand, the chance of the hand included.
    """
    arguments.number("min_reach", min_reach, 0.0, 1.0)
    rounds = {}
    for key, (hands, tree, table) in self._rounds.items():
      if table.dtype == np.uint8:
        raise ValueError("weights: are quantized already; call this on the "
                         "policy that was not")
      table = np.maximum(table, 0.0)
      begin, end = tree.table_begin[:2]
      least = min_reach * float(table[begin:end].sum(dtype=np.float64))
      growing_tree.forget(tree, least, table)
      is_kept = np.zeros(len(tree.claim), np.bool_)
      growing_kernels.find_alive(
          tree, growing_kernels.LearnTables(
              np.zeros_like(table), table, np.zeros(tree.num_nodes, np.int64)),
          least, np.zeros((tree.num_nodes, 2)), is_kept)
      small, _, row_source = growing_tree.changed(hands, tree, is_kept)
      growing_tree.move_rows(tree, small, row_source, False, table)
      weights = np.zeros(small.num_numbers, np.uint8)
      growing_tree.quantize(small, table, _LEVELS, weights)
      rounds[key] = hands, small, weights
    return RecallPolicy(self.game, rounds)

  @property
  def memory_bytes(self):
    """How much memory the policy takes."""
    return sum(tree.num_bytes + table.nbytes
               for _, tree, table in self._rounds.values())

  def save(self, path):
    """Writes the policy to one file, which `policies.load_policy` reads."""
    arrays = {}
    for (a, b), (_, tree, table) in self._rounds.items():
      for name, array in {**growing_tree.rows_of(tree),
                          "weights": np.maximum(table, 0.0)}.items():
        arrays[f"{a}v{b}_{name}"] = array
    rounds = [[*key, tree.num_nodes, len(tree.claim)]
              for key, (_, tree, _) in self._rounds.items()]
    checkpoint.save(path, FILE_KIND, {"game": str(self.game), "rounds": rounds},
                    arrays, compress=True)


def _rounds_from_file(name, value):
  """Returns the field `rounds` of a header, or raises a ValueError."""
  if not isinstance(value, list) or not value:
    raise ValueError(f"{name}: must be a list of rounds")
  for item in value:
    if not isinstance(item, list) or len(item) != 4:
      raise ValueError(f"{name}: must have [starter's dice, other's dice, "
                       "nodes, rows] for each round")
    for number in item:
      arguments.integer(name, number, 1, growing_tree.MAX_ROWS)
  return value


def from_file(archive, game):
  """Returns the policy in a file.

  Args:
    archive: the `checkpoint.Archive`.
    game: the `pyspiel.Game` of the policy.
  """
  path = archive.path
  match = match_rounds.match_rules(game, 1)
  known = set(match_rounds.match_keys(game))
  rounds = {}
  for a, b, nodes, rows in checkpoint.field(path, archive.header, "rounds",
                                            _rounds_from_file):
    if (a, b) not in known:
      raise ValueError(f"path={path!r}: its rounds have {a}v{b}; must be those "
                       f"of {game}")
    hands = round_hands.RoundHands(match, (a, b))
    tree = growing_tree.read_tree(archive, f"{a}v{b}_", hands, nodes, rows)
    name = f"{a}v{b}_weights"
    rounds[a, b] = hands, tree, archive.read(name, (tree.num_numbers,), _DTYPES,
                                             0.0)
  if rounds.keys() != known:
    raise ValueError(f"path={path!r}: its rounds must be those of {game}")
  return RecallPolicy(game, rounds)
