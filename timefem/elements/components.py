"""What a field has values for, and the symbols of one part in which the density of a time element is written."""

from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from ..mechanics.states.consistent_multipliers import nonholonomic_multipliers
from ..mechanics.symbols import Symbols, applied_force, first_order
from ..mechanics.values.of_parts import has_inverse_mass
from ..polynomials import gauss_legendre
from .along import lagrange, value
from .gradients import Lift


class Components(NamedTuple):
    """Components of one sort.

    Attributes
    ----------
    size : int
        Of the whole system.
    places : list of ndarray of int, shape (n_parts, n_local)
        Per group of parts, where the local components stand.
    """

    size: int
    places: list


def _state(system):
    return Components(system.n_z, [g.state_index for g in system.groups])


def _coordinates(system):
    return Components(system.n_q, [g.state_index[:, :g.state_index.shape[1] // 2] for g in system.groups])


def _multipliers(system):
    """Own ones, then the forces of the constraints of `reactions_of`."""
    every = np.arange(system.n_multipliers)
    return Components(system.n_multipliers, [np.tile(every, (len(g.state_index), 1)) if g.part.sees_multipliers
                                             else np.hstack([g.multiplier_index, g.reaction_index])
                                             for g in system.groups])


def _constraints(system):
    places = [g.multiplier_index[:, :g.multiplier_index.shape[1] // 2] for g in system.groups]
    return Components(system.n_constraints, places)


def _joints(system):
    """Constraints that do not belong to a body alone."""
    every = _constraints(system).places
    places = [p[:, :0] if g.part.is_body else p for g, p in zip(system.groups, every, strict=True)]
    taken = np.sort(np.concatenate([p.ravel() for p in places]))
    return Components(len(taken), [np.searchsorted(taken, p) for p in places])


def _nonholonomic(system):
    return Components(system.n_nonholonomic, [g.nonholonomic_index for g in system.groups])


def _nonholonomic_pairs(system):
    """Those of the nonholonomic constraints, then those of their rates."""
    n = system.n_nonholonomic
    places = [np.concatenate([g.nonholonomic_index, g.nonholonomic_index + n], axis=1) for g in system.groups]
    return Components(2 * n, places)


def _increments(system):
    """Increments of the bodies' coordinates that keep the bodies' own constraints."""
    stops = np.cumsum([b.n_increments for b in system.bodies]).tolist()
    own = {b: np.arange(stop - b.n_increments, stop) for b, stop in zip(system.bodies, stops, strict=True)}
    places = [[np.concatenate([np.zeros(0, int), *(own[f.body] if f.is_body else own[f.body][f.dofs]
                                                   for f in part.frames)])
               for part in group.members] for group in system.groups]
    return Components(stops[-1], [np.array(place) for place in places])


def _controls(system):
    """Controls of the actuators; a part sees those of `part.controls`."""
    actuators = [p for p in system.parts if p.n_controls]
    stops = np.cumsum([a.n_controls for a in actuators]).tolist()
    own = {a: np.arange(stop - a.n_controls, stop) for a, stop in zip(actuators, stops, strict=True)}
    places = [[np.concatenate([np.zeros(0, int), *(own[a] for a in part.controls)]) for part in group.members]
              for group in system.groups]
    return Components(stops[-1] if stops else 0, [np.array(place) for place in places])


def _strains(system):
    """Strains of the parts that state them."""
    sizes = [ca.SX(g.part.strains(Symbols(g.part))).numel() for g in system.groups]
    numbers = [n * len(g.members) for n, g in zip(sizes, system.groups, strict=True)]
    every = np.split(np.arange(sum(numbers)), np.cumsum(numbers)[:-1])
    return Components(sum(numbers), [places.reshape(len(g.members), -1) if n else np.zeros((len(g.members), 0), int)
                                     for n, g, places in zip(sizes, system.groups, every, strict=True)])


COMPONENTS = {"state": _state, "coordinates": _coordinates, "multipliers": _multipliers, "constraints": _constraints,
              "impulses": _constraints, "joints": _joints, "strains": _strains, "increments": _increments,
              "controls": _controls, "nonholonomic": _nonholonomic, "nonholonomic pairs": _nonholonomic_pairs}


def components(system, names):
    """The `Components` of a system, for those in `names`: names, or functions of the system."""
    return {name: COMPONENTS[name](system) if isinstance(name, str) else name(system) for name in dict.fromkeys(names)}


# ---- nonholonomic constraints in time elements

AVERAGE_POINTS = 3  # exact for Pfaffians up to degree 5 in the coordinates; those of quaternions have at most 3


def nonholonomic_values(element, system, times, state):
    """Guess of the multipliers of nonholonomic constraints: consistent at the first state, shape (n_elements, n, m).

    Arguments as for `TimeElement.nodal_values`. Second multipliers, of rates, are zero, and so are all of systems whose
    mass matrix has no inverse in symbols.
    """
    if not system.n_nonholonomic:
        return np.zeros((len(state), 1, 0))
    space = element.trial["nonholonomic"]
    values = np.zeros((len(state), space.basis.n_shapes, components(system, [space.components])[space.components].size))
    if len(state) and has_inverse_mass(system) and not any(body.velocity_by_solve for body in system.bodies):
        values[..., :system.n_nonholonomic] = nonholonomic_multipliers(system, times[0, 0], state[0, 0])
    return values


def velocity_form(s, q, velocity, t):
    """`A(q, t) velocity + a(q, t)` of a part in one step, SX; `s` are `StepSymbols`."""
    return s._terms("velocity_form", q, velocity, t) if s.part.nonholonomic_names else ca.SX(0, 1)


def averaged(f, q0, q1):
    """Average vector field, Gebhardt & Romero (89), (93): the mean of `f` on the line from q0 to q1."""
    points, weights = gauss_legendre(AVERAGE_POINTS)
    return sum(w * f(q0 + x * (q1 - q0)) for x, w in zip(points.tolist(), weights.tolist(), strict=True))


def transposed_form(s, q, multipliers, t):
    """`A(q, t)^T multipliers` of a part in one step, SX."""
    if not multipliers.numel():
        return ca.SX(q.numel(), 1)
    velocity = ca.SX.sym("v", q.numel())
    return ca.jtimes(velocity_form(s, q, velocity, t), velocity, multipliers, True)


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
