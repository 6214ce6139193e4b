"""Several numbers at once, in compiled code.

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

Long arrays are handled strip by strip. A strip is a vector of 64 bytes: eight
numbers of float64, sixteen of float32. The last one may be a part of a strip:
a count is how many numbers there are, or None for a whole strip, which is
compiled apart. What is not loaded is 0. Strips also have /.

  strip_size(array): how many numbers are a strip.
  load_strip(array, i, count): a strip, or a part of it.
  load_like(array, i, vector, count): as many numbers as the vector has.
  store_strip(array, i, vector, count): writes them.
  splat_like(x, vector): x as often as the vector has numbers.
  where_above, where_from(x, number, yes, no): yes where x > or >= number.
  multiply_add(x, y, z): x * y + z, where z may be a product that is rounded.
  widen(vector): its numbers in float64.

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

STEP = np.uintp(4)
OCTET = 8
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


# Strips.


def _lanes(array):
  """Returns how many of an array's numbers are a strip."""
  return _STRIP_BYTES // (array.dtype.bitwidth // 8)


@extending.intrinsic
def strip_size(typing_context, array):
  """Returns how many of an array's numbers are a strip."""
  del typing_context
  lanes = _lanes(array)
  return types.intp(array), lambda context, builder, signature, values: (
      context.get_constant(types.intp, lanes))


def _mask(builder, count, lanes):
  """Returns a vector of bits: which of the lanes are below the count."""
  numbers = ir.VectorType(ir.IntType(32), lanes)
  count = builder.trunc(count, ir.IntType(32))
  return builder.icmp_signed("<", ir.Constant(numbers, list(range(lanes))),
                             _splat(builder, count, lanes))


def _load_some(lanes, kinds):
  """Returns the code that loads a whole strip, or a part of it.

  Args:
    lanes: how many numbers are a strip.
    kinds: the types of the array, the index, perhaps a vector, and the count.
  """
  def generate(context, builder, signature, values):
    del signature
    pointer, align = _vector_pointer(context, builder, kinds[0], lanes,
                                     *values[:2])
    if isinstance(kinds[-1], types.NoneType):
      return builder.load(pointer, align=align)
    vector = pointer.type.pointee
    return _call_llvm(
        builder, f"llvm.masked.load.{_name_of(vector)}.p0", vector,
        [pointer, ir.Constant(ir.IntType(32), align),
         _mask(builder, values[-1], lanes), ir.Constant(vector, [0.0] * lanes)])

  _check_array(kinds[0])
  return _VectorType(kinds[0].dtype, lanes)(*kinds), generate


@extending.intrinsic
def _load_strip(typing_context, array, index, count):
  """Returns the numbers array[index], ..., as many as a strip has."""
  del typing_context
  return _load_some(_lanes(array), (array, index, count))


@extending.intrinsic
def _load_like(typing_context, array, index, vector, count):
  """Returns the numbers array[index], ..., as many as the vector has."""
  del typing_context
  return _load_some(vector.lanes, (array, index, vector, count))


@extending.intrinsic
def _store_strip(typing_context, array, index, vector, count):
  """Writes a vector, or the first numbers of it, to array[index], ..."""
  del typing_context
  _check_vector(array, vector)

  def generate(context, builder, signature, values):
    kind, _, vector, count_kind = signature.args
    pointer, align = _vector_pointer(context, builder, kind, vector.lanes,
                                     *values[:2])
    if isinstance(count_kind, types.NoneType):
      builder.store(values[2], pointer, align=align)
    else:
      _call_llvm(
          builder, f"llvm.masked.store.{_name_of(values[2].type)}.p0",
          ir.VoidType(),
          [values[2], pointer, ir.Constant(ir.IntType(32), align),
           _mask(builder, values[3], vector.lanes)])
    return context.get_dummy_value()

  return types.void(array, index, vector, count), generate


if checked.IS_CHECKED:

  _itself = extending.register_jitable(lambda array: array)

  def _unchecked_of(array):
    """Returns the function that makes what the plain kernels take."""
    is_pointer = isinstance(array, checked.CheckedPointerType)
    return checked.unchecked if is_pointer else _itself

  @extending.register_jitable
  def _check_strip(array, index, lanes, count):
    _check_bounds(array, index, lanes if count is None else count)

  def load_strip(array, index, count):
    """Does what `_load_strip` does, if the array is long enough."""
    raise TypeError("load_strip: is for compiled code only")

  @extending.overload(load_strip)
  def _(array, index, count):
    lanes, plain = _lanes(array), _unchecked_of(array)
    def load(array, index, count):
      _check_strip(array, index, lanes, count)
      return _load_strip(plain(array), index, count)
    return load

  def load_like(array, index, vector, count):
    """Does what `_load_like` does, if the array is long enough."""
    raise TypeError("load_like: is for compiled code only")

  @extending.overload(load_like)
  def _(array, index, vector, count):
    lanes, plain = vector.lanes, _unchecked_of(array)
    def load(array, index, vector, count):
      _check_strip(array, index, lanes, count)
      return _load_like(plain(array), index, vector, count)
    return load

  def store_strip(array, index, vector, count):
    """Does what `_store_strip` does, if the array is long enough."""
    raise TypeError("store_strip: is for compiled code only")

  @extending.overload(store_strip)
  def _(array, index, vector, count):
    lanes, plain = vector.lanes, _unchecked_of(array)
    def store(array, index, vector, count):
      _check_strip(array, index, lanes, count)
      _store_strip(plain(array), index, vector, count)
    return store

else:
  load_strip, load_like, store_strip = _load_strip, _load_like, _store_strip


@extending.intrinsic
def splat_like(typing_context, number, vector):
  """Returns a number as often as the vector has numbers."""
  del typing_context

  def generate(context, builder, signature, values):
    value = context.cast(builder, values[0], signature.args[0], vector.dtype)
    return _splat(builder, value, vector.lanes)

  return vector(number, vector), generate


def _make_where(relation):
  """Returns an intrinsic that chooses by a comparison with a number."""

  @extending.intrinsic
  def where(typing_context, x, number, yes, no):
    del typing_context

    def generate(context, builder, signature, values):
      least = _splat(builder, context.cast(builder, values[1],
                                           signature.args[1], x.dtype), x.lanes)
      return builder.select(
          builder.fcmp_ordered(relation, values[0], least), *values[2:])

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
