"""The residual density of one kind of part at a quadrature point, as a compiled kernel."""

from typing import NamedTuple

from ..kernels import cached_kernel
from ..mechanics import Body, Symbols


class PointSymbols:
    """Symbols of one part at a quadrature point, and the terms that weak forms are made of.

    Attributes
    ----------
    z, rate, multipliers, t, parameters : SX
        Local `(q, p)`, its time derivative, `(gamma, mu)`, time, parameters.
    motion : SX, shape (n_z,)
        `J^T zdot - grad(H + lambda.Theta) + (Q, 0)`; the first term belongs to bodies only.
    constraints, constraint_rate : SX, shape (n_multipliers,)
        `Theta = (Phi, Psi)` and `grad Theta zdot + dTheta/dt`.
    """

    def __init__(self, part):
        import casadi as ca

        s = Symbols(part)
        n = sum(b.n_q for b in part.bodies)
        self.z, self.t, self.parameters = ca.vertcat(*s.q, *s.p), s.t, s.parameters
        self.rate = ca.SX.sym("rate", 2 * n)
        self.constraints = ca.vertcat(part.constraints(s), part.velocity_constraints(s))
        self.multipliers = ca.SX.sym("w", self.constraints.numel())
        augmented = part.energy(s) + ca.dot(self.multipliers, self.constraints)
        self.motion = ca.vertcat(part.force(s), ca.SX(n, 1)) - ca.gradient(augmented, self.z)
        if isinstance(part, Body):
            self.motion += ca.vertcat(-self.rate[n:], self.rate[:n])
        self.constraint_rate = (ca.jtimes(self.constraints, self.z, self.rate)
                                + ca.jacobian(self.constraints, self.t))


class PointKernel(NamedTuple):
    """Point kernel of one kind of part for one weak form: inputs `[z, rate, multipliers, t, parameters]` (a slot that
    does not enter is left out), outputs `[state rows, constraint rows, Jacobian entries]`."""

    kernel: object
    n_inputs: tuple  # components per slot: state, rate, multipliers
    n_rows: tuple  # rows per test field: state, constraints
    entries: list  # (test field, slot, row, column) per Jacobian entry


def point_kernel(part, element):
    """Point kernel of a part for a time element, compiled once per kind of part and form of the density."""
    import casadi as ca

    key = (part.kind, type(element))
    if key not in _POINT_FUNCTIONS:
        s = PointSymbols(part)
        rows = [ca.densify(ca.SX(r)) for r in element.density(s)]
        slots = [v if ca.depends_on(ca.vertcat(*rows), v) else v[:0] for v in (s.z, s.rate, s.multipliers)]
        outputs, entries = list(rows), []
        for field, row in enumerate(rows):
            for slot, variable in enumerate(slots):
                if row.numel() and variable.numel():
                    jacobian = ca.sparsify(ca.jacobian(row, variable))
                    outputs += jacobian.nonzeros()
                    entries += [(field, slot, r, c) for r, c in zip(*jacobian.sparsity().get_triplet(), strict=True)]
        inputs = ca.vertcat(*slots, s.t, s.parameters)
        function = ca.Function("point", [inputs], [ca.cse(ca.vertcat(*outputs))])
        sizes = tuple(v.numel() for v in slots), tuple(r.numel() for r in rows)
        _POINT_FUNCTIONS[key] = function, *sizes, entries
    function, *description = _POINT_FUNCTIONS[key]
    return PointKernel(cached_kernel(key, lambda: function), *description)


_POINT_FUNCTIONS = {}
