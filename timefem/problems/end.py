"""One end of the time span in symbols: what conditions by formulas are written in."""

from copy import copy

import casadi as ca
import numpy as np

from ..errors import InputError, known_names
from ..mechanics.body_frame import is_on_tree
from ..mechanics.forces.loads import Gravity
from ..mechanics.inversion.outputs import JointOutput
from ..mechanics.joints.bound import BoundCoordinate
from ..mechanics.states.given import joints_of_trees, tree_joint
from ..mechanics.symbols import Symbols
from ..mechanics.values.forces import divisors_of, power_of, reaction_of
from ..mechanics.values.quantities import formulas_of, sees_velocities
from ..records import frozen
from ..validate.options import Options, documented, option
from .targets import body_velocity


class End:
    """A time of the motion, such as one end of it, in CasADi symbols, for formulas, also for those given as text.

    Bodies, joints and actuators are given by themselves or by their names.

    Attributes
    ----------
    t : SX or float
        Time [s].
    z : SX, shape (n_z,)
        Coordinates and momenta of all bodies.
    parameters : dict
        Unknown numbers by name.
    """

    _fields = "t", "z", "parameters"
    _methods = ("q", "p", "rates", "position", "rotation_matrix", "velocity", "angular_velocity", "joint", "joint_rate",
                "control", "reaction", "energy", "kinetic_energy", "potential_energy", "power")

    def __init__(self, system, t, z, numbers, parameters=None, u=None):
        self.system, self.t, self.z, self._numbers, self._u, self._v = system, t, z, numbers, u, None
        self.parameters = {} if parameters is None else parameters

    @property
    def with_unknown_numbers(self):
        """Parts that have some."""
        return list(self._numbers)

    def q(self, body):
        """Coordinates of a body, SX (n_q,)."""
        return self.z[self.system.coordinates(self.system.find(body))]

    def p(self, body):
        """Momenta of a body, SX (n_q,)."""
        return self.z[self.system.n_q:][self.system.coordinates(self.system.find(body))]

    def rates(self, body):
        """Velocities qdot of the coordinates of a body, SX (n_q,)."""
        found = self.system.find(body)
        if not found.has_rate:
            raise InputError(f"{self.system.label(found)} has no velocity: it is a {type(found).__name__}, whose rate "
                             "is its formula")
        return self._rates(found)

    def _rates(self, body):
        found = self.system.find(body)
        if is_on_tree(found):
            return self._rates(found.body)[found.dofs.tolist()]
        if self._v is not None:
            return self._v[self.system.coordinates(found)]
        return body_velocity(found, self.q(body), self.p(body), self.own_parameters(found))

    def own_parameters(self, body):
        """Those of a body, with the unknown numbers in their places."""
        if body.own_symbols is not None:  # a link of a tree
            return self.own_parameters(body.body)[body.numbers_of_body]
        return self._parameters(body, body.own_parameters)

    def position(self, body, point=None):
        """Place in space of the centre of mass, or of a point given in body axes from there, SX (3,)."""
        place, turn = self._frame(body)[:2]
        return place if point is None else place + turn @ _vector(point)

    def rotation_matrix(self, body):
        """Rotation matrix, body to space, SX (3, 3)."""
        return self._frame(body)[1]

    def velocity(self, body, point=None):
        """Velocity in space of the centre of mass, or of a point of the body, SX (3,)."""
        return ca.jtimes(self.position(body, point), self.q(body), self.rates(body))

    def angular_velocity(self, body, frame="body"):
        """Angular velocity in body or space axes, SX (3,)."""
        found = self.system.find(body)
        if not found.has_orientation:
            raise InputError(f"{self.system.label(found)} has no angular velocity: it is {found!r}")
        omega = None
        if not is_on_tree(found):
            omega = found.angular_velocity_of_momenta(self.q(body), self.p(body), self.own_parameters(found))
        if omega is None:
            omega = self._placed(found.angular_velocity_map(self.q(body)), [found]) @ self.rates(body)
        return self.rotation_matrix(body).T @ omega if frame == "body" else omega

    def joint(self, joint, coordinate=None):
        """A coordinate of a joint, the first one unless named, SX scalar [rad or m]; turns of an angle are not counted.
        """
        return self.output(self._output(joint, coordinate))

    def output(self, output, near=0.0):
        """The value of an `Output`, SX scalar; of an angle whose turns are not counted the one next to `near`."""
        output = self._on_own_bodies(output)
        q = [*map(self.q, output.bodies)]
        value = self._placed(near + output.deviation(near, *q) if near else output.value(*q), output.bodies)
        if self.turns is None or not output.turns:
            return value
        joint, coordinate = (output.bound.owner, output.bound.coordinate.name) if isinstance(output, JointOutput) else \
            (None, None)
        return value + 2 * np.pi * self.turns.setdefault((output.name, joint, coordinate, near),
                                                         (ca.SX.sym("turns"), value))[0]

    turns = None  # or a dict that gets symbols of the whole turns of angles, which are added then, and their values

    def joint_rate(self, joint, coordinate=None):
        """The rate of a coordinate of a joint, SX scalar."""
        output = self._on_own_bodies(self._output(joint, coordinate))
        symbols = [ca.SX.sym("q", body.n_q) for body in output.bodies]
        q, value = ca.vertcat(*symbols), ca.SX(self._placed(output.value(*symbols), output.bodies))
        gradient = ca.substitute(ca.jacobian(value, q), q, ca.vertcat(*map(self.q, output.bodies)))
        return gradient @ ca.vertcat(*map(self.rates, output.bodies))

    def spin(self, joint):
        """Angular velocity of the first body of a joint, seen from its other one, in axes of that, SX (3,)."""
        first, *others = self.system.here(joint).bodies
        omega = self.angular_velocity(first, "space")
        for other in others:
            omega = self.rotation_matrix(other).T @ (omega - self.angular_velocity(other, "space"))
        return omega

    def control(self, actuator):
        """The controls of an actuator, SX (n_controls,)."""
        if self._u is None:
            raise InputError(f"the control of {actuator!r} is used at an end, where only states are known")
        found, first, known = self.system.here(actuator), 0, []
        for part in self.system.parts:
            if part.n_controls:
                known.append(self.system.label(part))
                if found is part or found == known[-1]:
                    return self._u[first:first + part.n_controls]
                first += part.n_controls
        raise InputError(f"no actuator {actuator!r} in the system{known_names(actuator, known)}")

    def energy(self):
        """Total energy H, SX scalar."""
        return sum((f(*a) for f, a in self._functions("energies")), ca.SX(0))

    def kinetic_energy(self, body=None):
        """Kinetic energy of a body, or of all, SX scalar."""
        parts = self.system.parts if body is None else self._parts(body)
        return sum((f(ca.vertcat(self.z[place], *map(self._rates, part.bodies)), *further)
                    for part, place, f, *further in self._of_parts("kinetic energies", parts)), ca.SX(0))

    def potential_energy(self, part=None):
        """Potential energy of a part, of "gravity", or of all, SX scalar."""
        parts = self.system.parts if part is None else self._parts(part)
        return sum((f(*a) for f, a in self._functions("potential energies", parts)), ca.SX(0))

    def power(self, part):
        """Power of the forces of an actuator, spring, damper or load on the motion, of "gravity", SX scalar."""
        total = ca.SX(0)
        for own in self._parts(part):
            function = power_of(own, self.system.label(own))
            q, v = (ca.vertcat(*map(of, own.bodies)) for of in (self.q, self._rates))
            u = ca.vertcat(ca.SX(0, 1), *map(self.control, own.controls))
            total += function(q, v, u, self.t, self._parameters(own, own.parameters))
        return total

    def divisors(self):
        """What formulas of forces and rates divide by, and which may change its sign, SX (n,)."""
        found = []
        for part in self.system.parts:
            function, sees_velocities = divisors_of(part)
            if function is not None:
                q = ca.vertcat(*map(self.q, part.bodies))
                v = ca.vertcat(*map(self._rates, part.bodies)) if sees_velocities else ca.SX(q.numel(), 1)
                u = ca.vertcat(ca.SX(0, 1), *map(self.control, part.controls))
                found.append(function(q, v, u, self.t, self._parameters(part, part.parameters)))
        return ca.vertcat(ca.SX(0, 1), *found)

    def take_velocities(self, v):
        """Take velocities of all bodies by symbols of their own, SX (n_q,); None: those of the momenta."""
        self._given, self._v = v is not None, v

    _given = False
    reactions = None  # symbols of the forces of constraints, SX (n_constraints,), once asked for

    def reaction(self, joint):
        """Force and torque of a joint, or another part with constraints, on its first body, SX (6,) [N, N m].

        In axes of space, about the point of the joint in that body, or its centre of mass where there is none: as
        `Solution.joint(joint).force` and `.torque`. The forces are those of the element at the Gauss points. For limits
        along the path.
        """
        if self._u is None or (self._v is not None and not self._given):
            raise InputError(f"the reaction of {joint!r} can be used in limits along the path only; for a cost take a "
                             "Control that an equation sets to it, such as Limit(\"u[0] - now.reaction('hinge')[2]\", "
                             "0, 0)")
        part = self._constrained(joint)
        body, n = part.bodies[0], len(part.constraint_names)
        if is_on_tree(body):
            raise InputError(f"{self.system.label(body)} is a link of a tree, whose joints have no forces of their "
                             "own in formulas; model the mechanism by bodies and joints")
        if self.reactions is None:
            self.reactions = ca.SX.sym("reactions", self.system.n_constraints)
        first = sum(len(other.constraint_names) for other in self.system.parts[:self.system.parts.index(part)])
        s, w = Symbols(part), ca.SX.sym("w", n)
        turn = body.frame(s.q[0])[1] if body.has_position else ca.SX.eye(3)
        force, torque = reaction_of(part, ca.vertcat(*s.q), -ca.SX(part.constraint_force(s, w)))
        arm = getattr(part, "point_a", None)
        if arm is not None and body.has_orientation:
            torque -= ca.cross(turn @ part.named(s.own).point_a, force)
        function = ca.Function("reaction", [ca.vertcat(*s.q), ca.vertcat(*s.p), s.t, s.parameters, w],
                               [ca.vertcat(force, torque)])
        q, p = (ca.vertcat(*map(of, part.bodies)) for of in (self.q, self.p))
        return function(q, p, self.t, self._parameters(part, part.parameters), self.reactions[first:first + n])

    def _constrained(self, joint):
        """The part with constraints that is meant."""
        system, found = self.system, self.system.here(joint)
        known = {system.label(part): part for part in system.parts if part.constraint_names and not part.is_body}
        for label, part in known.items():
            if found in (label, part):
                return part
        raise InputError(f"no joint {joint!r} with constraints in the system{known_names(joint, known)}")

    def _parts(self, name):
        """The parts that are meant by one of them, by a composite one, or by a name of these."""
        system, found = self.system, self.system.here(name)
        parts = [part for part in system.parts if found in (part, part.owner, system.label(part.owner or part))]
        parts = parts or [part for part in system.parts if name == "gravity" and isinstance(part, Gravity)]
        if not parts:
            known = dict.fromkeys(system.label(part.owner or part) for part in system.parts)
            raise InputError(f"no part {name!r} in the system{known_names(name, known)}")
        return parts

    def constraints(self):
        """Constraints on both levels and nonholonomic ones, SX (n_multipliers + n_nonholonomic,)."""
        both = [ca.vertsplit(f(*a)) for f, a in self._functions("constraints")]
        rolling = [f(*a) for f, a in self._functions("form")]
        halves = [row for half in (0, 1) for rows in both for row in rows[half * len(rows) // 2:][:len(rows) // 2]]
        return ca.vertcat(ca.SX(0, 1), *halves, *rolling)

    def gradient(self):
        """grad H - (Q, 0), SX (n_z,)."""
        total, parts = ca.SX.zeros(self.system.n_z), [part for part in self.system.parts if part.bodies]
        for (function, arguments), part in zip(self._functions("gradient", parts), parts, strict=True):
            place = self._place(part)
            for i, value in zip(place, ca.vertsplit(function(*arguments)), strict=True):
                total[i] += value
        return total

    def _output(self, joint, coordinate):
        system = self.system
        known = {system.label(part): part for part in system.parts if part.coordinates}
        found = system.here(joint)
        found = known.get(found) or tree_joint(system, found) if isinstance(found, str) else found
        if not getattr(found, "coordinates", ()):
            raise InputError(f"no joint {joint!r} with a coordinate in the system"
                             f"{known_names(joint, [*known, *joints_of_trees(system)])}")
        return JointOutput(found, coordinate)

    def _on_own_bodies(self, output):
        """An output on the bodies and joints of the system that stand for those it was made for."""
        output = output.on(self.system) if isinstance(output, JointOutput) else output
        other = copy(output)
        other.bodies = tuple(map(self.system.find, output.bodies))
        if isinstance(output, JointOutput):
            other.bound = BoundCoordinate(output.bound.owner, other.bodies, output.bound.coordinate)
        return other

    def _frame(self, body):
        found = self.system.find(body)
        if not found.has_position:
            raise InputError(f"{self.system.label(found)} has no place in space: it is {found!r}")
        return tuple(self._placed(x, [found]) for x in found.frame(self.q(body)))

    def _placed(self, value, bodies):
        """A formula of the frames of bodies, with the numbers on which these depend besides the coordinates."""
        links = [body for body in bodies if body.own_symbols is not None and body.own_symbols.numel()]
        return ca.substitute(ca.SX(value), ca.vertcat(ca.SX(0, 1), *(link.own_symbols for link in links)),
                             ca.vertcat(ca.SX(0, 1), *map(self.own_parameters, links))) if links else value

    def _place(self, part):
        n = self.system.n_q
        q = [i for body in part.bodies for i in np.arange(n)[self.system.coordinates(body)].tolist()]
        return [*q, *(n + i for i in q)]

    def _of_parts(self, name, parts):
        for part in parts:
            function = formulas_of(part).whole(name)
            if function.numel_out(0):
                yield part, self._place(part), function, self.t, self._parameters(part, part.parameters)

    def _functions(self, name, parts=None):
        for part, place, function, *further in self._of_parts(name, self.system.parts if parts is None else parts):
            rates = map(self._rates, part.bodies) if sees_velocities(part) else ()
            yield function, (ca.vertcat(self.z[place], *rates), *further)

    def _parameters(self, part, values):
        numbers = ca.SX(values)
        for i, value in self._numbers.get(part, {}).items():
            numbers[i] = value
        return numbers


def _vector(point):
    point = ca.SX(point if isinstance(point, ca.SX) else ca.DM(point))
    if point.numel() != 3:
        raise InputError(f"a point of a body has three numbers, not {point.numel()}")
    return ca.vec(point)


TOLERANCE = 1e-10  # of conditions and constraints at the end, against their size
INDEPENDENT = 1e-8  # smallest singular value of conditions that do not repeat others


@documented
@frozen
class SearchOptions(Options):
    """Thresholds of the search for states that satisfy conditions."""

    rounding: float = option(1e-8, "violation where steps that go on halve nothing: rounding of high derivatives")
    steps: int = option(100, "steps at most")
    as_expected: float = option(
        0.75, "share of what a cut step should take away, from which on the next may be longer")
    least_terms: float = option(
        1e-6, "terms of a condition, over the largest component of x / size, that none falls below")


OPTIONS = SearchOptions()


def search(evaluate, x, size, most, finely=False, constants=None):
    """A point near x that satisfies conditions b(x) = 0, by Gauss-Newton steps of least norm.

    A condition holds where its violation is small beside its terms, |db/dx| |x|. Steps become twice as long each time
    that one which was cut takes away what it should.

    Parameters
    ----------
    evaluate : callable
        `evaluate(x)` -> b, its Jacobian by x / size, and whatever else is wanted.
    x, size : ndarray, shape (n,)
        Where the search starts from, and how large its components are.
    most : callable
        `most(x)` -> longest step of a component of x / size at first.
    finely : bool
        Whether to go on until steps no longer halve what is left, or it is rounding of terms of size one at least.
    constants : callable, optional
        `constants(x)` -> sizes of terms of the conditions that do not depend on x, shape (n,); asked where one is off.

    Returns
    -------
    x : ndarray, shape (n,)
    violated : (int, float) or None
        The row that stays violated most, and by how much; None when all hold.
    evaluated : tuple
        What `evaluate` gave last: at x, where all hold.
    """
    longer, last, taken, worst = 1.0, np.inf, 1.0, np.inf
    for _ in range(OPTIONS.steps):
        evaluated = values, jacobian, *_ = evaluate(x)
        weight = _weights(jacobian)
        bad = np.abs(values) * weight
        scaled = np.abs(x / size)
        least = scaled.max(initial=1.0) if finely else OPTIONS.least_terms * scaled.max(initial=0.0)
        terms = np.maximum((np.abs(jacobian) @ scaled) * weight, least)
        if finely:
            before, worst = worst, (bad / terms).max(initial=0.0)
            done = worst <= np.finfo(float).eps or before / 2 <= worst <= OPTIONS.rounding
        else:
            done = np.all(bad <= TOLERANCE * terms)  # not where they are NaN
            if not done and constants is not None:
                done = np.all(bad <= TOLERANCE * np.maximum(terms, constants(x) * weight))
        if done:
            return x, None, evaluated
        if not np.all(np.isfinite(jacobian)):
            break
        left = np.linalg.norm(bad)
        as_expected = left <= (1 - OPTIONS.as_expected * taken) * last
        longer = 1.0 if not as_expected else 2 * longer if taken < 1 else longer
        step = np.linalg.lstsq(jacobian * weight[:, None], values * weight, rcond=INDEPENDENT)[0]
        last, taken = left, min(1.0, longer * most(x) / max(np.abs(step).max(), 1e-300))
        x = x - size * step * taken
    worst = int(np.argmax(np.where(np.isfinite(bad), bad, np.inf)))
    return x, (worst, abs(values[worst])), evaluated


def _weights(jacobian):
    lengths = lengths_of_rows(jacobian)
    return 1 / np.maximum(lengths, 1e-12 * lengths.max(initial=0.0) or 1.0)


def reduced(rows, constraints, tangents, groups):
    """Combinations of conditions that are independent along the motions that the constraints leave open.

    Those are kept that are left singular vectors of the gradients there: group by group, and of the last group what the
    others do not settle already.

    Parameters
    ----------
    rows, constraints : ndarray, shapes (n, n_x), (m, n_x)
        Gradients of the conditions and of the constraints, by the scaled states at the ends, and by numbers.
    tangents : list of ndarray
        Directions of the state at each end that its constraints leave open, columns.
    groups : list of ndarray
        Numbers of conditions.

    Returns
    -------
    combinations : list of ndarray, shapes (n_kept, n_rows)
        Of the conditions of each group.
    along : ndarray, shape (n, n_free)
        Gradients of the conditions, of unit length, in the directions that the constraints leave open.
    """
    lengths = np.maximum(lengths_of_rows(rows), 1e-300)
    along, found = _along(rows / lengths[:, None], constraints, tangents), []
    for group in groups:
        block = along[group]
        if group is groups[-1] and len(group):
            settled = _spanned(along[np.concatenate([*groups[:-1], group[:0]])])
            block = block - (block @ settled.T) @ settled
        found.append(independent_combinations(block) / lengths[group])
    return found, along


def _along(rows, constraints, tangents):
    """Rows in the directions that the constraints leave open: of the states at the ends, then of the numbers."""
    stops = np.cumsum([len(tangent) for tangent in tangents])
    if constraints[:, stops[-1]:].any():  # what they imply for one value of a number only is asked for still
        return rows @ null_space(unit_rows(constraints))
    at_ends = [rows[:, stop - len(tangent):stop] @ tangent for stop, tangent in zip(stops, tangents, strict=True)]
    return np.hstack([*at_ends, rows[:, stops[-1]:]])


def lengths_of_rows(matrix):
    """Their Euclidean norms, shape (n,): as `numpy.linalg.norm`, in a third of its time."""
    return np.sqrt(np.add.reduce(matrix * matrix, axis=1))


def unit_rows(matrix):
    """Rows over their lengths; zeros stay."""
    return matrix / np.maximum(lengths_of_rows(matrix)[:, None], 1e-300)


def null_space(gradients):
    """Orthonormal directions, columns, that none of the rows sees, shape (n, n - rank)."""
    if not len(gradients):
        return np.eye(gradients.shape[1])
    _, s, v = np.linalg.svd(gradients)
    return v[int((s > INDEPENDENT * s.max(initial=0.0)).sum()):].T


def independent_combinations(gradients):
    """Combinations of rows that are independent: left singular vectors, shape (rank, n); the rows if all are."""
    if not len(gradients):
        return np.zeros((0, 0))
    u, s, _ = np.linalg.svd(gradients, full_matrices=False)
    rank, n = int((s > INDEPENDENT).sum()), len(gradients)
    return u[:, :rank].T if rank < n else np.eye(n)


def _spanned(matrix):
    """Orthonormal rows that span the rows of a matrix."""
    if not len(matrix):
        return matrix
    _, s, v = np.linalg.svd(matrix, full_matrices=False)
    return v[:int((s > INDEPENDENT).sum())]
