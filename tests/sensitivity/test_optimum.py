"""Derivatives of optima against differences of optima that are solved again, and values known in closed form."""

import warnings

import casadi as ca
import numpy as np
import pytest

import timefem as tf

EXACT = tf.InteriorPoint(tolerance=1e-11)


def solved(problem, n=8, degree=2):
    sol = tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False, **{"method": EXACT} if problem.bounded else {})
    assert sol.success
    return sol


def check(make, functionals, parameters, n=8, rtol=1e-6, step=1e-4):
    """Compare all derivatives with differences, extrapolated; `parameters` has Parameter by the argument of `make`."""
    lin = tf.OptimumLinearization(solved(make(), n))
    found = tf.sensitivities(lin, functionals, list(parameters.values()))
    adjoint = [tf.gradient(lin, f, list(parameters.values())) for f in functionals if len(lin.value(f)) == 1]
    single = [len(lin.value(f)) == 1 for f in functionals for _ in lin.value(f)]
    np.testing.assert_allclose(np.array(adjoint), found[single], rtol=0, atol=1e-9 * np.abs(found).max())
    defaults = dict(zip(make.__code__.co_varnames, make.__defaults__, strict=False))

    def values(name, x):
        other = tf.OptimumLinearization(solved(make(**{name: x}), n))
        return np.concatenate([other.value(f) for f in functionals])

    for column, name in zip(found.T, parameters, strict=True):
        x, h = defaults[name], step * (abs(defaults[name]) or 1.0)
        coarse, fine = ((values(name, x + s) - values(name, x - s)) / (2 * s) for s in (h, h / 2))
        expected = (4 * fine - coarse) / 3
        np.testing.assert_allclose(column, expected, rtol=rtol, atol=rtol * np.abs(expected).max(), err_msg=name)
        assert np.abs(expected).max() * (abs(x) or 1) > 1e-3, name
    return found


def cart_pole(mass=1.0, weight=9.81, place=1.0, angle=np.pi, start=0.0, speed=0.0, low=-11.0, rail=1.05, span=2.0):
    cart = tf.GeneralizedBody(2, lambda q, v, c: (c[0] * v[0]**2 + 0.3 * (
        v[0]**2 + v[0] * v[1] * ca.cos(q[1]) + v[1]**2 / 4)) / 2, parameters=[mass], name="cart")
    motor = tf.FormulaForce(cart, "[u[0], -0.3 * c[0] * 0.5 * sin(f[0].q[1])]", parameters=[weight], n_controls=1,
                            name="motor")
    return tf.OptimalControl(
        tf.System([cart, motor]), {cart: tf.Coordinates([start, 0], [speed, 0])},
        {cart: tf.Coordinates([place, angle])}, (0, span), "u[0]**2", bounds={motor: (low, 11.0)},
        limits=[tf.Limit("now.q('cart')[0]", -rail, rail, name="rail")])


@pytest.mark.slow
def test_states_controls_and_costs_within_bounds_and_limits():
    check(cart_pole, [tf.Objective(), tf.Values(lambda b, t: ca.vertcat(b[0].q, b[0].v), [0.73, 1.37]),
                      tf.EndValue(lambda b, t, u: u, actuators="motor"),
                      tf.Integral(lambda b, t, u: ca.fabs(u)**3 + b[0].q[0], actuators="motor")],
          {"mass": tf.Parameter("cart", "parameters", 0), "weight": tf.Parameter("motor", "parameters", 0),
           "place": tf.Final("cart", "q", 0), "angle": tf.Final("cart", "q", 1), "start": tf.Initial("cart", "q", 0),
           "speed": tf.Initial("cart", "v", 0), "low": tf.Bound("motor", "lower"),
           "rail": tf.Bound("rail", "upper"), "span": tf.Family(lambda x: cart_pole(span=x[0]), [2.0])},
          n=20, step=5e-5)


def gust(wind=1.0, place=1.0):
    """A block in a wind that comes and goes, which is to set off when that costs least."""
    block = tf.PointMass(2.0, dimension=1, name="block")
    push = tf.ControlForce(block, [(1, 0, 0)], name="push")
    force = tf.FormulaForce(block, "[c[0] * sin(3 * t), 0, 0]", parameters=[wind], name="wind")
    rest = tf.EndState(position=(0, None, None), velocity=(0, None, None))
    return tf.OptimalControl(tf.System([block, force]), {block: rest}, {block: tf.Pose((place, 0, 0))}, (0, 1.5),
                             tf.Effort(push), parameters={"at": 0.2}, free_time=True, begins="at",
                             end_cost="parameters['duration'] + 0.1 * parameters['at']**2")


@pytest.mark.long
def test_a_start_that_is_looked_for():
    """Its time is that of forces, functionals and the solution."""
    check(gust, [tf.Objective(), tf.UnknownNumber("at"), tf.UnknownNumber("duration"),
                 tf.Integral(lambda b, t, u: u * t, actuators="push"), tf.EndValue(lambda b, t: t)],
          {"wind": tf.Parameter("wind", "parameters", 0), "place": tf.Final("block", "position", 0)})
    sol = solved(gust())
    assert sol.t[0] == pytest.approx(sol.parameters["at"], rel=1e-14) and sol.t[0] > 1


def steered(mass=2000.0, height=1e5, thrust=4e4, speed=1600.0):
    """Least time to a height and a speed, in SI units."""
    vessel = tf.PointMass(mass, dimension=2, name="vessel")
    engine = tf.FormulaForce(vessel, "[c[0] * cos(u[0]), c[0] * sin(u[0]), 0]", parameters=[thrust], n_controls=1,
                             name="engine")
    return tf.OptimalControl(
        tf.System([vessel, engine], gravity=(0, -1.62, 0)), {vessel: tf.Pose()},
        {vessel: tf.EndState(position=(None, height, None), velocity=(speed, 0, None))}, (0, 300), end_cost="end.t",
        free_time=True, bounds={engine: (-1.57, 1.57), "duration": (10, 1000)})


@pytest.mark.slow
def test_least_time_in_si_units():
    check(steered, [tf.Objective(), tf.UnknownNumber("duration"), tf.EndValue(lambda b, t: b[0].position[0] / 1e4 + t),
                    tf.Integral(lambda b, t, u: u * t / 100, actuators="engine"),
                    tf.Values(lambda b, t: ca.vertcat(b[0].position[0] / 1e4, t), [40.0, 99.0])],
          {"mass": tf.Parameter("vessel", "mass"), "height": tf.Final("vessel", "position", 1),
           "thrust": tf.Parameter("engine", "parameters", 0), "speed": tf.Final("vessel", "velocity", 0)})


def turned(inertia=3.0, tilt=0.2, limit=2.0, length=1.0, spin=0.1):
    """A body on a ball joint at a distance, in quaternions, whose torque is limited."""
    body = tf.RigidBody(2.0, [inertia, 4, 5], name="body")
    joint = tf.Spherical(body, point_a=(0, 0, length), point_b=(0, 0, 0))
    torque = tf.ControlTorque(body, name="torque")
    q = np.array([np.cos(0.2), np.sin(0.2), 0, 0])
    r = np.array([0, 2 * q[0] * q[1] * length, -(q[0]**2 - q[1]**2) * length])
    w = np.array([spin, 0, 0])
    start = tf.Pose(r, q, np.cross(w, r), w)
    return tf.OptimalControl(tf.System([body, joint, torque], gravity=(0, 0, -9.81)), {body: start},
                             {body: tf.EndState(orientation=[np.cos(tilt / 2), 0, np.sin(tilt / 2), 0],
                                                angular_velocity=(0, 0, 0))}, (0, 1.5), tf.Effort(torque),
                             bounds={torque: (-limit * 10, limit * 10)})


@pytest.mark.slow
def test_constraints_and_orientations():
    parameters = {"inertia": tf.Parameter("body", "inertia", 0),
                  "tilt": tf.Family(lambda x: turned(tilt=x[0]), [0.2]),
                  "length": tf.Family(lambda x: turned(length=x[0]), [1.0]),
                  "spin": tf.Family(lambda x: turned(spin=x[0]), [0.1])}
    found = check(turned, [tf.Objective(), tf.Values(lambda b, t: b[0].angular_velocity, [0.66])], parameters, n=6)
    lin = tf.OptimumLinearization(solved(turned(), 6))
    by_axes = tf.gradient(lin, tf.Objective(), tf.Final("body", "rotation"))  # at 0.2 rad about y
    assert by_axes[1] == pytest.approx(found[0, 1], rel=1e-6)


def shaken(stiffness=6.0, height=0.3, least=0.1):
    """A periodic motion of a swing that passes a height, with an unknown length of time."""
    swing = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="swing")
    spring = tf.FormulaForce(swing, "[u[0] - c[0] * sin(f[0].q[0]) - 0.2 * f[0].rate[0]]", parameters=[stiffness],
                             n_controls=1, name="spring")
    return tf.OptimalControl(
        tf.System([swing, spring]), {swing: tf.EndState(q=[height], v=[None])}, t_span=(0, 2.5), cost="u[0]**2",
        periodic=True, free_time=True, bounds={"duration": (1, 5)}, near={swing: tf.Coordinates([height], [1.0])},
        limits=[tf.Limit("now.q('swing')[0]**2", least, None, at="integral", name="shaken")])


@pytest.mark.slow
def test_periodic_motions_and_integral_limits():
    check(shaken, [tf.Objective(), tf.UnknownNumber("duration"), tf.Peak(lambda b, t: b[0].q[0], 20.0)],
          {"stiffness": tf.Parameter("spring", "parameters", 0), "height": tf.Initial("swing", "q", 0),
           "least": tf.Bound("shaken", "lower")}, n=12)


def sprung(gravity=9.81, distance=4.0, length=1.0):
    """The stiffness of a spring is an unknown number, which costs."""
    ball = tf.PointMass(1.0, dimension=2, name="ball")
    spring = tf.Spring(ball, point_b=(0, 1, 0), stiffness=5.0, length=length, name="spring")
    push = tf.ControlForce(ball, [(1, 0, 0), (0, 1, 0)], name="push")
    return tf.OptimalControl(
        tf.System([ball, spring, push], gravity=(0, -gravity, 0)), {ball: tf.Pose((0, 0.1, 0))},
        {ball: tf.EndState(position=(distance, 1, None))}, (0, 1.5), "u[0]**2 + u[1]**2",
        end_cost=lambda end, parameters: 0.3 * parameters["k"]**2, bounds={push: (-30, 30)},
        parameters={"k": (spring, "stiffness")})


@pytest.mark.slow
def test_unknown_numbers_of_parts():
    check(sprung, [tf.Objective(), tf.UnknownNumber("k"), tf.EndValue(lambda b, t: b[0].position[1])],
          {"gravity": tf.Family(lambda x: sprung(gravity=x[0]), [9.81]), "length": tf.Parameter("spring", "length"),
           "distance": tf.Final("ball", "position", 0)})


def pushed(bound=1.0, distance=1.0, mass=1.0):
    block = tf.PointMass(mass, dimension=1, name="block")
    force = tf.ControlForce(block, [(1, 0, 0)], name="force")
    return tf.OptimalControl(tf.System([block, force]), {block: tf.Pose()}, {block: tf.Pose((distance, 0, 0))},
                             (0, 1.5), end_cost="end.t", free_time=True,
                             bounds={force: (-bound, bound), "duration": (0.5, 5)})


@pytest.mark.long
def test_least_time_in_closed_form():
    """T = 2 sqrt(m d / a)."""
    lin = tf.OptimumLinearization(solved(pushed()))
    found = [tf.gradient(lin, f, [tf.Parameter("block", "mass"), tf.Final("block", "position", 0),
                                  tf.Family(lambda x: pushed(bound=x[0]), [1.0])])
             for f in (tf.Objective(), tf.UnknownNumber("duration"))]
    np.testing.assert_allclose(found, [[1, 1, -1]] * 2, rtol=1e-6)


def moved(bound=None, distance=1.0):
    block = tf.PointMass(1.0, dimension=1, name="block")
    force = tf.ControlForce(block, [(1, 0, 0)], name="force")
    return tf.OptimalControl(tf.System([block, force]), {block: tf.Pose()}, {block: tf.Pose((distance, 0, 0))}, (0, 1),
                             "u[0]**2", bounds=bound and {force: (-bound, bound)})


def test_least_effort_in_closed_form():
    """J = 12 d^2 / T^3, u = 6 d (1 - 2 t)."""
    lin = tf.OptimumLinearization(solved(moved(), 4))
    end = tf.Final("block", "position", 0)
    start = tf.Initial("block", "position", 0)
    assert tf.gradient(lin, tf.Objective(), [end, start]) == pytest.approx([24, -24], rel=1e-8)
    found = tf.sensitivities(lin, tf.Values(lambda b, t, u: u, [0.1, 0.8], actuators="force"), [end, start])
    np.testing.assert_allclose(found, [[4.8, -4.8], [-3.6, 3.6]], rtol=1e-8)


def test_limits_that_are_just_reached_are_told():
    end, first = tf.Final("block", "position", 0), tf.Values(lambda b, t, u: u, [0.1], actuators="force")
    for bound, told in ((5.5, False), (6.0, True), (6.5, False)):
        lin = tf.OptimumLinearization(solved(moved(bound=bound), 4))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            tf.gradient(lin, tf.Objective(), end)
            assert not found  # which has a derivative
            tf.gradient(lin, first, end)
        assert bool(lin.weakly_active) == told == any(issubclass(one.category, tf.ActiveSetChange) for one in found)


def docked(distance=30.0, thrust=2.0):
    """A thrust by its size and its direction, which is any where there is none."""
    craft = tf.PointMass(50.0, dimension=2, name="craft")
    engine = tf.FormulaForce(craft, "[u[0] * cos(u[1]), u[0] * sin(u[1]), 0]", n_controls=2, name="engine")
    return tf.OptimalControl(tf.System([craft, engine]), {craft: tf.Pose((distance, 5, 0), velocity=(-0.3, 0, 0))},
                             {craft: tf.Pose()}, (0, 60), "u[0]", bounds={engine: ((0, -7), (thrust, 7))})


@pytest.mark.long
def test_directions_that_nothing_depends_on_do_not_count():
    sol = solved(docked(), 10)
    lin, start = tf.OptimumLinearization(sol), tf.Initial("craft", "position", 0)
    place = tf.Values(lambda b, t: b[0].position[0], [31.0])
    found = [tf.gradient(lin, f, start)[0] for f in (tf.Objective(), place)]

    def values(x):
        other = tf.OptimumLinearization(tf.solve(docked(distance=x), tf.MixedGalerkin(2), 10, guess=sol, method=EXACT,
                                                 progress=False))
        return np.array([other.value(f)[0] for f in (tf.Objective(), place)])

    np.testing.assert_allclose(found, (values(30.01) - values(29.99)) / 0.02, rtol=1e-5)


def reached(place=0.2, speed=0.5):
    """An arm of two hinges, whose start and end are given by joints."""
    tree = tf.Tree([tf.Link("ground"), tf.Link("upper", mass=1.0, centre=(0, 0, -0.25), inertia=(0.02, 0.02, 0.02)),
                    tf.Link("lower", mass=0.7, centre=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01))],
                   [tf.TreeJoint("shoulder", "ground", "upper", axis=(0, 1, 0)),
                    tf.TreeJoint("elbow", "upper", "lower", axis=(0, 1, 0), position=(0, 0, -0.5))], name="arm")
    motors = [tf.JointControl(tree.joint(name), name=f"{name} motor") for name in ("shoulder", "elbow")]
    return tf.OptimalControl(tf.System([tree, *motors], gravity=(0, 0, -9.81)),
                             {tree: {"shoulder": 0.1, "elbow": (place, speed)}},
                             {tree: {"shoulder": 1.2, "elbow": 0.3}}, (0, 1), [tf.Effort(motor) for motor in motors],
                             bounds=dict.fromkeys(motors, (-6, 6)))


@pytest.mark.slow
def test_starts_that_are_given_by_joints():
    sol = solved(reached(), 6)
    elbow = sol.system["arm"].joint("elbow")
    found = tf.gradient(sol, tf.Objective(), [tf.Initial(elbow, "q"), tf.Initial("arm", "v", 1)])
    for exact, name, x in zip(found, ("place", "speed"), (0.2, 0.5), strict=True):
        costs = [solved(reached(**{name: x + h}), 6).objective for h in (1e-3, -1e-3)]
        assert exact == pytest.approx((costs[0] - costs[1]) / 2e-3, rel=1e-5)
    with pytest.raises(tf.InputError, match="Family"):
        tf.gradient(sol, tf.Objective(), tf.Final(elbow, "q"))


@pytest.mark.long
def test_solutions_of_ipopt_have_the_same_derivatives():
    parameters = [tf.Final("block", "position", 0), tf.Bound("force", "upper"), tf.Bound("force", "lower")]
    first, second = (tf.gradient(tf.solve(moved(bound=5.0), tf.MixedGalerkin(2), 4, progress=False, method=method),
                                 tf.Objective(), parameters) for method in (EXACT, "ipopt"))
    np.testing.assert_allclose(second, first, rtol=1e-7)
    assert first[1] < 0 < first[2]


def test_what_there_is_not_is_named():
    sol = solved(moved(), 4)
    for functional, parameters, message in (
            (tf.Objective(), tf.Bound("force", "upper"), "no upper bound of force"),
            (tf.Objective(), tf.Bound("fence", "upper"), "fence.*there are force"),
            (tf.Objective(), tf.Final("block", "rotation"), "rotation of block is not given in end"),
            (tf.Objective(), tf.Family(lambda x: moved(distance=2 * x[0]), [1.0]), "not that of the problem"),
            (tf.UnknownNumber("duration"), tf.Final("block", "position", 0), "not an unknown number"),
            (tf.EndValue(lambda b, t, u: u, actuators="motor"), tf.Final("block", "position", 0), "not an actuator")):
        with pytest.raises(tf.InputError, match=message):
            tf.gradient(sol, functional, parameters)
    with pytest.raises(tf.InputError, match="factors of their own"):
        tf.gradient(sol, tf.Objective(), tf.Final("block", "position", 0), linear="petsc")


@pytest.mark.parametrize("key", ["hinge", None])
def test_ends_of_joints_given_by_numbers(key):
    """A bar that is turned from a to b in a time of one: the least effort is 6 J^2 (b - a)^2."""
    bar = tf.RigidBody(1.0, (0.3, 0.3, 0.3), name="bar")
    hinge = tf.Revolute(bar, name="hinge", point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    motor = tf.JointControl(hinge, name="motor")
    problem = tf.OptimalControl(tf.System([bar, hinge, motor], coordinates="joint"), {hinge: 0.2}, {hinge: 1.0},
                                (0, 1), cost=tf.Effort(motor))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, guess={motor: 1.0}, progress=False)
    key = hinge if key is None else key
    found = tf.gradient(sol, tf.Objective(), [tf.Final(key, "q", 0), tf.Initial(key, "q"), tf.Initial(key, "v")])
    np.testing.assert_allclose(found, 6 * 0.09 * np.array([1.6, -1.6, -0.8]), rtol=1e-8)


def test_ends_of_states_given_by_numbers():
    mass, control = tf.PointMass(2.0, dimension=1, name="mass"), tf.Control(name="control")
    lag = tf.State("lag", "(u[0] - x[0]) / c[0]", controls=[control], parameters=[0.2])
    push = tf.FormulaForce([mass, lag], "[[f[1].q[0], 0, 0], 0]")

    def of(first, last):
        problem = tf.OptimalControl(tf.System([mass, control, lag, push]), {mass: tf.Pose(), lag: first},
                                    {mass: tf.Pose((1, 0, 0)), lag: last}, (0, 1.5), cost=tf.Effort(control))
        sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
        return tf.gradient(sol, tf.Objective(), [tf.Initial("lag", "q", 0), tf.Final(lag, "q")])

    np.testing.assert_allclose(of(0.0, [0.0]), of(tf.Coordinates([0.0]), tf.Coordinates([0.0])), rtol=1e-9)
