"""Systems of bodies and joints in joint coordinates: the same motions and forces as in redundant ones."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

AXIS = np.array([1.0, 2, 2]) / 3


def machine(coordinates, free=False, loop=False):
    """A slide, a body on a hinge of it stated from either side, a ball joint, a weld; springs on bodies and joints."""
    a, b, c, d = (tf.RigidBody(1.0 + i, (0.1, 0.2, 0.25), name=n) for i, n in enumerate("abcd"))
    turn = tf.Pose(orientation=np.array([0.9, 0.1, -0.3, 0.2]) / np.sqrt(0.95)).orientation
    slide = tf.Prismatic(a, point_a=(0.1, 0, 0), point_b=(0, 0, 0.3), axis_b=AXIS, orientation=turn, name="slide")
    hinge = tf.Revolute(a, b, point_a=(0.2, 0.1, 0), point_b=(0, 0.3, 0.1), axis_a=(0, 0, 1), axis_b=AXIS, name="hinge")
    ball = tf.Spherical(c, b, point_a=(0, 0.2, 0), point_b=(0.1, 0, -0.2), name="ball")
    weld = tf.Weld(d, c, point_a=(0, 0, 0.1), point_b=(0, 0.1, 0.1), orientation=turn, name="weld")
    parts = [a, b, c, d, hinge, ball, weld, tf.JointSpring(hinge, stiffness=5, rest=0.2, name="bent"),
             tf.Spring(d, a, (0.1, 0, 0), (0, 0.1, 0), stiffness=20, length=0.1), tf.Force(c, (1, 2, 3), frame="body")]
    if not free:
        parts += [slide, tf.JointDamper(slide, damping=0.5)]
    if loop:
        parts.append(tf.RigidDistance(c, None, point_a=(0, 0, 0.1), point_b=(1, 1, 1), name="rod", length=1.2))
    start = {hinge: (0.4, 1.0), ball: ((0.8, 0.6, 0, 0), (0.5, 1, -1))}
    start |= {a: tf.Pose((0, 0, 1), velocity=(1, 0, 0), angular_velocity=(0, 1, 2))} if free else {slide: (0.1, -0.3)}
    return tf.System(parts, gravity=(0, 0, -9.81), coordinates=coordinates), start, (a, b, c, d), (hinge, ball)


@pytest.mark.long
@pytest.mark.parametrize("free", [False, True])
def test_same_motion(free):
    system, start, bodies, joints = machine("joint", free)
    assert system.n_constraints == 0 and len(system.bodies) == 1
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 0.2)), tf.MixedGalerkin(4, form="lagrange"), 30,
                   progress=False)
    other, start, there, same = machine("bodies", free)
    ref = tf.solve(tf.InitialValueProblem(other, start, (0, 0.2)), tf.MixedGalerkin(4), 30, progress=False)
    for body, its in zip(bodies, there, strict=True):
        for quantity in ("position", "velocity", "rotation_matrix", "angular_velocity"):
            np.testing.assert_allclose(getattr(sol, quantity)(body, 0.2), getattr(ref, quantity)(its, 0.2), rtol=0,
                                       atol=1e-10, err_msg=f"{quantity} of {body.name}")
    # on a, as of the joint that was given, though its child in the tree is b
    np.testing.assert_allclose(sol.joint(joints[0]).force(), ref.joint(same[0]).force(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(sol.joint("hinge").angle(), ref.joint("hinge").angle(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(sol.joint("ball").force(), ref.joint(same[1]).force(), rtol=0, atol=1e-8)


@pytest.mark.long
def test_structure():
    system, _, (a, _, c, _), (hinge, _) = machine("joint", loop=True)
    assert system.n_constraints == 1 and system["rod"].bodies[0] is system[c]
    assert system[hinge] is system.bodies[0].joint("hinge") and system[a].address[1] == "a"
    state = tf.assemble(system, {system.bodies[0]: {}})
    assert np.abs(system.constraints(0, tf.InitialValueProblem(system, state, (0, 1)).z0)).max() < 1e-10
    with pytest.raises(tf.InputError, match=r"its position is .* off what its joint .slide. allows"):
        tf.InitialValueProblem(system, {a: tf.Pose()}, (0, 1))
    _, _, bodies, joints = machine("bodies")
    push = tf.ControlForce(bodies[0], [(1, 0, 0)])
    control = tf.Controller([joints[0], push], lambda x, v, t, c: [-c[0] * x[0], v[0]], parameters=[3.0])
    ends = []
    for kind, form in (("bodies", "hamilton"), ("joint", "lagrange")):
        led = tf.System([*bodies, *joints, control], gravity=(0, -9.81, 0), coordinates=kind)
        sol = tf.solve(tf.InitialValueProblem(led, {joints[0]: 0.4}, (0, 0.2)), tf.MixedGalerkin(3, form=form), 40,
                       progress=False)
        ends.append(sol.joint(joints[0]).angle(0.2))
    assert led.n_constraints == 0 and ends[0] == pytest.approx(ends[1], rel=0, abs=1e-10)
    with pytest.raises(tf.InputError, match="coordinates must be one of"):
        tf.System([a], coordinates="redundant")


def test_bodies_welded_to_space_stay_bodies():
    """A body on the ground beside a free one on a spring to it; it was refused, as no joint of its tree moves."""
    fixed, free = (tf.RigidBody(1.0, (0.1, 0.1, 0.1), name=name) for name in ("fixed", "free"))
    weld = tf.Weld(fixed, point_a=(0, 0, 0), point_b=(0, 0, 0), name="weld")
    system = tf.System([fixed, free, weld, tf.Spring(free, fixed, stiffness=3.0)], coordinates="joint")
    problem = tf.InitialValueProblem(system, {fixed: tf.Pose(), free: tf.Pose((1, 0, 0))}, (0, 1.0))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 20, progress=False)
    assert sol.position(free, 1.0)[0] == pytest.approx(np.cos(np.sqrt(3.0)), abs=1e-9)
    np.testing.assert_allclose(sol.position(fixed, 1.0), 0, atol=1e-12)
