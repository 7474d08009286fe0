"""Operations on runs of numbers, of whole vectors, in Numba: see `lanes`."""

from .lanes import LANES, fused, lane_load, lane_pointer, reduce_lanes, splat, transposed, vector
from .loading.late import cgutils, intrinsic, ir, types


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
def fetch_runs(typing, y, i, n):
    """Ask for y[i:i+n], n a multiple of 8, to come to the second cache."""

    def emit(context, builder, signature, args):
        y, i, n = args
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, second, data = (ir.Constant(word, m) for m in (0, 2, 1))
        _over_runs(builder, n, lambda at: builder.call(fetch, [builder.bitcast(
            lane_pointer(context, builder, signature.args[0], y, builder.add(i, at)), byte), read, second, data]))
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
def copy_reversed(typing, y, i, x, j):
    """y[i:i+8] = x[j:j+8] in the other direction."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        value, undefined = lane_load(context, builder, tx, x, j), ir.Constant(vector(), ir.Undefined)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(LANES))[::-1])
        builder.store(builder.shuffle_vector(value, undefined, mask), lane_pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


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


@intrinsic
def largest_of_runs(typing, x, i, y, j, n):
    """Maximum of |x[i:i+n]| * y[j:j+n], n a multiple of 8; NaN does not count."""

    def emit(context, builder, signature, args):
        tx, _, ty, _, _ = signature.args
        x, i, y, j, n = args
        largest = cgutils.alloca_once_value(builder, ir.Constant(vector(), [0.0] * LANES))

        def larger(a, b):
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        def one(at):
            size = builder.fmul(_magnitude(builder, lane_load(context, builder, tx, x, builder.add(i, at))),
                                lane_load(context, builder, ty, y, builder.add(j, at)))
            builder.store(larger(size, builder.load(largest)), largest)

        _over_runs(builder, n, one)
        return reduce_lanes(builder, builder.load(largest), larger)

    return types.float64(x, types.int64, y, types.int64, types.int64), emit


@intrinsic
def gather_runs(typing, y, i, x, j, places, k, n):
    """y[i + m] = x[j + places[k + m]] for m < n; eight are read before they are written."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, tp, _, _ = signature.args
        y, i, x, j, places, k, n = args
        y, x, places = (cgutils.create_struct_proxy(kind)(context, builder, array).data
                        for kind, array in ((ty, y), (tx, x), (tp, places)))
        y, x, places = (builder.gep(data, [first]) for data, first in ((y, i), (x, j), (places, k)))

        def move(m, count):
            at = [builder.add(m, n.type(c)) for c in range(count)]
            values = [builder.load(builder.gep(x, [builder.load(builder.gep(places, [c]))])) for c in at]
            for c, value in zip(at, values, strict=True):
                builder.store(value, builder.gep(y, [c]))

        whole = builder.and_(n, n.type(-LANES))
        with cgutils.for_range_slice(builder, n.type(0), whole, n.type(LANES)) as (m, _):
            move(m, LANES)
        with cgutils.for_range_slice(builder, whole, n, n.type(1)) as (m, _):
            move(m, 1)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, places, types.int64, types.int64), emit


@intrinsic
def add_columns(typing, y, i, factors, k, n, x, columns):
    """y[i:i+8] += sum over m < n of factors[k + m] * x[l:l+8] with l = j + m * stride, for `columns` (j, stride)."""

    def emit(context, builder, signature, args):
        ty, _, tf, _, _, tx, _ = signature.args
        y, i, factors, k, n, x, columns = args
        j, stride = cgutils.unpack_tuple(builder, columns, 2)
        data = builder.gep(cgutils.create_struct_proxy(tf)(context, builder, factors).data, [k])
        target = lane_pointer(context, builder, ty, y, i)
        total = cgutils.alloca_once_value(builder, builder.load(target, align=8))
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(1)) as (m, _):
            factor = splat(builder, builder.load(builder.gep(data, [m])))
            column = lane_load(context, builder, tx, x, builder.add(j, builder.mul(m, stride)))
            builder.store(fused(builder, factor, column, builder.load(total)), total)
        builder.store(builder.load(total), target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, factors, types.int64, types.int64, x, types.UniTuple(types.int64, 2)), emit


@intrinsic
def set_combination(typing, y, i, factors, weights, x, places, first):
    """y[i:i+8] = sum over m < n of factors[k + m * step] * x[l:l+8] with l = 8 places[first + m], for `weights` (k,
    step, n)."""

    def emit(context, builder, signature, args):
        ty, _, tf, _, tx, tp, _ = signature.args
        y, i, factors, weights, x, places, first = args
        k, step, n = cgutils.unpack_tuple(builder, weights, 3)
        data, places = (cgutils.create_struct_proxy(kind)(context, builder, array).data
                        for kind, array in ((tf, factors), (tp, places)))
        data, places = builder.gep(data, [k]), builder.gep(places, [first])
        total = cgutils.alloca_once_value(builder, ir.Constant(vector(), [0.0] * LANES))
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(1)) as (m, _):
            factor = splat(builder, builder.load(builder.gep(data, [builder.mul(m, step)])))
            at = builder.mul(builder.load(builder.gep(places, [m])), n.type(LANES))
            builder.store(fused(builder, factor, lane_load(context, builder, tx, x, at), builder.load(total)), total)
        builder.store(builder.load(total), lane_pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, factors, types.UniTuple(types.int64, 3), x, places, types.int64), emit


def _places(context, builder, signature, args):
    """A function of a number n: entry n of an array of int32, as int64."""
    data = cgutils.create_struct_proxy(signature)(context, builder, args).data

    def place(n):
        return builder.sext(builder.load(builder.gep(data, [n])), ir.IntType(64))

    return place


@intrinsic
def make_multiplier(typing, x, i, j, good, lane, limit):
    """x[i:i+8] *= x[j:j+8], lane by lane; good[lane:lane+8] becomes zero where the result is beyond the limit."""

    def emit(context, builder, signature, args):
        tx, _, _, tg, _, _ = signature.args
        x, i, j, good, lane, limit = args
        at = lane_pointer(context, builder, tx, x, i)
        multiplier = builder.fmul(builder.load(at, align=8), lane_load(context, builder, tx, x, j))
        builder.store(multiplier, at, align=8)
        _keep_good(context, builder, tg, good, lane,
                   builder.fcmp_ordered("<=", _magnitude(builder, multiplier), splat(builder, limit)))
        return context.get_dummy_value()

    return types.void(x, types.int64, types.int64, good, types.int64, types.float64), emit


def _take_rows(count):
    """A function that takes `count` rows from another, each by its multiplier."""

    def take_rows(typing, x, base, table, first, n):
        def emit(context, builder, signature, args):
            tx, _, tt, _, _ = signature.args
            x, base, table, first, n = args
            place = _places(context, builder, tt, table)

            def at(number):
                return builder.add(base, place(number))

            minus = [builder.fneg(lane_load(context, builder, tx, x, at(builder.add(first, n.type(i)))))
                     for i in range(count)]
            targets = builder.add(first, n.type(count))
            with cgutils.for_range(builder, n) as loop:
                number = builder.add(targets, loop.index)
                target = lane_pointer(context, builder, tx, x, at(number))
                sum_ = builder.load(target, align=8)
                for factor in minus:
                    number = builder.add(number, n)
                    sum_ = fused(builder, factor, lane_load(context, builder, tx, x, at(number)), sum_)
                builder.store(sum_, target, align=8)
            return context.get_dummy_value()

        return types.void(x, types.int64, table, types.int64, types.int64), emit

    take_rows.__doc__ = f"""x[t:t+8] -= sum over m < {count} of x[f_m:f_m+8] * x[s_m:s_m+8], of n targets.

    Places count from `base`. From table[first] on stand the {count} of factors f, then n of targets, and n of sources s
    for each factor.
    """
    return intrinsic(take_rows)


take_one_row, take_two_rows, take_four_rows = map(_take_rows, (1, 2, 4))


@intrinsic
def invert_pivot(typing, x, i, good, lane, sizes, j, limit):
    """x[i:i+8] = 1 / x[i:i+8]; good[lane:lane+8] becomes zero where it was not above limit * sizes[j:j+8]."""

    def emit(context, builder, signature, args):
        tx, _, tg, _, ts, _, _ = signature.args
        x, i, good, lane, sizes, j, limit = args
        at = lane_pointer(context, builder, tx, x, i)
        pivot = builder.load(at, align=8)
        least = builder.fmul(splat(builder, limit), lane_load(context, builder, ts, sizes, j))
        _keep_good(context, builder, tg, good, lane, builder.fcmp_ordered(">", _magnitude(builder, pivot), least))
        builder.store(builder.fdiv(ir.Constant(vector(), [1.0] * LANES), pivot), at, align=8)
        return context.get_dummy_value()

    return types.void(x, types.int64, good, types.int64, sizes, types.int64, types.float64), emit


def _keep_good(context, builder, kind, good, lane, still):
    target = lane_pointer(context, builder, kind, good, lane)
    zero = ir.Constant(vector(), [0.0] * LANES)
    builder.store(builder.select(still, builder.load(target, align=8), zero), target, align=8)


def _magnitude(builder, value):
    kind = ir.FunctionType(vector(), [vector()])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fabs.v8f64"), [value])


@intrinsic
def keep_largest(typing, y, i, x, j):
    """y[i:i+8] = max(y[i:i+8], |x[j:j+8]|), lane by lane."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        target = lane_pointer(context, builder, ty, y, i)
        known, other = builder.load(target, align=8), _magnitude(builder, lane_load(context, builder, tx, x, j))
        builder.store(builder.select(builder.fcmp_ordered(">", other, known), other, known), target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def take_product(typing, y, i, x, j, k):
    """y[i:i+8] -= x[j:j+8] * y[k:k+8], lane by lane."""

    def emit(context, builder, signature, args):
        ty, _, tx = signature.args[:3]
        y, i, x, j, k = args
        target = lane_pointer(context, builder, ty, y, i)
        minus = builder.fneg(lane_load(context, builder, tx, x, j))
        sum_ = fused(builder, minus, lane_load(context, builder, ty, y, k), builder.load(target, align=8))
        builder.store(sum_, target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, types.int64), emit


@intrinsic
def take_products(typing, y, i, x, j, table, first, n):
    """y[i:i+8] -= x[j+8m : j+8m+8] * y[k:k+8] with k = table[first + m], of int32, for m = 0, ..., n - 1, in turn."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, tt, _, _ = signature.args
        y, i, x, j, table, first, n = args
        place, target = _places(context, builder, tt, table), lane_pointer(context, builder, ty, y, i)
        total = cgutils.alloca_once_value(builder, builder.load(target, align=8))
        with cgutils.for_range(builder, n) as loop:
            at = builder.add(j, builder.mul(loop.index, n.type(LANES)))
            other = lane_load(context, builder, ty, y, place(builder.add(first, loop.index)))
            minus = builder.fneg(lane_load(context, builder, tx, x, at))
            builder.store(fused(builder, minus, other, builder.load(total)), total)
        builder.store(builder.load(total), target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, table, types.int64, types.int64), emit


@intrinsic
def spread_eight(typing, y, base, table, first, x, j, row):
    """y[base + table[first + k] + m] = x[j + m * row + k] for m, k = 0, ..., 7."""

    def emit(context, builder, signature, args):
        ty, _, tt, _, tx, _, _ = signature.args
        y, base, table, first, x, j, row = args
        place, rows = _places(context, builder, tt, table), []
        for _ in range(LANES):
            rows.append(lane_load(context, builder, tx, x, j))
            j = builder.add(j, row)
        for k, values in enumerate(transposed(builder, rows)):
            at = builder.add(base, place(builder.add(first, ir.Constant(first.type, k))))
            builder.store(values, lane_pointer(context, builder, ty, y, at), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, table, types.int64, x, types.int64, types.int64), emit


@intrinsic
def add_gathered(typing, y, i, x, table, j):
    """y[i + m] += x[table[j + m]] for m = 0, ..., 7, of a table of int32."""

    def emit(context, builder, signature, args):
        ty, _, tx, tt, _ = signature.args
        y, i, x, table, j = args
        data, place = cgutils.create_struct_proxy(tx)(context, builder, x).data, _places(context, builder, tt, table)
        values = ir.Constant(vector(), ir.Undefined)
        for m in range(LANES):
            at = place(builder.add(j, ir.Constant(j.type, m)))
            one = builder.load(builder.gep(data, [at]))
            values = builder.insert_element(values, one, ir.Constant(ir.IntType(32), m))
        target = lane_pointer(context, builder, ty, y, i)
        builder.store(builder.fadd(builder.load(target, align=8), values), target, align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, table, types.int64), emit


@intrinsic
def set_product(typing, y, i, x, j, z, k):
    """y[i:i+8] = x[j:j+8] * z[k:k+8], lane by lane."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, tz, _ = signature.args
        y, i, x, j, z, k = args
        product = builder.fmul(lane_load(context, builder, tx, x, j), lane_load(context, builder, tz, z, k))
        builder.store(product, lane_pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64, z, types.int64), emit


@intrinsic
def set_two_products(typing, y, i, x, places, z, others):
    """y[i:i+8] = x[a:a+8] * z[c:c+8] + x[b:b+8] * z[d:d+8], lane by lane, for places (a, b) and others (c, d)."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, tz, _ = signature.args
        y, i, x, places, z, others = args
        (a, b), (c, d) = (cgutils.unpack_tuple(builder, pair, 2) for pair in (places, others))
        first = builder.fmul(lane_load(context, builder, tx, x, a), lane_load(context, builder, tz, z, c))
        both = fused(builder, lane_load(context, builder, tx, x, b), lane_load(context, builder, tz, z, d), first)
        builder.store(both, lane_pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    pair = types.UniTuple(types.int64, 2)
    return types.void(y, types.int64, x, pair, z, pair), emit


@intrinsic
def take_two_products(typing, y, i, x, places, others):
    """y[i:i+8] -= x[a:a+8] * y[c:c+8] + x[b:b+8] * y[d:d+8], lane by lane, for places (a, b) and others (c, d)."""

    def emit(context, builder, signature, args):
        ty, _, tx, _, _ = signature.args
        y, i, x, places, others = args
        target = lane_pointer(context, builder, ty, y, i)
        sum_ = builder.load(target, align=8)
        for at, other in zip(*(cgutils.unpack_tuple(builder, pair, 2) for pair in (places, others)), strict=True):
            minus = builder.fneg(lane_load(context, builder, tx, x, at))
            sum_ = fused(builder, minus, lane_load(context, builder, ty, y, other), sum_)
        builder.store(sum_, target, align=8)
        return context.get_dummy_value()

    pair = types.UniTuple(types.int64, 2)
    return types.void(y, types.int64, x, pair, pair), emit
