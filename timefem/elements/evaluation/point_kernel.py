"""The residual density of one kind of part at a quadrature point, as a compiled kernel."""

from typing import NamedTuple

import casadi as ca

from ...kernels import cached_kernel


class PointKernel(NamedTuple):
    """Point kernel of one kind of part for one weak form: inputs `[slots, t, h, xi, parameters]` (a slot that does
    not enter is left out), outputs `[rows per test slot, Jacobian entries]`."""

    key: tuple
    kernel: object
    n_inputs: tuple  # components per slot
    n_rows: tuple  # rows per test slot
    entries: list  # (test slot, slot, row, column) per Jacobian entry
    constants: list  # per output: its value if that never changes, else NaN

    def shortened(self, outputs, zero=()):
        """Kernel of the chosen outputs alone, with the inputs in `zero` set to zero."""
        outputs, zero = tuple(map(int, outputs)), tuple(map(int, zero))

        def build():
            x = ca.SX.sym("x", self.kernel.n_in)
            values = ca.vertcat(*(self.kernel.function(x)[i] for i in outputs))
            for i in zero:
                values = ca.substitute(values, x[i], 0)
            return ca.Function("point", [x], [ca.cse(ca.densify(values))])

        return cached_kernel((*self.key, outputs, zero), build)


def point_kernel(part, element, sizes):
    """Point kernel of a part for a time element, compiled once per kind of part and density.

    `sizes` are the numbers of local components by name, see `components`.
    """
    key = (part.kind, element.density_key)
    if key not in _POINT_FUNCTIONS:
        s = element.symbols(part, element, sizes)
        rows = [ca.densify(ca.SX(r)) for r in element.density(s)]
        variables = list(s.slots.values())
        slots = [v if ca.depends_on(ca.vertcat(*rows), v) else ca.SX(0, 1) for v in variables]
        outputs, entries = list(rows), []
        for test, row in enumerate(rows):
            for slot, variable in enumerate(slots):
                if element.has_tangent and row.numel() and variable.numel():
                    jacobian = ca.sparsify(ca.jacobian(row, variable))
                    outputs += jacobian.nonzeros()
                    entries += [(test, slot, r, c) for r, c in zip(*jacobian.sparsity().get_triplet(), strict=True)]
        inputs = ca.vertcat(*slots, s.t, s.h, s.xi, s.parameters)
        values = ca.densify(ca.vertcat(*outputs))
        constants = [float(v) if v.is_constant() else float("nan") for v in ca.vertsplit(values)]
        functions = [ca.Function("point", [inputs], [ca.cse(values)])]
        numbers = tuple(v.numel() for v in slots), tuple(r.numel() for r in rows)
        _POINT_FUNCTIONS[key] = functions, *numbers, entries, constants
    functions, *description = _POINT_FUNCTIONS[key]
    return PointKernel(key, cached_kernel(key, lambda: functions[0]), *description)


_POINT_FUNCTIONS = {}
