"""Systems by formulas: mass matrices that vary, and singular ones made regular; against references and other models."""

import pickle

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import reference, slope
from timefem.mechanics.bodies.generalized_system import GeneralizedPotential


def particle(q, v, c):
    return c[0] * ca.sumsqr(v) / 2


def spherical(q, v, c):
    return c[0] / 2 * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2 + (q[0] * ca.sin(q[1]) * v[2]) ** 2)


def stretch(q, c):
    return c[1] / 2 * ((q[0] ** 2 - c[2] ** 2) / (2 * c[2] ** 2)) ** 2


def spring_pendulum():
    data = reference("spring_pendulum")
    p = data["parameters"]
    system = tf.GeneralizedSystem(3, spherical, stretch, parameters=[p["m"], p["EA"], p["l0"]], name="pendulum")
    state = {None: tf.Coordinates([p["q0"][0], np.pi / 2, 0], p["v0"])}
    return tf.InitialValueProblem(system, state, (0, 1)), data["states"]


def two_masses(q, v, c):
    return c[0] * v[0] ** 2 / 2 + c[1] * (v[1] + v[2]) ** 2 / 2


def two_springs(q, c):
    return c[2] / 4 * (q[0] ** 2 + q[0] ** 4) + c[3] / 4 * (q[2] ** 2 + q[2] ** 4)


def attached(q, c):
    return [q[1] - q[0] - c[4]]


def mass_spring(regularize=True):
    data = reference("mass_spring")
    p = data["parameters"]
    system = tf.GeneralizedSystem(3, two_masses, two_springs, attached, regularize=regularize, names=["attached"],
                                  parameters=[p["m1"], p["m2"], p["k1"], p["k2"], p["l10"] + p["w"]])
    return tf.InitialValueProblem(system, tf.Coordinates(p["q0"], p["v0"]), (0, 8)), data["states"]


def largest(solution, states):
    """Largest error of coordinates and velocities at the times of a reference."""
    t = [s["t"] for s in states]
    errors = [solution.coordinates(None, t) - [s["q"] for s in states],
              solution.velocity(None, t) - [s["v"] for s in states]]
    return np.abs(errors).max()


def test_spring_pendulum():
    """Mass matrix that depends on the configuration: order 2k at the ends of the elements."""
    problem, states = spring_pendulum()
    solution = tf.solve(problem, tf.MixedGalerkin(4), 100)
    assert largest(solution, states) < 1e-11
    assert np.abs(solution.energy([s["t"] for s in states]) - states[0]["E"]).max() < 1e-12
    sizes = np.array([20, 40, 80])
    errors = [largest(tf.solve(problem, tf.MixedGalerkin(2), n), states) for n in sizes]
    assert slope(1 / sizes, errors) == pytest.approx(4, abs=0.3)
    solution = tf.solve(problem, tf.BubnovGalerkin(3), 100, driver="global")
    assert largest(solution, states) < 1e-5


@pytest.mark.parametrize("regularize", [True, 0.3])
def test_mass_spring(regularize):
    """Redundant coordinates with a singular mass matrix, and a term that vanishes on the constraint."""
    problem, states = mass_spring(regularize)
    solution = tf.solve(problem, tf.MixedGalerkin(4), 160)
    assert largest(solution, states) < 1e-12
    p = solution([s["t"] for s in states])[:, 3:]
    np.testing.assert_allclose(p, [s["p"] for s in states], rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.energy(), 1, rtol=0, atol=1e-13)
    assert max(solution.errors().values()) < 1e-13


def test_the_weight_changes_nothing():
    a, b = (tf.solve(mass_spring(w)[0], tf.MixedGalerkin(4), 160) for w in (0.3, 20))
    np.testing.assert_allclose(a.z, b.z, rtol=0, atol=1e-12)
    t = (a.t[1:] + a.t[:-1]) / 2
    np.testing.assert_allclose(a.multipliers(t), b.multipliers(t), rtol=0, atol=1e-7)
    assert np.abs(a.multipliers(t)[:, 0]).max() > 0.1


def test_regularized_with_a_curved_constraint():
    """A pendulum in (x, y, angle), where the angle has no mass, against the pendulum in its angle."""
    def kinetic(q, v, c):
        return c[0] / 2 * (v[0] ** 2 + v[1] ** 2)

    def circle(q, c):
        return ca.vertcat(q[0] - c[1] * ca.sin(q[2]), q[1] + c[1] * ca.cos(q[2]))

    redundant = tf.GeneralizedSystem(3, kinetic, lambda q, c: 9.81 * c[0] * q[1], circle, [2, 0.5], regularize=True)
    minimal = tf.GeneralizedSystem(1, lambda q, v, c: c[0] * c[1] ** 2 * v[0] ** 2 / 2,
                                   lambda q, c: -9.81 * c[0] * c[1] * ca.cos(q[0]), parameters=[2, 0.5])
    assert not redundant.bodies[0].constant_mass and minimal.bodies[0].constant_mass
    a = tf.Coordinates([0.5 * np.sin(1), -0.5 * np.cos(1), 1], np.array([0.5 * np.cos(1), 0.5 * np.sin(1), 1]) * 0.3)
    a = tf.solve(tf.InitialValueProblem(redundant, a, (0, 1)), tf.MixedGalerkin(4), 100)
    b = tf.solve(tf.InitialValueProblem(minimal, tf.Coordinates([1], [0.3]), (0, 1)), tf.MixedGalerkin(4), 100)
    np.testing.assert_allclose(a.z[:, 2], b.z[:, 0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(a.velocity(None, 1.0)[2], b.velocity(None, 1.0)[0], rtol=0, atol=1e-10)
    assert a.errors()["configuration"] < 1e-10


def test_potential_and_constraint_of_the_time():
    """The same as a point mass with a force and a rheonomic constraint, energy balance included."""
    def rod(q, c, t):
        return ca.sumsqr(q) - (1 + c[1] * ca.sin(t)) ** 2

    def pull(q, c, t):
        return -q[0] * ca.cos(3 * t)

    system = tf.GeneralizedSystem(2, particle, pull, rod, [2, 0.1])
    a = tf.InitialValueProblem(system, tf.Coordinates([1, 0], [0.1, 1]), (0, 1))
    mass = tf.PointMass(2, 2)
    force = tf.Force(mass, [lambda t: ca.cos(3 * t), 0, 0])
    length = tf.Constraint(mass, lambda f, t, c: ca.sumsqr(f[0].q) - (1 + c[0] * ca.sin(t)) ** 2, 1, [0.1])
    b = tf.InitialValueProblem(tf.System([mass, force, length]), {mass: tf.Pose([1, 0, 0], velocity=[0.1, 1, 0])},
                               (0, 1))
    a, b = (tf.solve(problem, tf.MixedGalerkin(3), 50) for problem in (a, b))
    np.testing.assert_allclose(a.z, b.z, rtol=0, atol=1e-12)
    assert np.ptp(a.energy()) > 0.1 and a.errors()["energy"] < 1e-9


def test_among_other_bodies():
    """A body by formulas and a point mass in one system, held together by a constraint."""
    def run(first, extra, state):
        second = tf.PointMass(3, 2)
        rod = tf.Constraint([first, second], lambda f, t, c: ca.sumsqr(f[0].q - f[1].q) - 1, 1)
        state = {first: state, second: tf.Pose([1, 0, 0], velocity=[0, 2, 0])}
        return tf.solve(tf.InitialValueProblem(tf.System([first, second, rod, *extra]), state, (0, 1)),
                        tf.MixedGalerkin(2), 20)

    body = tf.GeneralizedBody(2, particle, parameters=[2], name="first")
    weight = GeneralizedPotential(body, lambda q, c: 9.81 * c[0] * q[1])
    a = run(body, [weight], tf.Coordinates([0, 0], [0, -1]))
    mass = tf.PointMass(2, 2)
    b = run(mass, [tf.Gravity(mass, [0, -9.81, 0])], tf.Pose(velocity=[0, -1, 0]))
    np.testing.assert_allclose(a.z, b.z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.system.potential(0, a.z), b.system.potential(0, b.z), rtol=0, atol=1e-11)
    assert "angular_momentum" not in a.errors()


@pytest.mark.parametrize("kinetic", [
    lambda q, v, c: sum((v[i] + q[i] * v[i - 1]) ** 2 for i in range(4)),  # full and varying
    lambda q, v, c: v[0] ** 2 * (1 + q[3] ** 2) + (v[0] - v[2]) ** 2 + v[1] ** 2 + 3 * v[3] ** 2,  # sparse
    lambda q, v, c: (v[0] + v[2]) ** 2 + v[2] ** 2 + v[1] ** 2 + (v[1] - 2 * v[3]) ** 2,  # constant, in blocks
    lambda q, v, c: ca.norm_2(v) ** 2])
def test_hamiltonian_form(kinetic):
    """T(q, p) = 1/2 p.M^-1 p, for matrices with and without structure."""
    system = tf.GeneralizedSystem(4, kinetic)
    q, v = np.array([0.3, -0.7, 0.2, 0.5]), np.array([1.0, 2, -1, 0.5])
    body = system.bodies[0]
    q, p = body.state(tf.Coordinates(q, v))
    expected = float(ca.DM(kinetic(ca.DM(q), ca.DM(v), ())))
    assert system.hamiltonian(0, np.append(q, p)) == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(system.velocity(0, np.append(q, p)), v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(body.velocity(q, p), v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(body.mass_matrix([q, q])[1] @ v, p, rtol=0, atol=1e-13)


def test_same_functions_share_kernels():
    from timefem.kernels import compile_count

    def build(mass):
        system = tf.GeneralizedSystem(2, particle, parameters=[mass])
        return tf.solve(tf.InitialValueProblem(system, tf.Coordinates([0, 0], [1, 2]), (0, 1)), tf.MixedGalerkin(1), 2)

    build(1)
    before = compile_count()
    solution = build(3)
    assert compile_count() == before
    np.testing.assert_allclose(solution.z[-1], [1, 2, 3, 6], rtol=0, atol=1e-13)


def test_formulas_as_text_and_functions_in_other_processes():
    """Functions that no module has could not be pickled, and texts were refused."""
    potential = "c[0] * 9.81 * q[1] + t * q[0]"
    systems = [tf.GeneralizedSystem(2, lambda q, v, c: c[0] * ca.sumsqr(v) / 2,
                                    lambda q, c, t: c[0] * 9.81 * q[1] + t * q[0], lambda q, c: ca.sumsqr(q) - c[1],
                                    parameters=[2.0, 1.0]),
               tf.GeneralizedSystem(2, "c[0] * sumsqr(v) / 2", potential, ["sumsqr(q) - c[1]"], parameters=[2.0, 1.0])]
    found = []
    for system in systems:
        problem = tf.InitialValueProblem(system, tf.Coordinates([1.0, 0.0], [0.0, 0.0]), (0, 1))
        for one in (problem, pickle.loads(pickle.dumps(problem))):
            found.append(tf.solve(one, tf.MixedGalerkin(2), 10, progress=False).z)
    np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=0, atol=1e-12)
    with pytest.raises(tf.InputError, match="potential: 'x' has the unknown name 'x'; it has q, c, t"):
        tf.GeneralizedSystem(1, "v[0]**2", "x")


def test_what_does_not_exist(tmp_path):
    solution = tf.solve(spring_pendulum()[0], tf.MixedGalerkin(1), 3)
    assert set(solution.errors()) == {"energy", "configuration", "velocity"}
    assert solution.coordinates("pendulum", [0.1, 0.2]).shape == (2, 3)
    for make in (solution.angular_momentum, solution.linear_momentum):
        with pytest.raises(tf.InputError, match=r"pendulum has no (angular|linear) momentum in space"):
            make()
    with pytest.raises(tf.InputError, match="pendulum has no position"):
        solution.position("pendulum", 0.5)
    solution.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    assert np.array_equal(again.z, solution.z) and np.array_equal(again.energy(), solution.energy())


def system(kinetic=particle, n=2, **options):
    return tf.GeneralizedSystem(n, kinetic, **{"parameters": [1.0], **options})


def start(q=(1, 0), v=(0, 1), **options):
    return tf.InitialValueProblem(system(**options), tf.Coordinates(q, v), (0, 1))


STRANGER = ca.SX.sym("stranger")


@pytest.mark.parametrize("make, message", [
    (lambda: system(n=0), "n must be at least 1"), (lambda: system(n=2.0), "n must be an integer"),
    (lambda: system(parameters=[np.nan]), "parameters must be finite"),
    (lambda: system(kinetic=None), "kinetic must be a function"),
    (lambda: system(lambda q, v, c: v), "kinetic must return 1 value"),
    (lambda: system(lambda q, v, c: v[5] ** 2), "kinetic failed on CasADi symbols"),
    (lambda: system(lambda q, v, c: STRANGER * ca.sumsqr(v)), "kinetic contains the symbols stranger"),
    (lambda: system(lambda q, v, c: ca.sumsqr(v) ** 2), "kinetic must be quadratic .* second derivatives depend on v"),
    (lambda: system(lambda q, v, c: ca.sumsqr(v) + q[0] * v[1]), "kinetic must be quadratic .* linear part"),
    (lambda: system(lambda q, v, c: ca.sumsqr(v) + q[0] ** 2), "kinetic must be quadratic .* part without v"),
    (lambda: system(lambda q, v, c: v[0] ** 2), r"singular \(q\[1\] without kinetic energy\), .*inverse.*EML"),
    (lambda: system(lambda q, v, c: (v[0] + v[1]) ** 2), "mass matrix is singular, and .*regularize=True"),
    (lambda: system(lambda q, v, c: v[0] ** 2 - v[1] ** 2), "mass matrix is not positive definite"),
    (lambda: system(lambda q, v, c: (1 + q[0] ** 2) * ca.sumsqr(v), 13), "at most 12 coordinates, not 13"),
    (lambda: system(mass_scale=[1]), r"mass_scale must have shape \(2,\)"),
    (lambda: system(mass_scale=[1, 0]), "mass_scale must be positive"),
    (lambda: system(potential=3), "potential must be a function"),
    (lambda: system(potential=lambda q, c: q), "potential must return 1 value"),
    (lambda: system(potential=lambda q, c: STRANGER), "potential contains the symbols stranger"),
    (lambda: system(constraints=3), "constraints must be a function"),
    (lambda: system(constraints=[1, 2]), "number 1 does not depend on the coordinates"),
    (lambda: system(constraints=lambda q, c: "text"), "constraints failed"),
    (lambda: system(constraints=lambda q, c: []), "constraints returned no expression"),
    (lambda: system(constraints=lambda q, c: [q[0], c[0]]), "constraints: number 2 does not depend on the coord"),
    (lambda: system(constraints=lambda q, c: q[0], names=["a", "b"]), "names must be a list of 1 texts"),
    (lambda: system(regularize=True), "regularize needs constraints"),
    (lambda: system(constraints=lambda q, c, t: q[0] - t, regularize=True), "do not depend on the time"),
    (lambda: system(lambda q, v, c: v[0] ** 2, constraints=lambda q, c: q[0], regularize=True),
     "singular even with the rates of the constraints"),
    (lambda: system(constraints=lambda q, c: q[0], regularize=-1), "regularize must be positive"),
    (lambda: start(kinetic=lambda q, v, c: v[0] ** 2 + (q[1] * v[1]) ** 2), r"mass matrix is singular at q = \[1, 0"),
    (lambda: start(kinetic=lambda q, v, c: v[0] ** 2 + v[1] ** 2 / q[1]), "mass matrix is not finite at q"),
    (lambda: start(constraints=lambda q, c: [q[1], q[1] * q[0]]), "constraints are dependent at the initial state"),
    (lambda: start(constraints=lambda q, c: [q[1] - 1]), "violates the constraint 'body1: constraint 1' on config"),
    (lambda: start(constraints=lambda q, c: [q[1]]), "violates the constraint 'body1: constraint 1' on velocity"),
    (lambda: start(q=[1], v=[1]), "q must have length 2, not 1"), (lambda: start(v=[1]), r"v must have shape \(2,\)"),
    (lambda: tf.InitialValueProblem(system(), {}, (0, 1)), r"state of body1 is missing: give it as Coordinates"),
    (lambda: tf.InitialValueProblem(system(), {None: tf.Pose()}, (0, 1)), r"must be given as Coordinates\(q, v\)"),
    (lambda: tf.InitialValueProblem(system(), None, (0, 1)), "state must be"),
    (lambda: GeneralizedPotential(tf.PointMass(1), lambda q, c: 0), "body must be a GeneralizedBody"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("formula", [lambda f, t, c: -f[0].velocity[0], lambda f, t, c: -f[0].position[0]])
def test_forces_that_ask_for_a_place_are_told_what_there_is(formula):
    slider = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="slider")
    with pytest.raises(tf.InputError, match=r"f\[0\], without a place in space, has q and rate only"):
        tf.System([slider, tf.FormulaForce(slider, formula, name="drag")])
