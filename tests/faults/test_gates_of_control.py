"""Optimal control that is bounded by itself, and controls that stand in limits alone, are not refused."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import timefem as tf

G = 9.80665


def descent(across, down):
    """Least time on a wire from rest, across and down [m]: the cycloid."""
    angle = brentq(lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - across / down, 1e-3, 6.28)
    return angle * np.sqrt(down / (1 - np.cos(angle)) / G)


@pytest.mark.parametrize("across, down, n", [(10, 5, 40), (4, 6, 20), (3, 1.5, 20)])
def test_brachistochrone_without_bounds(fault, across, down, n):
    bead = tf.PointMass(1.0, name="bead")
    wire = tf.FormulaForce(bead, "u[0] * cross([0, 1, 0], f[0].velocity)", n_controls=1, name="wire")
    problem = tf.OptimalControl(tf.System([bead, wire], gravity=(0, 0, -G)), {bead: tf.Pose((0, 0, 10))},
                                {bead: tf.EndState(position=(across, None, 10 - down))},
                                (0, 1.2 * descent(across, down)),
                                end_cost="end.t", free_time=True, actuators=[wire], bounds={"duration": (0.1, 10)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    fault(f"least time down a wire, {across} by {down} m", descent(across, down), sol.objective, rtol=2e-5)


@pytest.mark.parametrize("bounds", [{}, {"duration": (0.1, 10)}])
@pytest.mark.parametrize(("drag", "time"), [(0.3, 1.04258), (0.0, None)])
def test_a_wire_with_drag(fault, bounds, drag, time):
    """At rest the wire does not push, and without inequalities the tangent is singular at the guess. With a drag of
    0.3 of the speed by IPOPT on the same program; without it by the cycloid."""
    bead = tf.PointMass(1.0, dimension=2, name="bead")
    wire = tf.FormulaForce(bead, lambda f, t, c, u: ca.vertcat(-u[0] * f[0].velocity[1], u[0] * f[0].velocity[0], 0)
                           - drag * f[0].velocity, n_controls=1, name="wire")
    problem = tf.OptimalControl(tf.System([bead, wire], gravity=(0, -9.81 if drag else -G, 0)), {bead: tf.Pose()},
                                {bead: tf.EndState(position=(3, -2, 0))}, (0, 1), end_cost=lambda end, p: end.t,
                                free_time=True, bounds=bounds)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    fault(f"least time down a wire with {'drag' if drag else 'none'}, {'bounds' if bounds else 'free'}",
          time or descent(3, 2), sol.objective, rtol=2e-5)


def test_a_plain_force_without_cost_stays_refused():
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    with pytest.raises(tf.InputError, match="no cost depends on the controls of push"):
        tf.OptimalControl(tf.System([mass, push]), {mass: tf.Pose()}, {mass: tf.EndState(position=(1, None, None))},
                          (0, 1), end_cost="end.t", free_time=True, actuators=[push])


@pytest.mark.parametrize("bound", [20.0, 40.0])
def test_slack_controls(fault, bound):
    """Least sum of |power| from rest to rest over 1 m in 1 s: the square of the speed on the way."""
    body = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="mass")
    u, s = tf.GeneralizedControl(body, [[1.0]], name="u"), tf.GeneralizedControl(body, [[0.0]], name="slack")
    power = tf.Limit(lambda now, x: ca.vertcat(x[1] - x[0] * now.rates(body)[0], x[1] + x[0] * now.rates(body)[0]),
                     0, None, name="power")
    problem = tf.OptimalControl(tf.System([body, u, s]), {body: tf.Coordinates([0.0])},
                                {body: tf.EndState(q=[1.0], v=[0.0])}, (0, 1), lambda now, x: x[1], actuators=[u, s],
                                bounds={u: (-bound, bound), s: (0, 500)}, limits=[power])
    sol = tf.solve(problem, tf.MixedGalerkin(2, n_points=2), 40, progress=False)
    speed = bound / 2 * (1 - np.sqrt(1 - 4 / bound))
    fault(f"least work with slacks, at most {bound:g} N", speed**2, sol.objective, rtol=5e-3)


def test_gravity_beside_formulas(fault):
    ball, wheel = tf.PointMass(2.0, name="ball"), tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="wheel")
    system = tf.System([ball, wheel], gravity=(0, 0, -10))
    sol = tf.solve(tf.InitialValueProblem(system, {ball: tf.Pose(), wheel: tf.Coordinates([0.0], [3.0])}, (0, 1)),
                   tf.MixedGalerkin(1), 4, progress=False)
    fault("a ball falls beside a generalized body", [-5.0, 3.0], [sol.position(ball, 1.0)[2], sol.z[-1, 3]])
