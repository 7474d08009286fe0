"""What the density of a time element is written in: CasADi symbols of one part."""

from functools import cached_property

import casadi as ca

from ..mechanics.symbols import Symbols, applied_force, first_order
from .along import lagrange, value
from .lift import Lift


class ElementSymbols:
    """Symbols of one part in one element.

    Parameters
    ----------
    part : Part
    element : TimeElement
    sizes : dict
        Number of components of the part, by name of `components.COMPONENTS`.

    Attributes
    ----------
    part : Part
    element : TimeElement
    slots : dict
        (field, "value" | "rate" | "left" | "right" | number of a node) -> SX.
    t, h, xi : SX
        Time at the quadrature point, length of the element [s], and the place of the point in it, in [0, 1].
    at_point : Symbols
        The mechanical symbols of the part.
    parameters : SX
    inner : list of Inner
        Symbols in the rows of densities that stand for formulas, see `closed`.
    """

    def __init__(self, part, element, sizes):
        self.inner = []
        self.part, self.element, self.at_point = part, element, Symbols(part)
        self.slots = {(field, where): ca.SX.sym(f"{field}_{where}", sizes[element.trial[field].components])
                      for field, where in element.slots}
        self.t, self.parameters = self.at_point.t, self.at_point.parameters
        self.h, self.xi = ca.SX.sym("h"), ca.SX.sym("xi")

    @cached_property
    def shapes(self):
        """Shape functions of the state at the quadrature point, list of SX."""
        points = self.element.state.basis.points
        return [value(lagrange(points, j), self.xi) for j in range(len(points))]

    @cached_property
    def slopes(self):
        """Their derivatives by xi."""
        points = self.element.state.basis.points
        return [value(lagrange(points, j).deriv(), self.xi) for j in range(len(points))]

    def closed(self, rows):
        """Rows of a density with the formulas that inner symbols stand for: list of SX."""
        rows = list(map(ca.SX, rows))
        for inner in self.inner:
            rows = inner.closed(rows)
        return rows

    @property
    def own_multipliers(self):
        """Multipliers (gamma, mu) of the part's own constraints."""
        return self.slots["multipliers", "value"][:2 * len(self.part.constraint_names), 0]

    @property
    def forces_seen(self):
        """gamma of its own constraints, and of those of `reactions_of`."""
        m = len(self.part.constraint_names)
        values = self.slots["multipliers", "value"]
        return ca.vertcat(values[:m, 0], values[2 * m:, 0])

    def split(self, values):
        """Components of the coordinates of the part, one SX per body; of points of beams one per node."""
        return _pieces(values, self.part.frames)

    def bodies_at(self, z, velocity=None, t=None):
        """The mechanical symbols of the part at other coordinates and momenta `z = (q, p)`.

        Without `velocity` it follows from the momenta.
        """
        half = z.numel() // 2
        q, p, v = (None if x is None else _pieces(x, self.part.bodies) for x in (z[:half], z[half:], velocity))
        return self.at_point.at(q, p, v, self.t if t is None else t)


def _pieces(values, bodies):
    n = [b.n_q for b in bodies]
    return ca.vertsplit(values, [sum(n[:i]) for i in range(len(n) + 1)]) if n else []


class PointSymbols(ElementSymbols):
    """Symbols at a quadrature point, and the terms that Galerkin methods are made of.

    Attributes
    ----------
    z, rate, multipliers : SX
        Local `(q, p)`, its time derivative, `(gamma, mu)`.
    motion : SX, shape (n_z,)
        `J^T zdot - grad(H + lambda.Theta) + (Q, 0)`; the first term belongs to bodies only.
    constraints, constraint_rate : SX, shape (n_multipliers,)
        `Theta = (Phi, Psi)` and `grad Theta zdot + dTheta/dt`.
    form, form_rate : SX, shape (n_nonholonomic,)
        `A qdot + a` with qdot = dH/dp, and its derivative along zdot; zero-length without that field. Their
        multipliers act on the motion by -A^T and, where the element has pairs of them, by the gradient of `form`.
    form_of_rate : SX, shape (n_nonholonomic,)
        `A qdot + a` with the rate of the shape functions.
    """

    def __init__(self, part, element, sizes):
        super().__init__(part, element, sizes)
        self.z, self.rate = self.slots["state", "value"], self.slots["state", "rate"]
        self.multipliers = self.own_multipliers
        n = self.z.numel() // 2
        s = self.bodies_at(self.z)
        self.constraints = ca.vertcat(part.constraints(s), part.velocity_constraints(s))
        if element.lifted:
            gradient, self.constraint_rate = self._lifted()
        else:
            gradient = ca.gradient(ca.SX(part.energy(s)) + ca.dot(self.multipliers, self.constraints), self.z)
            self.constraint_rate = (ca.jtimes(self.constraints, self.z, self.rate)
                                    + ca.jacobian(self.constraints, self.t))
        acted = self.bodies_at(self.z, velocity=self._velocities_of_power()) if element.lifted else s
        controls = self.slots.get(("controls", "value"))
        force = part.force(acted) if controls is None else applied_force(part, acted, controls)
        further = part.multiplier_force(acted, self.forces_seen)
        force, flows = force if further is None else force + further, first_order(part)
        self.motion = ca.vertcat(force * (1 - flows), -force * flows) - gradient * (1 - ca.vertcat(flows, flows))
        if part.is_body:
            self.motion += ca.vertcat(-self.rate[n:], self.rate[:n])
        self._add_nonholonomic(s)

    def _velocities_of_power(self):
        """Rates of the shape functions, and of port systems lifted efforts: with them powers are changes of energy."""
        velocity, start = ca.SX(self.rate[:self.z.numel() // 2]), 0
        for body, c in zip(self.part.bodies, self.at_point.bodies, strict=True):
            places = range(start, start + body.n_q)
            if body.is_port:
                stored = Lift(self, None, lambda x, t, body=body, c=c: body.stored_in(x, c), places)
                velocity[list(places)] = stored.gradient(ca.SX.ones(1))
            start += body.n_q
        return velocity

    def _lifted(self):
        """`D(H + lambda.Theta)` and `D Theta zdot + dTheta/dt` with lifted gradients D, see `Lift`."""
        part = self.part
        lift = (lambda z: part.lift(self.bodies_at(z))) if part.lift(self.at_point) is not None else None
        energy = Lift(self, lift, lambda e, t: part.lifted_energy(self.at_point, e) if lift else
                      part.energy(self.bodies_at(e, t=t)))
        gradient, rate = energy.force(ca.SX.ones(1)), ca.SX(0, 1)
        if self.multipliers.numel():
            lift = (lambda z: part.constraint_lift(self.bodies_at(z))) if \
                part.constraint_lift(self.at_point) is not None else None
            theta = Lift(self, lift, self._constraints_at if lift is None else
                         lambda e, t: part.lifted_constraints(self.at_point, e, t))
            gradient, rate = gradient + theta.force(self.multipliers), theta.rate
        return gradient, rate

    def _constraints_at(self, z, t):
        s = self.bodies_at(z, t=t)
        return ca.vertcat(self.part.constraints(s), self.part.velocity_constraints(s))

    def _add_nonholonomic(self, s):
        multipliers = self.slots.get(("nonholonomic", "value"), ca.SX(0, 1))
        self.form = self.form_rate = self.form_of_rate = ca.SX(0, 1)
        if not multipliers.numel():
            return
        n, m = self.z.numel() // 2, len(self.part.nonholonomic_names)
        matrix, drift = self.part.pfaffian(s)
        self.form = self.part.velocity_form(s)
        self.form_rate = ca.jtimes(self.form, self.z, self.rate) + ca.jacobian(self.form, self.t)
        self.form_of_rate = matrix @ self.rate[:n] + drift
        self.motion -= ca.vertcat(matrix.T @ multipliers[:m], ca.SX(n, 1))
        if multipliers.numel() > m:
            self.motion -= ca.jtimes(self.form, self.z, multipliers[m:], True)
