"""From the instruction list of a CasADi function to LLVM IR.

A kernel is straight-line code: one instruction of CasADi's virtual machine becomes one to four of LLVM. The
scalar form works on ``double``, the batched form on ``<8 x double>``; the templates below serve both.
"""

import functools
import struct

import casadi

from ..errors import InputError

__all__ = ["UnsupportedOperation", "check_function", "emit_ir"]


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
MACHINE = {"CONST", "INPUT", "OUTPUT"}  # constants and memory: see _Emitter.run

SUPPORTED = TEMPLATES.keys() | INTRINSICS.keys() | LIBM.keys() | COPIES | MACHINE


@functools.cache
def _operation_names():
    return {getattr(casadi, name): name[3:] for name in dir(casadi) if name.startswith("OP_")}


def check_function(function, native=True):
    """Check that a CasADi function can be made into a kernel.

    Parameters
    ----------
    function : casadi.Function
    native : bool
        Whether it has to be translated; CasADi's own virtual machine takes every operation.

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
    names = _operation_names()
    operations = set(map(function.instruction_id, range(function.n_instructions())))
    for name in sorted(names.get(operation, f"number {operation}") for operation in operations):
        if name not in SUPPORTED:
            raise UnsupportedOperation(
                f"{what} contains the CasADi operation {name}, which has no LLVM template; "
                "set the environment variable TIMEFEM_KERNELS=vm to run it in CasADi")


def emit_ir(function, name, lanes, width=None):
    """LLVM IR of ``void name(double *in, double *out)``.

    Parameters
    ----------
    function : casadi.Function
        Built of SX, with one dense vector input of length n_in and one dense vector output of length n_out.
    name : str
        Name of the function in the IR.
    lanes : int
        1: the scalar form, of ``in[i]`` and ``out[i]``. Otherwise: `lanes` evaluations at once in arrays of
        structures of that many, ``in[i * lanes + lane]`` and ``out[i * lanes + lane]``. Neither has to be
        aligned to more than a double; `in` and `out` must not overlap.
    width : int, optional
        Lanes that are worked on at once, a divisor of `lanes`; default all of them. The widest vectors of the
        processor are best: wider ones take two registers each, run 10 % slower and take twice as long to compile.

    Returns
    -------
    str
        A module that leaves the target open; it calls libm for what has no instruction.

    Raises
    ------
    InputError, UnsupportedOperation
        As :func:`check_function`.
    """
    check_function(function)
    return _Emitter(lanes, lanes if width is None else width).run(function, name)


# #0 a function defined here, #1 one declared, #2 one that is not to be taken into its caller. Without the preferred
# width 8 lanes would be split in halves on some processors that have 512 bits. `nobuiltin` keeps LLVM from trading one
# libm function for another.
ATTRIBUTES = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind nobuiltin memory(none) }
attributes #2 = { nounwind noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }
"""
# Operations of one function: LLVM takes more than proportionally long for long ones. Values that later pieces need
# go through memory, which costs nothing, as registers are too few for them anyhow.
PIECE = 1000


class _Emitter:
    """Appends instructions to `lines`; a value is the text of an operand (``%v12`` or a literal)."""

    def __init__(self, lanes, width):
        self.lanes, self.width = lanes, width
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.libm_suffix = "" if width == 1 else ".lanes"
        self.intrinsic_suffix = "f64" if width == 1 else f"v{width}f64"
        self.lines = []
        self.n_values = 0
        self.called = {}  # name of a function -> number of its arguments
        self.words = {"T": self.type, "B": "i1" if width == 1 else f"<{width} x i1>",
                      "zero": self.literal(0.0), "one": self.literal(1.0), "minus": self.literal(-1.0)}

    def run(self, function, name):
        pieces, shared = _pieces(function)
        bodies = [self.piece(piece, shared) for piece in pieces]
        return self.module(name, bodies, function.sz_w())

    def piece(self, instructions, shared):
        """Lines of one piece; values that others need stand in `work`, at their slots of the virtual machine."""
        self.lines = []
        values = {}  # slot of the virtual machine's work vector -> value; a new value each time, so this is SSA
        for k, operation, inputs, outputs, given in instructions:
            if operation == "OUTPUT":
                self.store(self.read(values, inputs[0]), "%out", outputs[1] * self.lanes)
            elif operation == "INPUT":
                values[outputs[0]] = self.load("%in", given * self.lanes)
            elif operation == "CONST":
                values[outputs[0]] = self.literal(given)
            elif operation in COPIES:
                values[outputs[0]] = self.read(values, inputs[0])
            else:
                values[outputs[0]] = self.operation(operation, [self.read(values, slot) for slot in inputs])
            if k in shared:
                self.store(values[outputs[0]], "%work", outputs[0] * self.width)
        return self.lines

    def read(self, values, slot):
        if slot not in values:  # of a piece before
            values[slot] = self.load("%work", slot * self.width)
        return values[slot]

    def operation(self, name, operands):
        if name in INTRINSICS:
            return self.call(f"llvm.{INTRINSICS[name]}.{self.intrinsic_suffix}", operands)
        if name in LIBM:
            return self.call(LIBM[name] + self.libm_suffix, operands)
        words = {**self.words, "x": operands[0], "y": operands[-1]}
        results = []
        for template in TEMPLATES[name]:
            results.append(self.value(template.format(*results, **words)))
        return results[-1]

    def value(self, instruction):
        name = f"%v{self.n_values}"
        self.n_values += 1
        self.lines.append(f"{name} = {instruction}")
        return name

    def literal(self, number):
        text = "0x" + struct.pack(">d", number).hex().upper()  # exact, and the way to write NaN and infinity
        return text if self.width == 1 else "<" + ", ".join([f"double {text}"] * self.width) + ">"

    def load(self, base, offset):
        return self.value(f"load {self.type}, ptr {self.pointer(base, offset)}, align 8")

    def store(self, value, base, offset):
        self.lines.append(f"store {self.type} {value}, ptr {self.pointer(base, offset)}, align 8")

    def pointer(self, base, offset):
        return self.value(f"getelementptr inbounds double, ptr {base}, i64 {offset}")

    def call(self, name, operands):
        self.called[name] = len(operands)
        return self.value(f"call {self.type} @{name}({', '.join(f'{self.type} {x}' for x in operands)})")

    def module(self, name, bodies, n_work):
        text = []
        for callee, n_arguments in self.called.items():
            if self.width == 1 or callee.startswith("llvm."):
                text.append(f"declare {self.type} @{callee}({', '.join([self.type] * n_arguments)}) #1")
            else:
                text += self.lane_loop(callee, n_arguments)
        lines = bodies[0]
        if len(bodies) > 1:
            lines = [f"%work = alloca [{n_work * self.width} x double], align 64"]
            for number, body in enumerate(bodies):
                text += [f"define internal void @piece{number}(ptr noalias readonly %in, ptr noalias %out, "
                         "ptr noalias %work) #2 {", *body, "ret void", "}"]
                lines.append(f"call void @piece{number}(ptr %in, ptr %out, ptr %work)")
        if self.width < self.lanes:
            text += ["define internal void @some(ptr noalias readonly %in, ptr noalias %out) #2 {", *lines,
                     "ret void", "}"]
            lines = []
            for first in range(0, self.lanes, self.width):
                lines += [f"%i{first} = getelementptr inbounds double, ptr %in, i64 {first}",
                          f"%o{first} = getelementptr inbounds double, ptr %out, i64 {first}",
                          f"call void @some(ptr %i{first}, ptr %o{first})"]
        text += [f"define void @{name}(ptr noalias readonly %in, ptr noalias %out) #0 {{", *lines, "ret void", "}",
                 ATTRIBUTES]
        return "\n".join(text)

    def lane_loop(self, callee, n_arguments):
        """A function that calls one of libm lane by lane; in line it would swell the kernel at every use."""
        scalar = callee.removesuffix(self.libm_suffix)
        arguments = [f"%x{i}" for i in range(n_arguments)]
        given = ", ".join(f"{self.type} {x}" for x in arguments)
        lines = [f"declare double @{scalar}({', '.join(['double'] * n_arguments)}) #1",
                 f"define internal {self.type} @{callee}({given}) #0 {{"]
        vector = "poison"
        for lane in range(self.width):
            lines += [f"{x}l{lane} = extractelement {self.type} {x}, i32 {lane}" for x in arguments]
            given = ", ".join(f"double {x}l{lane}" for x in arguments)
            lines += [f"%r{lane} = call double @{scalar}({given})",
                      f"%v{lane} = insertelement {self.type} {vector}, double %r{lane}, i32 {lane}"]
            vector = f"%v{lane}"
        return [*lines, f"ret {self.type} {vector}", "}"]


def _pieces(function):
    """The instructions of a function in pieces of `PIECE` operations, and which of them have results for later pieces.

    Returns
    -------
    pieces : list of list of (k, operation, inputs, outputs, given)
        Instruction k; `given` is a constant, or the place of an input.
    shared : set of int
    """
    names, pieces, shared, count = _operation_names(), [[]], set(), 0
    made = {}  # slot -> (number of the piece, instruction)
    for k in range(function.n_instructions()):
        operation = names[function.instruction_id(k)]
        inputs, outputs, given = function.instruction_input(k), function.instruction_output(k), None
        if operation == "CONST":
            given = function.instruction_constant(k)
        elif operation == "INPUT":
            given = inputs[1]
        else:
            if count == PIECE:
                pieces.append([])
                count = 0
            count += 1
            for slot in inputs:
                number, producer = made[slot]
                if number < len(pieces) - 1:
                    shared.add(producer)
        pieces[-1].append((k, operation, inputs, outputs, given))
        if operation != "OUTPUT":
            made[outputs[0]] = len(pieces) - 1, k
    return pieces, shared
