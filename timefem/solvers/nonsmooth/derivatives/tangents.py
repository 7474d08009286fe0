"""Derivatives of what happens at nodes: events, impacts, and the modes that follow, with their statuses as they are."""

from itertools import pairwise

import casadi as ca
import numpy as np
import scipy

from ....elements.part_numbers import NumberPlaces
from ....mechanics.contacts.reacting import ClosedContact, PressedForce, StruckContact
from ....mechanics.values.equations_of_motion import MotionFormulas
from ....mechanics.values.evaluate import evaluate
from ....mechanics.values.of_parts import REACTION
from ....mechanics.values.quantities import formulas_of, places_of
from ..options import RANK

VELOCITY, FORCES, IMPACT, CONTACTS = "velocity", "forces", "impact", "contacts"
INPUTS = "q", "v", "a", "gamma", "nu"


class TangentFormulas(MotionFormulas):
    """Rows of one kind of part, with their derivatives by all that they depend on.

    VELOCITY: momenta, and constraints on velocities. FORCES: the equations of motion, and constraints on accelerations.
    IMPACT: the balance of momenta, and constraints on velocities; `a` stands for the velocities before. CONTACTS: gaps,
    their rates, slips, coefficients of friction, given loads.
    """

    def rows(self, which):
        """SX vectors, one after the other."""
        if which == CONTACTS:
            laws = self.laws
            return [self.gap, self.rate_of(self.gap) if self.part.n_contacts else self.gap, self.slip, laws[:, 1],
                    laws[:, 2]]
        if which == FORCES:
            return [self.flowing_row, self.second, self.third]
        part, s = self.part, self.symbols
        held = part.constraint_force(s, self.gamma[:self.phi.numel(), 0])
        pushed = held + ca.jtimes(self.form, self.v, self.nu, True)
        if which == VELOCITY:
            return [self.momenta + pushed, self.psi, self.form]
        if isinstance(part, StruckContact):  # other forces that see those of constraints have no part in impacts
            pushed = pushed - self.rubbed
        back = part.restitution(s) if isinstance(part, StruckContact) else 0
        return [self.momenta - self._before(self.momenta) + pushed, self.psi + back * self._before(self.psi), self.form]

    def value(self, which):
        """casadi.Function of (inputs, t, parameters): the rows alone."""
        key = "value", which
        if key not in self._functions:
            rows = ca.vertcat(*(ca.densify(ca.SX(row)) for row in self.rows(which)))
            self._functions[key] = self._function(("value",), set(self.inputs), rows)
        return self._functions[key]

    def _before(self, x):
        return ca.substitute(ca.SX(x), self.v, self.a)

    def tangent(self, which):
        """casadi.Function of (inputs, t, parameters): rows, and the entries of their derivatives by q, v, a, gamma, nu,
        t and the parameters; how many rows of each sort there are, and the places of the entries."""
        key = "tangent", which
        if key not in self._functions:
            rows = [ca.densify(ca.SX(row)) for row in self.rows(which)]
            value = ca.vertcat(*rows)
            by = [ca.vertcat(*(getattr(self, name) for name in INPUTS)), self.symbols.t, self.symbols.parameters]
            tangent = ca.jacobian(value, ca.vertcat(*by))
            entries = ca.vertcat(value, *tangent.nonzeros())
            self._functions[key] = (self._function(("tangent",), set(self.inputs), entries), [r.numel() for r in rows],
                                    tangent.sparsity().get_triplet())
        return self._functions[key]


class Rows:
    """Rows of a system at one state, with their derivatives.

    Parameters
    ----------
    system : System
    which : str
        Of `TangentFormulas.rows`.

    Attributes
    ----------
    first : ndarray of int
        Where each sort of rows begins, and their number.
    columns : dict
        Name of an input -> slice of columns.
    """

    def __init__(self, system, which):
        self.system, self.which = system, which
        places, sizes = places_of(system)
        sorts = ("contacts", "contacts", "slips", "contacts", "contacts") if which == CONTACTS else \
            ("coordinates", "positions", "forms")
        self.first = np.cumsum([0, *(sizes[sort] for sort in sorts)])
        starts = np.cumsum([0, *(sizes[MotionFormulas.inputs[name]] for name in INPUTS)])
        self.columns = {name: slice(*pair) for name, pair in zip(INPUTS, pairwise(starts.tolist()), strict=True)}
        numbers, self.n_columns = NumberPlaces(system), starts[-1] + 1
        self.n_numbers, self._controls, self._groups = numbers.size, sizes["controls"], []
        self.helpers = np.concatenate([np.zeros(0, int), *(np.arange(system.n_q)[system.coordinates(b)]
                                                           for b in system.bodies if b.is_counter)])
        for i, (group, place, seen) in enumerate(zip(system.groups, places, numbers.groups, strict=True)):
            if group.part.is_counter and not group.part.is_body:
                continue
            function, counts, (r, c) = formulas_of(group.part, TangentFormulas).tangent(which)
            if not sum(counts):
                continue
            n = len(group.members)
            place = {name: np.asarray(own, int).reshape(n, -1) for name, own in place.items()}
            rows = np.hstack([self.first[k] + place[sort] if count else np.zeros((n, 0), int)
                              for k, (sort, count) in enumerate(zip(sorts, counts, strict=True))])
            inputs = np.hstack([starts[k] + place[MotionFormulas.inputs[name]] for k, name in enumerate(INPUTS)])
            controls = starts[-1] + place["controls"]
            columns = np.hstack([inputs, np.full((n, 1), starts[-1]), self.n_columns + seen])
            self._groups.append((i, function, rows, np.hstack([inputs, controls]), rows[:, r], columns[:, c]))

    def as_expressions(self, t, **inputs):
        """The rows as expressions, SX (n_rows,)."""
        x, rows = ca.SX.zeros(self.n_columns - 1 + self._controls), ca.SX.zeros(int(self.first[-1]))
        for name, value in inputs.items():
            if value.numel():
                x[self.columns[name]] = value
        for i, _, places, index, *_ in self._groups:
            group = self.system.groups[i]
            function = formulas_of(group.part, TangentFormulas).value(self.which)
            for k, parameters in enumerate(group.parameters):
                rows[places[k].tolist()] += function(x[index[k].tolist()], t, parameters)
        return rows

    def __call__(self, t, **inputs):
        """Rows (n_rows,), derivatives by the inputs and the time (n_rows, n_columns), and by the numbers, sparse."""
        x = np.zeros(self.n_columns - 1 + self._controls)
        for name, value in inputs.items():
            x[self.columns[name]] = value
        rows, entries, at = np.zeros(self.first[-1]), [np.zeros(0)], [np.zeros((2, 0), int)]
        for i, function, places, index, r, c in self._groups:
            out = evaluate(function, x[None, index], np.full(1, float(t)), self.system.groups[i].parameters)[0]
            n = places.shape[1]
            np.add.at(rows, places, out[:, :n])
            entries.append(out[:, n:].ravel())
            at.append(np.stack([r.ravel(), c.ravel()]))
        every = scipy.sparse.csc_array((np.concatenate(entries), np.concatenate(at, axis=1)),
                                       shape=(len(rows), self.n_columns + self.n_numbers))
        return rows, every[:, :self.n_columns].toarray(), every[:, self.n_columns:]


class Solve:
    """What follows from rows that vanish, differentiated: `R(u, q, before, t, c) = 0`, u the first unknowns.

    Parameters
    ----------
    unknowns, by_q, by_before : ndarray
        Derivatives of the rows by the unknowns, the coordinates and what was before.
    by_t : ndarray, shape (n_rows,)
    by_numbers : sparse array
        By the numbers of the system with contacts.
    """

    def __init__(self, unknowns, by_q, by_before, by_t, by_numbers):
        size = np.sqrt(np.abs(unknowns).max(axis=1, initial=0.0))
        scale = 1 / np.where(size > 0, size, 1.0)
        self._inverse = -scale[:, None] * _inverse(scale[:, None] * unknowns * scale) * scale
        self.by = by_q, by_before, by_t, by_numbers

    def forward(self, dq, before, dt, numbers):
        """Changes of all unknowns, columns."""
        by_q, by_before, by_t, by_numbers = self.by
        return self._inverse @ (by_q @ dq + by_before @ before + np.outer(by_t, dt) + by_numbers @ numbers)

    def size(self, dq, before, numbers):
        """Sums of the absolute values of what `forward` adds."""
        by_q, by_before, _, by_numbers = map(abs, self.by)
        return abs(self._inverse) @ (by_q @ abs(dq) + by_before @ abs(before) + by_numbers @ abs(numbers))

    def backward(self, gradient):
        """Gradients by coordinates, what was before, time and numbers, from that by the first of the unknowns."""
        rows = gradient @ self._inverse[:len(gradient)]
        return [rows @ by for by in self.by]


def numbers_of(system, base):
    """Which numbers of a system of one mode are those of the system with contacts, sparse (n_own, n_base)."""
    own, every = NumberPlaces(system), NumberPlaces(base)
    i, j = [np.zeros(0, int)], [np.zeros(0, int)]
    for part, start in own.start.items():
        sources = part.numbers_from if isinstance(part, ClosedContact | PressedForce) else {
            part: slice(0, len(part.own_parameters))}
        for source, at in sources.items():
            if source in every.start:
                i.append(start + np.arange(at.start, at.stop))
                j.append(every.start[source] + np.arange(at.stop - at.start))
    i, j = np.concatenate(i), np.concatenate(j)
    return scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(own.size, every.size))


def velocity_solve(rows, t, q, v, numbers):
    """Velocities that follow from momenta, and the derivatives of momenta by coordinates, velocities and numbers."""
    _, by, by_numbers = rows(t, q=q, v=v)
    n, columns = len(q), rows.columns
    momenta = by[:n, columns["q"]].copy(), by[:n, columns["v"]].copy(), by_numbers[:n] @ numbers
    unknowns = _unknowns(by, columns, ("v", "gamma", "nu"))
    _let_helpers(rows.helpers, by, unknowns, n)
    before = np.zeros((len(by), n))
    before[np.arange(n), np.arange(n)] = -1.0
    before[rows.helpers] = 0.0
    return Solve(unknowns, by[:, columns["q"]], before, by[:, -1], by_numbers @ numbers), momenta


def impact_solve(rows, t, q, before, after, numbers):
    """Velocities after an impact, whose impulses are found again.

    Returns
    -------
    solve : Solve
    found : ndarray
        Velocities after it, and all impulses.
    """
    n, columns = len(q), rows.columns
    m, k = (columns[name].stop - columns[name].start for name in ("gamma", "nu"))
    x = np.concatenate([after, np.zeros(m + k)])
    for _ in range(4):  # linear but for directions of slips
        own = {"v": x[:n], "gamma": x[n:n + m], "nu": x[n + m:]}
        found, by, by_numbers = rows(t, q=q, a=before, **own)
        unknowns = _unknowns(by, columns, ("v", "gamma", "nu"))
        _let_helpers(rows.helpers, by, unknowns, n)
        found[rows.helpers] = x[rows.helpers] - before[rows.helpers]
        by_before = by[:, columns["a"]]
        by_before[rows.helpers] = 0.0
        by_before[rows.helpers, rows.helpers] = -1.0
        solve = Solve(unknowns, by[:, columns["q"]], by_before, by[:, -1], by_numbers @ numbers)
        x = x + solve._inverse @ found
    return solve, x


def force_solve(rows, t, q, v, numbers):
    """Accelerations, normal forces and friction in a mode: their `Solve`, which is by velocities as what was before."""
    columns, n = rows.columns, len(q)
    x, change = np.zeros(columns["nu"].stop - 2 * n), np.inf
    for _ in range(REACTION.iterations):  # linear but for forces that depend on others
        own = {"a": x[:n], "gamma": x[n:columns["gamma"].stop - 2 * n], "nu": x[columns["nu"].start - 2 * n:]}
        found, by, by_numbers = rows(t, q=q, v=v, **own)
        unknowns = _unknowns(by, columns, ("a", "gamma", "nu"))
        by_v = by[:, columns["v"]]
        for block in (by, by_v, unknowns):
            block[rows.helpers] = 0.0
        unknowns[rows.helpers, rows.helpers] = 1.0
        found[rows.helpers] = x[rows.helpers]
        solve = Solve(unknowns, by[:, columns["q"]], by_v, by[:, -1], by_numbers @ numbers)
        step = solve._inverse @ found
        x, last, change = x + step, change, np.abs(step).max(initial=0.0)
        size = np.abs(x).max(initial=0.0)
        if change <= REACTION.rounding * size or (change <= REACTION.small * size and change >= last / 2):
            break
    return solve, x


def _unknowns(by, columns, names):
    return np.hstack([by[:, columns[name]] for name in names])


def _let_helpers(helpers, by, unknowns, n):
    """Counters of turns have velocities of their own: as if of mass one."""
    by[helpers] = 0.0
    unknowns[helpers, :n] = 0.0
    unknowns[helpers, helpers] = 1.0


def _inverse(matrix):
    """Of a square matrix; the pseudoinverse where rows repeat each other."""
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        found = None
    if found is None or not np.abs(found).max(initial=0.0) * np.abs(matrix).max(initial=0.0) < 1 / RANK.dependent:
        return np.linalg.pinv(matrix, rcond=RANK.dependent)
    return found
