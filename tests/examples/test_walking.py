"""The five-link walk: both methods to one optimum, torques marched, the loss at the impact, a cycle of equal steps."""

import importlib.util
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from timefem.cases import walking as chain

pytestmark = pytest.mark.long

PATH = Path(__file__).parents[2] / "examples" / "walking.py"


@pytest.fixture(scope="module")
def walking():
    spec = importlib.util.spec_from_file_location("walking", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def walk(walking):
    solution = walking.main()["solution"]
    assert solution.success, solution.status.message
    return solution


@pytest.mark.long
def test_ipopt_finds_the_same(walking, walk):
    other = walking.main(method="ipopt")["solution"]
    assert other.success and other.objective == pytest.approx(walk.objective, rel=1e-6)


def test_the_two_steps_are_equal_and_make_a_cycle(walk):
    assert walk[0].objective == pytest.approx(walk[1].objective, rel=1e-4)
    np.testing.assert_allclose(walk[0].z[0], walk[1].z[0], rtol=0, atol=1e-3)
    np.testing.assert_allclose(walk[0].z[-1, :5][::-1], walk[1].z[0, :5], rtol=0, atol=1e-7)


def test_the_torques_marched_lead_to_the_impact(walking, walk):
    """Rates from the kinetic energy by CasADi, integrated by DOP853 with the torques of the solution."""
    q, v, u = ca.SX.sym("q", 5), ca.SX.sym("v", 5), ca.SX.sym("u", 5)
    kinetic, potential = chain.kinetic(q, v, None), chain.potential(q, None)
    joints = np.array([[1, -1, 0, 0, 0], [0, 1, -1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, -1, 1], [0, 0, 0, 0, -1.0]])
    momenta = ca.gradient(kinetic, v)
    force = ca.gradient(kinetic - potential, q) - ca.jtimes(momenta, q, v) + joints @ u
    rates = ca.Function("rates", [q, v, u], [ca.vertcat(v, ca.solve(ca.jacobian(momenta, v), force))])
    to_velocity = ca.Function("v", [q, u], [ca.solve(ca.jacobian(momenta, v), u)])

    def velocities(z):
        return np.array(to_velocity(z[:5], z[5:])).ravel()

    def error(sol):
        y = np.concatenate([sol.z[0, :5], velocities(sol.z[0])])
        for a, b in zip(sol.t[:-1], sol.t[1:], strict=True):
            first, last = sol.controls(np.array([a + 1e-9, b - 1e-9]))
            y = solve_ivp(lambda t, y, a=a, b=b, first=first, last=last: np.array(rates(
                y[:5], y[5:], first + (last - first) * (t - a) / (b - a))).ravel(), (a, b), y, method="DOP853",
                rtol=1e-9, atol=1e-9).y[:, -1]
        return np.abs(y[:5] - sol.z[-1, :5]).max()

    coarse, fine = error(walk[0]), error(walking.main(n_elements=24)["solution"][0])
    assert coarse < 0.02 and fine < coarse / 8


def test_the_impact_takes_energy_and_the_feet_keep_to_the_ground(walking, walk):
    energies = []
    for sol, k in ((walk[0], -1), (walk[1], 0)):
        q, p = ca.SX.sym("q", 5), sol.z[k, 5:]
        w = ca.SX.sym("w", 5)
        mass = np.array(ca.Function("m", [q], [ca.hessian(chain.kinetic(q, w, None), w)[0]])(sol.z[k, :5]))
        energies.append(p @ np.linalg.solve(mass, p) / 2)
    assert energies[1] < 0.99 * energies[0]
    q = ca.SX.sym("q", 5)
    foot = ca.Function("foot", [q], [chain.places(q)[1]])
    path = np.array([np.array(foot(z[:5])).ravel() for z in walk[0].z])
    np.testing.assert_allclose(path[[0, -1], 0], [-0.5, 0.5], rtol=0, atol=1e-6)
    assert path[:, 1].min() > -1e-6 and np.all(np.diff(path[:, 0]) > -0.05)
