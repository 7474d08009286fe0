"""From the instruction list of a CasADi function to LLVM IR.

A kernel is straight-line code: one instruction of CasADi's virtual machine becomes one to four of LLVM. The
scalar form works on ``double``, the batched form on ``<8 x double>``; the templates of `operations` serve both.
Straight lines of arithmetic are handed to `assembly` where that is known; the rest is around them.
"""

import heapq
import struct

from .assembly import Assembly
from .instructions import DONE, NEVER, Instructions
from .operations import INTRINSICS, LIBM, TEMPLATES, check_function

__all__ = ["emit_ir"]


def emit_ir(function, name, lanes, width=None, registers=14, assembly=False):
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
        Where these are less, a function ``name_first`` works on the first ones alone.
    registers : int, optional
        Values that are held at once; the others wait in memory until they are used. What LLVM then has to decide is
        little: it takes two thirds of the time, and the code is as fast.
    assembly : bool
        Whether arithmetic is written in assembly language: a tenth of the time of the rest. For x86-64 with fused
        products and sums, and the calling convention of Unix; width 1, 4 or 8.

    Returns
    -------
    str
        A module that leaves the target open; it calls libm for what has no instruction.

    Raises
    ------
    InputError, UnsupportedOperation
        As :func:`check_function`.
    """
    operations = check_function(function)
    return _Emitter(lanes, lanes if width is None else width, registers, assembly).run(function, name, operations)


# #0 a function defined here, #1 one declared, #2 one that is not to be taken into its caller. Without the preferred
# width 8 lanes would be split in halves on some processors that have 512 bits. `nobuiltin` keeps LLVM from trading one
# libm function for another.
ATTRIBUTES = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind nobuiltin memory(none) }
attributes #2 = { nounwind noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }
"""
# Operations of one function: LLVM takes more than proportionally long for long ones.
PIECE = 1000
SHORT = 16  # operations per run from which on assembly pays: between runs, values go through memory
GIVEN_UP = 6  # values that leave their registers together


class _Emitter:
    """Appends instructions to `lines`; a value is the text of an operand (``%v12`` or a literal)."""

    def __init__(self, lanes, width, registers, assembly):
        self.lanes, self.width, self.registers = lanes, width, registers
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.libm_suffix = "" if width == 1 else ".lanes"
        self.intrinsic_suffix = "f64" if width == 1 else f"v{width}f64"
        self.assembly = Assembly(width, lanes) if assembly else None
        self.lines = []
        self.n_values = 0
        self.called = {}  # name of a function -> number of its arguments
        words = {"T": self.type, "B": "i1" if width == 1 else f"<{width} x i1>",
                 "zero": self.literal(0.0), "one": self.literal(1.0), "minus": self.literal(-1.0)}
        self.templates = {name: [_filled(template, words) for template in templates]
                          for name, templates in TEMPLATES.items()}

    def run(self, function, name, operations):
        arithmetic = self.assembly.NAMES if self.assembly else ()
        self.code = code = Instructions(function, operations, fuse=bool(arithmetic))
        bodies, start, parts = [], 0, code.parts(arithmetic, PIECE)
        if self.assembly and len(code.operations) < SHORT * len(parts):
            self.assembly = None
            return self.run(function, name, operations)
        for assembled, end in parts:
            if assembled:
                self.assembly.piece(f"piece{len(bodies)}", code, start, end)
            bodies.append(None if assembled else self.piece(start, end))
            start = end
        return self.module(name, bodies)

    def piece(self, start, end):
        """Lines of the instructions from `start` to `end`, which give up the values that are used last first
        (Belady, IBM Syst. J. 5, 1966)."""
        self.lines, code, need = [], self.code, self.code.need
        held = {}  # instruction -> its value, a new one each time, so this is SSA
        for n in range(start, end):
            operation, operands = code.operations[n], code.operands[n]
            if operation in ("INPUT", "CONST", DONE):
                continue  # where they are used
            texts = []
            for value, following in zip(operands, code.following[n], strict=True):
                need[value] = following
                if value not in held:
                    held[value] = self.fetch(value)
                texts.append(held[value])
            if operation == "OUTPUT":
                self.store(texts[0], "%out", code.given[n] * self.lanes)
            else:
                held[n] = self.operation(operation, texts)
            for value in (*operands, n):
                if need[value] == NEVER:
                    held.pop(value, None)
                    code.release(value)
            if len(held) > self.registers:
                for value in heapq.nlargest(GIVEN_UP, held, need.__getitem__):
                    self.put(value, held)
                    del held[value]
        for value in held:  # for later pieces
            self.put(value, held)
        return self.lines

    def fetch(self, value):
        operation, given = self.code.operations[value], self.code.given[value]
        if operation == "CONST":
            return self.literal(given)
        if operation == "INPUT":
            return self.load("%in", given * self.lanes)
        return self.load("%work", self.code.places[value] * self.width)

    def put(self, value, held):
        if value not in self.code.places and self.code.operations[value] not in ("INPUT", "CONST"):
            self.store(held[value], "%work", self.code.place(value) * self.width)

    def operation(self, name, operands):
        if name in INTRINSICS:
            return self.call(f"llvm.{INTRINSICS[name]}.{self.intrinsic_suffix}", operands)
        if name in LIBM:
            return self.call(LIBM[name] + self.libm_suffix, operands)
        results = []
        for template in self.templates[name]:
            results.append(self.value(template.format(*results, x=operands[0], y=operands[-1])))
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

    def module(self, name, bodies):
        text, n_work = [], self.code.n_places
        for callee, n_arguments in self.called.items():
            if self.width == 1 or callee.startswith("llvm."):
                text.append(f"declare {self.type} @{callee}({', '.join([self.type] * n_arguments)}) #1")
            else:
                text += self.lane_loop(callee, n_arguments)
        lines = [f"%work = alloca [{max(n_work, 1) * self.width} x double], align 64"]
        for number, body in enumerate(bodies):
            if body is None:
                text.append(f"declare void @piece{number}(ptr, ptr, ptr)")
            elif self.assembly or len(bodies) == 1:
                lines += body
                continue
            else:
                text += [f"define internal void @piece{number}(ptr noalias readonly %in, ptr noalias %out, "
                         "ptr noalias %work) #2 {", *body, "ret void", "}"]
            lines.append(f"call void @piece{number}(ptr %in, ptr %out, ptr %work)")
        if self.assembly:
            text.append('module asm "' + self.assembly.text().replace("\n", "\\0A") + '"')
        if self.width < self.lanes:
            text += [f"define void @{name}_first(ptr noalias readonly %in, ptr noalias %out) #2 {{", *lines,
                     "ret void", "}"]
            lines = []
            for first in range(0, self.lanes, self.width):
                lines += [f"%i{first} = getelementptr inbounds double, ptr %in, i64 {first}",
                          f"%o{first} = getelementptr inbounds double, ptr %out, i64 {first}",
                          f"call void @{name}_first(ptr %i{first}, ptr %o{first})"]
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


def _filled(template, words):
    """A template with the words in place, and the operands still open."""
    for word, text in words.items():
        template = template.replace(f"{{{word}}}", text)
    return template
