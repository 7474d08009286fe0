"""`timefem sensitivity`, `timefem solve-all` and continuation on the command line."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case

pytestmark = pytest.mark.long

SHORT = ("--n-elements", "10", "--t-end", "0.5")


def run_json(timefem, *arguments):
    status, out, err = timefem(*arguments, "--json")
    assert status == 0, err
    return json.loads(out)


# ---- sensitivities

def test_derivatives_are_those_of_the_library(timefem):
    problem = find_case("physical-pendulum").make(t_end=0.5)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 10, progress=False)
    of = {"end:pendulum.position[2]": tf.EndValue(lambda b, t: b[0].position[2]),
          "integral:pendulum.q[1]": tf.Integral(lambda b, t: b[0].q[1]),
          "peak:pendulum.angular_velocity[0]:5": tf.Peak(lambda b, t: b[0].angular_velocity[0], 5)}
    by = {"pendulum.mass": tf.Parameter("pendulum", "mass"),
          "pendulum.inertia[0]": tf.Parameter("pendulum", "inertia", 0),
          "gravity[2]": tf.Parameter(problem.system, "gravity", 2),
          "start:pendulum.angular_velocity[0]": tf.Initial("pendulum", "angular_velocity", 0)}
    for method in ("--forward", "--adjoint"):
        r = run_json(timefem, "sensitivity", "physical-pendulum", "--of", *of, "--parameters", *by, "--degree", 3,
                     *SHORT, method)
        assert list(r["functionals"]) == list(of) and r["method"] == method[2:]
        assert r["parameters"] == [name.removeprefix("start:") for name in by]
        for name, functional in of.items():
            expected = tf.gradient(sol, functional, list(by.values()))
            np.testing.assert_allclose(r["functionals"][name]["derivatives"], expected, rtol=1e-9,
                                       atol=1e-12 * np.abs(expected).max())


def test_all_components_and_the_whole_start(timefem):
    r = run_json(timefem, "sensitivity", "free-body", "--of", "end:body.velocity", "end:kinetic", "--parameters",
                 "start", *SHORT)
    assert list(r["functionals"]) == [f"end:body.velocity[{i}]" for i in range(3)] + ["end:kinetic"]
    assert r["parameters"] == [f"body.{name}[{i}]" for name in ("position", "rotation", "velocity", "angular_velocity")
                               for i in range(3)]
    at = np.array([f["derivatives"] for f in r["functionals"].values()])
    np.testing.assert_allclose(at[:3, 6:9], np.eye(3), rtol=0, atol=1e-12)  # a free body keeps its velocity
    np.testing.assert_allclose(at[3, 9:], [60, 160, 60], rtol=1e-9)  # J omega: the energy is constant
    status, out, _ = timefem("sensitivity", "free-body", "--of", "end:kinetic", "--parameters", "body.mass", *SHORT)
    assert status == 0 and all(word in out for word in ("end:kinetic", "body.mass", "itself"))


@pytest.mark.parametrize("arguments, message", [
    (["--of", "end:pendulum.weight", "--parameters", "start"], "pendulum has no quantity 'weight'; it has q, p, v"),
    (["--of", "foo", "--parameters", "start"], "'foo' is not a functional: give end:QUANTITY"),
    (["--of", "end:bar.q", "--parameters", "start"], "or 'kinetic': no body 'bar' in the system; it has pendulum"),
    (["--of", "end:pendulum.q[9]", "--parameters", "start"], "has the components 0 to 6, not [9]"),
    (["--of", "peak:kinetic", "--parameters", "start"], "a peak needs its sharpness"),
    (["--of", "end:kinetic", "--parameters", "pendulum.weight"], "no parameter 'weight'; it has mass, inertia"),
    (["--of", "end:kinetic", "--parameters", "spring.stiffness"], "there are pendulum, FixedPoint 1, Gravity 1"),
    (["--of", "end:kinetic", "--parameters", "start:pendulum.spin"], "no 'spin' at the start; it has position"),
    (["--of", "end:kinetic", "--parameters", "gravity[7]"], "no entry 7; it has 0, 1, 2"),
    (["--of", "end:kinetic"], "there are no parameters"),
    (["--parameters", "start"], "there is nothing to differentiate"),
    (["--of", "end:kinetic", "--parameters", "start", "--forward", "--adjoint"], "either --forward or --adjoint"),
])
def test_bad_names(timefem, arguments, message):
    status, out, err = timefem("sensitivity", "physical-pendulum", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err


def test_boundary_values(timefem):
    """Of the flight of a free body with momentum of inertia J by an angle about its axis in a time."""
    r = run_json(timefem, "sensitivity", "reorientation", "--of", "integral:kinetic", "--parameters", "end",
                 "body.inertia")
    by = dict(zip(r["parameters"], r["functionals"]["integral:kinetic"]["derivatives"], strict=True))
    inertia = [value for name, value in by.items() if "inertia" in name]
    assert {"end: body.rotation[0]", "end: body.position[2]"} <= set(by) and max(map(abs, inertia)) > 0.1


def test_other_kinds_are_refused(timefem):
    status, _, err = timefem("sensitivity", "crane-inverse", "--of", "end:kinetic", "--parameters", "start")
    assert status == 2 and "those of initial-value and boundary-value problems" in err
    status, _, err = timefem("solve-all", "free-body")
    assert status == 2 and "solve-all looks for several solutions of boundary-value" in err


def test_failed_solve(timefem):
    status, out, err = timefem("sensitivity", "heavy-top", "--of", "end:kinetic", "--parameters", "start",
                               "--n-elements", "2", "--keep-mesh")
    assert (status, out) == (1, "") and "not converged" in err


def test_what_elements_keep(timefem):
    """Options of elements are those of `run` for all commands that solve."""
    command = "sensitivity", "free-body", "--of", "end:body.angular_velocity[0]", "--parameters", "body.inertia[0]"
    found = [run_json(timefem, *command, "--keep", keep, "--degree", 1, "--n-elements", 20, "--t-end", 0.5)
             ["functionals"]["end:body.angular_velocity[0]"] for keep in ("points", "all")]
    sol = tf.solve(find_case("free-body").make(t_end=0.5), tf.MixedGalerkin(1, keep="all"), 20, progress=False)
    end = tf.EndValue(lambda bodies, t: bodies[0].angular_velocity[0], bodies=["body"])
    expected = tf.gradient(sol, end, [tf.Parameter("body", "inertia", 0)])
    assert found[1]["derivatives"] == pytest.approx(expected, rel=1e-10)
    assert abs(found[0]["value"] - found[1]["value"]) > 1e-4


# ---- several solutions, continuation

def test_solve_all(timefem, tmp_path):
    r = run_json(timefem, "solve-all", "reorientation", "--n-elements", 24, "--turns", 0, "-o", tmp_path / "a.h5")
    expected = tf.solve_all(find_case("reorientation").make(), tf.MixedGalerkin(2), 24, turns=0)
    assert len(r["solutions"]) == len(expected) == 2
    actions = [s["action"] for s in r["solutions"]]
    assert actions == sorted(actions)
    for found, sol in zip(r["solutions"], expected, strict=True):
        assert max(found["conditions"].values()) < 1e-9
        np.testing.assert_allclose(tf.load(found["file"]).z, sol.z, rtol=0, atol=1e-8 * np.abs(sol.z).max())
    status, out, _ = timefem("solve-all", "pendulum-boundary", "--turns", 0)
    assert status == 0 and "2 solutions" in out


def test_continuation(timefem):
    wanted = run_json(timefem, "run", "pendulum-boundary")
    r = run_json(timefem, "run", "pendulum-boundary", "--follow", "t_end=0.6")
    assert r["continuation"][0] == 0.6 and r["continuation"][-1] == 1.3 and len(r["continuation"]) > 3
    velocity = [x["final"]["pendulum"]["angular_velocity"] for x in (r, wanted)]
    np.testing.assert_allclose(*velocity, rtol=0, atol=1e-9)
    assert "followed over" in timefem("run", "pendulum-boundary", "--follow", "t_end=1")[1]


@pytest.mark.parametrize("arguments, message", [
    (["pendulum-boundary", "--follow", "t_end=x"], "--follow must be KEY=START"),
    (["pendulum-boundary", "--follow", "t_end"], "--follow must be KEY=START"),
    (["pendulum-boundary", "--follow", "mass=1"], "of a case t_end can be varied, not 'mass'"),
    (["pendulum-boundary", "--follow", "t_end=1", "--tolerance", "1e-6"], "--tolerance is not used with a contin"),
    (["free-body", "--follow", "t_end=1"], "--follow is not used: free-body is an initial-value problem"),
])
def test_bad_continuation(timefem, arguments, message):
    status, out, err = timefem("run", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err
