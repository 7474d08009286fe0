"""Loops closed from the poses that a tree of joints gives, with coordinates of joints that stay as they were given."""

import casadi as ca
import numpy as np

from ...errors import InputError, OtherSide, warn
from ...memory import Late, Recent
from ...records import frozen
from ..joints.frame import frames_of
from ..joints.joint import Joint
from ..joints.pairs import turning
from ..part import Part
from ..symbols import Symbols
from ..values.at_start import constraint_sizes, constraints_at
from ..values.measures import OPTIONS as VALUES
from .consistent import OPTIONS as CONSISTENT
from .consistent import assembled, carried_momenta, dense, descended, projected, states_by_body
from .given import FITS, given_states, joints_of_trees

changed_numbers = Late("timefem.mechanics.numbers.changes")

CLOSED = 1e-9  # constraints that are off by less are closed, relative to the terms that make them up


@frozen
class ClosingOptions:
    """How given coordinates go from a closed pose to their values."""

    steps: int = 12  # at least
    halvings: int = 6  # of a step that does not close
    iterations: int = 30  # in which a step closes, or is too long


OPTIONS = ClosingOptions()


class Closing:
    """Search of a state in which loops are closed and given coordinates are as given.

    It takes joints by their angles, see `Joint.closing`, which vanish where the joint is meant to be, and not where
    axes are opposite.

    Parameters
    ----------
    system : System
    held : list of _Held
        Coordinates that are given; of joints that close no loop all.
    fix : list of Body
        That keep their pose and velocity.
    t : float
        Time [s].
    """

    def __init__(self, system, held, fix, t):
        self.system, self.t, self.fix, self.held = system, t, fix, held
        joints = [joint for joint in (part.whole for part in system.parts)
                  if getattr(type(joint), "closing", Joint.closing) is not Joint.closing
                  and not set(fix).issuperset(joint.bodies)]
        self.whole = changed_numbers.extended(
            system, [*held, *(_ByAngles(system.label(joint), joint) for joint in joints)])
        owners = [part.whole for part in self.whole.parts for _ in part.constraint_names]
        self.rows = np.array([i for i, part in enumerate(owners) if part not in joints], int)
        self.own = np.array([i for i, part in enumerate(owners) if not isinstance(part, _ByAngles)], int)
        self.owners = [owners[i] for i in self.rows]
        self.given = np.array([isinstance(part, _Held) for part in self.owners], bool)
        self.turns = np.array([getattr(part, "turns", False) for part in self.owners], bool)
        self.moves = np.ones(system.n_q)
        for body in fix:
            self.moves[system.coordinates(body)] = 0

    def off(self, q):
        """What is off, and how much, relative to the terms that make it up."""
        _, phi, _, size = descended(self.whole, self.t, q, self.moves, self.rows, steps=0)
        return phi, np.abs(phi) / size

    def holds(self, q, tolerance=FITS):
        return bool(np.all(self.off(q)[1] <= tolerance))  # false for NaN

    def formulas_hold(self, q):
        """Whether joints hold by their formulas, whichever the side."""
        _, phi, _, size = descended(self.system, self.t, q, self.moves, steps=0)
        return bool(np.all(np.abs(phi) <= FITS * size))

    def state(self, states, at_zero):
        """Dict body -> `CanonicalState` that holds all, near given states.

        Parameters
        ----------
        states : dict
            What the tree of joints gives.
        at_zero : callable
            Coordinates with all given coordinates of joints at zero.

        Raises
        ------
        InputError
            Where none is found: names the given coordinate that stays away, and how near it comes.
        """
        given = given_states(self.system, states)
        q = np.concatenate([state.q for _, state in given.values()])
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that lead nowhere, which are refused
            q = assembled(self.system, self.t, self._pose(q, at_zero), self.moves)
        p = carried_momenta(self.system, given, self.t, q, self.fix)
        p = projected(self.whole, self.t, q, p, self.moves, self.own, FITS)
        # rates that were given rounded, more than are free, give way to the constraints
        return states_by_body(self.system, q, projected(self.system, self.t, q, p, self.moves))

    def _pose(self, q, at_zero):
        found = []
        for pose, drawn in self._poses(q, at_zero):
            if self.holds(pose):
                how = "" if drawn is None else how_far(self.system, drawn, pose)
                if how and not self._by_more_than_needed(pose):
                    warn_of_far(self.system, self.t, drawn, how, "the pose with zero for those that are not given",
                                "more of them")
                return pose
            found.append(pose)
        raise self._error(found)

    def _poses(self, q, at_zero):
        """Where to look, one after another: what is given goes from a closed pose to its values, if the loops are
        closed where all is zero; all is closed from `q`; what is given goes from a closed pose near zero, and angles
        the other way round. Each with the coordinates of a drawing that does not close, None where it does."""
        if not self.given.any():
            yield self.near(q), q
            return
        start, loops = at_zero(), self.rows[~self.given]
        closed = bool(np.all(self.off(start)[1][~self.given] <= CLOSED))
        drawn = None if closed else start
        if closed:
            yield self._carried(start), None
        yield self.near(q), q
        if not closed:
            start = descended(self.whole, self.t, start, self.moves, loops)[0]
            if not np.all(self.off(start)[1][~self.given] <= FITS):
                return
            yield self._carried(start), drawn
        if self.turns.any():
            yield self._carried(start, -1.0), drawn

    def _by_more_than_needed(self, pose):
        """Whether what is given determines more than loops leave open, so that these close in one way alone."""
        _, _, gradient, _ = descended(self.whole, self.t, pose, self.moves, self.rows, steps=0)
        gradient = dense(gradient) * self.moves / np.sqrt(self.system.mass_scale)
        gradient /= np.linalg.norm(gradient, axis=1, keepdims=True).clip(np.finfo(float).tiny)
        loops = gradient[~self.given]
        return np.linalg.matrix_rank(gradient, FITS) < np.linalg.matrix_rank(loops, FITS) + self.given.sum()

    def near(self, q):
        """Coordinates to which `q` leads."""
        return self._toward(q, np.zeros(len(self.rows)))[0]

    def _toward(self, q, aim, steps=CONSISTENT.iterations):
        """`descended` to where rows are at `aim`, angles up to whole turns."""
        def left(phi):
            return np.where(self.turns, np.remainder(phi - aim + np.pi, 2 * np.pi) - np.pi, phi - aim)

        return descended(self.whole, self.t, q, self.moves, self.rows, left, steps)

    def _carried(self, q, way=1.0):
        """Coordinates as far on the way to what is given as loops stay closed."""
        left = np.where(self.given, self.off(q)[0], 0.0)
        if way < 0:
            left -= np.where(self.turns, 2 * np.pi * np.sign(left), 0.0)
        done, step = 0.0, 1.0 / OPTIONS.steps
        while done < 1.0 and step * OPTIONS.steps * 2 ** OPTIONS.halvings >= 1.0:
            to = min(1.0, done + step)
            trial, phi, _, size = self._toward(q, (1.0 - to) * left, OPTIONS.iterations)
            if np.all(np.abs(phi) <= CLOSED * size):
                q, done = trial, to
            else:
                step /= 2
        return q

    def _error(self, found):
        """Of the poses with closed loops the one nearest to what was given, or the constraint that stays open."""
        closed = [x for x in map(self.off, found) if np.all(x[1][~self.given] <= FITS)]
        if not closed:
            phi, relative = self.off(found[-1])
            worst = int(np.argmax(relative))
            name = self.whole.constraint_names[self.rows[worst]]
            return InputError(f"the mechanism cannot be assembled from these poses: the constraint '{name}' stays "
                              f"violated by {abs(phi[worst]):.3g}; give poses that are closer, fix fewer bodies, or "
                              "check that its parts can meet at all (lengths, axes)")
        phi, _ = min(closed, key=lambda x: np.max(np.abs(x[0][self.given])))
        worst = int(np.argmax(np.where(self.given, np.abs(phi), 0.0)))
        return InputError(f"the mechanism cannot be assembled: no pose with closed loops was found with "
                          f"{self.owners[worst].described(phi[worst])}; give another value, give other joints, or "
                          "check that its parts can meet at all (lengths, axes)")


class _ByAngles(Part):
    """Constraints of a joint as a search takes them."""

    def __init__(self, label, joint):
        self.bodies, self.name, self.joint = joint.bodies, f"{label} by angles", joint
        self.own_parameters = joint.own_parameters
        self.constraint_names = joint.constraint_names

    @property
    def kind(self):
        return _ByAngles, self.joint.kind

    def constraints(self, s):
        rows = self.joint.closing(*frames_of(self.bodies, s.q), s.t, self.joint.named(s.own))
        return ca.vertcat(*rows)


class _Held(Part, abstract=True):
    """What was given of a joint."""


# ---- what holds what was given

def held_joint(label, joint, values, t):
    """Parts that hold the coordinates of a joint, and their rates, at the time t."""
    if joint.free_rotation and not all(body.has_orientation for body in joint.bodies):
        return []
    if joint.free_rotation:
        return [_HeldRotation(label, joint, *values["rotation"], t)]
    return [_HeldCoordinate(label, joint.bound(name), x, rate, t) for name, (x, rate) in values.items()]


class _HeldCoordinate(_Held):
    """A coordinate of a joint, and its rate, at a time."""

    constraint_names = ("coordinate",)

    def __init__(self, label, bound, x, rate, t):
        self.bodies, self.name, self.bound = bound.bodies, f"{label} as given", bound
        self.turns = bound.coordinate.turns
        self.label, self.x = label, x
        self.own_parameters = np.concatenate([bound.coordinate.numbers, [x, rate, t]])

    @property
    def kind(self):
        return _HeldCoordinate, self.bound.form, *(body.kind for body in self.bodies)

    def described(self, off):
        return f"{self.bound.coordinate.name} {self.x:.6g} of {self.label}: the nearest has {self.x + off:.6g}"

    def constraints(self, s):
        numbers, x, rate, start = s.own[:-3], s.own[-3], s.own[-2], s.own[-1]
        return self.bound.deviation(s.q, numbers, x + rate * (s.t - start))


class _HeldRotation(_Held):
    """Rotation and angular velocity of a body against another at a time."""

    constraint_names = ("rotation, 1", "rotation, 2", "rotation, 3")

    def __init__(self, label, joint, turn, spin, t):
        self.bodies, self.name, self.label = joint.bodies, f"{label} as given", label
        self.own_parameters = np.concatenate([turn.ravel(order="F"), np.cross(spin, turn.T).ravel(), [t]])

    @property
    def kind(self):
        return (_HeldRotation, *(body.kind for body in self.bodies))

    def described(self, off):
        return f"the orientation given of {self.label}: the nearest is {abs(off):.3g} rad off"

    def constraints(self, s):
        turn, rate, start = ca.vertsplit(s.own, [0, 9, 18, 19])
        return ca.vertcat(*turning(*frames_of(self.bodies, s.q), turn + rate * (s.t - start)))


def held_in_tree(label, tree, state, t):
    """Parts that hold those joints of a tree that are given, and their rates, at the time t."""
    given = tree.by_joint(state)
    joints = [tree.joint(name) for name in state]
    return [_HeldCoordinates(f"{label}.{joint.address[1]}", joint, given.q[joint.dofs],
                             given.v[joint.dofs], t) for joint in joints]


class _HeldCoordinates(_Held):
    """Coordinates of a joint of a tree, and their rates, at a time."""

    def __init__(self, label, joint, q, v, t):
        self.bodies, self.name, self.label, self.q = (joint,), f"{label} as given", label, q
        self.constraint_names = tuple(f"coordinate {i + 1}" for i in range(len(q)))
        self.own_parameters = np.concatenate([q, v, [t]])

    @property
    def kind(self):
        return _HeldCoordinates, *(body.kind for body in self.bodies)

    def described(self, off):
        return f"{np.array2string(self.q, precision=6)} of {self.label}: the nearest is {abs(off):.3g} off"

    def constraints(self, s):
        n = len(self.constraint_names)
        q, v, start = ca.vertsplit(s.own, [0, n, 2 * n, 2 * n + 1])
        return s.q[0] - (q + v * (s.t - start))


_FUNCTIONS = Recent(VALUES.most_kinds)  # by kind of joint


def on_other_side(system, t, q):
    """Joints that are more than a quarter of a turn away from where they are meant to be, at coordinates (n_q,)."""
    return [joint for joint in (part.whole for part in system.parts) if hasattr(joint, "right_side")
            and np.any(_sides(joint)(t, joint.own_parameters, *(q[system.coordinates(b)] for b in joint.bodies)) < 0)]


def side_of(system, joint, t, q):
    """Whether a joint is where it is meant to be, not half a turn away, at times (n,) and coordinates (n, n_q)."""
    states, own = [q[:, system.coordinates(b)].T for b in joint.bodies], joint.own_parameters[:, None]
    return (_sides(joint)(t[None], np.repeat(own, len(t), axis=1), *states) >= 0).all(axis=0)


def _sides(joint):
    return _FUNCTIONS.of(joint.kind, lambda: _made(joint))


def _made(joint):
    s = Symbols(joint)
    rows = joint.right_side(*frames_of(joint.bodies, s.q), s.t, joint.named(s.own))
    found = ca.Function("sides", [s.t, s.own, *s.q], [ca.densify(ca.vertcat(*rows, 1.0))])
    return lambda *x: np.array(found(*x))


def warn_of_other_side(system, t, q, remedy):
    """Warn of joints on the other side, by name."""
    if joints := on_other_side(system, t, q):
        names = ", ".join(f"'{system.label(joint)}'" for joint in joints)
        warn(f"{names} {'stands' if len(joints) == 1 else 'stand'} on the other side at t = {t:g}: axes are opposite, "
             f"or turned by half a turn from where they are meant to be; {remedy}", OtherSide)


def warn_where_it_starts(solution):
    """Warn of joints on the other side in a motion whose start was found."""
    warn_of_other_side(solution.system, solution.t[0], solution.z[0, :solution.system.n_q],
                       "give ends, or a guess, that differ by that turn, or turn its axes")


def how_far(system, given, found):
    """What has turned or moved far between coordinates (n_q,), in words, empty where nothing has: by more than the
    longest single step of a search, or by as large a part of what is drawn."""
    turns, moves, points = {}, {}, []
    joints = [part for part in (part.whole for part in system.parts) if not part.is_body and hasattr(part, "point_a")]
    for body in system.bodies:
        own = system.coordinates(body)
        if body.has_orientation and not body.helper:
            (x, r), (y, s) = ((body.position(q[own]), body.rotation_matrix(q[own])) for q in (given, found))
            name = system.label(body)
            turns[name] = np.arccos(np.clip((np.einsum("ij,ij", r, s) - 1) / 2, -1, 1))
            moves[name] = np.linalg.norm(y - x)
            held = [joint for joint in joints if body in joint.bodies]
            points += [x, *(x + r @ (joint.point_b if joint.bodies.index(body) else joint.point_a) for joint in held)]
    for name, joint in joints_of_trees(system).items():
        if joint.body.moving[joint.body.moving_joints.index(joint.address[1])].joint.kind == "revolute":
            change = (found - given)[system.coordinates(joint.body)][joint.dofs]
            turns[name] = np.abs(np.remainder(change + np.pi, 2 * np.pi) - np.pi).max()
    size = np.linalg.norm(np.ptp(points, axis=0)) if points else 0.0
    turned, moved = (max(x, key=x.get, default=None) for x in (turns, moves))
    turn, move = turns.get(turned, 0.0), moves.get(moved, 0.0) / (size or np.inf)
    if max(turn, move) <= CONSISTENT.largest_turn:
        return ""
    return f"{turned!r} turned by {turn:.3g} rad" if turn >= move else \
        f"{moved!r} moved by {moves[moved]:.3g}, {move:.2g} of the size of what is drawn"


def warn_of_far(system, t, given, how, where, remedy):
    """Warn that joints close far from where they were drawn, coordinates (n_q,), as `how_far` says."""
    at, m = np.append(given, 0 * given), system.n_constraints
    off = np.abs(constraints_at(system, t, at)[0][:m])
    worst = np.argmax(off / constraint_sizes(system, t, at)[:m])
    warn(f"joints close far from {where}: {how}; '{system.constraint_names[worst]}' was off by "
         f"{off[worst]:.3g} there. Where joints can close in several ways it may be another one than is meant: look at "
         f"it, or give {remedy}")
