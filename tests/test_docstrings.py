"""Examples in docstrings run, and the main classes and functions have one."""

import doctest
import importlib
import inspect

import pytest

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What users meet first, by the module from which they import it.
_MAIN = {
    "bots": ["describe", "make_bot", "OddsBot"],
    "claims": ["ClaimOrder"],
    "odds": ["claim_odds"],
    "rolls": ["RollTable"],
    "rules": ["resolve_challenge"],
    "algorithms.cfr": [
        "CFRPlusSolver", "CFRSolver", "DiscountedCFRSolver", "PDCFRPlusSolver"],
    "algorithms.convergence": [
        "estimated_memory", "make_solver", "measure", "solver_name"],
    "algorithms.exploitability": [
        "action_values", "best_response", "best_response_rate",
        "expected_values", "exploitability", "match_bounds", "max_win_rate",
        "nash_conv", "posterior", "round_exploitability"],
    "algorithms.fictitious_play": ["BDFPSolver", "XFPSolver"],
    "algorithms.fsicfr": [
        "FSICFRSolver", "LastClaims", "MatchSolver", "memory_needed",
        "PlayerRanks"],
    "algorithms.jobs": ["run"],
    "algorithms.pass_through": [
        "MonteCarloPassThroughSolver", "PrunedPassThroughSolver"],
    "algorithms.perfect_recall": ["merged", "PerfectRecallSolver"],
    "algorithms.pfsi": [
        "abstract_game", "FSISolver", "PFSISolver", "PruningSchedule"],
    "algorithms.policies": [
        "bot_policy", "from_open_spiel", "load_policy", "MatchPolicy",
        "RecallPolicy", "SeatPolicy", "TablePolicy"],
    "algorithms.policy_bots": [
        "bot_names", "describe", "exploitability", "load_policy", "make_bot",
        "solve_game"],
    "algorithms.qlearning": ["DoubtLearner", "play_games"],
    "algorithms.regret_matching": [
        "blotto_allocations", "blotto_fields_won", "RegretMatchingSolver"],
    "algorithms.simulation": [
        "bot_policy", "exact_match", "play_games", "play_matches"],
}
_NAMES = [(module, name) for module, names in _MAIN.items() for name in names]


@pytest.mark.parametrize("module, name", _NAMES)
def test_example_runs(module, name):
  """Each with names of its own: an example imports all that it uses."""
  main = getattr(importlib.import_module(f"dudo_spiel.{module}"), name)
  examples = doctest.DocTestParser().get_doctest(
      inspect.getdoc(main), {}, f"{module}.{name}",
      inspect.getsourcefile(inspect.unwrap(main)), 0)
  assert examples.examples, "has no example"
  report = []
  runner = doctest.DocTestRunner(optionflags=_FLAGS)
  runner.run(examples, out=report.append)
  assert not runner.failures, "".join(report)
