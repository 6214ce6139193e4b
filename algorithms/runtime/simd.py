"""Four or eight numbers at once, in compiled code.

Numba makes vectors of long loops only, so that short ones, over the players of
a game or the actions of an information set, run number by number. Here a quad
is four numbers of one type, float32 or float64, which the processor adds and
multiplies as one. An octet is eight of them. Both have +, - and *, and are made
and used up by:

  load(array, i): a quad of the numbers array[i], ..., array[i + 3].
  load_octet(array, i): an octet of array[i], ..., array[i + 7].
  store(array, i, vector): writes a quad or an octet there.
  splat(x), splat_octet(x): x four or eight times.
  keep_above(vector, x): its numbers that are above x, 0 for the others.
  total(vector): the sum of its numbers.

An array may also be a `jit.pointer`; otherwise it must be contiguous. Indices
are those of the flat array and of type np.uintp. They are not checked, except
in the checked mode (see `checked`).

Serves the kernels of `graphs`, and `compiled.deal_terminals`.
"""

import operator

from llvmlite import ir
from numba import extending
from numba import types
from numba.core import errors
import numpy as np

from dudo_spiel.algorithms.runtime import checked

STEP = np.uintp(4)
OCTET = 8


class _VectorType(types.Type):
  """The type of a quad or an octet in Numba."""

  def __init__(self, dtype, lanes):
    self.dtype = dtype
    self.lanes = lanes
    super().__init__(name=f"Vector({dtype}, {lanes})")


@extending.register_model(_VectorType)
class _VectorModel(extending.models.PrimitiveModel):
  """Makes it a vector of LLVM."""

  def __init__(self, manager, kind):
    number = manager[kind.dtype].get_value_type()
    super().__init__(manager, kind, ir.VectorType(number, kind.lanes))


def _check_array(array):
  """Raises a TypingError for what is no contiguous array or pointer."""
  pointers = (types.CPointer, checked.CheckedPointerType)
  if not isinstance(array, pointers) and not (
      isinstance(array, types.Array) and array.layout == "C"):
    raise errors.TypingError(f"{array} must be a contiguous array or a pointer")


def _check_vector(array, vector):
  """Raises a TypingError for a vector that an array cannot hold."""
  _check_array(array)
  if not isinstance(vector, _VectorType) or vector.dtype != array.dtype:
    raise errors.TypingError(f"{vector} does not fit into {array}")


def _vector_pointer(context, builder, kind, lanes, array, index):
  """Returns (where the numbers stand, how they are aligned)."""
  data = array
  if isinstance(kind, types.Array):
    data = context.make_array(kind)(context, builder, array).data
  first = builder.gep(data, [index])
  vector = ir.VectorType(context.get_value_type(kind.dtype), lanes)
  return (builder.bitcast(first, vector.as_pointer()),
          kind.dtype.bitwidth // 8)


def _make_load(lanes):
  """Returns an intrinsic that loads a vector of so many numbers."""

  @extending.intrinsic
  def load_vector(typing_context, array, index):
    del typing_context
    _check_array(array)

    def generate(context, builder, signature, values):
      pointer, align = _vector_pointer(context, builder, signature.args[0],
                                       lanes, *values)
      return builder.load(pointer, align=align)

    return _VectorType(array.dtype, lanes)(array, index), generate

  return load_vector


_load = _make_load(4)
_load_octet = _make_load(OCTET)


@extending.intrinsic
def _store(typing_context, array, index, vector):
  """Writes a vector to array[index], array[index + 1], ..."""
  del typing_context
  _check_vector(array, vector)

  def generate(context, builder, signature, values):
    kind, _, vector = signature.args
    pointer, align = _vector_pointer(context, builder, kind, vector.lanes,
                                     *values[:2])
    builder.store(values[2], pointer, align=align)
    return context.get_dummy_value()

  return types.void(array, index, vector), generate


@extending.register_jitable
def _check_bounds(array, index, lanes):
  i = types.int64(index)
  if i < 0 or i + lanes > checked.count_of(array):
    raise IndexError("vector: index is out of bounds")


def _checked_load_of(load_vector, lanes):
  """Returns a load that raises an IndexError if the array ends before."""

  def checked_load(array, index):
    raise TypeError("load: is for compiled code only")

  @extending.overload(checked_load)
  def _(array, index):
    _check_array(array)

    def load_array(array, index):
      _check_bounds(array, index, lanes)
      return load_vector(array, index)

    def load_pointer(array, index):
      _check_bounds(array, index, lanes)
      return load_vector(checked.unchecked(array), index)

    return (load_pointer if isinstance(array, checked.CheckedPointerType) else
            load_array)

  return checked_load


def _checked_store(array, index, vector):
  """Writes a vector to array[index], ..., if the array is long enough."""
  raise TypeError("store: is for compiled code only")


@extending.overload(_checked_store)
def _overload_store(array, index, vector):
  _check_vector(array, vector)
  lanes = vector.lanes

  def store_array(array, index, vector):
    _check_bounds(array, index, lanes)
    _store(array, index, vector)

  def store_pointer(array, index, vector):
    _check_bounds(array, index, lanes)
    _store(checked.unchecked(array), index, vector)

  return (store_pointer if isinstance(array, checked.CheckedPointerType) else
          store_array)


if checked.IS_CHECKED:
  load = _checked_load_of(_load, 4)
  load_octet = _checked_load_of(_load_octet, OCTET)
  store = _checked_store
else:
  load, load_octet, store = _load, _load_octet, _store


def _splat(builder, number, lanes):
  """Returns a vector of so many times a number."""
  vector = ir.VectorType(number.type, lanes)
  lane = ir.Constant(ir.IntType(32), 0)
  one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, lane)
  mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
  return builder.shuffle_vector(one, one, mask)


def _make_splat(lanes):
  """Returns an intrinsic that makes a vector of so many times a number."""

  @extending.intrinsic
  def splat_vector(typing_context, number):
    del typing_context
    if not isinstance(number, types.Float):
      raise errors.TypingError(f"{number} must be float32 or float64")

    def generate(context, builder, signature, values):
      del context, signature
      return _splat(builder, values[0], lanes)

    return _VectorType(number, lanes)(number), generate

  return splat_vector


splat = _make_splat(4)
splat_octet = _make_splat(OCTET)


@extending.intrinsic
def keep_above(typing_context, vector, number):
  """Returns a vector of the numbers above a number, and 0 for the others."""
  del typing_context
  lanes = vector.lanes

  def generate(context, builder, signature, values):
    del context, signature
    zero = ir.Constant(values[0].type, [0.0] * lanes)
    least = _splat(builder, values[1], lanes)
    return builder.select(builder.fcmp_ordered(">", values[0], least),
                          values[0], zero)

  return vector(vector, vector.dtype), generate


@extending.intrinsic
def total(typing_context, vector):
  """Returns the sum of a vector's numbers."""
  del typing_context
  lanes = vector.lanes

  def generate(context, builder, signature, values):
    del context, signature
    parts = [builder.extract_element(values[0], ir.Constant(ir.IntType(32), i))
             for i in range(lanes)]
    while len(parts) > 1:
      half = len(parts) // 2
      parts = [builder.fadd(left, right)
               for left, right in zip(parts[:half], parts[half:])]
    return parts[0]

  return vector.dtype(vector), generate


def _operator(function, name):
  """Defines an operator on two vectors of one type."""

  @extending.intrinsic
  def apply(typing_context, left, right):
    del typing_context

    def generate(context, builder, signature, values):
      del context, signature
      return getattr(builder, name)(*values, flags=("contract",))

    return left(left, right), generate

  @extending.overload(function)
  def _(left, right):
    if isinstance(left, _VectorType) and left == right:
      return lambda left, right: apply(left, right)
    return None


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.iadd, "fadd")
