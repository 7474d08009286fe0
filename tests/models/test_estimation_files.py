"""Estimation from a model file and a table of measured values, and by the command line."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.models import load_model

pytestmark = pytest.mark.long

MODEL = """
gravity = [0, 0, -9.81]
state = {hinge = 0.3}
time = {span = [0, 1], n_elements = 20}
solver = {element = "mg", degree = 2}
bodies.rod = {type = "rigid", mass = 0.8, inertia = [0.001, 0.02, 0.02]}
noise = {hinge = 1e-4}
prior.hinge = {q = 0.3, v = 1.0}

[joints.hinge]
type = "revolute"
bodies = ["rod"]
point_a = [-0.3, 0, 0]
point_b = [0, 0, 0]
axis_a = [0, 1, 0]
axis_b = [0, 1, 0]

[forces.friction]
type = "joint_damper"
joint = "hinge"
damping = 0.01

[problem]
kind = "estimation"
data = "seen.csv"
parameters = {damping = {part = "friction", number = "damping", mean = 0.01, sigma = 0.05}}

[measurements.camera]
type = "marker"
body = "rod"
point = [0.3, 0, 0]
axes = "xz"
columns = ["x", "z"]
sigma = 0.005

[measurements.gyro]
type = "gyroscope"
body = "rod"
axes = "y"
columns = ["rate"]
sigma = 0.05
bias = {sigma = 0.1}
"""
TIMES = np.arange(1, 21) / 20


def system():
    rod = tf.RigidBody(0.8, (0.001, 0.02, 0.02), name="rod")
    hinge = tf.Revolute(rod, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    return tf.System([rod, hinge, tf.JointDamper(hinge, damping=0.01, name="friction")], gravity=(0, 0, -9.81))


@pytest.fixture
def folder(tmp_path):
    truth = tf.solve(tf.InitialValueProblem(system(), {"hinge": (0.4, 0.0)}, (0, 1)), tf.MixedGalerkin(3), 40,
                     progress=False)
    rng = np.random.default_rng(7)
    tip = truth.position("rod", TIMES) + truth.rotation_matrix("rod", TIMES) @ (0.3, 0, 0)
    values = np.column_stack([tip[:, [0, 2]] + 0.005 * rng.standard_normal((20, 2)), truth.angular_velocity(
        "rod", TIMES)[:, 1] + 0.05 * rng.standard_normal(20) + 0.03])
    values[5, :2] = np.nan
    rows = [",".join("" if np.isnan(x) else f"{x:.9g}" for x in (t, *row)) for t, row in
            zip(TIMES, values, strict=True)]
    (tmp_path / "seen.csv").write_text("\n".join(["t,x,z,rate", *rows]))
    (tmp_path / "model.toml").write_text(MODEL)
    return tmp_path, values


def test_as_by_python(folder, timefem):
    path, values = folder
    status, out, err = timefem("estimate", path / "model.toml", path / "seen.csv", "--json", "-o", path / "found.h5")
    assert status == 0, err
    report = json.loads(out)
    camera = tf.Marker("rod", (0.3, 0, 0), "xz", times=TIMES, values=np.round(values[:, :2], 9), sigma=0.005,
                       missing="skip")
    gyro = tf.Gyroscope("rod", "y", times=TIMES, values=values[:, 2], sigma=0.05, bias=tf.Prior(0, 0.1), name="gyro")
    problem = tf.Estimation(system(), [camera, gyro], noise={"hinge": 1e-4}, t_span=(0, 1), prior={
        "hinge": tf.StatePrior(0.3, q=0.3, v=1.0)}, numbers={"damping": ("friction.damping", tf.Prior(0.01, 0.05))})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    assert abs(report["log_evidence"] - sol.log_evidence) < 1e-4 and abs(report["chi2"] - sol.fit.chi2) < 1e-4
    for name in ("damping", "bias of gyro"):
        np.testing.assert_allclose(report["numbers"][name]["value"], np.ravel(sol.parameters[name]), rtol=1e-4)
        np.testing.assert_allclose(report["numbers"][name]["std"], sol.std(name), rtol=1e-5)
    assert report["kind"] == "estimation" and "errors explain" in report["verdict"] and report["constraints"] < 1e-12
    np.testing.assert_allclose(tf.load(path / "found.h5").z, sol.z, rtol=0, atol=1e-5)
    status, out, _ = timefem("run", path / "model.toml")
    assert status == 0 and "+-" in out and "found: damping" in out


@pytest.mark.parametrize(("old", "new", "words"), [
    ("0.2,", "1.2,", "times must increase.*sort the rows"), ("0.2,", "0.15,", "0.15 s after 0.15 s.*come twice"),
    ("0.2,", ",", "row 4 of the data has no time"), ("0.2,", "a,", "line 5: 'a' is not a number"),
    ("0.2,", "0.2,1,", "line 5: it has 5 values, but there are 4 columns"), ("x,z", "x,x", "two columns are called"),
    ("x,z", "x,y", "no column 'z'"), ("\n1,", "\n1.5,", "camera: t = 1.5 s is outside of the time span"),
])
def test_bad_data_are_told_by_file_and_line(folder, old, new, words):
    path, _ = folder
    text = (path / "seen.csv").read_text()
    assert old in text
    (path / "seen.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"model\.toml:\d+: .*{words}") as error:
        load_model(path / "model.toml")
    assert "\n" not in str(error.value)


def test_bounds_of_numbers_are_those_of_python(folder):
    path = folder[0] / "model.toml"
    path.write_text(MODEL.replace("mean = 0.01, sigma = 0.05}", "mean = 0.03, sigma = 0.05, lower = 0.025, upper = 1}"))
    sol = tf.solve(load_model(path).problem, tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success and sol.at_bounds == {"damping": "lower"}
    np.testing.assert_allclose(sol.value("damping"), 0.025, rtol=1e-9)  # 0.01 makes the data


def test_bad_data_on_the_command_line(folder, timefem):
    path, _ = folder
    text = (path / "seen.csv").read_text()
    (path / "seen.csv").write_text(text.replace("0.2,", "0.1,", 1))
    status, _, err = timefem("estimate", path / "model.toml", path / "seen.csv")
    assert status == 2 and "times must increase" in err and len(err.strip().splitlines()) == 1


def test_models_without_measurements_are_no_estimates(tmp_path, timefem):
    """They were solved as initial-value problems, silently."""
    (tmp_path / "mass.toml").write_text("""
bodies.mass = {type = "point", mass = 1}
time = {span = [0, 1], n_elements = 2}
""")
    status, out, err = timefem("estimate", tmp_path / "mass.toml")
    assert status == 2 and not out and "an initial-value problem, without measurements; `timefem run` solves it" in err


def test_errors_of_two_columns_that_depend_on_each_other(folder):
    path, _ = folder
    (path / "model.toml").write_text(MODEL.replace("sigma = 0.005", "covariance = [[2e-5, 1e-5], [1e-5, 3e-5]]"))
    camera = load_model(path / "model.toml").problem.measurements[0]
    np.testing.assert_array_equal(camera.covariances[0], [[2e-5, 1e-5], [1e-5, 3e-5]])


@pytest.mark.parametrize(("old", "new", "words"), [
    ("sigma = 0.005", "covariance = [[1, 2], [2, 1]]", "camera: covariance must be positive definite"),
    ("sigma = 0.005", "sigma = 0", "sigma: camera: sigma must be positive"),
    ("q = 0.3, v = 1.0", "q = -0.3", "prior of q of hinge: sigma must be positive"),
    ('columns = ["x", "z"]', 'columns = ["x", "q"]', "measurements.camera: .*no column 'q'"),
    ("sigma = 0.005", "", "measurements.camera: needs sigma"),
    ('body = "rod"\npoint', 'body = "rob"\npoint', "camera: no body 'rob'.*did you mean 'rod'"),
    ('data = "seen.csv"', "", "needs data"), ('data = "seen.csv"', 'data = "none.csv"', "problem.data: .*none.csv"),
    ("span = [0, 1]", "span = [0, 0.5]", "camera: t = 0.55 s is outside of the time span"),
    ("noise = {hinge = 1e-4}", "noise = {hing = 1e-4}", "noise: no body, joint or actuator 'hing'"),
    (", mean = 0.01, sigma = 0.05", "", "damping: needs sigma"),
])
def test_bad_files_are_told_by_line_and_key(folder, old, new, words):
    path, _ = folder
    assert old in MODEL
    (path / "bad.toml").write_text(MODEL.replace(old, new))
    with pytest.raises(InputError, match=rf"bad\.toml:\d+: .*{words}"):
        load_model(path / "bad.toml")
