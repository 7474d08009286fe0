"""Operations on runs of numbers, of whole vectors, in Numba: see `lanes`."""

from .lanes import LANES, fused, lane_load, lane_pointer, reduce_lanes, splat, vector
from .late import cgutils, intrinsic, ir, types


@intrinsic
def dot_runs(typing, x, i, y, j, n):
    """Sum of x[i:i+n] * y[j:j+n] for n a multiple of 8, with one partial sum per lane."""

    def emit(context, builder, signature, args):
        tx, _, ty, _, _ = signature.args
        x, i, y, j, n = args
        total = cgutils.alloca_once_value(builder, ir.Constant(vector(), [0.0] * LANES))
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(LANES)) as (k, _):
            factors = [lane_load(context, builder, ty, y, builder.add(j, k)),
                       lane_load(context, builder, tx, x, builder.add(i, k))]
            builder.store(fused(builder, *factors, builder.load(total)), total)
        return reduce_lanes(builder, builder.load(total), builder.fadd)

    return types.float64(x, types.int64, y, types.int64, types.int64), emit


def _over_runs(builder, n, body):
    """Call `body(at)` for at = 0, 8, ... below n."""
    with cgutils.for_range_slice(builder, n.type(0), n, n.type(LANES)) as (at, _):
        body(at)


@intrinsic
def clear_runs(typing, y, i, n):
    """y[i:i+n] = 0, n a multiple of 8."""

    def emit(context, builder, signature, args):
        y, i, n = args
        zero = ir.Constant(vector(), [0.0] * LANES)
        _over_runs(builder, n, lambda at: builder.store(
            zero, lane_pointer(context, builder, signature.args[0], y, builder.add(i, at)), align=8))
        return context.get_dummy_value()

    return types.void(y, types.int64, types.int64), emit


@intrinsic
def combine_runs(typing, y, x, z, places, n, factors):
    """y[i:i+n] = a * x[j:j+n] + b * z[k:k+n], n a multiple of 8; places are (i, j, k), and factors (a, b)."""

    def emit(context, builder, signature, args):
        ty, tx, tz = signature.args[:3]
        y, x, z, places, n, factors = args
        i, j, k = cgutils.unpack_tuple(builder, places, 3)
        a, b = (splat(builder, factor) for factor in cgutils.unpack_tuple(builder, factors, 2))

        def one(at):
            first = builder.fmul(a, lane_load(context, builder, tx, x, builder.add(j, at)))
            second = builder.fmul(b, lane_load(context, builder, tz, z, builder.add(k, at)))
            target = lane_pointer(context, builder, ty, y, builder.add(i, at))
            builder.store(builder.fadd(first, second), target, align=8)

        _over_runs(builder, n, one)
        return context.get_dummy_value()

    return types.void(y, x, z, types.UniTuple(types.int64, 3), types.int64, types.UniTuple(types.float64, 2)), emit


@intrinsic
def copy_runs(typing, y, i, x, j, n):
    """y[i:i+n] = x[j:j+n], n a multiple of 8."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, _ = signature.args
        y, i, x, j, n = args

        def one(at):
            value = lane_load(context, builder, tx, x, builder.add(j, at))
            builder.store(value, lane_pointer(context, builder, ty, y, builder.add(i, at)), align=8)

        _over_runs(builder, n, one)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, types.int64), emit


@intrinsic
def add_runs(typing, y, i, a, x, j, n):
    """y[i:i+n] += a * x[j:j+n], n a multiple of 8."""

    def emit(context, builder, signature, args):
        ty, _, _, tx, _, _ = signature.args
        y, i, a, x, j, n = args
        factor = splat(builder, a)

        def one(at):
            target = lane_pointer(context, builder, ty, y, builder.add(i, at))
            sum_ = fused(builder, factor, lane_load(context, builder, tx, x, builder.add(j, at)),
                         builder.load(target, align=8))
            builder.store(sum_, target, align=8)

        _over_runs(builder, n, one)
        return context.get_dummy_value()

    return types.void(y, types.int64, types.float64, x, types.int64, types.int64), emit


@intrinsic
def take_eight_runs(typing, y, i, n, x, columns, factors, places):
    """y[i:i+n] -= sum over m < 8 of factors[k + m * step] * x[l:l+n] with l = j + m * stride, n a multiple of 8.

    `columns` are (j, stride), and `places` (k, step).
    """

    def emit(context, builder, signature, args):
        ty, _, _, tx, _, tf, _ = signature.args
        y, i, n, x, columns, factors, places = args
        (j, stride), (k, step) = (cgutils.unpack_tuple(builder, pair, 2) for pair in (columns, places))
        data = cgutils.create_struct_proxy(tf)(context, builder, factors).data
        weights, starts = [], []
        for _ in range(8):
            weights.append(splat(builder, builder.fneg(builder.load(builder.gep(data, [k])))))
            starts.append(j)
            j, k = builder.add(j, stride), builder.add(k, step)

        def one(at):
            target = lane_pointer(context, builder, ty, y, builder.add(i, at))
            sum_ = builder.load(target, align=8)
            for weight, start in zip(weights, starts, strict=True):
                sum_ = fused(builder, weight, lane_load(context, builder, tx, x, builder.add(start, at)), sum_)
            builder.store(sum_, target, align=8)

        _over_runs(builder, n, one)
        return context.get_dummy_value()

    pair = types.UniTuple(types.int64, 2)
    return types.void(y, types.int64, types.int64, x, pair, factors, pair), emit
