"""Parameters of other kinds, identification, and input that cannot be used."""

import importlib.util
import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from tests.sensitivity.test_gradient import check, free, look
from timefem.mechanics.numbers import map as map_module

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"


def height(bodies, t):
    return bodies[0].q[0]**2 + bodies[0].v[-1]


def kinetic(q, v, c):
    return c[0] * (v[0]**2 / 2 + c[1] * v[0] * v[1] * ca.cos(q[0] - q[1]) + v[1]**2)


def constant_kinetic(q, v, c):
    return c[0] * (v[0]**2 / 2 + c[1] * v[0] * v[1] + v[1]**2)


def potential(q, c):
    return 9.81 * c[0] * (1 - ca.cos(q[0])) + c[2] * q[1]**2


TIMES = [0, 0.3, 0.6, 1]


@pytest.mark.parametrize("energy", [kinetic, constant_kinetic])
def test_systems_by_formulas(energy):
    def build(mass=2.0, coupling=0.3, k=3.0, q=0.4, v=0.2):
        system = tf.GeneralizedSystem(2, energy, potential, parameters=[mass, coupling, k])
        body = system.bodies[0]
        parameters = {"mass": tf.Parameter(body, "parameters", 0), "coupling": tf.Parameter(body, "parameters", 1),
                      "k": tf.Parameter(body, "parameters", 2), "q": tf.Initial(body, "q", 0),
                      "v": tf.Initial(body, "v", 1)}
        return tf.InitialValueProblem(system, tf.Coordinates([q, 0.1], [0.5, v]), (0, 1)), parameters

    check(build, tf.MixedGalerkin(2), tf.EndValue(height), ("mass", "coupling", "k", "q", "v"))


@pytest.mark.parametrize("make", [lambda v: tf.Table(TIMES, v), lambda v: tf.Table(TIMES, v, "cubic"),
                                  lambda v: tf.Spline(TIMES, v, 3)])
def test_tables(make):
    def build(value=0.6):
        mass = tf.PointMass(2.0, 1)
        force = tf.Force(mass, (1, 0, 0), time=make([0, 1, value, -1]))
        problem = tf.InitialValueProblem(tf.System([mass, force]), {mass: tf.Pose(velocity=[1, 0, 0])}, (0, 1))
        return problem, {"value": tf.Parameter(force, "time.values", 2)}

    check(build, tf.MixedGalerkin(2), tf.EndValue(height), ("value",))


def test_prescribed_motion():
    def build(amplitude=0.3, frequency=0.7, length=1.0):
        a, b = tf.PointMass(1.0), tf.PointMass(2.0)
        drive = tf.PrescribedPosition(a, (tf.Sine(amplitude, frequency, phase=np.pi / 2), 0, 0))
        rod = tf.RigidDistance(a, b, length=length)
        system = tf.System([a, b, drive, rod], gravity=[0, 0, -9.81])
        state = {a: tf.Pose([amplitude, 0, 0]), b: tf.Pose([amplitude + 0.6, 0, -0.8])}
        problem = tf.InitialValueProblem(system, state, (0, 0.5), assemble=True)
        return problem, {"frequency": tf.Parameter(drive, "position[0].frequency")}

    check(build, tf.MixedGalerkin(2), tf.EndValue(lambda b, t: b[1].position[0]), ("frequency",))


def test_a_rolling_disc():
    def build(mass=2.0, inertia=0.5, w=3.0):
        disc = tf.RigidBody(mass, [0.3, inertia, 0.3], name="disc")
        roll = tf.mechanics.RollingDisc(disc, radius=0.5, axis=(0, 1, 0))
        system = tf.System([disc, roll, tf.RayleighDissipation(disc, 0.3, 0.1)], gravity=[0, 0, -9.81])
        lean = 0.3
        pose = tf.Pose([0, 0, 0.5 * np.cos(lean)], [np.cos(lean / 2), np.sin(lean / 2), 0, 0], [1.5, 0, 0], [0, w, 0])
        problem = tf.InitialValueProblem(system, {disc: pose}, (0, 0.4), assemble=True)
        return problem, {"mass": tf.Parameter(disc, "mass"), "inertia": tf.Parameter(disc, "inertia", 1),
                         "w": tf.Initial(disc, "angular_velocity", 1)}

    check(build, tf.MixedGalerkin(2), tf.EndValue(look), ("mass", "inertia", "w"))


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_a_full_inertia(rotation):
    def build(j01=0.4, j22=6.0):
        body = tf.RigidBody(2, [[5, j01, 0.2], [j01, 4, 0.1], [0.2, 0.1, j22]], rotation)
        problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[1, 2, 3])}, (0, 0.5))
        return problem, {"j01": tf.Parameter(body, "inertia", (0, 1)), "j22": tf.Parameter(body, "inertia", (2, 2))}

    check(build, tf.MixedGalerkin(2), tf.EndValue(look), ("j01", "j22"))


def test_a_march_has_the_gradient_of_the_global_solve():
    problem, parameters = free("quaternion")()
    chosen = list(parameters.values())
    one, other = (tf.gradient(tf.solve(problem, tf.MixedGalerkin(2), 30, driver=driver), tf.Integral(look), chosen)
                  for driver in ("march", "global"))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * np.abs(other).max())


def test_arrays_are_one_parameter_per_entry():
    problem, _ = free("quaternion")()
    body, spring = problem.system.bodies[0], problem.system.parts[1]
    at = tf.Linearization(tf.solve(problem, tf.MixedGalerkin(1), 10))
    whole = [tf.Parameter(spring, "point_b"), tf.Initial(body, "velocity")]
    single = [type(p)(*p[:2], i) for p in whole for i in range(3)]
    np.testing.assert_array_equal(tf.gradient(at, tf.EndValue(look), whole), tf.gradient(at, tf.EndValue(look), single))
    assert at.labels(whole) == ["Spring 1.point_b[0]", "Spring 1.point_b[1]", "Spring 1.point_b[2]", "a.velocity[0]",
                                "a.velocity[1]", "a.velocity[2]"]


def test_a_joint_without_its_redundant_constraints():
    def build(mass=2.0, j0=1.0, at=0.4):
        body = tf.RigidBody(mass, [j0, 1.2, 1.5], "quaternion", name="door")
        hinges = [tf.FixedPoint(body, [x, -0.5, 0], [x, 0, 0], name=name) for x, name in ((0.4, "one"), (-0.4, "two"))]
        force = tf.Force(body, (0, 1, 0), point=(at, 0, 0))
        system = tf.System([body, *hinges, force], gravity=[0, 0, -9.81], redundant="drop")
        problem = tf.InitialValueProblem(system, {body: tf.Pose([0, 0.5, 0])}, (0, 0.5))
        assert len(problem.system.dropped) == 1
        return problem, {"mass": tf.Parameter(body, "mass"), "j0": tf.Parameter(body, "inertia", 0)}

    problem, _ = build()
    at = tf.Linearization(tf.solve(problem, tf.MixedGalerkin(2), 10))
    assert at.labels(tf.Parameter("two", "point", 0)) == ["two.point[0]"]
    check(build, tf.MixedGalerkin(2), tf.EndValue(look), ("mass", "j0"))


def test_a_family_changes_parts_and_start_together():
    def make(values):
        body = tf.RigidBody(2.0, [1, 1 + values[0], 1.5], "quaternion")
        system = tf.System([body, tf.FixedPoint(body, [0, -values[0], 0])], gravity=[0, 0, -9.81])
        return tf.InitialValueProblem(system, {body: tf.Pose([0, values[0], 0])}, (0, 0.5))

    solution = tf.solve(make([0.6]), tf.MixedGalerkin(2), 10)
    f = tf.EndValue(look)
    gradient = tf.gradient(solution, f, tf.Family(make, [0.6]))
    values = {h: tf.Linearization(tf.solve(make([0.6 + h]), tf.MixedGalerkin(2), 10)).value(f)
              for h in (-0.01, -0.005, 0.005, 0.01)}
    rough, fine = ((values[h] - values[-h]) / (2 * h) for h in (0.01, 0.005))
    assert gradient == pytest.approx((4 * fine - rough) / 3, rel=1e-7)
    with pytest.raises(tf.InputError, match=r"not that of build\(values\)"):
        tf.gradient(solution, f, tf.Family(make, [0.7]))


# ---- identification

def example():
    spec = importlib.util.spec_from_file_location("identification", EXAMPLES / "identification.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_identification_finds_what_was_put_in(tmp_path):
    module = example()
    data = np.loadtxt(module.DATA, delimiter=",")
    np.testing.assert_allclose(module.simulate(), data, rtol=0, atol=1e-6)  # the file is what its header says
    found = module.main()
    assert found.success and found.n_solves < 20
    assert np.all(np.abs(found.values - module.TRUE) < 3 * found.deviations)
    assert np.mean(((found.values - module.TRUE) / found.deviations)**2) < 2.5
    assert np.all(found.deviations < 0.01 * np.abs(module.TRUE).max())
    assert found.misfit == pytest.approx(1, abs=0.15)
    assert found.labels == list(module.LABELS) and "J1" in str(found)
    import matplotlib

    matplotlib.use("Agg")
    module.plot(found, tmp_path / "identification.png")
    assert (tmp_path / "identification.png").stat().st_size > 10000


def swing(values):
    mass = tf.PointMass(values[0], 1)
    spring = tf.Spring(mass, stiffness=values[1], point_b=(0, 0, 0))
    return tf.InitialValueProblem(tf.System([mass, spring]), {mass: tf.Pose([1, 0, 0])}, (0, 1))


def test_identification_names_what_cannot_be_told():
    times = np.linspace(0.1, 1, 10)
    measured = tf.Measurement(lambda b, t: b[0].q, times, np.cos(2 * times), 0.01)
    with pytest.raises(tf.InputError, match="do not tell mass, stiffness apart"):
        tf.identify(swing, [1.0, 3.0], tf.MixedGalerkin(2), 20, measured, names=["mass", "stiffness"])
    with pytest.raises(tf.InputError, match="gives 10 values, but 20"):
        tf.identify(swing, [1.0, 3.0], tf.MixedGalerkin(2), 20,
                    tf.Measurement(lambda b, t: b[0].q, times, np.ones((10, 2)), 0.01))
    with pytest.raises(tf.InputError, match="deviation must be positive"):
        tf.Measurement(lambda b, t: b[0].q, times, np.ones(10), 0.0)


# ---- bad input

def test_what_cannot_be_used_is_said_in_one_line():
    problem, _ = free("quaternion")()
    body, spring = problem.system.bodies[0], problem.system.parts[1]
    at = tf.Linearization(tf.solve(problem, tf.MixedGalerkin(1), 5))
    end = tf.EndValue(look)
    cases = [
        (end, tf.Parameter(body, "stiffness"), "a has no parameter 'stiffness'; it has mass, inertia"),
        (end, tf.Parameter(spring, "mass"), "it has point_a, point_b, stiffness, length"),
        (end, tf.Parameter(spring, "point_a", 3), "no entry 3; it has 0, 1, 2"),
        (end, tf.Parameter(spring, "stiffness", 0), "being a single number"),
        (end, tf.Parameter(body, "inertia", (0, 1)), "no entry"),
        (end, tf.Parameter(tf.PointMass(1.0), "mass"), "is not in the system; it has a, Spring 1"),
        (end, tf.Parameter(problem.system.parts[4], "time.phases"), r"it has value\[0\], .* time.amplitude"),
        (end, tf.Initial(body, "q", 0), "it has position, rotation, velocity, angular_velocity"),
        (end, tf.Initial(body, "position", 3), "components 0 to 2"),
        (end, [], "must be a Parameter"),
        (tf.EndValue(lambda b, t: b[0].position), tf.Parameter(body, "mass"), "one value, not 3"),
        (tf.EndValue(lambda b, t: b[0].nothing), tf.Parameter(body, "mass"), "failed on CasADi symbols"),
        (tf.EndValue(look, "b"), tf.Parameter(body, "mass"), "no body 'b'"),
        (tf.Values(look, [2.0]), tf.Parameter(body, "mass"), "time 2 lies outside"),
        (look, tf.Parameter(body, "mass"), "must be an EndValue, Values, Integral or Peak")]
    for functional, parameters, message in cases:
        with pytest.raises(tf.InputError, match=message) as error:
            tf.gradient(at, functional, parameters)
        assert "\n" not in str(error.value)
    with pytest.raises(tf.InputError, match="solution must be a Solution"):
        tf.gradient(problem, end, tf.Parameter(body, "mass"))
    with pytest.raises(tf.InputError, match="sharpness must not be zero"):
        tf.Peak(look, 0)


def test_solutions_without_sensitivities():
    problem = spinning_box(t_end=100)
    failed = tf.solve(problem, tf.MixedGalerkin(1), 5, newton=tf.Newton(max_iterations=2))
    assert not failed.success
    with pytest.raises(tf.InputError, match="the solution failed"):
        tf.gradient(failed, tf.EndValue(look), tf.Parameter("box", "mass"))
    windows = tf.solve(pendulum(t_end=1), tf.BubnovGalerkin(1), 20, driver="windows", window=5)
    with pytest.raises(tf.InputError, match="driver='global'"):
        tf.gradient(windows, tf.EndValue(look), tf.Parameter("pendulum", "mass"))
    box = tf.RigidBody(1, [1, 2, 2.5], name="box")
    ends = tf.BoundaryValueProblem(tf.System([box]), (0, 1), {box: tf.Pose()}, {box: tf.Pose([1, 0, 0])})
    copied = pickle.loads(pickle.dumps(tf.solve(ends, tf.MixedGalerkin(1), 5)))  # which knows no problem
    with pytest.raises(tf.InputError, match="does not know what was prescribed at its ends"):
        tf.gradient(copied, tf.EndValue(look), tf.Parameter("box", "mass"))


def test_what_parts_see_is_found_once_for_all_parameters(monkeypatch):
    """And a table with many entries is no array of expressions: a gradient by a thousand numbers took seconds."""
    calls, own = [], map_module.sees
    monkeypatch.setattr(map_module, "sees", lambda part: calls.append(part) or own(part))
    bodies = [tf.PointMass(1.0 + i) for i in range(6)]
    system = tf.System([*bodies, *(tf.Spring(body, stiffness=10.0, length=0.5) for body in bodies)])
    problem = tf.InitialValueProblem(system, {body: tf.Pose((1, i, 0)) for i, body in enumerate(bodies)}, (0, 0.1))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 2, progress=False)
    found = tf.gradient(sol, tf.EndValue(lambda b, t: b[0].position[0], bodies=[bodies[0]]),
                        [tf.Parameter(body, "mass") for body in bodies])
    assert np.count_nonzero(found) == 1 and len(calls) == len(set(calls)) == len(system.parts)


def test_names_as_on_the_command_line():
    """Functionals and parameters by name are those that the objects are."""
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    spring = tf.Spring(mass, None, (0, 0, 0), (0, 0, 0), 7.0, name="spring")
    system = tf.System([mass, spring])
    marched = tf.solve(tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0))}, (0, 1)), tf.MixedGalerkin(2), 5)
    held = tf.solve(tf.BoundaryValueProblem(system, (0, 1), {mass: tf.Pose((1, 0, 0))}, {mass: tf.Pose((0, 0, 0))}),
                    tf.MixedGalerkin(2), 5)
    place = tf.Integral(lambda bodies, t: bodies[0].position[0], mass)
    numbers = [tf.Parameter(spring, "stiffness"), tf.Initial(mass, "position", 0)]
    texts = ["spring.stiffness", "start:mass.position[0]"]
    for solution in (marched, held):
        wanted = tf.gradient(solution, place, numbers)
        for given in (texts, [texts[0], numbers[1]]):
            np.testing.assert_array_equal(tf.gradient(solution, "integral:mass.position[0]", given), wanted)
        rows = tf.sensitivities(solution, [place, "end:mass.velocity"], texts[0])
        assert rows.shape == (4, 1) and abs(rows[0, 0] - wanted[0]) < 1e-12 * abs(wanted[0])
    with pytest.raises(tf.InputError, match=r"spring.*stiffness"):
        tf.gradient(marched, place, "spring.stifness")
    with pytest.raises(tf.InputError, match="one value, not 3"):
        tf.gradient(marched, "end:mass.velocity", texts)
