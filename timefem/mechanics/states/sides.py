"""Joints that stand on the other side: half a turn away from where they are meant to be, where their formula vanishes,
too."""

import casadi as ca
import numpy as np

from ...errors import OtherSide, warn
from ...memory import Recent
from ..joints.frame import frames_of
from ..symbols import Symbols
from ..values.options import OPTIONS

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
