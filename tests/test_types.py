"""Everything that users call says which types it takes and returns."""

import importlib
import inspect
import pkgutil
import typing

import pytest

import dudo_spiel
from dudo_spiel import algorithms
from dudo_spiel import games

_PUBLIC = [
    *(f"dudo_spiel.algorithms.{module.name}"
      for module in pkgutil.iter_modules(algorithms.__path__)
      if not module.ispkg),
    *(f"dudo_spiel.games.{name}" for name in games.__all__),
    *(f"dudo_spiel.{module.name}"
      for module in pkgutil.iter_modules(dudo_spiel.__path__)
      if not module.ispkg),
]


def _is_ours(thing):
  return (getattr(thing, "__module__", None) or "").startswith("dudo_spiel")


def _members(module):
  """Yields (name, function or class) of what users import from a module."""
  names = getattr(module, "__all__", None)
  for name in names or vars(module):
    thing = getattr(module, name)
    is_own = names or getattr(thing, "__module__", None) == module.__name__
    if is_own and not name.startswith("_") and _is_ours(thing) and (
        inspect.isfunction(inspect.unwrap(thing)) or inspect.isclass(thing)):
      yield f"{module.__name__}.{name}", thing


def _functions(name, thing):
  """Yields (name, function): itself, or all public methods of a class."""
  if not inspect.isclass(thing):
    yield name, inspect.unwrap(thing)
    return
  for kind in thing.__mro__:
    if not _is_ours(kind):
      continue
    for key, method in vars(kind).items():
      if isinstance(method, property):
        method = method.fget
      method = getattr(method, "func", method)  # of a cached property
      method = inspect.unwrap(getattr(method, "__func__", method))
      is_public = not key.startswith("_") or key in ("__init__", "__call__")
      if is_public and inspect.isfunction(method) and _is_ours(method):
        yield f"{kind.__module__}.{kind.__qualname__}.{key}", method


def _missing(function):
  """Returns the parameters without a type, and "return" if that has none."""
  hints = typing.get_type_hints(function)
  parameters = list(inspect.signature(function).parameters)
  if parameters and parameters[0] in ("self", "cls"):
    del parameters[0]
  return [name for name in (*parameters, "return") if name not in hints]


@pytest.mark.parametrize("name", _PUBLIC)
def test_public_signatures_have_types(name):
  untyped = {}
  for member, thing in _members(importlib.import_module(name)):
    for label, function in _functions(member, thing):
      if missing := _missing(function):
        untyped[label] = missing
  assert not untyped
