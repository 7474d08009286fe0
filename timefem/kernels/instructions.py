"""The instruction list of a CasADi function, with what those who translate it have to know of each value."""

from collections import Counter

from .operations import COPIES

__all__ = ["DONE", "NEVER", "Instructions"]

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
