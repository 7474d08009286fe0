"""Each kind of sensor with each of its options: data of a marched motion, and the unknown number found again."""

from functools import cache
from itertools import product

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.mechanics.numbers.changes import extended

SPAN, COUNT = (0.0, 1.0), 25
TIMES = np.linspace(0.04, 1.0, COUNT)
POINT, FIELD, GRAVITY = np.array([0.2, 0.1, -0.05]), np.array([20.0, 5.0, -40.0]), np.array([0, 0, -9.81])
STAR = np.array([0.6, 0.0, 0.8])
TURN = np.array([0.02, -0.03, 0.025])  # of a mounting [rad]
MOUNTING = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])  # of what would not see all of it


def linkage():
    """A post that turns about the vertical, and an arm on it."""
    post = tf.RigidBody(2.0, (0.05, 0.05, 0.03), name="post")
    arm = tf.RigidBody(1.0, (0.002, 0.02, 0.021), name="arm")
    pan = tf.Revolute(post, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="pan")
    tilt = tf.Revolute(arm, post, point_a=(-0.2, 0, 0), point_b=(0.1, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                       name="tilt")
    return tf.System([post, arm, pan, tilt], gravity=GRAVITY)


def system():
    """The same, and a torque on the post that falls off by a law of first order."""
    bare = linkage()
    push, post = tf.State("push", "-0.8 * x[0]"), bare["post"]
    drive = tf.FormulaForce([post, push], "[[0, 0, 0, 0, 0, f[1].q[0]], 0]", name="drive")
    return extended(bare, [push, drive])


@cache
def truth():
    start = {"pan": (0.3, 2.0), "tilt": (0.2, -1.0), "push": 0.5}
    return tf.solve(tf.InitialValueProblem(system(), start, (0.0, 1.1)), tf.MixedGalerkin(4), 110, progress=False)


def turns(t):
    """Rotation matrices of the arm, transposed: space to body axes."""
    return truth().rotation_matrix("arm", t).transpose(0, 2, 1)


def place(t, point):
    return truth().position("arm", t) + truth().rotation_matrix("arm", t) @ point


def specific_force(t, point):
    """By the differences of places on nodes' polynomials."""
    h = 1e-3
    rate = (-place(t + 2 * h, point) + 16 * place(t + h, point) - 30 * place(t, point) + 16 * place(t - h, point)
            - place(t - 2 * h, point)) / (12 * h**2)
    return np.einsum("tij,tj->ti", turns(t), rate - GRAVITY)


def velocity(t, point):
    omega = truth().angular_velocity("arm", t, frame="space")
    return truth().velocity("arm", t) + np.cross(omega, truth().rotation_matrix("arm", t) @ point)


HALF = np.cross(TURN, np.eye(3)).T / 2
ROTATION = np.eye(3) + 2 / (1 + TURN @ TURN / 4) * (HALF + HALF @ HALF)  # of Rodrigues' parameters
KINDS = {  # class, what it is given, what it measures without errors, its size of errors
    "marker": (tf.Marker, {"body": "arm", "point": POINT}, lambda t: place(t, POINT), 0.002),
    "marker of two axes": (tf.Marker, {"body": "arm", "point": POINT, "axes": "xz"},
                           lambda t: place(t, POINT)[:, [0, 2]], 0.002),
    "velocity": (tf.PointVelocity, {"body": "arm", "point": POINT}, lambda t: velocity(t, POINT), 0.01),
    "star": (tf.DirectionSensor, {"body": "arm", "direction": STAR}, lambda t: turns(t) @ STAR, 0.002),
    "gravity": (tf.DirectionSensor, {"body": "arm", "direction": GRAVITY, "mounting": MOUNTING},
                lambda t: turns(t) @ GRAVITY @ MOUNTING, 0.02),
    "magnetometer": (tf.DirectionSensor, {"body": "arm", "direction": FIELD}, lambda t: turns(t) @ FIELD, 0.1),
    "orientation": (tf.OrientationSensor, {"body": "arm"}, None, 0.003),
    "gyroscope": (tf.Gyroscope, {"body": "arm"}, lambda t: truth().angular_velocity("arm", t, frame="body"), 0.01),
    "accelerometer": (tf.Accelerometer, {"body": "arm", "point": POINT}, lambda t: specific_force(t, POINT), 0.05),
    "angle": (tf.JointSensor, {"joint": "tilt"}, lambda t: truth().joint("tilt").coordinate(t)[:, None], 0.002),
    "rate": (tf.JointSensor, {"joint": "pan", "rate": True}, lambda t: truth().joint("pan").rate(t)[:, None], 0.01),
    "reaction": (tf.ReactionSensor, {"joint": "pan"}, lambda t: truth().joint("pan").force(t), 0.1),
    "force": (tf.FormulaSensor, {"formula": "now.q('push')[0]"}, lambda t: truth().coordinates("push", t), 0.01),
    "formula": (tf.FormulaSensor, {"formula": lambda now: now.position("arm") - now.position("post"), "n": 3},
                lambda t: truth().position("arm", t) - truth().position("post", t), 0.002),
}
MOUNTED = "star", "gravity", "magnetometer", "orientation", "gyroscope", "accelerometer"
PLACED = "marker", "marker of two axes", "velocity", "accelerometer"
DIRECTED = "star", "gravity", "magnetometer"
OPTIONS = "bias", "scale", "time_offset", "mounting_error", "point", "direction"
REFUSED = [("orientation", "bias"), ("orientation", "scale"), *(
    (kind, option) for option, kinds in (("mounting_error", MOUNTED), ("point", PLACED), ("direction", DIRECTED))
    for kind in KINDS if kind not in kinds)]
QUICK = ("gyroscope", "none"), ("velocity", "none")


def values_of(kind, rng, times, *, late=0.0, bias=0.0, scale=1.0, mounting=None, root=None):
    """What a sensor gives at these times by all that is wrong with it, and its errors of covariance root root^T."""
    exact, sigma = KINDS[kind][2:]
    mounting = np.eye(3) if mounting is None else mounting
    n = 3 if exact is None else exact(TIMES).shape[1]
    errors = rng.standard_normal((len(times), n)) @ (sigma * np.eye(n) if root is None else root).T
    if exact is None:
        small = np.cross(errors[:, None] / 2, np.eye(3)).transpose(0, 2, 1)
        return turns(times + late).transpose(0, 2, 1) @ mounting @ np.linalg.solve(np.eye(3) - small, np.eye(3) + small)
    right = exact(times + late) @ mounting if kind in MOUNTED else exact(times + late)
    return scale * right + bias + errors


def made(kind, name, times, values, **given):
    cls, own, _, sigma = KINDS[kind]
    errors = {} if "covariance" in given else {"sigma": sigma}
    return cls(**{**own, **errors, **given}, times=times, values=values, name=name)


def with_other_errors(kind, rng):
    """At its own times, some of them missing, with errors that depend on each other."""
    exact, sigma = KINDS[kind][2:]
    n = 3 if exact is None else exact(TIMES).shape[1]
    root = sigma * (np.eye(n) + 0.7 * np.tri(n, k=-1))
    times = TIMES[:-1] + 0.5 * (TIMES[1] - TIMES[0])
    values = values_of(kind, rng, times, root=root)
    values[[3, 4, 11]] = np.nan
    if exact is not None and n > 1:
        values[7, 0] = np.nan
    return made(kind, "other errors", times, values, covariance=root @ root.T, missing="skip")


def with_unknown(kind, option, rng):
    """A sensor of which one number is unknown, the same where it is known, that number, and how wide its prior is."""
    _, own, exact, sigma = KINDS[kind]
    n = 3 if exact is None else exact(TIMES).shape[1]
    times, wrong = TIMES, {}
    if option in own:
        right = np.asarray(own[option])
        wide = 0.1 * np.linalg.norm(right) * np.ones(3)
        mean = right + wide / 2
    elif option == "mounting_error":
        right, mean, wide, wrong = TURN, 0.0, 0.1 * np.ones(3), {"mounting": ROTATION}
    elif option == "time_offset":
        right, mean, wide, wrong, times = np.array([0.013]), 0.0, 0.05 * np.ones(1), {"late": 0.013}, TIMES[:-1]
    elif option == "scale":
        right, mean, wide, wrong = 1.05 * np.ones(n), 1.0, 0.2 * np.ones(n), {"scale": 1.05}
    else:
        right, mean, wide, wrong = 8 * sigma * np.ones(n), 0.0, 20 * sigma * np.ones(n), {"bias": 8 * sigma}
    known = {"mounting": own.get("mounting", np.eye(3)) @ ROTATION} if option == "mounting_error" else \
        {option: right if len(right) > 1 else right[0]}
    return (made(kind, f"unknown {option}", times, values_of(kind, rng, times, **wrong),
                 **{option: tf.Prior(mean, wide)}),
            made(kind, f"known {option}", times, values_of(kind, rng, times, **wrong), **known), right, wide)


NEEDS_DYNAMICS = {"reaction": "the motion has no multipliers", "force": "push"}


def start_of_frames():
    """Poses of the first frame, at which the search begins."""
    t = np.array([TIMES[0]])
    return {name: tf.Pose(truth().position(name, t)[0], truth().quaternion(name, t)[0]) for name in ("post", "arm")}


def solved(sensors, rng, dynamics):
    """The motion by sensors and the encoders of both joints."""
    encoders = [tf.JointSensor(name, times=TIMES, sigma=0.001, name=f"encoder of {name}",
                               values=truth().joint(name).coordinate(TIMES) + 0.001 * rng.standard_normal(COUNT))
                for name in ("pan", "tilt")]
    start = {"pan": tf.StatePrior((0.3, 2.0), q=0.1, v=0.5), "tilt": tf.StatePrior((0.2, -1.0), q=0.1, v=0.5)}
    if dynamics == "full":
        problem = tf.Estimation(system(), [*sensors, *encoders], t_span=SPAN,
                                prior={**start, "push": tf.StatePrior(0.4, q=0.2)})
        return tf.solve(problem, tf.MixedGalerkin(3), 25, progress=False)
    problem = tf.Estimation(linkage(), [*sensors, *encoders], noise={"post": (1e6, 1e6), "arm": (1e6, 1e6)},
                            prior=start_of_frames(), dynamics="none")
    return tf.solve(problem, tf.MixedGalerkin(3), progress=False)


@pytest.mark.parametrize(("kind", "dynamics"), [
    pytest.param(*own, marks=() if own in QUICK else pytest.mark.long) for own in product(KINDS, ("full", "none"))])
def test_what_is_unknown_is_found(kind, dynamics):
    """Within four standard deviations, which are far below those of the prior; what is known and all errors fit."""
    rng = np.random.default_rng(100 + list(KINDS).index(kind))
    options = {option: with_unknown(kind, option, rng) for option in OPTIONS if (kind, option) not in REFUSED}
    sensors = [with_other_errors(kind, rng), *(one for own in options.values() for one in own[:2])]
    if dynamics == "none" and kind in ("reaction", "force"):
        with pytest.raises(InputError, match=NEEDS_DYNAMICS[kind]):
            solved(sensors, rng, dynamics)
        return
    sol = solved(sensors, rng, dynamics)
    assert sol.success, sol.status.message
    if dynamics == "full":
        assert sol.fit.good, sol.fit.verdict
    for own in sol.fit.sensors:
        assert own.squares < own.n + 5 * np.sqrt(2 * own.n), (own, sol.fit.verdict)
    for option, (*_, right, wide) in options.items():
        name = f"{option} of unknown {option}"
        found, deviation = np.ravel(sol.parameters[name]), sol.std(name)
        assert np.all(np.abs(found - right) < 4 * deviation) and np.all(deviation < wide / 3), (name, found, deviation)


@pytest.mark.parametrize(("kind", "option"), REFUSED)
def test_what_a_sensor_does_not_have_is_refused(kind, option):
    """By the name of the option, with those it has or why not."""
    times = TIMES[:2]
    with pytest.raises((TypeError, InputError)) as error:
        made(kind, "own", times, values_of(kind, np.random.default_rng(0), times), **{option: tf.Prior(0.0, 1.0)})
    told = str(error.value)
    assert option in told and ("it takes" in told or "did you mean" in told or "a mounting_error, not a" in told)
    assert "\n" not in told
