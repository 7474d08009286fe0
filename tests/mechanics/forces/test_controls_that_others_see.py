"""Controllers that set controls which forces and rates of states see by their `controls`."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import timefem as tf

ELEMENT = tf.MixedGalerkin(3)
LAG = 0.1


def lagging(make, **options):
    """A mass that a force moves which lags behind what a controller asks for."""
    mass, asked = tf.PointMass(2.0, dimension=1, name="mass"), tf.Control(name="asked")
    force = tf.State("force", "(u[0] - x[0]) / c[0]", controls=[asked], parameters=[LAG])
    push = tf.FormulaForce([mass, force], "[[f[1].q[0], 0, 0], 0]", name="push")
    hold = make([asked], "-c[0] * (x[0] - 1) - c[1] * v[0]", inputs=[tf.PositionOutput(mass, "x")], parameters=[6, 5],
                name="hold", **options)
    return tf.System([mass, asked, force, push, hold]), {mass: tf.Pose(velocity=(0.5, 0, 0)), force: 0.3}


def solved(system, state, t=1.0, n=40):
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, t)), ELEMENT, n, progress=False)
    assert sol.success, sol.status.message
    return sol


def end(sol):
    x, force, p, _ = sol.z[-1]
    return np.array([x, p / 2, force])


def free(t, u=0.0, gains=(0.0, 0.0)):
    """exp of the linear equations of (x, v, force, 1)."""
    k, d = gains
    return expm(t * np.array([[0, 1, 0, 0], [0, 0, 0.5, 0], [-k / LAG, -d / LAG, -1 / LAG, (u + k) / LAG], [0] * 4]))


def test_a_lag_behind_a_controller(tmp_path):
    sol = solved(*lagging(tf.Controller))
    np.testing.assert_allclose(end(sol), (free(1.0, 0, (6, 5)) @ [0, 0.5, 0.3, 1])[:3], rtol=0, atol=1e-9)
    sol.save(tmp_path / "lag.h5")
    assert np.array_equal(tf.load(tmp_path / "lag.h5").z, sol.z)


@pytest.mark.long
def test_a_lag_behind_a_sampled_controller(tmp_path):
    """Also saved, with other numbers, in a prepared solver, and with derivatives."""
    def expected(k=6.0):
        y, u = np.array([0, 0.5, 0.3, 1]), 0.0
        for _ in range(5):
            asked = -k * (y[0] - 1) - 5 * y[1]
            y = free(0.15, asked) @ free(0.05, u) @ y
            u = asked
        return y[:3]

    system, state = lagging(tf.SampledController, period=0.2, delay=0.05)
    sol = solved(system, state)
    np.testing.assert_allclose(end(sol), expected(), rtol=0, atol=1e-8)
    sol.save(tmp_path / "lag.h5")
    loaded = tf.load(tmp_path / "lag.h5")
    np.testing.assert_array_equal(loaded.z, sol.z)
    np.testing.assert_allclose(end(solved(system.with_numbers({"hold.parameters[0]": 7}), state)), expected(7.0),
                               rtol=0, atol=1e-8)
    several = tf.prepare(tf.InitialValueProblem(system, state, (0, 1)), ELEMENT, 40).solve_many(
        parameters={"hold.parameters[0]": [6, 7]})
    np.testing.assert_allclose(end(several.solution(1)), expected(7.0), rtol=0, atol=1e-8)
    [[found]] = tf.sensitivities(sol, ["end:mass.q[0]"], ["hold.parameters[0]"])
    assert found == pytest.approx((expected(6.001)[0] - expected(5.999)[0]) / 0.002, rel=1e-5)


def test_an_angle_of_thrust_that_a_controller_turns():
    vessel, angle = tf.PointMass(1.0, dimension=2, name="vessel"), tf.Control(name="angle")
    thrust = tf.FormulaForce(vessel, "[c[0] * cos(u[0]), c[0] * sin(u[0]), 0]", controls=[angle], parameters=[3.0])
    turn = tf.Controller([angle], "c[0] * t - v[1]", inputs=[tf.PositionOutput(vessel, axis) for axis in "xy"],
                         parameters=[2.0])
    sol = solved(tf.System([vessel, angle, thrust, turn]), {vessel: tf.Pose()})

    def rates(t, y):
        u = 2.0 * t - y[3]
        return [y[2], y[3], 3 * np.cos(u), 3 * np.sin(u)]
    right = solve_ivp(rates, (0, 1), np.zeros(4), rtol=1e-11, atol=1e-12, method="DOP853").y[:, -1]
    np.testing.assert_allclose(sol.z[-1], right, rtol=0, atol=1e-9)


def test_a_part_of_the_controls_of_a_formula():
    """What is affine adds up over controllers; where it is not, one of them must set all."""
    vessel = tf.PointMass(1.0, dimension=2, name="vessel")
    angle, size = tf.Control(name="angle"), tf.Control(name="size")

    def system(formula):
        thrust = tf.FormulaForce(vessel, formula, controls=[angle, size], name="thrust")
        return tf.System([vessel, angle, size, thrust, *(tf.Controller([one], law, inputs=[]) for one, law in (
            (angle, "2 * t"), (size, "3")))])
    sol = solved(system("[u[0], u[1], 0]"), {vessel: tf.Pose()})
    np.testing.assert_allclose(sol.z[-1], [1 / 3, 1.5, 1, 3], rtol=0, atol=1e-12)
    with pytest.raises(tf.InputError, match=r"drives some of the controls .*thrust.* let one controller drive all"):
        system("[u[1] * cos(u[0]), u[1] * sin(u[0]), 0]")


def test_controls_that_are_not_in_the_system():
    """Their place among the controls was looked for, which ended in a KeyError beside other controls."""
    asked, mass = tf.Control(name="asked"), tf.PointMass(2.0, dimension=1, name="mass")
    force = tf.State("force", "u[0] - x[0]", controls=[asked])
    for parts in [mass, force], [mass, force, tf.ControlForce(mass, [(1, 0, 0)], name="push")]:
        with pytest.raises(tf.InputError, match=r"force rate sees the controls of Control 'asked', which is not in"):
            tf.System(parts)
