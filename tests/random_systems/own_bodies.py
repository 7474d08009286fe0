"""Further entries of the table of kinds: bodies of their own that roll, swing or turn as is given, curves, edges, discs
and boxes that touch, controllers of other drives, and what is for marches alone."""

import numpy as np

import timefem as tf

from .others import ALONG, FIRST, KINDS, Kind, _formulas, _rubbing, numbers_of


def _own(h, place, spin, velocity, turn=0):
    """A rigid body of its own, and its pose."""
    body = tf.RigidBody(h.rest * h.mass, np.array([0.1, 0.12, 0.15]) * h.mass * h.unit**2, h.body.rotation, name=h.name)
    h.state[body] = h.pose(place, velocity, h.extra["turns"][turn], spin)
    return body


def _tied(h, body):
    """A spring from the middle of a body to the one of the draft."""
    return tf.Spring(h.body, body, point_a=h.ends["point_a"], stiffness=h.size * h.stiffness, name=h.name + "k")


def _rolling(h, disc=False):
    """On a plane through any place, held by a spring."""
    normal, spin, radius = h.vector / np.linalg.norm(h.vector), h.n[:3] * [2, -1, 1], 0.3
    axis = h.extra["turns"][0][:, 2]
    down = (normal @ axis) * axis - normal if disc else -normal
    arm = radius * down / np.linalg.norm(down)
    place = h.to - arm if not disc else h.to
    body = _own(h, place, spin, -np.cross(spin, arm))
    plane = {"radius": radius * h.unit, "normal": h.world.vector(normal), "plane_point": h.world.place(place + arm)}
    triad = h.world.matrix(h.extra["turns"][0])
    rolls = (tf.RollingDisc(body, **plane, axis=triad.T @ h.world.vector(axis), name=h.name + "r") if disc else
             tf.RollingSphere(body, **plane, name=h.name + "r"))
    return [body, rolls, _tied(h, body)]


def _swinging(h):
    """Held at a point, and damped against turns of the body of the draft."""
    spin, arm = h.vector, 0.3 * h.extra["turns"][1][:, 0]
    body, triad = _own(h, h.to, spin, np.cross(spin, arm)), h.world.matrix(h.extra["turns"][0])
    held = tf.FixedPoint(body, triad.T @ -h.world.vector(arm) * h.unit, h.world.place(h.to - arm), name=h.name + "p")
    return [body, held, _tied(h, body)]


def _turned(h):
    """About a hinge in space by a given angle."""
    axis, across = h.extra["turns"][1][:, 0], h.extra["turns"][1][:, 1]
    rate, arm = 2 * h.n[0], 0.3 * across
    body, triad = _own(h, h.to, rate * axis, np.cross(rate * axis, arm)), h.world.matrix(h.extra["turns"][0])
    about, out = h.world.turning(axis), h.world.vector(across)
    hinge = tf.Revolute(body, point_a=-triad.T @ h.world.vector(arm) * h.unit, point_b=h.world.place(h.to - arm),
                        axis_a=triad.T @ about, axis_b=about, name=h.name + "h")
    return [body, hinge, _tied(h, body), tf.PrescribedAngle(
        body, angle=h.polynomial(0.0, rate, 3 * h.n[1]), axis_b=about, direction_a=triad.T @ out, direction_b=out,
        name=h.name + "a")]


def _untwisting(h):
    third = h.extra["turns"][0][:, 2]
    body = _own(h, h.to, np.cross(third, h.vector), h.n[:3])
    return [body, tf.NonTwisting(body, h.n[3], name=h.name + "t"), _tied(h, body),
            tf.Torque(body, h.push(h.extra["turns"][1][:, 0]) * h.unit * h.sign, name=h.name + "m")]


def _mimicking(h):
    """A tree whose last joint follows the first, with a fixed link between."""
    turns, frames, place = h.extra["turns"], [(np.zeros(3), None)], h.to + [0.0, 1.0, 0.0]
    slides = h.choice % 2
    kinds, links, joints = ("revolute", "fixed", "prismatic" if slides else "revolute"), [tf.Link("base")], []
    for i, kind in enumerate(kinds):
        place, turn = place + 0.3 * turns[i][:, 0], turns[i]
        before, stand = frames[-1]
        inner = np.eye(3) if stand is None else h.world.matrix(stand).T
        here = inner @ (h.world.place(place) - (0 if stand is None else h.world.place(before)))
        frame = h.world.matrix(turn)
        axis = frame.T @ h.world.vector(turn[:, 1]) * (h.sign if kind == "revolute" else 1)
        unit = h.unit if kind == "prismatic" else 1.0
        follows = {"mimic": ("q0", 0.7 * unit, 0.1 * unit)} if i == 2 else {}
        links.append(tf.Link(f"l{i}", h.n[i] * h.mass, frame.T @ h.world.vector(0.1 * turn[:, 2]) * h.unit,
                             np.array([0.1, 0.12, 0.15]) * h.mass * h.unit**2))
        joints.append(tf.TreeJoint(f"q{i}", links[-2].name, f"l{i}", kind, here, inner @ frame, axis, **follows))
        frames.append((place, turn))
    tree = tf.Tree(links, joints, name=h.name)
    h.state[tree] = {"q0": (0.3 * h.n[3], h.n[4] / h.second)}
    return [tree, _tied(h, tree.link("l2"))]


def _on_a_curve(h):
    """A point of the body on a parabola in space that touches its path."""
    along = h.velocity(h.a, h.at)
    along = along if np.linalg.norm(along) > 1e-6 else h.vector
    along = along / np.linalg.norm(along)
    bend = np.cross(along, h.vector)
    bend = bend / np.linalg.norm(bend)
    c = [*h.ends["point_a"], *h.world.place(h.at), *h.world.vector(along), *h.world.vector(bend),
         *h.world.vector(np.cross(along, bend)), h.n[0] / h.unit]
    off = "(f[0].point(c[0:3]) - c[3:6])"
    return tf.Constraint([h.body], [f"dot(c[9:12], {off}) - c[15] * dot(c[6:9], {off})**2", f"dot(c[12:15], {off})"], 2,
                         c, name=h.name)


def _bow(h):
    """A beam along an arc, clamped in space, with loads along it and a spring from its end to the body."""
    axes, unit, k = h.extra["turns"][0], h.unit, 20 * h.size * h.force
    section = tf.Section(EA=5 * k, GA=(2 * k, 3 * k), GJ=0.02 * k * unit**2, mass=0.5 * h.mass / unit,
                         EI=(0.05 * k * unit**2, 0.03 * k * unit**2),
                         inertia=np.array([0.02, 0.013, 0.012]) * h.mass * unit)
    turn = h.world.turn @ axes

    def arc(u):
        flat = np.array([np.sin(u), 1 - np.cos(u), 0 * u]) * 0.5
        return unit * ((turn @ flat).T + h.world.turn @ h.to + h.world.shift)

    across, n = h.world.vector(axes[:, 1]), h.extra.get("elements", 2)
    beam = tf.Beam(tf.Curve(arc, 1.0, across), section, n, 2, h.body.rotation, name=h.name)
    triad = np.stack([h.world.vector(axes[:, 0]), across, np.cross(h.world.vector(axes[:, 0]), across)], axis=1)
    clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=h.world.place(h.to), orientation=triad, name=h.name + "c")
    return [beam, clamp, tf.Spring(h.body, beam.end, point_b=(0, 0, 0), point_a=h.ends["point_a"],
                                   stiffness=h.size * h.stiffness, name=h.name + "k"),
            tf.LineForce(beam, h.push(h.vector) / unit, h.time(), name=h.name + "w"),
            tf.LineTorque(beam, h.sign * h.push(h.n[:3]), name=h.name + "t")]


def _law_of_contact(h, rigid):
    if rigid:
        return {"restitution": 0.5 * (h.choice % 2), "friction": 0.3 * (h.choice // 2 % 2), "name": h.name}
    penalty = {"stiffness": 40 * h.size * h.stiffness, "damping": h.n[0] * h.second / h.unit}
    return {"name": h.name, **penalty, **_rubbing(h)}


def _discs(h, rigid=False):
    axis = h.extra["turns"][0][:, 0]
    apart = h.at - h.to
    size = np.linalg.norm(apart - (apart @ axis) * axis) * h.unit * (0.9 if rigid else 1.0 + 0.1 * h.n[1])
    return tf.DiscContact(*h.pair, **h.ends, radius_a=0.4 * size, radius_b=0.6 * size, axis=h.along(h.b, axis),
                          **_law_of_contact(h, rigid))


def _edges(h, rigid=False):
    one, other, out = h.extra["turns"][0].T
    below = h.at - 0.05 * out
    return tf.EdgeContact(*h.pair, start_a=h.local(h.a, h.at - 0.3 * one), end_a=h.local(h.a, h.at + 0.4 * one),
                          start_b=h.local(h.b, below - 0.3 * other), end_b=h.local(h.b, below + 0.4 * other),
                          outwards=h.along(h.b, out), **_law_of_contact(h, rigid))


def _boxes(h, rigid=False):
    one, other = (h.draft["bodies"][i]["place"] for i in (h.a, h.b))
    edge = 2 * np.linalg.norm(one - other) * (0.27 if rigid else 0.35) * h.unit
    return tf.BoxPairContact(*h.pair, size_a=edge * np.array([1, 0.9, 0.95]), size_b=edge * np.array([0.8, 1, 0.9]),
                             edges=False, **_law_of_contact(h, rigid))


def _row(h):
    """A point above a plane, by a formula."""
    normal = h.vector / np.linalg.norm(h.vector)
    n = h.world.vector(normal)
    return tf.FormulaContact([h.body], formula="dot(c[0:3], f[0].point(c[3:6])) - c[6]", restitution=0.5, parameters=[
        *n, *h.ends["point_a"], n @ h.world.place(h.at - 0.05 * normal)], name=h.name)


def _tether(h):
    return tf.Tether(*h.pair, **h.ends, length=1.03 * np.linalg.norm(h.at - h.to) * h.unit,
                     restitution=0.5 * (h.choice % 2), name=h.name)


def _distance(h):
    """Its square, in space, by a formula of the place of a body."""
    x = h.world.place(h.to)
    return tf.FormulaOutput(" + ".join(f"(f[0].position[{i}] - {float(x[i])!r})**2" for i in range(3)), h.body)


def _steered(h, controller=tf.Controller, **options):
    """A force and a torque by the distance from a place, and how it changes."""
    push, turn = h.push(h.vector), h.about(h.a, h.n[:3]) * h.energy
    laws = [f"c[{i}] * x[0] + c[{i + 6}] * v[0]" for i in range(6)]
    sizes = np.concatenate([push, turn]) / h.unit**2
    drives = [tf.ControlForce(h.body, point=h.ends["point_a"], name=h.name + "f"),
              tf.ControlTorque(h.body, name=h.name + "t")]
    return controller(drives, laws, inputs=[_distance(h)], parameters=[*0.2 * sizes, *0.1 * sizes * h.second],
                      name=h.name, **options)


def _servo(h, controller=tf.Controller, **options):
    unit, force = h.way
    return controller([(h.joint, h.extra["coordinate"])], "-c[0] * (x[0] - c[1]) - c[2] * v[0]", parameters=[
        h.size * force / unit, 0.1 * unit, h.rest * force / unit * h.second], name=h.name, **options)


def _measured(h):
    """A joint is measured, a point of a body is pushed."""
    unit, _ = h.way
    laws = [f"c[{i}] * sin(x[0] / c[3])" for i in range(3)]
    return tf.Controller([tf.ControlForce(h.body, frame="body", name=h.name + "f")], laws,
                         [tf.JointOutput(h.joint, h.extra["coordinate"])],
                         [*h.along(h.a, h.vector) * h.force, unit], name=h.name)


def _driven(h):
    """Coordinates of a formula, by a matrix of controls."""
    parts = _formulas(h)
    drive = tf.GeneralizedControl(parts[0], np.array([[h.force], [0.3 * h.energy]]), name=h.name + "g")
    return [*parts, tf.Controller([drive], "-c[0] * x[0] - c[1] * v[0]", [tf.CoordinateOutput(parts[0], 0)],
                                  [h.size / h.unit, h.rest / h.speed], name=h.name + "law")]


SAMPLED = {"controller": tf.SampledController}
KINDS |= {
    "rolling sphere": Kind(_rolling, own=True),
    "rolling disc": Kind(lambda h: _rolling(h, True), own=True),
    "swinging": Kind(_swinging, own=True, keeps=True),
    "turned": Kind(_turned, own=True, given=True),
    "untwisting": Kind(_untwisting, own=True),
    "mimic": Kind(_mimicking, own=True),
    "on a curve": Kind(_on_a_curve, rows=2),
    "bow": Kind(_bow, own=True, given=True),
    "discs": Kind(_discs, kinks=True),
    "edges": Kind(_edges, kinks=True),
    "boxes": Kind(_boxes, kinks=True, pair=True),
    "steered": Kind(_steered),
    "servo": Kind(_servo, joint=ALONG),
    "measured": Kind(_measured, joint=ALONG),
    "driven formulas": Kind(_driven, own=True),
    "rigid discs": Kind(lambda h: _discs(h, True), marched=True),
    "rigid edges": Kind(lambda h: _edges(h, True), marched=True),
    "rigid boxes": Kind(lambda h: _boxes(h, True), marched=True, pair=True),
    "row": Kind(_row, marched=True),
    "tether": Kind(_tether, marched=True),
    "sampled force": Kind(lambda h: _steered(h, **SAMPLED, period=0.08 * h.second, delay=0.01 * h.second),
                          marched=True),
    "sampled servo": Kind(lambda h: _servo(h, **SAMPLED, period=0.03 * h.second), marched=True, joint=ALONG),
}


def with_others(draft, seed, *, conservative=False, marched=False):
    """The draft with some more, of random streams of their own: of the first of the table, of those of this file and,
    where it is `marched`, of those that are for marches alone."""
    for stream, names in ((11, FIRST), (13, [name for name in KINDS if name not in FIRST])):
        draft = _with_some(draft, np.random.default_rng([seed, stream]), [
            name for name in names if (KINDS[name].keeps or not conservative) and not KINDS[name].marched], 4)
    if marched:
        draft = _with_some(draft, np.random.default_rng([seed, 17]), [name for name in KINDS if KINDS[name].marched], 3)
    return draft


def _with_some(draft, rng, names, below):
    extras, left = [], freedoms(draft) - 2 - sum(KINDS[e["kind"]].rows for e in draft["extras"] if e["kind"] in KINDS)
    for kind in (names[i] for i in rng.integers(len(names), size=rng.integers(0, below))):
        extra = numbers_of(rng, draft, kind)
        if extra and KINDS[kind].rows <= left:
            extras.append(extra)
            left -= KINDS[kind].rows
    return draft | {"extras": [*draft["extras"], *extras]}


def freedoms(draft):
    held = {"spherical": 3, "revolute": 5, "universal": 4, "cylindrical": 4, "prismatic": 5, "planar": 3, "weld": 6}
    taken = sum(held[joint["kind"]] for joint in draft["joints"])
    return 6 * len(draft["bodies"]) - taken - sum(extra["kind"] == "distance" for extra in draft["extras"])
