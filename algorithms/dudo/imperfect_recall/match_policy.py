"""Policies with imperfect recall for whole matches of two-player Dudo.

Players remember an abstraction of the claims of a round (`abstractions`). With
perfect recall they play a `recall_policy.RecallPolicy` instead.

A `MatchPolicy` has a table for each (own dice, opponent's dice). A table is
[row, hand] of weights, and its rows are those of `abstraction_graph`. The
probabilities of actions at a node are in proportion to its rows. Where all
weights are zero the policy is uniform.
"""

import re

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.dudo.imperfect_recall import table_kernels
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import rounds_policy
from dudo_spiel.algorithms.runtime import archives

FILE_KIND = "match_policy"
_MAX_QUANTUM = 255  # the largest weight in 8 bits
_TABLE_NAME = re.compile(r"([1-9]\d?)v([1-9]\d?)")  # in files
_DTYPES = (np.float32, np.uint8, np.float64)
_MAX_RECALL = 2**31 - 1


class MatchPolicy(rounds_policy.RoundsPolicy):
  """An OpenSpiel policy that plays every state of a match of Dudo.

  It remembers an abstraction of the claims, such as the last three (imperfect
  recall). It plays `dudo` and `dudo_ir` with two players, the same rules and at
  most as many dice.

  Args:
    game: the `pyspiel.Game`, `dudo` or `dudo_ir` with two players.
    recall_length: how many of the last claims the policy remembers.
    tables: dict from (own dice, opponent's dice) to [row, hand] float32 or
      uint8. In float32, the rows of a node add up to how often the policy's
      own moves lead there (summed over all paths).
    values: dict from (starter's dice, other's dice) to the starter's value.
    memory: what the policy remembers instead: a name or an object of
      `abstractions`. None for the last `recall_length` claims.

  Attributes:
    rules: the `abstract_rules.AbstractRules`.
    tables: as given.
    values: as given.

  Example:
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy("recall3")
    >>> policy.after_claims((1, 1), []).shape  # twelve claims, six hands
    (12, 6)
  """

  rules: abstract_rules.AbstractRules

  def __init__(self, game: pyspiel.Game, recall_length: int | None,
               tables: annotations.ByRound[np.ndarray],
               values: annotations.ByRound[float], *,
               memory: str | abstractions.Abstraction | None = None) -> None:
    super().__init__(game)
    self.rules = abstract_rules.abstract_rules(
        game, abstractions.choose(recall_length, memory))
    self.remembered_text = self.rules.abstraction.text
    self._span = self.rules.abstraction.span
    for name, given in (("tables", tables), ("values", values)):
      if not isinstance(given, dict):
        raise ValueError(f"{name}={given!r}: must be a dict by numbers of dice")
    self.tables = dict(tables)
    self.values = dict(values)
    for value in self.values.values():
      validation.number("values", value)
    for key, table in self.tables.items():
      if not isinstance(table, np.ndarray) or table.dtype not in _DTYPES:
        raise ValueError(f"tables={key}: is {type(table).__name__} of "
                         f"{getattr(table, 'dtype', None)}; must be an array "
                         "of float32, float64 or uint8")
      if table.shape != self.rules.table_shape(key):
        raise ValueError(f"tables={key}: has shape {table.shape}; must be "
                         f"{self.rules.table_shape(key)}")
      if table.dtype != np.uint8 and not (
          table.min() >= 0.0 and table.max() <= table_kernels.MAX_WEIGHT):
        raise ValueError(f"tables={key}: must be weights between 0 and "
                         f"{table_kernels.MAX_WEIGHT:g}")

  def _known(self):
    return self.tables.keys()

  def _needed(self, dice):
    return round_rules.round_keys(dice)

  @property
  def rounds(self) -> list[annotations.Dice]:
    """The rounds (starter's dice, other's dice) that it plays, a list."""
    return [dice for dice in self.tables if dice[::-1] in self.tables]

  def continuation_values(self,
                          dice: annotations.Dice) -> annotations.ByRound[float]:
    """Returns `values`, or raises if a smaller round than this has none."""
    for key in round_rules.round_keys(dice):
      if sum(key) < sum(dice) and key not in self.values:
        raise ValueError(f"policy={self}: has no value of the round "
                         f"{key[0]}v{key[1]}; finish its training first")
    return self.values

  def action_probabilities(self, state: pyspiel.State,
                           player_id: int | None = None) -> dict[int, float]:
    """Returns {action: probability} for the legal actions of the state."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    game = state.get_game()
    if not self.has_rules_of(game):
      raise ValueError(f"state={state}: is not one of {self.game}")
    if player not in (0, 1) or state.current_player() < 0:
      raise ValueError(f"state={state}: nobody decides there, or "
                       f"player_id={player_id} is neither 0 nor 1")
    dice = state.dice
    key = dice[player], dice[1 - player]
    table = self.tables.get(key)
    if table is None:
      raise ValueError(f"state={state}: has {key[0]} and {key[1]} dice; the "
                       f"policy knows {self._known_text()}")
    claims = state.claim_list()
    graph = self.rules.graph(sum(key))
    row = graph.first_row(claims)
    first = claims[-1] + 1 if claims else 0
    actions = list(range(first, graph.num_claims))
    if claims:
      actions.append(game.dudo_action)
    hand = self.rules.rolls(key[0]).index(state.hand(player))
    weights = table[row:row + len(actions), hand].tolist()
    total = sum(weights)
    if not total:
      return dict.fromkeys(actions, 1.0 / len(actions))
    return {action: weight / total for action, weight in zip(actions, weights)}

  def _after_claims(self, key, claims):
    self._check_key(key)
    self.rules.claim_order(sum(key)).check_history(claims)
    graph = self.rules.graph(sum(key))
    row = graph.first_row(claims)
    last = claims[-1] if claims else -1
    num_actions = graph.num_claims - 1 - last + bool(claims)
    weights = self.tables[key][row:row + num_actions,
                               :self.rules.rolls(key[0]).num_rolls]
    totals = weights.sum(axis=0, dtype=np.float64)
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0),
                    1.0 / num_actions)

  def _check_key(self, key):
    if not rounds_policy.is_dice(key) or key not in self.tables:
      raise ValueError(f"key={key!r}: must be (own, opponent's) dice, one of "
                       f"{self._known_text()}")

  def probabilities(self, key: annotations.Dice) -> np.ndarray:
    """Returns [row, hand] float32, the probabilities with these dice."""
    self._check_key(key)
    table = self.tables[key]
    weights = table.astype(np.promote_types(table.dtype, np.float32))
    table_kernels.normalize(self.rules.graph(sum(key)).arrays, weights)
    return weights.astype(np.float32, copy=False)

  def quantized(self, min_probability: float = 0.0,
                min_reach: float = 0.0) -> "MatchPolicy":
    """Returns the policy with 8 bits a weight, without negligible weights.

    Args:
      min_probability: it never plays actions less likely than this.
      min_reach: it becomes uniform where its own moves lead less often than
        this, and takes no place for that in a file.
    """
    validation.number("min_probability", min_probability, 0.0, 1.0)
    validation.number("min_reach", min_reach, 0.0,
                      float(np.finfo(np.float32).max))
    tables = {}
    for key, table in self.tables.items():
      if table.dtype == np.uint8:
        raise ValueError("tables: are quantized already; call this on the "
                         "policy that was not")
      tables[key] = np.zeros(table.shape, np.uint8)
      table_kernels.quantize(self.rules.graph(sum(key)).arrays, table,
                             np.float32(min_probability), np.float32(min_reach),
                             np.float32(_MAX_QUANTUM), tables[key])
    return MatchPolicy(self.game, None, tables, self.values,
                       memory=self.rules.abstraction)

  @property
  def memory_bytes(self) -> int:
    """How much memory the tables take."""
    return sum(table.nbytes for table in self.tables.values())

  def save(self, path: annotations.PathLike) -> None:
    """Writes the policy to one file, which `policies.load_policy` reads."""
    remembered = self.rules.abstraction.identity.items()
    header = {"game": str(self.game),
              **{name: value for name, value in remembered
                 if value is not None},
              "values": [[*key, value] for key, value in self.values.items()]}
    archives.save(path, FILE_KIND, header,
                  {f"{a}v{b}": table
                   for (a, b), table in self.tables.items()}, compress=True)


def from_file(archive, game):
  """Returns the policy in a file.

  Args:
    archive: the `archives.Archive`.
    game: the `pyspiel.Game` of the policy.
  """
  path = archive.path
  if "memory" in archive.header:  # not if players remember the last claims
    memory = archives.field(
        path, archive.header, "memory", lambda name, value: abstractions.parse(
            name, archives.text(name, value)))
  else:
    memory = abstractions.LastClaims(archives.field(
        path, archive.header, "recall_length", validation.integer, 1,
        _MAX_RECALL))
  values = archives.field(path, archive.header, "values",
                          round_rules.values_from_file)
  rules = abstract_rules.abstract_rules(game, memory)
  if not archive.names:
    raise ValueError(f"path={path!r}: its tables are missing")
  keys = {}
  for name in archive.names:
    found = _TABLE_NAME.fullmatch(name)
    if not found:
      raise ValueError(f"path={path!r}: its array {name[:99]!r} must have a "
                       "name such as 2v1")
    keys[name] = int(found[1]), int(found[2])
    archive.check(name, rules.table_shape(keys[name]), _DTYPES)
  return MatchPolicy(game, None,
                     {key: archive.read(name, low=0,
                                        high=table_kernels.MAX_WEIGHT)
                      for name, key in keys.items()}, values, memory=memory)
