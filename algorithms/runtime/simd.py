"""Vectors of numbers, in compiled code.

Numba makes vectors of long loops only, so that short ones, over the players of
a game or the actions of an information set, run number by number. Here a vector
is a few numbers of one type, float32 or float64, which the processor adds and
multiplies as one. Vectors have +, -, * and /, and are made and used up by:

  load(array, i, size, count): a vector of array[i], array[i + 1], ...
  store(array, i, vector, count): writes them there.
  splat(x, size): the number x in every lane.
  total(vector): the sum of its numbers.
  where_above, where_from(v, x, yes, no): yes where v > or >= x, elsewhere no.
  multiply_add(x, y, z): x * y + z, where z may be a product that is rounded.
  widen(vector): its numbers in float64.

The size is how many numbers there are: a quad of four (if it is left out), an
`OCTET`, a `STRIP` of 64 bytes, or as many as another vector has, given in its
place. `splat` then makes the type of that vector, too. Long arrays are handled
strip by strip (`strip_size`), of which the last may be shorter: a count says
how many numbers of the array belong to it. The others are loaded as 0 and not
stored. A count of None, a whole vector, is compiled apart.

An array may also be a `jit.pointer`; otherwise it must be contiguous. Indices
are those of the flat array and of type np.uintp. They are not checked, except
in the checked mode (see `checked`).
"""

import operator

from llvmlite import ir
from numba import extending
from numba import types
from numba.core import errors
import numpy as np

from dudo_spiel.algorithms.runtime import checked

_QUAD = 4
STEP = np.uintp(_QUAD)  # of loops over quads
OCTET_SIZE = 8  # numbers
_STRIP_BYTES = 64


class _VectorType(types.Type):
  """The type of a vector in Numba."""

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


class _SizeType(types.Dummy):
  """A size, which is its own type in Numba: how many numbers of a type."""

  def __init__(self, name, lanes_of):
    self.lanes_of = lanes_of
    super().__init__(name=f"Size({name})")


extending.register_model(_SizeType)(extending.models.OpaqueModel)
extending.typeof_impl.register(_SizeType)(lambda size, context: size)
OCTET = _SizeType("octet", lambda dtype: OCTET_SIZE)
STRIP = _SizeType("strip", lambda dtype: 8 * _STRIP_BYTES // dtype.bitwidth)


def _is_none(kind):
  return kind is None or isinstance(kind, (types.NoneType, types.Omitted))


def _vector_type(dtype, size):
  """Returns the type of a vector of numbers, by the type of its size."""
  if isinstance(size, _VectorType):
    return _VectorType(dtype, size.lanes)
  return _VectorType(dtype, _QUAD if _is_none(size) else size.lanes_of(dtype))


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


def _vector_pointer(context, builder, kinds, values, vector):
  """Returns (where a vector stands in an array, how that is aligned).

  The types and values are those of (array, index, ...).
  """
  data = values[0]
  if isinstance(kinds[0], types.Array):
    data = context.make_array(kinds[0])(context, builder, data).data
  return (builder.bitcast(builder.gep(data, [values[1]]),
                          context.get_value_type(vector).as_pointer()),
          vector.dtype.bitwidth // 8)


def _mask(builder, count, lanes):
  """Returns a vector of bits: which of the lanes are below the count."""
  integers = ir.VectorType(ir.IntType(32), lanes)
  count = builder.trunc(count, ir.IntType(32))
  return builder.icmp_signed("<", ir.Constant(integers, list(range(lanes))),
                             _splat(builder, count, lanes))


@extending.intrinsic
def _load(typing_context, array, index, size=None, count=None):
  """Returns a vector of array[index], array[index + 1], ..."""
  del typing_context
  _check_array(array)
  kind = _vector_type(array.dtype, size)
  is_whole = _is_none(count)

  def generate(context, builder, signature, values):
    pointer, align = _vector_pointer(context, builder, signature.args, values,
                                     kind)
    if is_whole:
      return builder.load(pointer, align=align)
    vector = pointer.type.pointee
    return _call_llvm(
        builder, f"llvm.masked.load.{_name_of(vector)}.p0", vector,
        [pointer, ir.Constant(ir.IntType(32), align),
         _mask(builder, values[3], kind.lanes),
         ir.Constant(vector, [0.0] * kind.lanes)])

  return kind(array, index, size or types.none, count or types.none), generate


@extending.intrinsic
def _store(typing_context, array, index, vector, count=None):
  """Writes a vector, or its first numbers, to array[index], ..."""
  del typing_context
  _check_vector(array, vector)
  is_whole = _is_none(count)

  def generate(context, builder, signature, values):
    pointer, align = _vector_pointer(context, builder, signature.args, values,
                                     vector)
    if is_whole:
      builder.store(values[2], pointer, align=align)
    else:
      _call_llvm(
          builder, f"llvm.masked.store.{_name_of(values[2].type)}.p0",
          ir.VoidType(),
          [values[2], pointer, ir.Constant(ir.IntType(32), align),
           _mask(builder, values[3], vector.lanes)])
    return context.get_dummy_value()

  return types.void(array, index, vector, count or types.none), generate


load, store = _load, _store
if checked.IS_CHECKED:

  _itself = extending.register_jitable(lambda array: array)

  def _unchecked_of(array):
    """Returns the function that makes what `_load` and `_store` take."""
    is_pointer = isinstance(array, checked.CheckedPointerType)
    return checked.address if is_pointer else _itself

  @extending.register_jitable
  def _check_bounds(array, index, lanes, count):
    i = types.int64(index)
    size = lanes if count is None else count
    if i < 0 or i + size > checked.size(array):
      raise IndexError("vector: index is out of bounds")

  def load(array, index, size=None, count=None):
    """Does what `_load` does, if the array is long enough."""
    raise TypeError("load: is for compiled code only")

  @extending.overload(load)
  def _(array, index, size=None, count=None):
    _check_array(array)
    lanes, plain = _vector_type(array.dtype, size).lanes, _unchecked_of(array)
    def load_vector(array, index, size=None, count=None):
      _check_bounds(array, index, lanes, count)
      return _load(plain(array), index, size, count)
    return load_vector

  def store(array, index, vector, count=None):
    """Does what `_store` does, if the array is long enough."""
    raise TypeError("store: is for compiled code only")

  @extending.overload(store)
  def _(array, index, vector, count=None):
    lanes, plain = vector.lanes, _unchecked_of(array)
    def store_vector(array, index, vector, count=None):
      _check_bounds(array, index, lanes, count)
      _store(plain(array), index, vector, count)
    return store_vector


def _splat(builder, number, lanes):
  """Returns a vector of so many times a number."""
  vector = ir.VectorType(number.type, lanes)
  lane = ir.Constant(ir.IntType(32), 0)
  one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, lane)
  mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
  return builder.shuffle_vector(one, one, mask)


@extending.intrinsic
def splat(typing_context, number, size=None):
  """Returns a vector of the number in every lane."""
  del typing_context
  if isinstance(size, _VectorType):
    kind = size
  elif isinstance(number, types.Float):
    kind = _vector_type(number, size)
  else:
    raise errors.TypingError(f"{number} must be float32 or float64")

  def generate(context, builder, signature, values):
    value = context.cast(builder, values[0], signature.args[0], kind.dtype)
    return _splat(builder, value, kind.lanes)

  return kind(number, size or types.none), generate


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
_operator(operator.isub, "fsub")
_operator(operator.truediv, "fdiv")


def _call_llvm(builder, name, returned, arguments):
  """Calls one of LLVM's own functions."""
  function = builder.module.globals.get(name) or ir.Function(
      builder.module, ir.FunctionType(returned, [a.type for a in arguments]),
      name)
  return builder.call(function, arguments)


def _name_of(vector):
  """Returns how LLVM's names of functions call a type of vectors."""
  is_single = isinstance(vector.element, ir.FloatType)
  return f"v{vector.count}f{32 if is_single else 64}"


@extending.intrinsic
def multiply_add(typing_context, x, y, z):
  """Returns x * y + z: this product is the one that is not rounded."""
  del typing_context

  def generate(context, builder, signature, values):
    del context, signature
    vector = values[0].type
    return _call_llvm(builder, f"llvm.fmuladd.{_name_of(vector)}", vector,
                      values)

  return x(x, y, z), generate


@extending.intrinsic
def strip_size(typing_context, array):
  """Returns how many of an array's numbers are a strip."""
  del typing_context
  lanes = STRIP.lanes_of(array.dtype)
  return types.intp(array), lambda context, builder, signature, values: (
      context.get_constant(types.intp, lanes))


def _make_where(relation):
  """Returns an intrinsic that chooses by a comparison with a number."""

  @extending.intrinsic
  def where(typing_context, x, number, yes, no):
    del typing_context

    def generate(context, builder, signature, values):
      limit = _splat(builder, context.cast(builder, values[1],
                                           signature.args[1], x.dtype), x.lanes)
      return builder.select(
          builder.fcmp_ordered(relation, values[0], limit), *values[2:])

    return yes(x, number, yes, no), generate

  return where


where_above = _make_where(">")
where_from = _make_where(">=")


@extending.intrinsic
def widen(typing_context, vector):
  """Returns a vector's numbers in float64."""
  del typing_context
  wide = _VectorType(types.float64, vector.lanes)

  def generate(context, builder, signature, values):
    if vector.dtype == types.float64:
      return values[0]
    return builder.fpext(values[0], context.get_value_type(wide))

  return wide(vector), generate
