"""What compiled loops are made of: vectors of 8 doubles that the compiler is sure to keep in vector registers, and
calls of kernels by their addresses."""

import functools

import numpy as np

from .loading.late import cgutils, errors, intrinsic, ir, types
from .loops import compiled

LANES = 8


@functools.cache
def vector():
    return ir.VectorType(ir.DoubleType(), LANES)


def lane_pointer(context, builder, array_type, array, offset):
    """Pointer to the vector that starts at element `offset` of a C-contiguous array of any shape."""
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), vector().as_pointer())


def lane_load(context, builder, array_type, array, offset):
    return builder.load(lane_pointer(context, builder, array_type, array, offset), align=8)


def fused(builder, a, b, c):
    """a * b + c."""
    kind = ir.FunctionType(vector(), [vector()] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v8f64"), [a, b, c])


def splat(builder, value):
    one = builder.insert_element(ir.Constant(vector(), ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(vector(), ir.Undefined), mask)


@intrinsic
def add_lanes(typing, y, i, a, x, j):
    """y[i:i+8] += a * x[j:j+8], offsets counted in doubles from the start of C-contiguous arrays."""

    def emit(context, builder, signature, args):
        ty, _, _, tx, _ = signature.args
        y, i, a, x, j = args
        target = lane_pointer(context, builder, ty, y, i)
        sum_ = fused(builder, splat(builder, a), lane_load(context, builder, tx, x, j),
                     builder.load(target, align=8))
        builder.store(sum_, target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.float64, x, types.int64), emit


@intrinsic
def add_four_lanes(typing, y, i, factors, x, j, stride):
    """y[i:i+8] += sum of factors[m] * x[k:k+8] with k = j + m * stride, m = 0, ..., 3; `factors` is a tuple."""

    def emit(context, builder, signature, args):
        ty, tx = signature.args[0], signature.args[3]
        y, i, factors, x, j, stride = args
        target = lane_pointer(context, builder, ty, y, i)
        sum_ = builder.load(target, align=8)
        for factor in cgutils.unpack_tuple(builder, factors, 4):
            sum_ = fused(builder, splat(builder, factor), lane_load(context, builder, tx, x, j), sum_)
            j = builder.add(j, stride)
        builder.store(sum_, target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.UniTuple(types.float64, 4), x, types.int64, types.int64), emit


@intrinsic
def add_four_twice(typing, y, i, k, factors, x, j, stride):
    """`add_four_lanes` with the first four factors at i, and with the other four at k, from the same vectors of x."""

    def emit(context, builder, signature, args):
        ty, tx = signature.args[0], signature.args[4]
        y, i, k, factors, x, j, stride = args
        targets = [lane_pointer(context, builder, ty, y, place) for place in (i, k)]
        sums = [builder.load(target, align=8) for target in targets]
        factors = cgutils.unpack_tuple(builder, factors, 8)
        for m in range(4):
            column = lane_load(context, builder, tx, x, j)
            sums = [fused(builder, splat(builder, factor), column, sum_)
                    for factor, sum_ in zip(factors[m::4], sums, strict=True)]
            j = builder.add(j, stride)
        for target, sum_ in zip(targets, sums, strict=True):
            builder.store(sum_, target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.int64, types.UniTuple(types.float64, 8), x, types.int64, types.int64), emit


@intrinsic
def load(typing, x, i):
    """x[i] for i from 0 on; what brackets do about negative indices can take as long as the work."""

    def emit(context, builder, signature, args):
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return x.dtype(x, types.int64), emit


@intrinsic
def store(typing, x, i, value):
    """x[i] = value, as `load`; of the type of x."""

    def emit(context, builder, signature, args):
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data
        builder.store(args[2], builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(x, types.int64, x.dtype), emit


@intrinsic
def set_lanes(typing, y, i, a, x, j):
    """y[i:i+8] = a * x[j:j+8], offsets counted in doubles from the start of C-contiguous arrays."""

    def emit(context, builder, signature, args):
        ty, _, _, tx, _ = signature.args
        y, i, a, x, j = args
        product = builder.fmul(splat(builder, a), lane_load(context, builder, tx, x, j))
        builder.store(product, lane_pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.float64, x, types.int64), emit


PAIRS = (([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]),  # lanes that shuffles bring together, of two
         ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),  # vectors: single ones, pairs, halves
         ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]))


def _masks():
    for pair in PAIRS:
        yield [ir.Constant(ir.VectorType(ir.IntType(32), LANES), mask) for mask in pair]


def transposed(builder, rows):
    """The transposed of eight vectors."""
    for distance, masks in zip((1, 2, 4), _masks(), strict=True):
        for m in range(LANES):
            if not m & distance:
                pair = rows[m], rows[m + distance]
                rows[m], rows[m + distance] = (builder.shuffle_vector(*pair, mask) for mask in masks)
    return rows


@intrinsic
def transpose_eight(typing, y, i, row, x, j, column):
    """y[i + m * row + k] = x[j + k * column + m] for m, k = 0, ..., 7, by 24 shuffles."""

    def emit(context, builder, signature, args):
        ty, _, _, tx, _, _ = signature.args
        y, i, row, x, j, column = args
        rows = []
        for _ in range(LANES):
            rows.append(lane_load(context, builder, tx, x, j))
            j = builder.add(j, column)
        for values in transposed(builder, rows):
            builder.store(values, lane_pointer(context, builder, ty, y, i), align=8)
            i = builder.add(i, row)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.int64, x, types.int64, types.int64), emit


@intrinsic
def eight_dots(typing, y, i, x, j, w, k, keep):
    """y[i + m] = keep * y[i + m] + sum of x[j+8m : j+8m+8] * w[k : k+8] for m = 0, ..., 7, keep 0 or 1.

    A transposition and summation in one tree of shuffles: half the work of eight single dot products.
    """

    def emit(context, builder, signature, args):
        ty, _, tx, _, tw, _, _ = signature.args
        y, i, x, j, w, k, keep = args
        weights = lane_load(context, builder, tw, w, k)
        rows = [builder.fmul(weights, lane_load(context, builder, tx, x, builder.add(j, ir.Constant(j.type, 8 * m))))
                for m in range(LANES)]
        for masks in _masks():
            rows = [builder.fadd(*(builder.shuffle_vector(a, b, mask) for mask in masks))
                    for a, b in zip(rows[::2], rows[1::2], strict=True)]
        target = lane_pointer(context, builder, ty, y, i)
        with builder.if_else(builder.trunc(keep, ir.IntType(1))) as (add, replace):
            with add:
                builder.store(builder.fadd(builder.load(target, align=8), rows[0]), target, align=8)
            with replace:
                builder.store(rows[0], target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, w, types.int64, types.int64), emit


def _dots_side_by_side(width):
    @intrinsic
    def dots(typing, y, i, row, x, j, w, k):
        def emit(context, builder, signature, args):
            ty, _, _, tx, _, tw, _ = signature.args
            y, i, row, x, j, w, k = args
            weights = lane_load(context, builder, tw, w, k)
            places = [builder.add(j, ir.Constant(j.type, LANES * m)) for m in range(LANES)]
            groups = [[builder.fmul(weights, lane_load(context, builder, tx, x, place)) for place in places]]
            for distance, masks in zip((1, 2, 4), _masks(), strict=True):
                halves = [[[builder.shuffle_vector(a, b, mask) for a, b in zip(rows[::2], rows[1::2], strict=True)]
                           for mask in masks] for rows in groups]
                if distance < width:
                    groups = [[builder.fadd(a, b) for a, b in zip(*pair, strict=True)] for pair in halves]
                else:
                    groups = [rows for pair in halves for rows in pair]
            for place, (values,) in zip((0, 2, 1, 3) if width == 2 else (0, 1), groups, strict=True):
                at = builder.add(i, builder.mul(row, ir.Constant(row.type, place)))
                builder.store(values, lane_pointer(context, builder, ty, y, at), align=8)
            return context.get_dummy_value()

        return types.void(y, types.int64, types.int64, x, types.int64, w, types.int64), emit

    return dots


FEW = LANES // 2  # doubles in the vectors of these


def _tree_of_sums(width):
    @intrinsic
    def sums(typing, y, x, w, places, factor, keep):
        def emit(context, builder, signature, args):
            y, x, w = (builder.gep(cgutils.create_struct_proxy(kind)(context, builder, array).data, [at]) for
                       kind, array, at in zip(signature.args[:3], args[:3], cgutils.unpack_tuple(builder, args[3], 3),
                                              strict=True))
            factor, keep = args[4:]
            integer, few = ir.IntType(32), ir.VectorType(ir.DoubleType(), FEW)
            undefined, everywhere = ir.Constant(few, ir.Undefined), ir.Constant(ir.VectorType(integer, FEW), [0] * FEW)

            def wide(value):
                one = builder.insert_element(undefined, value, integer(0))
                return builder.shuffle_vector(one, undefined, everywhere)

            def vector_at(place):
                return builder.bitcast(place, few.as_pointer())

            values = []
            for lane in range(width):
                value, weights = (builder.load(at, align=8) for at in (
                    builder.gep(x, [integer(lane)]), vector_at(builder.gep(w, [integer(FEW * lane)]))))
                values.append(builder.fmul(wide(value), weights))
            while len(values) > 1:
                values = [builder.fadd(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
            total, target = cgutils.alloca_once_value(builder, values[0]), vector_at(y)
            with builder.if_then(builder.trunc(keep, ir.IntType(1))):
                builder.store(builder.fadd(builder.load(target, align=8), values[0]), total)
            builder.store(builder.fmul(wide(factor), builder.load(total)), target, align=8)
            return context.get_dummy_value()

        return types.void(y, x, w, types.UniTuple(types.int64, 3), types.float64, types.int64), emit

    return sums


# y[i:i+4] = factor * (keep * y[i:i+4] + sum of x[j+l] * w[k+4l : k+4l+4] over l < 2, 4, 8) for places (i, j, k), keep 0
# or 1: added in pairs, as the sums over lanes are
two_for_four, four_for_four, eight_for_four = map(_tree_of_sums, (2, 4, 8))


# y[i + p * row + m] = sum of x[j+8m+l] * w[k+l] over the lanes l of place p, two lanes each of four places, or four
# each of two, for m = 0, ..., 7
four_times_eight_dots, twice_eight_dots = map(_dots_side_by_side, (2, 4))


@intrinsic
def scale_lanes(typing, y, i, x, j):
    """y[i:i+8] *= x[j:j+8], offsets counted in doubles from the start of C-contiguous arrays."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        target = lane_pointer(context, builder, ty, y, i)
        product = builder.fmul(builder.load(target, align=8), lane_load(context, builder, tx, x, j))
        builder.store(product, target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def scale_twice(typing, y, i, x, j, z, k):
    """y[i:i+8] *= x[j:j+8], then z[k:k+8], as `scale_lanes`."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, tz, _ = signature.args
        y, i, x, j, z, k = args
        target = lane_pointer(context, builder, ty, y, i)
        product = builder.fmul(builder.load(target, align=8), lane_load(context, builder, tx, x, j))
        builder.store(builder.fmul(product, lane_load(context, builder, tz, z, k)), target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, z, types.int64), emit


@intrinsic
def clear_lane(typing, y, i, lane):
    """y[i + lane] = 0, lane in 0, ..., 7, as a vector operation: a scalar store would stall the next vector load."""

    def emit(context, builder, signature, args):
        ty, _, _ = signature.args
        y, i, lane = args
        integers = ir.VectorType(ir.IntType(64), LANES)
        undefined = ir.Constant(integers, ir.Undefined)
        one = builder.insert_element(undefined, lane, ir.Constant(ir.IntType(32), 0))
        splat = builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
        hit = builder.icmp_signed("==", splat, ir.Constant(integers, list(range(LANES))))
        target = lane_pointer(context, builder, ty, y, i)
        cleared = builder.select(hit, ir.Constant(vector(), [0.0] * LANES), builder.load(target, align=8))
        builder.store(cleared, target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.int64), emit


def reduce_lanes(builder, vector, combine):
    """Combine the 8 lanes pairwise: three shuffles and operations."""
    half = LANES
    while half > 1:
        half //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        parts = [builder.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(ir.IntType(32), half), lanes))
                 for lanes in (list(range(half)), list(range(half, 2 * half)))]
        vector = combine(*parts)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _size(context, builder, signature, args):
    """|x[i:i+8]| * y[j:j+8]."""
    tx, _, ty, _ = signature.args[:4]
    x, i, y, j = args[:4]
    fabs = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector(), [vector()]), "llvm.fabs.v8f64")
    size = builder.call(fabs, [lane_load(context, builder, tx, x, i)])
    return builder.fmul(size, lane_load(context, builder, ty, y, j))


@intrinsic
def largest_lane(typing, x, i, y, j):
    """Maximum of |x[i:i+8]| * y[j:j+8]; NaN does not count."""

    def emit(context, builder, signature, args):
        def larger(a, b):
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        size = _size(context, builder, signature, args)
        zero = ir.Constant(vector(), [0.0] * LANES)
        return reduce_lanes(builder, builder.select(builder.fcmp_ordered(">", size, zero), size, zero), larger)

    return types.float64(x, types.int64, y, types.int64), emit


@intrinsic
def find_lane(typing, x, i, y, j, value):
    """First lane in which |x[i:i+8]| * y[j:j+8] equals `value`."""

    def emit(context, builder, signature, args):
        hits = builder.fcmp_ordered("==", _size(context, builder, signature, args), splat(builder, args[4]))
        byte = builder.bitcast(hits, ir.IntType(LANES))
        return builder.zext(builder.cttz(byte, ir.Constant(ir.IntType(1), 0)), ir.IntType(64))

    return types.int64(x, types.int64, y, types.int64, types.float64), emit


@compiled()
def aligned_zeros(n):
    """Zeros on a boundary of 64 bytes: vectors that straddle cache lines cost twice."""
    memory = np.zeros(n + LANES)
    skip = (-memory.ctypes.data % 64) // 8
    return memory[skip:skip + n]


@intrinsic
def copy_lanes(typing, y, i, x, j):
    """y[i:i+8] = x[j:j+8], offsets counted in doubles from the start of C-contiguous arrays."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        builder.store(lane_load(context, builder, tx, x, j), lane_pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def next_difference(typing, y, i, x, j):
    """x[j:j+8] -= y[i:i+8], which take what x[j:j+8] was."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        before, now = lane_pointer(context, builder, ty, y, i), lane_pointer(context, builder, tx, x, j)
        old, new = builder.load(before, align=8), builder.load(now, align=8)
        builder.store(new, before, align=8)
        builder.store(builder.fsub(new, old), now, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


def _is_vector(array):
    return (isinstance(array, types.Array) and array.dtype == types.float64 and array.ndim == 1
            and array.layout == "C")


@intrinsic
def call_kernel(typing_context, address, in_array, in_offset, out_array, out_offset):
    """Call a kernel from ``@njit`` code, on ``in_array[in_offset:]`` and ``out_array[out_offset:]``.

    The address is a run-time value, so that one compiled loop serves every kernel and can be cached on disk.
    Nothing is checked then: the arrays must be long enough, what is read must not overlap what is written,
    and the kernel object must be alive.

    Parameters
    ----------
    address : int64
        ``Kernel.address`` or ``Kernel.address_lanes``.
    in_array, out_array : float64 array, one-dimensional and C-contiguous
    in_offset, out_offset : integer
        Counted in doubles.

    Raises
    ------
    numba.core.errors.TypingError
        When the loop is compiled, if an argument has another type.
    """
    for array in (in_array, out_array):
        if not _is_vector(array):
            raise errors.TypingError(f"call_kernel needs C-contiguous one-dimensional float64 arrays, not {array}")
    if not out_array.mutable:
        raise errors.TypingError("call_kernel cannot write into a read-only array")
    for number in (address, in_offset, out_offset):
        if not isinstance(number, (types.Integer, types.IntegerLiteral)):
            raise errors.TypingError(f"call_kernel needs an integer address and integer offsets, not {number}")

    def codegen(context, builder, signature, arguments):
        address, in_array, in_offset, out_array, out_offset = arguments
        _, in_type, _, out_type, _ = signature.args
        double = ir.DoubleType().as_pointer()
        kernel = ir.FunctionType(ir.VoidType(), [double, double]).as_pointer()

        def pointer(kind, array, offset):
            return builder.gep(context.make_array(kind)(context, builder, array).data, [offset])

        builder.call(builder.inttoptr(address, kernel),
                     [pointer(in_type, in_array, in_offset), pointer(out_type, out_array, out_offset)])
        return context.get_dummy_value()

    integer = types.int64
    return types.void(integer, in_array, integer, out_array, integer), codegen
