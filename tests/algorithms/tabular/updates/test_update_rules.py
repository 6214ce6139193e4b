"""How the class of a rule chooses an update."""

import collections

import pytest

from dudo_spiel.algorithms.tabular.updates import update_rules


def test_threads_can_tell_rules_apart_by_their_fields():
  rules = (update_rules.Rule, update_rules.AsymmetricRule,
           update_rules.VolatileRule)
  assert update_rules.by_num_fields(rules) == {
      len(rule._fields): rule for rule in rules}


def test_a_rule_with_as_many_fields_as_another_is_refused():
  fourth = collections.namedtuple("fourth", update_rules.Rule._fields)
  with pytest.raises(ValueError, match="rules: must have different numbers"):
    update_rules.by_num_fields((update_rules.Rule, fourth))
