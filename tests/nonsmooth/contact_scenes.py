"""Scenes of rigid contact: systems, and their motions."""

import itertools

import casadi as ca
import numpy as np

import timefem as tf

G = 9.81
DOWN = (0, 0, -G)
AXIS = {"point_a": (0, 0, 0), "point_b": (0, 0, 0), "axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}


def solved(parts, state, t_end, n, degree=2, gravity=DOWN, **options):
    problem = tf.InitialValueProblem(tf.System(parts, gravity=gravity, **options), state, (0, t_end))
    return tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False)


def cradle(gap, n=3):
    """Equal balls on a line; the first one hits the others, which are at rest with gaps between them."""
    balls = [tf.PointMass(1.0, 1, name=f"ball {i}") for i in range(n)]
    contacts = [tf.SphereContact(b, a, radius_a=0.5, radius_b=0.5, restitution=1.0)
                for a, b in itertools.pairwise(balls)]
    state = {ball: tf.Pose((i * (1 + gap), 0, 0)) for i, ball in enumerate(balls)}
    state[balls[0]] = tf.Pose((-0.5, 0, 0), velocity=(1, 0, 0))
    sol = solved([*balls, *contacts], state, 1.0, 10, gravity=None)
    return sol, [float(sol.velocity(ball, 1.0)[0]) for ball in balls]


def box(state, t_end, n, rotation="quaternion", **law):
    body = tf.RigidBody(1.0, (0.1, 0.1, 0.1), rotation, size=(0.4, 0.4, 0.2), name="box")
    sol = solved([body, tf.BoxContact(body, **law, name="floor")], {body: state}, t_end, n)
    return body, sol


def billiard(t_end=0.5, n=40, rotation="quaternion"):
    """A ball that slides with side spin, along a parabola, until it rolls."""
    m, r, mu, velocity, spin = 0.17, 0.0286, 0.2, np.array([1.0, 0, 0]), np.array([40.0, 0, 0])
    ball = tf.RigidBody(m, [0.4 * m * r**2] * 3, rotation, name="ball")
    sol = solved([ball, tf.PlaneContact(ball, radius=r, friction=mu, name="cloth")],
                 {ball: tf.Pose((0, 0, r), velocity=velocity, angular_velocity=spin)}, t_end, n)
    slip = velocity + np.cross(spin, (0, 0, -r))
    stop = 2 * np.linalg.norm(slip) / (7 * mu * G)
    end = velocity - 2 / 7 * slip
    there = velocity * stop - mu * G * slip / np.linalg.norm(slip) * stop**2 / 2 + end * (t_end - stop)
    return ball, sol, stop, end, there + (0, 0, r)


def clutch(kind):
    """Two wheels on an axle with dry friction between: they turn together from (w J_a J_b) / (M (J_a + J_b)) on."""
    if kind == "tree":
        links = [tf.Link("ground"), tf.Link("a", 1.0, (0, 0, 0), (0.2, 0.2, 0.2)),
                 tf.Link("b", 1.0, (0, 0, 0), (0.3, 0.3, 0.3))]
        tree = tf.Tree(links, [tf.TreeJoint("shaft", "ground", "a", "revolute"),
                               tf.TreeJoint("plates", "a", "b", "revolute")], name="wheels")
        parts = [tree, tf.JointFriction(tree.joint("plates"), friction=0.5, name="plates")]
        return solved(parts, {tree: {"shaft": (0.0, 3.0), "plates": (0.0, -3.0)}}, 1.5, 15, gravity=None)
    a, b = (tf.RigidBody(1.0, (j, j, j), kind, name=name) for name, j in (("a", 0.2), ("b", 0.3)))
    shafts = [tf.Revolute(x, None, **AXIS, name=f"shaft {x.name}") for x in (a, b)]
    plates = tf.Revolute(a, b, **AXIS, name="plates")
    parts = [a, b, *shafts, plates, tf.JointFriction(plates, friction=0.5, name="friction")]
    return solved(parts, {a: tf.Pose(angular_velocity=(0, 0, 3))}, 1.5, 30, gravity=None, redundant="drop")


def gripper(t_end, n, friction=0.5):
    """A box between two fingers on rails that press it with 10 N each."""
    body = tf.RigidBody(0.5, (1e-3, 1e-3, 1e-3), name="box")
    fingers = [tf.RigidBody(0.2, (1e-3, 1e-3, 1e-3), name=name) for name in ("left", "right")]
    rails = [tf.Prismatic(finger, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name=f"rail {i}")
             for i, finger in enumerate(fingers)]
    pads = [tf.PlaneContact(body, on=finger, normal=(side, 0, 0), friction=friction, name=f"pad {finger.name}",
                            points=[(-side * 0.05, y, z) for y in (-0.05, 0.05) for z in (-0.05, 0.05)])
            for finger, side in zip(fingers, (1, -1), strict=True)]
    push = [tf.JointForce(rail, value=side * 10.0) for rail, side in zip(rails, (1, -1), strict=True)]
    state = {body: tf.Pose(), fingers[0]: tf.Pose((-0.05, 0, 0)), fingers[1]: tf.Pose((0.05, 0, 0))}
    return body, solved([body, *fingers, *rails, *pads, *push], state, t_end, n, degree=1)


def rolling_start(half):
    spin = np.array([0.02, 0.02, -2.0])
    return tf.Pose((0, 0, half[2]), velocity=np.cross(spin, (0, 0, half[2])), angular_velocity=spin)


def stone(friction, t_end=2.0, n=400):
    """A rattleback: an ellipsoid whose principal axes of inertia are turned by 0.2 rad about the vertical."""
    m, half = 1.0, np.array([0.2, 0.03, 0.02])
    turn = np.array([[np.cos(0.2), -np.sin(0.2), 0], [np.sin(0.2), np.cos(0.2), 0], [0, 0, 1]])
    inertia = turn @ np.diag(m / 5 * ((half**2).sum() - half**2)) @ turn.T
    body = tf.RigidBody(m, (inertia + inertia.T) / 2, name="stone")
    state = rolling_start(half)
    contact = tf.EllipsoidContact(body, half_axes=half, friction=friction, name="table")
    return body, solved([body, contact], {body: state}, t_end, n)


def rolling_stone(t_end=2.0, n=400):
    """The same as a nonholonomic constraint: the table carries it, and it rolls."""
    body, _ = stone(5.0, 1e-3, 1)
    half = np.array([0.2, 0.03, 0.02])

    def lowest(frame):
        up = frame.rotation[2, :].T
        return -frame.rotation @ (half**2 * up) / ca.sqrt(ca.sumsqr(half * up))

    table = tf.Constraint(body, lambda f, t, c: f[0].position[2] + lowest(f[0])[2], 1)
    rolls = tf.NonholonomicConstraint(body, lambda f, t, c: f[0].velocity_at(lowest(f[0]))[:2], 2)
    state = rolling_start(half)
    system = tf.System([body, table, rolls], gravity=DOWN)
    problem = tf.InitialValueProblem(system, {body: state}, (0, t_end), assemble=True)
    return body, tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)


def tippe_top(t_end=0.15, n=150, on_stem=False):
    """A ball with its centre of mass below the centre, and a stem, which spins fast: on the ball or, turned over, on
    the stem. Also the place of the sphere on which it stands, along its axis, and its radius."""
    m, radius, low = 6e-3, 0.015, 0.0039
    top = tf.RigidBody(m, (8e-7, 8e-7, 7e-7), name="top")
    hull = tf.PlaneContact(top, points=((0, 0, low),), radius=radius, friction=0.3, name="hull")
    stem = tf.PlaneContact(top, points=((0, 0, low + 0.0185),), radius=1.5e-3, friction=0.3, name="stem")
    low, radius = (low + 0.0185, 1.5e-3) if on_stem else (low, radius)
    lean = np.pi - 0.3 if on_stem else 0.1
    axis = np.array([np.sin(lean), 0, np.cos(lean)])
    state = tf.Pose((0, 0, radius) - low * axis, (np.cos(lean / 2), 0, np.sin(lean / 2), 0),
                    angular_velocity=180 * axis if on_stem else (0, 0, 180.0))
    sol = solved([top, hull, stem], {top: state}, t_end, n)
    return top, sol, low, radius


def top_that_turns_over(t_end=1.6, n=1600, m=0.015, inertia=(1.3e-6, 1.3e-6, 1.35e-6), low=0.003, spin=150, mu=0.2):
    """Another one without a stem, which spins about its axis: it slides until it stands on its head, where it rolls."""
    radius, lean = 0.015, 0.1
    top = tf.RigidBody(m, inertia, name="top")
    hull = tf.PlaneContact(top, points=((0, 0, low),), radius=radius, friction=mu, name="hull")
    axis = np.array([np.sin(lean), 0, np.cos(lean)])
    state = tf.Pose((0, 0, radius) - low * axis, (np.cos(lean / 2), 0, np.sin(lean / 2), 0),
                    angular_velocity=spin * axis)
    return top, solved([top, hull], {top: state}, t_end, n), low, radius


def boards(n=20):
    """Two boards that cross, the upper one dropped on the lower one: no corner is on the other board."""
    size, m, turn = np.array([1.0, 0.2, 0.1]), 1.0, np.pi / 6
    inertia = m / 12 * ((size**2).sum() - size**2)
    low, high = (tf.RigidBody(m, inertia, size=size, name=name) for name in ("low", "high"))
    parts = [low, high, tf.BoxContact(low, friction=0.5), tf.BoxPairContact(high, low, friction=0.5, name="boards")]
    state = {low: tf.Pose((0, 0, 0.05)), high: tf.Pose((0.02, 0.01, 0.17), (np.cos(turn), 0, 0, np.sin(turn)))}
    return high, solved(parts, state, 0.4, n)


def dominoes(t_end=0.2447, n=50, count=2):
    """Blocks in a row; the first one leans, on its edge."""
    size, m, lean = np.array([0.03, 0.1, 0.2]), 0.1, 0.2
    inertia = m / 12 * ((size**2).sum() - size**2)
    blocks = [tf.RigidBody(m, inertia, size=size, name=f"block {i}") for i in range(count)]
    parts = [*blocks, *(tf.BoxContact(block, friction=0.6, name=f"floor {block.name}") for block in blocks)]
    parts += [tf.BoxPairContact(a, b, friction=0.2, edges=False, name=f"{a.name} on {b.name}")
              for a, b in itertools.pairwise(blocks)]
    state = {block: tf.Pose((0.1 * i, 0, 0.1)) for i, block in enumerate(blocks)}
    c, s = np.cos(lean), np.sin(lean)
    edge = np.array([c * 0.015 - s * 0.1, 0, -s * 0.015 - c * 0.1])
    state[blocks[0]] = tf.Pose((0.015, 0, 0) - edge, (np.cos(lean / 2), 0, np.sin(lean / 2), 0))
    return blocks, solved(parts, state, t_end, n, degree=2)
