"""From the instruction list of a CasADi function to LLVM IR.

A kernel is straight-line code: one instruction of CasADi's virtual machine becomes one to four of LLVM. The
scalar form works on ``double``, the batched form on ``<8 x double>``; the templates of `operations` serve both.
"""

import heapq
import struct

from .operations import COPIES, INTRINSICS, LIBM, TEMPLATES, check_function, operation_names

__all__ = ["emit_ir"]


def emit_ir(function, name, lanes, width=None, registers=14):
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
    registers : int, optional
        Values that are held at once; the others wait in memory until they are used. What LLVM then has to decide is
        little: it takes two thirds of the time, and the code is as fast.

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
    return _Emitter(lanes, lanes if width is None else width, registers).run(function, name)


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
GIVEN_UP = 6  # values that leave their registers together


class _Emitter:
    """Appends instructions to `lines`; a value is the text of an operand (``%v12`` or a literal)."""

    def __init__(self, lanes, width, registers):
        self.lanes, self.width, self.registers = lanes, width, registers
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.libm_suffix = "" if width == 1 else ".lanes"
        self.intrinsic_suffix = "f64" if width == 1 else f"v{width}f64"
        self.lines = []
        self.n_values = 0
        self.called = {}  # name of a function -> number of its arguments
        words = {"T": self.type, "B": "i1" if width == 1 else f"<{width} x i1>",
                 "zero": self.literal(0.0), "one": self.literal(1.0), "minus": self.literal(-1.0)}
        self.templates = {name: [_filled(template, words) for template in templates]
                          for name, templates in TEMPLATES.items()}

    def run(self, function, name):
        code, uses, ends = _read(function)
        stored = set()  # values that stand in `work`, each in its slot of the virtual machine, until they are used up
        starts = [0, *ends[:-1]]
        bodies = [self.piece(code, uses, stored, *part) for part in zip(starts, ends, strict=True)]
        return self.module(name, bodies, function.sz_w() if stored else 0)

    def piece(self, code, uses, stored, start, end):
        """Lines of the instructions from `start` to `end`, which give up the values that are used last first
        (Belady, IBM Syst. J. 5, 1966)."""
        self.lines = []
        held = {}  # instruction -> its value, a new one each time, so this is SSA

        def needed(value):
            return uses[value][-1]

        for n in range(start, end):
            operation, operands, _, given = code[n]
            if operation in ("INPUT", "CONST"):
                continue  # where they are used
            texts = []
            for value in operands:
                uses[value].pop()
                if value not in held:
                    held[value] = self.fetch(code[value])
                texts.append(held[value])
            if operation == "OUTPUT":
                self.store(texts[0], "%out", given * self.lanes)
            else:
                held[n] = texts[0] if operation in COPIES else self.operation(operation, texts)
                if uses[n] and uses[n][0] >= end:  # in a later piece
                    self.put(n, code, held, stored)
            for value in (*operands, n):
                if value in held and not uses[value]:
                    del held[value]
            if len(held) > self.registers:
                for value in heapq.nlargest(GIVEN_UP, held, needed):
                    if code[value][0] not in ("INPUT", "CONST") and value not in stored:
                        self.put(value, code, held, stored)
                    del held[value]
        return self.lines

    def fetch(self, instruction):
        operation, _, slot, given = instruction
        if operation == "CONST":
            return self.literal(given)
        return self.load("%in", given * self.lanes) if operation == "INPUT" else self.load("%work", slot * self.width)

    def put(self, value, code, held, stored):
        stored.add(value)
        self.store(held[value], "%work", code[value][2] * self.width)

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

    def module(self, name, bodies, n_work):
        text = []
        for callee, n_arguments in self.called.items():
            if self.width == 1 or callee.startswith("llvm."):
                text.append(f"declare {self.type} @{callee}({', '.join([self.type] * n_arguments)}) #1")
            else:
                text += self.lane_loop(callee, n_arguments)
        room = [f"%work = alloca [{n_work * self.width} x double], align 64"] if n_work else []
        lines = [*room, *bodies[0]]
        if len(bodies) > 1:
            lines = room
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


def _filled(template, words):
    """A template with the words in place, and the operands still open."""
    for word, text in words.items():
        template = template.replace(f"{{{word}}}", text)
    return template


def _read(function):
    """The instructions of a function, and its pieces.

    Returns
    -------
    code : list of (operation, operands, slot, given)
        Operands are numbers of instructions; `slot` is the result's in the virtual machine, free until it is used up,
        and `given` a constant, or the place of an input or output.
    uses : list of list of int
        Instructions that use each result, the last one first.
    ends : list of int
        Where pieces of `PIECE` operations end.
    """
    names, code, ends, count, made = operation_names(), [], [], 0, {}
    for k in range(function.n_instructions()):
        operation, inputs, outputs = (names[function.instruction_id(k)], function.instruction_input(k),
                                      function.instruction_output(k))
        if operation == "CONST":
            operands, given = (), function.instruction_constant(k)
        elif operation == "INPUT":
            operands, given = (), inputs[1]
        else:
            if count == PIECE:
                ends.append(k)
                count = 0
            count += 1
            if operation == "OUTPUT":
                inputs, given = inputs[:1], outputs[1]
            else:
                given = None
            operands = [made[slot] for slot in inputs]
        code.append((operation, operands, outputs[0], given))
        if operation != "OUTPUT":
            made[outputs[0]] = k
    uses = [[] for _ in code]
    for k in range(len(code) - 1, -1, -1):
        for value in code[k][1]:
            uses[value].append(k)
    return code, uses, [*ends, len(code)]
