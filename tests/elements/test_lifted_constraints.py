"""Constraints of any degree at the nodes, by lifted gradients."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case

T_END = 2.0


def pendulum():
    return find_case("physical-pendulum").make(rotation="quaternion", t_end=T_END)


def run(degree, keep, n_elements):
    sol = tf.solve(pendulum(), tf.MixedGalerkin(degree, n_points=degree, keep=keep), n_elements)
    assert sol.success
    return sol


def largest(sol):
    return max(np.abs(level).max() for level in sol.constraints())


@pytest.mark.parametrize("degree", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_constraints_hold_at_the_nodes(degree):
    assert largest(run(degree, "all", 20)) < 5e-12  # of momenta of 500 kg m/s
    assert largest(run(degree, "points", 20)) > 1e-9


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_order_with_k_points(degree):
    fine = tf.solve(pendulum(), tf.MixedGalerkin(4), 200).position("pendulum", T_END)
    errors = [np.abs(run(degree, "all", n).position("pendulum", T_END) - fine).max()
              for n in (20, 40, 80)]
    assert errors[0] < (0.03, 3e-5, 3e-8)[degree - 1]
    slope = -np.polyfit(np.log([20, 40, 80]), np.log(errors), 1)[0]
    assert slope == pytest.approx(2 * degree, abs=0.1)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_energy_is_exact(degree):
    sol = run(degree, "all", 20)
    assert np.abs(sol.energy() - sol.energy()[0]).max() < 2e-11


def test_constraint_of_high_degree():
    """A bead on a surface of degree 8, with two Gauss points: the constraints hold, and the energy with them."""
    def system():
        bead = tf.PointMass(1.0, name="bead")
        wire = tf.Constraint(bead, lambda f, t, c: f[0].position[2] - f[0].position[0] ** 8 - f[0].position[1] ** 2, 1)
        return tf.InitialValueProblem(tf.System([bead, wire], gravity=(0, 0, -9.81)),
                                      {bead: tf.Pose(position=(1, 0.5, 1.25))}, (0, 1))

    errors = {}
    for keep in ("points", "all"):
        sol = tf.solve(system(), tf.MixedGalerkin(2, n_points=2, keep=keep), 100)
        assert sol.success
        errors[keep] = largest(sol), np.abs(sol.energy() - sol.energy()[0]).max()
    assert max(errors["all"]) < 1e-12
    assert errors["points"][0] > 1e-7


def test_rest_stays_at_rest():
    body = tf.RigidBody(2.0, (1, 2, 2.5), name="body")
    system = tf.System([body, tf.FixedPoint(body, point=(0, 0, 0.5))], gravity=(0, 0, -9.81))
    problem = tf.InitialValueProblem(system, {body: tf.Pose(position=(0, 0, -0.5))}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2, keep="all"), 10)
    assert sol.success
    assert np.abs(sol.z - sol.z[0]).max() < 1e-12


def test_marched_windowed_and_global_are_equal():
    element = tf.MixedGalerkin(2, keep="all")
    problem = find_case("double-pendulum").make(t_end=0.3)
    marched = tf.solve(problem, element, 30)
    for driver in ("windows", "global"):
        other = tf.solve(problem, element, 30, driver=driver)
        assert np.abs(other.z - marched.z).max() < 1e-9


@pytest.mark.parametrize("degree", [1, *(pytest.param(k, marks=pytest.mark.long) for k in (2, 3))])
def test_constraints_that_move(degree):
    """A bead on a wire that turns, and a point that is led: times enter between and beside coordinates."""
    bead, bar = tf.PointMass(1.0, name="bead"), tf.RigidBody(1.0, (0.1, 0.2, 0.25), name="bar")
    def turning(frames, t, c):
        x, y, z = (frames[0].position[i] for i in range(3))
        return [y * np.cos(3 * t) - x ** 2 * np.sin(3 * t), z - 0.3 * np.sin(2 * t)]

    wire, point = tf.Constraint(bead, turning, 2), (0.1, 0.2, 0.3)
    pin = tf.PrescribedPosition(bar, position=lambda t: [0.1 + 0.2 * np.sin(t), 0.2, 0.3 + t * t], point=point)
    system = tf.System([bead, bar, wire, pin], gravity=(0, 0, -9.81))
    problem = tf.InitialValueProblem(system, {bead: tf.Pose((1, 0, 0), velocity=(0.2, 0, 0)),
                                              bar: tf.Pose(angular_velocity=(1, 2, 0.5))}, (0, 0.4), assemble=True)
    sol = tf.solve(problem, tf.MixedGalerkin(degree, keep="all"), 20)
    assert sol.success and largest(sol) < 2e-12


def test_bad_input():
    with pytest.raises(tf.InputError, match="keep must be one of 'points', 'all'"):
        tf.MixedGalerkin(2, keep="energy")
    with pytest.raises(tf.InputError, match=r"keep='all' needs n_points = degree = 2.*4 are given"):
        tf.MixedGalerkin(2, 4, keep="all")
