"""Joints that close otherwise than they are meant to: half a turn away, where their formula vanishes, too, or far from
where they were drawn."""

import casadi as ca
import numpy as np

from ...errors import OtherSide, warn
from ...memory import Recent
from ..joints.frame import frames_of
from ..symbols import Symbols
from ..values.at_start import constraint_sizes, constraints_at
from ..values.options import OPTIONS
from .consistent import OPTIONS as CONSISTENT
from .in_trees import joints_of_trees

_FUNCTIONS = Recent(OPTIONS.most_kinds)  # by kind of joint


def whole(part):
    """The joint, of one that lost redundant constraints."""
    return getattr(part, "part", part)


def on_other_side(system, t, q):
    """Joints that are more than a quarter of a turn away from where they are meant to be, at coordinates (n_q,)."""
    return [joint for joint in map(whole, system.parts) if hasattr(joint, "right_side")
            and np.any(_sides(joint)(t, joint.own_parameters, *(q[system.coordinates(b)] for b in joint.bodies)) < 0)]


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
    joints = [part for part in map(whole, system.parts) if not part.is_body and hasattr(part, "point_a")]
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
