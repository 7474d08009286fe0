"""Conditions at the end of an optimal control problem, reduced to what the constraints leave open."""

import casadi as ca
import numpy as np
import scipy

from ...errors import InputError
from ...mechanics import CanonicalState, Coordinates, Pose
from ...mechanics.formula import call_vector, check_symbols
from ...mechanics.formula_text import as_formula
from ..common.carried_targets import QUANTITIES, asked_of, split_targets
from ..common.conditions import independent_combinations, least_norm_search
from ..common.end import End
from ..common.end_state import INDEPENDENT, EndState, body_velocity
from ..common.targets import targets_of_bodies

ATTEMPTS, STEPS = 3, 8  # searches of a state, and on the way to it where joints have to stay closed


class EndConditions:
    """Conditions c(z, t) = 0 at the end, reduced to what the constraints of the system leave open.

    Of n conditions those combinations are kept that are independent along the motions that the constraints allow at a
    state which satisfies both: with the basis T of these directions, the left singular vectors of dc/dz T.

    Parameters
    ----------
    system : System
    targets : dict
        Body -> `EndState`, `Pose`, `Coordinates` or `CanonicalState`.
    formula : callable or str, optional
        `formula(end, parameters)` -> expressions that are zero, in CasADi symbols (see `OptimalControl`).
    at_end : callable
        `at_end(z, numbers)` -> the end in symbols, and the dict of unknown numbers, as arguments of `formula`.
    t : float
        Time of the end (a guess, where it is free) [s].
    z : ndarray, shape (n_z,)
        Where the search for a state at the end starts from.
    numbers : ndarray
        Guesses of the unknown numbers.
    which : {"end", "start"}
        For messages.

    Attributes
    ----------
    names : list of str
        What each of the n conditions asks for.
    state : ndarray, shape (n_z,)
        A state that satisfies conditions and constraints.
    combinations : ndarray, shape (n_kept, n)
    tangent : ndarray, shape (n_z, freedom)
        Basis of the changes of scaled states that the constraints allow there.
    freedom : int
        Dimension of the states that the constraints allow, twice the degrees of freedom.

    Raises
    ------
    InputError
        For bodies, lengths and types that do not fit, and conditions that contradict each other or the constraints.
    """

    def __init__(self, system, targets, formula, at_end, t, z, numbers=(), which="end"):
        self.system, self.names, self.numbers, self._which = system, [], np.asarray(numbers, float), which
        symbols = z_symbol, c = ca.SX.sym("z", system.n_z), ca.SX.sym("numbers", len(self.numbers))
        rows, z, before = [], z.copy(), z
        for body, target in self._checked(targets, t).items():
            rows += self._of_body(body, target, z_symbol, z)
        if formula is not None:
            formula = as_formula("end_conditions", formula, ["end", "parameters"])
            values = call_vector("end_conditions", formula, *at_end(z_symbol, c))
            check_symbols("end_conditions", values, *symbols)
            rows.append(values)
            self.names += [f"end_conditions[{i}]" for i in range(values.numel())]
        rows = ca.densify(ca.vertcat(ca.SX(0, 1), *rows))
        self.function = ca.Function("end_conditions", symbols, [rows])
        self._derivative = ca.Function("gradient", symbols, [ca.densify(ca.jacobian(rows, ca.vertcat(*symbols)))])
        self._size = system.state_scale
        self.state = self._search(self._followed(before, z, t), t)
        self._reduce(t)

    def _checked(self, targets, t):
        if not isinstance(targets, dict):
            raise InputError(f"{self._which} must be a dict from body to EndState, Pose or Coordinates, not "
                             f"{targets!r}")
        targets, carried = split_targets(self.system, self._which, targets)
        out = {}
        for body, target in targets_of_bodies(self.system, self._which, targets, t).items():
            body = self.system.find(body)
            label = self.system.label(body)
            generalized = not body.has_position
            known = (EndState, Coordinates, CanonicalState) if generalized else (EndState, Pose, CanonicalState)
            if isinstance(target, dict) and hasattr(body, "by_joint"):
                target = body.by_joint(target)
            if not isinstance(target, known):
                words = " or ".join(c.__name__ for c in known)
                raise InputError(f"{self._which} of {label} must be given as {words}, not {target!r}")
            if isinstance(target, CanonicalState):
                if len(target.q) != body.n_q:
                    raise InputError(f"{self._which} of {label}: q and p must have length {body.n_q}, not "
                                     f"{len(target.q)}")
            else:
                target = target if isinstance(target, EndState) else EndState.of(target)
                self._check_fields(body, label, target)
            out[body] = target
        return out | carried

    def _check_fields(self, body, label, target):
        given = [name for name in ("position", "orientation", "velocity", "angular_velocity", "q", "v")
                 if getattr(target, name) is not None]
        if not body.has_position:
            wrong = [name for name in given if name not in ("q", "v")]
        else:
            wrong = [name for name in given if name in ("q", "v")]
            if not body.has_orientation:  # a Pose has an orientation, which says nothing of a point
                wrong += [name for name in given if name == "angular_velocity" and np.any(target.angular_velocity)]
        if wrong:
            raise InputError(f"{self._which} of {label}: {body!r} has no {wrong[0].replace('_', ' ')}")
        for name in ("q", "v"):
            value = getattr(target, name)
            if value is not None and len(value) != body.n_q:
                raise InputError(f"{self._which} of {label}: {name} must have length {body.n_q}, not {len(value)}")

    def _of_body(self, body, target, z_symbol, z):
        """Rows of a body; its part of `z` is set to the target where that is plain."""
        if body.carrier is not None:
            return self._of_carried(body, target, End(self.system, None, z_symbol, {}), z)
        label, n, s = self.system.label(body), self.system.n_q, self.system.coordinates(body)
        q, p = z_symbol[s], z_symbol[n + s.start:n + s.stop]
        # without an inverse mass matrix velocities are asked for by their momenta, p = dT/dv
        v = body_velocity(body, q, p) if body.has_inverse_mass else None
        rows = []

        def ask(what, values, wanted):
            wanted = np.asarray(wanted, float)
            given = np.flatnonzero(np.isfinite(wanted))
            rows.append(ca.vertcat(ca.SX(0, 1), *(values[int(i)] - wanted[i] for i in given)))
            self.names.extend(f"{what} of {label}" for _ in given)

        if isinstance(target, CanonicalState):
            ask("coordinates", q, target.q)
            ask("momenta", p, target.p)
            z[s], z[n + s.start:n + s.stop] = target.q, target.p
            return rows
        for what, value, of in (("position", target.position, q), ("velocity", target.velocity, v),
                                ("coordinates", target.q, q), ("velocities", target.v, v)):
            if value is None:
                continue
            if of is None and body.has_position:
                of = p[:body.dimension] / body.mass
            elif of is None:
                if not np.isfinite(value).all():
                    raise InputError(f"{self._which} of {label}: velocities must be given all together, or none, not "
                                     f"{np.asarray(value).tolist()}")
                ask(what, p - _momenta(body, q, ca.DM(value)), np.zeros(body.n_q))
                continue
            value = value[:body.dimension] if what in ("position", "velocity") else value
            ask(what, of, value)
            if of is q:
                z[s][:len(value)] = np.where(np.isfinite(value), value, z[s][:len(value)])
        if not body.has_orientation:
            return rows
        if target.orientation is not None:
            wanted = body.rotation_coordinates(target.orientation)
            ask("orientation", q[3:], wanted)
            z[s][3:] = wanted
        if target.angular_velocity is not None and v is None:
            omega = np.asarray(target.angular_velocity, float)
            if not np.isfinite(omega).all():
                raise InputError(f"{self._which} of {label}: the angular velocity must be given as a whole, or not at "
                                 f"all, not {omega.tolist()}")
            turn = body.frame(q)[1] if target.frame == "body" else ca.SX.eye(3)
            rate = ca.vertcat(ca.SX.zeros(3), body.rotation_rate(q[3:]) @ (turn @ ca.DM(omega)))
            ask("angular velocity", (p - _momenta(body, q, rate))[3:], np.zeros(body.n_q - 3))
        elif target.angular_velocity is not None:
            omega = body.angular_velocity_map(q) @ v
            ask("angular velocity", body.frame(q)[1].T @ omega if target.frame == "body" else omega,
                target.angular_velocity)
        return rows

    def _of_carried(self, body, target, end, z):
        """Rows of a link or joint of a tree."""
        rows = []
        for what, wanted in asked_of(body, target).items():
            given = np.flatnonzero(np.isfinite(wanted))
            rows.append(QUANTITIES[what](end, body, target.frame)[given.tolist()] - ca.DM(wanted[given]))
            self.names += [f"{what} of {self.system.label(body)}"] * len(given)
            if what == "coordinates":
                z[self.system.coordinates(body)[given]] = wanted[given]
        return rows

    def _values(self, z, t, numbers):
        """Constraints and conditions, their Jacobian in scaled states, and that by the unknown numbers."""
        theta, jacobian = self.system.constraints(t, z), self.system.derivatives(t, z)[1].toarray()
        if self.system.n_nonholonomic:
            theta = np.concatenate([theta, self.system.nonholonomic(t, z)])
            jacobian = np.vstack([jacobian, self.system.nonholonomic_derivatives(t, z)[1].toarray()])
        own, derivative = self.function(z, numbers), self._derivative(z, numbers)
        values = np.concatenate([theta, np.array(own).ravel()])
        derivative = np.array(derivative).reshape(-1, len(z) + len(numbers))
        by_numbers = np.vstack([np.zeros((len(theta), len(numbers))), derivative[:, len(z):]])
        return values, np.vstack([jacobian, derivative[:, :len(z)]]) * self._size, by_numbers

    def _followed(self, before, z, t):
        """Where the search starts, shape (n_z,): z, or the state before, moved in steps to what is asked for.

        So do trees with constraints, whose joints then stay closed as they are: a `Weld` can close in other ways.
        """
        system, at = self.system, before
        if not (self.names and system.n_constraints and any(hasattr(body, "by_joint") for body in system.bodies)):
            return z
        first = np.array(self.function(before, self.numbers)).ravel()
        for left in np.linspace(1, 0, STEPS + 1)[1:]:
            def evaluate(x, left=left):
                values, jacobian, _ = self._values(x, t, self.numbers)
                values[len(values) - len(first):] -= left * first
                return values, jacobian

            at, violated = least_norm_search(evaluate, at, self._size, lambda x: 1.0)
            if violated is not None:
                return z
        return at

    def _search(self, z, t):
        """A state near `z` that satisfies constraints and conditions: Gauss-Newton steps of least norm.

        From another place near by where that fails, for conditions can have no gradient at `z`.
        """
        rng, start, found, first = np.random.default_rng(0), z, None, None
        unit = np.maximum(np.abs(self.numbers), 1e-6)
        numbers = self.numbers
        for _ in range(ATTEMPTS):
            found, numbers, fault = self._searched(start, numbers, unit, t)
            if fault is None:
                self.numbers = numbers
                return found
            first = first or fault
            start, numbers = z + 0.1 * self._size * rng.standard_normal(len(z)), self.numbers
        raise InputError(f"no state at the {self._which} satisfies all conditions and constraints: {first}; leave "
                         "out what contradicts the rest")

    def _searched(self, z, numbers, unit, t):
        """State, unknown numbers, and what they violate."""
        names = [f"the constraint '{name}'" for name in
                 (*self.system.constraint_names, *self.system.constraint_names, *self.system.nonholonomic_names)]
        names, n = names + self.names, len(z)

        def evaluate(x):
            values, jacobian, by_numbers = self._values(x[:n], t, x[n:])
            return values, np.hstack([jacobian, by_numbers * unit])

        x, violated = least_norm_search(evaluate, np.concatenate([z, numbers]), np.concatenate([self._size, unit]),
                                        lambda x: 1.0)
        fault = None if violated is None else f"{names[violated[0]]} stays violated by {violated[1]:.3g}"
        return x[:n], x[n:], fault

    def _reduce(self, t):
        _, jacobian, by_numbers = self._values(self.state, t, self.numbers)
        m = len(jacobian) - len(self.names)
        own = np.hstack([jacobian[m:], by_numbers[m:]])
        self.tangent = tangent = _null_space(jacobian[:m])
        self.freedom = tangent.shape[1]
        weight = 1 / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-300)
        along = np.hstack([own[:, :len(tangent)] @ tangent, own[:, len(tangent):]])
        self.combinations = independent_combinations(weight * along) * weight[:, 0]
        gradient = np.linalg.norm(self.combinations @ own, axis=1, keepdims=True)
        self.combinations = self.combinations / np.maximum(gradient, 1e-300)  # rows of unit gradient

    def __call__(self, z, numbers):
        """The conditions that are kept, in CasADi symbols."""
        if not len(self.combinations):
            return ca.SX(0, 1)
        return ca.sparsify(ca.DM(self.combinations)) @ self.function(z, numbers)


def _momenta(body, q, rates):
    """p = dT/dv, of bodies without an inverse mass matrix."""
    v = ca.SX.sym("v", body.n_q)
    momenta = ca.gradient(body.kinetic_of_velocity(q, v, body.own_parameters), v)
    return ca.substitute(momenta, v, ca.SX(rates))


def _null_space(constraints):
    norm = np.maximum(np.linalg.norm(constraints, axis=1, keepdims=True), 1e-300)
    return scipy.linalg.null_space(constraints / norm, rcond=INDEPENDENT) if len(norm) else np.eye(constraints.shape[1])
