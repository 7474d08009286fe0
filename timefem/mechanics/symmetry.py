"""Rigid motions of space that parts do not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

if TYPE_CHECKING:
    from .part import Part


def rigid_motions(part: Part, fixed: ca.SX | None = None) -> ca.SX:
    """`Part.symmetry` of what two bodies do to each other: all rigid motions, SX (6, 6).

    Of one body the rotations about a point that is `fixed` in space, SX (6, 3), and none (6, 0) where there is no such
    point.
    """
    if len(part.given_bodies) == 2:
        return ca.SX.eye(6)
    return ca.SX(6, 0) if fixed is None else ca.vertcat(ca.skew(fixed), ca.SX.eye(3))
