"""Contacts that touch without a force, and are pressed by one that grows from zero: closed forms, no impacts."""

import numpy as np
import pytest

import timefem as tf

TIME = 0.3


def marched(parts, state, gravity=(0, 0, 0), t=TIME):
    problem = tf.InitialValueProblem(tf.System(parts, gravity=gravity), state, (0, t))
    found = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    assert found.success, found.status
    return found


def test_slides_along_a_wall_with_the_friction_of_a_growing_push():
    """y = v t + F t^2 / 2m - mu c t^3 / 6m, and its derivatives."""
    block = tf.PointMass(2.0, 2, name="block")
    wall = tf.PlaneContact(block, normal=(1, 0, 0), friction=0.3, name="wall")
    push = tf.Force(block, (-1, 0, 0), time=tf.Formula("3 * t"), name="push")
    pull = tf.Force(block, (0, 4, 0), name="pull")
    found = marched([block, wall, push, pull], {block: tf.Pose(velocity=(0, 0.1, 0))})
    rubbed = 0.3 * 3 * TIME**3 / 6
    assert not found.events and not found.located
    place = found.position(block, TIME)[1]
    assert abs(place - (0.1 * TIME + (4 * TIME**2 / 2 - rubbed) / 2)) < 1e-12
    varied = [tf.Parameter(block, "mass"), tf.Parameter(pull, "value", 1), tf.Parameter(wall, "friction"),
              tf.Initial(block, "velocity", 1)]
    gradient = tf.gradient(found, tf.EndValue(lambda bodies, t: bodies[0].position[1]), varied)
    exact = [-(4 * TIME**2 / 2 - rubbed) / 4, TIME**2 / 4, -rubbed / 0.6, TIME]
    assert np.allclose(gradient, exact, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("friction", [0.2, 0.5])
def test_sticks_or_slips_at_once_where_all_forces_grow_together(dimension, friction):
    """A push 3 t and a pull t along the wall: sticks if mu > 1/3."""
    block = tf.PointMass(2.0, dimension, name="block")
    wall = tf.PlaneContact(block, normal=(1, 0, 0), friction=friction, restitution=0.5, name="wall")
    along = np.array([0, 0.6, -0.8]) if dimension == 3 else np.array([0, 1, 0])
    force = tf.Force(block, (-3, *along[1:]), time=tf.Formula("t"), name="force")
    found = marched([block, wall, force], {block: tf.Pose()})
    assert not found.events
    way = max(1 - 3 * friction, 0) / 2 * TIME**3 / 6
    assert np.allclose(found.position(block, TIME), way * along, rtol=0, atol=1e-12)


def test_a_push_that_begins_later_and_turns_into_a_pull():
    """The only event is that the contact opens, when the force is zero again."""
    block = tf.PointMass(1.0, 1, name="block")
    wall = tf.PlaneContact(block, normal=(1, 0, 0), name="wall")
    force = tf.Force(block, (1, 0, 0), time=tf.Table([0, 0.1, 0.15, 0.2, 0.3], [0, 0, -1, 0, 1]), name="force")
    found = marched([block, wall, force], {block: tf.Pose()})
    event, = found.events
    assert event.kind == "opens" and abs(event.t - 0.2) < 1e-12
    assert abs(found.position(block, TIME)[0] - 10 * 0.1**3 / 6) < 1e-12
    assert abs(found.contact_forces(0.15)[0, 0] - 1) < 1e-12


@pytest.mark.parametrize("parts", ["tether", "hollow"])
def test_a_pendulum_that_starts_from_the_side(parts):
    """Its tension grows from zero: the motion of one on a rod, no event, and a derivative like any other."""
    bob = tf.RigidBody(1.0, (0.01, 0.01, 0.01), name="bob")
    if parts == "tether":
        held = tf.Tether(bob, length=0.5, name="held")
    else:
        held = tf.DiscContact(bob, radius_a=0.1, radius_b=0.6, inside=True, axis=(0, 1, 0), name="held")
    rod = tf.RigidDistance(bob, None, length=0.5, name="rod")
    start, gravity = {bob: tf.Pose((0.5, 0, 0))}, (0, 0, -9.81)
    found, exact = marched([bob, held], start, gravity), marched([bob, rod], start, gravity)
    assert not found.events and not found.located
    assert np.allclose(found.position(bob, TIME), exact.position(bob, TIME), rtol=0, atol=1e-9)
    end, varied = tf.EndValue(lambda bodies, t: bodies[0].position[0]), [tf.Initial(bob, "velocity", 2)]
    one, other = (tf.gradient(solution, end, varied) for solution in (found, exact))
    assert np.allclose(one, other, rtol=1e-7, atol=0) and abs(one[0]) > 0.01


def test_a_joint_that_rests_at_its_stop():
    """Pressed against it by a torque that grows and falls again, and moved away by one of the other sign."""
    flap = tf.RigidBody(1.0, (0.1, 0.2, 0.1), name="flap")
    hinge = tf.Revolute(flap, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    stop = tf.EndStop(hinge, highest=0.5, restitution=0.3, name="stop")
    torque = tf.JointForce(hinge, value=tf.Formula("t if t < 0.1 else 0.2 - t"), name="torque")
    found = marched([flap, hinge, stop, torque], {hinge: 0.5}, t=0.4)
    assert [event.kind for event in found.events] == ["opens"] and abs(found.events[0].t - 0.2) < 1e-12
    assert abs(found.joint(hinge).angle(0.4) - (0.5 - 0.2**3 / 6 / 0.2)) < 1e-10


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_bead_in_a_turning_tube_is_pressed_by_its_slip(dimension):
    """At rest in the tube nothing presses it: r'' = w^2 r - 2 mu w r'."""
    speed, mu, t = 3.0, 0.3, 0.9
    tube, bead = tf.RigidBody(3.0, (1, 1, 1), name="tube"), tf.PointMass(0.1, dimension, name="bead")
    pivot = tf.Revolute(tube, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="pivot")
    walls = [tf.PlaneContact(bead, on=tube, normal=(0, side, 0), friction=mu, name=name)
             for side, name in ((-1, "ahead"), (1, "behind"))]
    drive = tf.PrescribedJoint(pivot, value=lambda t: speed * t, name="drive")
    found = marched([tube, pivot, drive, bead, *walls],
                    {pivot: (0.0, speed), bead: tf.Pose((0.1, 0, 0), velocity=(0, 0.1 * speed, 0))}, t=t)
    roots = speed * (-mu + np.array([1, -1]) * np.sqrt(mu**2 + 1))
    r, rate = 0.1 / (roots[0] - roots[1]) * np.array([roots[0] * np.exp(roots[1] * t) - roots[1] * np.exp(roots[0] * t),
                                                      roots.prod() * (np.exp(roots[1] * t) - np.exp(roots[0] * t))])
    assert not found.events
    assert np.allclose(found.position(bead, t)[:2], r * np.array([np.cos(speed * t), np.sin(speed * t)]), atol=1e-7)
    forces = found.contact_forces(t)
    assert not forces[0].any() and abs(forces[1, 0] - 2 * 0.1 * speed * rate) < 1e-6
