"""From the instruction list of a CasADi function to LLVM IR.

A kernel is straight-line code: one instruction of CasADi's virtual machine becomes one to four of LLVM. The
scalar form works on ``double``, the batched form on ``<8 x double>``; the templates of `operations` serve both.
Straight lines of arithmetic are written in assembly language where that is known; the rest is around them.
"""

import heapq
import struct

from .operations import DONE, INTRINSICS, LIBM, NEVER, TEMPLATES, Instructions, check_function

__all__ = ["emit_ir"]

_BINARY = {"ADD": "vadd", "SUB": "vsub", "MUL": "vmul", "DIV": "vdiv"}
_SAME = {"SQ": "vmul", "TWICE": "vadd"}  # of one operand taken twice
_FUSED = {"FMA": "vfmadd", "FMS": "vfmsub", "FNMA": "vfnmadd"}
FAR = 30  # instructions after which a value has left its register, most likely: measured
# doubles at once: registers, how many, kind of numbers, a move, and what changes the sign
_FORMS = {1: ("%xmm", 16, "sd", "vmovsd", "vxorpd"), 4: ("%ymm", 16, "pd", "vmovupd", "vxorpd"),
          8: ("%zmm", 32, "pd", "vmovupd", "vpxorq")}


class Assembly:
    """Straight lines of arithmetic in the assembly language of x86-64, registers chosen here: functions
    ``void(double *in, double *out, double *work)`` in the calling convention of Unix.

    LLVM's assembler takes a tenth of the time that its code generator takes for the same lines, and nothing is left to
    choose: an instruction of CasADi is one of the processor, or half of one where products are fused with sums.

    Parameters
    ----------
    width, lanes : int
        Doubles that are worked on at once, 1, 4 or 8, and doubles from one number of the arrays to the next.
    """

    NAMES = frozenset([*_BINARY, *_SAME, *_FUSED, "NEG", "INV", "SQRT", "IF_ELSE_ZERO", "OUTPUT"])

    def __init__(self, width, lanes):
        self.register, n_registers, self.kind, self.move, self.negate = _FORMS[width]
        self.width, self.stride, self.work_stride = width, 8 * lanes, 8 * width
        self.registers = [f"{self.register}{i}" for i in range(n_registers)]
        self.lines, self.constants = [], {}

    def piece(self, label, code, start, end):
        """Append a function: the instructions from `start` to `end`. Of the values in registers, those that are used
        last give up theirs first (Belady, IBM Syst. J. 5, 1966)."""
        self.code, self.held, self.free = code, {}, self.registers[::-1]
        operations, operands, following, need, held = (
            code.operations, code.operands, code.following, code.need, self.held)
        self.lines += [".p2align 4", f"{label}:"]
        for k in range(start, end):
            name = operations[k]
            if name not in self.NAMES:
                continue  # constants and inputs, where they are used
            values = operands[k]
            lacking = 1 - len(self.free)
            for value in values:
                lacking += value not in held
            if lacking > 0:
                for value in heapq.nlargest(lacking, held, need.__getitem__):
                    self.put(value)
                    self.free.append(held.pop(value))
            self.far = k + FAR
            for value, at in zip(values, following[k], strict=True):
                need[value] = at
            if name == "OUTPUT":
                self.lines.append(f"{self.move} {self.load(values[0])}, {code.given[k] * self.stride}(%rsi)")
                self.done(values)
            else:
                held[k] = self.compute(name, values)
                if need[k] == NEVER:
                    self.done((k,))
        for value in held:  # for later pieces
            self.put(value)
        self.lines += ["vzeroupper", "ret"]

    def compute(self, name, values):
        """Append an instruction; returns the register of its result."""
        if name in _FUSED:
            return self.fused(_FUSED[name], *values)
        kind, x, y, where = self.kind, values[0], values[-1], ""
        if name in _BINARY:
            if name in ("ADD", "MUL") and x not in self.held and y in self.held:
                x, y = y, x
            first = self.load(x)
            line = f"{_BINARY[name]}{kind} {self.operand(y)}, {first}"
        elif name in _SAME:
            x = self.load(x)
            line = f"{_SAME[name]}{kind} {x}, {x}"
        elif name == "NEG":
            line = f"{self.negate} {self.constant(-0.0)}, {self.load(x)}"
        elif name == "INV":
            one = self.free.pop()
            self.lines.append(f"{self.move} {self.constant(1.0)}, {one}")
            line = f"vdiv{kind} {self.operand(x)}, {one}"
            self.free.append(one)
        elif name == "IF_ELSE_ZERO":  # y where x is not zero, or NaN
            x, y, zero = self.load(x), self.load(y), self.constant(0.0)
            if self.width == 8:
                self.lines.append(f"vcmpneqpd {zero}, {x}, %k1")
                line, where = f"vmovapd {y}", "{%k1}{z}"
            else:
                self.lines.append(f"vcmpneqpd {zero}, {x}, {self.free[-1]}")
                line = f"vandpd {y}, {self.free[-1]}"
        else:
            x = self.load(x)
            line = f"vsqrt{kind} {x}" + (f", {x}" if self.width == 1 else "")
        self.done(values)
        result = self.free.pop()
        self.lines.append(f"{line}, {result}{where}")
        return result

    def fused(self, name, a, b, c):
        """Append a b + c with the signs of `name`; the result takes the register of an operand."""
        need, held = self.code.need, self.held
        if a not in held:
            a, b = b, a
        taken = next((value for value in (c, a, b) if value in held and need[value] == NEVER), None)
        if taken in (None, c):
            line = f"{name}231{self.kind} {self.operand(b)}, {self.load(a)}"
        else:
            line = f"{name}213{self.kind} {self.operand(c)}, {self.load(b if taken == a else a)}"
        if taken is None:
            register = self.free.pop()
            self.lines.append(f"vmovapd {held[c]}, {register}" if c in held else
                              f"{self.move} {self.address(c)}, {register}")
        else:
            register = held.pop(taken)
        self.done((a, b, c))
        self.lines.append(f"{line}, {register}")
        return register

    def load(self, value):
        """The register of a value."""
        if value not in self.held:
            self.held[value] = register = self.free.pop()
            self.lines.append(f"{self.move} {self.address(value)}, {register}")
        return self.held[value]

    def operand(self, value):
        """A value for an instruction that takes it from memory, too: that pays when it is not needed again soon."""
        if value in self.held or self.code.need[value] < self.far:
            return self.load(value)
        return self.address(value)

    def address(self, value):
        name, given = self.code.operations[value], self.code.given[value]
        if name == "INPUT":
            return f"{given * self.stride}(%rdi)"
        if name == "CONST":
            return self.constant(given)
        return f"{self.code.places[value] * self.work_stride}(%rdx)"

    def constant(self, number):
        bits = struct.pack("<d", number)  # by which -0 and NaN are distinguished, too
        return f".L{self.constants.setdefault(bits, len(self.constants))}(%rip)"

    def put(self, value):
        """Append what brings a value to its place in memory."""
        if value not in self.code.places and self.code.operations[value] not in ("INPUT", "CONST"):
            self.lines.append(f"{self.move} {self.held[value]}, {self.code.place(value) * self.work_stride}(%rdx)")

    def done(self, values):
        """Give up registers and places of values that are not needed again."""
        for value in values:
            if self.code.need[value] == NEVER:
                if value in self.held:
                    self.free.append(self.held.pop(value))
                self.code.release(value)

    def text(self):
        """All functions, and their constants."""
        lines = [".text", *self.lines, ".p2align 6"]
        for bits, number in self.constants.items():
            word = int.from_bytes(bits, "little")
            lines.append(f".L{number}: .quad {', '.join([hex(word)] * max(self.width, 2))}")
        return "\n".join(lines)


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
