"""Further parts for random systems, each an entry of a table: what it is made of, and what it keeps.

`KINDS[kind]` is a `Kind` whose `make(h)` returns parts from the numbers of an extra, seen through `Here`: in the units
and axes of a world. What has coordinates of its own sets its state, and is watched like a body.
"""

from collections.abc import Callable
from dataclasses import dataclass

import casadi
import numpy as np

import timefem as tf
from timefem.mechanics.bodies.rigid import RigidBodyBase


@dataclass(frozen=True)
class Kind:
    """Of parts: `make(here)`, and whether energy is kept, there are states of its own, kinks, or given motions."""

    make: Callable
    keeps: bool = False
    own: bool = False
    kinks: bool = False
    given: bool = False
    joint: tuple = ()  # kinds of joints that it acts on
    free: bool = False  # a body that nothing else holds
    rows: int = 0  # constraints
    pair: bool = False  # two bodies
    marched: bool = False  # for marches alone: rigid contact, and what acts in discrete time


def numbers_of(rng, draft, kind):
    """What an extra needs besides its places; None where the draft has nothing to act on."""
    bodies = draft["bodies"]
    a, b = (int(i) for i in rng.integers(len(bodies), size=2))
    b = None if b == a or rng.random() < 0.4 else b
    extra = {"kind": kind, "a": a, "b": b, "size": rng.uniform(0.5, 5.0), "rest": rng.uniform(0.2, 1.0),
             "vector": rng.normal(0, 2, 3), "numbers": rng.uniform(0.2, 1.0, 6), "dissipates": 0.0,
             "time": sorted(TIMES)[rng.integers(len(TIMES))], "turns": [_turn(rng) for _ in range(4)],
             "choice": int(rng.integers(1000)),
             "places": [rng.normal(0, 0.3, 3) + (rng.normal(0, 2, 3) if i is None else bodies[i]["place"])
                        for i in (a, b)]}
    if KINDS[kind].joint:
        taken = [(i, name) for i, joint in enumerate(draft["joints"]) if joint["kind"] in KINDS[kind].joint
                 for name in COORDINATES[joint["kind"]]]
        if not taken:
            return None
        joint, coordinate = taken[rng.integers(len(taken))]
        return extra | {"joint": joint, "coordinate": coordinate}
    held = {i for joint in draft["joints"] for i in (joint["a"], joint["b"])}
    return None if (KINDS[kind].free and a in held) or (KINDS[kind].pair and b is None) else extra


def _turn(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


class Here:
    """The numbers of one extra in a world."""

    def __init__(self, draft, world, bodies, joints, state, number, local):
        self.draft, self.world, self.bodies, self.joints, self.state, self._local = (
            draft, world, bodies, joints, state, local)
        self.extra = extra = draft["extras"][number]
        self.name, self.a, self.b, self.n = f"e{number}", extra["a"], extra["b"], extra["numbers"]
        self.unit, self.second, self.mass = world.length, world.second, world.mass
        self.force, self.energy, self.stiffness = world.force, world.energy, world.stiffness
        self.sign = np.linalg.det(world.turn)
        self.body, self.vector = bodies[self.a], extra["vector"]
        self.pair = (self.body,) if self.b is None else (self.body, bodies[self.b])
        self.size, self.rest, self.choice = extra["size"], extra["rest"], extra["choice"]
        self.at, self.to = extra["places"]
        self.ends = {"point_a": self.local(self.a, self.at), "point_b": self.local(self.b, self.to)}

    def local(self, i, place):
        return self._local(self.draft, self.world, i, place)

    def along(self, i, direction):
        """A direction of space in the axes of a body."""
        there = self.world.vector(direction)
        return there if i is None else self.world.matrix(self.draft["bodies"][i]["turn"]).T @ there

    def about(self, i, axis):
        return self.sign * self.along(i, axis)

    def stand(self):
        """Of body a in the axes of b."""
        one = self.world.matrix(self.draft["bodies"][self.a]["turn"])
        return one if self.b is None else self.world.matrix(self.draft["bodies"][self.b]["turn"]).T @ one

    def velocity(self, i, place):
        """Of a point of a body, in the draft."""
        if i is None:
            return np.zeros(3)
        body = self.draft["bodies"][i]
        return body["velocity"] + np.cross(body["spin"], place - body["place"])

    def push(self, direction):
        return self.world.vector(direction) * self.force

    def pose(self, place, velocity=(0, 0, 0), turn=None, spin=(0, 0, 0)):
        turned = {} if turn is None else {"orientation": self.world.matrix(turn), "frame": "space",
                                          "angular_velocity": self.world.turning(np.array(spin)) / self.second}
        return tf.Pose(self.world.place(np.array(place)), velocity=self.world.vector(np.array(velocity)) * self.speed,
                       **turned)

    @property
    def speed(self):
        return self.unit / self.second

    @property
    def joint(self):
        return self.joints[self.extra["joint"]]

    @property
    def on(self):
        return {"joint": self.joint, "coordinate": self.extra["coordinate"], "name": self.name}

    @property
    def turns(self):
        """Whether the coordinate of the joint is an angle."""
        return self.extra["coordinate"] != "displacement"

    @property
    def way(self):
        """Unit of the coordinate of the joint, and of the force along it; mirrored angles about an axis along which the
        joint slides are negative."""
        mirrored = self.draft["joints"][self.extra["joint"]]["kind"] in ("cylindrical", "planar")
        sign = self.sign if mirrored else 1.0
        return (sign, sign * self.energy) if self.turns else (self.unit, self.force)

    def rate(self):
        """Of the coordinate of the joint at the start, in the draft."""
        joint = self.draft["joints"][self.extra["joint"]]
        a, b = (None if i is None else self.draft["bodies"][i] for i in (joint["a"], joint["b"]))
        if self.turns:
            return (a["spin"] - (0 if b is None else b["spin"])) @ joint["axis"][:, 0]
        return (self.velocity(joint["a"], joint["point"])
                - self.velocity(joint["b"], joint["point"])) @ joint["axis"][:, 0]

    def polynomial(self, *coefficients, unit=1.0):
        return tf.Polynomial([c * unit / self.second**i for i, c in enumerate(coefficients)], self.world.time)

    def time(self, unit=1.0):
        """A function of time, in a unit, by the kind of the extra."""
        return TIMES[self.extra["time"]](lambda t: self.world.time + t * self.second, self.n * unit, self.second)


TIMES = {
    "ramp": lambda at, n, s: tf.Ramp(at(0.05), at(0.18), n[0], n[1]),
    "smooth ramp": lambda at, n, s: tf.Ramp(at(0.05), at(0.4), n[0], n[1], "smooth"),
    "table": lambda at, n, s: tf.Table([at(-0.1), at(0.07), at(0.13), at(0.4)], n[:4]),
    "cubic table": lambda at, n, s: tf.Table([at(0.0), at(0.07), at(0.13), at(0.2), at(0.4)], n[:5], "cubic"),
    "step": lambda at, n, s: tf.Step(at(0.1), n[0]),
    "pulse": lambda at, n, s: tf.TrianglePulse(at(0.02), at(0.1), at(0.15), n[0]),
    "spline": lambda at, n, s: tf.Spline([at(0.0), at(0.07), at(0.13), at(0.2), at(0.3), at(0.4)], n, 5),
    "transfer": lambda at, n, s: tf.Transfer(at(0.0), at(0.2), n[0], n[1], 4),
    "formula": lambda at, n, s: tf.Formula(f"{float(n[0])!r} * exp(-(t - {float(at(0.0))!r}) / {float(0.1 * s)!r})"),
    "sine": lambda at, n, s: tf.Sine(n[0], 3.0 / s, -2 * np.pi * 3.0 / s * at(0.0), n[1]),
    "constant": lambda at, n, s: tf.Constant(n[0]),
}


def _prescribed_joint(h):
    return tf.PrescribedJoint(**h.on, value=h.polynomial(0.0, h.rate(), 3 * h.n[0], unit=h.way[0]))


def _prescribed_position(h):
    place, velocity = h.world.place(h.at), h.world.vector(h.velocity(h.a, h.at)) * h.speed
    bend = h.world.vector(h.vector) * h.unit / h.second**2
    return tf.PrescribedPosition(h.body, [tf.Polynomial([x, v, c], h.world.time) for x, v, c in
                                          zip(place, velocity, bend, strict=True)], point=h.ends["point_a"],
                                 name=h.name)


def _plane(h):
    """A point stays on a plane that moves along its normal."""
    n, x = h.vector / np.linalg.norm(h.vector), h.world.place(h.at)
    normal = h.world.vector(n)
    c = [*normal, *h.ends["point_a"], normal @ x, n @ h.velocity(h.a, h.at) * h.speed, h.unit / h.second**2,
         h.world.time]
    return tf.Constraint([h.body], "dot(c[0:3], f[0].point(c[3:6])) - c[6] - c[7] * (t - c[9]) - c[8] * (t - c[9])**2",
                         1, c, name=h.name)


def _telescope(h):
    """Two points whose distance grows as is given."""
    apart = h.at - h.to
    rate = apart @ (h.velocity(h.a, h.at) - h.velocity(h.b, h.to)) / np.linalg.norm(apart)
    c = [*h.ends["point_a"], *h.ends["point_b"], np.linalg.norm(apart) * h.unit, rate * h.speed, h.world.time]
    other = "c[3:6]" if h.b is None else "f[1].point(c[3:6])"
    return tf.Constraint(list(h.pair), f"sumsqr(f[0].point(c[0:3]) - {other}) - (c[6] + c[7] * (t - c[8]))**2", 1, c,
                         name=h.name)


def _knife(h):
    across = np.cross(h.velocity(h.a, h.at), h.vector)
    if np.linalg.norm(across) < 1e-9:
        across = h.vector
    return tf.KnifeEdge(h.body, point=h.ends["point_a"], across=h.along(h.a, across), name=h.name)


def _drift(h):
    """A component of the velocity stays."""
    n = h.world.vector(h.vector / np.linalg.norm(h.vector))
    rate = h.velocity(h.a, h.draft["bodies"][h.a]["place"]) @ h.vector / np.linalg.norm(h.vector) * h.speed
    return tf.NonholonomicConstraint(h.body, "dot(c[0:3], f[0].velocity) - c[3]", 1, [*n, rate], name=h.name)


def _point_mass(h):
    mass = tf.PointMass(h.rest * h.mass, name=h.name)
    h.state[mass] = h.pose(h.to, h.vector / 2)
    return [mass, tf.Spring(h.body, mass, point_a=h.ends["point_a"], stiffness=h.size * h.stiffness, name=h.name + "k"),
            tf.Damper(mass, point_b=h.world.place(h.at + h.vector), damping=h.rest * h.mass / h.second,
                      name=h.name + "d")]


def _bob(h):
    """A mass on a rod from a body."""
    mass, apart = tf.PointMass(h.rest * h.mass, name=h.name), 0.3 * h.vector
    h.state[mass] = h.pose(h.at + apart, h.velocity(h.a, h.at) + np.cross(h.n[:3], apart))
    return [mass, tf.RigidDistance(h.body, mass, point_a=h.ends["point_a"],
                                   length=np.linalg.norm(apart) * h.unit, name=h.name + "rod")]


def _rocket(h):
    """A mass that burns, on a spring."""
    mass = tf.VariableMass(h.mass, name=h.name)
    velocity = h.world.vector(h.vector / 2) * h.speed
    h.state[mass] = tf.Coordinates([*h.world.place(h.to), h.mass], [*velocity, 0.0])
    flow = h.rest * h.mass / h.second
    thrust = h.push(h.n[:3])
    return [mass, tf.FormulaForce(mass, "[c[0], c[1], c[2], -c[3]]", [*thrust, flow], name=h.name + "jet"),
            tf.Spring(h.body, mass, point_a=h.ends["point_a"], stiffness=h.size * h.stiffness, name=h.name + "k")]


def _rope(h):
    """Held in space, with a body at its end on a ball joint or a spring."""
    axis, k = h.extra["turns"][0][:, 0], 3 * h.size * h.force
    start = h.at - 0.5 * axis
    section = tf.RopeSection(k, 0.4 * h.mass / h.unit, 0.06 * h.size * h.second)
    rope = tf.Rope(tf.Line(h.world.place(start), h.world.place(h.at)), section, 2, 1 + h.choice % 2,
                   "linear" if h.choice % 3 else "green", name=h.name)
    n = len(rope.nodes)
    h.state[rope] = [h.pose(x, s * h.velocity(h.a, h.at)) for s, x in
                     ((s, start + 0.5 * s * axis) for s in np.linspace(0, 1, n))]
    end = (tf.Spherical(h.body, rope.end, point_a=h.ends["point_a"], point_b=(0, 0, 0), name=h.name + "hook")
           if h.choice % 2 else tf.Spring(h.body, rope.end, point_a=h.ends["point_a"], stiffness=h.size * h.stiffness,
                                          name=h.name + "hook"))
    return [rope, end, tf.PrescribedPosition(rope.start, h.world.place(start), name=h.name + "eye"),
            tf.LineForce(rope, h.push(h.vector) / h.unit, h.time(), name=h.name + "wind")]


def _chain(h):
    end = h.at + 0.3 * h.vector
    chain = tf.MassSpringChain(3, h.mass, 5 * h.size * h.stiffness, h.world.place(end), h.world.place(h.at),
                               0.1 * h.unit, 0.05 * h.mass / h.second, name=h.name)
    h.state[chain] = [h.pose(h.at + s * (end - h.at), (1 - s) * h.velocity(h.a, h.at)) for s in (0, 0.5, 1)]
    return [chain, tf.Spherical(h.body, chain.nodes[0], point_a=h.ends["point_a"], point_b=(0, 0, 0),
                                name=h.name + "hook")]


TREE_JOINTS = "revolute", "prismatic", "spherical", "universal", "planar", "revolute"


def _tree(h, base="fixed"):
    """Links in a row, each stated where it is at zero coordinates; a spring from its last link to a body."""
    frames, place = [(np.zeros(3), None)], h.to + [0.0, 1.0, 0.0]
    links = [tf.Link("base", **({} if base == "fixed" else {"mass": h.mass, "inertia": np.array([0.1, 0.12, 0.15])
                                                            * h.mass * h.unit**2}))]
    if base == "free":
        frames = [(place, h.extra["turns"][3])]
    joints, coordinates = [], {}
    for i in range(1 + h.choice % 3):
        place, turn = place + 0.3 * h.extra["turns"][i][0], h.extra["turns"][i]
        before, stand = frames[-1]
        inner = np.eye(3) if stand is None else h.world.matrix(stand).T
        here = inner @ (h.world.place(place) - (0 if stand is None else h.world.place(before)))
        frame = h.world.matrix(turn)
        kind = TREE_JOINTS[(h.choice // (3 * 6**i)) % 6]
        axis = frame.T @ (h.world.vector(turn[:, 0]) * (1 if kind == "prismatic" else h.sign))
        across = frame.T @ (h.sign * h.world.vector(turn[:, 1]))
        turning = kind in ("revolute", "universal", "spherical")
        options = {} if kind in ("universal", "planar", "spherical") else {
            "stiffness": h.size * (h.energy if turning else h.stiffness), "rest": 0.1 * (1 if turning else h.unit),
            "armature": 0.05 * h.mass * (h.unit**2 if turning else 1)}
        centre = frame.T @ (0.1 * h.world.vector(turn[:, 1]) * h.unit)
        links.append(tf.Link(f"l{i}", h.n[i] * h.mass, centre, np.array([0.1, 0.12, 0.15]) * h.mass * h.unit**2))
        joints.append(tf.TreeJoint(f"q{i}", links[-2].name, f"l{i}", kind, here, inner @ frame, axis,
                                   damping=0 if kind == "planar" else
                                   h.n[3] * h.mass / h.second * (h.unit**2 if turning else 1),
                                   **options, **({"across": across} if kind == "universal" else {})))
        coordinates[f"q{i}"] = _coordinates(h, kind, turn, i)
        frames.append((place, turn))
    tree = tf.Tree(links, joints, name=h.name, base=base)
    if base == "free":
        coordinates[tree.base_joint] = h.pose(frames[0][0], h.vector / 3, frames[0][1], h.n[:3])
    h.state[tree] = coordinates
    last = tree.link(links[-1].name)
    if base == "fixed" and h.choice % 2:  # at rest, with a mass on a rod behind its last link
        coordinates.clear()
        mass, apart = tf.PointMass(0.5 * h.mass, name=h.name + "m"), 0.2 * h.vector
        h.state[mass] = h.pose(frames[-1][0] + apart)
        held = tf.RigidDistance(last, mass, point_a=(0, 0, 0), length=np.linalg.norm(apart) * h.unit,
                                name=h.name + "r")
        return [tree, mass, held, tf.JointDamper(tree.joint("q0"), damping=0.1 * h.mass * h.unit**2 / h.second)
                if joints[0].kind == "revolute" else tf.Gravity(mass, h.world.vector(h.vector) * h.unit / h.second**2)]
    return [tree, tf.Spring(h.body, last, point_a=h.ends["point_a"], stiffness=h.size * h.stiffness, name=h.name + "k")]


def _coordinates(h, kind, turn, i):
    n = 0.5 * h.n[i:i + 3]
    if kind == "revolute":
        return n[0], n[1] / h.second
    if kind == "prismatic":
        return n[0] * h.unit, n[1] * h.speed
    if kind == "universal":
        return n[:2], n[1:3] / h.second
    if kind == "spherical":
        return tf.Pose(angular_velocity=h.world.matrix(turn).T @ h.world.turning(turn @ n) / h.second)
    return [0.0, 0.0, 0.0], [0.0, 0.0, n[0] / h.second]


def _formulas(h):
    """A cart with a pendulum in two coordinates of its own, tied to a body."""
    m, l = h.mass, 0.5 * h.unit
    own = tf.GeneralizedSystem(
        2, lambda q, v, c: c[0] * (v[0]**2 + c[1] * casadi.cos(q[1]) * v[0] * v[1] + 0.5 * c[1]**2 * v[1]**2),
        lambda q, c: -c[0] * c[2] * c[1] * casadi.cos(q[1]) + c[3] * q[0]**2,
        parameters=[m, l, 5 * h.unit / h.second**2, h.size * h.stiffness], name=h.name)
    body = own.parts[0]
    h.state[body] = tf.Coordinates([0.1 * h.unit, 0.5], [0.2 * h.speed, h.n[0] / h.second])
    tie = tf.FormulaEnergy([h.body, body], "0.5 * c[0] * (dot(c[1:4], f[0].position - c[4:7]) - f[1].q[0])**2", [
        h.size * h.stiffness, *h.world.vector(h.vector), *h.world.place(h.draft["bodies"][h.a]["place"])],
                           name=h.name + "k")
    return [*own.parts, tie]


def _circuit(h):
    """A coil with a resistance that the velocity of a body induces in."""
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[
        h.mass, 2 * h.mass / h.second, h.rest * h.force], name=h.name)
    direction = h.world.vector(h.vector / np.linalg.norm(h.vector))
    port = tf.Port([h.body], lambda f: f[0].velocity[0] * direction[0] + f[0].velocity[1] * direction[1]
                   + f[0].velocity[2] * direction[2])
    h.state[coil] = tf.Coordinates([0.0])
    return [coil, tf.connect(port, tf.Port(coil), gain=h.size * h.mass / h.second, name=h.name + "c")]


def _law(h):
    """What a point of a body is measured, and a force along its axes, by feedback."""
    return tf.Controller([tf.Thruster(h.body, h.along(h.a, h.vector), h.ends["point_a"], 0.2 * h.sign * h.unit,
                                      name=h.name + "t")], "c[0] - c[1] * (x[0] - c[2]) - c[3] * v[0]",
                         [tf.PositionOutput(h.body, h.world.vector(h.extra["turns"][0][:, 0]))],
                         [h.rest * h.force, h.size * h.stiffness,
                          h.world.vector(h.extra["turns"][0][:, 0]) @ h.world.place(h.draft["bodies"][h.a]["place"]),
                          h.rest * h.mass / h.second], name=h.name)


def _winch(h):
    return tf.Controller([tf.LengthControl(*h.pair, **h.ends, name=h.name + "l")], "c[0] * sin(c[1] * (t - c[2]))",
                         (), [h.size * h.force, 5 / h.second, h.world.time], name=h.name)


def _pd(h):
    unit, force = h.way
    return tf.PDControl(**h.on, stiffness=h.size * force / unit, damping=h.rest * force / unit * h.second,
                        reference=h.polynomial(0.1, 0.5, unit=unit), feedforward=h.polynomial(0, h.n[0], unit=force))


def _bearing(h):
    options = {"radius": 0.05 * h.unit} if h.turns else {"length": 0.3 * h.unit, "radius": 0.1 * h.unit}
    return tf.BearingFriction(**h.on, friction=0.05 * h.rest, friction_width=0.5 * abs(h.way[0]) / h.second, **options)


def _touching(h, contact, **options):
    """A penalty contact with a plane through a place near the body."""
    normal = h.vector / np.linalg.norm(h.vector)
    below = h.draft["bodies"][h.a]["place"] - 0.15 * normal
    return contact(h.body, normal=h.world.vector(normal), plane_point=h.world.place(below),
                   stiffness=40 * h.size * h.stiffness, damping=h.n[0] * h.second / h.unit, name=h.name, **options)


def _rubbing(h):
    return {"friction": 0.5 * h.n[1], "friction_width": 0.2 * h.speed}


def _ball(h):
    """Outside of a ball in space."""
    centre = h.at + 0.3 * h.vector / np.linalg.norm(h.vector)
    return tf.SurfaceContact(h.body, stiffness=40 * h.size * h.stiffness, damping=h.n[0] * h.second / h.unit,
                             formula="sumsqr(x - c[0:3]) - c[3]**2", parameters=[*h.world.place(centre), 0.28 * h.unit],
                             point=h.ends["point_a"], name=h.name, **_rubbing(h))


def _tyre(h):
    axis = np.cross(h.vector, [0.3, 0.2, 1.0])
    return _touching(h, tf.Tyre, radius=0.2 * h.unit, axis=h.along(h.a, axis), slow=0.3 * h.speed)


def _reacting(h):
    return tf.FormulaForce(h.body, "c[0] * r[0:3] - c[1] * f[0].velocity", [0.05, 0.2 * h.mass / h.second],
                           reactions=[h.joint], name=h.name)


COORDINATES = {"revolute": ["angle"], "prismatic": ["displacement"], "cylindrical": ["displacement", "angle"],
               "planar": ["angle"], "universal": ["angle_a", "angle_b"]}
ALONG, ZEROED, MANY = ("revolute", "prismatic"), tuple(COORDINATES)[:3], tuple(COORDINATES)
KINDS = {
    "torsional spring": Kind(lambda h: tf.TorsionalSpring(
        *h.pair, axis=h.about(h.a, h.vector), stiffness=h.size * h.energy, rest=0.3 * h.rest, orientation=h.stand(),
        name=h.name), keeps=True),
    "torsional damper": Kind(lambda h: tf.TorsionalDamper(
        *h.pair, axis=h.about(h.a, h.vector), damping=h.rest * h.energy * h.second, name=h.name)),
    "rayleigh": Kind(lambda h: tf.RayleighDissipation(
        h.body, h.rest * h.mass / h.second, 0.2 * h.rest * h.energy * h.second, name=h.name)),
    "wind": Kind(lambda h: tf.Drag(h.body, h.size * h.mass / h.unit, h.ends["point_a"],
                                   h.world.vector(h.vector) * h.speed, name=h.name)),
    "weight": Kind(lambda h: tf.Gravity(h.body, h.world.vector(h.vector) * h.unit / h.second**2, name=h.name),
                   keeps=True),
    "force in time": Kind(lambda h: tf.Force(h.body, h.push(h.vector), h.ends["point_a"], h.time(), name=h.name),
                          given=True),
    "follower": Kind(lambda h: tf.Force(h.body, h.along(h.a, h.vector) * h.force, h.ends["point_a"], h.time(), "body",
                                        name=h.name), given=True),
    "torque in time": Kind(lambda h: tf.Torque(h.body, h.about(h.a, h.vector) * h.energy, h.time(), "body",
                                               name=h.name), given=True),
    "prescribed joint": Kind(_prescribed_joint, given=True, joint=ALONG, rows=1),
    "prescribed position": Kind(_prescribed_position, given=True, free=True, rows=3),
    "moving plane": Kind(_plane, given=True, rows=1),
    "telescope": Kind(_telescope, given=True, rows=1),
    "knife edge": Kind(_knife, given=True, rows=1),
    "drift": Kind(_drift, given=True, rows=1),
    "point mass": Kind(_point_mass, own=True),
    "bob": Kind(_bob, own=True, keeps=True),
    "rocket": Kind(_rocket, own=True),
    "rope": Kind(_rope, own=True),
    "chain": Kind(_chain, own=True),
    "tree": Kind(_tree, own=True),
    "free tree": Kind(lambda h: _tree(h, "free"), own=True),
    "formulas": Kind(_formulas, own=True),
    "circuit": Kind(_circuit, own=True),
    "law": Kind(_law),
    "winch": Kind(_winch, given=True),
    "joint force": Kind(lambda h: tf.JointForce(**h.on, value=h.time(h.way[1])), given=True, joint=MANY),
    "pd": Kind(_pd, given=True, joint=ZEROED),
    "coordinate spring": Kind(lambda h: tf.JointSpring(**h.on, stiffness=h.size * h.way[1] / h.way[0],
                                                       rest=h.rest * h.way[0]), joint=ZEROED, keeps=True),
    "coordinate friction": Kind(lambda h: tf.JointFriction(
        **h.on, friction=0.3 * h.rest * abs(h.way[1]), friction_width=0.5 * abs(h.way[0]) / h.second,
        breakaway=0.4 * h.rest * abs(h.way[1]), stribeck=abs(h.way[0]) / h.second,
        damping=0.1 * h.way[1] / h.way[0] * h.second), joint=MANY),
    "bearing": Kind(_bearing, joint=ALONG),
    "reacting": Kind(_reacting, joint=("revolute",)),
    "box on plane": Kind(lambda h: _touching(h, tf.BoxContact, size=np.array([0.2, 0.3, 0.25]) * h.unit,
                                             **_rubbing(h)), kinks=True),
    "ellipsoid on plane": Kind(lambda h: _touching(h, tf.EllipsoidContact, half_axes=np.array([0.2, 0.1, 0.3]) * h.unit,
                                                   **_rubbing(h)), kinks=True),
    "rim on plane": Kind(lambda h: _touching(h, tf.RimContact, radius=0.2 * h.unit, axis=h.about(h.a, h.vector
                         + [1, 2, 3]), **_rubbing(h)), kinks=True),
    "ball": Kind(_ball, kinks=True),
    "tyre": Kind(_tyre, kinks=True),
}


FIRST = tuple(KINDS)


def watched(parts):
    """Points, bodies, ends of ropes and last links of trees."""
    kinds = tf.PointMass | tf.VariableMass | tf.Tree | tf.Rope | tf.MassSpringChain | RigidBodyBase
    return [part.link(part.links[-1].name) if isinstance(part, tf.Tree) else getattr(part, "nodes", [part])[-1]
            for part in parts if isinstance(part, kinds)]


def those(*tags):
    """Names of kinds that have one of the tags."""
    return tuple(name for name, kind in KINDS.items() if any(getattr(kind, tag) for tag in tags))


def made(draft, world, bodies, joints, state, number, local):
    parts = KINDS[draft["extras"][number]["kind"]].make(Here(draft, world, bodies, joints, state, number, local))
    return parts if isinstance(parts, list) else [parts]
