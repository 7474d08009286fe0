"""Gradients against central differences of whole solves, extrapolated (Richardson)."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.bodies import rotations

pytestmark = pytest.mark.long

TIGHT = tf.Newton(tol_increment=1e-11)
ANGLE = 0.3


def difference(f, x, step=None, levels=3):
    """df/dx by central differences, extrapolated."""
    steps = (step or 0.01 * abs(x)) * 0.5 ** np.arange(levels)
    table = [(f(x + h) - f(x - h)) / (2 * h) for h in steps]
    for level in range(1, levels):
        factor = 4.0**level
        table = [(factor * b - a) / (factor - 1) for a, b in pairwise(table)]
    return table[0]


def check(build, element, functional, names, rtol=1e-8, n=12, driver=None, **options):
    """Compare the gradient by all `names` (argument -> Parameter of the parts) with differences of solves."""
    problem, parameters = build()
    solution = tf.solve(problem, element, n, newton=TIGHT, driver=driver, **options)
    at = tf.Linearization(solution)
    chosen = [parameters[name] for name in names]
    gradient = tf.gradient(at, functional, chosen)

    def value(name, x):
        changed, _ = build(**{name: x})
        solution = tf.solve(changed, element, n, newton=TIGHT, driver=driver, **options)
        return tf.Linearization(solution).value(functional)[0]

    for name, exact in zip(names, gradient, strict=True):
        start = build.__defaults__[build.__code__.co_varnames.index(name)]
        expected = difference(lambda x, name=name: value(name, x), start, step=0.005 * max(abs(start), 0.3))
        assert exact == pytest.approx(expected, rel=rtol, abs=rtol * np.abs(gradient).max()), name
        assert abs(exact) > 1e-7, name
    np.testing.assert_allclose(tf.sensitivities(at, functional, chosen)[0], gradient, rtol=0,
                               atol=1e-10 * np.abs(gradient).max())
    return gradient


def turned(angle):
    return [np.cos(angle / 2), np.sin(angle / 2), 0, 0]


def free(rotation):
    """A body on springs, dampers and loads: everything that needs no joint."""
    def build(mass=12.0, j0=5.0, j2=22.0, stiffness=30.0, rest=0.5, point=0.3, ground=1.0, damping=0.4, linear=0.2,
              angular=0.3, amplitude=2.0, frequency=0.5, factor=1.5, component=0.7, twist=4.0, weight=-1.0, x=0.1,
              v=0.2, w=0.8, turn=ANGLE, law=2.0):
        a = tf.RigidBody(mass, [j0, 20, j2], rotation, name="a")
        spring = tf.Spring(a, point_a=(point, 0, 0.2), point_b=(0, ground, 1), stiffness=stiffness, length=rest)
        damper = tf.Damper(a, point_a=(0.1, 0, 0.2), point_b=(0, 1, 1), damping=damping)
        air = tf.RayleighDissipation(a, linear, angular)
        force = tf.Force(a, (0, 1, component), point=(0, 0.1, 0), time=tf.Sine(amplitude, frequency), frame="body")
        torque = tf.Torque(a, (0.3, 0.2, tf.Ramp(0.1, 0.4, 0, 1)), time=factor)
        torsion = tf.RotationalSpring(a, stiffness=twist)
        soft = tf.NonlinearSpring(a, point_a=(0, 0, 0), point_b=(3, 0, 0), potential=quartic, parameters=[law])
        system = tf.System([a, spring, damper, air, force, torque, torsion, soft], gravity=[0, 0, weight])
        pose = tf.Pose([x, 0, 0], turned(turn), [0, v, 0], [0.1, w, 0.3])
        parameters = {
            "mass": tf.Parameter(a, "mass"), "j0": tf.Parameter("a", "inertia", 0), "j2": tf.Parameter(a, "inertia", 2),
            "stiffness": tf.Parameter(spring, "stiffness"), "rest": tf.Parameter(spring, "length"),
            "point": tf.Parameter(spring, "point_a", 0), "ground": tf.Parameter(spring, "point_b", 1),
            "damping": tf.Parameter(damper, "damping"), "linear": tf.Parameter(air, "linear"),
            "angular": tf.Parameter(air, "angular"), "amplitude": tf.Parameter(force, "time.amplitude"),
            "frequency": tf.Parameter(force, "time.frequency"), "component": tf.Parameter(force, "value", 2),
            "factor": tf.Parameter(torque, "time"), "twist": tf.Parameter(torsion, "stiffness"),
            "weight": tf.Parameter(system, "gravity", 2), "x": tf.Initial(a, "position", 0),
            "v": tf.Initial(a, "velocity", 1), "w": tf.Initial(a, "angular_velocity", 1),
            "turn": tf.Initial(a, "rotation", 0), "law": tf.Parameter(soft, "parameters", 0)}
        return tf.InitialValueProblem(system, {a: pose}, (0, 0.6)), parameters

    return build


def quartic(length, k):
    return k * (length - 2)**4 / 4


def look(bodies, t):
    b = bodies[-1]
    place = b.point(ca.DM([0.2, 0.5, 0.1]))
    return place[2]**2 + 0.3 * b.v[0] + b.angular_velocity[1] * b.rotation[0, 1] + t * b.position[0]


ALL = free("quaternion").__code__.co_varnames[:21]


@pytest.mark.parametrize(("rotation", "names"), [
    ("quaternion", ALL), ("directors", ("mass", "j0", "point", "angular", "turn", "w")),
    pytest.param("directors", ALL, marks=pytest.mark.slow)])
def test_every_kind_of_parameter_of_a_free_body(rotation, names):
    check(free(rotation), tf.MixedGalerkin(2), tf.EndValue(look), names)


@pytest.mark.parametrize("element", [tf.AlgoC1(), pytest.param(tf.EML(), marks=pytest.mark.slow),
                                     pytest.param(tf.QuatVI(), marks=pytest.mark.slow),
                                     pytest.param(tf.Zupan3(), marks=pytest.mark.slow)])
def test_one_step_schemes(element):
    check(free("quaternion"), element, tf.EndValue(look), ("mass", "w"))


@pytest.mark.parametrize("functional", [tf.Integral(look), tf.Peak(look, 3.0), tf.Values(look, [0.37])])
def test_every_functional(functional):
    check(free("quaternion"), tf.MixedGalerkin(2), functional, ("mass", "stiffness", "amplitude", "w"))


def hanging(rotation):
    """Two bodies hung up by joints: the start follows the joints where these are varied."""
    def make(mass=2.0, j0=0.3, upper=0.5, lower=-0.5, hook=0.4, k=3.0, c=0.2, push=1.3, x=0.0, w=0.6, turn=0.0,
             poses=None):
        a = tf.RigidBody(mass, [j0, 0.2, 0.25], rotation, name="a")
        b = tf.RigidBody(1.5, [0.2, 0.1, 0.2], rotation, name="b")
        top = tf.Spherical(a, point_a=(0, upper, 0), point_b=(0, 0, 0), name="top")
        pin = tf.Revolute(a, b, point_a=(0, lower, 0), point_b=(0, hook, 0), axis_a=(1, 0.1, 0), axis_b=(1, 0.1, 0))
        spring = tf.TorsionalSpring(b, a, axis=(1, 0.1, 0), stiffness=k, rest=0.2)
        damper = tf.TorsionalDamper(b, a, axis=(1, 0.1, 0), damping=c)
        force = tf.Force(b, (0.2, 0, push), point=(0, -0.3, 0))
        system = tf.System([a, b, top, pin, spring, damper, force], gravity=[0, 0, -9.81])
        if poses is None:
            poses = [([0, -0.5, 0], turned(0), [0, 0, 0], [w, 0, 0.1]),
                     ([0, -1.4, 0], turned(0.3), [0, 0, 0], [1, 0, 0])]
        else:
            (p, q, v, o), other = poses
            r = rotations.spatial_map(q).T @ [np.tan(turn / 2), 0, 0] + q
            poses = [(p + [x, 0, 0], r / np.linalg.norm(r), v, o + [w - poses[0][3][0], 0, 0]), other]
        start = {body: tf.Pose(p, q, v, o) for body, (p, q, v, o) in zip((a, b), poses, strict=True)}
        problem = tf.InitialValueProblem(system, start, (0, 0.4), assemble=True)
        parameters = {
            "mass": tf.Parameter(a, "mass"), "j0": tf.Parameter(a, "inertia", 0),
            "upper": tf.Parameter(top, "point_a", 1), "lower": tf.Parameter(pin, "point_a", 1),
            "hook": tf.Parameter(pin, "point_b", 1), "k": tf.Parameter(spring, "stiffness"),
            "c": tf.Parameter(damper, "damping"), "push": tf.Parameter(force, "value", 2),
            "x": tf.Initial(a, "position", 0), "w": tf.Initial(a, "angular_velocity", 0),
            "turn": tf.Initial(a, "rotation", 0)}
        return problem, parameters

    problem, _ = make()
    n, poses = problem.system.n_q, []
    for body in problem.system.bodies:
        if not body.has_position:  # a counter of turns
            continue
        part = problem.system.coordinates(body)
        q, p = problem.z0[:n][part], problem.z0[n:][part]
        poses.append((body.position(q), rotations.as_quaternion(body.rotation_matrix(q)), body.velocity(q, p),
                      body.angular_velocity(q, p)))
    return make, poses


HANGING = ("mass", "j0", "upper", "lower", "hook", "k", "c", "push", "x", "w", "turn")


SOME = ("mass", "upper", "c", "turn")


@pytest.mark.parametrize(("rotation", "element", "names", "options"), [
    ("quaternion", tf.MixedGalerkin(2), ("mass", "j0", "upper", "k", "turn"), {}),
    pytest.param("quaternion", tf.MixedGalerkin(2), HANGING, {}, marks=pytest.mark.slow),
    ("directors", tf.MixedGalerkin(1), SOME, {}),
    ("quaternion", tf.BubnovGalerkin(2, "continuous"), ("mass", "hook", "w"), {}),
    ("directors", tf.BubnovGalerkin(1, "discontinuous"), ("j0", "lower"), {}),
    pytest.param("quaternion", tf.BubnovGalerkin(2, "continuous"), HANGING, {}, marks=pytest.mark.slow),
    pytest.param("quaternion", tf.BubnovGalerkin(2, drop="end"), SOME, {}, marks=pytest.mark.slow),
    ("quaternion", tf.MixedGalerkin(2), ("mass", "turn"), {"driver": "windows", "window": 5}),
    pytest.param("quaternion", tf.MixedGalerkin(2, keep="all"), SOME, {}, marks=pytest.mark.slow),
    pytest.param("quaternion", tf.EML(), HANGING, {}, marks=pytest.mark.slow),
    pytest.param("directors", tf.EMH(), SOME, {}, marks=pytest.mark.slow)])
def test_joints(rotation, element, names, options):
    make, poses = hanging(rotation)
    base = poses[0][3][0]

    def build(mass=2.0, j0=0.3, upper=0.5, lower=-0.5, hook=0.4, k=3.0, c=0.2, push=1.3, x=0.0, w=base, turn=0.0):
        return make(mass, j0, upper, lower, hook, k, c, push, x, w, turn, poses)

    check(build, element, tf.EndValue(look), names, n=8, **options)
