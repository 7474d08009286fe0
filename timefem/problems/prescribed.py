"""What is prescribed at an end of a motion: quantities of bodies, links and joints, their expressions, and conditions
by formulas, which take as numbers what is prescribed."""

from __future__ import annotations

from collections.abc import Hashable
from math import isfinite
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..kernels.compile import Buffered
from ..mechanics.bodies.rotations import matrix_from_quaternion
from ..mechanics.bodies.states import CanonicalState
from ..mechanics.formulas.formula import call_vector, check_symbols
from ..mechanics.formulas.text import as_formula, refuse_comparison
from ..mechanics.values.conserved import conserved, values_at_rest, with_unit_lengths
from .targets import AsCounted

EXPRESSIONS = {  # quantity -> expressions of an `End`, of a body, in the axes of a frame
    "coordinates": lambda end, body, _: end.q(body), "momenta": lambda end, body, _: end.p(body),
    "velocities": lambda end, body, _: end.rates(body), "position": lambda end, body, _: end.q(body),
    "orientation": lambda end, body, _: end.q(body)[3:], "velocity": lambda end, body, _: end.rates(body),
    "angular velocity": lambda end, body, frame: end.angular_velocity(body, frame),
    "rate": lambda end, joint, coordinate: ca.vertcat(end.joint_rate(joint, coordinate)),
    "relative angular velocity": lambda end, joint, _: end.spin(joint),
    "turns": lambda end, body, _: body.conditions_at_start(end.q(body), end.p(body), end.q)}
OF_FRAMES = EXPRESSIONS | {  # of links and joints of trees
    "position": lambda end, body, _: end.position(body), "velocity": lambda end, body, _: end.velocity(body),
    "orientation": lambda end, body, _: end.q(body)[3:] if _is_base(body) else ca.vec(end.rotation_matrix(body))}


class Prescribed(NamedTuple):
    """A quantity of a body, link or joint, of which some of n components are given, and their values."""

    body: Any
    what: str
    frame: str | None
    n: int
    given: tuple[int, ...]
    values: np.ndarray

    @property
    def form(self) -> Hashable:
        """All but the values."""
        return self[:-1]


def prescribed(body, target):
    """What a target asks for, list of `Prescribed`.

    Of the base of a tree the orientation is the quaternion, whose length is a coordinate; of other links the nine
    entries of the rotation matrix, three of which are independent; of bodies their own coordinates of it.

    Parameters
    ----------
    body : Body
    target : EndState or CanonicalState
        Checked; numbers are nan where they are free.
    """
    found = []
    for what, wanted in _wanted(body, target).items():
        given = tuple([i for i, value in enumerate(wanted.tolist()) if isfinite(value)])
        if given:
            frame = target.frame if what == "angular velocity" else None
            found.append(Prescribed(body, what, frame, len(wanted), given, wanted[list(given)]))
    return found


def _wanted(body, target):
    if isinstance(target, CanonicalState):
        return {"coordinates": target.q, "momenta": target.p}
    if isinstance(target, AsCounted):
        return {"turns": np.zeros(2)}
    turn, n = target.orientation, None
    if body.is_body:
        n = body.dimension if body.has_position else None
        turn = turn if turn is None else body.rotation_coordinates(turn)
    elif turn is not None and not _is_base(body):
        turn = matrix_from_quaternion(turn).ravel(order="F")
    every = {"coordinates": target.q, "velocities": target.v,
             "position": target.position, "orientation": turn,
             "velocity": target.velocity, "angular velocity": target.angular_velocity}
    return {what: np.asarray(wanted, float)[:n if what in ("position", "velocity") else None]
            for what, wanted in every.items() if wanted is not None}


def expressions(end, one):
    """What is `Prescribed`, in the symbols of an `End`: the components that are given, SX."""
    values = (EXPRESSIONS if one.body.is_body else OF_FRAMES)[one.what](end, one.body, one.frame)
    return ca.vertcat(ca.SX(0, 1), *(values[i] for i in one.given))


def _is_base(body):
    tree = body.body
    return tree is not None and tree.base_joint is not None and body.address[:2] == ("link", tree.links[0].name)


# ---- conditions at an end as formulas

class ConditionFormulas:
    """Conditions c(z, numbers, wanted) = 0 of all that is asked of bodies, and of a formula.

    Parameters
    ----------
    key : tuple
        Of `key_of`: conditions with the same key differ in what is wanted only.
    system : System
    asked : list
        Of `Prescribed`.
    formula, at_end : callable or str or None, callable
        As in `EndConditions`.

    Attributes
    ----------
    names : list of str
        What each of the conditions asks for.
    function : casadi.Function
        `function(z, numbers, wanted)` -> c, dense.
    n_wanted : int
    lengths : casadi.Function or None
        `lengths(z)` -> lengths of quaternions that rest, and their Jacobian, dense.
    conserved : casadi.Function or None
        `conserved(z, numbers)` -> what nothing changes, and its Jacobian by both, dense, once looked for.
    names_of_conserved : list of str
    """

    conserved, names_of_conserved, _conserved = None, (), None

    def __init__(self, key, system, asked, formula, at_end):
        z, c = ca.SX.sym("z", system.n_z), ca.SX.sym("numbers", key[-1])
        self.key, self.names, self._at_end, rows, wanted = key, [], at_end, [], []
        (end, unknowns), unit = at_end(z, c), with_unit_lengths(system, z)
        wanted = [ca.SX.sym("wanted", len(one.given)) for one in asked]
        momenta = _by_momenta(end, asked, wanted)
        for one, symbols in zip(asked, wanted, strict=True):
            whole, dofs = _whole(one.body)
            if one.what == "velocities" and whole in momenta:
                rows.append(momenta[whole][dofs])
            else:
                rows.append(expressions(end, one) - symbols)
            if one.what in ("coordinates", "orientation"):
                rows[-1] = ca.substitute(rows[-1], z, unit)
            self.names += [f"{one.what} of {system.label(one.body)}"] * rows[-1].numel()
        if formula is not None:
            formula = as_formula("end_conditions", formula, ["end", "parameters"])
            refuse_comparison("end_conditions", formula, "zero, the difference of both sides")
            values = call_vector("end_conditions", formula, end, unknowns)
            check_symbols("end_conditions", values, z, c)
            rows.append(values)
            self.names += [f"end_conditions[{i}]" for i in range(values.numel())]
        rows, wanted = ca.densify(ca.vertcat(ca.SX(0, 1), *rows)), ca.vertcat(ca.SX(0, 1), *wanted)
        self.n_wanted, given = wanted.numel(), [z, c, wanted]
        self.function = ca.Function("end_conditions", given, [rows])
        self._gradient = Buffered(ca.Function("gradient", given, [rows, ca.densify(
            ca.jacobian(rows, ca.vertcat(z, c)).T)]))
        at_rest = values_at_rest(system, z)
        self.lengths = ca.Function("lengths", [z], [at_rest, ca.densify(ca.jacobian(at_rest, z))]) \
            if at_rest.numel() else None

    def conserved_since(self, t, z):
        """What nothing changes, at the start, (n,); see `timefem.mechanics.values.conserved`, and for its formulas
        `conserved`."""
        if self._conserved is None:
            self._conserved = found, self.names_of_conserved = conserved(self.key[0], t)
            if found is not None:
                place, c = ca.SX.sym("z", len(z)), ca.SX.sym("numbers", self.key[-1])
                rows = found(place, self._at_end(place, c)[0].t)
                self.conserved = ca.Function("conserved", [place, c], [rows, ca.densify(
                    ca.jacobian(rows, ca.vertcat(place, c)))])
        return np.zeros(0) if self.conserved is None else np.array(self._conserved[0](z, t)).ravel()

    @staticmethod
    def key_of(system, asked, formula, n_numbers):
        """What formulas depend on besides the time span: the system, which components are asked for, the formula."""
        return system, tuple(one.form for one in asked), formula, n_numbers

    def with_gradient(self, z, numbers, wanted):
        """The conditions, (n,), and their gradients by states and unknown numbers, (n, n_z + n_numbers)."""
        values, gradient = self._gradient(z, np.asarray(numbers, float), wanted)
        return values.copy(), gradient.reshape(-1, len(z) + len(numbers)).copy()


def filled_in(system, asked, z):
    """The state `z`, with coordinates and momenta that are asked for."""
    z, n = z.copy(), system.n_q
    for one in asked:
        places = np.arange(n)[system.coordinates(one.body)]
        if not one.body.is_body and one.what != "coordinates":
            continue
        if one.what in ("position", "coordinates"):
            z[places[list(one.given)]] = one.values
        elif one.what == "orientation":
            z[places[3:]] = one.values
        elif one.what == "momenta":
            z[n + places] = one.values
    return z


def _by_momenta(end, asked, wanted):
    """Body or tree of which all velocities are asked for, also joint by joint -> momenta less those by these, SX: so no
    inverse of a mass matrix stands in the conditions."""
    found = {}
    for one, symbols in zip(asked, wanted, strict=True):
        whole, dofs = _whole(one.body)
        if one.what == "velocities" and whole and len(one.given) == one.n and not whole.has_inverse_mass:
            found.setdefault(whole, ca.SX.nan(whole.n_q))[dofs] = symbols
    return {whole: end.p(whole) - whole.momenta_of_velocity(end.q(whole), v, end.own_parameters(whole))
            for whole, v in found.items() if not any(x.is_constant() for x in ca.vertsplit(v))}


def _whole(body):
    """A body, or the tree of a joint or link, and which of its dofs are meant."""
    return (body, slice(None)) if body.is_body else (body.body, body.dofs)


def constraints_by_numbers(system, at_end, n):
    """Constraints and their Jacobian by states and unknown numbers, casadi.Function; None where no number enters them.
    """
    if not n:
        return None
    z, c = ca.SX.sym("z", system.n_z), ca.SX.sym("numbers", n)
    end = at_end(z, c)[0]
    if not any(part.constraint_names or part.nonholonomic_names for part in end.with_unknown_numbers):
        return None
    rows = ca.vertcat(end.constraints(), values_at_rest(system, z))
    return ca.Function("constraints", [z, c], [rows, ca.densify(ca.jacobian(rows, ca.vertcat(z, c)))])
