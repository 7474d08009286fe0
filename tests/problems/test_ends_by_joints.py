"""Ends of boundary-value problems and optimal control by coordinates of joints between bodies."""

import numpy as np
import pytest

import timefem as tf
from timefem.errors import NotAsked


def crane():
    cart = tf.RigidBody(mass=2.0, inertia=[0.1, 0.1, 0.1], rotation="directors", name="cart")
    rod = tf.RigidBody(mass=1.0, inertia=[0.02, 0.02, 0.001], rotation="quaternion", name="rod")
    rail = tf.Prismatic(cart, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    hinge = tf.Revolute(rod, cart, axis_a=(0, 1, 0), axis_b=(0, 1, 0), point_a=(0, 0, 0.5), point_b=(0, 0, 0),
                        name="hinge")
    return tf.System([cart, rod, rail, hinge], gravity=(0, 0, -9.81)), cart, rod, rail, hinge


def turned(angle, x=0.0):
    """The rod where the hinge has this angle and the cart is at x."""
    return tf.Pose((x - 0.5 * np.sin(angle), 0, -0.5 * np.cos(angle)), (np.cos(angle / 2), 0, np.sin(angle / 2), 0))


def test_boundary_values_by_joints_are_those_by_bodies():
    system, cart, rod, rail, hinge = crane()
    start, end = {cart: tf.Pose(), rod: turned(0.0)}, {cart: tf.Pose((0.3, 0, 0)), rod: turned(0.4, 0.3)}
    solved = [tf.solve(tf.BoundaryValueProblem(system, (0, 0.5), start=a, end=b), tf.MixedGalerkin(2), 10)
              for a, b in ((start, end), ({rail: 0, hinge: 0}, {"rail": 0.3, "hinge": 0.4}),
                           (start, {rail: 0.3, hinge: 0.4}))]
    for other in solved[1:]:
        assert other.success
        np.testing.assert_allclose(other.z, solved[0].z, rtol=0, atol=1e-11)
    assert abs(solved[1].joint(hinge).coordinate()[-1] - 0.4) < 1e-12


@pytest.mark.long
def test_optimal_control_ends_at_coordinates_and_rates_of_joints():
    system, _, _, rail, hinge = crane()
    push = tf.JointControl(rail, name="push")
    solution = tf.solve(tf.OptimalControl(system, {rail: 0, hinge: 0}, {rail: 0.3, "hinge": (0.2, 0.5)}, (0, 1.0),
                                          tf.Effort(push)), tf.MixedGalerkin(2), 10)
    assert solution.success
    for joint, position, rate in ((rail, 0.3, 0.0), (hinge, 0.2, 0.5)):
        motion = solution.joint(joint)
        assert abs(motion.coordinate()[-1] - position) < 1e-9 and abs(motion.rate()[-1] - rate) < 1e-8


def test_free_components_beside_joints_are_refused():
    system, _, rod, rail, _ = crane()
    for problem in (lambda end: tf.BoundaryValueProblem(system, (0, 1), start={rail: 0}, end=end),
                    lambda end: tf.OptimalControl(system, {rail: 0}, end, (0, 1), tf.Effort(tf.JointControl(rail)))):
        with pytest.raises(tf.InputError, match=r"such as 'rail'.*Limit\(joint"):
            problem({rail: 0.3, rod: tf.EndState(position=(1, None, None))})


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_what_hangs_on_no_joint_has_an_end_of_its_own(coordinates):
    """A current beside a pendulum was asked for, a mass beside it was to come to the origin, at rest."""
    bob = tf.RigidBody(1.0, [0.02, 0.02, 0.02], name="bob")
    hinge = tf.Revolute(bob, axis_a=(0, 0, 1), axis_b=(0, 0, 1), point_a=(0, 0.3, 0), point_b=(0, 0, 0), name="hinge")
    mass, volt = tf.PointMass(1.0, dimension=1, name="mass"), tf.Control(name="volt")
    current = tf.State("current", "(u[0] - c[0] * x[0] - c[1] * f[0].angular_velocity[2]) / c[2]", bodies=[bob],
                       controls=[volt], parameters=[0.5, 0.4, 0.05])
    torque = tf.FormulaForce([bob, current], ["[0, 0, 0, 0, 0, c[0] * f[1].q[0]]", "0"], parameters=[0.4])
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    system = tf.System([bob, hinge, mass, current, torque, volt, push], gravity=(0, -9.81, 0), coordinates=coordinates)
    start = {hinge: 0.0, current: 0.1, mass: tf.Pose((1, 0, 0), velocity=(1, 0, 0))}

    def solved(end):
        problem = tf.OptimalControl(system, start, {hinge: (0.5, 0.0), **end}, (0, 1),
                                    [tf.Effort(volt), tf.Effort(push)])
        return tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    free = solved({})
    assert free.success and abs(free.joint(hinge).coordinate()[-1] - 0.5) < 1e-9
    assert abs(free.position(mass, 1.0)[0] - 2.0) < 1e-6 and abs(free.coordinates(current, 1.0)[0]) > 1e-3
    held = solved({current: 0.0, mass: tf.EndState((2.5, None, None))})
    assert held.success and abs(held.coordinates(current, 1.0)[0]) < 1e-9
    assert abs(held.position(mass, 1.0)[0] - 2.5) < 1e-9
    assert held.objective > free.objective + 3 * 0.5**2 / 2 * 0.99  # u = 3 (1 - t) / 2 takes the mass farther


def test_boundary_values_tell_of_velocities_that_they_do_not_ask_for():
    system, _, rod, rail, hinge = crane()
    with pytest.warns(NotAsked, match=r"end of rod: .* velocity .*joint_rate"):
        tf.BoundaryValueProblem(system, (0, 1), start={rail: 0, hinge: 0},
                                end={rod: tf.Pose((0, 0, -0.5), velocity=(1, 0, 0))})


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("named", [False, True])
def test_boundary_values_prescribe_rates_of_joints_that_are_given(coordinates, named):
    """They were passed over with a warning, so that the count of conditions did not fit."""
    rod = tf.RigidBody(1.0, (0.1, 0.01, 0.1), name="rod")
    hinge = tf.Revolute(rod, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    system, key = tf.System([rod, hinge], gravity=(0, -9.81, 0), coordinates=coordinates), "hinge" if named else hinge
    problem = tf.BoundaryValueProblem(system, (0, 0.8), start={key: (0.3, 1.0)})
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 20)
    for rate in (1.0, -0.5):
        solution = solver.solve(start={key: (0.3, rate)})
        motion = solution.joint(hinge)
        march = tf.solve(tf.InitialValueProblem(system, {hinge: (0.3, rate)}, (0, 0.8)), tf.MixedGalerkin(2), 20)
        assert solution.success and abs(motion.rate()[0] - rate) < 1e-11
        assert abs(motion.angle() - march.joint(hinge).angle()).max() < 1e-9
    later = tf.BoundaryValueProblem(system, (0, 0.8), end={key: (0.3, 0.0)}, conditions=None)
    assert abs(tf.solve(later, tf.MixedGalerkin(2), 20).joint(hinge).rate()[-1]) < 1e-11
    with pytest.raises(tf.InputError, match=r"but 3 are given: .*hinge at the start \(1\); leave out 1"):
        tf.BoundaryValueProblem(system, (0, 0.8), start={key: (0.3, 1.0)}, end={key: 0.2})


def test_windings_keep_rates_of_joints():
    rod = tf.RigidBody(1.0, (0.1, 0.01, 0.1), name="rod")
    hinge = tf.Revolute(rod, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    load = tf.Torque(rod, (0, 0, 0.1), name="load")
    problem = tf.BoundaryValueProblem(tf.System([rod, hinge, load]), (0, 1.0), start={hinge: (0.3, 1.0)},
                                      end={hinge: 0.5}, parameters={"torque": (load, "value[2]")})
    found = tf.solve_all(problem, tf.MixedGalerkin(2), 20, turns=0)
    assert len(found) == 2 and all(one.status.message == "converged" for one in found)
    assert all(abs(one.joint(hinge).rate()[0] - 1.0) < 1e-11 for one in found)
    turns = [1.0 + one.parameters["torque"] / 0.7 for one in found]  # by the moment of inertia about the hinge, 0.35
    assert min(abs(np.array(turns) - 0.2)) < 1e-4 and abs(abs(turns[1] - turns[0]) - 2 * np.pi) < 1e-2


def test_the_name_of_a_joint_that_there_is_not():
    system, *_ = crane()
    with pytest.raises(tf.InputError, match=r"no body 'rial' .*did you mean 'rail'"):
        tf.BoundaryValueProblem(system, (0, 1), start={"rial": 0.0}, end={"rail": 0.3})


def test_a_start_that_breaks_a_constraint_names_the_remedy():
    system, _, rod, rail, _ = crane()
    with pytest.raises(tf.InputError, match=r"'hinge: .*tf.assemble\(system, state\)"):
        tf.OptimalControl(system, {rod: tf.Pose((0, 0, -0.6))}, {}, (0, 1), tf.Effort(tf.JointControl(rail)))


def four_bar(coordinates, crank=0.8):
    """Crank and coupler, which a rod holds at the other end; hinges, and their angles at the start."""
    bodies = [tf.RigidBody(1.0, (0.01, 0.1, 0.1), name=name) for name in ("crank", "coupler")]
    planar = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    hinges = [tf.Revolute(bodies[0], point_a=(-0.2, 0, 0), point_b=(0, 0, 0), name="h0", **planar),
              tf.Revolute(bodies[1], bodies[0], point_a=(-0.5, 0, 0), point_b=(0.2, 0, 0), name="h1", **planar)]
    rod = tf.RigidDistance(bodies[1], point_a=(0.5, 0, 0), point_b=(1, 0, 0), length=0.8, name="rod")
    system = tf.System([*bodies, *hinges, rod], gravity=(0, -9.81, 0), coordinates=coordinates)
    return system, dict(zip(hinges, (crank, coupler_angle(crank)), strict=True))


def coupler_angle(crank):
    """Of the coupler against the crank, by the law of cosines."""
    way = np.array([1.0, 0]) - 0.4 * np.array([np.cos(crank), np.sin(crank)])
    far = np.hypot(*way)
    return np.arctan2(way[1], way[0]) + np.arccos((1 + far**2 - 0.8**2) / (2 * far)) - crank


@pytest.mark.long
@pytest.mark.parametrize("angle", [0.9, 1.5, 2.5])
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_the_end_of_a_closed_loop_by_one_of_its_joints(coordinates, angle):
    """In joint coordinates it was refused, as if the other joints were to end at zero."""
    system, start = four_bar(coordinates)
    crank, coupler = start
    problem = tf.OptimalControl(system, start, {"h0": angle}, (0, 1), tf.Effort(tf.JointControl(crank)))
    ends = tf.BoundaryValueProblem(system, (0, 1), start=start, end={crank: angle}).conditions_at_ends
    for system, end in ((problem.system, problem.conditions.state), (ends.problem.system, ends.z1)):
        state = {body: tf.CanonicalState(*system.local_state(body, end)) for body in system.bodies}
        found = tf.solve(tf.InitialValueProblem(system, state, (0, 1e-3)), tf.MixedGalerkin(1), 1)
        angles = [found.joint(joint).coordinate()[0] for joint in (crank, coupler)]
        np.testing.assert_allclose(angles, [angle, coupler_angle(angle)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("named", [False, True])
def test_ends_of_a_joint_with_several_coordinates_by_its_name(named):
    """By name they were taken for states of a body."""
    body = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="body")
    joint = tf.Cylindrical(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="slide")
    spring = tf.JointSpring(joint, coordinate="displacement", stiffness=4.0)
    key = "slide" if named else joint
    problem = tf.BoundaryValueProblem(tf.System([body, joint, spring]), (0, 1),
                                      start={key: {"angle": (0.1, 0.2), "displacement": (0.3, 1.0)}})
    motion = tf.solve(problem, tf.MixedGalerkin(3), 20, progress=False).joint("slide")
    assert abs(motion.coordinate(1.0, "angle") - 0.3) < 1e-10
    assert abs(motion.coordinate(1.0, "displacement") - 0.3 * np.cos(2) - 0.5 * np.sin(2)) < 1e-9


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_one_joint_of_two_that_a_gear_couples(coordinates):
    """`J q'' = -k q` with the turns of both; the message says that joints not named are at zero."""
    one, two = (tf.RigidBody(1.0, (0.2, 0.2, axial), name=name) for axial, name in ((0.2, "one"), (0.3, "two")))
    hinges = [tf.Revolute(body, point_a=(0, 0, 0), point_b=(place, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name=name)
              for body, place, name in ((one, 0, "first"), (two, 2, "second"))]
    gear = tf.NonholonomicConstraint([one, two], "f[0].angular_velocity[2] - 2 * f[1].angular_velocity[2]", 1)
    system = tf.System([one, two, *hinges, gear, tf.JointSpring(hinges[1], stiffness=3.0)], coordinates=coordinates)
    start = dict.fromkeys(hinges, 0.0)
    with pytest.raises(tf.InputError, match=r"joints that are not named are at zero, .* asks for one alone"):
        tf.BoundaryValueProblem(system, (0, 1), start, {hinges[1]: 0.5})
    problem = tf.BoundaryValueProblem(system, (0, 1), start, conditions="end.joint('second') - 0.5")
    sol, rate = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False), np.sqrt(3 / (0.3 + 4 * 0.2))
    assert abs(sol.joint(hinges[1]).rate(0.0) - 0.5 * rate / np.sin(rate)) < 1e-7
