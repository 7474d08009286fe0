"""Every case reaches its reference motion."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES, find_case
from timefem.cases.table import FILES, MODULES
from timefem.models import load_model

DATA = Path(__file__).parents[1] / "data"
FINE = {"spinning-box": 800, "free-body": 1000, "physical-pendulum": 400, "heavy-top": 2000}


def reference_states(name, t_end):
    """Times, and what the reference file gives there: quaternion, rotation matrix, Omega, position, velocity."""
    for s in json.loads((DATA / f"{name.replace('-', '_')}.json").read_text())["states"]:
        if s["t"] > t_end:
            continue
        q = np.array(s["q"])
        state = {"quaternion": q, "angular_velocity": np.array(s["Omega"])}
        if "R" in s:
            state["rotation_matrix"] = np.array(s["R"])
        if "phi" in s:
            state |= {"position": np.array(s["phi"]), "velocity": np.array(s["phi_dot"])}
        if "com" in s:
            state |= {"position": np.array(s["com"]), "velocity": np.cross(s["omega_spatial"], s["com"])}
        yield s["t"], state


def errors(name, rotation, degree, n_elements):
    """Largest error of each quantity over the reference times, relative to its size where that exceeds 1."""
    problem = CASES[name].make(rotation=rotation)
    body, = problem.system.bodies
    sol = tf.solve(problem, tf.MixedGalerkin(degree), n_elements)
    assert sol.success, sol.status.message
    worst = {}
    for t, state in reference_states(name, problem.t_span[1]):
        for quantity, wanted in state.items():
            if quantity == "quaternion" and rotation == "directors":
                continue
            value = getattr(sol, quantity)(body, t)
            if quantity == "quaternion":
                value = value * np.sign(value @ wanted)
            error = np.abs(value - wanted).max() / max(1.0, np.abs(wanted).max())
            worst[quantity] = max(worst.get(quantity, 0.0), error)
    return worst


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("name", FINE)
def test_reference_motion_is_reached(name, rotation):
    worst = errors(name, rotation, 4, FINE[name])
    assert {"rotation_matrix", "position"} & set(worst)
    assert max(worst.values()) < 1e-10, worst


@pytest.mark.parametrize("degree, cap", [(1, 5e-2), (2, 5e-5), (3, 5e-8)])
def test_error_falls_with_the_order(degree, cap):
    coarse, fine = (errors("spinning-box", "quaternion", degree, n)["rotation_matrix"] for n in (100, 200))
    assert fine < cap
    assert np.log2(coarse / fine) > 2 * degree - 0.4


LONG = "bricard", "closed-chain-10", "closed-chain-100", "slew-time", "reorientation-time", "robot-arm-time"


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in CASES
                                  if not CASES[n].path and CASES[n].kind != "phases"])
def test_defaults_are_good(name):
    case = find_case(name)
    problem = case.make()
    assert problem.t_span == (0.0, case.t_end)
    assert case.title and case.description.endswith(".")
    sol = tf.solve(problem, tf.MixedGalerkin(2), case.n_elements)
    assert sol.success
    assert sol.errors()["energy"] < 1e-8 * max(1.0, abs(sol.energy()[0]))
    if case.conserved_axes:
        momentum = sol.angular_momentum()
        drift = (momentum - momentum[0])[:, list(case.conserved_axes)]
        assert np.abs(drift).max() < 1e-5 * max(1.0, np.abs(momentum).max())


def test_bodies_have_names():
    assert [CASES[name].make().system.bodies[0].name for name in FINE] == ["box", "body", "pendulum", "top"]
    for case in CASES.values():
        assert all(body.name for body in case.make().system.bodies)


def test_exact_inverse_mass_and_end_time():
    problem = CASES["heavy-top"].make(inverse_mass="exact", t_end=0.25)
    assert problem.t_span == (0.0, 0.25)
    assert problem.system.bodies[0].inverse_mass == "exact"


def test_bad_input():
    with pytest.raises(tf.InputError, match=r"'spinning-box'.*not 'box'"):
        find_case("box")
    with pytest.raises(tf.InputError, match="t_end must be finite"):
        CASES["spinning-box"].make(t_end=float("nan"))
    with pytest.raises(tf.InputError, match="forward"):
        CASES["spinning-box"].make(t_end=0.0)


# ---- the table of cases agrees with the modules that enter them

def test_modules_enter_the_cases_of_the_table():
    assert [name for name, case in CASES.items() if case.name != name] == []
    for module in MODULES:
        import_module(f"timefem.cases.{module}")
    in_modules = [name for names in MODULES.values() for name in names]
    assert list(CASES) == in_modules + sorted(path.stem for path in FILES.glob("*.toml"))  # and no further ones


# ---- model files move as the cases of the same name

FOLDER = Path(__file__).parents[2] / "examples" / "models"


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_model_files_are_the_cases(path):
    case = find_case(path.stem.replace("_", "-"))
    model = load_model(path, t_end=case.t_end / 10)
    expected = tf.solve(case.make(t_end=case.t_end / 10), tf.MixedGalerkin(3), 60)
    solution = model.solve(element=tf.MixedGalerkin(3), n_elements=60)
    assert len(solution.system.dropped) == len(expected.system.dropped)
    size = np.abs(expected.z).max()
    np.testing.assert_allclose(solution.z, expected.z, rtol=0, atol=1e-9 * size)
