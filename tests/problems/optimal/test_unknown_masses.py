"""Masses, inertias and lengths as unknown numbers of optimal control."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)
STEP = 1e-3  # relative, of differences


def slope(make, value, element=ELEMENT, n=8):
    """Derivative of the least cost by a number that is known, relative to the cost."""
    below, above = (tf.solve(make(value * (1 + e), False), element, n).objective for e in (-STEP, STEP))
    return (above - below) / (2 * STEP * (above + below) / 2)


def unknown(free, *entry, bounds=(0.3, 9.0)):
    return {"parameters": {"x": entry}, "bounds": {"x": bounds}} if free else {}


def fastest(mass, free):
    """One metre, rest to rest, by a force within 1 N: 2 sqrt(m) seconds."""
    body = tf.PointMass(mass, 1, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)])
    own = unknown(free, body, "mass", bounds=(1.21, 3))
    own["bounds"] = {push: (-1, 1), **own.get("bounds", {})}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: tf.Pose((1, 0, 0))}, (0, 2.5), actuators=push,
                             free_time=True, end_cost="end.t", **own)


def damped(mass, free, start, **options):
    """Spring, damping and weight; formulas of cost, end cost and limit see the velocity and the energy."""
    body = tf.PointMass(mass, 1, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)])
    parts = [body, tf.Spring(body, stiffness=2.0), tf.RayleighDissipation(body, linear=0.7)]
    return tf.OptimalControl(
        tf.System(parts, gravity=(-1, 0, 0)), {body: start},
        {body: tf.EndState(position=[1, None, None], velocity=[0.3, None, None])}, (0, 1),
        cost=[tf.Effort(push), "3 * now.rates('body')[0]**2"], actuators=push,
        end_cost=lambda end, parameters: 12 / (parameters["x"] if free else mass), **unknown(free, body, "mass"),
        **options)


def pendulum(mass, free, redundant="refuse"):
    """A rigid body that swings about an axis at the start."""
    body = tf.RigidBody(mass, (0.4, 0.5, 0.6), name="body")
    hinge = tf.Revolute(body, point_a=(0, 0, 0.5), axis_a=(0, 1, 0), point_b=(0, 0, 0), axis_b=(0, 1, 0))
    torque = tf.ControlTorque(body, [(0, 1, 0)])
    start = tf.Pose((0, 0, -0.5), velocity=(-0.2, 0, 0), angular_velocity=(0, 0.4, 0))
    end = tf.EndState(orientation=(np.cos(0.3), 0, np.sin(0.3), 0), angular_velocity=(0, 0.2, 0))
    system = tf.System([body, hinge], gravity=(0, 0, -9.81), redundant=redundant)
    return tf.OptimalControl(system, {body: start}, {body: end}, (0, 1), cost=tf.Effort(torque),
                             end_cost=lambda end, parameters: 10 / (parameters["x"] if free else mass),
                             **unknown(free, body, "mass"))


def spinning(inertia, free, rotation):
    body = tf.RigidBody(2.0, (inertia, 5, 6), rotation, name="body")
    torque = tf.ControlTorque(body)
    end = tf.EndState(orientation=(np.cos(0.5), 0.6 * np.sin(0.5), 0, 0.8 * np.sin(0.5)), angular_velocity=(0, 0, 0.1))
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose(angular_velocity=(0.3, 0.2, 0.1))}, {body: end}, (0, 2),
                             cost=tf.Effort(torque), **unknown(free, body, "inertia[0]", bounds=(1.5, 8)),
                             end_cost=lambda end, parameters: 10 / (parameters["x"] if free else inertia))


def hung(length, free):
    """A body that hangs from a point of it, at an unknown length: where it starts follows."""
    body = tf.RigidBody(2.0, (0.4, 0.5, 0.6), name="body")
    pin, torque = tf.FixedPoint(body, (0, 0, length), name="pin"), tf.ControlTorque(body)
    start = tf.EndState(orientation=(1, 0, 0, 0), velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
    end = tf.EndState(orientation=(np.cos(0.3), 0, np.sin(0.3), 0), angular_velocity=(0, 0.2, 0))
    return tf.OptimalControl(tf.System([body, pin], gravity=(0, 0, -9.81)), {body: start}, {body: end}, (0, 1),
                             cost=tf.Effort(torque), near={body: tf.Pose((0, 0, -length))},
                             end_cost=lambda end, parameters: 1 / (parameters["x"] if free else length),
                             **unknown(free, pin, "point[2]"))


def test_a_mass_at_its_bound():
    sol = tf.solve(fastest(2.0, True), ELEMENT, 8)
    assert sol.success and sol.parameters["x"] == pytest.approx(1.21, abs=1e-6)
    assert sol.objective == pytest.approx(2.2, abs=1e-6)
    assert slope(fastest, 1.21) == pytest.approx(0.5, abs=1e-4)  # T = 2 sqrt(m)


@pytest.mark.parametrize("make", [
    lambda m, free: damped(m, free, tf.Pose()),
    lambda m, free: damped(m, free, tf.Pose(velocity=(0.4, 0, 0)), limits=tf.Limit("now.energy()", None, 6.0)),
    lambda m, free: damped(m, free, tf.EndState(position=(0, 0, 0), velocity=(0.4, 0, 0))),
    lambda m, free: damped(m, free, tf.CanonicalState([0.0], [0.4])),
    pendulum, lambda m, free: pendulum(m, free, "drop")],
    ids=["at rest", "moving", "conditions", "momenta", "pendulum", "without redundant constraints"])
def test_the_best_mass(make):
    """The cost of problems with a known mass is stationary at the mass found, and the same; IPOPT finds it, too."""
    sol = tf.solve(make(2.0, True), ELEMENT, 8)
    mass = sol.parameters["x"]
    assert sol.success and 0.4 < mass < 8.5 and sol.system["body"].mass == mass
    known = tf.solve(make(mass, False), ELEMENT, 8)
    assert sol.objective == pytest.approx(known.objective, rel=1e-9)
    assert np.abs(sol.z - known.z).max() < 1e-6
    assert abs(slope(make, mass)) < 1e-5 < 1e-2 < abs(slope(make, 1.2 * mass))
    by_ipopt = tf.solve(make(2.0, True), ELEMENT, 8, method="ipopt")
    assert by_ipopt.parameters["x"] == pytest.approx(mass, rel=2e-6)
    assert by_ipopt.objective == pytest.approx(sol.objective, rel=1e-9)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_the_best_inertia(rotation):
    """Of a body that spins at the start: its angular velocity is kept."""
    def make(inertia, free):
        return spinning(inertia, free, rotation)

    sol = tf.solve(make(4.0, True), ELEMENT, 8)
    found = sol.parameters["x"]
    assert sol.success and 2 < found < 7.5 and abs(slope(make, found)) < 1e-5 < 1e-2 < abs(slope(make, 1.2 * found))
    assert sol.angular_velocity("body", 0.0) == pytest.approx([0.3, 0.2, 0.1], abs=1e-7)
    assert sol.objective == pytest.approx(tf.solve(make(found, False), ELEMENT, 8).objective, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_all_inertias_and_the_mass_at_once(rotation):
    """They enter the same parameters; the cost of known ones is stationary in all four."""
    names = "J1", "J2", "J3", "m"

    def make(values, free):
        body = tf.RigidBody(values[3], values[:3], rotation, name="body")
        costs = [tf.Effort(tf.ControlTorque(body)), tf.Effort(tf.ControlForce(body))]
        end = tf.EndState((0.3, 0, 0), (np.cos(0.5), 0.6 * np.sin(0.5), 0, 0.8 * np.sin(0.5)), (0, 0, 0), (0, 0, 0.1))
        own = {"parameters": {name: (body, f"inertia[{i}]") for i, name in enumerate(names[:3])} | {
            "m": (body, "mass")}, "bounds": dict.fromkeys(names, (1, 12))} if free else {}
        return tf.OptimalControl(
            tf.System([body]), {body: tf.Pose(velocity=(0.1, 0, 0), angular_velocity=(0.3, 0.2, 0.1))}, {body: end},
            (0, 2), costs, end_cost=lambda end, parameters: sum(
                weight / (parameters[name] if free else values[i])
                for i, (name, weight) in enumerate(zip(names, (10, 12, 11, 1), strict=True))), **own)

    sol = tf.solve(make([4, 5, 6, 2.0], True), ELEMENT, 8)
    found = np.array([sol.parameters[name] for name in names])
    assert sol.success and np.all((found > 1.5) & (found < 11)) and sol.system["body"].inertia[1, 1] == found[1]

    def cost(x):
        return tf.solve(make(x, False), ELEMENT, 8).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    for change in np.diag(STEP * found):
        assert abs(cost(found + change) - cost(found - change)) < 2 * STEP * 1e-5 * sol.objective


def test_the_best_length():
    sol = tf.solve(hung(0.5, True), ELEMENT, 8)
    found = sol.parameters["x"]
    assert sol.success and abs(slope(hung, found)) < 3e-5 < 1e-2 < abs(slope(hung, 1.2 * found))
    assert sol.position("body", 0.0)[2] == pytest.approx(-found, abs=1e-7)


@pytest.mark.parametrize("start", [tf.Pose(), tf.Pose(velocity=(1, 0, 0)), tf.CanonicalState([0.0], [1.0])],
                         ids=["at rest", "moving", "by momenta"])
@pytest.mark.parametrize("element", [tf.EML(), tf.MixedGalerkin(2, form="energy"), tf.BubnovGalerkin(2)], ids=repr)
def test_elements(element, start):
    def make(mass, free):
        return damped(mass, free, start)

    sol = tf.solve(make(2.0, True), element, 8)
    assert sol.success and abs(slope(make, sol.parameters["x"], element)) < 1e-5


def test_several_numbers_again_and_saved(tmp_path):
    """Masses of both ends of a spring and its stiffness; another mass is another guess."""
    a, b = (tf.PointMass(m, 1, name=name) for m, name in ((1.0, "a"), (2.0, "b")))
    spring, push = tf.Spring(a, b, stiffness=4.0, length=1.0, name="s"), tf.ControlForce(a, [(1, 0, 0)])
    ends = {body: tf.EndState(position=[x, None, None], velocity=[0, None, None]) for body, x in ((a, 1), (b, 2))}
    problem = tf.OptimalControl(
        tf.System([a, b, spring]), {a: tf.Pose(velocity=(0.1, 0, 0)), b: tf.Pose((1, 0, 0))}, ends, (0, 3),
        cost=tf.Effort(push), parameters={"m": (a, "mass"), "M": (b, "mass"), "k": (spring, "stiffness")},
        bounds={"m": (0.5, 2), "M": (0.5, 3), "k": (1, 9)})
    solver = tf.prepare(problem, ELEMENT, 8)
    first, again = solver.solve(), solver.solve(parameters={"a.mass": 1.5})
    assert first.success and again.success
    assert again.parameters == pytest.approx(first.parameters, rel=1e-5)
    assert first.velocity(a, 0.0)[0] == pytest.approx(0.1, abs=1e-9)
    assert first.system["b"].mass == first.parameters["M"]
    first.save(tmp_path / "solution.h5")
    assert tf.load(tmp_path / "solution.h5").parameters == first.parameters


def test_masses_without_bounds_may_turn_out_negative():
    """The cost 6 m^2 + 10 (m + 1)^2 is least at m = -0.625, where there is no body."""
    body = tf.PointMass(2.0, 1, name="body")
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: tf.Pose((1, 0, 0))}, (0, 1),
                                cost=tf.Effort(tf.ControlForce(body, [(1, 0, 0)])), parameters={"m": (body, "mass")},
                                end_cost="10 * (parameters['m'] + 1)**2")
    with pytest.raises(tf.InputError, match=r"no body can have the numbers found, body.mass = -0\.625 .*give bounds"):
        tf.solve(problem, ELEMENT, 8)


def test_what_is_refused():
    body = tf.RigidBody(2.0, (4, 5, 6), name="body")
    pin, torque = tf.FixedPoint(body, (0, 0, 0.5), name="pin"), tf.ControlTorque(body)
    for parts, parameters, words in (
            ([], {"J": (body, "inertia[0]"), "K": (body, "inertia[0]")}, "K and another one are the same number"),
            ([], {"J": (body, "inertia")}, r"has no number 'inertia' that can be unknown.*name one"),
            ([], {"m": (body, "masss")}, "has no number 'masss'.*did you mean 'mass'"),
            ([], {"m": (body, 0)}, "has no number 0"),
            ([pin], {"l": (pin, "point[2]")}, "start satisfies the constraint 'pin: .*' only where l has its present")):
        with pytest.raises(tf.InputError, match=words):
            tf.OptimalControl(tf.System([body, *parts]), {body: tf.Pose((0, 0, -0.5))}, {}, (0, 1), tf.Effort(torque),
                              parameters=parameters)
