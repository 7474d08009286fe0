"""Measurements: what sensors would give, against the same by hand, and input that is refused."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.mechanics.states.consistent_multipliers import multipliers_along
from timefem.problems.estimation.loads import Moment
from timefem.problems.estimation.prior import Prior
from timefem.problems.estimation.sensors import (
    Accelerometer,
    DirectionSensor,
    FormulaSensor,
    Gyroscope,
    JointSensor,
    Marker,
    OrientationSensor,
    PointVelocity,
    ReactionSensor,
)

ARM, GRAVITY = np.array([0.3, -0.2, 0.5]), (0.0, 0.0, -9.81)


def body(parametrization="quaternion"):
    return tf.RigidBody(1.2, np.diag([0.1, 0.2, 0.15]), name="box", rotation=parametrization)


def pendulum(coordinates="bodies"):
    link = tf.RigidBody(1.0, np.diag([0.02, 0.03, 0.02]), name="link")
    hinge = tf.Revolute(link, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    return tf.System([link, hinge], gravity=GRAVITY, coordinates=coordinates)


def packed(system, states):
    """The state of a system, shape (n_z,)."""
    return tf.InitialValueProblem(system, states, (0.0, 1.0)).z0


def value(sensor, system, z, v, a, c=None):
    """What the sensor expects at numbers."""
    n = system.n_q
    t, x, w, b = ca.SX.sym("t"), ca.SX.sym("z", 2 * n), ca.SX.sym("v", n), ca.SX.sym("a", n)
    now = Moment(system, t, x, v=w, a=b)
    found = sensor.expected(now, {name: ca.DM(x) for name, x in (c or {}).items()})
    return np.array(ca.Function("h", [x, w, b], [ca.densify(found)])(z, v, a)).ravel()


def given(cls, *arguments, n=3, **more):
    return cls(*arguments, **({"times": [0.0, 1.0], "values": np.zeros((2, n)), "sigma": 0.1} | more))


@pytest.mark.parametrize("parametrization", ["quaternion", "directors"])
def test_inertial_sensors_on_a_tumbling_body(parametrization):
    """A body that turns about a fixed axis while its centre moves on a parabola: velocities, rates and specific forces
    of a point follow from `x'' + alpha x r + omega x (omega x r)`."""
    box = body(parametrization)
    system = tf.System([box], gravity=GRAVITY)
    axis, rate, spin = np.array([1.0, 2.0, -2.0]) / 3, 1.3, 0.4

    def pose(t):
        angle = rate * t + spin * t**2 / 2
        turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])
        return tf.Pose((0.2 * t**2, 1.0 - t, 0.3), turn, (0.4 * t, -1.0, 0.0), (rate + spin * t) * axis)

    h, t = 1e-4, 0.7
    states = [np.concatenate(box.state(pose(s))) for s in (t - h, t, t + h)]
    q = [z[:system.n_q] for z in states]
    v, a = (q[2] - q[0]) / (2 * h), (q[2] - 2 * q[1] + q[0]) / h**2
    z, n = states[1], system.n_q
    turn = np.array(ca.evalf(box.frame(ca.DM(q[1]))[1]))
    omega, alpha = (rate + spin * t) * axis, spin * axis  # in both axes, as the axis is fixed
    arm = turn @ ARM
    place = np.array([0.2 * t**2, 1.0 - t, 0.3]) + arm
    velocity = np.array([0.4 * t, -1, 0]) + np.cross(omega, arm)
    acceleration = np.array([0.4, 0, 0]) + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    field, mount = np.array([20.0, -3.0, 45.0]), np.array([0.5, 0.5, 0.5, 0.5])
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], float)  # of that quaternion
    cases = [
        (given(Marker, box, ARM), place), (given(Marker, "box", ARM, "xz", n=2), place[[0, 2]]),
        (given(PointVelocity, box, ARM), velocity), (given(Gyroscope, box), turn.T @ omega),
        (given(Gyroscope, box, mounting=mount, axes="y", n=1), (axes.T @ turn.T @ omega)[1:2]),
        (given(Accelerometer, box, ARM), turn.T @ (acceleration - GRAVITY)),
        (given(Accelerometer, box, ARM, gravity=(0, 0, 0)), turn.T @ acceleration),
        (given(DirectionSensor, box, field), turn.T @ field),
        (given(Gyroscope, box, bias=(0.1, 0.2, 0.3), scale=1.1), 1.1 * turn.T @ omega + [0.1, 0.2, 0.3]),
    ]
    assert z.shape == (2 * n,)
    for sensor, right in cases:
        np.testing.assert_allclose(value(sensor, system, z, v, a), right, rtol=2e-6, atol=2e-6)
    unknown = given(Gyroscope, box, bias=Prior(0, 0.1), mounting_error=Prior(0, 0.01))
    small = np.array([1e-5, -2e-5, 3e-5])
    right = turn.T @ omega - np.cross(small, turn.T @ omega) + small
    np.testing.assert_allclose(value(unknown, system, z, v, a, {"bias": small, "mounting_error": small}), right,
                               rtol=1e-6)
    sensor = given(OrientationSensor, box, values=np.tile(pose(t).quaternion, (2, 1)))
    now = Moment(system, 0.0, ca.DM(z), v=ca.DM(v), a=ca.DM(a))
    np.testing.assert_allclose(np.array(ca.evalf(sensor.residual(now, {}, ca.DM(sensor.values[0])))), 0, rtol=0,
                               atol=1e-7)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_sensors_of_a_pendulum(coordinates):
    """Angle and rate of the hinge, the marker at the tip and the accelerometer there, with rigid bodies and in joint
    coordinates."""
    system = pendulum(coordinates)
    angle, rate, alpha, h = 0.6, 1.4, -2.0, 1e-4

    def state(t):
        phi, omega = angle + rate * t + alpha * t**2 / 2, rate + alpha * t
        turn = np.array([np.cos(phi / 2), 0, np.sin(phi / 2), 0])
        place, along = np.array([np.cos(phi), 0, -np.sin(phi)]) / 2, np.array([-np.sin(phi), 0, -np.cos(phi)]) / 2
        return packed(system, {"link": tf.Pose(place, turn, omega * along, (0, omega, 0))})

    states = [np.asarray(state(t)) for t in (-h, 0, h)]
    q = [z[:system.n_q] for z in states]
    v, a = (q[2] - q[0]) / (2 * h), (q[2] - 2 * q[1] + q[0]) / h**2
    tip, tangent = np.array([np.cos(angle), 0, -np.sin(angle)]), np.array([-np.sin(angle), 0, -np.cos(angle)])
    turn = np.column_stack([tip, [0, 1, 0], -tangent])
    force = turn.T @ (alpha * tangent - rate**2 * tip - GRAVITY)
    signs = np.sign(value(given(JointSensor, "hinge", n=1), system, states[1], v, a))
    for sensor, right in [(given(JointSensor, "hinge", n=1), signs * angle),
                          (given(JointSensor, "hinge", rate=True, n=1), signs * rate),
                          (given(Marker, "link", (0.5, 0, 0)), tip), (given(Gyroscope, "link"), [0, rate, 0]),
                          (given(Accelerometer, "link", (0.5, 0, 0)), force),
                          (given(FormulaSensor, "now.position('link')[2]", values=[0, 0], name="height"), tip[2:] / 2)]:
        sensor.check(system)
        np.testing.assert_allclose(value(sensor, system, states[1], v, a), right, rtol=1e-5, atol=1e-6)
    turned = given(JointSensor, "hinge", n=1, bias=0.1)
    now = Moment(system, 0.0, ca.DM(states[1]), v=ca.DM(v))
    left = turned.residual(now, {}, ca.DM(signs[0] * angle + 0.1 + 4 * np.pi + 0.01))
    turns = 4 * np.pi if coordinates == "joint" and abs(float(ca.evalf(left))) > 1 else 0.0
    assert abs(float(ca.evalf(left)) - 0.01 - turns) < 1e-9


def test_reaction_of_a_hinge_at_rest():
    """A pendulum that hangs: the hinge carries its weight."""
    system = pendulum()
    sensor = given(ReactionSensor, "hinge")
    sensor.check(system)
    z = packed(system, {"link": tf.Pose((0, 0, -0.5), (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0))})
    gamma = multipliers_along(system, np.zeros(1), z[None], None)[0, :system.n_multipliers]
    now = Moment(system, 0.0, ca.DM(z), multipliers=ca.DM(np.asarray(gamma)))
    np.testing.assert_allclose(np.array(ca.evalf(sensor.expected(now, {}))).ravel(), [0, 0, 9.81], rtol=0,
                               atol=1e-9)


@pytest.mark.parametrize("components", ["force", "torque", "both"])
def test_force_and_torque_of_a_weld(components):
    """A beam, turned and clamped to the ground away from its centre: the weld holds its weight, and a torque on it."""
    turn, point, load = np.array([0.8, 0.0, 0.6, 0.0]), np.array([-0.5, 0.2, 0.1]), np.array([0.3, -1.1, 0.7])
    beam = tf.RigidBody(2.0, np.diag([0.02, 0.03, 0.04]), name="beam")
    weld = tf.Weld(beam, None, point_a=point, point_b=(0, 0, 0), orientation=turn, name="weld")
    system = tf.System([beam, weld, tf.Torque(beam, load)], gravity=GRAVITY)
    matrix = np.array([[0.28, 0, 0.96], [0, 1, 0], [-0.96, 0, 0.28]])
    z = packed(system, {"beam": tf.Pose(-matrix @ point, turn)})
    gamma = multipliers_along(system, np.zeros(1), z[None], None)[0, :system.n_multipliers]
    now = Moment(system, 0.0, ca.DM(z), multipliers=ca.DM(np.asarray(gamma)))
    weight = np.array([0, 0, 2.0 * 9.81])
    right = {"force": weight, "torque": -load, "both": np.concatenate([weight, -load])}[components]
    sensor = given(ReactionSensor, "weld", components=components, n=len(right))
    sensor.check(system)
    np.testing.assert_allclose(np.array(ca.evalf(sensor.expected(now, {}))).ravel(), right, rtol=0, atol=1e-9)


def test_missing_values_do_not_count():
    """Rows of NaN have no weight, and a missing component leaves the others with their own covariance."""
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 9.0, 2.0], [0.0, 2.0, 16.0]])
    values = np.array([[1.0, 2.0, 3.0], [np.nan] * 3, [1.0, np.nan, 3.0]])
    sensor = Marker("box", times=[0, 1, 2], values=values, covariance=covariance, missing="skip")
    w = sensor.whitening
    np.testing.assert_allclose(w[0].T @ w[0], np.linalg.inv(covariance), rtol=1e-12)
    assert not w[1].any() and sensor.n_measured == 5
    np.testing.assert_allclose((w[2].T @ w[2])[np.ix_([0, 2], [0, 2])], np.diag([1 / 4, 1 / 16]), rtol=1e-12)
    np.testing.assert_allclose(sensor.log_determinants, [np.log(np.linalg.det(covariance)), 0, np.log(64)], rtol=0,
                               atol=1e-12)


@pytest.mark.parametrize(("more", "words"), [
    ({"times": [0.0, 0.0]}, "comes twice"), ({"times": [1.0, 0.0]}, "must increase"),
    ({"times": [0.0, np.nan]}, "times must be finite"), ({"times": []}, "no times"),
    ({"values": [[0, 0, 0], [0, np.nan, 0]]}, "missing='skip'"), ({"values": [[0, 0], [0, 0]]}, "shape (2, 3)"),
    ({"values": [[0, 0, 0], [0, np.inf, 0]]}, "infinite"),
    ({"sigma": 0.0}, "sigma must be positive"), ({"sigma": None}, "give sigma"),
    ({"sigma": None, "covariance": np.diag([1, 1, -1])}, "positive definite"),
    ({"sigma": None, "covariance": np.array([[1, 2, 0], [0, 1, 0], [0, 0, 1]])}, "symmetric"),
    ({"loss": "cauchy"}, "loss must be"), ({"bias": Prior(0.0)}, "give sigma"),
    ({"missing": "drop"}, "missing must be one of"), ({"time_offset": [0.1, 0.2]}, "time_offset must have shape (1,)"),
    ({"bias": [0.1, 0.2]}, "bias must have shape (3,)"), ({"values": [[0, 0, 1j], [0, 0, 0]]}, "must be real"),
    ({"axes": "xq"}, "axes must be some of"), ({"point": (1, 2)}, "point must have shape (3,)"),
])
def test_bad_input_is_named(more, words):
    with pytest.raises(InputError) as error:
        given(Marker, "box", name="camera 2", **more)
    assert "camera 2" in str(error.value) and words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(("more", "words"), [
    ({"measurements": "twice"}, "camera: it is among the measurements twice"), ({"measurements": []}, "there are none"),
    ({"t_span": (0, 0.5)}, "camera: t = 1 s is outside of the time span"), ({"t_span": (1, 0)}, "must go forward"),
    ({"measurements": [FormulaSensor(lambda now: now.q("box"), 2, times=[0, 1], values=[[0, 0], [0, 0]], sigma=1.0,
                                     name="sum")]}, "sum: it gives 7 numbers, but n is 2"),
    ({"numbers": {"d": 0.1}}, "numbers['d'] must end with the Prior"),
    ({"numbers": {"d": ("box.mass", Prior(1.0, 0.1, lower=[0, 0]))}}, "numbers['d']: lower must have shape (1,)"),
    ({"numbers": {"weight": Prior(1.0, 0.1)}}, "nothing depends on 'weight'"),
    ({"numbers": {"box.mas": Prior(1.0, 0.1)}}, "did you mean 'mass'"),
    ({"noise": {"box": np.eye(2)}}, "noise of box: give a pair"), ({"noise": {"bax": 1.0}}, "did you mean 'box'"),
    ({"noise": {"box": (-1.0, 1.0)}}, "must be positive, not -1"), ({"prior": 3.0}, "prior must be a dict"),
    ({"prior": {"box": tf.StatePrior(tf.Pose(), position=-1.0)}}, "sigma must be positive, not -1"),
    ({"prior": {"bax": tf.StatePrior(tf.Pose())}}, "did you mean 'box'"), ({"loss": "hub"}, "loss must be"),
    ({"dynamics": "none"}, "needs noise"), ({"dynamics": "none", "noise": -1.0}, "must be positive, not -1"),
    ({"dynamics": "none", "noise": {"bax": 1.0}}, "no body 'bax'"),
])
def test_bad_problems_are_named(more, words):
    camera = given(Marker, "box", name="camera")
    arguments = {"measurements": [camera], **more}
    if arguments["measurements"] == "twice":
        arguments["measurements"] = [camera, camera]
    with pytest.raises(InputError) as error:
        tf.Estimation(tf.System([body()]), **arguments)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_marker_on_an_unknown_body():
    with pytest.raises(InputError, match=r"marker on bax: no body 'bax' in the system.*'box'"):
        given(Marker, "bax").check(tf.System([body()]))
    with pytest.raises(InputError, match="no joint 'elbow'"):
        given(JointSensor, "elbow", n=1).check(pendulum())


def test_a_state_of_first_order_beside_a_body():
    """The constant of a motor from the places of what it drives; the current is seen by nothing."""
    rng = np.random.default_rng(0)
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    current = tf.State("current", "(12 - 2 * x[0] - 0.3 * f[0].velocity[0]) / 0.05", bodies=[mass])
    push = tf.FormulaForce([mass, current], "[[c[0] * f[1].q[0], 0, 0], 0]", parameters=[0.3], name="push")
    system = tf.System([mass, current, push])
    start = {mass: tf.Pose(), current: 0.0}
    truth = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), tf.MixedGalerkin(3), 40, progress=False)
    times = np.linspace(0.05, 1, 20)
    values = truth.position(mass, times)[:, [0]] + 1e-4 * rng.standard_normal((20, 1))
    seen = tf.Marker(mass, axes="x", times=times, values=values, sigma=1e-4, name="seen")
    prior = {mass: tf.StatePrior(tf.Pose(), q=0.1, v=0.1), current: tf.StatePrior(0.0, q=1.0)}
    numbers = {"k": ("push.parameters[0]", tf.Prior(0.25, 0.1))}
    sol = tf.solve(tf.Estimation(system, [seen], prior=prior, numbers=numbers, t_span=(0, 1)), tf.MixedGalerkin(2), 20,
                   progress=False)
    assert abs(sol.parameters["k"] - 0.3) < 4 * sol.std("k")[0] < 0.02
    off = sol.value("current", 0.5) - truth.coordinates(current, 0.5)
    assert off.shape == (1,) and abs(off[0]) < 4 * sol.std("current", 0.5)[0]
    with pytest.raises(tf.InputError, match="prior of current: it has no v"):
        tf.Estimation(system, [seen], prior={**prior, current: tf.StatePrior(0.0, v=1.0)}, t_span=(0, 1))
    without = tf.solve(tf.Estimation(system, [seen], t_span=(0, 1)), tf.MixedGalerkin(2), 20, progress=False)
    assert without.success and abs(without.value("current", 0.0)[0]) < 4 * without.std("current", 0.0)[0]


@pytest.mark.long
def test_noise_and_priors_of_joints_of_a_tree_by_name():
    links = [tf.Link("ground"), *(tf.Link(name, mass=1, centre=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05))
                                  for name in "ab")]
    tree = tf.Tree(links, [tf.TreeJoint("hip", "ground", "a"), tf.TreeJoint("knee", "a", "b", position=(0.6, 0, 0))],
                   name="leg")
    times = np.arange(1, 6) / 10
    seen = Marker("leg.b", (0.5, 0, 0), axes="xy", times=times, sigma=0.01, name="foot",
                  values=np.column_stack([np.cos(times), np.sin(times)]))
    found = []
    for noise, prior in (
            ({"hip": 0.1, "knee": 0.2}, {"hip": tf.StatePrior((0.1, 0.0), q=0.3, v=0.4),
                                         "knee": tf.StatePrior((0.2, 0.0), q=0.3, v=0.4)}),
            ({tree: [0.1, 0.2]}, {tree: tf.StatePrior(tf.Coordinates([0.1, 0.2], [0.0, 0.0]), q=0.3, v=0.4)})):
        problem = tf.Estimation(tf.System([tree]), [seen], noise=noise, prior=prior, t_span=(0, 0.5))
        found.append(tf.solve(problem, tf.MixedGalerkin(1), 5, progress=False))
    np.testing.assert_allclose(found[0].z, found[1].z, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[0].std("knee", times), found[1].std("knee", times), rtol=1e-6)


@pytest.mark.parametrize("dimension", [1, 2])
def test_priors_of_places_of_masses_that_move_along_fewer_axes(dimension):
    """As those of coordinates: by a number, or by one for each axis of space."""
    mass = tf.PointMass(1.0, dimension, name="mass")
    camera = tf.Marker("mass", axes="x", times=[0.5, 1.0], values=[[0.2], [0.5]], sigma=0.1)

    def found(**prior):
        problem = tf.Estimation(tf.System([mass]), [camera], noise={"mass": 0.1}, t_span=(0, 1),
                                prior={"mass": tf.StatePrior(tf.Pose((0.1, 0, 0)), **prior)})
        sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
        return sol.value("mass", 0.3), sol.std("mass", 0.3)

    exact = found(q=0.2, v=0.4)
    for prior in ({"position": 0.2, "velocity": 0.4}, {"position": [0.2] * 3, "velocity": [0.4] * 3}):
        assert np.allclose(found(**prior), exact, rtol=1e-13, atol=0)


@pytest.mark.long
def test_a_prior_alone_is_that_of_the_number_that_the_name_is():
    """It was taken for a number of formulas, on which nothing depends, and its prior came out."""
    times = np.linspace(0.02, 1.0, 20)
    values = 0.1 * np.cos(np.sqrt(7.0 / 2.0) * times)
    found = []
    for numbers in ({"spring.stiffness": Prior(8.0, 3.0)}, {"spring.stiffness": ("spring.stiffness", Prior(8.0, 3.0))}):
        mass = tf.PointMass(2.0, dimension=1, name="mass")
        spring = tf.Spring(mass, None, (0, 0, 0), (0, 0, 0), 9.0, name="spring")
        camera = FormulaSensor("now.q('mass')", 1, times=times, values=values, sigma=1e-3, name="camera")
        problem = tf.Estimation(tf.System([mass, spring]), camera, t_span=(0, 1), numbers=numbers)
        sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
        found.append([sol.value("spring.stiffness")[0], sol.std("spring.stiffness")[0]])
    assert abs(found[0][0] - 7.0) < 0.01 and found[0][1] < 1.0
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
