"""The operations of CasADi that kernels have, each as one to four instructions of LLVM."""

import functools

import casadi

from ..errors import InputError

__all__ = ["COPIES", "INTRINSICS", "LIBM", "TEMPLATES", "UnsupportedOperation", "check_function", "operation_names"]


class UnsupportedOperation(NotImplementedError):
    """A CasADi operation for which there is no LLVM template."""


# A template is a tuple of instructions. {x} and {y} are the operands, {0}, {1}, ... the results of the
# instructions before; {T} is the floating type, {B} the boolean type. Of the fast-math flags only `contract`
# (fused multiply-add) is set: the others give up NaN, infinity, signed zeros or the order of a sum.
def _compare(predicate):
    return f"fcmp {predicate} {{T}} {{x}}, {{y}}", "uitofp {B} {0} to {T}"


def _logical(instruction):
    return ("fcmp une {T} {x}, {zero}", "fcmp une {T} {y}, {zero}", f"{instruction} {{B}} {{0}}, {{1}}",
            "uitofp {B} {2} to {T}")


TEMPLATES = {
    "ADD": ("fadd contract {T} {x}, {y}",),
    "SUB": ("fsub contract {T} {x}, {y}",),
    "MUL": ("fmul contract {T} {x}, {y}",),
    "DIV": ("fdiv arcp {T} {x}, {y}",),
    "NEG": ("fneg {T} {x}",),
    "SQ": ("fmul contract {T} {x}, {x}",),
    "TWICE": ("fadd contract {T} {x}, {x}",),
    "INV": ("fdiv arcp {T} {one}, {x}",),
    "LT": _compare("olt"),
    "LE": _compare("ole"),
    "EQ": _compare("oeq"),
    "NE": _compare("une"),
    "NOT": ("fcmp oeq {T} {x}, {zero}", "uitofp {B} {0} to {T}"),
    "AND": _logical("and"),  # NaN counts as true, as in C
    "OR": _logical("or"),
    "IF_ELSE_ZERO": ("fcmp une {T} {x}, {zero}", "select {B} {0}, {T} {y}, {T} {zero}"),
    # a zero (of either sign) and NaN are returned as they are
    "SIGN": ("fcmp olt {T} {x}, {zero}", "select {B} {0}, {T} {minus}, {T} {x}",
             "fcmp ogt {T} {x}, {zero}", "select {B} {2}, {T} {one}, {T} {1}"),
}
INTRINSICS = {"SQRT": "sqrt", "FABS": "fabs", "FLOOR": "floor", "CEIL": "ceil", "COPYSIGN": "copysign",
              "FMIN": "minnum", "FMAX": "maxnum"}
LIBM = {name: name.lower() for name in (
    "EXP", "LOG", "POW", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH", "ASINH",
    "ACOSH", "ATANH", "ATAN2", "FMOD", "REMAINDER", "HYPOT", "ERF", "LOG1P", "EXPM1")}
LIBM["CONSTPOW"] = "pow"  # CasADi itself writes whole powers up to 100 as products
COPIES = {"ASSIGN", "LIFT"}  # nothing to compute
MACHINE = {"CONST", "INPUT", "OUTPUT"}  # constants and memory: see `emit`

SUPPORTED = TEMPLATES.keys() | INTRINSICS.keys() | LIBM.keys() | COPIES | MACHINE


@functools.cache
def operation_names():
    return {getattr(casadi, name): name[3:] for name in dir(casadi) if name.startswith("OP_")}


def check_function(function, native=True):
    """Check that a CasADi function can be made into a kernel.

    Parameters
    ----------
    function : casadi.Function
    native : bool
        Whether it has to be translated; CasADi's own virtual machine takes every operation.

    Returns
    -------
    list of str
        Operations of its instructions, when native.

    Raises
    ------
    InputError
        If the function has not exactly one dense vector input and one dense vector output, has free
        variables, or (when native) is not built of SX.
    UnsupportedOperation
        If it contains an operation without a template (when native).
    """
    what = f"kernel {function.name()!r}"
    if (function.n_in(), function.n_out()) != (1, 1):
        raise InputError(f"{what} has {function.n_in()} inputs and {function.n_out()} outputs; concatenate "
                         "them into one vector each (casadi.vertcat)")
    for sparsity, side in ((function.sparsity_in(0), "input"), (function.sparsity_out(0), "output")):
        if not sparsity.is_dense() or sparsity.size2() > 1:
            raise InputError(f"the {side} of {what} is {sparsity.dim(True)}, not a dense column; "
                             "use casadi.vec and casadi.densify")
    if function.has_free():
        raise InputError(f"{what} has free variables {function.get_free()}; make them part of its input")
    if not native:
        return
    if not function.is_a("SXFunction"):
        raise InputError(f"{what} is a {function.class_name()}, not built of SX; use function.expand()")
    numbers, names = list(map(function.instruction_id, range(function.n_instructions()))), operation_names()
    operations = [names.get(number) or f"number {number}" for number in numbers]
    for name in sorted(set(operations) - SUPPORTED):
        raise UnsupportedOperation(
            f"{what} contains the CasADi operation {name}, which has no LLVM template; "
            "set the environment variable TIMEFEM_KERNELS=vm to run it in CasADi")
    return operations
