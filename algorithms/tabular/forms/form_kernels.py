"""Iterations on a game, the same for all its forms.

Each form has its own kernels. The class of the form's arrays chooses among them
when `run` is compiled.

  propagate(space, player, strategy) writes the player's own reaches.
  evaluate(space, player, tables, mode, rule) computes the player's
    counterfactual values with reaches that are up to date, lets
    `set_blocks.update_block` learn from them, and returns the player's expected
    value (the deal form only in modes EVALUATE and RESPOND).
  mix(space, player, tables) mixes the response, whose reaches `propagate` has
    written, into the strategy.
"""

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.forms import deal_form
from dudo_spiel.algorithms.tabular.forms import history_form
from dudo_spiel.algorithms.tabular.forms import sequence_form
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import update_rules

_FORMS = {deal_form.DealArrays: deal_form,
          sequence_form.SequenceArrays: sequence_form,
          history_form.HistoryArrays: history_form}


def _chosen(name):
  """Returns the kernel of a name for kernels to call, whatever the form."""
  kernels = {arrays: getattr(form, name) for arrays, form in _FORMS.items()}

  def choose(kinds):
    workspace = kinds[0]
    return kernels[workspace[0].instance_class]

  standard = getattr(deal_form, name)
  jit.choose_by_types(standard, choose)
  return standard


_propagate = _chosen("propagate")
_evaluate = _chosen("evaluate")
_mix = _chosen("mix")


@jit.inline
def _renew(workspace, player, tables, mode):
  """Updates what depends on the player's table that `evaluate` changed."""
  if mode == set_blocks.MIX:
    _propagate(workspace, player, tables.response)
    _mix(workspace, player, tables)
  _propagate(workspace, player, tables.strategy)


@jit.kernel
def run(workspace, tables, rules, alternating, mode, iteration, values):
  """Runs an iteration for each of the rules, or evaluates once.

  Python calls the same kernel for both, because everything that it calls is
  compiled anew for each kernel that Python calls.

  Args:
    workspace: the `set_blocks.FormWorkspace`. Its reaches must be up to date
      before, and are so afterwards.
    tables: the `set_blocks.SolverTables`, modified in place as the mode says.
    rules: the `update_rules.Rule` of arrays [iteration].
    alternating: whether players are updated one after the other.
    mode: what to do with the values, such as `set_blocks.LEARN`.
    iteration: [1] int64, counted up here, so that it is right whenever Python
      reads it.
    values: [player] float64, written: each player's expected value, in modes
      EVALUATE and RESPOND.
  """
  workspace, tables = jit.borrowed(workspace), jit.borrowed(tables)
  players = len(values)
  for t in range(len(rules.step)):
    rule = update_rules.rule_at(rules, t)
    # One loop for both orders: `_evaluate` and `_renew` are inlined, so each is
    # called in one place only, or the kernel would compile twice as long.
    for step in range(2 * players):
      if alternating:  # each player is evaluated, then renewed
        player, is_evaluated = step // 2, step % 2 == 0
      else:  # all are evaluated, then all are renewed
        player, is_evaluated = step % players, step < players
      if is_evaluated:
        values[player] = _evaluate(workspace, player, tables, mode, rule)
      elif mode != set_blocks.EVALUATE and mode != set_blocks.RESPOND:
        _renew(workspace, player, tables, mode)
    iteration[0] += 1
