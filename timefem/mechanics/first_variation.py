"""The equations of motion at one state, and their exact first derivatives, in all coordinates."""

import json
import weakref
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

import casadi as ca
import numpy as np

from ..errors import InputError
from ..kernels.store import store
from .lasting_name import lasting_name
from .point_functions import evaluate
from .redundancy.redundant_rows import redundant_constraints
from .symbols import Symbols

_FUNCTIONS, _LAYOUTS = {}, weakref.WeakKeyDictionary()  # by kind of part, and by system
DERIVATIVES = {"row": "qvaug", "psi": "qv", "second": "qv", "form": "qv", "third": "qv", "momenta": "q"}


def _blocks(part):
    """Expressions of one kind of part in q, v, a, multipliers and controls, and the function of all of them.

    `R = d/dt(dT/dv) - dT/dq + dV/dq - Q - B u + Phi_q^T gamma + A^T nu` with the accelerations a, constraints on the
    levels of velocities and accelerations, and their derivatives.
    """
    if part.kind not in _FUNCTIONS:
        name = lasting_name("first variation", part)
        found = _read(store().read(name)) if name else None
        if found is None:
            found = _made_blocks(part)
            if name:
                shapes, timed, function = found
                store().write(name, json.dumps([shapes, timed, function.serialize()]).encode())
        _FUNCTIONS[part.kind] = found
    return _FUNCTIONS[part.kind]


def _read(data):
    """What is kept on disk of `_made_blocks`; None without."""
    if data is None:
        return None
    shapes, timed, function = json.loads(data)
    return {name: tuple(shape) for name, shape in shapes.items()}, timed, ca.Function.deserialize(function)


def _made_blocks(part):
    s = Symbols(part)
    velocities = [ca.SX.sym("v", b.n_q) for b in part.bodies]
    s.velocity = velocities
    q, v = ca.vertcat(ca.SX(0, 1), *s.q), ca.vertcat(ca.SX(0, 1), *velocities)
    n = q.numel()
    a, u = ca.SX.sym("a", n), ca.SX.sym("u", part.n_controls)
    phi, form = ca.SX(part.constraints(s)), ca.SX(part.velocity_form(s))
    gamma, nu = ca.SX.sym("gamma", phi.numel()), ca.SX.sym("nu", form.numel())

    def rate(x):
        return ca.jtimes(x, q, v) + ca.jtimes(x, v, a) + ca.jacobian(x, s.t)

    kinetic = ca.SX(part.kinetic(s, velocities))
    potential = ca.SX(0) if part.is_body else ca.SX(part.energy(s))
    momenta = ca.gradient(kinetic, v)
    row = (rate(momenta) - ca.gradient(kinetic, q) + ca.gradient(potential, q) - part.force(s)
           + part.constraint_force(s, gamma) + ca.jtimes(form, v, nu, True))
    if part.n_controls:
        row -= part.control_force(s, u)
    psi = rate(phi)
    second, third = rate(psi), rate(form)
    blocks = {"row": row, "psi": psi, "second": second, "form": form, "third": third, "momenta": momenta}
    by = {"q": q, "v": v, "a": a, "u": u, "g": gamma}
    blocks |= {f"{name}_{letter}": ca.jacobian(blocks[name], by[letter]) for name, letters in DERIVATIVES.items()
               for letter in letters}
    shapes = {name: value.shape for name, value in blocks.items()}
    x = ca.vertcat(q, v, a, gamma, nu, u)
    flat = ca.vertcat(*(ca.vec(ca.densify(value)) for value in blocks.values()))
    if ca.depends_on(flat, ca.vertcat(ca.SX(0, 1), *s.p)):
        raise InputError(f"{part!r} states forces in momenta, not in velocities, and cannot be linearised")
    timed = ca.depends_on(ca.vertcat(row, psi, form), s.t)
    return shapes, timed, ca.Function("first_variation", [x, s.t, s.parameters], [ca.cse(flat)])


class _Layout:
    """Where the values of `_blocks` go, for all parts of a system.

    Attributes
    ----------
    controls : dict
        Actuator -> places of its controls among all.
    groups : list
        Of parts that act: group, function, its places of (q, multipliers gamma and nu, controls), length of "row".
    """

    def __init__(self, system):
        actuators = [p for p in system.parts if p.n_controls]
        stops = np.cumsum([p.n_controls for p in actuators]).tolist()
        self.controls = {p: np.arange(stop - p.n_controls, stop) for p, stop in zip(actuators, stops, strict=True)}
        n, m, k, n_u = system.n_q, system.n_constraints, system.n_nonholonomic, (stops or [0])[-1]
        rows = {"row": n, "psi": m, "second": m, "form": k, "third": k, "momenta": n}
        columns = {"q": n, "v": n, "a": n, "u": n_u, "g": m}
        self._shapes = {name: (size,) for name, size in rows.items()} | {
            f"{name}_{letter}": (rows[name], columns[letter]) for name, letters in DERIVATIVES.items()
            for letter in letters}
        stops = np.cumsum([0, *map(prod, self._shapes.values())]).tolist()
        self._size, self._ranges = stops[-1], dict(zip(self._shapes, pairwise(stops), strict=True))
        self.groups, targets = [], [np.zeros(0, int)]
        for group in system.groups:
            if group.part.helper and not group.part.is_body:  # drives counters of turns, and acts on nothing
                continue
            shapes, _, function = _blocks(group.part)
            q = group.state_index[:, :group.state_index.shape[1] // 2]
            gamma = group.multiplier_index[:, :group.multiplier_index.shape[1] // 2]
            nu = group.nonholonomic_index
            u = np.array([self.controls.get(p, np.zeros(0, int)) for p in group.members], int).reshape(len(q), -1)
            index = {"row": q, "momenta": q, "psi": gamma, "second": gamma, "form": nu, "third": nu}
            by = {"q": q, "v": q, "a": q, "u": u, "g": gamma}
            found = []
            for name in shapes:
                row, _, letter = name.partition("_")
                place = index[row][:, None, :]
                if letter:  # by columns, as CasADi has them
                    place = place * columns[letter] + by[letter][:, :, None]
                found.append(self._ranges[name][0] + place.reshape(len(q), -1))
            targets.append(np.concatenate(found, axis=1).ravel())
            self.groups.append((group, function, (q, gamma, nu, u), q.shape[1]))
        self._targets = np.concatenate(targets)

    def blocks(self, values):
        """Name -> sum of the values of all parts, as one matrix or vector of the system."""
        flat = np.bincount(self._targets, values, self._size)
        return {name: flat[slice(*where)].reshape(self._shapes[name]) for name, where in self._ranges.items()}


def _layout(system):
    if system not in _LAYOUTS:
        _LAYOUTS[system] = _Layout(system)
    return _LAYOUTS[system]


@dataclass(eq=False)
class FirstVariation:
    """Accelerations, multipliers and derivatives of the equations of motion of a system at one state.

    Parameters
    ----------
    system : System
        Without redundant constraints.
    t : float
        [s]
    q, v : ndarray, shape (n_q,)
        Coordinates and velocities that hold the constraints.
    u : ndarray, shape (n_controls,)
        Controls of all actuators, in the order of the parts.

    Attributes
    ----------
    acceleration : ndarray, shape (n_q,)
    multipliers : ndarray, shape (n_constraints + n_nonholonomic,)
    size : float
        Of the accelerations that the single forces would give, in the metric of the mass.
    timed : bool
        Whether forces or constraints depend on the time explicitly.
    """

    system: object
    t: float
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray

    @classmethod
    def of_state(cls, system, t, z, u=None):
        """At a state `z = (q, p)`, without controls unless they are given."""
        v = system.consistent_velocity(t, z) if system.couples_inertia else system.velocity(t, z)
        u = np.zeros(sum(p.n_controls for p in system.parts)) if u is None else u
        v = np.array(v)
        for body in system.bodies:
            if body.helper:
                v[system.coordinates(body)] = 0
        return cls(system, t, np.array(z[:system.n_q]), v, u)

    def __post_init__(self):
        system = self.system
        n, m, k = system.n_q, system.n_constraints, system.n_nonholonomic
        self.n, self.m, self.k = n, m, k
        first = self._unmoved = self._assembled(np.zeros(n), np.zeros(m + k))
        self.gradient = np.concatenate([first["psi_v"], first["form_v"]])
        self.mass = first["row_a"]
        self.forces = np.hstack([first["row_g"], first["form_v"].T])
        right = np.concatenate([first["row"], first["second"], first["third"]])
        solution = self.accelerations(-right)
        self.acceleration, self.multipliers = solution[:n], solution[n:]

    @cached_property
    def _at(self):
        """Derivatives, with the accelerations and multipliers."""
        return self._assembled(self.acceleration, self.multipliers)

    @property
    def places(self):
        """Where the controls of each actuator stand."""
        return _layout(self.system).controls

    @cached_property
    def helpers(self):
        """Rows (n, n_q) of the coordinates that count turns, which stay as they are."""
        places = [self.system.coordinates(b).start for b in self.system.bodies if b.helper]
        return np.eye(self.n)[places]

    @cached_property
    def timed(self):
        return any(_blocks(group.part)[1] for group, *_ in _layout(self.system).groups)

    def _assembled(self, a, multipliers):
        layout, values, absolute = _layout(self.system), [], np.zeros(self.n)
        for group, function, (q, gamma, nu, u), n_rows in layout.groups:
            x = np.concatenate([self.q[q], self.v[q], a[q], multipliers[gamma], multipliers[self.m:][nu], self.u[u]],
                               axis=1)
            found = evaluate(function, x[None], np.array([self.t]), group.parameters)[0]
            values.append(found.ravel())
            np.add.at(absolute, q, np.abs(found[:, :n_rows]))
        return layout.blocks(np.concatenate([np.zeros(0), *values])) | {"absolute": absolute}

    @cached_property
    def _factors(self):
        gradient, none = self.gradient, np.zeros((self.m + self.k,) * 2)
        matrix = np.block([[self.mass, self.forces], [gradient, none]])
        size = np.sqrt(np.abs(matrix).max(axis=1))
        scale = 1 / np.where(size > 0, size, 1.0)
        q, r = np.linalg.qr(scale[:, None] * matrix * scale)
        if not np.abs(np.diag(r)).min() > 1e-13:
            raise InputError(self._singular())
        return scale, q, r

    def _singular(self):
        z = np.concatenate([self.q, np.zeros(self.n)])
        names = redundant_constraints(self.system, self.t, z) if self.m else []
        why = f"the constraints repeat each other there: {', '.join(names[:4])}" if names else \
            "some motion has neither mass nor a constraint, or the mechanism is in a singular position"
        return f"the accelerations are not determined at this state: {why}"

    def accelerations(self, right):
        """Accelerations and multipliers of right-hand sides of (row, second, third), shapes (n + m + k, ...)."""
        if not np.isfinite(right).all():
            raise InputError("forces or constraints are not finite at this state")
        scale, q, r = self._factors
        return (scale * np.linalg.solve(r, q.T @ (scale * right.T).T).T).T

    @cached_property
    def size(self):
        """Of the accelerations that the forces would give each on its own."""
        free = self._at["absolute"]**2 / self.system.mass_scale
        return float(np.sqrt(free.sum()))

    def tangent(self, dq, dv):
        """Changes of the accelerations with those of coordinates and velocities, columns (n_q, n); and the sums of the
        absolute values of their terms."""
        at = self._at
        by_q, by_v = (np.concatenate([at[f"{name}_{x}"] for name in ("row", "second", "third")]) for x in "qv")
        inverse = np.abs(self.accelerations(np.eye(len(by_q)))[:self.n])
        size = inverse @ (np.abs(by_q) @ np.abs(dq) + np.abs(by_v) @ np.abs(dv))
        return -self.accelerations(by_q @ dq + by_v @ dv)[:self.n], size

    @cached_property
    def _by_controls(self):
        """Changes of accelerations and multipliers with the controls, in which forces are linear."""
        none = np.zeros((self.m + self.k, len(self.u)))
        return self.accelerations(-np.concatenate([self._unmoved["row_u"], none]))

    def by_controls(self):
        """Changes of the accelerations with the controls, shape (n_q, n_controls)."""
        return self._by_controls[:self.n]

    def multipliers_with(self, u):
        """Multipliers with other controls, shape (n_constraints + n_nonholonomic,)."""
        return self.multipliers + self._by_controls[self.n:] @ (u - self.u)

    def balance(self, wanted=0.0):
        """Controls of smallest norm whose forces leave least between the acceleration and the wanted one (n_q,), in
        the metric of the mass."""
        root = np.sqrt(self.system.mass_scale)[:, None]
        change = np.linalg.lstsq(root * self.by_controls(), root[:, 0] * (wanted - self.acceleration), rcond=1e-10)[0]
        return self.u + change

    def momenta(self, dq, dv):
        """Changes of the momenta with those of coordinates and velocities, columns (n_q, n)."""
        return self._at["momenta_q"] @ dq + self.mass @ dv

    def velocities(self, dq, dp):
        """Changes of the velocities with those of coordinates and momenta that the constraints allow, columns."""
        right = [dp - self._at["momenta_q"] @ dq, -(self._at["psi_q"] @ dq), -(self._at["form_q"] @ dq)]
        return self.accelerations(np.concatenate(right))[:self.n]

    @property
    def levels(self):
        """Of the constraints on velocities, holonomic ones first: their derivatives by v and by q."""
        return self.gradient, np.concatenate([self._at["psi_q"], self._at["form_q"]])
