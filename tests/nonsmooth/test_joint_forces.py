"""Forces of joints beside rigid contacts: what contacts, stops, ropes and dry friction push is in them."""

import numpy as np
import pytest

import timefem as tf

X, Z, ORIGIN, G = (1, 0, 0), (0, 0, 1), (0, 0, 0), 9.81


def solved(parts, start, coordinates="bodies", t_end=0.5, n=10, **options):
    system = tf.System(parts, gravity=(0, 0, -G), coordinates=coordinates, **options)
    form = "energy" if coordinates == "joint" else "hamilton"
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, t_end)), tf.MixedGalerkin(2, form=form), n, progress=False)
    assert sol.success
    return sol


def arm():
    """A bar of 2 kg along y from a hinge, horizontal at angle zero."""
    bar = tf.RigidBody(2.0, (0.1, 0.01, 0.1), name="bar")
    return bar, tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=ORIGIN, axis_a=X, axis_b=X, name="hinge")


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("what, carried, drive", [
    ("floor", G, 0.0),  # under the tip: each end carries half of the weight
    ("rope", G, 0.0),
    ("stop", 2 * G, -G),  # a moment at the hinge, which carries all of it
    ("friction", 2 * G, -G),
])
def test_what_holds_a_bar_is_in_the_forces_of_its_hinge(coordinates, what, carried, drive):
    bar, hinge = arm()
    hold = {"floor": tf.PlaneContact(bar, points=[(0, -0.5, 0)]),
            "rope": tf.Tether(bar, None, (0, -0.5, 0), (0, -1, 1), length=1.0),
            "stop": tf.EndStop(hinge, highest=0.0), "friction": tf.JointFriction(hinge, friction=50.0)}[what]
    sol = solved([bar, hinge, hold], {hinge: 0.0}, coordinates)
    motion, t = sol.joint(hinge), np.array([0.1, 0.33, 0.5])
    assert np.allclose(motion.force(t), [0, 0, carried], atol=1e-9)
    assert np.allclose(motion.torque(t), 0, atol=1e-9)
    assert np.allclose(motion.drive(t), drive, atol=1e-9)
    assert np.allclose(motion.power(t), 0, atol=1e-9)
    assert np.allclose(sol.to_xarray()["hinge force"], [0, 0, carried], atol=1e-9)


def test_constraints_that_were_dropped_share_the_forces_of_contacts():
    bar, hinge = arm()
    second = tf.Revolute(bar, point_a=(0.3, 0.5, 0), point_b=(0.3, 0, 0), axis_a=X, axis_b=X, name="second")
    floor = tf.PlaneContact(bar, points=[(0, -0.5, 0)])
    sol = solved([bar, hinge, second, floor], {hinge: 0.0, second: 0.0}, redundant="drop")
    both = [sol.joint(joint).force(0.3) for joint in (hinge, second)]
    assert np.allclose(np.sum(both, axis=0), [0, 0, G], atol=1e-9)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_ball_that_rolls_on_a_cart_is_carried_by_its_rail(coordinates):
    ball, cart = tf.RigidBody(1.0, (0.004,) * 3, name="ball"), tf.RigidBody(2.0, (1, 1, 1), name="cart")
    rail = tf.Prismatic(cart, point_a=ORIGIN, point_b=ORIGIN, axis_b=X, name="rail")
    parts = [ball, cart, rail, tf.PlaneContact(ball, on=cart, radius=0.1, friction=0.5), tf.JointForce(rail, value=3.0)]
    sol = solved(parts, {rail: 0.0, ball: tf.Pose((0, 0, 0.1))}, coordinates)
    acceleration = 3.0 / (2 + 2 / 7)  # the ball lags behind: 2/7 of it
    assert abs(sol.position(cart, 0.5)[0] - acceleration / 8) < 1e-7
    assert np.allclose(sol.joint(rail).force(0.3), [0, 0, 3 * G], atol=1e-8)
    lever = sol.position(ball, 0.3)[0] - sol.position(cart, 0.3)[0]  # friction acts in the plane of the cart's centre
    assert lever < -0.01 and np.allclose(sol.joint(rail).torque(0.3), [0, -lever * G, 0], atol=1e-8)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_dry_friction_drives_and_does_work(coordinates):
    rotor = tf.RigidBody(1.0, (0.5, 0.5, 0.5), name="rotor")
    hinge = tf.Revolute(rotor, point_a=ORIGIN, point_b=ORIGIN, axis_a=Z, axis_b=Z, name="hinge")
    rub, push = tf.JointFriction(hinge, friction=2.0, name="rub"), tf.JointForce(hinge, value=3.0, name="push")
    sol = solved([rotor, hinge, rub, push], {hinge: (0.0, 1.0)}, coordinates, 1.0, 20)  # w = 1 + 2 t
    t = np.array([0.025, 0.375, 0.975])
    assert np.allclose(sol.joint(hinge).drive(t), 1.0, atol=1e-9)
    assert np.allclose(sol.joint(hinge).power(t), 1 + 2 * t, atol=1e-6)
    assert np.allclose(sol.energy.power(t)["rub"], -2 * (1 + 2 * t), rtol=1e-3)
    parts = sol.energy.work(by_part=True)
    assert abs(parts["rub"][-1] + 4.0) < 1e-6 and abs(parts["push"][-1] - 6.0) < 1e-6
    assert np.allclose(sum(parts.values()), sol.energy.work(), atol=1e-12)


def test_work_by_part_has_what_impacts_take():
    ball = tf.PointMass(2.0, name="ball")
    floor = tf.PlaneContact(ball, restitution=0.5, friction=0.1, name="floor")
    sol = solved([ball, floor], {ball: tf.Pose((0, 0, 1.0), velocity=(2, 0, 0))}, t_end=1.0, n=20)
    assert [event.kind for event in sol.events][:1] == ["impact"]
    work = sol.energy.work(by_part=True)
    assert work["floor"][-1] < -0.7 * 2 * G and np.allclose(sum(work.values()), sol.energy.work(), atol=1e-12)
    assert abs(work["floor"][-1] + sum(sol.energy_lost().values())) < 1e-9
