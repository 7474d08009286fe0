"""Mechanisms with redundant hinges: published numbers, and what must be conserved."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS
from timefem.cases import find_case

# Test Set for IVP Solvers, problem andrews, at t = 0.03 s: angles [rad] and their rates [rad/s]; printed to 16 digits,
# computed with tolerances of 1e-14
NAMES = "beta Theta gamma Phi delta Omega epsilon".split()
ANGLES = (0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948, 0.5244099658805304,
          0.5347301163226948, 0.1048080741042263e1)
RATES = (0.1139920302151208e4, -0.1424379294994111e4, 0.1103291221937134e2, 0.1929337464421385e2, 0.5735699284790808,
         -0.1929337464421385e2, 0.3231791658026955)


def relative(values):
    """Absolute angles of the seven bodies, shape (7,), to the angles of the published equations."""
    b1, b2, b3, b4, b5, b6, b7 = values
    return np.array([b1, b2 - b1, b3, b4 - b5, b5, b6 - b7, b7])


@pytest.mark.long
@pytest.mark.parametrize("rotation, degree, tolerance", [("quaternion", 3, 1e-8), ("directors", 2, 1e-5)])
def test_andrews_reaches_the_published_values(rotation, degree, tolerance):
    problem = find_case("andrews-squeezer").make(rotation)
    assert len(problem.system.dropped) == 9  # three loops, three constraints out of the plane each
    sol = tf.solve(problem, tf.MixedGalerkin(degree), 400)
    angles, rates = [], []
    for body in problem.system.bodies:
        r = sol.rotation_matrix(body, sol.t)
        angles.append(np.unwrap(np.arctan2(r[:, 1, 0], r[:, 0, 0]))[-1])
        rates.append(sol.angular_velocity(body, 0.03)[2])
    error = np.abs(relative(angles) - ANGLES)
    assert error.max() < tolerance, dict(zip(NAMES, error, strict=True))
    np.testing.assert_allclose(relative(rates), RATES, rtol=0, atol=tolerance * np.abs(RATES).max())
    errors = sol.errors()
    assert max(errors["energy"], errors["configuration"], errors["velocity"]) < 1e-10
    left_out = problem.system.complete.constraints(sol.t, sol.z)
    assert np.abs(left_out).max() < 1e-10


@pytest.mark.long
def test_bricard():
    """The energy is exact, the hinge constraint that is left out holds, and both rotations move the same."""
    finals = []
    for rotation in ROTATIONS:
        problem = find_case("bricard").make(rotation, t_end=1.0)
        assert len(problem.system.dropped) == 1 and problem.system.n_q - problem.system.n_constraints == 1
        sol = tf.solve(problem, tf.MixedGalerkin(3), 100)
        assert max(v for name, v in sol.errors().items() if name != "angular_momentum") < 1e-11
        assert np.abs(problem.system.complete.constraints(sol.t, sol.z)).max() < 1e-11
        finals.append([sol.position(body, 1.0) for body in problem.system.bodies])
    np.testing.assert_allclose(*finals, rtol=0, atol=1e-9)
    # end of the third bar, which starts at (1, -1, 1), by Exudyn 1.13 (generalized alpha, 4000 steps)
    bar = problem.system.bodies[2]
    tip = sol.position(bar, 1.0) + sol.rotation_matrix(bar, 1.0) @ [0, 0, 0.5]
    np.testing.assert_allclose(tip, [0.51050151, -1.64916758, 0.14012314], rtol=0, atol=1e-7)
