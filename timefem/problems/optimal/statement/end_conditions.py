"""Conditions at the end of an optimal control problem, reduced to what the constraints leave open."""

from copy import copy
from functools import partial

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.bodies.generalized_body import general_position
from ....mechanics.values.at_start import constraints_at
from ....mechanics.values.conserved import names_at_rest
from ....mechanics.values.of_parts import nonholonomic_derivatives, nonholonomic_off
from ...end import INDEPENDENT, lengths_of_rows, null_space, reduced, search, unit_rows
from ...prescribed import ConditionFormulas, constraints_by_numbers, filled_in, prescribed
from ...targets import checked_targets
from ..guesses.paths import carried
from ..options import OPTIONS
from .limits import Limit


class EndConditions:
    """Conditions c(z, t) = 0 at the end, reduced to what the constraints of the system leave open.

    Lengths of quaternions of trees, which rest, count as constraints.

    Of n conditions those combinations are kept that are independent along the motions that the constraints allow at a
    state which satisfies both: with the basis T of these directions, the left singular vectors of dc/dz T.

    Parameters
    ----------
    system : System
    targets : dict, or state of the only body
        Body -> `EndState`, `Pose`, `Coordinates` or `CanonicalState`.
    formula : (callable, str or None, callable)
        `formula(end, parameters)` -> expressions that are zero, in CasADi symbols (see `OptimalControl`); and
        `at_end(z, numbers)` -> the `End` in symbols, and the dict of unknown numbers, as arguments of it.
    t : float
        Time of the end (a guess, where it is free) [s].
    z : ndarray, shape (n_z,)
        Where the search for a state at the end starts from.
    numbers : ndarray
        Guesses of the unknown numbers.
    which : {"end", "start"}
        For messages.
    known : ConditionFormulas, optional
        Of other conditions of the same time span, which are taken where these differ from them in numbers only.

    Attributes
    ----------
    formulas : ConditionFormulas
    wanted : ndarray
        What these take besides the state and the unknown numbers.
    names : list of str
        What each of the n conditions asks for.
    state : ndarray, shape (n_z,)
        A state that satisfies conditions and constraints.
    combinations : ndarray, shape (n_kept, n)
    tangent : ndarray, shape (n_z, freedom)
        Basis of the changes of scaled states that the constraints allow there.
    freedom : int
        Dimension of the states that the constraints allow: twice the degrees of freedom, less what nothing changes.

    Raises
    ------
    InputError
        For bodies, lengths and types that do not fit, and conditions that contradict each other or the constraints.
    """

    _at_start = np.zeros(0)

    def __init__(self, system, targets, formula, t, z, numbers=(), which="end", known=None):
        self.system, self.numbers, self._which = system, np.asarray(numbers, float), which
        asked = [one for body, target in checked_targets(system, which, targets, t, rates=True).items()
                 for one in prescribed(body, target)]
        same = ConditionFormulas.key_of(system, asked, formula[0], len(self.numbers))
        self.formulas = known if known is not None and known.key == same else \
            ConditionFormulas(same, system, asked, *formula)
        self._constraints = constraints_by_numbers(system, formula[1], len(self.numbers))
        self.names, self.wanted, self._size = self.formulas.names, _values(asked), system.state_scale
        z, before = filled_in(system, asked, z), z
        self._find(self._followed(before, carried(system, before, z), t), t)

    def with_conserved(self, start, t0, t):
        """The same, where some conditions repeat what nothing changes, such as momenta, which count as constraints.

        Parameters
        ----------
        start : ndarray, shape (n_z,)
            The state at the start, of a system without unknown numbers.
        t0, t : float
            Times of the start and of the end [s].

        Raises
        ------
        InputError
            Where conditions ask for the contrary.
        """
        other = copy(self)
        if len(self.combinations):
            other._at_start = self.formulas.conserved_since(t0, start)
        try:
            if len(other._at_start) and other._repeat(t):
                other._find(self.state, t)
        except InputError:
            other._refuse_the_contrary(t)
        return self if len(other.combinations) == len(self.combinations) else other

    def _repeat(self, t):
        """Whether some of the conditions that are kept follow from constraints and what nothing changes, at the state.
        """
        _, *both = self.with_constraints(self.state, t, self.numbers)
        both, stop = np.hstack(both), len(both[0]) - len(self.names)
        left = self.combinations @ both[stop:] @ null_space(unit_rows(both[:stop]))
        return np.linalg.matrix_rank(left, INDEPENDENT) < len(left)

    def _refuse_the_contrary(self, t):
        """Refuse conditions by which, to first order, something that nothing changes has another value than at the
        start, in any duration."""
        values, jacobian, by_numbers = self.with_constraints(self.state, t, self.numbers)
        both, first = np.hstack([jacobian, by_numbers]), len(values) - len(self.names) - len(self._at_start)
        timeless = [i for i in range(len(self._at_start)) if not by_numbers[first + i].any()]
        own = np.array(timeless, int) + first
        size = np.maximum(lengths_of_rows(both[own]), 1e-300)
        left = both[own] @ null_space(np.delete(both, own, axis=0)) / size[:, None]
        vectors, moved, _ = np.linalg.svd(left)
        told = vectors[:, np.count_nonzero(moved > INDEPENDENT):]
        wrong = told @ (told.T @ (values[own] / size))
        missed, at = np.abs(wrong), np.append(self.state / self._size, self.numbers)
        terms = np.abs(both[own]) @ np.abs(at) / size
        if missed.max(initial=0.0) > OPTIONS.contrary * terms.max(initial=0.0):
            first = int(np.argmax(missed >= (1 - INDEPENDENT) * missed.max()))  # of several that say the same
            name = self.formulas.names_of_conserved[timeless[first]]
            raise InputError(f"the end cannot be reached: no actuator moves the {name}, which is to differ from what "
                             "follows from the start; leave it out of `end`, or add an actuator") from None

    def values(self, z, numbers):
        """All conditions at a state, shape (n,)."""
        return np.array(self.formulas.function(z, numbers, self.wanted)).ravel()

    def missed(self, z, numbers):
        """By how much a state misses each of the conditions, over its gradient by scaled states, shape (n,).

        A quaternion of the other sign is the same orientation.
        """
        values, gradient = self.formulas.with_gradient(z, numbers, self.wanted)
        for _, rows, other in self._by_the_other_sign(values):
            values[rows] = other
        size = np.linalg.norm(gradient[:, :len(z)] * self._size, axis=1)
        return np.abs(values) / np.maximum(size, 1e-300)

    def turned_otherwise(self, z, numbers):
        """Names of orientations that a state meets by the other sign of the quaternion that is asked for."""
        return [name for name, *_ in self._by_the_other_sign(self.values(z, numbers))]

    def _by_the_other_sign(self, values):
        """Of orientations of whose values the negative quaternion is nearer: the name, rows, and values for that."""
        wanted = np.append(self.wanted, np.zeros(len(values) - len(self.wanted)))
        for name in {name for name in self.names if name.startswith("orientation of ")}:
            rows = [i for i, other in enumerate(self.names) if other == name]
            other = values[rows] + 2 * wanted[rows]
            if np.abs(other).max() < np.abs(values[rows]).max():
                yield name, rows, other

    def reduced_near(self, z, t, numbers):
        """The same conditions, of which those are kept that are independent near another state.

        Raises
        ------
        InputError
            Where no state near that one holds them.
        """
        other = copy(self)
        other.numbers = np.asarray(numbers, float)
        other._find(z, t)
        return other

    def with_constraints(self, z, t, numbers):
        """Constraints and conditions, their Jacobian in scaled states, and that by the unknown numbers."""
        theta, jacobian = self.implied(z, t, numbers)
        own, derivative = self.formulas.with_gradient(z, numbers, self.wanted)
        both = np.zeros((len(theta) + len(own), len(z) + len(numbers)))
        both[:len(theta), :jacobian.shape[1]], both[len(theta):] = jacobian, derivative
        return np.concatenate([theta, own]), both[:, :len(z)] * self._size, both[:, len(z):]

    def implied(self, z, t, numbers):
        """Constraints and what nothing changes, and their Jacobian by the state, and by unknown numbers where these
        enter them."""
        if self._constraints is not None:
            theta, jacobian = (np.array(x) for x in self._constraints(z, numbers))
            return theta.ravel(), jacobian
        theta, jacobian = np.zeros(0), np.zeros((0, len(z)))
        if self.system.n_constraints:
            theta, jacobian, _ = constraints_at(self.system, t, z)
            jacobian = jacobian if isinstance(jacobian, np.ndarray) else jacobian.toarray()
        if self.system.n_nonholonomic:
            theta = np.concatenate([theta, self.system.nonholonomic(t, z)])
            jacobian = np.vstack([jacobian, nonholonomic_derivatives(self.system, t, z)[1].toarray()])
        if self.formulas.lengths is not None:
            lengths, own = (np.array(x) for x in self.formulas.lengths(z))
            theta, jacobian = np.append(theta, lengths), np.vstack([jacobian, own])
        if len(self._at_start):
            values, own = (np.array(x) for x in self.formulas.conserved(z, numbers))
            seen = lengths_of_rows(own[:, :len(z)] * self._size) > OPTIONS.unseen * self._of_conserved(z, numbers)
            values, own = values.ravel() * seen, own * seen[:, None]
            before = np.zeros((len(theta), own.shape[1] - len(z)))
            theta = np.append(theta, values - self._at_start * seen)
            jacobian = np.vstack([np.hstack([jacobian, before]), own])
        return theta, jacobian

    def constants(self, t, n):
        """Function x -> sizes of the terms of nonholonomic constraints among n conditions, with constants, and zero of
        others; None where there are none."""
        first, more = 2 * self.system.n_constraints, self.system.n_nonholonomic

        def sizes(x):
            out = np.zeros(n)
            out[first:first + more] = nonholonomic_off(self.system, t, x[:2 * self.system.n_q])[1]
            return out

        return sizes if more else None

    def _of_conserved(self, z, numbers):
        """Lengths of the gradients of what nothing changes where coordinates and momenta as large are in general
        position."""
        n = len(z) // 2
        largest = np.repeat([np.abs(part / size).max() for part, size in ((z[:n], self._size[:n]),
                                                                          (z[n:], self._size[n:]))], n)
        elsewhere = np.array(self.formulas.conserved(self._size * largest * general_position(2 * n), numbers)[1])
        return lengths_of_rows(elsewhere[:, :2 * n] * self._size)

    def _followed(self, before, z, t):
        """Where the search starts, shape (n_z,): z, or the state before, moved in steps to what is prescribed.

        So do trees with constraints, whose joints then stay closed as they are: a `Weld` can close in other ways.
        """
        system, at = self.system, before
        if not (self.names and system.n_constraints and any(hasattr(body, "by_joint") for body in system.bodies)):
            return z
        first = self.values(before, self.numbers)
        for left in np.linspace(1, 0, OPTIONS.end_steps + 1)[1:]:
            def evaluate(x, left=left):
                values, jacobian, _ = self.with_constraints(x, t, self.numbers)
                values[len(values) - len(first):] -= left * first
                return values, jacobian

            at, violated, _ = search(evaluate, at, self._size, lambda x: 1.0)
            if violated is not None:
                return z
        return at

    def _find(self, z, t):
        """Take a state near `z` that satisfies constraints and conditions, by Gauss-Newton steps of least norm, and the
        combinations that are independent there.

        From another place near by where that fails, for conditions can have no gradient at `z`.
        """
        rng, start, first = None, z, None
        unit = np.maximum(np.abs(self.numbers), 1e-6)
        numbers = self.numbers
        for _ in range(OPTIONS.end_searches):
            found, numbers, gradients, fault = self._searched(start, numbers, unit, t)
            if fault is None:
                self.state, self.numbers = found, numbers
                return self._reduce(*gradients)
            first, rng = first or fault, rng or np.random.default_rng(0)
            start = z + 0.1 * self._size * rng.standard_normal(len(z))
            numbers = self.numbers * rng.uniform(0.5, 1.5, len(self.numbers))  # a duration may be far from its guess
        raise InputError(f"no state at the {self._which} satisfies all conditions and constraints: {first}; leave "
                         "out what contradicts the rest")

    def _searched(self, z, numbers, unit, t):
        """State, unknown numbers, Jacobians by both there, and what they violate."""
        names = [f"the constraint '{name}'" for name in
                 (*self.system.constraint_names, *self.system.constraint_names, *self.system.nonholonomic_names)]
        names, n = [*names, *names_at_rest(self.system), *self.formulas.names_of_conserved[:len(self._at_start)],
                    *self.names], len(z)

        def evaluate(x):
            values, jacobian, by_numbers = self.with_constraints(x[:n], t, x[n:])
            return values, np.hstack([jacobian, by_numbers * unit]), jacobian, by_numbers

        x, violated, (_, _, *gradients) = search(
            evaluate, np.concatenate([z, numbers]), np.concatenate([self._size, unit]), lambda x: 1.0,
            constants=self.constants(t, len(names)))
        fault = None if violated is None else f"{names[violated[0]]} " + (
            f"stays violated by {violated[1]:.3g}" if np.isfinite(violated[1]) else "is not finite there")
        return x[:n], x[n:], gradients, fault

    def _reduce(self, jacobian, by_numbers):
        m, both = len(jacobian) - len(self.names), np.hstack([jacobian, by_numbers])
        self.tangent = null_space(unit_rows(jacobian[:m]))
        self.freedom = self.tangent.shape[1]
        (combinations,), _ = reduced(both[m:], both[:m], [self.tangent], [np.arange(len(self.names))])
        gradient = lengths_of_rows(combinations @ both[m:])[:, None]
        self.combinations = combinations / np.maximum(gradient, 1e-300)  # rows of unit gradient

    def jacobian(self, t):
        """Of constraints and all conditions at the state, by scaled states, shape (..., n_z)."""
        return self.with_constraints(self.state, t, self.numbers)[1]

    def __call__(self, z, numbers):
        """The conditions that are kept, in CasADi symbols."""
        if not len(self.combinations):
            return ca.SX(0, 1)
        return ca.sparsify(ca.DM(self.combinations)) @ self.formulas.function(z, numbers, self.wanted)


def _values(asked):
    """The numbers that are asked for, one behind the other."""
    return np.concatenate([np.zeros(0), *(one.values for one in asked)])


def with_allowed_ends(phases):
    """Phases with guesses that end where limits at their ends allow; None where all do so already, or none is found."""
    moved = [phase.kept.thing("towards limits", phase, partial(towards_limits, phase)) for phase in phases]
    return [new or old for new, old in zip(moved, phases, strict=True)] if any(moved) else None


def towards_limits(phase):
    """The problem with its guess of the end, and what its conditions are reduced to, at a state that its limits at the
    end allow.

    None where the state at hand does so already, and where none is found.
    """
    conditions, t1 = phase.conditions, phase.t_span[1]
    rows = _rows(phase, t1)
    if rows is None:
        return None
    function, lower, upper = rows
    numbers, n, rng = conditions.numbers, len(conditions.state), np.random.default_rng(0)

    def broken(values):
        return np.maximum(lower - values, 0) - np.maximum(values - upper, 0)  # what is missing

    def evaluate(z):
        values, jacobian, _ = conditions.with_constraints(z, t1, numbers)
        of_limits, gradient = (np.array(x) for x in function(z, numbers))
        missing = broken(of_limits.ravel())
        gradient = np.where(missing[:, None] != 0, gradient, 0.0) * phase.system.state_scale
        return np.append(values, -missing), np.vstack([jacobian, gradient])

    if not (np.abs(broken(np.array(function(conditions.state, numbers)[0]).ravel())) > OPTIONS.limit_met).any():
        return None
    n_rows = len(evaluate(conditions.state)[0])
    for k in range(OPTIONS.limit_searches):
        start = conditions.state + k * OPTIONS.limit_spread * phase.system.state_scale * rng.standard_normal(n)
        z, violated, _ = search(evaluate, start, phase.system.state_scale, lambda z: 1.0,
                                constants=conditions.constants(t1, n_rows))
        if violated is None:
            try:
                return phase.with_conditions(conditions.reduced_near(z, t1, numbers))
            except InputError:
                continue
    return None


def _rows(phase, t):
    """Function (z, numbers) -> values and gradients of the limits of the end that see no controls, and their bounds;
    None where there are none."""
    z, c, u = (ca.SX.sym(name, n) for name, n in (("z", phase.system.n_z), ("numbers", len(phase.guesses)),
                                                  ("u", phase.n_controls)))
    now, found = phase.now(z, ca.SX(t), c, u), []
    for limit in phase.limits:
        if isinstance(limit, Limit) and limit.at == "end":
            values, *bounds = limit.rows(now, u)
            found += [own for own in zip(ca.vertsplit(values), *bounds, strict=True) if not ca.depends_on(own[0], u)]
    if not found:
        return None
    values, lower, upper = zip(*found, strict=True)
    rows = ca.densify(ca.vertcat(*values))
    return ca.Function("limits", [z, c], [rows, ca.densify(ca.jacobian(rows, z))]), np.array(lower), np.array(upper)
