"""Four numbers at once, in compiled code.

Numba makes vectors of long loops only, so that short ones, over the players of
a game or the actions of an information set, run number by number. Here a
`Quad` is four numbers of one type, float32 or float64, which the processor
adds and multiplies as one. It has +, - and *, and is made and used up by:

  load(array, i): the numbers array[i], ..., array[i + 3].
  store(array, i, quad): writes them there.
  splat(x): x four times.
  keep_above(quad, x): its numbers that are above x, 0 for the others.
  total(quad): the sum of its numbers.

An array may also be a `jit.pointer`; otherwise it must be contiguous. Indices
are those of the flat array and of type np.uintp. They are not checked, except
in the checked mode (see `checked`).

Serves the kernels of `graphs`.
"""

import operator

from llvmlite import ir
from numba import extending
from numba import types
from numba.core import errors
import numpy as np

from dudo_spiel.algorithms.runtime import checked

STEP = np.uintp(4)


class _QuadType(types.Type):
  """The type of a `Quad` in Numba."""

  def __init__(self, dtype):
    self.dtype = dtype
    super().__init__(name=f"Quad({dtype})")


@extending.register_model(_QuadType)
class _QuadModel(extending.models.PrimitiveModel):
  """Makes a `Quad` a vector of LLVM."""

  def __init__(self, manager, kind):
    number = manager[kind.dtype].get_value_type()
    super().__init__(manager, kind, ir.VectorType(number, 4))


def _check_array(array):
  """Raises a TypingError for what is no contiguous array or pointer."""
  pointers = (types.CPointer, checked.CheckedPointerType)
  if not isinstance(array, pointers) and not (
      isinstance(array, types.Array) and array.layout == "C"):
    raise errors.TypingError(f"{array} must be a contiguous array or a pointer")


def _check_quad(array, quad):
  """Raises a TypingError for a `Quad` that an array cannot hold."""
  _check_array(array)
  if quad != _QuadType(array.dtype):
    raise errors.TypingError(f"{quad} does not fit into {array}")


def _quad_pointer(context, builder, kind, array, index):
  """Returns (where the numbers stand, how they are aligned)."""
  data = array
  if isinstance(kind, types.Array):
    data = context.make_array(kind)(context, builder, array).data
  first = builder.gep(data, [index])
  vector = ir.VectorType(context.get_value_type(kind.dtype), 4)
  return (builder.bitcast(first, vector.as_pointer()),
          kind.dtype.bitwidth // 8)


@extending.intrinsic
def _load(typing_context, array, index):
  """Returns array[index], ..., array[index + 3] as a `Quad`."""
  del typing_context
  _check_array(array)

  def generate(context, builder, signature, values):
    pointer, align = _quad_pointer(context, builder, signature.args[0], *values)
    return builder.load(pointer, align=align)

  return _QuadType(array.dtype)(array, index), generate


@extending.intrinsic
def _store(typing_context, array, index, quad):
  """Writes a `Quad` to array[index], ..., array[index + 3]."""
  del typing_context
  _check_quad(array, quad)

  def generate(context, builder, signature, values):
    pointer, align = _quad_pointer(context, builder, signature.args[0],
                                   *values[:2])
    builder.store(values[2], pointer, align=align)
    return context.get_dummy_value()

  return types.void(array, index, quad), generate


def _checked_load(array, index):
  """Returns array[index], ..., array[index + 3] as a `Quad`, if it has them."""
  raise TypeError("load: is for compiled code only")


def _checked_store(array, index, quad):
  """Writes a `Quad` to array[index], ..., array[index + 3], if it has them."""
  raise TypeError("store: is for compiled code only")


@extending.register_jitable
def _check_bounds(array, index):
  i = types.int64(index)
  if i < 0 or i + 4 > checked.count_of(array):
    raise IndexError("quad: index is out of bounds")


@extending.overload(_checked_load)
def _overload_load(array, index):
  _check_array(array)
  is_pointer = isinstance(array, checked.CheckedPointerType)

  def load_array(array, index):
    _check_bounds(array, index)
    return _load(array, index)

  def load_pointer(array, index):
    _check_bounds(array, index)
    return _load(checked.unchecked(array), index)

  return load_pointer if is_pointer else load_array


@extending.overload(_checked_store)
def _overload_store(array, index, quad):
  _check_quad(array, quad)
  is_pointer = isinstance(array, checked.CheckedPointerType)

  def store_array(array, index, quad):
    _check_bounds(array, index)
    _store(array, index, quad)

  def store_pointer(array, index, quad):
    _check_bounds(array, index)
    _store(checked.unchecked(array), index, quad)

  return store_pointer if is_pointer else store_array


load = _checked_load if checked.IS_CHECKED else _load
store = _checked_store if checked.IS_CHECKED else _store


def _splat(builder, number):
  """Returns a vector of four times a number."""
  vector = ir.VectorType(number.type, 4)
  lane = ir.Constant(ir.IntType(32), 0)
  one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, lane)
  mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
  return builder.shuffle_vector(one, one, mask)


@extending.intrinsic
def splat(typing_context, number):
  """Returns a `Quad` of four times a number."""
  del typing_context
  if not isinstance(number, types.Float):
    raise errors.TypingError(f"{number} must be float32 or float64")

  def generate(context, builder, signature, values):
    del context, signature
    return _splat(builder, values[0])

  return _QuadType(number)(number), generate


@extending.intrinsic
def keep_above(typing_context, quad, number):
  """Returns a `Quad` of the numbers above a number, and 0 for the others."""
  del typing_context

  def generate(context, builder, signature, values):
    del context, signature
    zero = ir.Constant(values[0].type, [0.0] * 4)
    least = _splat(builder, values[1])
    return builder.select(builder.fcmp_ordered(">", values[0], least),
                          values[0], zero)

  return quad(quad, quad.dtype), generate


@extending.intrinsic
def total(typing_context, quad):
  """Returns the sum of a `Quad`'s numbers."""
  del typing_context

  def generate(context, builder, signature, values):
    del context, signature
    lanes = [builder.extract_element(values[0], ir.Constant(ir.IntType(32), i))
             for i in range(4)]
    return builder.fadd(builder.fadd(lanes[0], lanes[2]),
                        builder.fadd(lanes[1], lanes[3]))

  return quad.dtype(quad), generate


def _operator(function, name):
  """Defines an operator on two `Quad`s."""

  @extending.intrinsic
  def apply(typing_context, left, right):
    del typing_context

    def generate(context, builder, signature, values):
      del context, signature
      return getattr(builder, name)(*values, flags=("contract",))

    return left(left, right), generate

  @extending.overload(function)
  def _(left, right):
    if isinstance(left, _QuadType) and left == right:
      return lambda left, right: apply(left, right)
    return None


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.iadd, "fadd")
