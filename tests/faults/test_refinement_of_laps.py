"""Refinement to a tolerance is not worse than equal elements of the same number, and ends where it leads no further."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.slow

LENGTH = 400.0


def lap(grip, power, width):
    """Of least time, in coordinates along and across the track, with limits that are active by turns all along."""
    def turn(s):
        return 2 * np.pi / LENGTH + 0.025 * ca.sin(6 * np.pi * s / LENGTH) + 0.01 * ca.cos(4 * np.pi * s / LENGTH)

    def along(now):
        return (1 - now.q(car)[1] * turn(now.q(car)[0])) * now.rates(car)[0]

    car = tf.GeneralizedBody(2, lambda q, v, c: ((1 - q[1] * turn(q[0]))**2 * v[0]**2 + v[1]**2) / 2, name="car",
                             mass_scale=[1, 1])
    u = tf.FormulaForce(car, lambda f, t, c, u: ca.vertcat(u[0] * (1 - f[0].q[1] * turn(f[0].q[0])), u[1]),
                        n_controls=2, name="u")
    limits = [tf.Limit(lambda now, x: ca.sumsqr(x) / grip**2, None, 1, name="grip"),
              tf.Limit(lambda now, x: (x[0] * along(now) + x[1] * now.rates(car)[1]) / power, None, 1, name="power"),
              tf.Limit(lambda now, x: now.q(car)[1] / width, -1, 1, name="road")]
    closed = tf.Coupling(lambda a, b: ca.vertcat(b.q(car)[1] - a.q(car)[1], b.rates(car) - a.rates(car)), name="lap")
    ends = [{car: tf.EndState(q=[s, None], v=[None, None])} for s in (0, LENGTH)]
    return tf.OptimalControl(tf.System([car, u]), *ends, (0, 22.0), actuators=u, free_time=True,
                             end_cost=lambda e, p: p["duration"], bounds={"duration": (5, 60)}, limits=limits,
                             couplings=[closed], near={car: tf.Coordinates(q=[0, 0], v=[18.0, 0])})


@pytest.mark.parametrize("numbers", [(12.0, 150.0, 4.0), (9.0, 150.0, 4.0), (12.0, 100.0, 3.0), (15.0, 300.0, 6.0)])
def test_laps_to_a_tolerance(fault, numbers):
    element, name = tf.MixedGalerkin(2, form="lagrange"), "lap with {:g} m/s^2, {:g} W/kg, {:g} m".format(*numbers)
    sol = tf.solve(lap(*numbers), element, tolerance=1e-2, progress=False)
    n, found = len(sol.t) - 1, sol.statistics["objective"]
    equal, exact = (tf.solve(lap(*numbers), element, k, progress=False).objective for k in (n, 480))
    most = 1e-2 * exact if sol.success else 1.02 * (equal - exact)
    fault(f"error of the {name}", "in tolerance, or that of as many equal elements", found - exact,
          met=found - exact <= most)
    fault(f"meshes of the {name}", "at most 10", len(sol.statistics["meshes"]),
          met=len(sol.statistics["meshes"]) <= 10)
