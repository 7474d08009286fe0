"""States of first order beside bodies, and points whose mass changes: order, closed forms, files, what is refused."""

import copy
import pickle

import numpy as np
import pytest
from scipy.linalg import expm

import timefem as tf
from tests.example_systems import slope

T_END = 0.3
ELEMENTS = [tf.MixedGalerkin(k, form=form) for k in (1, 2, 3) for form in ("hamilton", "lagrange", "energy")]
ELEMENTS += [tf.MixedGalerkin(k, keep="all") for k in (1, 2, 3)]


def motor(voltage=12.0):
    """A mass of 2 kg that a coil of 0.05 H and 2 ohm pushes with 0.3 N/A, at a voltage."""
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    current = tf.State("current", "(c[2] - c[1] * x[0] - c[3] * f[0].velocity[0]) / c[0]", bodies=[mass],
                       parameters=[0.05, 2.0, voltage, 0.3])
    push = tf.FormulaForce([mass, current], "[[c[0] * f[1].q[0], 0, 0], 0]", parameters=[0.3], name="push")
    return tf.InitialValueProblem(tf.System([mass, current, push]), {mass: tf.Pose(), current: 0.0}, (0, T_END))


def exact():
    """Place, rate and current at the end."""
    matrix = np.array([[0, 1, 0, 0], [0, 0, 0.15, 0], [0, -6.0, -40.0, 240.0], [0, 0, 0, 0]])
    return (expm(T_END * matrix) @ [0, 0, 0, 1])[:3]


def end(sol):
    t = sol.t[-1]
    return np.array([sol.position("mass", t)[0], sol.velocity("mass", t)[0], sol.coordinates("current", t)[0]])


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_states_have_the_order_of_the_element(element):
    meshes, k = np.array([16, 24, 36]) // element.degree, element.degree
    errors = [np.abs(end(tf.solve(motor(), element, int(n), progress=False)) / exact() - 1).max() for n in meshes]
    assert slope(1 / meshes, errors) == pytest.approx(2 * k, abs=0.25) and errors[-1] < (3e-6, 3e-8, 1e-9)[k - 1]


def rocket(mass=10.0, thrust=100.0, jet=2000.0):
    point = tf.VariableMass(mass, dimension=1, name="rocket")
    engine = tf.FormulaForce(point, "[c[1], 0, 0, -c[1] / c[0]]", parameters=[jet, thrust], name="engine")
    return tf.InitialValueProblem(tf.System([point, engine]), {point: tf.Pose()}, (0, 100.0))


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(2, form="lagrange"), tf.MixedGalerkin(3),
                                     tf.MixedGalerkin(2, form="energy"), tf.MixedGalerkin(2, keep="all")], ids=repr)
def test_rocket_equation(element):
    """v = c ln(m0 / m), x = c t - c (m / m') (1 - ln(m / m0)) ... of Tsiolkovsky, m from 10 to 5 kg."""
    sol = tf.solve(rocket(), element, 20, progress=False)
    speed, mass, flow = 2000 * np.log(2), sol.coordinates("rocket", 100.0)[1], 0.05
    place = 2000 * 100 - 2000 * 5 / flow * np.log(2)
    assert mass == pytest.approx(5.0, rel=1e-12)
    assert sol.velocity("rocket", 100.0)[0] == pytest.approx(speed, rel=10.0 ** (-3 * element.degree - 1))
    assert sol.position("rocket", 100.0)[0] == pytest.approx(place, rel=10.0 ** (-3 * element.degree - 1))
    assert sol.linear_momentum(100.0)[0] == pytest.approx(5.0 * speed, rel=1e-7)
    assert sol.energy(100.0) == pytest.approx(2.5 * speed**2, rel=1e-7)
    assert abs(sol.energy.balance()[-1]) < 1e-6 * sol.energy(100.0)


def test_weight_goes_with_the_mass():
    """Hovering: the thrust is the weight, m' = -m g / c."""
    point = tf.VariableMass(3.0, dimension=1, name="rocket")
    engine = tf.FormulaForce(point, "[c[0] * f[0].q[1], 0, 0, -f[0].q[1] * c[0] / c[1]]", parameters=[9.81, 500.0])
    problem = tf.InitialValueProblem(tf.System([point, engine], gravity=(-9.81, 0, 0)), {point: tf.Pose((7, 0, 0))},
                                     (0, 20.0))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert sol.position("rocket", 20.0)[0] == pytest.approx(7.0, abs=1e-10)
    assert sol.coordinates("rocket", 20.0)[1] == pytest.approx(3 * np.exp(-9.81 * 20 / 500), rel=1e-6)


def test_drivers_files_and_other_numbers_agree(tmp_path):
    element, problem = tf.MixedGalerkin(2), motor()
    z = [tf.solve(problem, element, 12, driver=driver, progress=False).z for driver in ("march", "windows", "global")]
    np.testing.assert_allclose(z[1:], [z[0]] * 2, rtol=0, atol=1e-11)
    sol = tf.solve(problem, element, 12, progress=False)
    sol.save(tmp_path / "motor.h5")
    again = tf.load(tmp_path / "motor.h5")
    np.testing.assert_array_equal(again.z, sol.z)
    np.testing.assert_array_equal(tf.solve(tf.InitialValueProblem(again.system, {"current": 0.0, "mass": tf.Pose()}, (
        0, T_END)), element, 12, progress=False).z, sol.z)
    sol.save(tmp_path / "motor.csv")
    assert ",current [SI],energy [J]" in (tmp_path / "motor.csv").read_text().splitlines()[0]
    other = tf.solve(motor(24.0), element, 12, progress=False)
    changed = tf.prepare(problem, element, 12).solve(parameters={"current rate.parameters[2]": 24.0})
    np.testing.assert_allclose(changed.z, other.z, rtol=0, atol=1e-12)
    assert abs(sol.energy.balance()[-1]) < 1e-12


def test_sensitivities_agree_with_differences():
    element, value = tf.MixedGalerkin(2), tf.EndValue(lambda bodies, t: bodies[0].q[0], bodies=["current"])
    sol = tf.solve(motor(), element, 12, progress=False)
    by_voltage, by_start = tf.gradient(sol, value, [tf.Parameter(sol.system["current rate"], "parameters", 2),
                                                    tf.Initial(sol.system["current"], "q", 0)])
    difference = (end(tf.solve(motor(13.0), element, 12, progress=False)) - end(sol))[2]
    assert by_voltage == pytest.approx(difference, rel=1e-9)  # it is linear
    assert by_start == pytest.approx(np.exp(-40 * T_END), abs=2e-3)


def test_two_ends():
    """From rest to a given place and speed: the start of the current, and of the voltage, are found."""
    problem, found = motor(), tf.MixedGalerkin(2)
    mass, current = problem.system["mass"], problem.system["current"]
    sol = tf.solve(problem, found, 24, progress=False)
    place = sol.position("mass", T_END)[0]
    start = {mass: tf.EndState(position=(0, None, None)), current: tf.EndState(q=[0.0])}
    ends = tf.BoundaryValueProblem(problem.system, start=start, end={mass: tf.EndState(position=(place, None, None))},
                                   t_span=(0, T_END))
    np.testing.assert_allclose(tf.solve(ends, found, 24, progress=False).z, sol.z, rtol=0, atol=1e-10)


def test_inverse_dynamics_through_a_lag():
    """A voltage that makes a mass follow a path: of relative degree 3."""
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    current = tf.State("current", "-c[0] * x[0]", parameters=[40.0])
    push = tf.FormulaForce([mass, current], "[[c[0] * f[1].q[0], 0, 0], 0]", parameters=[0.3])
    source = tf.FormulaForce(current, "u / c[0]", parameters=[0.05], n_controls=1, name="source")
    way = tf.Transfer(0.0, 0.5, 0.0, 0.1)
    problem = tf.InverseDynamics(tf.System([mass, current, push, source]), {tf.CoordinateOutput(mass, 0): way},
                                 {mass: tf.Pose(), current: 0.0}, t_span=(0, 0.5))
    assert list(problem.relative_degrees.values()) == [3]
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False)
    reached = sol.position("mass", sol.t)[:, 0]
    np.testing.assert_allclose(reached, [float(way(x)) for x in sol.t], rtol=0, atol=1e-7)
    rate = np.gradient([float(way(x)) for x in np.linspace(0.2499, 0.2501, 3)], 1e-4)
    jerk = np.diff([float(way(0.25 + x)) for x in (-3e-3, -1e-3, 1e-3, 3e-3)], 3)[0] / 8e-9
    # half way nothing accelerates, and all of the source goes into the rate of the current
    assert rate[1] > 0 and sol.controls(0.25)[0] == pytest.approx(0.05 * 2 / 0.3 * jerk, rel=1e-2)


def test_bad_input():
    mass, state = tf.PointMass(1.0, name="mass"), tf.State("lag", n=2)
    for make, message in (
            (lambda: tf.State("lag", "[x[0], x[0]]"), "vector of 1 values"),
            (lambda: tf.State("lag", parameters=[1.0]), "belong to a rate"),
            (lambda: tf.State("lag", "x[1]"), "lag rate"),
            (lambda: tf.StateRate(mass, "0 * x"), "first body must be a State"),
            (lambda: tf.FormulaForce(mass, "0 * u", controls=[state]), "must be actuators"),
            (lambda: tf.InitialValueProblem(tf.System([state]), {state: [0.0]}, (0, 1)), "Coordinates of 2 values"),
            (lambda: tf.solve(motor(), tf.EML(), 4), "does not take current, a State of first order"),
            (lambda: tf.VariableMass(0.0), "mass")):
        with pytest.raises(tf.InputError, match=message):
            make()
    push = tf.FormulaForce(mass, "[cos(u[0]), sin(u[0]), 0]", n_controls=1, name="push")
    with pytest.raises(tf.InputError, match="push takes its own in another way"):
        tf.InverseDynamics(tf.System([mass, push]), {tf.CoordinateOutput(mass, 0): tf.Transfer(0, 1, 0, 1)},
                           {mass: tf.Pose()}, t_span=(0, 1))
    problem = motor().system
    with pytest.raises(tf.InputError, match="current has no velocity"):
        tf.OptimalControl(problem, {"mass": tf.Pose(), "current": 0.0}, {}, (0, 1), "now.rates('current')[0]**2",
                          actuators=tf.GeneralizedControl(problem["current"], [[1.0]]))


def test_a_mass_between_two_places():
    """A rocket that is to be at a place after a second: its velocity at the start, and its mass."""
    rocket = tf.VariableMass(2.0, name="rocket")
    system = tf.System([rocket, tf.FormulaForce(rocket, "[0, 0, 30, -0.3]")], gravity=(0, 0, -9.81))
    start, end = (tf.EndState(position=place) for place in ((0, 0, 0), (1, 0, 2)))
    rise = 30 / 0.3 * (1 - (2 / 0.3 - 1) * np.log(2 / 1.7)) - 9.81 / 2
    for condition in ("start.q('rocket')[3] - 2", "end.q('rocket')[3] - 1.7"):
        problem = tf.BoundaryValueProblem(system, (0, 1), {rocket: start}, {rocket: end}, conditions=condition)
        sol = tf.solve(problem, tf.MixedGalerkin(3), 20, progress=False)
        assert sol.coordinates("rocket", 0.0)[3] == pytest.approx(2.0)
        np.testing.assert_allclose(sol.velocity("rocket", 0.0), [1, 0, 2 - rise], atol=1e-8)
    with pytest.raises(tf.InputError, match="7 independent conditions are needed, 7 for the 7 free components of the "
                                            r"state, but 6 are given: .*\(3\), .*\(3\); add 1"):
        tf.BoundaryValueProblem(system, (0, 1), {rocket: start}, {rocket: end})


def test_as_many_states_as_rates_in_the_list():
    heading = tf.Control(name="heading")
    ship = tf.State("ship", ["cos(u[0]) - x[1]", "sin(u[0])"], controls=[heading])
    assert ship.n == 2 and tf.State("one", "-x[0]").n == tf.State("none").n == 1
    for rate in ("[cos(u[0]) - x[1], sin(u[0])]", lambda x, f, t, c, u: [u[0], u[0]]):
        with pytest.raises(tf.InputError, match="of several states give their number n"):
            tf.State("ship", rate, controls=[heading])
    with pytest.raises(tf.InputError, match=r"must return a vector of 3 values .*, not of 2$"):
        tf.State("ship", ["-x[0]", "-x[1]"], n=3)


@pytest.mark.long
def test_zermelos_ship():
    """Bryson & Ho (1975), section 2.7: 5.46 h/V, headings 105 degrees at first and 240 at last."""
    heading = tf.Control(name="heading")
    ship = tf.State("ship", ["cos(u[0]) - x[1]", "sin(u[0])"], controls=[heading])
    problem = tf.OptimalControl(tf.System([ship, heading]), {ship: [3.66, -1.86]}, {ship: [0.0, 0.0]}, (0, 5),
                                end_cost="end.t", free_time=True, bounds={"duration": (1, 10)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    first, last = np.degrees(sol.controls([0.0, sol.t[-1]]))[:, 0] % 360
    assert sol.success and abs(sol.objective - 5.458) < 1e-3 and abs(first - 105.0) < 0.05 and abs(last - 240.0) < 0.05


# ---- rates that see bodies, in joint coordinates

def driven_pendulum(coordinates, changes):
    """A pendulum, turned by a motor whose current is a state, with other numbers than it is made with."""
    bob = tf.RigidBody(1.0, [0.02, 0.02, 0.02], name="bob")
    hinge = tf.Revolute(bob, axis_a=(0, 0, 1), axis_b=(0, 0, 1), point_a=(0, 0.3, 0), point_b=(0, 0, 0), name="hinge")
    current = tf.State("current", "(c[0] * sin(3 * t) - c[1] * x[0] - c[2] * f[0].angular_velocity[2]) / c[3]",
                       bodies=[bob], parameters=[5.0, 0.5, 0.2, 0.1])
    torque = tf.FormulaForce([bob, current], ["[0, 0, 0, 0, 0, c[0] * f[1].q[0]]", "0"], parameters=[0.2],
                              name="torque")
    system = tf.System([torque, bob, hinge, current], gravity=(0, -9.81, 0), coordinates=coordinates)
    return tf.InitialValueProblem(system.with_numbers(changes), {hinge: 0.3, current: tf.Coordinates([0.1])}, (0, 0.5))


@pytest.mark.long
def test_a_state_that_sees_a_body_takes_other_numbers_in_joint_coordinates():
    """Its rate remained on the body that the link stands for when numbers changed."""
    names, ends = ["bob.mass", "current rate.parameters[2]", "torque.parameters[0]"], {}
    for coordinates in ("bodies", "joint"):
        def solved(changes, coordinates=coordinates):
            return tf.solve(driven_pendulum(coordinates, changes), tf.MixedGalerkin(2), 25, progress=False)
        heavy = solved({"bob.mass": 2.0})
        by = tf.gradient(heavy, "end:current.q[0]", names)
        ends[coordinates] = np.array([heavy.coordinates("current", 0.5)[0], *by])
        for name, value, found in zip(names, (2.0, 0.2, 0.2), by, strict=True):
            high, low = (solved({"bob.mass": 2.0, name: value * (1 + step)}).coordinates("current", 0.5)[0]
                         for step in (1e-4, -1e-4))
            assert abs(found - (high - low) / (2e-4 * value)) < 1e-6 * abs(by).max()
    assert np.abs(ends["joint"] - ends["bodies"]).max() < 1e-6 * np.abs(ends["bodies"]).max()


@pytest.mark.long
def test_a_state_that_sees_a_body_takes_free_numbers_of_a_joint():
    """A joint that stands elsewhere moves the whole pendulum; its formulas are rebuilt for that."""
    solution = tf.solve(driven_pendulum("joint", {}), tf.MixedGalerkin(2), 25, progress=False)
    by = tf.gradient(solution, "end:current.q[0]", ["hinge.position[1]", "bob.mass"])
    assert abs(by[0]) < 1e-12 * abs(by[1])


def test_rates_that_are_functions_go_to_other_processes():
    """A lambda stayed beside the rate that was made of it: neither systems nor solutions could be pickled."""
    mass, decay = tf.PointMass(1.0, dimension=1, name="mass"), [2.0]
    state = tf.State("x", lambda x, f, t, c, u: f[0].position[0] - decay[0] * x[0], bodies=[mass])
    problem = tf.InitialValueProblem(tf.System([mass, state]), {mass: tf.Pose((1, 0, 0)), state: 3.0}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10)
    decay[0] = 5.0  # neither do they see later changes
    again = tf.solve(pickle.loads(pickle.dumps(problem)), tf.MixedGalerkin(2), 10)
    for other in (pickle.loads(pickle.dumps(sol)), again, copy.deepcopy(sol)):
        np.testing.assert_array_equal(other.z, sol.z)
    assert abs(sol.coordinates("x", 1.0)[0] - (0.5 + 2.5 * np.exp(-2))) < 1e-5
