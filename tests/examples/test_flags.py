"""A flag means the same in all programs that have it."""

import collections
import re

import helpers
import pytest

# What the help of a flag must speak of, for flags that several programs have.
_MEANINGS = {
    "abstraction": "remember",
    "abstractions": "remember",
    "alternating": "one after the other",
    "at": "iterations",
    "checkpoint": "[Cc]ontinue from this|file of a solver",
    "dice_sides": "[Ss]ides",
    "engine": "Ray|ray",
    "epsilon": "perturbed game",
    "exact_dice": "at most this many dice in play",
    "folder": "folder",
    "game": "game",
    "games": "with ; between them",
    "gamma": r"t\^gamma",
    "hands_met": "opponent's hands",
    "iterations": "iterations|Iterations",
    "num_games": "[Gg]ames (per|to|against|a pair)|many games",
    "num_threads": "Threads",
    "numdice": "[Dd]ice per player",
    "opponents": "Bots",
    "plot": "PNG file",
    "policy": "^.(?!Save).*policy",
    "ranks": "How many ranks",
    "recall": "[Cc]laims",
    "repeats": "How often to measure",
    "rounds": "[Rr]ounds .*1v1",
    "save_policy": "^.Save .*policy",
    "seconds": "[Ss]econds",
    "seed": "Seed of",
    "solver": "solver",
    "solvers": "[Ss]olvers",
    "target": "[Ee]xploitability",
    "targets": "exploitabilities to reach",
    "train_games": "Games to learn from",
    "workers": "at a time on this machine",
}
# An enum is a string of which a few are allowed. Solvers with arguments have
# commas in brackets, so some programs split the string themselves.
_SAME_TYPES = {"enum": "string"}
_TWO_TYPES = {"solvers"}


def _flags():
  """Returns {name: list of flags} of those that several programs have."""
  flags = collections.defaultdict(list)
  for program in helpers.PROGRAMS:
    for flag in helpers.defined_flags(program):
      flags[flag.name].append(flag)
  return {name: found for name, found in flags.items() if len(found) > 1}


def test_every_flag_of_several_programs_has_a_meaning_here():
  assert set(_flags()) == set(_MEANINGS)


@pytest.mark.parametrize("name", _MEANINGS)
def test_a_flag_has_one_type_and_one_meaning(name):
  flags = _flags()[name]
  types = {_SAME_TYPES.get(flag.type, flag.type) for flag in flags}
  assert len(types) == 1 or name in _TWO_TYPES, flags
  assert not [flag for flag in flags
              if not re.search(_MEANINGS[name], flag.help)]
