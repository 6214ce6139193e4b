"""Four numbers at once, in compiled code.

Numba makes vectors of long loops only, so that short ones, over the players of
a game or the actions of an information set, run number by number. Here a
`Quad` is four numbers of one type, float32 or float64, which the processor
adds and multiplies as one. It has +, - and *, and is made and used up by:

  load(array, i): the numbers array[i], ..., array[i + 3].
  store(array, i, quad): writes them there.
  splat(x): x four times.
  above(quad, x): its numbers that are above x, 0 for the others.
  total(quad): the sum of its numbers.

An array may also be a `jit.pointer`; else it must be contiguous. Indices are
those of the flat array, of type np.uintp and in bounds: they are not checked.
"""

import operator

from llvmlite import ir
from numba import extending
from numba import types
from numba.core import errors
import numpy as np

STEP = np.uintp(4)


class _QuadType(types.Type):
  """The type of a `Quad` in Numba."""

  def __init__(self, dtype):
    self.dtype = dtype
    super().__init__(name=f"Quad({dtype})")


@extending.register_model(_QuadType)
class _QuadModel(extending.models.PrimitiveModel):
  """A `Quad` is a vector of LLVM."""

  def __init__(self, manager, kind):
    number = manager[kind.dtype].get_value_type()
    super().__init__(manager, kind, ir.VectorType(number, 4))


def _check_array(array):
  """Raises a TypingError for what is no contiguous array or pointer."""
  if not isinstance(array, types.CPointer) and not (
      isinstance(array, types.Array) and array.layout == "C"):
    raise errors.TypingError(f"{array} must be a contiguous array or a pointer")


def _pointer(context, builder, kind, array, index):
  """Returns (where the numbers stand, how they are aligned)."""
  data = array
  if isinstance(kind, types.Array):
    data = context.make_array(kind)(context, builder, array).data
  first = builder.gep(data, [index])
  vector = ir.VectorType(context.get_value_type(kind.dtype), 4)
  return (builder.bitcast(first, vector.as_pointer()),
          kind.dtype.bitwidth // 8)


@extending.intrinsic
def load(typing_context, array, index):
  """Returns array[index], ..., array[index + 3] as a `Quad`."""
  del typing_context
  _check_array(array)

  def generate(context, builder, signature, values):
    pointer, align = _pointer(context, builder, signature.args[0], *values)
    return builder.load(pointer, align=align)

  return _QuadType(array.dtype)(array, index), generate


@extending.intrinsic
def store(typing_context, array, index, quad):
  """Writes a `Quad` to array[index], ..., array[index + 3]."""
  del typing_context
  _check_array(array)
  if quad != _QuadType(array.dtype):
    raise errors.TypingError(f"{quad} does not fit into {array}")

  def generate(context, builder, signature, values):
    pointer, align = _pointer(context, builder, signature.args[0], *values[:2])
    builder.store(values[2], pointer, align=align)
    return context.get_dummy_value()

  return types.void(array, index, quad), generate


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
def above(typing_context, quad, number):
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
