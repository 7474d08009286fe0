"""Parts of rigid contact: gaps and slips against material points, on every kind of body; and what they refuse."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import timefem as tf
from timefem.errors import InputError
from timefem.mechanics.symbols import Symbols

STEP = 1e-5


def pose(rng, place):
    return tf.Pose(place, np.roll(Rotation.random(random_state=rng).as_quat(), 1))


def tree():
    links = [tf.Link("ground"), tf.Link("arm", 1.0, (0.1, 0, 0), (1, 1, 1)), tf.Link("hand", 1.0, (0, 0, 0), (1, 1, 1))]
    joints = [tf.TreeJoint("one", "ground", "arm", "spherical"),
              tf.TreeJoint("two", "arm", "hand", "revolute", (0.3, 0.1, 0.9), axis=(1, 2, 0))]
    return tf.Tree(links, joints, name="tree")


def body_of(kind, rng, place):
    """A body, and coordinates and velocities that it can have."""
    if kind == "point":
        return tf.PointMass(1.0), np.array(place), rng.normal(size=3)
    if kind == "link":
        body = tree().link("hand")
        q = np.array([*np.roll(Rotation.random(random_state=rng).as_quat(), 1), 0.7])
        v = rng.normal(size=5)
        v[:4] -= q[:4] * (q[:4] @ v[:4])
        return body, q, v
    if kind.endswith("beam"):
        section = tf.Section(1e3, (1e2, 1e2), 10.0, (10.0, 10.0), 1.0, (0.02, 0.01, 0.01))
        beam = tf.Beam([tf.Line(place, np.add(place, (1, 0, 0)))], section, 1, 1, rotation=kind.split()[0])
        body = beam.at(0.4)
        q = [node.coordinates_of(tf.Pose(np.add(place, (x, 0.1 * x, 0)), np.roll(Rotation.from_rotvec(
            (0.1, 0.2 * x, 0.3)).as_quat(), 1))) for node, x in zip(body.frames, (0, 1), strict=True)]
        v = [null(node, x) @ rng.normal(size=6) for node, x in zip(body.frames, q, strict=True)]
        return body, np.concatenate(q), np.concatenate(v)
    body = tf.RigidBody(1.0, (1, 1, 1), kind, size=(0.4, 0.5, 0.6))
    q = body.coordinates_of(pose(rng, place))
    return body, q, null(body, q) @ rng.normal(size=6)


def null(body, q):
    return np.array(ca.DM(ca.evalf(body.null_space(ca.SX(ca.DM(q))))))


def functions_of(part):
    """Gaps, their rates, slips, and points, normals and directions of contact, of (q, v, t)."""
    s = Symbols(part)
    q, v = ca.vertcat(*s.q), ca.SX.sym("v", sum(b.n_q for b in part.bodies))
    sizes = np.cumsum([0, *(b.n_q for b in part.bodies)]).tolist()
    s.velocity = ca.vertsplit(v, sizes)
    c = part.named(s.own)
    gap, slip = part.gap(s), part.slip(s)
    rate = ca.jtimes(gap, q, v) + ca.jacobian(gap, s.t)
    frames = [ca.horzcat(*body.frame(x)) for body, x in zip(part.bodies, s.q, strict=True)]
    out = [gap, rate, slip, ca.horzcat(*frames)]
    for touch in part.touches(s, c):
        out += [touch.at_a, touch.at_b, touch.normal, part.directions(touch, s, c)]
    function = ca.Function("contact", [q, v, s.t, s.parameters], [ca.densify(ca.SX(x)) for x in out])
    return lambda q, v, t: [np.array(x) for x in function(q, v, t, part.parameters)]


def contacts(a, b, rng):
    """Parts between two bodies; of point masses those that have no arms."""
    arms = a.has_orientation
    law = {"friction": 0.4, "restitution": 0.5}
    moving = {"on": b, "normal": rng.normal(size=3), "plane_point": rng.normal(size=3),
              "motion": (tf.Sine(0.3, 2.0), 0.0, tf.Sine(0.2, 3.0)), "surface_velocity": rng.normal(size=3)}
    yield tf.PlaneContact(a, points=rng.normal(size=(2, 3)) if arms else ((0, 0, 0),), radius=0.2, **moving, **law)
    yield tf.SphereContact(a, b, radius_a=0.2, radius_b=0.1, **law, **({"point_a": rng.normal(size=3)} if arms else {}))
    yield tf.SurfaceContact(a, on=b, formula="x[2] - 0.1 * sin(x[0] + 2 * t) * x[1]", **law)
    if arms:
        yield tf.EllipsoidContact(a, half_axes=(0.2, 0.3, 0.4), orientation=(1, 2, 3, 4) / np.sqrt(30),
                                  centre=rng.normal(size=3), **moving, **law)
        yield tf.RimContact(a, radius=0.3, axis=(1, 2, 3), centre=rng.normal(size=3), **moving, **law)
        yield tf.EdgeContact(a, b, start_a=(0, 0, 0.2), end_a=(0.1, 0.2, 2.0), start_b=(0.0, 0, 0.1), end_b=(1.0, 0, 0),
                             **law)


PAIRS = [("quaternion", "quaternion"), ("directors", "quaternion"), ("link", "directors"), ("quaternion", "link"),
         ("point", "quaternion"), ("quaternion beam", "quaternion"), ("quaternion beam", "directors")]


@pytest.mark.parametrize("kinds", PAIRS, ids=" on ".join)
def test_gaps_and_slips_are_those_of_material_points(kinds):
    """At a touch, which a shift of body b along the normal makes, points that lie on each other part at the gap's rate
    along the normal, and at the slip along the surface; by differences of the points' places."""
    rng = np.random.default_rng(len(kinds[0]))
    (a, qa, va), (b, qb, vb) = body_of(kinds[0], rng, (0.3, 0.2, 2.0)), body_of(kinds[1], rng, (0, 0, 0))
    t, n_a = 0.37, a.n_q
    for part in contacts(a, b, rng):
        call, q, v = functions_of(part), np.concatenate([qa, qb]), np.concatenate([va, vb])
        for i in range(part.n_contacts):
            gap, rate, slip, frames, *touches = call(q, v, t)
            if kinds[1] != "link":  # it can be moved: until it touches
                for _ in range(60):
                    gap, rate, slip, frames, *touches = call(q, v, t)
                    q[n_a:n_a + 3] += 0.9 * touches[4 * i + 2].ravel() * gap[i]
                assert abs(gap[i]) < 1e-8, part
            at = [x.ravel() for x in touches[4 * i:4 * i + 2]]
            normal, directions = touches[4 * i + 2].ravel(), touches[4 * i + 3]
            frames = [frames[:, :4], frames[:, 4:]]
            local = [np.linalg.solve(f[:, 1:], x - f[:, 0]) for f, x in zip(frames, at, strict=True)]
            later, earlier = (np.split(call(q + h * v, v, t)[3], 2, axis=1) for h in (STEP, -STEP))
            apart = [(f[:, 0] + f[:, 1:] @ x - g[:, 0] - g[:, 1:] @ x) / (2 * STEP)
                     for f, g, x in zip(later, earlier, local, strict=True)]
            apart = apart[0] - apart[1] - surface(part, frames[1], t, at[0])
            title = f"{type(part).__name__} {i}"
            if kinds[1] != "link":
                assert normal @ apart == pytest.approx(rate[i, 0], abs=2e-7), title
            np.testing.assert_allclose(directions.T @ apart, slip[i], rtol=0, atol=1e-7, err_msg=title)
            np.testing.assert_allclose(directions.T @ directions, np.eye(part.n_slip), rtol=0, atol=1e-12)
            np.testing.assert_allclose(directions.T @ normal, 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["quaternion", "directors"])
@pytest.mark.parametrize("inside", [False, True])
def test_discs_in_their_plane(kind, inside):
    """Closed forms: the rate of the distance, and the slip of two discs that spin in a plane that stands askew."""
    rng = np.random.default_rng(4)
    turn = Rotation.random(random_state=rng).as_matrix()
    a, b = (tf.RigidBody(1.0, (1, 1, 1), kind) for _ in range(2))
    radius_a, radius_b = 0.3, 1.1
    disc = tf.DiscContact(a, b, radius_a=radius_a, radius_b=radius_b, inside=inside, friction=0.3)
    angle, spins, velocity = 0.4, (2.0, -3.0), np.array([0.7, -0.2, 0])
    away = np.array([np.cos(angle), np.sin(angle), 0])
    far = radius_b - radius_a if inside else radius_a + radius_b
    b = [x.coordinates_of(tf.Pose(turn @ place, np.roll(Rotation.from_matrix(turn).as_quat(), 1)))
         for x, place in zip(disc.bodies, (far * away, np.zeros(3)), strict=True)]
    v = [null(x, q) @ np.concatenate([turn @ u, turn @ (0, 0, spin)]) for x, q, u, spin in
         zip(disc.bodies, b, (velocity, np.zeros(3)), spins, strict=True)]
    gap, rate, slip, *_ = functions_of(disc)(np.concatenate(b), np.concatenate(v), 0.0)
    sense = -1 if inside else 1
    along = velocity @ (-np.sin(angle), np.cos(angle), 0)
    assert gap.item() == pytest.approx(0, abs=1e-15)
    assert rate.item() == pytest.approx(sense * velocity @ away, rel=1e-12)
    assert slip.item() == pytest.approx(sense * (along - sense * radius_a * spins[0] - radius_b * spins[1]), rel=1e-12)


def surface(part, frame, t, place):
    """Velocity of the surface besides that of body b."""
    if isinstance(part, tf.SurfaceContact):
        x = np.linalg.solve(frame[:, 1:], place - frame[:, 0])
        slope = np.array(
            [-0.1 * np.cos(x[0] + 2 * t) * x[1], -0.1 * np.sin(x[0] + 2 * t), 1.0])
        return frame[:, 1:] @ slope / (slope @ slope) * 0.2 * np.cos(x[0] + 2 * t) * x[1]
    if not hasattr(part, "motion"):
        return np.zeros(3)
    normal, belt = part.normal / np.linalg.norm(part.normal), np.array([float(f(0.0)) for f in part.surface_velocity])
    way = [(f(t + STEP) - f(t - STEP)) / (2 * STEP) for f in part.motion]
    return frame[:, 1:] @ (way + belt - normal * (normal @ belt))


def test_stops_and_tethers():
    a, b = tf.RigidBody(1.0, (1, 1, 1), name="a"), tf.PointMass(1.0, name="b")
    hinge = tf.Revolute(a, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    stop = tf.EndStop(hinge, lowest=-0.5, highest=1.0, restitution=0.3)
    s = Symbols(stop)
    gap = ca.Function("gap", [ca.vertcat(*s.q), s.own], [stop.gap(s)])
    angle = 0.7
    q = np.concatenate([[0, 0, 0, np.cos(angle / 2), 0, 0, np.sin(angle / 2)], np.zeros(len(stop.bodies) - 1)])
    np.testing.assert_allclose(np.array(gap(q, stop.own_parameters)).ravel(), [1.2, 0.3], rtol=0, atol=1e-12)
    assert stop.contact_names == ("lowest", "highest") and stop.n_slip == 0
    tether = tf.Tether(a, b, point_a=(0, 0, 1), length=2.0)
    s = Symbols(tether)
    gap = ca.Function("gap", [*s.q, s.own], [tether.gap(s)])
    assert float(gap([0, 0, 0, 1, 0, 0, 0], [0, 1.2, 1], tether.own_parameters)) == pytest.approx(0.8)


BODY, OTHER, POINT = tf.RigidBody(1.0, (1, 1, 1), name="box"), tf.RigidBody(1.0, (1, 1, 1)), tf.PointMass(1.0)
HINGE = tf.Revolute(BODY, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
REFUSED = {
    "restitution above one": (lambda: tf.PlaneContact(BODY, restitution=1.2), "restitution must be between 0 and 1"),
    "negative friction": (lambda: tf.SphereContact(BODY, OTHER, radius_a=1, radius_b=1, friction=-0.1), "negative"),
    "points of a point": (lambda: tf.PlaneContact(POINT, points=[(0, 0, 1)]), "no points but its own"),
    "arm of a point": (lambda: tf.SphereContact(POINT, BODY, radius_a=1, radius_b=1, point_a=(0, 0, 1)), "point mass"),
    "box of a point": (lambda: tf.BoxContact(POINT, size=(1, 1, 1)), "rigid body"),
    "damping without stiffness": (lambda: tf.PlaneContact(BODY, damping=1.0), "stiffness"),
    "restitution of a penalty": (lambda: tf.RimContact(BODY, radius=1, stiffness=1.0, restitution=0.5), "damping"),
    "friction of a penalty": (lambda: tf.PlaneContact(BODY, stiffness=1.0, friction=0.5), "friction_width"),
    "no edge": (lambda: tf.EdgeContact(BODY, start_a=(0, 0, 1), end_a=(0, 0, 1), start_b=(0, 0, 0), end_b=(1, 0, 0)),
                "same point"),
    "outwards along the edge": (lambda: tf.EdgeContact(BODY, start_a=(0, 0, 1), end_a=(1, 0, 1), start_b=(0, 0, 0),
                                                       end_b=(0, 0, 1)), "along the edge"),
    "parallel edges": (lambda: tf.EdgeContact(POINT, start_a=(0, 0, 1), end_a=(1, 0, 1), start_b=(0, 0, 0),
                                              end_b=(1, 0, 0)), "parallel"),
    "larger inside": (lambda: tf.DiscContact(BODY, radius_a=2, radius_b=1, inside=True), "must be less"),
    "two points": (lambda: tf.SphereContact(BODY, OTHER, radius_a=0, radius_b=0), "do not touch"),
    "flat ellipsoid": (lambda: tf.EllipsoidContact(BODY, half_axes=(1, 0, 1)), "positive"),
    "surface of nothing": (lambda: tf.SurfaceContact(BODY, formula="t"), "place x"),
    "gap of nothing": (lambda: tf.FormulaContact(BODY, formula="t"), "no coordinate"),
    "friction without slip": (lambda: tf.FormulaContact(BODY, formula="f[0].position[2]", friction=0.1), "slip="),
    "slip of squares": (lambda: tf.FormulaContact(BODY, formula="f[0].position[2]", n_slip=1,
                                                  slip="f[0].velocity[0]**2"), "affine"),
    "the same body": (lambda: tf.PlaneContact(BODY, on=BODY), "two different bodies"),
    "a jump of the plane": (lambda: tf.PlaneContact(BODY, motion=(0, 0, tf.Step(1.0, 0.1))), "jumps"),
    "no length": (lambda: tf.Tether(BODY, length=0.0), "positive"),
    "rigid stops with damping": (lambda: tf.EndStop(HINGE, lowest=0, damping=1.0), "stiffness"),
    "lowest above highest": (lambda: tf.EndStop(HINGE, lowest=1, highest=0), "below highest"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input(name):
    make, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        make()
