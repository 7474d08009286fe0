"""`timefem modes` and `timefem linearize` on the command line."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case

pytestmark = pytest.mark.long


def run_json(timefem, *arguments):
    status, out, err = timefem(*arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_modes_at_rest(timefem, tmp_path):
    path = tmp_path / "mode.html"
    r = run_json(timefem, "modes", "physical-pendulum", "--equilibrium", "-o", str(path))
    exact = np.sqrt(9.81 * 5 / (10**2 / 3 + 1 / 12)) / (2 * np.pi)  # from the horizontal start to hanging
    np.testing.assert_allclose([m["frequency"] for m in r["modes"]], [exact, exact, 0], rtol=0, atol=1e-9)
    assert r["neutral"] == 2 and r["steady"] and r["unstable"] == 0 and path.stat().st_size > 1000
    status, out, _ = timefem("modes", "physical-pendulum")
    assert status == 0 and "not steady" in out


def test_linearize(timefem):
    r = run_json(timefem, "linearize", "physical-pendulum", "--outputs", "pendulum.position[2]", "pendulum.velocity")
    problem = find_case("physical-pendulum").make()
    model = tf.linearize(problem.system, {"pendulum": tf.Pose(position=[0, 5, 0])},
                         outputs=["pendulum.position[2]", "pendulum.velocity"])
    np.testing.assert_allclose(r["A"], model.A, rtol=0, atol=1e-12)
    np.testing.assert_allclose(r["C"], model.C, rtol=0, atol=1e-12)
    assert r["outputs"] == ["pendulum.position[2]", *(f"pendulum.velocity[{i}]" for i in range(3))]


def test_refusals(timefem):
    for arguments, text in ((("modes", "reorientation"), "without an initial state"),
                            (("linearize", "physical-pendulum", "--outputs", "pendulum.colour"), "no quantity"),
                            (("linearize", "physical-pendulum", "--inputs", "motor"), "not an actuator")):
        status, _, err = timefem(*arguments)
        assert status == 2 and text in err, err


def test_modes_at_rest_of_redundant_hinges(timefem):
    """Hinges in a plane repeat each other, which statics cannot take; the pendulum settles by itself."""
    status, out, _ = timefem("modes", "double-pendulum", "--equilibrium", "--json")
    assert status == 0
    modes = json.loads(out)
    assert modes["unstable"] == 0 and len(modes["modes"]) == 2
