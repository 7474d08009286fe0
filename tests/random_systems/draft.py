"""Systems drawn at random, as plain data in space axes, and built in any world: turned, mirrored, in other units."""

from dataclasses import dataclass, field

import numpy as np

import timefem as tf

from . import extras as further
from . import others, own_bodies

JOINTS = ("spherical", "revolute", "universal", "cylindrical", "prismatic", "planar", "weld", None, None)
FORCES = ("spring", "stiffening spring", "damper", "joint spring", "joint damper", "push", "shake", "drag")
CONSERVATIVE = ("spring", "stiffening spring", "joint spring")
ELEMENTS = (tf.MixedGalerkin(2), tf.MixedGalerkin(2, keep="all"), tf.MixedGalerkin(1), tf.MixedGalerkin(1, keep="all"),
            tf.MixedGalerkin(3), tf.MixedGalerkin(2, n_points=2))
assert own_bodies.KINDS is others.KINDS  # its entries are in the same table
MIRROR = np.diag([-1.0, 1.0, 1.0])


@dataclass(frozen=True)
class World:
    """Where a draft is built: places are `length (turn x + shift)`; `turn` may mirror.

    `length`, `mass` and `second` are how many of its units a metre, a kilogram and a second have.
    """

    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))
    length: float = 1.0
    mass: float = 1.0
    time: float = 0.0  # at which it starts
    second: float = 1.0

    @property
    def force(self):
        return self.mass * self.length / self.second**2

    @property
    def energy(self):
        return self.force * self.length

    @property
    def stiffness(self):
        return self.mass / self.second**2

    def place(self, x):
        return self.length * (self.turn @ x + self.shift)

    def vector(self, v):
        return self.turn @ v

    def turning(self, v):
        """Axes of turns, which mirrors leave the other way round."""
        return np.linalg.det(self.turn) * self.turn @ v

    def matrix(self, rotation):
        """Rotation matrix of a body; mirrored ones have their axis 1 the other way round."""
        return self.turn @ rotation @ (MIRROR if np.linalg.det(self.turn) < 0 else np.eye(3))


def random_turn(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def drawn(seed, *, conservative=False, wide=False, marched=False):
    """A draft, as plain data: "bodies", "joints", "forces", "extras", "gravity" and the number of an "element"; `wide`
    with parts of `others`, and `marched` then with those that are for marches alone."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for i in range(rng.integers(1, 5)):
        a, b = rng.uniform(0.05, 0.3, 2)
        x = rng.normal(0, 0.8, 3) + [1.5 * i, 0, 0]
        body = {"mass": rng.uniform(0.5, 3), "inertia": [a, b, rng.uniform(abs(a - b) + 0.02, a + b)], "place": x,
                "turn": random_turn(rng), "velocity": np.zeros(3), "spin": np.zeros(3)}
        to = None if i == 0 or rng.random() < 0.2 else int(rng.integers(i))
        kind = JOINTS[rng.integers(len(JOINTS))]
        joint = {"kind": kind, "a": i, "b": to, "point": x + rng.normal(0, 0.3, 3), "axis": random_turn(rng)}
        _set_moving(rng, body, joint, None if to is None else bodies[to])
        bodies.append(body)
        if kind:
            joints.append(joint)
    draft = {"bodies": bodies, "joints": joints, "forces": [], "gravity": rng.normal(0, 3, 3) * rng.integers(2),
             "element": int(rng.integers(len(ELEMENTS)))}
    kinds = CONSERVATIVE if conservative else FORCES
    for _ in range(rng.integers(1, 5)):
        draft["forces"].append(_force(rng, draft, kinds[rng.integers(len(kinds))]))
    draft["forces"] = [force for force in draft["forces"] if force]
    draft = further.with_extras(draft, seed, conservative=conservative)
    return own_bodies.with_others(draft, seed, conservative=conservative, marched=marched) if wide else draft


def _set_moving(rng, body, joint, other):
    """Velocities that a joint allows, relative to those of the other body."""
    spin, velocity = (np.zeros(3), np.zeros(3)) if other is None else (
        other["spin"], other["velocity"] + np.cross(other["spin"], joint["point"] - other["place"]))
    axis, rate, turning = joint["axis"][:, 0], rng.normal(0, 1.0, 3), rng.normal(0, 1.5, 3)
    along = {"cylindrical": rate[0] * axis, "prismatic": rate[0] * axis, "planar": rate - (rate @ axis) * axis,
             None: rate}.get(joint["kind"], np.zeros(3))
    about = {"revolute": turning[0] * axis, "cylindrical": turning[0] * axis, "planar": turning[0] * axis,
             "universal": turning[0] * axis + turning[1] * joint["axis"][:, 1], "spherical": turning,
             None: turning}.get(joint["kind"], np.zeros(3))
    body["spin"] = spin + about
    body["velocity"] = velocity + along + np.cross(body["spin"], body["place"] - joint["point"])


def _force(rng, draft, kind):
    n = len(draft["bodies"])
    a = int(rng.integers(n))
    b = int(rng.integers(n)) if rng.random() < 0.6 else None
    b = None if b == a else b
    places = [rng.normal(0, 0.3, 3) + (rng.normal(0, 2, 3) if i is None else draft["bodies"][i]["place"])
              for i in (a, b)]
    force = {"kind": kind, "a": a, "b": b, "places": places, "size": rng.uniform(0.5, 5.0),
             "rest": rng.uniform(0.2, 1.0)}
    if kind.startswith("joint"):
        taken = [i for i, joint in enumerate(draft["joints"]) if joint["kind"] in ("revolute", "prismatic")]
        return {"kind": kind, "joint": taken[rng.integers(len(taken))], "size": force["size"], "rest": force["rest"]} \
            if taken else None
    return force | {"push": rng.normal(0, 2, 3), "frequency": rng.uniform(1, 5)}


@dataclass(frozen=True)
class Built:
    """A system in a world.

    Attributes
    ----------
    draft, world
    problem : InitialValueProblem
    bodies : list of Body
        In the order of the draft.
    watched : list of Body
        Points and links that extras brought.
    """

    draft: dict
    world: World
    problem: tf.InitialValueProblem
    bodies: list
    watched: list

    @property
    def element(self):
        return ELEMENTS[self.draft["element"]]


def built(draft, world=None, *, rotation="quaternion", t_end=0.25, names="b{}", order=None, coordinates=None, more=()):
    """The system of a draft; `order` of its parts behind the bodies, `more(bodies)` for parts besides."""
    world = world or World()
    bodies, state = [], {}
    for i, b in enumerate(draft["bodies"]):
        body = tf.RigidBody(b["mass"] * world.mass, np.array(b["inertia"]) * world.mass * world.length**2, rotation,
                            name=names.format(i))
        bodies.append(body)
        state[body] = tf.Pose(world.place(b["place"]), world.matrix(b["turn"]),
                              world.vector(b["velocity"]) * world.length / world.second,
                              world.turning(b["spin"]) / world.second, frame="space")
    joints = [_joint(draft, world, bodies, joint, i) for i, joint in enumerate(draft["joints"])]
    parts = [*joints, *(_made(draft, world, bodies, joints, force, i) for i, force in enumerate(draft["forces"]))]
    for i in range(len(draft["extras"])):
        make = others.made if draft["extras"][i]["kind"] in others.KINDS else further.made
        parts.extend(make(draft, world, bodies, joints, state, i, _local))
    watched = others.watched(parts)
    parts = parts if order is None else [parts[i] for i in order(len(parts))]
    extra, states = more(bodies, state) if more else ((), {})
    gravity = world.vector(draft["gravity"]) * world.length / world.second**2
    system = tf.System([*bodies, *parts, *extra], gravity=gravity if gravity.any() else None,
                       **({"coordinates": coordinates} if coordinates else {}))
    span = world.time, world.time + t_end * world.second
    return Built(draft, world, tf.InitialValueProblem(system, state | states, span), bodies, watched)


def _local(draft, world, i, place):
    """A place in space in the axes of a body, from its centre; in space for the ground."""
    if i is None:
        return world.place(place)
    body = draft["bodies"][i]
    return world.matrix(body["turn"]).T @ (world.place(place) - world.place(body["place"]))


def _axis(draft, world, i, direction):
    return direction if i is None else world.matrix(draft["bodies"][i]["turn"]).T @ direction


def _joint(draft, world, bodies, joint, number):
    kind, a, b = joint["kind"], joint["a"], joint["b"]
    pair = (bodies[a],) if b is None else (bodies[a], bodies[b])
    points = {"point_a": _local(draft, world, a, joint["point"]), "point_b": _local(draft, world, b, joint["point"])}
    turned, name = kind in ("revolute", "universal"), f"j{number}"
    axis, across, third = (world.turning(v) if turned else world.vector(v) for v in joint["axis"].T)
    axes = {"axis_a": _axis(draft, world, a, axis), "axis_b": _axis(draft, world, b, axis)}
    stand = world.matrix(draft["bodies"][a]["turn"])
    stand = stand if b is None else world.matrix(draft["bodies"][b]["turn"]).T @ stand
    if kind == "spherical":
        return tf.Spherical(*pair, **points, name=name)
    if kind == "revolute":
        third = world.vector(joint["axis"][:, 2])
        return tf.Revolute(*pair, **points, **axes, direction_a=_axis(draft, world, a, third),
                           direction_b=_axis(draft, world, b, third), name=name)
    if kind == "universal":
        return tf.Universal(*pair, **points, axis_a=axes["axis_a"], axis_b=_axis(draft, world, b, across), name=name)
    if kind == "weld":
        return tf.Weld(*pair, **points, orientation=stand, name=name)
    if kind == "prismatic":
        return tf.Prismatic(*pair, **points, axis_b=axes["axis_b"], orientation=stand, name=name)
    if kind == "planar":
        return tf.Planar(*pair, **points, **axes, name=name)
    third = world.vector(joint["axis"][:, 2])
    return tf.Cylindrical(*pair, **points, **axes, direction_a=_axis(draft, world, a, third),
                          direction_b=_axis(draft, world, b, third), name=name)


def _made(draft, world, bodies, joints, force, number):
    kind, name, stiff = force["kind"], f"f{number}", force["size"] * world.stiffness
    if kind.startswith("joint"):
        joint, turns = joints[force["joint"]], draft["joints"][force["joint"]]["kind"] == "revolute"
        size = stiff * (world.length**2 if turns else 1)
        if kind == "joint damper":
            return tf.JointDamper(joint, damping=size * world.second, name=name)
        return tf.JointSpring(joint, stiffness=size, rest=force["rest"] * (1 if turns else world.length), name=name)
    a, b = force["a"], force["b"]
    pair = (bodies[a],) if b is None else (bodies[a], bodies[b])
    points = {"point_a": _local(draft, world, a, force["places"][0]),
              "point_b": _local(draft, world, b, force["places"][1])}
    if kind == "spring":
        return tf.Spring(*pair, **points, stiffness=stiff, length=force["rest"] * world.length, name=name)
    if kind == "stiffening spring":
        return tf.NonlinearSpring(*pair, **points, potential="c[0] * l**2 / 2 + c[1] * l**4 / 4",
                                  parameters=[stiff, stiff / world.length**2], name=name)
    if kind == "damper":
        return tf.Damper(*pair, **points, damping=stiff * world.second, name=name)
    if kind == "drag":
        return tf.FormulaForce(bodies[a], "-c[0] * f[0].velocity", parameters=[stiff * world.second], name=name)
    value = world.force * world.vector(force["push"])
    if kind == "push":
        return tf.Force(bodies[a], value, points["point_a"], name=name)
    frequency = force["frequency"] / world.second
    return tf.Force(bodies[a], value, points["point_a"], tf.Sine(1.0, frequency, phase=-2 * np.pi * frequency *
                                                                 world.time), name=name)


def without(draft, what, number):
    """A smaller draft: without a force, a joint, or the last body; None where it is too small."""
    if what == "bodies":
        last = len(draft["bodies"]) - 1
        if last == 0:
            return None
        joints = [joint for joint in draft["joints"] if last not in (joint["a"], joint["b"])]
        if len(joints) < len(draft["joints"]) and _on_joints(draft):
            return None
        kept = {k: [f for f in draft[k] if last not in (f.get("a"), f.get("b"))] for k in ("forces", "extras")}
        return {**draft, "bodies": draft["bodies"][:last], "joints": joints, **kept}
    if what == "joints" and _on_joints(draft):
        return None
    kept = [x for i, x in enumerate(draft[what]) if i != number]
    return {**draft, what: kept}


def joinable(draft):
    """Whether joint coordinates are another way: there are joints, and no weight of a single body, which is refused
    there by name."""
    return bool(draft["joints"]) and not any(extra["kind"] == "weight" for extra in draft["extras"])


def _on_joints(draft):
    return any("joint" in force for force in draft["forces"] + draft["extras"])
