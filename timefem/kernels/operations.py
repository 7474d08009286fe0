"""The operations of CasADi that kernels have, each as one to four instructions of LLVM, and the instruction list of a
function with what those who translate it have to know of each value."""

import functools
from collections import Counter

import casadi

from ..errors import InputError

__all__ = ["COPIES", "DONE", "INTRINSICS", "LIBM", "NEVER", "TEMPLATES", "Instructions", "UnsupportedOperation",
           "check_function", "operation_names"]


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


NEVER = 1 << 60  # when a value is needed that no later instruction uses
DONE = ""  # an operation that others do: a copy, one that was there before, or a product that is added where it is used
_PRODUCTS = {"MUL", "SQ"}
_SYMMETRIC = {"ADD", "MUL"}


class Instructions:
    """Instructions by number; a value has the number of the instruction that makes it.

    Parameters
    ----------
    function : casadi.Function
        Built of SX, with one dense vector input and one dense vector output.
    operations : list of str
        As `check_function` returns them.
    fuse : bool
        Whether products that are used once, in a sum or a difference, become part of it: operands of ``"FMA"``, a b +
        c, ``"FMS"``, a b - c, and ``"FNMA"``, c - a b.

    Attributes
    ----------
    operations : list of str
    operands : list of tuple of int
    given : list
        The constant, or the place of an input or output.
    following : list of tuple of int
        Per operand the instruction that uses it next, or `NEVER`.
    need : list of int
        Per value where it is used next; those who go through the instructions keep it up to date.
    places : dict
        Place in memory of values that stand there.
    n_places : int
    """

    def __init__(self, function, operations, fuse=False):
        self.operations = list(operations)
        self.operands, self.given = [], []
        self._read(function)
        self._share_inverses()
        if fuse:
            self._fuse()
        self.need = need = [NEVER] * len(self.operations)
        self.following = following = [()] * len(self.operations)
        for k in range(len(self.operations) - 1, -1, -1):
            if values := self.operands[k]:
                following[k] = tuple([need[value] for value in values])
                for value in values:
                    need[value] = k
        self.places, self._unused, self.n_places = {}, [], 0

    def _read(self, function):
        made, known = {}, {}  # by slot of the virtual machine; by operation and operands
        numbers = range(len(self.operations))
        places = zip(map(function.instruction_input, numbers), map(function.instruction_output, numbers), strict=True)
        for k, (inputs, outputs) in enumerate(places):
            name, operands, given = self.operations[k], (), None
            if name == "OUTPUT":
                self.operands.append((made[inputs[0]],))
                self.given.append(outputs[1])
                continue
            if name == "CONST":
                given = function.instruction_constant(k)
                key = repr(given)  # tells -0 from 0
            elif name == "INPUT":
                given = key = inputs[1]
            else:
                operands = key = tuple([made[i] for i in inputs])
                if name in _SYMMETRIC and key[0] > key[1]:
                    key = key[::-1]
            first = operands[0] if name in COPIES else known.setdefault((name, key), k)
            made[outputs[0]] = first
            if first != k:
                operands, self.operations[k] = (), DONE
            self.operands.append(operands)
            self.given.append(given)

    def _share_inverses(self):
        """Divisions by the same value become products with its inverse, taken once: a division takes as long as ten
        products."""
        count = Counter(values[-1] for name, values in zip(self.operations, self.operands, strict=True)
                        if name in ("DIV", "INV"))
        if max(count.values(), default=0) < 2:
            return
        old, inverses, made = list(zip(self.operations, self.operands, self.given, strict=True)), {}, []
        self.operations, self.operands, self.given = [], [], []
        for name, values, given in old:
            operands = tuple([made[value] for value in values])
            if name in ("DIV", "INV") and count[values[-1]] > 1:
                if values[-1] not in inverses:
                    inverses[values[-1]] = self._append("INV", operands[-1:])
                if name == "INV":
                    made.append(inverses[values[-1]])
                    continue
                name, operands = "MUL", (operands[0], inverses[values[-1]])
            made.append(self._append(name, operands, given))

    def _append(self, name, operands, given=None):
        self.operations.append(name)
        self.operands.append(operands)
        self.given.append(given)
        return len(self.operations) - 1

    def _fuse(self):
        operations, operands, count = self.operations, self.operands, [0] * len(self.operations)
        for values in operands:
            for value in values:
                count[value] += 1
        for k, name in enumerate(operations):
            if name not in ("ADD", "SUB"):
                continue
            first, second = operands[k]
            for product, other, fused in ((second, first, "FMA" if name == "ADD" else "FNMA"),
                                          (first, second, "FMA" if name == "ADD" else "FMS")):
                if count[product] == 1 and operations[product] in _PRODUCTS:
                    factors = operands[product]
                    operations[k], operands[k] = fused, (factors[0], factors[-1], other)
                    operations[product], operands[product] = DONE, ()
                    break

    def parts(self, chosen, most):
        """Runs of operations that are all among the chosen, or all not, and these `most` at the utmost: pairs (which
        of both, where the run ends)."""
        found, which, count = [], False, 0
        for k, name in enumerate(self.operations):
            if name in (DONE, "CONST", "INPUT"):
                continue
            if count and ((name in chosen) != which or (count == most and not which)):
                found.append((which, k))
                count = 0
            which, count = name in chosen, count + 1
        return [*found, (which, len(self.operations))]

    def place(self, value):
        """The place in memory of a value: a new one if it has none."""
        if value not in self.places:
            if self._unused:
                self.places[value] = self._unused.pop()
            else:
                self.places[value] = self.n_places
                self.n_places += 1
        return self.places[value]

    def release(self, value):
        """Give up the place of a value that is not needed again."""
        place = self.places.pop(value, None)
        if place is not None:
            self._unused.append(place)
