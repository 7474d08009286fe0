"""Mechanics that were wrong silently: turns on trees, threads, rates of joints, formulas that change."""

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

import timefem as tf

Z = (0, 0, 1)


def bar(name):
    return tf.RigidBody(1.0, (0.3, 0.2, 0.4), name=name)


def chain():
    a, b = bar("a"), bar("b")
    h1 = tf.Revolute(a, point_a=(0, .5, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="h1")
    h2 = tf.Revolute(b, a, point_a=(0, .5, 0), point_b=(0, -.5, 0), axis_a=Z, axis_b=Z, name="h2")
    return a, b, h1, h2


def cylindrical(what):
    a = bar("a")
    joint = tf.Cylindrical(a, axis_a=Z, axis_b=Z, point_a=(0, 0, 0), point_b=(0, 0, 0), name="c")
    return [a, joint, what(joint)], {a: tf.Pose(angular_velocity=(0, 0, .7), velocity=(0, 0, .3))}, a, joint


def turning():
    """Systems with counters of turns: parts, state, the body and the joint to be looked at."""
    a, b, h1, h2 = chain()
    state = {h1: (0.4, 1.0), h2: (0.3, -2.0)}
    yield "spring of two links", ([a, b, h1, h2, tf.TorsionalSpring(b, a, axis=Z, stiffness=5, rest=.4)], state, b, h2)
    yield "spring of a link", ([a, b, h1, h2, tf.TorsionalSpring(b, axis=Z, stiffness=5, rest=.4)], state, b, h1)
    free = bar("free")
    yield "spring of a free body", ([free, tf.TorsionalSpring(free, axis=Z, stiffness=5, rest=.4)],
                                    {free: tf.Pose(angular_velocity=(.3, .2, .1))}, free, None)
    parts = {"joint spring": lambda joint: tf.JointSpring(joint, stiffness=5, rest=.4),
             "controlled": lambda joint: tf.PDControl(joint, stiffness=5, damping=.5, reference=.4),
             "law": lambda joint: tf.Controller([joint], "-5*(x[0]-0.4)")}
    for name, part in parts.items():
        yield name, cylindrical(part)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, _ in turning()])
def test_turns_counted_on_trees(fault, name):
    parts, state, body, joint = dict(turning())[name]
    found = []
    for coordinates, forms in (("bodies", ["hamilton"]), ("joint", ["lagrange", "energy", "impulse"])):
        system = tf.System(parts, coordinates=coordinates, gravity=(0, -9.81, 0))
        for form in [form for form in forms if form != "lagrange" or not system.n_constraints]:
            element = tf.MixedGalerkin(3, form=form)
            sol = tf.solve(tf.InitialValueProblem(system, state, (0, 0.5)), element, 40, progress=False)
            force = [] if joint is None else sol.joint(joint).force(0.5)
            found.append([*sol.angular_velocity(body, 0.5, "space"), *force, float(sol.energy(0.5))])
    for other in found[1:]:
        fault(f"{name}: w, reaction, energy", found[0], other, rtol=0, atol=2e-7)


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("kind", ["FixedPoint", "Spherical", "RigidDistance", "Spherical of two"])
def test_rates_of_joints_without_coordinates(fault, kind, coordinates):
    b, w = tf.RigidBody(1.0, (.1, .2, .3), name="b"), (1, 2, 3)
    at = {b: tf.Pose(angular_velocity=w, frame="space", velocity=tuple(-np.cross(w, (.3, 0, 0))))}
    parts, below = [b], None
    if kind == "FixedPoint":
        joint = tf.FixedPoint(b, (0.3, 0, 0), (0.3, 0, 0), name="j")
    elif kind == "RigidDistance":
        joint = tf.RigidDistance(b, point_a=(.3, 0, 0), point_b=(1.3, 0, 0), length=1.0, name="j")
    elif kind == "Spherical":
        joint = tf.Spherical(b, point_a=(.3, 0, 0), point_b=(.3, 0, 0), name="j")
    else:
        below = tf.RigidBody(1.0, (.1, .2, .3), name="below")
        joint = tf.Spherical(b, below, point_a=(.3, 0, 0), point_b=(.3, 0, 0), name="j")
        parts.append(below)
        at[below] = tf.Pose(angular_velocity=(0, 1, 0), frame="space", velocity=tuple(-np.cross((0, 1, 0), (.3, 0, 0))))
    system = tf.System([*parts, joint], gravity=(0, 0, -9.81), coordinates=coordinates)
    element = tf.MixedGalerkin(2, form="impulse" if coordinates == "joint" else "hamilton")
    sol = tf.solve(tf.InitialValueProblem(system, at, (0, .3)), element, 10, progress=False)
    times = np.array([0.0, 0.17, 0.3])
    spin = sol.angular_velocity(b, times, "space")
    if below is not None:
        relative = spin - sol.angular_velocity(below, times, "space")
        spin = np.einsum("tji,tj->ti", sol.rotation_matrix(below, times), relative)
    fault(f"{kind}, {coordinates}: rate", spin, sol.joint(joint).rate(times), rtol=0, atol=1e-12)
    assert sol.joint(joint).rate().shape == (len(sol.t), 3)


def pendulum():
    b = tf.RigidBody(1.0, (.3, .2, .4), name="b")
    h = tf.Revolute(b, point_a=(0, .5, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="h")
    return b, h


@pytest.mark.long
@pytest.mark.parametrize("driver", ["march", "windows", "global"])
def test_a_prepared_solver_in_threads(fault, driver):
    b, h = pendulum()
    solver = tf.prepare(tf.InitialValueProblem(tf.System([b, h], gravity=(0, -9.81, 0)), {h: 0.4}, (0, 0.5)),
                        tf.MixedGalerkin(2), 60, driver=driver, progress=False)
    masses = [1.0 + 0.5 * i for i in range(8)]
    in_threads(fault, f"prepared, {driver}", masses,
               lambda mass: solver.solve(parameters={"b.mass": mass}, warm=False).position(b, 0.5))


@pytest.mark.long
@pytest.mark.parametrize("prepared", [True, False])
def test_optimal_control_in_threads(fault, prepared):
    b, h = pendulum()
    motor = tf.JointControl(h, name="motor")
    problem = tf.OptimalControl(tf.System([b, h, motor]), {h: 0.0}, {h: (0.5, 0.0)}, (0, 1), cost=[tf.Effort(motor)])
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 8, progress=False)
    in_threads(fault, f"optimal control, prepared {prepared}", [6, 7, 8, 9] if not prepared else [.1, .2, .3, .4],
               (lambda angle: solver.solve(end={h: (angle, 0.0)}, warm=False).objective) if prepared else
               lambda n: tf.solve(problem, tf.MixedGalerkin(2), n, progress=False).objective)


def in_threads(fault, name, cases, run):
    alone = [run(case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, cases))
    fault(name, np.array(alone), np.array(together), rtol=1e-12, atol=1e-14)


def with_force(k):
    ball = tf.RigidBody(1.0, (.3, .2, .4), name="b")
    return tf.System([ball, tf.Force(ball, lambda t: (k[0], 0, 0))])


def with_formula_force(k):
    ball = tf.PointMass(1.0, name="b")
    return tf.System([ball, tf.FormulaForce(ball, lambda f, t, c: [k[0], 0, 0])])


def with_spring(k):
    ball = tf.PointMass(1.0, name="b")
    return tf.System([ball, tf.NonlinearSpring(ball, point_b=(20, 0, 0), potential=lambda length: k[0] * length)])


def with_potential(k):
    return tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: -k[0] * q[0], name="b")


def with_law(k):
    ball = tf.PointMass(1.0, name="b")
    force = tf.ControlForce(ball, [(1, 0, 0)], name="jet")
    return tf.System([ball, tf.Controller([force], lambda x, v, t, c: k[0], inputs=[tf.PositionOutput(ball, "x")])])


def pushed(system):
    """Where x is after a second, from rest."""
    body = system.bodies[0]
    state = {} if body.has_position else {body: tf.Coordinates([0.0], [0.0])}
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 1)), tf.MixedGalerkin(2), 10, progress=False)
    return float(sol(1.0)[0]), sol


@pytest.mark.parametrize("make", [with_force, with_formula_force, with_spring, with_potential, with_law])
def test_formulas_stay_what_they_are(fault, tmp_path, make):
    k, name = [1.0], make.__name__.replace("_", " ")
    system = make(k)
    first, sol = pushed(system)
    k[0] = 10.0
    fault(f"{name}: k = 1, then a new part with k = 10", [0.5, 5.0], [first, pushed(make(k))[0]])
    fault(f"{name}: the part that was made with k = 1", 0.5, pushed(system)[0])
    sol.save(tmp_path / "sol.h5")
    fault(f"{name}: saved after k = 10", 0.5, pushed(tf.load(tmp_path / "sol.h5").system)[0])


def test_a_formula_that_changed_is_refused_in_other_coordinates():
    k = [1.0]
    b, h = pendulum()
    hold = tf.FormulaForce(b, lambda f, t, c: f[0].q[0] * 0 + ca.vertcat(k[0], 0, 0))
    tf.System([b, h, hold])
    k[0] = 10.0
    with pytest.raises(tf.InputError, match="outer variable of the function has changed"):
        tf.solve(tf.InitialValueProblem(tf.System([b, h, hold], coordinates="joint"), {h: 0.4}, (0, 1)),
                 tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)


def test_formulas_of_optimal_control_that_changed_are_refused():
    k = [1.0]
    ball = tf.PointMass(1.0, dimension=1, name="ball")
    jet = tf.ControlForce(ball, [(1, 0, 0)], name="jet")
    problem = tf.OptimalControl(tf.System([ball, jet]), {}, {}, (0, 1), cost=[tf.Effort(jet)],
                                end_cost=lambda end, p: k[0] * (end.q("ball")[0] - 1) ** 2)
    assert tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False).objective == pytest.approx(0.6)
    k[0] = 10.0
    with pytest.raises(tf.InputError, match="outer variable of the function has changed"):
        tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False)


def test_equal_formulas_share_a_kernel():
    ball = tf.PointMass(1.0)
    kinds = [tf.FormulaForce(ball, lambda f, t, c, k=k: [k, 0, 0]).kind for k in (1, 1, 2)]
    assert kinds[0] == kinds[1] != kinds[2]
