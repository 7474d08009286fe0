"""Calling a kernel by its address from compiled Numba code."""

from .loading.late import errors, intrinsic, ir, types

__all__ = ["call_kernel"]


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
