"""One-step schemes as time elements: tangents, drivers, what they refuse, and their further fields in solutions."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import assert_tangent_is_derivative, pendulum, spinning_box
from timefem.cases import find_case
from timefem.elements.one_step import between

GENERAL = [tf.EML(), tf.REML(), tf.NullEML(), tf.EMH(), tf.NullEMH(), tf.MPL(), tf.MPH(), tf.QuatVI(),
           tf.SymplecticEuler()]
FREE = [*GENERAL, tf.AlgoC1()]
LASTING = "null-eml", "null-emh", "reml", "algo-c1"  # beside quick ones of their kinds


def by_name(element):
    return element.name


def machine(element, rotation):
    """Two bodies with a spring, a damper and a load that depends on time; where the scheme takes them, a point mass on
    a joint and a generalized body with a mass matrix that varies."""
    a, b = (tf.RigidBody(m, np.multiply(m, [0.3, 0.4, 0.5]), rotation, name=n) for m, n in ((2, "a"), (1, "b")))
    spin = (0.4, -0.3, 0.7)
    parts = [a, b, tf.Spring(a, b, point_a=(0.1, 0, 0.2), point_b=(0, 0.3, 0), stiffness=20, length=0.7),
             tf.Damper(a, b, point_a=(0, 0.1, 0), point_b=(0.2, 0, 0), damping=0.3),
             tf.Force(b, (1, 2, -1), point=(0.1, 0.2, 0), time=tf.Sine(2.0, 3.0))]
    state = {a: tf.Pose(angular_velocity=spin),
             b: tf.Pose(position=(1, 0, 0), velocity=(0, 0.1, 0), angular_velocity=(0.1, 0.5, 0.2))}
    if element.name != "algo-c1":
        ball = tf.PointMass(0.5, name="ball")
        swing = tf.GeneralizedBody(2, _swing, None if "null" in element.name else _circle, parameters=(0.7,),
                                   name="swing")
        parts += [ball, tf.Spherical(a, ball, point_a=(0, 0, 0.5), point_b=(0, 0, 0)), swing]
        state |= {ball: tf.Pose(position=(0, 0, 0.5), velocity=np.cross(spin, (0, 0, 0.5))),
                  swing: tf.Coordinates(q=(0.6, 0.8), v=(-0.8, 0.6))}
    return tf.InitialValueProblem(tf.System(parts), state, (0, 0.5))


def _swing(q, v, c):
    return c[0] / 2 * (1 + q[0] ** 2) * ca.sumsqr(v)


def _circle(q, c):
    return (ca.sumsqr(q) - 1) / 2


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["quaternion", pytest.param("directors", marks=pytest.mark.slow)])
@pytest.mark.parametrize("element", FREE, ids=by_name)
def test_tangent_against_differences(element, rotation):
    batch = tf.ElementBatch(machine(element, rotation).system, element)
    assert_tangent_is_derivative(batch, 0.5, 0.3, step=1e-6, atol=1e-7)


@pytest.mark.parametrize("element", [pytest.param(e, marks=[pytest.mark.long] * (e.name in LASTING)) for e in FREE],
                         ids=by_name)
def test_drivers_agree(element):
    problem = machine(element, "quaternion")
    marched = tf.solve(problem, element, 25)
    assert marched.success, marched.status.message
    for options in ({"driver": "global"}, {"driver": "windows", "window": 7}):
        other = tf.solve(problem, element, 25, **options)
        assert other.success, other.status.message
        for a, b in ((marched.z, other.z), *((marched.fields[name], other.fields[name]) for name in marched.fields)):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * np.abs(a).max())


@pytest.mark.parametrize("element", FREE, ids=by_name)
def test_order_with_loads_dampers_and_joints(element):
    """Against mG(3); the slope of three steps."""
    problem = machine(element, "quaternion")
    exact = tf.solve(problem, tf.MixedGalerkin(3), 40).z[-1]
    sizes, n_q = (20, 40, 80), problem.system.n_q
    errors = [np.abs(tf.solve(problem, element, n).z[-1] - exact)[:n_q].max() for n in sizes]
    assert -np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(element.order, abs=0.1)
    assert errors[-1] < (1 if element.order == 2 else 50) * 1e-3


def test_multipliers_stand_with_their_joints():
    """The joint force of a pendulum at rest, by schemes with multipliers of joints alone, and of all constraints."""
    body = tf.RigidBody(2, [0.3, 0.4, 0.5])
    system = tf.System([body, tf.FixedPoint(body, [0, 0, 1], name="support")], gravity=[0, 0, -10])
    problem = tf.InitialValueProblem(system, {body: tf.Pose(position=(0, 0, -1))}, (0, 0.1))
    z = system.constraint_names.index("support: fixed point, z")
    for element in GENERAL:
        force = tf.solve(problem, element, 5).multipliers(0.05)[z]
        assert abs(force) == pytest.approx(20, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("element, rotation, invariant, exact", [
    (tf.EML(), "directors", False, True), (tf.EMH(), "directors", False, True),
    (tf.QuatVI(), "quaternion", False, True), (tf.MPL(), "quaternion", False, False),
    (tf.MPL(), "quaternion", True, True), (tf.EML(), "quaternion", True, True)])
def test_angular_momentum_with_a_joint(element, rotation, invariant, exact):
    """Exact where the gap vanishes at the midpoint too (directors), or is invariant; discrete gradients of an invariant
    gap in quaternions, which is of degree four, are corrected along what the step deforms."""
    a, b = (tf.RigidBody(1, [0.3, 0.4, 0.5], rotation, name=n) for n in "ab")
    turn, arm = {a: (1, 2, 3), b: (2, -1, 1)}, np.array([0.5, 0, 0])
    state = {a: tf.Pose(angular_velocity=turn[a]),
             b: tf.Pose(position=2 * arm, velocity=np.cross(turn[a], arm) + np.cross(turn[b], arm),
                        angular_velocity=turn[b])}
    joint = tf.Spherical(a, b, point_a=arm, point_b=-arm, invariant=invariant)
    problem = tf.InitialValueProblem(tf.System([a, b, joint]), state, (0, 1))
    drifts = [tf.solve(problem, element, n).errors()["angular_momentum"] for n in (50, 100)]
    if exact:
        assert max(drifts) < 1e-13
    else:
        assert drifts[0] / drifts[1] == pytest.approx(4, rel=0.1) and drifts[0] > 1e-5


# ---- what schemes refuse

@pytest.mark.parametrize("element, problem, message", [
    (tf.DirEM(), spinning_box, "dir-em takes directors, and box is in quaternions; use EMH"),
    (tf.AlgoC1(), pendulum, "no joints .* such as support; use EML"),
    (tf.NullEML(), find_case("mass-spring").make, "null-eml .* masses has constraints given by a formula; use EML"),
    (tf.NullEMH(), find_case("mass-spring").make, "null-emh .* by a formula; use EMH")],
    ids=["dir-em", "algo-c1", "null-eml", "null-emh"])
def test_refusals(element, problem, message):
    problem = problem()
    with pytest.raises(tf.InputError, match=message) as error:
        tf.solve(problem, element, 10)
    assert "\n" not in str(error.value)


def test_singular_mass_matrix_is_for_schemes_with_velocities():
    def system(regularize):
        return tf.GeneralizedSystem(2, lambda q, v, c: (v[0] + v[1]) ** 2, lambda q, c: ca.sumsqr(q),
                                    lambda q, c: [q[0] - q[1]], regularize=regularize)

    start = tf.Coordinates(q=(1, 1), v=(0, 0))
    problem, regular = (tf.InitialValueProblem(system(r), start, (0, 1)) for r in (False, True))
    for element in (tf.MixedGalerkin(1), tf.BubnovGalerkin(1), tf.EMH(), tf.NullEMH(), tf.MPH(), tf.QuatVI()):
        with pytest.raises(tf.InputError, match=r"singular mass matrix, and .* needs its inverse; use EML"):
            tf.solve(problem, element, 10)
    exact = tf.solve(regular, tf.MixedGalerkin(4), 20).z[-1]
    np.testing.assert_allclose(tf.solve(problem, tf.EML(), 20).z, tf.solve(regular, tf.EML(), 20).z, rtol=0, atol=1e-12)
    for element in (tf.EML(), tf.REML(), tf.MPL()):
        np.testing.assert_allclose(tf.solve(problem, element, 400).z[-1], exact, rtol=0, atol=2e-6)


# ---- further fields

def test_fields_and_generalized_energy(tmp_path):
    problem = pendulum(t_end=0.5)
    solution = tf.solve(problem, tf.EML(), 20)
    velocity = solution.field("velocity")
    assert velocity.shape == (21, 7)
    np.testing.assert_array_equal(solution.field("velocity", solution.t), velocity)
    middle = solution.field("velocity", 0.0125)
    np.testing.assert_allclose(middle, (velocity[0] + velocity[1]) / 2, rtol=0, atol=1e-14)
    # midpoints: the velocity is the rate of the coordinates
    np.testing.assert_allclose(middle, (solution.z[1] - solution.z[0])[:7] / 0.025, rtol=0, atol=1e-12)
    energy = solution.energy.generalized()
    assert np.abs(energy - energy[0]).max() <= 1e-11 * np.abs(energy[0] - 500 * 9.81)
    assert solution.errors()["generalized_energy"] == np.abs(energy - energy[0]).max()
    assert solution.energy.generalized(0.25) == pytest.approx(energy[10], rel=1e-12)
    solution.save(tmp_path / "a.h5")
    read = tf.load(tmp_path / "a.h5")
    np.testing.assert_array_equal(read.fields["velocity"], solution.fields["velocity"])
    np.testing.assert_array_equal(read.energy.generalized(), energy)
    null = tf.solve(problem, tf.NullEML(), 20)
    assert null.field("increments", [0.1, 0.2]).shape == (2, 6)
    with pytest.raises(tf.InputError, match="'increments' has no values at the ends"):
        null.field("increments")
    with pytest.raises(tf.InputError, match="has no field 'velocity'; further fields of this solution: none"):
        tf.solve(problem, tf.MixedGalerkin(1), 20).energy.generalized()


def test_restart_of_a_scheme_with_fields(tmp_path):
    problem = spinning_box(t_end=0.5)
    whole = tf.solve(problem, tf.NullEML(), 40)
    tf.solve(problem, tf.NullEML(), 40, checkpoint=tmp_path / "c.h5", checkpoint_every=10)
    again = tf.restart(tmp_path / "c.h5")
    np.testing.assert_allclose(again.z, whole.z, rtol=0, atol=1e-11)
    np.testing.assert_allclose(again.field("velocity"), whole.field("velocity"), rtol=0, atol=1e-10)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_increments_between_states(rotation):
    """Turns of more than 1 rad in an element, by the formula of the body itself."""
    bodies = [tf.RigidBody(1, (1, 2, 3), rotation, name=name) for name in "ab"]
    system, rng = tf.System([*bodies, tf.PointMass(2, name="mass")]), np.random.default_rng(0)
    turns, q = rng.uniform(-0.25, 0.25, (5, 2, 3)), []
    for turn in turns:
        states = [b.state(tf.Pose(rng.normal(size=3), np.append(np.cos(np.linalg.norm(v)), np.sinc(
            np.linalg.norm(v) / np.pi) * v)))[0] for b, v in zip(bodies, turn, strict=True)]
        q.append(np.concatenate([*states, rng.normal(size=3)]))
    state = np.stack([q[:-1], q[1:]], axis=1)
    found = between(system, np.concatenate([state, np.zeros_like(state)], axis=2))
    assert found.shape == (4, 1, 15)
    for (q0, q1), u in zip(state, found[:, 0], strict=True):
        split = np.cumsum([b.n_q for b in bodies])
        for body, a, b, d in zip(system.bodies, np.split(q0, split), np.split(q1, split), np.split(u, [6, 12]),
                                 strict=True):
            at, step = ca.SX.sym("q", body.n_q), ca.SX.sym("u", body.n_increments)
            moved = np.array(ca.Function("moved", [at, step], [body.moved(at, step)])(a, d)).ravel()
            np.testing.assert_allclose(moved, b, rtol=0, atol=1e-12)


def test_bounds_from_increments_that_fit_the_guess():
    """Zero increments beside a guess that moves led IPOPT round by 368 iterations, and our method to no end."""
    sol = tf.solve(find_case("slew-time").make(rotation="quaternion"), tf.NullEMH(), 12)
    assert sol.objective == pytest.approx(1.41483024, rel=1e-7)
    assert sol.statistics["newton_iterations"]["max"] <= 20
