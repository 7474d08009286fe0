"""What nothing changes is found, and nothing else."""

import casadi
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.symmetry import common, null_space, plain_basis, translations, turns
from timefem.mechanics.values.conserved import conserved, constant_momenta
from timefem.mechanics.values.of_parts import control_force

from ..random_systems.draft import World, built, drawn

G = (0, 0, -9.81)


def kept(system, state):
    """Function and names of what is conserved, and a problem."""
    problem = tf.InitialValueProblem(system, state, (0, 1))
    return *conserved(problem.system, 0.0), problem


def two_bodies(rotation="quaternion"):
    """Two bodies with a motor in the hinge between them, in motion."""
    a, b = (tf.RigidBody(m, (1, 2, 2.5), rotation=rotation, name=name) for m, name in ((1.0, "a"), (2.0, "b")))
    hinge = tf.Revolute(a, b, point_a=(1, 0, 0), point_b=(-1, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    push = np.array((0.3, -0.2, 0.1))
    state = {a: tf.Pose(velocity=push), b: tf.Pose((2, 0, 0), velocity=push)}
    return [a, b, hinge, tf.JointControl(hinge)], state


def sprung(rotation="quaternion"):
    """With a spring that counts its turns in the hinge, too."""
    (a, b, hinge, motor), state = two_bodies(rotation)
    return [a, b, hinge, motor, tf.TorsionalSpring(a, b, axis=(0, 0, 1), stiffness=2.0, rest=0.5)], state


def tree():
    links = [tf.Link("front", 1.0, (0, 0, 0.2), (0.015, 0.015, 0.004)),
             tf.Link("back", 2.0, (0, 0, -0.2), (0.015, 0.015, 0.004))]
    cat = tf.Tree(links, [tf.TreeJoint("bend", "front", "back", axis=(1, 0, 0))], name="cat", base="free")
    return [cat, tf.JointControl(cat.joint("bend"))], {cat: {"bend": (0.3, 0.5)}}


@pytest.mark.parametrize("gravity", [(0, 0, 0), G])
@pytest.mark.parametrize("made", [two_bodies, lambda: two_bodies("directors"), sprung, tree])
def test_what_floats_or_falls_keeps_twelve_numbers(made, gravity):
    """Along the motion by the motor alone, too."""
    parts, state = made()
    function, names, problem = kept(tf.System(parts, gravity=gravity), state)
    assert "linear momentum along x" in names and "angular momentum about the centre of mass along z" in names
    gradient = np.array(function.jacobian()(problem.z0, 0.3, 0)[0])
    assert np.linalg.matrix_rank(gradient, tol=1e-9) >= 9
    element = tf.MixedGalerkin(3, form="lagrange") if made is tree else tf.MixedGalerkin(3)
    sol = tf.solve(problem, element, 40, progress=False)
    values = [np.array(function(sol.z[i], sol.t[i])).ravel() for i in (0, 20, 40)]
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=0, atol=1e-6)


def test_on_a_vertical_hinge_the_angular_momentum_about_it_is_kept():
    parts, _ = two_bodies()
    a, b = parts[:2]
    pivot = tf.Revolute(a, None, point_a=(-1, 0, 0), point_b=(0.5, 0.3, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    state = {a: tf.Pose((1.5, 0.3, 0), velocity=(0, 1, 0), angular_velocity=(0, 0, 1)),
             b: tf.Pose((3.5, 0.3, 0), velocity=(0, 3, 0), angular_velocity=(0, 0, 1))}
    function, names, problem = kept(tf.System([*parts, pivot], gravity=G), state)
    gradient = np.array(function.jacobian()(problem.z0, 0.0, 0)[0])
    assert names and np.linalg.matrix_rank(gradient, tol=1e-9) >= 1
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    np.testing.assert_allclose(np.array(function(sol.z[-1], 1.0)), np.array(function(sol.z[0], 0.0)), rtol=0, atol=1e-7)


def one_body(*parts, body=None):
    body = body or tf.RigidBody(1.0, (1, 2, 2.5), name="body")
    return kept(tf.System([body, *(part(body) for part in parts)]), {body: tf.Pose((0.3, 0.2, 0.1))})[:2]


@pytest.mark.parametrize("part", [
    lambda body: tf.ControlForce(body, ((1, 0, 0),), frame="body"),  # a jet, which can be turned
    lambda body: tf.Force(body, (lambda t: t > 0.99, 0, 0)),  # at some time only
    lambda body: tf.Spring(body, None, stiffness=1.0, point_a=(1, 0, 0), point_b=(0, 5, 0))],
    ids=["jet", "late", "spring"])
def test_nothing_else_is_kept(part):
    assert one_body(part, tf.ControlTorque) == (None, [])


def floor(frame):
    return casadi.vertcat(0, 0, 100 * casadi.fmax(0, -5 - frame.position[2]))


@pytest.mark.parametrize("controls", [0, 1])
def test_a_floor_far_below_is_not_overlooked(controls):
    """By a formula, under two bodies at once or next to controls: a ball that falls without weight comes back."""
    a, b = tf.PointMass(1.0, name="a"), tf.PointMass(1.0, name="b")
    ground = tf.FormulaForce(a, lambda f, t, c, u: floor(f[0]) + casadi.vertcat(u[0], 0, 0), n_controls=1) if controls \
        else tf.FormulaForce([a, b], lambda f, t, c: [floor(f[0]), floor(f[1])])
    parts, bodies = ([a, ground], [a]) if controls else ([a, b, ground, tf.LengthControl(a, b)], [a, b])
    assert kept(tf.System(parts), {body: tf.Pose((i, 0, -4), velocity=(0, 0, -2))
                                   for i, body in enumerate(bodies)})[:2] == (None, [])


# ---- what parts declare

AT, AXIS = (0.5, 0.3, -0.2), (1.0, 2.0, 2.0)
TO_GROUND = {"point_a": (0.4, 0, 0), "point_b": AT}
ON_ONE = {
    "Spherical": lambda a: tf.Spherical(a, None, **TO_GROUND),
    "FixedPoint": lambda a: tf.FixedPoint(a, (0.4, 0, 0), AT),
    "RigidDistance": lambda a: tf.RigidDistance(a, None, length=0.7, **TO_GROUND),
    "Revolute": lambda a: tf.Revolute(a, None, axis_a=AXIS, axis_b=AXIS, **TO_GROUND),
    "Universal": lambda a: tf.Universal(a, None, axis_a=(2, -1, 0), axis_b=AXIS, **TO_GROUND),
    "Weld": lambda a: tf.Weld(a, None, **TO_GROUND),
    "Cylindrical": lambda a: tf.Cylindrical(a, None, axis_a=AXIS, axis_b=AXIS, **TO_GROUND),
    "Prismatic": lambda a: tf.Prismatic(a, None, axis_b=AXIS, **TO_GROUND),
    "Planar": lambda a: tf.Planar(a, None, axis_a=AXIS, axis_b=AXIS, **TO_GROUND),
    "Spring": lambda a: tf.Spring(a, None, stiffness=3.0, **TO_GROUND),
    "Damper": lambda a: tf.Damper(a, None, damping=3.0, **TO_GROUND),
    "LengthControl": lambda a: tf.LengthControl(a, None, **TO_GROUND),
    "TorsionalSpring": lambda a: tf.TorsionalSpring(a, None, axis=AXIS, stiffness=2.0, turns=False),
    "RotationalSpring": lambda a: tf.RotationalSpring(a, None, stiffness=2.0),
    "TorsionalDamper": lambda a: tf.TorsionalDamper(a, None, axis=AXIS, damping=2.0),
    "one force": lambda a: tf.ControlForce(a, (AXIS,)), "two forces": lambda a: tf.ControlForce(a, (AXIS, (0, 0, 1))),
    "three forces": tf.ControlForce, "two torques": lambda a: tf.ControlTorque(a, (AXIS, (0, 0, 1)), frame="space"),
    "jet": lambda a: tf.ControlForce(a, (AXIS,), frame="body"), "torque": lambda a: tf.ControlTorque(a),
    "torque in space": lambda a: tf.ControlTorque(a, (AXIS,), frame="space")}
BETWEEN = {"point_a": (0.4, 0, 0), "point_b": (0.1, 0.2, 0)}
AXES = {"axis_a": AXIS, "axis_b": AXIS}
ON_TWO = {
    "Spherical": lambda a, b: tf.Spherical(a, b, **BETWEEN), "Weld": lambda a, b: tf.Weld(a, b, **BETWEEN),
    "Revolute": lambda a, b: tf.Revolute(a, b, **AXES, **BETWEEN),
    "Universal": lambda a, b: tf.Universal(a, b, axis_a=(2, -1, 0), axis_b=AXIS, **BETWEEN),
    "Cylindrical": lambda a, b: tf.Cylindrical(a, b, **AXES, **BETWEEN),
    "Prismatic": lambda a, b: tf.Prismatic(a, b, axis_b=AXIS, **BETWEEN),
    "Planar": lambda a, b: tf.Planar(a, b, **AXES, **BETWEEN),
    "RigidDistance": lambda a, b: tf.RigidDistance(a, b, length=0.7),
    "Spring": lambda a, b: tf.Spring(a, b, stiffness=3.0), "Damper": lambda a, b: tf.Damper(a, b, damping=1.0),
    "RotationalSpring": lambda a, b: tf.RotationalSpring(a, b, stiffness=2.0),
    "TorsionalDamper": lambda a, b: tf.TorsionalDamper(a, b, axis=AXIS, damping=2.0),
    "force and reaction": lambda a, b: tf.ControlForce(a, (AXIS,), reaction=b),
    "torque and reaction": lambda a, b: tf.ControlTorque(a, (AXIS,), reaction=b),
    "drive": lambda a, b: tf.JointControl(tf.Revolute(a, b, **AXES, **BETWEEN))}


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("name", [*ON_ONE, *(f"{name} of two" for name in ON_TWO)])
def test_forces_have_no_power_on_the_motions_that_parts_declare(name, rotation):
    """Nor have those of constraints, where these hold."""
    a, b = (tf.RigidBody(1.0, (1, 2, 2.5), rotation=rotation, name=name) for name in "ab")
    part = ON_TWO[name[:-7]](a, b) if name.endswith("of two") else ON_ONE[name](a)
    system = tf.System([a, b, part])
    rng, motions = np.random.default_rng(4), part.workless_motions()
    assert motions.shape == (6, 6) or not name.endswith("of two")
    turned = [x / np.linalg.norm(x) for x in rng.normal(size=(2, 4))]
    pose = tf.assemble(system, {body: tf.Pose(rng.normal(size=3), x) for body, x in zip((a, b), turned, strict=True)})
    z = tf.InitialValueProblem(system, pose, (0, 1)).z0
    z[system.n_q:] = rng.normal(size=system.n_q)
    q = casadi.SX.sym("q", 7 if rotation == "quaternion" else 12)
    rates = casadi.Function("rates", [q], [a.rigid_motion(q)])
    velocities = np.vstack([np.array(rates(z[system.coordinates(body)])) for body in (a, b)]) @ motions
    gradient, jacobian, _ = system.derivatives(0.0, z)
    at_rest, _, _ = system.derivatives(0.0, np.append(z[:system.n_q], np.zeros(system.n_q)))
    own = gradient - tf.System([a, b]).derivatives(0.0, z)[0]
    n_controls = part.n_controls
    forces = [own[:system.n_q], at_rest[:system.n_q], *jacobian.toarray()[:system.n_constraints, :system.n_q],
              *(control_force(system, 0.0, z, u) for u in np.eye(n_controls))]
    size = max(1.0, *(np.abs(force).max() for force in forces))
    np.testing.assert_allclose(np.array(forces) @ velocities, 0, rtol=0, atol=1e-9 * size)


def test_two_springs_on_an_axis_leave_turns_about_it():
    mass = tf.PointMass(1.0, name="mass")
    springs = [tf.Spring(mass, None, point_b=(1, 1, z), stiffness=3.0, length=0.1) for z in (1, -1)]
    function, names, _ = kept(tf.System([mass, *springs]), {mass: tf.Pose((1, 0, 0))})
    assert names == ["angular momentum about the origin along z"]
    x, p = np.array((0.3, 0.1, 0.2)), np.array((1.0, -2.0, 0.5))
    assert abs(float(function(np.append(x, p), 0.0)) - np.cross(x - (1, 1, 0), p)[2]) < 1e-14


def test_costs_leave_everything_alone():
    body = tf.RigidBody(1.0, (1, 2, 2.5), name="body")
    torque = tf.ControlTorque(body)
    parts = [body, torque, tf.Effort(torque)]
    assert len(kept(tf.System(parts), {})[1]) == len(kept(tf.System(parts[:2]), {})[1]) == 6


@pytest.mark.parametrize("seed", [0, 5, 7, 18, 31, 170])
def test_units_of_length_decide_nothing(seed):
    """Turns about points that are many units away, or few, and translations."""
    names, along = zip(*((conserved(made.problem.system, 0.0)[1], constant_momenta(made.problem.system).shape[1])
                         for made in (built(drawn(seed), World(length=length)) for length in (1.0, 1e-9, 1e6, 1e9))),
                       strict=True)
    assert len(names[0]) > 1 and names[1:] == names[:-1] and len(set(along)) == 1


def test_spaces_of_motions():
    both = common([turns((0, 0, 1)), turns((0, 0, -2))])
    np.testing.assert_allclose(both.ravel(), [0, 0, 0, 0, 0, 1], atol=1e-15)
    assert common([turns((0, 0, 1)), translations()]).shape == (6, 0) == common([None]).shape
    assert null_space(np.zeros((0, 3))).shape == (3, 3) and null_space([[2.0, 0, 0]]).shape == (3, 2)
    np.testing.assert_array_equal(plain_basis(np.array([[2.0, 2.0], [0, 0], [0, 4.0]])), [[1, 0], [0, 0], [0, 1]])


def test_bodies_in_a_plane_keep_what_moves_there():
    a, b = (tf.PointMass(1.0, name=name, dimension=2) for name in "ab")
    function, names, _ = kept(tf.System([a, b, tf.Spring(a, b, stiffness=1.0)]), {b: tf.Pose((1, 0, 0))})
    assert len(names) == 6 and function.size1_out(0) == 6
    assert sum("z" in name for name in names) == 2  # both angular momenta


@pytest.mark.parametrize("function", [tf.constant_momenta, tf.describe])
def test_what_is_no_system_is_refused(function):
    with pytest.raises(tf.InputError, match="system must be a System, not \\[3\\]"):
        function([3])
