"""Initial states that violate constraints are refused by name."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_violated_constraints_are_named(rotation):
    system = pendulum(rotation).system
    with pytest.raises(tf.InputError, match="'support: fixed point, y' on configuration level by 1"):
        tf.InitialValueProblem(system, {"pendulum": tf.Pose(position=[0, 6, 0])}, (0, 1))
    with pytest.raises(tf.InputError, match="'support: fixed point, z' on velocity level by 5"):
        tf.InitialValueProblem(system, {"pendulum": tf.Pose(position=[0, 5, 0], angular_velocity=[1, 0, 0])}, (0, 1))
    tf.InitialValueProblem(system, {"pendulum": tf.Pose(position=[0, 5, 0], velocity=[0, 0, 5],
                                                        angular_velocity=[1, 0, 0])}, (0, 1))


def test_inconsistent_momenta_are_refused():
    problem = spinning_box()
    q, p = problem.z0[:7], problem.z0[7:].copy()
    p[3] += 0.5  # a part along q
    with pytest.raises(tf.InputError, match=r"'box: unit length of the quaternion' on velocity level by 0\.5"):
        tf.InitialValueProblem(problem.system, {"box": tf.CanonicalState(q, p)}, (0, 1))


def test_bodies_left_out_rest_at_the_origin():
    body = tf.RigidBody(1, [1, 1, 1])
    problem = tf.InitialValueProblem(tf.System([body]), {}, (0, 1))
    np.testing.assert_array_equal(problem.z0, [0, 0, 0, 1, *[0] * 10])


@pytest.mark.parametrize("t_span, message", [((1, 0), "forward"), ((0, 0), "forward"), ((0, np.nan), "finite"),
                                             (3, "pair"), ((0, 1, 2), "pair")])
def test_bad_time_spans(t_span, message):
    with pytest.raises(tf.InputError, match=message):
        tf.InitialValueProblem(spinning_box().system, {}, t_span)


@pytest.mark.parametrize("state, message", [
    ({"wheel": tf.Pose()}, "no body 'wheel' in the system; it has box"), ({"box": 3}, "must be a Pose"), (3, "dict"),
    ({"box": tf.CanonicalState([1.0], [2.0])}, "length 7")])
def test_bad_states(state, message):
    with pytest.raises(tf.InputError, match=message):
        tf.InitialValueProblem(spinning_box().system, state, (0, 1))


def test_orientations_of_another_shape():
    with pytest.raises(tf.InputError, match=r"orientation must have shape \(4,\) or \(3, 3\), not \(3,\)"):
        tf.InitialValueProblem(spinning_box().system, {"box": tf.Pose(orientation=(0.1, 0.2, 0.3))}, (0, 1))


def test_a_motion_goes_on_from_the_end_of_another(tmp_path):
    """Also from a file, and with turns of a spring that are counted on."""
    bar = tf.RigidBody(2.0, (0.35, 0.1, 0.3), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    system = tf.System([bar, hinge, tf.JointSpring(hinge, stiffness=0.5)], gravity=(0, -9.81, 0))
    whole = tf.solve(tf.InitialValueProblem(system, {hinge: (0.0, 15.0)}, (0, 2)), tf.MixedGalerkin(2), 100)
    first = tf.solve(tf.InitialValueProblem(system, {hinge: (0.0, 15.0)}, (0, 1)), tf.MixedGalerkin(2), 50)
    assert first.joint("hinge").angle(1.0) > 2 * np.pi
    with pytest.raises(tf.InputError, match=r"such as solution\.z\[-1\]"):
        tf.InitialValueProblem(system, first, (1, 2))
    first.save(tmp_path / "first.h5")
    for before in (first, tf.load(tmp_path / "first.h5")):
        after = tf.solve(tf.InitialValueProblem(before.system, before.z[-1], (1, 2)), tf.MixedGalerkin(2), 50)
        np.testing.assert_allclose(after.z[-1], whole.z[-1], rtol=0, atol=1e-11 * np.abs(whole.z).max())
        assert abs(after.joint("hinge").angle(2.0) - whole.joint("hinge").angle(2.0)) <= 1e-11


@pytest.mark.parametrize("driver", ["march", "global"])
def test_parts_that_are_not_finite_are_named(driver):
    """At the start before any work, later in the message of the failed solve."""
    import casadi as ca

    body = tf.RigidBody(1, [1, 2, 2], name="body")
    system = tf.System([body, tf.Force(body, [0, 0, 1], time=lambda t: ca.log(0.5 - t), name="push")])
    with pytest.raises(tf.InputError, match=r"push is not finite at the initial state, t = 0.6.*correct its formula"):
        tf.InitialValueProblem(system, {}, (0.6, 1))
    solution = tf.solve(tf.InitialValueProblem(system, {}, (0, 1)), tf.MixedGalerkin(1), 10, driver=driver,
                        progress=False)
    assert not solution.success
    assert "not finite" in solution.status.message and "push is not finite at t = 0.5" in solution.status.message


def test_points_that_coincide():
    a, b = tf.PointMass(1, name="a"), tf.PointMass(1, name="b")
    with pytest.raises(tf.InputError, match=r"Spring 1 is not finite at the initial state.*set points apart"):
        tf.InitialValueProblem(tf.System([a, b, tf.Spring(a, b, stiffness=1, length=1)]), {}, (0, 1))
    system = tf.System([a, b, tf.RigidDistance(a, b, length=1, name="rod")])
    for assemble in (False, True):
        with pytest.raises(tf.InputError, match=r"'rod: distance' has no direction.*set them apart"):
            tf.InitialValueProblem(system, {}, (0, 1), assemble=assemble)
    with pytest.raises(tf.InputError, match="assemble must be True or False"):
        tf.InitialValueProblem(system, {}, (0, 1), assemble="yes")


def test_motion_must_cover_the_time_span():
    a = tf.PointMass(1)
    drive = tf.PrescribedPosition(a, [tf.Table([0, 0.5], [0, 1], "cubic"), 0, 0], name="drive")
    with pytest.raises(tf.InputError, match=r"drive: its motion is given from 0 to 0.5 s, .* is 0 to 1 s; extend"):
        tf.InitialValueProblem(tf.System([a, drive]), {a: tf.Pose(velocity=[2, 0, 0])}, (0, 1))
    tf.InitialValueProblem(tf.System([a, drive]), {a: tf.Pose(velocity=[2, 0, 0])}, (0, 0.5))


# ---- large systems; slow

@pytest.mark.slow
@pytest.mark.parametrize("element, t_end, n_elements, accuracy", [
    (tf.BubnovGalerkin(1), 50, 100_000, 3e-3), (tf.BubnovGalerkin(1, drop="end"), 50, 100_000, 3e-3),
    (tf.BubnovGalerkin(1, "continuous"), 5, 100_000, 1e-4),  # its errors grow too fast for 50 s
    (tf.BubnovGalerkin(3), 50, 20_000, 1e-8)], ids=str)
def test_many_elements_at_once(element, t_end, n_elements, accuracy):
    problem = spinning_box(t_end=t_end)
    together = tf.solve(problem, element, n_elements)
    assert together.success and together.statistics["newton_iterations"]["max"] <= 10
    assert together.statistics["backward_error"] < 1e-12
    fine = tf.solve(problem, tf.MixedGalerkin(3), n_elements)
    assert np.abs(together.z - fine.z).max() < accuracy * np.abs(fine.z).max()


@pytest.mark.slow
def test_a_million_steps_without_drift():
    solution = tf.solve(spinning_box(t_end=10_000), tf.MixedGalerkin(1), 1_000_000)
    assert solution.success
    errors = solution.errors()
    assert errors["energy"] < 1e-8 and max(errors["configuration"], errors["velocity"]) < 1e-9


def test_a_state_of_a_coarse_motion_of_a_motor_is_a_start_when_assembled():
    """Gears are held only as elements resolve a motion: its last state was refused, and nothing said how to go on."""
    bar = tf.RigidBody(2.0, (0.1, 0.12, 0.03), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    system = tf.System([bar, hinge, tf.Motor(joint=hinge, gear=50.0, rotor_inertia=1e-4)], gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {hinge: 2.0}, (0, 1.0)), tf.MixedGalerkin(1), 8, progress=False)
    with pytest.raises(tf.InputError, match="take a state of one with assemble=True"):
        tf.InitialValueProblem(system, sol.z[-1], (1.0, 2.0))
    problem = tf.InitialValueProblem(system, sol.z[-1], (1.0, 2.0), assemble=True)
    assert np.abs(problem.z0 - sol.z[-1])[:7].max() < 1e-3
    assert tf.solve(problem, tf.MixedGalerkin(1), 8, progress=False).success


def test_a_start_that_was_found():
    """Of an equilibrium and of a periodic motion, as they are; one that failed is refused."""
    bob = tf.PointMass(2.0, name="bob")
    system = tf.System([bob, tf.Spring(bob, stiffness=50.0, length=1.0)], gravity=(0, 0, -9.81))
    rest = tf.equilibrium(system, {bob: tf.Pose((0, 0, -1.1))})
    assert np.array_equal(tf.InitialValueProblem(system, rest, (0, 1)).z0, np.append(rest.q, np.zeros(3)))
    orbit = tf.periodic(system, {bob: tf.Pose((0, 0, rest.q[2] - 0.1))}, 2 * np.pi / 5, n_elements=10, progress=False)
    assert np.array_equal(tf.InitialValueProblem(system, orbit, (0, 1)).z0, orbit.solution.z[0])
    free = tf.equilibrium(tf.System([bob], gravity=(0, 0, -1)), {})
    with pytest.raises(tf.InputError, match="equilibrium"):
        tf.InitialValueProblem(free.system, free, (0, 1))
