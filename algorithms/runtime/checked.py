"""Pointers that know their length, for the checked mode.

Kernels index pointers without any check, as that is fast. In the checked mode
(environment variable DUDO_SPIEL_CHECKED=1) `jit.pointer` returns the type of
this module instead: it is indexed in the same way, but raises an IndexError
outside of its array. The tests run once in that mode.
"""

import operator
import os

from numba import extending
from numba import types
from numba.core import cgutils
from numba.core import errors

IS_CHECKED = os.environ.get("DUDO_SPIEL_CHECKED", "0") not in ("", "0")


class CheckedPointerType(types.Type):
  """The type of a checked pointer in Numba: where numbers stand, how many."""

  def __init__(self, dtype):
    self.dtype = dtype
    super().__init__(name=f"CheckedPointer({dtype})")


@extending.register_model(CheckedPointerType)
class _CheckedPointerModel(extending.models.StructModel):

  def __init__(self, manager, kind):
    super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)),
                                     ("size", types.intp)])


@extending.intrinsic
def checked_pointer(typing_context, array):
  """Returns a checked pointer to the numbers of a contiguous array."""
  del typing_context
  if array.layout != "C" or not array.mutable:
    raise errors.TypingError(f"{array} must be contiguous and not read-only")

  def generate(context, builder, signature, values):
    source = context.make_array(signature.args[0])(context, builder, values[0])
    out = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    out.data, out.size = source.data, source.nitems
    return out._getvalue()

  return CheckedPointerType(array.dtype)(array), generate


def _member(name, kind_of):
  """Returns an intrinsic that reads a member of a checked pointer."""

  @extending.intrinsic
  def read(typing_context, pointer):
    del typing_context

    def generate(context, builder, signature, values):
      proxy = cgutils.create_struct_proxy(signature.args[0])
      return getattr(proxy(context, builder, value=values[0]), name)

    return kind_of(pointer)(pointer), generate

  return read


address = _member("data", lambda pointer: types.CPointer(pointer.dtype))
_size = _member("size", lambda pointer: types.intp)


def size(pointer):
  """Returns how many numbers an array or checked pointer has."""
  raise TypeError("size: is for compiled code only")


@extending.overload(size)
def _overload_size(pointer):
  if isinstance(pointer, CheckedPointerType):
    return lambda pointer: _size(pointer)
  return lambda pointer: pointer.size


@extending.register_jitable
def _checked_index(pointer, index):
  i = types.int64(index)
  if i < 0 or i >= _size(pointer):
    raise IndexError("pointer: index is out of bounds")
  return i


@extending.overload(operator.getitem)
def _getitem(pointer, index):
  if isinstance(pointer, CheckedPointerType):
    return lambda pointer, index: (
        address(pointer)[_checked_index(pointer, index)])
  return None


@extending.overload(operator.setitem)
def _setitem(pointer, index, value):
  if isinstance(pointer, CheckedPointerType):
    def set_item(pointer, index, value):
      address(pointer)[_checked_index(pointer, index)] = value
    return set_item
  return None
