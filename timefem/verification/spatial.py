"""Spatial mechanisms of the IFToMM library of multibody benchmarks, with numbers of other programs."""

import numpy as np

from .. import (
    Damper,
    InitialValueProblem,
    MixedGalerkin,
    Pose,
    Prismatic,
    Revolute,
    RigidBody,
    Spherical,
    Spring,
    System,
    Universal,
    critical_values,
    linearize,
    solve,
)
from ..cases.nonholonomic import bicycle
from .entry import entry
from .library import LIBRARY
from .newton_euler import Mechanism

# slider above the ground [m], angular velocity of the shaft [rad/s]
GOVERNOR = {0.5: (0.7432494247863327, 5.10341542197154), 1.0: (0.5014209223795683, 6.27112574187662),
            10.0: (0.6196229170613909, 5.54820362265498)}


def cuboid(mass, sides):
    """Principal inertia."""
    squares = np.square(sides)
    return mass / 12 * (squares.sum() - squares)


def governor():
    """System, states, shaft and slider: the rods turn about the top of the shaft, springs and dampers hold the
    slider to their middles."""
    length, thin, density, ball, out, tilt = 1.0, 0.01, 3000.0, 5.0, 0.05, np.pi / 6
    spin = np.array([0, 0, 2 * np.pi])
    bar, block = density * length * thin**2, density * 0.1**3
    shaft = RigidBody(bar, cuboid(bar, (thin, thin, length)), name="shaft")
    slider = RigidBody(block, cuboid(block, (0.1, 0.1, 0.1)), name="slider")
    up, top = (0, 0, 1), np.array([0, 0, length / 2])
    parts = [shaft, slider, Revolute(shaft, point_a=-top, point_b=(0, 0, 0), axis_a=up, axis_b=up),
             Prismatic(slider, shaft, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=up)]
    states = {shaft: Pose(top, angular_velocity=spin), slider: Pose((0, 0, 0.5), angular_velocity=spin)}
    mass = bar + ball
    reach = (bar * length / 2 + ball * length) / mass  # from the hinge to the centre of mass of rod and ball
    across = bar * (reach - length / 2)**2 + ball * (length - reach)**2
    inertia = cuboid(bar, (length, thin, thin)) + [0, across, across]
    for side, name in ((1, "right rod"), (-1, "left rod")):
        rod, y = RigidBody(mass, inertia, name=name), np.array([0, side, 0])
        along = np.array([side * np.cos(tilt), 0, -np.sin(tilt)])
        rotation = np.column_stack([along, y, np.cross(along, y)])
        hinge = np.array([side * out, 0, length])
        held = dict(point_a=(length / 2 - reach, 0, 0), point_b=(side * out, 0, 0))
        parts += [rod, Revolute(rod, shaft, point_a=(-reach, 0, 0), point_b=hinge - top, axis_a=y, axis_b=y),
                  Spring(rod, slider, stiffness=8e5, length=0.5, **held), Damper(rod, slider, damping=4e4, **held)]
        place = hinge + reach * along
        states[rod] = Pose(place, rotation, np.cross(spin, place), rotation.T @ spin)
    return System(parts, gravity=(0, 0, -9.81)), states, shaft, slider


@entry("library-a05-governor", "stiff flyball governor, t = 0.5, 1 and 10 s: place of the slider, speed of the shaft",
       LIBRARY.format("A05, at 1 turn/s; numbers of Exudyn 1.13, DOPRI5 in joint coordinates at 1e-11"), 1e-9,
       minutes=True, remark="The library has its numbers in a figure: the slider goes from 0.50 to 0.74 m and back "
       "in 1.02 s; these do too.")
def flyball_governor():
    system, states, shaft, slider = governor()
    sol = solve(InitialValueProblem(system, states, (0, 10)), MixedGalerkin(4), 4000, progress=False)
    times = np.array(list(GOVERNOR))
    place, speed = np.array(list(GOVERNOR.values()), float).T
    return {"place of the slider": (place, sol.position(slider, times)[:, 2]),
            "speed of the shaft": (speed, sol.angular_velocity(shaft, times)[:, 2])}


# t [s], place of the slider [m]
CRANK = {0.1: 0.226785384, 0.2: 0.263034975, 0.4: 0.222848664, 1.0: 0.211754668, 2.0: 0.289063554, 3.0: 0.228450093,
         4.0: 0.188208161, 5.0: 0.240761815}


def slider_crank():
    """System, states, slider, and the same as plain data."""
    crank_length, rod_length, spin = 0.08, 0.3, np.array([6.0, 0, 0])
    a, x = np.array([0, 0.1, 0.12]), np.array([1.0, 0, 0])
    b = a + [0, 0, crank_length]
    c = np.array([np.sqrt(rod_length**2 - b[1]**2 - b[2]**2), 0, 0])
    along = (c - b) / rod_length
    across = np.cross(x, along) / np.linalg.norm(np.cross(x, along))
    rotation = np.column_stack([along, across, np.cross(along, across)])
    at_b = np.cross(spin, b - a)
    at_c = at_b @ along / along[0] * x
    # the rod turns with its ends, and does not turn beside the cross of the universal joint
    turn = np.array([*(np.cross(along, e) for e in rotation.T[1:]), np.cross(across, x)])
    relative = (at_c - at_b) / rod_length
    spin_of_rod = np.linalg.solve(turn, [relative @ rotation[:, 1], relative @ rotation[:, 2], 0.0])
    crank = RigidBody(0.12, (1e-4, 1e-5, 1e-4), name="crank")
    rod = RigidBody(0.5, (4e-4, 4e-3, 4e-3), name="rod")
    slider = RigidBody(2.0, (1e-4, 1e-4, 1e-4), name="slider")
    half, end, zero = np.array([0, 0, crank_length / 2]), np.array([rod_length / 2, 0, 0]), np.zeros(3)
    poses = {crank: Pose(a + half, velocity=at_b / 2, angular_velocity=spin),
             rod: Pose((b + c) / 2, rotation, (at_b + at_c) / 2, rotation.T @ spin_of_rod),
             slider: Pose(c, velocity=at_c)}
    y, z = np.eye(3)[1:]
    parts = [crank, rod, slider, Revolute(crank, point_a=-half, point_b=a, axis_a=x, axis_b=x),
             Spherical(crank, rod, point_a=half, point_b=-end),
             Universal(rod, slider, point_a=end, point_b=zero, axis_a=(0, 1, 0), axis_b=x),
             Prismatic(slider, point_a=zero, point_b=zero, axis_b=x)]

    def right_angles(i, fixed, *directions):
        return [(("direction", i, fixed), ("direction", None, u)) for u in directions]

    joints = [([((0, -half), (None, a))], right_angles(0, x, y, z), []), ([((0, half), (1, -end))], [], []),
              ([((1, end), (2, zero))], [(("direction", 1, y), ("direction", 2, x))], []),
              ([], [*right_angles(2, x, y, z), *right_angles(2, y, z),
                    *((("gap", (2, zero), (None, zero)), ("direction", None, u)) for u in (y, z))], [])]
    plain = Mechanism([0.12, 0.5, 2.0], [body.inertia.diagonal() for body in poses], joints, [], (0, 0, -9.81))
    return System(parts, gravity=(0, 0, -9.81)), poses, slider, plain


@entry("library-spatial-slider-crank", "spatial slider-crank with a universal joint, t = 0.1 to 5 s: place of the "
       "slider", LIBRARY.format("spatial rigid slider-crank; numbers handed in by F. Gonzalez, nine digits"), 5e-4,
       remark="Ours agree with equations of motion stated a second time to 1e-9, see the next entry; of the others "
       "that were handed in to the library some differ by 1e-2.")
def spatial_slider_crank():
    system, poses, slider, _ = slider_crank()
    sol = solve(InitialValueProblem(system, poses, (0, 5)), MixedGalerkin(3), 1000, progress=False)
    return {"place of the slider": (np.array(list(CRANK.values())), sol.position(slider, list(CRANK))[:, 0])}


@entry("spatial-slider-crank-newton-euler", "spatial slider-crank with a universal joint, t = 2 s: places and "
       "velocities", "Newton-Euler equations of their own, SciPy's DOP853 at 1e-11", 1e-8, minutes=True)
def spatial_slider_crank_again():
    system, poses, _, plain = slider_crank()
    sol = solve(InitialValueProblem(system, poses, (0, 2)), MixedGalerkin(4), 800, progress=False)
    y = [np.concatenate([sol.position(b, 0), sol.quaternion(b, 0), sol.velocity(b, 0), sol.angular_velocity(b, 0)])
         for b in poses]
    end = plain.solve(np.array(y), 2.0)
    return {"places": (end[:, :3], np.array([sol.position(b, 2.0) for b in poses])),
            "velocities": (end[:, 7:10], np.array([sol.velocity(b, 2.0) for b in poses])),
            "angular velocities": (end[:, 10:], np.array([sol.angular_velocity(b, 2.0) for b in poses]))}


# ---- stability of steady motions, with published eigenvalues

# speed [m/s]: castering, capsize, weave
BICYCLE = {1: (-7.11008014637442, -3.13423125066578, 3.52696170990070 + 0.8077402751993j),
           2: (-8.67387984831735, -3.07158645641514, 2.68234517512745 + 1.68066296590675j),
           3: (-10.35101467245920, -2.63366137253667, 1.70675605663975 + 2.31582447384325j),
           4: (-12.15861426576450, -1.42944427361326, 0.41325331521125 + 3.07910818603206j),
           5: (-14.07838969279820, -0.32286642900409, -0.77534188219585 + 4.46486771378823j),
           6: (-16.08537123098030, -0.00406690076970, -1.52644486584142 + 5.87673060598709j),
           7: (-18.15788466125262, 0.10268170574766, -2.13875644258362 + 7.19525913329805j),
           8: (-20.27940894394569, 0.14327879765713, -2.69348683581097 + 8.46037971396931j),
           9: (-22.43788559040858, 0.15790184030917, -3.21675402252485 + 9.69377351531791j),
           10: (-24.62459635017404, 0.16105338653172, -3.72016840437287 + 10.90681139476287j)}
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837


@entry("bicycle-eigenvalues", "Whipple's bicycle, upright at 1 to 10 m/s: eigenvalues, weave and capsize speed",
       "Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463 (2007), Table 2; IFToMM library", 1e-11)
def bicycle_eigenvalues():
    system, riding = bicycle()
    critical = critical_values(lambda speed: linearize(system, riding(speed)), (0.5, 8))
    out = {"weave and capsize speed": (np.array([WEAVE, CAPSIZE]), np.array([c.value for c in critical]))}
    for speed, published in BICYCLE.items():
        found = linearize(system, riding(float(speed))).eigenvalues
        theirs, ours = np.array(published), np.array([found[np.argmin(np.abs(found - x))] for x in published])
        out[f"eigenvalues at {speed} m/s"] = tuple(np.append(x.real, x.imag) for x in (theirs, ours))
    return out
