"""`timefem modes` and `timefem linearize` on the command line."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES, find_case
from timefem.cli import main
from timefem.elements.element import ELEMENTS

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


# ---- schemes by name on the command line, and which case each element can take

SHORT = ("--n-elements", "10", "--t-end", "0.02", "--json")


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("name", ["eml", "reml", "null-eml", "emh", "null-emh", "mpl", "mph", "quat-vi", "algo-c1"])
def test_a_scheme_by_name(capsys, name):
    status, out, _ = run(capsys, "run", "free-body", "--element", name, *SHORT)
    report = json.loads(out)
    assert (status, report["element"], report["status"]) == (0, name, "converged")
    assert ("generalized_energy_error_max" in report) == (name in ("eml", "reml", "null-eml", "mpl"))


def test_aliases_and_directors(capsys):
    assert json.loads(run(capsys, "run", "free-body", "--element", "quat-em", *SHORT)[1])["element"] == "emh"
    status, out, _ = run(capsys, "run", "free-body", "--element", "dir-em", "--rotation", "directors", *SHORT)
    assert (status, json.loads(out)["element"]) == (0, "dir-em")


@pytest.mark.parametrize("arguments, message", [
    (("free-body", "--element", "em"), "element: there is no 'em'; did you mean 'eml'?"),
    (("free-body", "--element", "eml", "--degree", "2"), "--degree belongs to --element mg and bg"),
    (("free-body", "--element", "emh", "--drop", "end"), "--drop belongs to --element bg"),
    (("free-body", "--element", "dir-em"), "dir-em takes directors, and body is in quaternions; use EMH()"),
    (("heavy-top", "--element", "algo-c1"), "no joints")])
def test_bad_elements(capsys, arguments, message):
    status, out, err = run(capsys, "run", *arguments, "--t-end", "0.02")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_list_names_the_schemes_and_what_they_take(capsys):
    listed = json.loads(run(capsys, "list", "--json")[1])["elements"]
    assert set(listed) == set(ELEMENTS)
    assert all(facts["description"] for facts in listed.values())
    facts = json.loads(run(capsys, "list", "--elements", "--json")[1])["elements"]
    assert set(facts) == set(listed) and all(set(cases) == set(CASES) for cases in facts.values())
    assert facts["eml"]["four-bar"] is None and "FixedPoint" in facts["algo-c1"]["heavy-top"]
    table = run(capsys, "list", "--elements")[1]
    assert "algo-c1" in table and "does not take" in table
