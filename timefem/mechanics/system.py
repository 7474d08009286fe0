"""A mechanical system: bodies, joints and forces, and where each has its place in the state."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import validate
from ..errors import InputError
from .forces import Gravity
from .names import Names, find_part
from .part import Body, Part
from .pointwise import evaluate, pointwise

LISTED = 12  # parts in a table of `summary`


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
    nonholonomic_index : ndarray of int, shape (n_parts, n_local)
        Where the local nonholonomic constraints stand among those of the system.
    parameters : ndarray, shape (n_parts, n_parameters)
    """

    part: Part
    state_index: np.ndarray
    multiplier_index: np.ndarray
    nonholonomic_index: np.ndarray
    parameters: np.ndarray


class System:
    """Bodies, joints and forces.

    Parameters
    ----------
    parts : sequence of Part
        Bodies, joints and forces, in any order.
    gravity : array_like, shape (3,), optional
        Uniform gravitational acceleration [m/s^2] on every body.
    redundant : {"refuse", "drop"}
        What to do with constraints that repeat others: refuse to solve, or leave them out, as settled at the initial
        state (see `timefem.mechanics.redundancy`).

    Attributes
    ----------
    bodies, parts : tuple
    n_q, n_z, n_constraints, n_multipliers : int
        Coordinates, `2 n_q`, constraints m, and `2 m` multipliers `(gamma, mu)`.
    constraint_names : list of str
        One per configuration constraint, in order.
    n_nonholonomic : int
    nonholonomic_names : list of str
        Constraints `A(q, t) qdot + a(q, t) = 0` on velocities alone, counted apart from the others.
    groups : list of PartGroup
    kinks : ndarray
        Times [s] where parts that depend on the time are not smooth, increasing.
    complete, kept, dropped : System, ndarray of int, list of str
        Of a system without its redundant constraints: the system with them, the numbers of the kept constraints in it,
        and the names of the others. Else None, None and ().
    """

    complete, kept, dropped = None, None, ()

    def __init__(self, parts, gravity=None, *, redundant="refuse"):
        self.redundant = validate.choice("redundant", redundant, ("refuse", "drop"))
        parts = list(parts) if isinstance(parts, list | tuple) else [parts]
        for part in parts:
            if not isinstance(part, Part):
                raise InputError(f"System: {part!r} is not a body, joint or force")
        if gravity is not None:
            parts += [Gravity(b, gravity) for b in parts if isinstance(b, Body)]
        for part, times in Counter(parts).items():
            if times > 1:
                raise InputError(f"System: {part!r} is given twice")
        self.parts = tuple(parts)
        self.bodies = tuple(p for p in parts if isinstance(p, Body))
        if not self.bodies:
            raise InputError("System: at least one body is needed")
        for part in parts:
            for body in part.bodies:
                if body not in self._coordinates:
                    raise InputError(f"System: {self.label(part)} acts on {body!r}, which is not in the system; "
                                     "add it to the parts")
        self.n_q = sum(b.n_q for b in self.bodies)
        self.n_z = 2 * self.n_q
        self.n_constraints = sum(len(p.constraint_names) for p in parts)
        self.n_multipliers = 2 * self.n_constraints
        self.n_nonholonomic = sum(len(p.nonholonomic_names) for p in parts)
        names = [self.label(b) for b in self.bodies]
        if len(self._names) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"System: two bodies have the name {twice!r}; give each its own")

    def __repr__(self):
        return (f"System({len(self.bodies)} bodies, {len(self.parts) - len(self.bodies)} joints and forces, "
                f"{self.n_q} coordinates, {self.n_constraints} constraints)")

    def summary(self):
        """Bodies, joints and forces as a table: text where it is printed, HTML in a notebook."""
        from ..display import Card

        facts = {"bodies": len(self.bodies), "coordinates": self.n_q, "constraints": self.n_constraints}
        facts |= {"nonholonomic constraints": self.n_nonholonomic} if self.n_nonholonomic else {}
        facts |= {"redundant constraints left out": ", ".join(self.dropped)} if self.dropped else {}
        facts["coordinates less constraints"] = self.n_q - self.n_constraints
        tables = {"bodies": [("name", "what it is", "mass [kg]", "coordinates", "constraints of its own")]}
        tables["bodies"] += [(self.label(b), _kind(b), f"{b.mass:g}" if hasattr(b, "mass") else "", b.n_q,
                              len(b.constraint_names)) for b in self.bodies[:LISTED]]
        for title, parts in (("joints", self._joints), ("forces", self._forces)):
            if parts:
                tables[title] = [("name", "what it is", "on", "constraints")[:4 if title == "joints" else 3]]
                tables[title] += [(self.label(p), _kind(p), " and ".join(map(self.label, p.bodies)),
                                   len(p.constraint_names) + len(p.nonholonomic_names))[:len(tables[title][0])]
                                  for p in parts[:LISTED]]
        for title, parts in (("bodies", self.bodies), ("joints", self._joints), ("forces", self._forces)):
            if len(parts) > LISTED:
                tables[f"{title}, {len(parts) - LISTED} more"] = tables.pop(title)
        return Card("System", facts, tables)

    def _repr_html_(self):
        return self.summary()._repr_html_()

    # ---- parts by name

    def __getitem__(self, name):
        """The body, joint or force of that name (see `label`)."""
        return find_part([(self.label(p), p) for p in self.parts], name)

    def _ipython_key_completions_(self):
        return [self.label(p) for p in self.parts]

    @property
    def _joints(self):
        return [p for p in self.parts if not isinstance(p, Body) and (p.constraint_names or p.nonholonomic_names)]

    @property
    def _forces(self):
        joints = set(self._joints)
        return [p for p in self.parts if not isinstance(p, Body) and p not in joints]

    @property
    def body(self):
        """Bodies as attributes: `system.body.crank`."""
        return Names("body", self._names)

    @property
    def joint(self):
        """Joints, and other parts with constraints, as attributes."""
        return Names("joint", {self.label(p): p for p in self._joints})

    @property
    def force(self):
        """Springs, dampers and loads as attributes."""
        return Names("force", {self.label(p): p for p in self._forces})

    def label(self, part):
        """Name of a part for messages and files: its own, or its class and number."""
        return part.name or self._numbered[part]

    @cached_property
    def _numbered(self):
        """Labels of unnamed parts: bodies are counted together, other parts by class."""
        count, labels = Counter(), {}
        for part in self.parts:
            name = "body" if isinstance(part, Body) else f"{type(part).__name__} "
            count[name] += 1
            labels[part] = f"{name}{count[name]}"
        return labels

    @cached_property
    def _names(self):
        return {self.label(b): b for b in self.bodies}

    @cached_property
    def _coordinates(self):
        stops = np.cumsum([b.n_q for b in self.bodies]).tolist()
        return {b: slice(stop - b.n_q, stop) for b, stop in zip(self.bodies, stops, strict=True)}

    def find(self, body):
        """The body itself, or the body of that name.

        Raises
        ------
        InputError
            When the system has no such body; names those it has.
        """
        if isinstance(body, Body) and body in self._coordinates:
            return body
        if isinstance(body, str) and body in self._names:
            return self._names[body]
        raise InputError(f"no body {body!r} in the system; it has {', '.join(map(self.label, self.bodies))}")

    def coordinates(self, body):
        """Slice of the body's coordinates in `q` (and of its momenta in `p`)."""
        if not isinstance(body, Body) or body not in self._coordinates:
            raise InputError(f"{body!r} is not in the system")
        return self._coordinates[body]

    @property
    def constraint_names(self):
        return [f"{self.label(p)}: {name}" for p in self.parts for name in p.constraint_names]

    @property
    def nonholonomic_names(self):
        return [f"{self.label(p)}: {name}" for p in self.parts for name in p.nonholonomic_names]

    @property
    def kinks(self):
        return np.unique(np.array([t for part in self.parts for t in part.kinks], dtype=float))

    @cached_property
    def mass_scale(self):
        """Size of the mass matrix per coordinate, shape (n_q,)."""
        return np.concatenate([b.mass_scale for b in self.bodies])

    @cached_property
    def groups(self):
        places, constraint, rolling = {}, 0, 0
        for part in self.parts:
            coordinates = map(self.coordinates, part.bodies)
            q = np.concatenate([np.zeros(0, int), *(np.arange(c.start, c.stop) for c in coordinates)])
            g = np.arange(constraint, constraint + len(part.constraint_names))
            constraint += len(g)
            r = np.arange(rolling, rolling + len(part.nonholonomic_names))
            rolling += len(r)
            place = (part, np.concatenate([q, q + self.n_q]), np.concatenate([g, g + self.n_constraints]), r)
            places.setdefault(part.kind, []).append(place)
        return [PartGroup(same[0][0], *(np.array([place[i] for place in same], dtype=int) for i in (1, 2, 3)),
                          np.array([place[0].parameters for place in same]))
                for same in places.values()]

    # ---- values at given states, evaluated by CasADi's VM (post-processing and initial states only)

    @cached_property
    def _functions(self):
        return [pointwise(g.part) for g in self.groups]

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

    def velocity(self, t, z):
        """Velocities qdot = dH/dp, shape (..., n_z) -> (..., n_q)."""
        t, z, shape = self._points(t, z)
        out = np.zeros((len(z), self.n_q))
        for group, functions in zip(self.groups, self._functions, strict=True):
            if isinstance(group.part, Body):
                index = group.state_index
                velocity = evaluate(functions["velocity"], z[:, index], t, group.parameters)
                out[:, index[:, :index.shape[1] // 2]] = velocity
        return out.reshape(*shape, self.n_q)

    def generalized_energy(self, t, z, velocity):
        """Generalized energy p.v - T(q, v) + V(q, t), shapes (..., n_z), (..., n_q) -> (...) [J]; H where v = dH/dp."""
        t, z, shape = self._points(t, z)
        velocity, total = np.reshape(np.asarray(velocity, float), (len(z), self.n_q)), np.zeros(len(z))
        for group, functions in zip(self.groups, self._functions, strict=True):
            index = group.state_index
            motion = np.concatenate([z[:, index], velocity[:, index[:, :index.shape[1] // 2]]], axis=2)
            total += evaluate(functions["generalized energy"], motion, t, group.parameters).sum(axis=(1, 2))
        return total.reshape(shape)

    @cached_property
    def has_power(self):
        """Whether anything but a potential does work: forces, and what depends on time explicitly."""
        return any(f["power"] is not None or f.get("drifts") is not None for f in self._functions)

    def power(self, t, z, rate=None, multipliers=None, nonholonomic=None):
        """Power of all that is not in H, shape (..., n_z) -> (...) [W].

        `Q.qdot + dH/dt + lambda.dTheta/dt` with the partial time derivatives: forces without a potential, potentials
        and constraints that depend on time, nonholonomic constraints that prescribe a velocity. Along a motion it is
        the rate of H.

        Parameters
        ----------
        t : array_like, shape (...)
        z : array_like, shape (..., n_z)
        rate : array_like, shape (..., n_q), optional
            Velocities qdot; default `velocity(t, z)`.
        multipliers : array_like, shape (..., n_multipliers), optional
            Default: zero, which leaves out the constraints that depend on time.
        nonholonomic : array_like, shape (..., n_nonholonomic) or (..., 2 n_nonholonomic), optional
            Multipliers of nonholonomic constraints, and of their rates; those with a drift a(q, t) do work.
        """
        t, z, shape = self._points(t, z)
        total = np.zeros(len(z))
        if not self.has_power:
            return total.reshape(shape)
        rate = self.velocity(t, z) if rate is None else np.reshape(np.asarray(rate, float), (len(z), self.n_q))
        multipliers = np.zeros((len(z), self.n_multipliers)) if multipliers is None else \
            np.reshape(np.asarray(multipliers, float), (len(z), self.n_multipliers))
        for group, functions in zip(self.groups, self._functions, strict=True):
            if functions["power"] is not None:
                index = group.state_index
                motion = np.concatenate([z[:, index], rate[:, index[:, :index.shape[1] // 2]],
                                         multipliers[:, group.multiplier_index]], axis=2)
                total += evaluate(functions["power"], motion, t, group.parameters).sum(axis=(1, 2))
            if nonholonomic is not None and functions.get("drifts") is not None:
                drifts = evaluate(functions["drifts"], z[:, group.state_index], t, group.parameters)
                index = group.nonholonomic_index
                values = np.reshape(np.asarray(nonholonomic, float), (len(z), -1))
                if values.shape[1] > self.n_nonholonomic:
                    index = np.concatenate([index, index + self.n_nonholonomic], axis=1)
                total += (values[:, index] * drifts[:, :, :index.shape[1]]).sum(axis=(1, 2))
        return total.reshape(shape)

    def control_force(self, t, z, controls):
        """Generalized forces of the controls, shapes (...), (..., n_z), (..., n_controls) -> (..., n_q).

        Controls of all actuators, in the order of the parts.
        """
        t, z, shape = self._points(t, z)
        controls, out = np.reshape(np.asarray(controls, float), (len(z), -1)), np.zeros((len(z), self.n_q))
        actuators = [p for p in self.parts if p.n_controls]
        stops = dict(zip(actuators, np.cumsum([a.n_controls for a in actuators]).tolist(), strict=True))
        for group, functions in zip(self.groups, self._functions, strict=True):
            if not group.part.n_controls:
                continue
            members = [p for p in actuators if p.kind == group.part.kind]
            own = np.array([np.arange(stops[p] - p.n_controls, stops[p]) for p in members])
            values = evaluate(functions["control force"], np.concatenate([z[:, group.state_index], controls[:, own]],
                                                                         axis=2), t, group.parameters)
            half = group.state_index.shape[1] // 2
            for i, place in enumerate(group.state_index[:, :half]):
                out[:, place] += values[:, i]
        return out.reshape(*shape, self.n_q)

    def _energy(self, name, t, z, bodies=True):
        t, z, shape = self._points(t, z)
        total = np.zeros(len(z))
        for group, functions in zip(self.groups, self._functions, strict=True):
            if bodies or not isinstance(group.part, Body):
                total += evaluate(functions[name], z[:, group.state_index], t, group.parameters).sum(axis=(1, 2))
        return total.reshape(shape)

    def constraints(self, t, z):
        """Constraints on both levels, Theta = (Phi, Psi), shape (..., n_z) -> (..., 2 m)."""
        t, z, shape = self._points(t, z)
        out = np.zeros((len(z), self.n_multipliers))
        for group, functions in zip(self.groups, self._functions, strict=True):
            out[:, group.multiplier_index] = evaluate(functions["theta"], z[:, group.state_index], t, group.parameters)
        return out.reshape(*shape, self.n_multipliers)

    def derivatives(self, t, z):
        """At one state: grad H - (Q, 0) (n_z,), Jacobian of Theta (2 m, n_z), its partial time derivative (2 m,).

        The Jacobian is a SciPy CSR array. Without constraints the motion is zdot = J (grad H - (Q, 0)), Q the forces
        that have no potential.
        """
        import scipy.sparse as sp

        grad, rate = np.zeros(self.n_z), np.zeros(self.n_multipliers)
        entries = [(np.zeros(0), np.zeros(0, int), np.zeros(0, int))]
        t, z, _ = self._points(t, z)
        for group, functions in zip(self.groups, self._functions, strict=True):
            index, w = group.state_index, group.multiplier_index
            values = evaluate(functions["derivatives"], z[:, index], t, group.parameters)[0]
            g, b, r = np.split(values, [index.shape[1], values.shape[1] - w.shape[1]], axis=1)
            np.add.at(grad, index, g)
            rate[w] = r
            rows, columns = np.broadcast_arrays(w[:, None], index[:, :, None])  # column by column
            entries.append((b.ravel(), rows.ravel(), columns.ravel()))
        data, rows, columns = map(np.concatenate, zip(*entries, strict=True))
        jac = sp.csr_array((data, (rows, columns)), shape=(self.n_multipliers, self.n_z))
        jac.eliminate_zeros()
        return grad, jac, rate

    def nonholonomic(self, t, z):
        """Nonholonomic constraints A qdot + a with qdot = dH/dp, shape (..., n_z) -> (..., n_nonholonomic)."""
        t, z, shape = self._points(t, z)
        out = np.zeros((len(z), self.n_nonholonomic))
        for group, functions in zip(self.groups, self._functions, strict=True):
            if group.nonholonomic_index.size:
                out[:, group.nonholonomic_index] = evaluate(functions["velocity form"], z[:, group.state_index], t,
                                                            group.parameters)
        return out.reshape(*shape, self.n_nonholonomic)

    def nonholonomic_derivatives(self, t, z):
        """At one state: A (n, n_q), Jacobian of `nonholonomic` (n, n_z), a (n,), its partial time derivative (n,).

        The first two are SciPy CSR arrays.
        """
        import scipy.sparse as sp

        n = self.n_nonholonomic
        rates, entries = np.zeros((2, n)), [[(np.zeros(0), np.zeros(0, int), np.zeros(0, int))] for _ in range(2)]
        t, z, _ = self._points(t, z)
        for group, functions in zip(self.groups, self._functions, strict=True):
            index, w = group.state_index, group.nonholonomic_index
            if not w.size:
                continue
            values = evaluate(functions["velocity form derivatives"], z[:, index], t, group.parameters)[0]
            half, m = index.shape[1] // 2, w.shape[1]
            blocks = np.split(values, np.cumsum([m * half, 2 * m * half, m]), axis=1)
            rates[0, w], rates[1, w] = blocks[2:]
            for block, columns, list_ in zip(blocks[:2], (index[:, :half], index), entries, strict=True):
                rows, columns = np.broadcast_arrays(w[:, None], columns[:, :, None])
                list_.append((block.ravel(), rows.ravel(), columns.ravel()))
        matrices = []
        for list_, columns in zip(entries, (self.n_q, self.n_z), strict=True):
            data, rows, places = map(np.concatenate, zip(*list_, strict=True))
            matrices.append(sp.csr_array((data, (rows, places)), shape=(n, columns)))
        return *matrices, *rates

    def not_finite(self, t, z):
        """Parts whose force or constraint is NaN or infinite at a state, or at one of many: dict to the first t."""
        t, z, _ = self._points(t, z)
        found = {}
        for group, functions in zip(self.groups, self._functions, strict=True):
            values = evaluate(functions["derivatives"], z[:, group.state_index], t, group.parameters)
            members = [part for part in self.parts if part.kind == group.part.kind]
            for part, fine in zip(members, np.isfinite(values).all(axis=2).T, strict=True):
                if not fine.all():
                    found[part] = float(t[np.argmin(fine)])
        return found

    def consistent_multipliers(self, t, z):
        """Multipliers for which d/dt Theta = 0 at a consistent state, shape (2 m,).

        Solves `grad Theta J grad Theta^T lambda = -(grad Theta J grad H + dTheta/dt)`, from May & Betsch (13), together
        with the nonholonomic constraints.

        Raises
        ------
        InputError
            When the constraints are redundant there; names them.
        """
        return self._consistent(t, z)[:self.n_multipliers]

    def consistent_nonholonomic(self, t, z):
        """Multipliers of the nonholonomic constraints at a consistent state, shape (n_nonholonomic,).

        Those of A qdot + a, whose force on the coordinates is -A^T gamma. Errors as `consistent_multipliers`.
        """
        return self._consistent(t, z)[self.n_multipliers:][:self.n_nonholonomic]

    def _consistent(self, t, z):
        """Multipliers of Theta, and of the pairs (A qdot + a, its rate) of nonholonomic constraints."""
        import scipy.sparse as sp

        if not self.n_multipliers + self.n_nonholonomic:
            return np.zeros(0)
        grad, jac, rate = self.derivatives(t, z)
        if self.n_nonholonomic:
            a, derivative, drift, drift_rate = self.nonholonomic_derivatives(t, z)
            none = sp.csr_array((self.n_nonholonomic, self.n_q))
            jac = sp.vstack([jac, sp.hstack([a, none]), derivative], format="csr")
            rate = np.concatenate([rate, drift, drift_rate])
        n = self.n_q
        jac_j = sp.hstack([-jac[:, n:], jac[:, :n]])  # grad Theta J
        size = np.sqrt(jac.multiply(jac).sum(axis=1))
        scale = sp.diags_array(1 / np.where(size > 0, size, 1.0))
        solve = _regular(sp.csc_matrix(scale @ jac_j @ jac.T @ scale))
        if solve is None:
            from .redundancy import redundant_constraints

            names = redundant_constraints(self, t, z)
            if not names:
                raise InputError("the constraints are nearly redundant at the initial state: move the mechanism away "
                                 "from the singular position" +
                                 ", or remove nonholonomic constraints that repeat others" * bool(self.n_nonholonomic))
            shown = ", ".join(f"'{name}'" for name in names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
            raise InputError(f"the constraints are redundant at the initial state: {shown} can be left out, because "
                             "other constraints imply them; do so, or give System(..., redundant='drop')")
        return scale @ solve(-(scale @ (jac_j @ grad + rate)))


def _kind(part):
    """Class of a part as a user makes it, and the coordinates of its rotation."""
    name = "RigidBody" if hasattr(part, "rotation_rate") else type(part).__name__
    return f"{name}, {part.rotation}" if hasattr(part, "rotation_rate") else name


def _regular(matrix):
    """The function `b -> matrix^-1 b` of a sparse matrix; None when its condition number is 1e12 or more."""
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    try:
        lu = splu(matrix)
    except RuntimeError:  # exactly singular
        return None
    n = matrix.shape[0]
    inverse = LinearOperator((n, n), lu.solve, rmatvec=lambda b: lu.solve(b, "T"), dtype=float)
    condition = abs(matrix).sum(axis=0).max() * onenormest(inverse)
    return lu.solve if condition < 1e12 else None
