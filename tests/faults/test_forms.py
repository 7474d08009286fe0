"""Parts asked for in one form and held in another: trees, nodes of beams, problems without controls."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf

X, Y, Z, NOWHERE = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)


def hub_and_wheel():
    hub, wheel = tf.RigidBody(10.0, (1, 1.5, 2), name="hub"), tf.RigidBody(1.0, (.1, .1, .15), name="wheel")
    axle = tf.Revolute(wheel, hub, point_a=NOWHERE, point_b=(.2, 0, 0), axis_a=Z, axis_b=Z, name="axle")
    return hub, wheel, axle


def joined(kind):
    body = tf.RigidBody(1.0, (.2, .25, .3), name="body")
    points = {"point_a": (0, 0, .5), "point_b": NOWHERE}
    joint = {"spherical": lambda: tf.Spherical(body, **points, name="j"),
             "universal": lambda: tf.Universal(body, axis_a=X, axis_b=Y, **points, name="j"),
             "revolute": lambda: tf.Revolute(body, axis_a=Y, axis_b=Y, **points, name="j")}[kind]()
    return [body, joint], {body: tf.Pose((0, 0, -.5))}


def free(*forces):
    hub, wheel, axle = hub_and_wheel()
    return [hub, wheel, axle, *(force(hub, wheel) for force in forces)], {}


def spinning():
    parts, _ = free()
    hub, wheel, _ = parts
    return parts, {hub: tf.Pose(NOWHERE, angular_velocity=(0, 0, 1)),
                   wheel: tf.Pose((.2, 0, 0), velocity=(0, .2, 0), angular_velocity=(0, 0, 4))}


LINEAR = {"spherical": lambda: joined("spherical"), "universal": lambda: joined("universal"),
          "revolute": lambda: joined("revolute"), "free": free,
          "free, spring": lambda: free(lambda hub, wheel: tf.Spring(hub, None, stiffness=3.0)),
          "free, spinning": spinning}


def frequencies(values):
    """Of eigenvalues that are not zero: zeros of a higher order come with roots of rounding."""
    return np.sort(np.abs(values.imag[np.abs(values) > 0.1]))


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_of_trees(fault, name):
    found = []
    for coordinates in ("bodies", "joint"):
        parts, state = LINEAR[name]()
        model = tf.linearize(tf.System(parts, coordinates=coordinates, gravity=(0, 0, -9.81) if "free" not in name
                                       else None), state)
        found.append(model.eigenvalues)
    fault(f"{name}: number of states", len(found[0]), len(found[1]))
    fault(f"{name}: frequencies", frequencies(found[0]), frequencies(found[1]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind, n", [("revolute", 2), ("prismatic", 2), ("planar", 6), ("universal", 4),
                                     ("spherical", 6), ("floating", 12)])
def test_each_joint_of_a_tree_is_linearized(fault, kind, n):
    links = [tf.Link("g"), tf.Link("arm", mass=1, centre=(0, 0, -.3), inertia=(.02, .02, .01))]
    across = {"across": X} if kind == "universal" else {}
    tree = tf.Tree(links, [tf.TreeJoint("j", "g", "arm", kind, axis=Y, **across)], name="t")
    system = tf.System([tree, tf.Spring(tree.link("arm"), stiffness=10)], gravity=(0, 0, -9.81))
    fault(f"{kind}: states", n, len(tf.linearize(system, {tree: {}}).eigenvalues))


SECTION = {"EA": 2e3, "GA": 1e3, "GJ": 8, "EI": (10, 10), "mass": .5, "inertia": (.012, .007, .007)}


def composite(name):
    b = tf.RigidBody(1.0, (.3, .2, .4), name="b")
    h = tf.Revolute(b, point_a=NOWHERE, point_b=NOWHERE, axis_a=Y, axis_b=Y, name="h")
    line = tf.Line((0, 0, 1), (0, 0, .1))
    rope = tf.Rope(line, tf.RopeSection(200, .5), 2, name="rope")
    beam = tf.Beam(line, tf.Section(**SECTION), 1, name="beam")
    ends = {"point_a": (0, 0, .1), "point_b": NOWHERE}
    return {"rope beside": [b, h, rope], "rope joined": [b, h, rope, tf.Spherical(b, rope.node(-1), **ends)],
            "beam beside": [b, h, beam], "beam joined": [b, h, beam, tf.Spherical(b, beam.node(-1), **ends)],
            "spring to a rope": [b, h, rope, tf.Spring(b, rope.node(0), stiffness=1.0)],
            "chain beside": [b, h, tf.MassSpringChain(3, 1.0, 10.0, (0, 0, 1))]}[name]


@pytest.mark.long
@pytest.mark.parametrize("name", ["rope beside", "rope joined", "beam beside", "beam joined", "spring to a rope",
                                  "chain beside"])
def test_joint_coordinates_beside_composite_parts(fault, name):
    found = []
    for coordinates in ("bodies", "joint"):
        parts = composite(name)
        system = tf.System(parts, coordinates=coordinates, gravity=(3, 0, -9.81))
        sol = tf.solve(tf.InitialValueProblem(system, {}, (0, .1)),
                       tf.MixedGalerkin(2, form="energy"), 40, progress=False)
        found.append([float(sol.joint("h").angle(.1)), float(sol.energy(.1)), sol.success])
    fault(f"{name}: angle, energy", found[0][:2], found[1][:2], rtol=1e-6, atol=1e-6)
    assert found[0][2] and found[1][2]


@pytest.mark.long
@pytest.mark.parametrize("held", [True, False])
def test_a_panel_welded_to_a_hub_in_joint_coordinates(fault, held):
    found = []
    for coordinates in ("bodies", "joint"):
        hub = tf.RigidBody(10.0, (1, 1, 1), name="hub")
        beam = tf.Beam(1.0, tf.Section(EA=5e4, GA=5e4, GJ=60, EI=165, mass=2, inertia=(2e-3, 1e-3, 1e-3)), 1, 2,
                       name="panel")
        weld = tf.Weld(beam.start, hub, point_a=NOWHERE, point_b=(.1, 0, 0))
        axle = tf.Revolute(hub, point_a=NOWHERE, point_b=NOWHERE, axis_a=Z, axis_b=Z, name="axle")
        state = {hub: tf.Pose(NOWHERE)} | {beam.node(i): tf.Pose((.1 + i / 2, 0, 0)) for i in range(3)}
        system = tf.System([hub, beam, weld, tf.Torque(hub, (0, 0, 1.0)), *[axle][:held]], coordinates=coordinates)
        sol = tf.solve(tf.InitialValueProblem(system, state, (0, .05)), tf.MixedGalerkin(2, form="energy"), 20,
                       progress=False)
        found.append(sol.position("panel.node[2]", .05))
    fault(f"panel on a hub, held {held}", found[0], found[1], rtol=0, atol=1e-9)


@pytest.mark.long
def test_tolerances_without_controls(fault):
    ball = tf.PointMass(1.0, dimension=1, name="ball")
    fan = tf.ControlForce(ball, [X], name="fan")
    falling = tf.System([ball, tf.Force(ball, (-9.81, 0, 0))])
    highest = {"end_cost": lambda end, p: -100 * end.q("ball")[0], "free_time": True}
    up = tf.OptimalControl(falling, {ball: tf.Pose(X)}, {ball: tf.EndState(position=[2, None, None])}, (0, .5),
                           tf.Effort(fan), free_time=True, bounds={"duration": (.1, 2), fan: (0, 30)})
    on = tf.OptimalControl(falling, {ball: tf.EndState()}, {ball: tf.EndState(velocity=[0, None, None])}, (0, .5),
                           bounds={"duration": (.01, 5)}, **highest)
    sol = tf.solve(tf.Phases([up, on]), tf.MixedGalerkin(2, n_points=2), [10, 10], tolerance=1e-4, progress=False)
    # two minima: pushed all the way, or let fall first
    fault("phases of which one has no actuator", "converged, -914.6 or -265.0", sol.objective,
          met=sol.success and min(abs(sol.objective + 914.6), abs(sol.objective + 265.03)) < 0.5)
    alone = tf.OptimalControl(falling, {ball: tf.EndState(position=(0, None, None))},
                              {ball: tf.EndState(velocity=[0, None, None])}, (0, .5), bounds={"duration": (.01, .5)},
                              **highest)
    sol = tf.solve(alone, tf.MixedGalerkin(2, n_points=2), 10, tolerance=1e-4, progress=False)
    fault("one problem without an actuator", -100 * 9.81 * .5**2 / 2, sol.objective, rtol=1e-5)


@pytest.mark.parametrize("iterations", [1, 3, 8])
def test_a_stopped_solve_with_nonholonomic_constraints_says_what_is_violated(fault, iterations):
    car = tf.GeneralizedBody(3, lambda q, v, c: (v[0]**2 + v[1]**2) / 2 + .15 * v[2]**2 / 2, name="car")
    rear = tf.NonholonomicConstraint(
        car, lambda f, t, c: [-ca.sin(f[0].q[2]) * f[0].rate[0] + ca.cos(f[0].q[2]) * f[0].rate[1]], 1, name="rear")
    u = tf.GeneralizedControl(car, lambda q: ca.vertcat(ca.horzcat(ca.cos(q[2]), 0), ca.horzcat(ca.sin(q[2]), 0),
                                                        ca.horzcat(0, 1)), n_controls=2, name="u")
    problem = tf.OptimalControl(tf.System([car, rear, u]), {car: tf.Coordinates([1.2, .6, 0])},
                                {car: tf.EndState(q=[0, 0, 0], v=[0, 0, 0])}, (0, 2), actuators=u, free_time=True,
                                end_cost=lambda end, p: p["duration"],
                                bounds={u: ((-3, -1), (3, 1)), "duration": (.5, 5)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False,
                   method=tf.InteriorPoint(max_iterations=iterations))
    fault(f"parking, {iterations} iterations", "a status", sol.status.message, met=not sol.success and
          len(sol.status.message) > 10)


ON_A_HINGE = {"nothing": lambda h: [], "a damper": lambda h: [tf.JointDamper(h, damping=.3)],
              "a spring": lambda h: [tf.JointSpring(h, stiffness=4, rest=.3)],
              "a damper and a spring": lambda h: [tf.JointDamper(h, damping=.1), tf.JointSpring(h, stiffness=2)]}


@pytest.mark.parametrize("what", ON_A_HINGE)
def test_boundary_values_of_trees(fault, what):
    found = []
    for coordinates in ("bodies", "joint"):
        body = tf.RigidBody(1.0, (.2, .25, .3), name="body")
        hinge = tf.Revolute(body, point_a=(0, 0, .5), point_b=NOWHERE, axis_a=Y, axis_b=Y, name="hinge")
        system = tf.System([body, hinge, *ON_A_HINGE[what](hinge)], coordinates=coordinates, gravity=(0, 0, -9.81))
        problem = tf.BoundaryValueProblem(system, (0, .5), start={hinge: 0.0}, end={hinge: .6})
        sol = tf.solve(problem, tf.MixedGalerkin(2), 16, progress=False)
        found.append([float(sol.joint("hinge").angle(t)) for t in (.25, .5)])
        assert sol.success
    fault(f"between two angles with {what}", found[0], found[1], rtol=0, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("closed", [False, True])
def test_trees_are_solved_in_the_form_that_fits(fault, closed):
    body = tf.RigidBody(1.0, (.2, .25, .3), name="body")
    hinge = tf.Revolute(body, point_a=(0, 0, .5), point_b=NOWHERE, axis_a=Y, axis_b=Y, name="hinge")
    parts = [body, hinge]
    if closed:
        ball = tf.RigidBody(.5, (.1, .1, .1), name="ball")
        parts += [ball, tf.RigidDistance(body, ball, point_a=(0, 0, -.5), length=1.0)]
    state = {body: tf.Pose((0, 0, -.5), angular_velocity=(0, 1, 0), velocity=(-.5, 0, 0))}
    if closed:
        state[ball] = tf.Pose((1, 0, -1), velocity=(-1, 0, 0))
    found = []
    for coordinates in ("bodies", "joint"):
        system = tf.System(parts, coordinates=coordinates, gravity=(0, 0, -9.81))
        sol = tf.solve(tf.InitialValueProblem(system, state, (0, .2)), tf.MixedGalerkin(3), 20, progress=False)
        found.append(sol.position(body, .2))
    fault(f"MixedGalerkin(3), with constraints {closed}", found[0], found[1], rtol=0, atol=1e-9)
    element = tf.MixedGalerkin(3, n_points=5).fitting(system)
    assert (element.form, element.n_points) == ("energy" if closed else "lagrange", 5)
