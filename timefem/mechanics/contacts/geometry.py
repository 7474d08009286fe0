"""Where two surfaces are closest: gap, normal and points, in CasADi symbols."""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import casadi as ca
import numpy as np

# no normal of a system points there to rounding, where the directions of `across` would turn at once
AWAY = np.array([-0.2181, 0.5366, -0.8152])
AWAY /= np.linalg.norm(AWAY)
CORNERS = list(itertools.product((-1, 1), repeat=3))  # of a box, in its half edges
EDGES = [(corner, i) for corner in CORNERS for i in range(3) if corner[i] < 0]  # where they start, and along which axis


class Nearness(NamedTuple):
    """What edges take for the same: `rounding` in shares of their lengths, `parallel` by the square of a sine.

    What touches beyond the end of a surface by half of `rounding` leaves it. Gaps of edges beyond their ends, where
    others touch, are at least `apart` in shares of their lengths; what overlaps less is the error of a motion along the
    edge, and no way out. Edges that are apart are parallel too from where the
    distance of their lines changes with angles by more than `lever` lengths: that of edges changes by one at most.
    """

    rounding: float = 1e-9
    parallel: float = 1e-20
    apart: float = 1e-5
    lever: float = 30.0


NEAR = Nearness()


class Touch(NamedTuple):
    """Two points of two surfaces that are closest to each other.

    Attributes
    ----------
    gap : SX
        Distance [m], negative where the surfaces overlap.
    normal : SX, shape (3,)
        Unit vector towards body a, in space.
    at_a, at_b : SX, shape (3,)
        The points, in space [m].
    reach : SX, optional
        Of surfaces that end, in shares of their size: negative where the points are beyond their ends.
    further : Touch, optional
        The same of these surfaces as if they went on beyond their ends.
    """

    gap: ca.SX
    normal: ca.SX
    at_a: ca.SX
    at_b: ca.SX
    reach: ca.SX | None = None
    further: Touch | None = None


def across(normal: ca.SX) -> ca.SX:
    """Two directions at right angles to a unit vector and to each other, SX (3, 2), smooth but where it is `-AWAY`."""
    away = ca.DM(AWAY)
    mirror = ca.SX.eye(3) - (normal + away) @ (normal + away).T / (1 + ca.dot(normal, away))
    first = ca.DM(np.linalg.svd(AWAY[None])[2][1])
    second = ca.DM(np.cross(AWAY, np.array(first).ravel()))
    return mirror @ ca.horzcat(first, second)


def sphere_on_plane(centre: ca.SX, radius: ca.SX, normal: ca.SX, place: ca.SX) -> Touch:
    """A sphere, a point where the radius is zero, above the plane through `place`."""
    height = ca.dot(normal, centre - place)
    return Touch(height - radius, normal, centre - radius * normal, centre - height * normal)


def distance(line: ca.SX, size: ca.SX) -> ca.SX:
    """Length of a line; what is nothing beside the `size` [m] has the derivatives zero, where they do not exist."""
    return ca.sqrt(ca.fmax(ca.sumsqr(line), (NEAR.rounding * size) ** 2))


def spheres(a: ca.SX, radius_a: ca.SX, b: ca.SX, radius_b: ca.SX, inside: bool = False) -> Touch:
    """Two spheres with centres a and b, or sphere a inside sphere b."""
    line = a - b
    length = distance(line, radius_b - radius_a if inside else radius_a + radius_b)
    away = line / length
    if inside:
        return Touch(radius_b - radius_a - length, -away, a + radius_a * away, b + radius_b * away)
    return Touch(length - radius_a - radius_b, away, a - radius_a * away, b + radius_b * away)


def circles(a: ca.SX, radius_a: ca.SX, b: ca.SX, radius_b: ca.SX, axis: ca.SX, inside: bool = False) -> Touch:
    """Two cylinders about one direction `axis`, or cylinder a in a round hole of b: circles in the plane across it.

    Points of contact are those at half the distance along the axis.
    """
    aside = ca.dot(axis, a - b) * axis / 2
    return spheres(a - aside, radius_a, b + aside, radius_b, inside)


def ellipsoid_on_plane(centre: ca.SX, rotation: ca.SX, half: ca.SX, normal: ca.SX, place: ca.SX) -> Touch:
    """An ellipsoid with half axes `half` along the columns of `rotation`."""
    seen = half * (rotation.T @ normal)
    reach = ca.sqrt(ca.sumsqr(seen))
    lowest = centre - rotation @ (half * seen) / reach
    height = ca.dot(normal, lowest - place)
    return Touch(height, normal, lowest, lowest - height * normal)


def disc_on_plane(centre: ca.SX, axis: ca.SX, radius: ca.SX, normal: ca.SX, place: ca.SX) -> Touch:
    """The edge of a thin disc, which must not lie flat."""
    down = ca.dot(normal, axis) * axis - normal
    lowest = centre + radius * down / ca.sqrt(ca.sumsqr(down))
    height = ca.dot(normal, lowest - place)
    return Touch(height, normal, lowest, lowest - height * normal)


def edges(a: ca.SX, along_a: ca.SX, b: ca.SX, along_b: ca.SX, outwards: ca.SX, least: ca.SX | float = -ca.inf,
          with_ends: bool = True) -> Touch:
    """Two straight edges from a to a + along_a and from b to b + along_b, with the normal on the side of `outwards`.

    These are columns: of convex bodies normals of b at its edge, and those of a turned round. Edges that touch have
    their normal on the side of all: they make a face of the Minkowski difference of the bodies (Gregorius 2013).

    Edges touch between their ends, `with_ends` or, where corners of bodies touch there, without. Where the lines are
    closest beyond these the gap is the distance of the edges, which is positive; so it is of parallel ones, whose ends
    touch something else, and where the lines overlap by more than `-least`.
    """
    line, normal = a - b, ca.cross(along_a, along_b)
    aa, ab, bb, square = ca.sumsqr(along_a), ca.dot(along_a, along_b), ca.sumsqr(along_b), ca.sumsqr(normal)
    apart = ca.dot(normal, line)**2 * aa * bb
    parallel = ca.logic_or(square <= NEAR.parallel * aa * bb, square**2 * (aa + bb) * NEAR.lever**2 <= apart)
    square = ca.if_else(parallel, aa * bb, square)
    normal *= ca.if_else(ca.dot(normal, ca.sum2(outwards)) < 0, -1, 1) / ca.sqrt(square)
    on_a, on_b = ca.dot(along_a, line), ca.dot(along_b, line)
    x, y = (ab * on_b - bb * on_a) / square, (aa * on_b - ab * on_a) / square
    gap, at_a, at_b = ca.dot(normal, line), a + x * along_a, b + y * along_b
    aside = ca.fmax(ca.fabs(2 * x - 1), ca.fabs(2 * y - 1)) - 1
    end = NEAR.rounding / 2 if with_ends else -NEAR.rounding / 2
    within = ca.logic_and(aside <= end + NEAR.rounding / 4, ca.logic_not(parallel))
    within = ca.logic_and(within, ca.mmin(outwards.T @ normal) >= -NEAR.rounding)
    within = ca.logic_and(within, gap >= least - NEAR.apart * ca.sqrt(aa + bb))
    x_near = _share(x)
    y_near = _share((ab * x_near + on_b) / bb)
    x_near = _share((ab * y_near - on_a) / aa)
    near_a, near_b = a + x_near * along_a, b + y_near * along_b
    length = ca.sqrt(ca.fmax(ca.sumsqr(near_a - near_b), NEAR.apart**2 * (aa + bb)))
    further = Touch(gap, normal, at_a, at_b)
    nearest = length, (near_a - near_b) / length, near_a, near_b
    return Touch(*(ca.if_else(within, here, there) for here, there in zip(further, nearest, strict=False)),
                 end - aside, further)


def _share(x):
    return ca.fmin(ca.fmax(x, 0), 1)


def corner_on_box(corner: ca.SX, centre: ca.SX, rotation: ca.SX, half: ca.SX, face: ca.SX | None = None) -> Touch:
    """A point against that face of a box beyond which it is furthest; the gap is the distance while it is above it.

    With a `face`, one for the axis across it and zero for the others, it is that face while the point is between the
    others or on one of them.
    """
    seen = rotation.T @ (corner - centre)
    beyond = ca.fabs(seen) - half
    side, furthest = ca.if_else(seen < 0, -1, 1), _largest(beyond)
    gap, normal = ca.dot(furthest, beyond), rotation @ (furthest * side)
    if face is None:
        return Touch(gap, normal, corner, corner - gap * normal)
    size = ca.sum1(half)
    beside = ca.mmax(beyond - face * 10 * (size + ca.sum1(ca.fabs(seen)))) / size
    height, upwards = ca.dot(face, beyond), rotation @ (face * side)
    gap, normal = (ca.if_else(beside <= NEAR.rounding, *pair) for pair in ((height, gap), (upwards, normal)))
    return Touch(gap, normal, corner, corner - gap * normal, NEAR.rounding / 2 - beside,
                 Touch(height, upwards, corner, corner - height * upwards))


def _largest(values):
    """One for the largest of three values, the first of several, and zero for the others."""
    x, y, z = (values[i] for i in range(3))
    on_x = ca.logic_and(x >= y, x >= z)
    on_y = ca.logic_and(ca.logic_not(on_x), y >= z)
    return ca.vertcat(on_x, on_y, 1 - on_x - on_y)


def boxes(a: ca.SX, axes_a: ca.SX, half_a: ca.SX, b: ca.SX, axes_b: ca.SX, half_b: ca.SX,
          with_edges: bool = True) -> list[Touch]:
    """Where two boxes with centres a and b may touch: 8 corners of each on the other, and 144 pairs of edges."""
    found = _touches_of_boxes(with_edges).call([a, axes_a, half_a, b, axes_b, half_b])
    return [Touch(*one[:5], Touch(*one[5:])) for one in zip(*map(ca.horzsplit, found), strict=True)]


@cache
def _touches_of_boxes(with_edges):
    """The parts of a `Touch`, a column for each place, as a function: to write them takes 20 times as long as to call
    it with symbols, which gives the same formulas."""
    symbols = [ca.SX.sym(name, *shape) for _ in range(2) for name, shape in (("x", (3,)), ("axes", (3, 3)),
                                                                             ("half", (3,)))]
    found = [(*touch[:5], *touch.further[:4]) for touch in _boxes(*symbols, with_edges)]
    return ca.Function("boxes", symbols, [ca.horzcat(*one) for one in zip(*found, strict=True)])


def _boxes(a, axes_a, half_a, b, axes_b, half_b, with_edges):
    turned = axes_a.T @ axes_b
    faces = [ca.fabs(axes.T @ (a - b)) - half - ca.fabs(turn) @ other for axes, half, turn, other in
             ((axes_a, half_a, turned, half_b), (axes_b, half_b, turned.T, half_a))]
    on_a, on_b = map(_largest, faces)  # overlapping boxes part first where they overlap least
    least = ca.fmin(ca.mmax(ca.vertcat(*faces)), 0)
    found = [corner_on_box(a + axes_a @ (half_a * ca.DM(x)), b, axes_b, half_b, on_b) for x in CORNERS]
    for x in CORNERS:
        found.append(_turned(corner_on_box(b + axes_b @ (half_b * ca.DM(x)), a, axes_a, half_a, on_a)))
    for (start_a, i), (start_b, j) in itertools.product(EDGES if with_edges else (), repeat=2):
        outwards = ca.horzcat(*(-start_a[k] * axes_a[:, k] for k in range(3) if k != i),
                              *(start_b[k] * axes_b[:, k] for k in range(3) if k != j))
        from_a, from_b = a + axes_a @ (half_a * ca.DM(start_a)), b + axes_b @ (half_b * ca.DM(start_b))
        found.append(edges(from_a, 2 * half_a[i] * axes_a[:, i], from_b, 2 * half_b[j] * axes_b[:, j], outwards, least,
                           with_ends=False))
    return found


def _turned(touch):
    """A touch of b and a as one of a and b."""
    return touch and Touch(touch.gap, -touch.normal, touch.at_b, touch.at_a, touch.reach, _turned(touch.further))
