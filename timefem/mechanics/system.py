"""A mechanical system: bodies, joints and forces, and where each has its place in the state."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InputError
from .forces import Gravity
from .part import Body, Part, Symbols


@dataclass(frozen=True, eq=False)
class PartGroup:
    """All parts of one kind.

    Attributes
    ----------
    part : Part
        One of them, for its formulas.
    state_index : ndarray of int, shape (n_parts, 2 n_q_local)
        Where the local `(q, p)` stand in the system's `z = (q, p)`.
    multiplier_index : ndarray of int, shape (n_parts, 2 m_local)
        Where the local `(gamma, mu)` stand in the system's `lambda = (gamma, mu)`.
    parameters : ndarray, shape (n_parts, n_parameters)
    """

    part: Part
    state_index: np.ndarray
    multiplier_index: np.ndarray
    parameters: np.ndarray


class System:
    """Bodies, joints and forces.

    Parameters
    ----------
    parts : sequence of Part
        Bodies, joints and forces, in any order.
    gravity : array_like, shape (3,), optional
        Uniform gravitational acceleration [m/s^2] on every body.

    Attributes
    ----------
    bodies, parts : tuple
    n_q, n_z, n_constraints, n_multipliers : int
        Coordinates, `2 n_q`, constraints m, and `2 m` multipliers `(gamma, mu)`.
    constraint_names : list of str
        One per configuration constraint, in order.
    groups : list of PartGroup
    """

    def __init__(self, parts, gravity=None):
        parts = list(parts) if isinstance(parts, list | tuple) else [parts]
        for part in parts:
            if not isinstance(part, Part):
                raise InputError(f"System: {part!r} is not a body, joint or force")
        if gravity is not None:
            parts += [Gravity(b, gravity) for b in parts if isinstance(b, Body)]
        for part in parts:
            if sum(part is other for other in parts) > 1:
                raise InputError(f"System: {part!r} is given twice")
        self.parts = tuple(parts)
        self.bodies = tuple(p for p in parts if isinstance(p, Body))
        if not self.bodies:
            raise InputError("System: at least one body is needed")
        for part in parts:
            for body in part.bodies:
                if not any(body is b for b in self.bodies):
                    raise InputError(f"System: {self.label(part)} acts on {body!r}, which is not in the system")
        self.n_q = sum(b.n_q for b in self.bodies)
        self.n_z = 2 * self.n_q
        self.n_constraints = sum(len(p.constraint_names) for p in parts)
        self.n_multipliers = 2 * self.n_constraints
        names = [self.label(b) for b in self.bodies]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"System: two bodies have the name {name!r}")

    def __repr__(self):
        return (f"System({len(self.bodies)} bodies, {len(self.parts) - len(self.bodies)} joints and forces, "
                f"{self.n_q} coordinates, {self.n_constraints} constraints)")

    def label(self, part):
        """Name of a part for messages and files: its own, or its class and number."""
        if part.name:
            return part.name
        if isinstance(part, Body):
            return f"body{[p for p in self.parts if isinstance(p, Body)].index(part) + 1}"
        same = [p for p in self.parts if type(p) is type(part)]
        return f"{type(part).__name__} {[p is part for p in same].index(True) + 1}"

    def find(self, body):
        """The body itself, or the body of that name.

        Raises
        ------
        InputError
            When the system has no such body; names those it has.
        """
        for b in self.bodies:
            if b is body or (isinstance(body, str) and self.label(b) == body):
                return b
        raise InputError(f"no body {body!r} in the system; it has {', '.join(map(self.label, self.bodies))}")

    def coordinates(self, body):
        """Slice of the body's coordinates in `q` (and of its momenta in `p`)."""
        start = 0
        for b in self.bodies:
            if b is body:
                return slice(start, start + b.n_q)
            start += b.n_q
        raise InputError(f"{body!r} is not in the system")

    @property
    def constraint_names(self):
        return [f"{self.label(p)}: {name}" for p in self.parts for name in p.constraint_names]

    @cached_property
    def mass_scale(self):
        """Size of the mass matrix per coordinate, shape (n_q,)."""
        return np.concatenate([b.mass_scale for b in self.bodies])

    @cached_property
    def groups(self):
        starts = np.concatenate([[0], np.cumsum([b.n_q for b in self.bodies])])
        first = {id(b): s for b, s in zip(self.bodies, starts, strict=False)}
        places, constraint = {}, 0
        for part in self.parts:
            q = np.concatenate([np.arange(first[id(b)], first[id(b)] + b.n_q) for b in part.bodies])
            g = np.arange(constraint, constraint + len(part.constraint_names))
            constraint += len(g)
            place = (part, np.concatenate([q, q + self.n_q]), np.concatenate([g, g + self.n_constraints]))
            places.setdefault(part.kind, []).append(place)
        return [PartGroup(same[0][0], np.array([z for _, z, _ in same]),
                          np.array([w for _, _, w in same], dtype=int), np.array([p.parameters for p, _, _ in same]))
                for same in places.values()]

    # ---- values at given states, evaluated by CasADi's VM (post-processing and initial states only)

    @cached_property
    def _functions(self):
        return [_pointwise(g.part) for g in self.groups]

    def _points(self, t, z):
        """Flatten leading axes: `(n_points,)`, `(n_points, n_z)` and the shape to restore."""
        z = np.asarray(z, float)
        shape = z.shape[:-1]
        z = z.reshape(-1, self.n_z)
        return np.broadcast_to(np.asarray(t, float), shape).reshape(-1), z, shape

    def hamiltonian(self, t, z):
        """Total energy H(z, t), shape (..., n_z) -> (...) [J]."""
        return self._energy("hamiltonian", t, z)

    def potential(self, t, z):
        """Potential energy V(q, t), shape (..., n_z) -> (...) [J]."""
        return self._energy("hamiltonian", t, z, bodies=False)

    def _energy(self, name, t, z, bodies=True):
        t, z, shape = self._points(t, z)
        total = np.zeros(len(z))
        for group, functions in zip(self.groups, self._functions, strict=True):
            if bodies or not isinstance(group.part, Body):
                for index, c in zip(group.state_index, group.parameters, strict=True):
                    total += _map(functions[name], z[:, index], t, c)[:, 0]
        return total.reshape(shape)

    def constraints(self, t, z):
        """Constraints on both levels, Theta = (Phi, Psi), shape (..., n_z) -> (..., 2 m)."""
        t, z, shape = self._points(t, z)
        out = np.zeros((len(z), self.n_multipliers))
        for group, functions in zip(self.groups, self._functions, strict=True):
            for index, w, c in zip(group.state_index, group.multiplier_index, group.parameters, strict=True):
                out[:, w] = _map(functions["theta"], z[:, index], t, c)
        return out.reshape(*shape, self.n_multipliers)

    def derivatives(self, t, z):
        """At one state: grad H - (Q, 0) (n_z,), Jacobian of Theta (2 m, n_z), its partial time derivative (2 m,).

        Without constraints the motion is zdot = J (grad H - (Q, 0)), Q the forces that have no potential.
        """
        grad, jac, rate = np.zeros(self.n_z), np.zeros((self.n_multipliers, self.n_z)), np.zeros(self.n_multipliers)
        for group, functions in zip(self.groups, self._functions, strict=True):
            for index, w, c in zip(group.state_index, group.multiplier_index, group.parameters, strict=True):
                g, b, r = (np.array(v) for v in functions["derivatives"](z[index], t, c))
                grad[index] += g[:, 0]
                jac[np.ix_(w, index)] = b
                rate[w] = r[:, 0]
        return grad, jac, rate

    def consistent_multipliers(self, t, z):
        """Multipliers for which d/dt Theta = 0 at a consistent state, shape (2 m,).

        Solves `grad Theta J grad Theta^T lambda = -(grad Theta J grad H + dTheta/dt)`, from May & Betsch (13).

        Raises
        ------
        InputError
            When the constraints are redundant there.
        """
        grad, jac, rate = self.derivatives(t, z)
        if not self.n_multipliers:
            return np.zeros(0)
        n = self.n_q
        jac_j = np.hstack([-jac[:, n:], jac[:, :n]])  # grad Theta J
        matrix = jac_j @ jac.T
        size = np.sqrt(np.linalg.norm(jac, axis=1))
        singular = np.linalg.svd(matrix / np.outer(size, size) ** 2, compute_uv=False)
        if singular[-1] < 1e-12 * singular[0]:
            raise InputError("the constraints are redundant at the initial state: "
                             "remove the constraints that repeat others")
        return np.linalg.solve(matrix, -(jac_j @ grad + rate))


def _map(function, z, t, c):
    """Evaluate `function(z, t, c)` at many points: (n, n_local), (n,), (n_c,) -> (n, n_out)."""
    n = len(z)
    if n == 0 or function.size1_out(0) == 0:
        return np.zeros((n, function.size1_out(0)))
    c = np.broadcast_to(c, (n, len(c)))
    return np.array(function.map(n)(z.T, t[None, :], c.T)).T


_POINTWISE = {}


def _pointwise(part):
    """CasADi functions of one kind of part: energy, constraints, and their first derivatives."""
    import casadi as ca

    if part.kind not in _POINTWISE:
        s = Symbols(part)
        z = ca.vertcat(*s.q, *s.p)
        arguments = [z, s.t, s.parameters]
        energy = ca.SX(part.energy(s))
        theta = ca.vertcat(part.constraints(s), part.velocity_constraints(s))
        force = ca.vertcat(part.force(s), ca.SX(z.numel() // 2, 1))
        derivatives = [ca.gradient(energy, z) - force, ca.densify(ca.jacobian(theta, z)), ca.densify(ca.jacobian(theta, s.t))]
        _POINTWISE[part.kind] = {
            "hamiltonian": ca.Function("hamiltonian", arguments, [ca.densify(energy)]),
            "theta": ca.Function("theta", arguments, [ca.densify(theta)]),
            "derivatives": ca.Function("derivatives", arguments, [ca.densify(d) for d in derivatives]),
        }
    return _POINTWISE[part.kind]
