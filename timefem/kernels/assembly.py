"""Straight lines of arithmetic in the assembly language of x86-64, registers chosen here.

LLVM's assembler takes a tenth of the time that its code generator takes for the same lines, and nothing is left to
choose: an instruction of CasADi is one of the processor, or half of one where products are fused with sums.
"""

import heapq
import struct

from .instructions import NEVER

__all__ = ["Assembly"]

_BINARY = {"ADD": "vadd", "SUB": "vsub", "MUL": "vmul", "DIV": "vdiv"}
_SAME = {"SQ": "vmul", "TWICE": "vadd"}  # of one operand taken twice
_FUSED = {"FMA": "vfmadd", "FMS": "vfmsub", "FNMA": "vfnmadd"}
FAR = 30  # instructions after which a value has left its register, most likely: measured
# doubles at once: registers, how many, kind of numbers, a move, and what changes the sign
_FORMS = {1: ("%xmm", 16, "sd", "vmovsd", "vxorpd"), 4: ("%ymm", 16, "pd", "vmovupd", "vxorpd"),
          8: ("%zmm", 32, "pd", "vmovupd", "vpxorq")}


class Assembly:
    """Functions ``void(double *in, double *out, double *work)`` in the calling convention of Unix.

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
