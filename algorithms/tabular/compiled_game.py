"""Games compiled for solvers: from their rules or one traversal, to arrays.

`compile_game` chooses the form: the deal form for two players, private deals
and public play; the sequence form for other games of perfect recall; the
history form for games of imperfect recall.
"""

import collections
import contextlib
import functools

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular.forms import deal_form
from dudo_spiel.algorithms.tabular.forms import form_kernels
from dudo_spiel.algorithms.tabular.forms import history_form
from dudo_spiel.algorithms.tabular.forms import sequence_form
from dudo_spiel.algorithms.tabular.tree import rules_tree
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import update_rules

_DEAL = (None, "deal")  # values of `form` that choose the deal form, if any
_FORMS = {"deal": deal_form, "sequence": sequence_form, "history": history_form}
_HISTORY_FORM_BYTES = 200  # of a history, with the form of a best responder
_NO_RULE = update_rules.Rule(1.0, 1.0, 0.0, 1.0)


class CompiledGame:
  """A game in one of the forms, and its traversals.

  A strategy is an array over entries: the probability of action a in
  information set s is at set_entry[s] + a * set_stride[s].

  Args:
    game: a `pyspiel.Game`.
    form: "deal", "sequence" or "history"; None chooses the fastest that fits.
    tree: the game's `game_tree.GameTree`; None makes it from the rules, if
      these are known, or else by a traversal.

  Attributes:
    game: the game.
    tree: its `game_tree.GameTree`.
    form_name: "deal", "sequence" or "history".
    form: the `DealForm`, `SequenceForm` or `HistoryForm`.
    blocks: the form's `set_blocks.Blocks`.
    num_players: number of players.
    num_entries: number of entries of a strategy.
    has_perfect_recall: whether players remember all they knew and did.
  """

  def __init__(self, game, form=None, tree=None):
    validation.choice("form", form, (None, *_FORMS))
    self.game = game
    if tree is None:
      tree = rules_tree.make_tree(game, deal_form=form in _DEAL)
    self.tree = tree
    if tree.num_info_sets == 0:
      raise ValueError(f"game={game}: no player ever decides anything")
    if form in _DEAL and tree.is_deal_form:
      self.has_perfect_recall = True
      self.form_name, self.form = "deal", deal_form.compile_deal_form(tree)
    else:
      parents = sequence_form.ParentSequences(tree)
      self.has_perfect_recall = parents.of_set is not None
      self.form_name, self.form = self._choose(form, parents)
    self._kernels = _FORMS[self.form_name]
    self.blocks = self.form.blocks
    self.num_players = tree.num_players
    self.num_entries = self.form.num_entries

  def _choose(self, form, parents):
    if form in _DEAL and self.has_perfect_recall:
      deal = deal_form.compile_deal_form(self.tree)
      if deal is not None:
        return "deal", deal
    if form == "deal":
      raise ValueError(
          f"form='deal': {self.game} does not deal in private and then play in "
          "public between two players; leave the form out")
    if form != "history" and self.has_perfect_recall:
      return "sequence", sequence_form.SequenceForm(self.tree, parents)
    if form == "sequence":
      raise ValueError(f"form='sequence': {self.game} has imperfect recall; "
                       "leave the form out")
    ram.check("game", self.game, _HISTORY_FORM_BYTES * self.tree.num_nodes,
              "to compile it and to measure policies", "a smaller game")
    return "history", history_form.HistoryForm(self.tree, parents)

  def entries_of_sets(self):
    """Returns (sets, actions, entries) of all entries, set by set.

    Each is [entry] int64: the information set, the index of the action among
    the set's legal actions, and the entry.
    """
    counts = np.array([len(legal) for legal in self.tree.set_actions])
    sets = np.repeat(np.arange(self.tree.num_info_sets), counts)
    actions = np.arange(len(sets)) - np.repeat(np.cumsum(counts) - counts,
                                               counts)
    entries = self.form.set_entry[sets] + actions * self.form.set_stride[sets]
    return sets, actions, entries

  def check_epsilon(self, epsilon):
    """Returns the lowest probability of an action, or raises a ValueError."""
    max_actions = int(self.blocks.actions.max())
    try:
      return validation.number("epsilon", epsilon, 0.0, 1.0 / max_actions)
    except ValueError:
      raise ValueError(
          f"epsilon={epsilon!r}: must be a number between 0 and "
          f"{1.0 / max_actions}, as there are information sets with "
          f"{max_actions} actions") from None

  def new_tables(self, dtype, names=("regret", "cumulative")):
    """Returns `set_blocks.SolverTables`: a uniform strategy, and zeros.

    Args:
      dtype: the type of the tables, except those of averages.
      names: the tables besides the strategy.
    """
    tables = set_blocks.SolverTables(*(
        regret_tables.zeros_apart(
            self.num_entries if name in ("strategy", *names) else 0,
            np.float64 if name in set_blocks.AVERAGES else dtype, number)
        for number, name in enumerate(set_blocks.SolverTables._fields)))
    set_blocks.set_uniform(self.blocks, tables.strategy)
    return tables

  def normalized(self, table):
    """Returns a table with each set's entries divided by their sum."""
    out = np.empty_like(table)
    set_blocks.normalize(self.blocks, table, out)
    return out

  def workspace(self, dtype=np.float64):
    """Returns a new `set_blocks.FormWorkspace` for tables of this type."""
    return self.form.workspace(np.dtype(dtype))

  def propagate(self, strategy, workspace):
    """Updates the reaches of all players in the workspace."""
    for player in range(self.num_players):
      self._kernels.propagate(workspace, player, strategy)

  def perturbed(self, strategy, epsilon):
    """Returns a strategy [entry] whose probabilities are at least epsilon."""
    out = np.array(strategy)
    if epsilon > 0.0:
      set_blocks.perturb(self.blocks, epsilon, out)
    return out

  def start_mixing(self, tables, workspace):
    """Initializes `cumulative` with reach times strategy, for mode MIX."""
    tables.response[:] = tables.strategy
    for player in range(self.num_players):
      self._kernels.mix(workspace, player, tables)
    tables.strategy[:] = tables.response
    tables.mean[:] = 0.0

  def evaluate(self, tables, workspace, mode, epsilon=0.0):
    """Returns [player] float64, each player's value in a mode.

    Args:
      tables: the `set_blocks.SolverTables`; in mode RESPOND `response` is
        written.
      workspace: the `set_blocks.FormWorkspace`; reaches must be up to date.
      mode: EVALUATE or RESPOND of `set_blocks`.
      epsilon: the lowest probability of every action in a response.
    """
    rules = _evaluation_rules(epsilon, tables.strategy.dtype)
    values = np.zeros(self.num_players)
    form_kernels.run(workspace, tables, rules, False, mode,
                     np.zeros(1, np.int64), values)
    return values

  def run(self, tables, workspace, rules, alternating, mode, iteration,
          num_threads=1):
    """Runs an iteration of a solver for each of the rules.

    The arguments are those of `form_kernels.run`. The result does not depend on
    the number of threads. Only the deal form of a large game can use more than
    one.
    """
    jit.run(num_threads if self.can_use_threads else 1, form_kernels.run,
            deal_form.run_parallel, workspace, tables, rules, alternating, mode,
            iteration, np.zeros(self.num_players))

  @property
  def can_use_threads(self):
    """Whether the game is large enough for more than one thread."""
    return (self.form_name == "deal" and
            len(self.form.arrays.num_hands) > self.num_players)

  @functools.cached_property
  def with_perfect_recall(self):
    """The compiled game in which a best responder plays.

    The histories are the same. An abstraction `x_ir` belongs to the registered
    game `x`, with the parameters that both have. In other games of imperfect
    recall, information sets are split until players have perfect recall.
    """
    if self.has_perfect_recall:
      if self.form_name != "history":
        return self
      return CompiledGame(self.game, tree=self.tree)
    name = self.game.get_type().short_name.removesuffix("_ir")
    known = {kind.short_name: kind.parameter_specification
             for kind in pyspiel.registered_games()}
    if name == self.game.get_type().short_name or name not in known:
      return CompiledGame(self.game, tree=self.tree.with_perfect_recall())
    real = CompiledGame(pyspiel.load_game(name, {
        key: value for key, value in self.game.get_parameters().items()
        if key in known[name]}))
    if not (np.array_equal(real.tree.action, self.tree.action) and
            np.array_equal(real.tree.parent, self.tree.parent)):
      raise ValueError(f"game={self.game}: its histories are not those of "
                       f"{real.game}, so it is no abstraction of that game")
    return real


@functools.lru_cache(maxsize=16)
def _evaluation_rules(epsilon, dtype):
  """Returns the arrays of one iteration that only evaluates."""
  return update_rules.rule_arrays(_NO_RULE._replace(epsilon=epsilon), 1, dtype)


_CACHE: collections.OrderedDict = collections.OrderedDict()
_CACHE_SIZE = 4
_MAX_CACHED_NODES = 5_000_000  # of all together: large games take gigabytes


def compile_game(game, form=None, perfect_recall=False):
  """Returns the `CompiledGame`; the last few are cached.

  Args:
    game: a `pyspiel.Game`.
    form: "deal", "sequence" or "history"; None chooses the fastest that fits.
    perfect_recall: whether to split information sets until players have perfect
      recall.
  """
  # Games that are made from data, such as EFG games, may share their string: so
  # only the identical object counts as the same game.
  key = (id(validation.game("game", game)),
         validation.choice("form", form, (None, *_FORMS)), perfect_recall)
  compiled = _CACHE.get(key)
  if compiled is None or compiled.game is not game:
    _drop_games(0)  # before the new game needs memory
    tree = None
    if perfect_recall:
      tree = rules_tree.make_tree(game, deal_form=form in _DEAL)
      if not tree.is_deal_form and (
          sequence_form.ParentSequences(tree).of_set is None):
        tree = tree.with_perfect_recall()
    compiled = _CACHE[key] = CompiledGame(game, form, tree)
  with contextlib.suppress(KeyError):  # another thread may have removed it
    _CACHE.move_to_end(key)
  _drop_games(1)
  return compiled


def _drop_games(min_games):
  """Drops the oldest games if the cache is too large, but for a minimum."""
  def num_nodes():
    return sum(compiled.tree.num_nodes for compiled in list(_CACHE.values()))

  while len(_CACHE) > _CACHE_SIZE or (len(_CACHE) > min_games and
                                      num_nodes() > _MAX_CACHED_NODES):
    _CACHE.popitem(last=False)
