"""Cases that are model files: their values, by both methods, and motions marched with the forces found."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from timefem.cases import CASES, find_case
from timefem.models import load_model

FILES = [name for name, case in CASES.items() if case.path]
LONG = "hopping-leg", "six-axis-arm", "bouncing-ball", "rebounding-ball"
VALUES = {"quadrotor": 27.1568356, "six-axis-arm": 0.58537007, "bouncing-ball": 0.223548847, "hopping-leg": 2872.34705,
          "box-friction": 9.55777883, "bounce-by-phases": 0.0, "hopping-by-phases": 1.00326133,
          "rebounding-ball": 0.43043879}


def solved(name, **options):
    sol = load_model(find_case(name).path).solve(progress=False, **options)
    assert sol.success, sol.status.message
    return sol


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in LONG)) for n in FILES])
def test_values_by_both_methods(name):
    own, ipopt = solved(name), solved(name, method="ipopt")
    assert own.objective == pytest.approx(VALUES[name], rel=1e-6, abs=1e-9)
    assert own.objective == pytest.approx(ipopt.objective, rel=1e-6, abs=1e-9)


def test_facts_of_the_files():
    for name in FILES:
        case = CASES[name]
        assert case.title and case.description.endswith(".")
        model = load_model(case.path)
        assert (model.kind, model.t_span[1], model.n_elements) == (case.kind, case.t_end, case.n_elements)
        assert case.make(t_end=0.9 * case.t_end).t_span[1] == pytest.approx(0.9 * case.t_end)


def test_options_replace_the_settings_of_the_file(timefem):
    code, out, err = timefem("run", "box-friction", "--element", "mg", "--degree", "1", "--n-elements", "20")
    assert code == 0 and "mg, degree 1" in out, err
    code, out, _ = timefem("run", "box-friction", "--n-elements", "20")
    assert code == 0 and "symplectic-euler" in out


def marched(found, rates, start):
    """Integrated by DOP853 from element to element with the controls in these."""
    y = np.array(start, float)
    for a, b in zip(found.t[:-1], found.t[1:], strict=True):
        u = found.controls((a + b) / 2)
        y = solve_ivp(lambda t, y, u=u: rates(y, u), (a, b), y, method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    return y


@pytest.mark.long
def test_the_ball_marched_with_the_push():
    """With the push alone, and the floor as a spring that does not pull."""
    errors = []
    for n in (55, 110, 220):
        sol = solved("bouncing-ball", n_elements=n)
        assert sol.z[:, 0].min() < -0.2  # deep in the floor
        y = marched(sol, lambda y, u: [y[1], -9.81 + u[0] + max(0.0, -500 * y[0])], [1, 0])
        errors.append(np.abs(y - [1.2, 0]).max())
    assert errors[0] > errors[1] > errors[2] and errors[2] < min(5e-3, errors[0] / 8)


def test_the_box_marched_with_the_push():
    """Friction of 2 N against the motion: to rest at 1 m."""
    y = marched(solved("box-friction"), lambda y, u: [y[1], u[0] - 2 * (y[1] > 0)], [0, 0])
    np.testing.assert_allclose(y, [1, 0], rtol=0, atol=1e-5)


@pytest.mark.long
def test_the_quadrotor_marched_with_its_thrusts():
    """Body axes and quaternion by DOP853, with thrusts that go straight through their nodes."""
    sol = solved("quadrotor", n_elements=80)
    inertia, arms = np.array([0.01, 0.01, 0.02]), np.array([[0.2, 0], [-0.2, 0], [0, 0.2], [0, -0.2]])

    def rates(t, y, u):
        v, q, w = y[3:6], y[6:10], y[10:]
        thrust = u[:4]
        torque = [arms[:, 1] @ thrust, -arms[:, 0] @ thrust, u[4]]
        a, b, c, d = q
        up = np.array([2 * (b * d + a * c), 2 * (c * d - a * b), a * a - b * b - c * c + d * d])
        turn = 0.5 * np.array([-b * w[0] - c * w[1] - d * w[2], a * w[0] + c * w[2] - d * w[1],
                               a * w[1] - b * w[2] + d * w[0], a * w[2] + b * w[1] - c * w[0]])
        spin = (torque - np.cross(w, inertia * w)) / inertia
        return np.concatenate([v, thrust.sum() * up - [0, 0, 9.81], turn, spin])

    y = np.array([0.0] * 6 + [1, 0, 0, 0] + [0] * 3)
    for a, b in zip(sol.t[:-1], sol.t[1:], strict=True):
        first, last = sol.controls(np.array([a + 1e-9, b - 1e-9]))
        y = solve_ivp(lambda t, y, a=a, b=b, f=first, g=last: rates(t, y, f + (g - f) * (t - a) / (b - a)), (a, b), y,
                      method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    np.testing.assert_allclose(y, [3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], rtol=0, atol=2e-3)


@pytest.mark.long
def test_walking(timefem):
    """Both methods to one optimum on the command line: two steps alike."""
    found = []
    for method in ("interior-point", "ipopt"):
        code, out, err = timefem("run", "walking", "--points", "2", "--method", method, "--json")
        assert code == 0, err
        found.append(json.loads(out))
    assert [phase["name"] for phase in found[0]["phases"]] == ["first step", "second step"]
    assert found[0]["objective"] == pytest.approx(529.68714, rel=1e-6)
    assert found[0]["objective"] == pytest.approx(found[1]["objective"], rel=1e-6)
