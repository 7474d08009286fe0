"""Parts beyond joints and springs for random systems: beams, loops, contacts, formulas, states of first order, drives.

As plain data in space axes, like the rest of a draft, and built in any world.
"""

import casadi
import numpy as np

import timefem as tf

KEEPS = ("formula energy", "penalty plane", "penalty spheres", "slack rope", "bend", "distance", "beam", "end stop")
KINDS = (*KEEPS, "lorentz", "drag by squares", "activation", "joint friction", "motor", "torque", "vanishing")
ON_JOINTS = ("joint friction", "motor", "end stop")


def with_extras(draft, seed, *, conservative=False):
    """The draft with some more parts, of a random stream of their own."""
    rng = np.random.default_rng([seed, 7])
    kinds = KEEPS if conservative else KINDS
    wanted = [kinds[i] for i in rng.integers(len(kinds), size=rng.integers(0, 4))]
    extras = [extra for extra in (_drawn(rng, draft, kind, conservative) for kind in wanted) if extra]
    if sum(extra["kind"] == "distance" for extra in extras) > _freedoms(draft) - 2:
        extras = [extra for extra in extras if extra["kind"] != "distance"]
    return draft | {"extras": extras}


def with_finer_beams(draft, n=4):
    """The draft with n elements in each beam; None where it has none."""
    beams = [extra | {"elements": n} if extra["kind"] in ("beam", "bow") else extra for extra in draft["extras"]]
    return draft | {"extras": beams} if any("elements" in extra for extra in beams) else None


def _freedoms(draft):
    held = {"spherical": 3, "revolute": 5, "universal": 4, "cylindrical": 4, "prismatic": 5, "planar": 3, "weld": 6}
    return 6 * len(draft["bodies"]) - sum(held[joint["kind"]] for joint in draft["joints"])


def _velocity(draft, i, place):
    if i is None:
        return np.zeros(3)
    body = draft["bodies"][i]
    return body["velocity"] + np.cross(body["spin"], place - body["place"])


def _drawn(rng, draft, kind, conservative):
    bodies = draft["bodies"]
    a = int(rng.integers(len(bodies)))
    b = int(rng.integers(len(bodies))) if rng.random() < 0.6 else None
    b = None if b == a else b
    if kind == "penalty spheres" and b is None:
        return None
    places = [rng.normal(0, 0.3, 3) + (rng.normal(0, 2, 3) if i is None else bodies[i]["place"]) for i in (a, b)]
    extra = {"kind": kind, "a": a, "b": b, "places": places, "size": rng.uniform(0.5, 5.0),
             "rest": rng.uniform(0.2, 1.0), "vector": rng.normal(0, 2, 3),
             "dissipates": 0.0 if conservative else rng.uniform(0, 0.3)}
    if kind in ON_JOINTS:
        taken = [i for i, joint in enumerate(draft["joints"]) if joint["kind"] in ("revolute", "prismatic")]
        return extra | {"joint": int(rng.choice(taken))} if taken else None
    if kind == "beam":
        return extra | {"axes": _turn(rng), "moves": bool(rng.integers(2))}
    return _rod(rng, draft, extra) if kind == "distance" else extra


def _turn(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


def _rod(rng, draft, extra):
    """The second place moved along a line to where the points neither come nearer nor part; or None."""
    first, second = extra["places"]
    if (extra["a"], extra["b"]) in [(j["a"], j["b"]) for j in draft["joints"]]:
        return None
    for _ in range(20):
        way = rng.normal(size=3)
        values = [(first - second - s * way) @ (_velocity(draft, extra["a"], first)
                                                - _velocity(draft, extra["b"], second + s * way)) for s in (-1, 0, 1)]
        roots = np.roots([(values[0] + values[2]) / 2 - values[1], (values[2] - values[0]) / 2, values[1]])
        near = [s.real for s in np.atleast_1d(roots) if abs(s.imag) < 1e-12 and abs(s) < 2]
        if near:
            places = [first, second + near[0] * way]
            return extra | {"places": places} if np.linalg.norm(places[1] - first) > 0.3 else None
    return None


def _stretch(f, t, c):
    ends = f[0].point(c[2:5]), f[1].point(c[5:8]) if len(f) > 1 else c[5:8]
    return c[0] * casadi.sqrt(c[1]**2 + casadi.sumsqr(ends[0] - ends[1]))


def _lorentz(f, t, c):
    return casadi.cross(f[0].velocity, c)


def _activated(f, t, c):
    return [c * f[1].q, 0]


def _fading(f, t, c):
    """Vanishes for good, smoothly, in the middle of the motion: counted from the start."""
    s = casadi.fmax(1 - (t - c[3]) / c[4], 0)
    return c[:3] * s**3


def made(draft, world, bodies, joints, state, number, local):
    """The parts of one extra; what moves of its own enters `state`."""
    extra, name = draft["extras"][number], f"e{number}"
    kind, a, b = extra["kind"], extra["a"], extra["b"]
    size, unit, second = extra["size"] * world.stiffness, world.length, world.second
    pair = (bodies[a],) if b is None else (bodies[a], bodies[b])
    points = [local(draft, world, a, extra["places"][0]), local(draft, world, b, extra["places"][1])]
    ends, there = dict(zip(("point_a", "point_b"), points, strict=True)), [world.place(x) for x in extra["places"]]
    if kind in ON_JOINTS:
        return [_on_joint(draft, world, joints[extra["joint"]], extra, name)]
    if kind == "formula energy":
        return [tf.FormulaEnergy(list(pair), _stretch, [size * unit, extra["rest"] * unit, *points[0], *points[1]],
                                 name=name)]
    if kind == "lorentz":
        return [tf.FormulaForce(bodies[a], _lorentz, world.turning(extra["vector"]) * world.mass / second, name=name)]
    if kind == "drag by squares":
        return [tf.Drag(bodies[a], extra["size"] * world.mass / unit, points[0], name=name)]
    if kind == "torque":
        return [tf.Torque(bodies[a], world.turning(extra["vector"]) * world.energy, frame="space", name=name)]
    if kind == "vanishing":
        push = world.vector(extra["vector"]) * world.force
        return [tf.FormulaForce(bodies[a], _fading, [*push, world.time, 0.125 * second], name=name)]
    if kind == "activation":
        activation = tf.State(f"{name} state", "(dot(f[0].position - c[1:4], f[0].velocity) / c[4] - x[0]) / c[0]",
                              bodies=[bodies[a]], parameters=[extra["rest"] * second, *there[1], unit**2 / second])
        state[activation] = [0.5]
        return [activation, tf.FormulaForce([bodies[a], activation], _activated,
                                            world.vector(extra["vector"]) * world.force, name=name)]
    if kind == "penalty plane":
        normal = extra["vector"] / np.linalg.norm(extra["vector"])
        below = draft["bodies"][a]["place"] + normal * (0.1 - extra["rest"] / 4)
        return [tf.PlaneContact(bodies[a], stiffness=20 * size, damping=extra["dissipates"] * second / unit,
                                friction=extra["dissipates"], friction_width=0.2 * unit / second,
                                normal=world.vector(normal),
                                plane_point=world.place(below), points=[points[0], (0, 0, 0)], name=name)]
    apart = np.linalg.norm(there[1] - there[0])
    if kind == "penalty spheres":
        return [tf.SphereContact(*pair, **ends, radius_a=apart / 2, radius_b=apart * (0.3 + extra["rest"] / 4),
                                 stiffness=20 * size, damping=extra["dissipates"] * second / unit, name=name)]
    if kind == "slack rope":
        return [tf.SlackRope(*pair, **ends, length=apart * (0.8 + 0.3 * extra["rest"]), stiffness=20 * size,
                             damping=extra["dissipates"] * second / unit, name=name)]
    if kind == "distance":
        return [tf.RigidDistance(*pair, **ends, length=apart, name=name)]
    if kind == "bend":
        stand = world.matrix(draft["bodies"][a]["turn"])
        stand = stand if b is None else world.matrix(draft["bodies"][b]["turn"]).T @ stand
        return [tf.RotationalSpring(*pair, stiffness=size * unit**2, orientation=stand, name=name)]
    assert kind == "beam"
    return _beam(draft, world, bodies, extra, state, name, local)


def _on_joint(draft, world, joint, extra, name):
    turns = draft["joints"][extra["joint"]]["kind"] == "revolute"
    unit = 1 if turns else world.length
    size = extra["size"] * (world.energy if turns else world.force)  # torque or force
    if extra["kind"] == "joint friction":
        return tf.JointFriction(joint, friction=0.2 * size, friction_width=0.5 * unit / world.second, name=name)
    if extra["kind"] == "motor":
        inertia = 0.02 * extra["rest"] * world.mass * world.length**2
        return tf.Motor(joint, gear=5.0 / unit, rotor_inertia=inertia, damping=0.5 * inertia / world.second,
                        torque=0.02 * extra["size"] * world.energy, name=name)
    return tf.EndStop(joint, lowest=(-0.02 - 0.1 * extra["rest"]) * unit, highest=0.05 * unit, turns=False, name=name,
                      stiffness=10 * size / unit, damping=extra["dissipates"] * world.second / unit)


def _beam(draft, world, bodies, extra, state, name, local):
    """Welded to a body and moving with it, or clamped in space and joined to the body by a spring."""
    m, unit, n = world.mass, world.length, extra.get("elements", 2)
    k = 20 * extra["size"] * world.force
    section = tf.Section(EA=5 * k, GA=(2 * k, 3 * k), GJ=0.02 * k * unit**2,
                         EI=(0.05 * k * unit**2, 0.03 * k * unit**2), mass=0.5 * m / unit,
                         inertia=np.array([0.02, 0.013, 0.012]) * m * unit,
                         damping=0.05 * extra["dissipates"] * world.second)
    start, axes = extra["places"][0], extra["axes"]
    end = start + 0.6 * axes[:, 0]
    along, across = world.vector(axes[:, 0]), world.vector(axes[:, 1])
    beam = tf.Beam(tf.Line(world.place(start), world.place(end), across), section, n, 2,
                   bodies[extra["a"]].rotation, name=name)
    triad = np.stack([along, across, np.cross(along, across)], axis=1)
    holder = extra["a"] if extra["moves"] else None
    spin = draft["bodies"][holder]["spin"] if extra["moves"] else np.zeros(3)
    state[beam] = [tf.Pose(world.place(x), triad, world.vector(_velocity(draft, holder, x)) * unit / world.second,
                           world.turning(spin) / world.second, frame="space")
                   for x in start + np.linspace(0, 1, 2 * n + 1)[:, None] * (end - start)]
    if extra["moves"]:
        stand = triad.T @ world.matrix(draft["bodies"][holder]["turn"])
        return [beam, tf.Weld(bodies[holder], beam.start, point_a=local(draft, world, holder, start), point_b=(0, 0, 0),
                              orientation=stand, name=f"{name} weld")]
    clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=world.place(start), orientation=triad, name=f"{name} clamp")
    return [beam, clamp, tf.Spring(bodies[extra["a"]], beam.end, point_b=(0, 0, 0), length=0.3 * unit,
                                   stiffness=extra["size"] * world.stiffness, name=f"{name} spring")]
