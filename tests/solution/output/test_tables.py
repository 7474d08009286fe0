"""CSV and JSON tables, read again and compared."""

import csv
import json

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=ROTATIONS)
def sol(request):
    return tf.solve(pendulum(request.param, 0.5), tf.MixedGalerkin(2), 5, progress=False)


def read(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, np.array(rows, float).reshape(len(rows), len(header)).T, strict=True))


@pytest.mark.parametrize("times", [None, [0.0, 0.123, 0.5], 0.25], ids=["ends", "times", "one time"])
def test_csv(sol, tmp_path, times):
    sol.save(tmp_path / "a.csv", times)
    table = read(tmp_path / "a.csv")
    t = sol.t if times is None else np.atleast_1d(times)
    expected = {"t [s]": t, "energy [J]": sol.energy(t)}
    r = sol.rotation_matrix("pendulum", t)
    for i in range(3):
        axis = "xyz"[i]
        expected |= {f"pendulum.{axis} [m]": sol.position("pendulum", t)[:, i],
                     f"pendulum.v{axis} [m/s]": sol.velocity("pendulum", t)[:, i],
                     f"pendulum.Omega{i + 1} [rad/s]": sol.angular_velocity("pendulum", t)[:, i],
                     f"linear_momentum.{axis} [kg m/s]": sol.linear_momentum(t)[:, i],
                     f"angular_momentum.{axis} [kg m^2/s]": sol.angular_momentum(t)[:, i]}
        expected |= {f"pendulum.R{i + 1}{j + 1} [-]": r[:, i, j] for j in range(3)}
    if sol.system.bodies[0].rotation == "quaternion":
        expected |= {f"pendulum.q{i} [-]": sol.quaternion("pendulum", t)[:, i] for i in range(4)}
    for name, level in zip(("configuration", "velocity"), sol.constraints(t), strict=True):
        expected[f"{name}_residual [SI]"] = np.abs(level).max(axis=1)
    joints = {name for name in table if name.startswith("support.")}  # see test_joint_motion.py
    assert set(table) - joints == set(expected)
    for name, values in expected.items():
        assert np.array_equal(table[name], values), name  # every digit is written


@pytest.mark.parametrize("times", [None, [0.1, 0.2]])
def test_json(sol, tmp_path, times):
    sol.save(tmp_path / "a.json", times)

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    data = json.loads((tmp_path / "a.json").read_text(), parse_constant=refuse)
    assert data == sol.to_dict(times=times)
    t = sol.t if times is None else np.array(times)
    body = data["bodies"]["pendulum"]
    assert np.array_equal(data["t"], t)
    assert np.array_equal(body["rotation_matrix"], sol.rotation_matrix("pendulum", t))
    assert np.array_equal(body["angular_velocity"], sol.angular_velocity("pendulum", t))
    assert ("quaternion" in body) == (sol.system.bodies[0].rotation == "quaternion")
    assert np.array_equal(data["system"]["energy"], sol.energy(t))
    assert data["status"]["success"] is True
    assert data["statistics"]["backward_error"] is None  # NaN in a march
    assert set(data["system"]) | set(body) | {"t"} <= set(data["units"])


def test_unnamed_bodies_get_numbers(tmp_path):
    bodies = [tf.RigidBody(1, [1, 1, 1]), tf.RigidBody(2, [1, 1, 1], "directors")]
    sol = tf.solve(tf.InitialValueProblem(tf.System(bodies), {}, (0, 1)), tf.MixedGalerkin(1), 2, progress=False)
    sol.save(tmp_path / "a.csv")
    assert {"body1.x [m]", "body2.x [m]", "body1.q0 [-]"} <= set(read(tmp_path / "a.csv"))
    assert "body2.q0 [-]" not in read(tmp_path / "a.csv")


def test_no_solved_element(sol, tmp_path):
    none = tf.Solution(sol.system, sol.element, sol.t[:1], sol.z[0], sol.nodal.state[:0], sol.nodal.multipliers[:0],
                       sol.status, {"nan": float("inf")})
    none.save(tmp_path / "a.csv")
    assert len(read(tmp_path / "a.csv")["t [s]"]) == 1
    assert none.to_dict()["statistics"]["nan"] is None


@pytest.mark.parametrize("times", [[0.1, 0.6], [-1], [[0.1]], ["a"], [float("nan")], []])
def test_bad_times_leave_no_file(sol, tmp_path, times):
    with pytest.raises(tf.InputError, match="time"):
        sol.save(tmp_path / "a.csv", times)
    assert not list(tmp_path.iterdir())


def test_controls(tmp_path):
    mass = tf.PointMass(1.0, dimension=2, name="mass")
    both, one = tf.ControlForce(mass, np.eye(3)[:2], name="both"), tf.ControlForce(mass, [(1, 0, 0)], name="one")
    rest = tf.EndState(position=(1, 1, None), velocity=(0, 0, None))
    costs = [tf.Effort(both), tf.Effort(one)]
    problem = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: rest}, (0, 1), costs)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    for times in (None, [0.1, 0.7]):
        sol.save(tmp_path / "a.csv", times)
        u, table = sol.controls(sol.t if times is None else times), read(tmp_path / "a.csv")
        names = "both.control1 [SI]", "both.control2 [SI]", "one.control [SI]"
        np.testing.assert_array_equal(np.transpose([table[name] for name in names]), u)
        data = sol.to_dict(times=times)["controls"]
        np.testing.assert_array_equal(np.hstack([data["both"], data["one"]]), u)


# ---- tables of systems whose bodies are not rigid bodies

def test_point_mass_and_generalized_coordinates(tmp_path):
    ball = tf.PointMass(2.0, name="ball")
    thrown = tf.solve(tf.InitialValueProblem(tf.System([ball], gravity=[0, 0, -9.81]),
                                             {ball: tf.Pose(velocity=[1, 0, 2])}, (0, 1)), tf.MixedGalerkin(1), 4)
    assert set(thrown.to_dict()["bodies"]["ball"]) == {"position", "velocity"}
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0] ** 2 / 2, lambda q, c: 2 * q[0] ** 2, name="oscillator")
    solution = tf.solve(tf.InitialValueProblem(system, tf.Coordinates([1.0]), (0, 1)), tf.MixedGalerkin(4), 10)
    data = solution.to_dict()
    body, = data["bodies"].values()
    np.testing.assert_allclose(np.ravel(body["coordinates"]), np.cos(2 * solution.t), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.ravel(body["rates"]), -2 * np.sin(2 * solution.t), rtol=0, atol=1e-9)
    assert "angular_momentum" not in data["system"]
    solution.save(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        header = next(csv.reader(file))
    assert any(name.endswith(".q1 [SI]") for name in header) and any(name.endswith(".qdot1 [SI]") for name in header)
