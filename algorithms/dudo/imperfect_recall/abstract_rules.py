"""The rules of a round of two-player Dudo whose players forget claims."""

import dataclasses

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.algorithms.dudo.imperfect_recall import abstraction_graph
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.games import dudo

_HAND_MULTIPLE = 8  # hands are padded to full vectors of the processor


@dataclasses.dataclass(frozen=True)
class AbstractRules(round_rules.RoundRules):
  """The rules of a match, and what its players remember of a round.

  Attributes:
    num_sides: how many sides a die has.
    house: the `rules.HouseRules`.
    abstraction: the `abstractions.Abstraction`.
  """
  abstraction: abstractions.Abstraction

  def graph(self, num_dice):
    """Returns the `AbstractionGraph` with this many dice in play."""
    return abstraction_graph.of_round(self.abstraction,
                                      self.claim_order(num_dice))

  def num_nodes(self, num_dice):
    """Returns how many nodes the graph has, without building it."""
    return abstraction_graph.num_nodes(self.abstraction,
                                       self.claim_order(num_dice))

  def table_shape(self, key):
    """Returns (rows, padded hands) of the table of (own, opponent's) dice."""
    rows = abstraction_graph.num_rows(self.abstraction,
                                      self.claim_order(sum(key)))
    hands = rolls_lib.num_rolls(key[0], self.num_sides)
    return rows, -(-hands // _HAND_MULTIPLE) * _HAND_MULTIPLE


def abstract_rules(game, abstraction):
  """Returns the `AbstractRules` of a two-player `dudo` or `dudo_ir`.

  Args:
    game: the `pyspiel.Game`.
    abstraction: an `abstractions.Abstraction`, its name, or how many of the
      last claims players remember.
  """
  round_rules.check_game(game)
  return AbstractRules(game.num_sides, game.house,
                       abstractions.parse("memory", abstraction))


def abstraction_of(game, recall_length, memory):
  """Returns the `abstractions.Abstraction` of players in the game.

  The information states of `dudo_ir` have only the last claims. So a policy
  can remember less there, but not more.

  Args:
    game: the `pyspiel.Game`.
    recall_length: how many claims they remember in `dudo`.
    memory: what they remember instead, or None.
  """
  if not isinstance(game, dudo.DudoIRGame):
    return abstractions.choose(recall_length, memory)
  chosen = abstractions.choose(game.recall_length, memory)
  if chosen.span > game.recall_length:
    raise ValueError(
        f"memory={chosen.name!r}: remembers {chosen.text}; in {game} must need "
        f"no more than the last {game.recall_length} claims")
  return chosen
