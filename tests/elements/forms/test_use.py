"""Forms with drivers, kinds of problems, files and the command line."""

import json

import numpy as np
import pytest

import timefem as tf
from tests.elements.forms.form_systems import double_pendulum, mass_spring, point_pendulum
from tests.example_systems import assert_tangent_is_derivative, pendulum
from timefem.assembly import Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.elements_in_lanes import ElementBatch
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.march.march import LoopArrays

pytestmark = pytest.mark.long


def driven(t_end=0.5):
    """A damped body whose point is moved."""
    body = tf.RigidBody(2.0, [0.3, 0.2, 0.4], name="body")
    moved = tf.PrescribedPosition(body, [tf.Sine(0.1, 3.0), 0.0, 0.0], point=[0, 0, 0.5])
    damper = tf.Damper(body, point_a=(0.2, 0, 0), point_b=(1, 1, 0), damping=0.7)
    state = {body: tf.Pose(position=[0, 0, -0.5], angular_velocity=[1, 0.5, 0.2])}
    return tf.InitialValueProblem(tf.System([body, moved, damper], gravity=[0, 0, -9.81]), state, (0, t_end),
                                  assemble=True)


def rolling(t_end=0.5):
    return find_case("rolling-disc").make(t_end=t_end)


CASES = [(rolling, "energy")] + [(make, form) for make in (driven, lambda: pendulum("directors", 0.5), mass_spring)
         for form in ("impulse", "energy")] + [(double_pendulum, "lagrange")]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("make, form", CASES)
def test_tangent_and_drivers(make, form, k):
    problem, element = make(), tf.MixedGalerkin(k, form=form)
    assert_tangent_is_derivative(ElementBatch(problem.system, element), 0.1, 0.3, step=1e-6, atol=1e-8)
    march, windows, together = (tf.solve(problem, element, 12, driver=driver, progress=False, **options)
                                for driver, options in (("march", {}), ("windows", {"window": 5}), ("global", {})))
    size = np.abs(march.z).max()
    for other in (windows, together):
        np.testing.assert_allclose(other.z, march.z, rtol=0, atol=1e-11 * size)


def test_nonholonomic_constraints_in_the_energy_form():
    """The motion of Hamilton's form, to the order of the element; rolling keeps the energy, and links may roll, too."""
    problem, errors = rolling(), []
    for n in (10, 20):
        ours, other = (tf.solve(problem, tf.MixedGalerkin(2, form=form), n, progress=False)
                       for form in ("energy", "hamilton"))
        errors.append(np.abs(ours.z[-1] - other.z[-1]).max())
    assert errors[1] < 1e-4 and 3.5 < np.log2(errors[0] / errors[1]) < 4.6
    assert np.abs(ours.energy() - ours.energy()[0]).max() < 1e-5
    force = [sol.field("nonholonomic", 0.3)[:2] for sol in (ours, other)]
    np.testing.assert_allclose(*force, rtol=0, atol=0.02 * np.abs(force).max())


def test_lagrange_form_marches_with_the_coordinates_alone():
    """The momenta are explicit: they take no part in the elimination."""
    problem, k = double_pendulum(), 3
    element = tf.MixedGalerkin(k, form="lagrange")
    scaling = Scaling.of("full", problem.system, element, 0.0, problem.z0)
    fronts = LoopArrays(ElementPlan(problem.system, element), scaling).record.fronts
    assert fronts.fronts["n_own"].sum() == k * problem.system.n_q


@pytest.mark.parametrize("form", ["impulse", "energy"])
@pytest.mark.parametrize("name, cap", [("reorientation", 1e-5), ("pendulum-boundary", 5e-5)])
def test_boundary_values(name, cap, form):
    problem = find_case(name).make(rotation="quaternion")
    ours, other = (tf.solve(problem, tf.MixedGalerkin(2, form=f), 12, progress=False) for f in (form, "hamilton"))
    n = problem.system.n_q
    assert ours.success and np.abs(ours.z - other.z)[:, :n].max() < cap


@pytest.mark.parametrize("form", ["impulse", "energy"])
def test_optimal_control(form):
    """The cost 2738.682727 of the reorientation, with order 4."""
    problem = find_case("reorientation-effort").make(rotation="quaternion")
    costs = [tf.solve(problem, tf.MixedGalerkin(2, form=form), n, progress=False).objective for n in (12, 24)]
    errors = np.abs(np.array(costs) - 2738.682727)
    assert errors[1] < 0.1 and errors[0] / errors[1] > 8


@pytest.mark.parametrize("form", ["impulse", "energy"])
def test_gradient(form):
    def solve(length):
        mass = tf.PointMass(1.5, dimension=2, name="mass")
        spring = tf.Spring(mass, None, stiffness=40.0, length=length)
        rod = tf.RigidDistance(mass, None, point_b=(0.5, 0, 0), length=np.hypot(0.5, 1.0))
        system = tf.System([mass, spring, rod])
        problem = tf.InitialValueProblem(system, {mass: tf.Pose([0, -1, 0], velocity=[1, -0.5, 0])}, (0, 0.5))
        return spring, tf.solve(problem, tf.MixedGalerkin(2, form=form), 10, progress=False)

    spring, sol = solve(0.7)
    functional = tf.EndValue(lambda views, t: views[0].position[0])
    gradient = tf.gradient(tf.Linearization(sol), functional, [tf.Parameter(spring, "length")])
    ends = [solve(0.7 + h)[1].z[-1, 0] for h in (1e-4, -1e-4)]
    assert gradient[0] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-6)


def test_files(tmp_path):
    for form in ("impulse", "energy"):
        sol = tf.solve(point_pendulum(), tf.MixedGalerkin(2, form=form), 5, progress=False)
        sol.save(tmp_path / "solution.h5")
        loaded = tf.load(tmp_path / "solution.h5")
        assert loaded.element == sol.element
        np.testing.assert_array_equal(loaded.z, sol.z)
        np.testing.assert_array_equal(loaded.field("velocity"), sol.field("velocity"))


def test_tolerance():
    problem = point_pendulum(0.5)
    for form, driver in (("energy", "march"), ("impulse", "global")):
        sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), tolerance=1e-6, driver=driver, progress=False)
        exact = tf.solve(problem, tf.MixedGalerkin(3), 60, progress=False)
        assert sol.success and np.abs(sol.z[-1] - exact.z[-1]).max() < 1e-5
    with pytest.raises(tf.InputError, match="use MixedGalerkin with form='hamilton' or form='energy'"):
        tf.solve(problem, tf.MixedGalerkin(2, form="impulse"), tolerance=1e-6, progress=False)


def test_command_line_and_model_file(timefem, tmp_path):
    status, out, _ = timefem("run", "mass-spring", "--form", "energy", "--n-elements", 50, "--json")
    result = json.loads(out)
    assert status == 0 and result["form"] == "energy" and result["energy_error_max"] < 1e-13
    status, _, err = timefem("run", "mass-spring", "--element", "eml", "--form", "energy")
    assert status == 2 and "--form belongs to --element mg" in err
    model = tmp_path / "mass.toml"
    model.write_text("""
[time]
span = [0, 1]
n_elements = 4
[bodies.mass]
type = "point"
mass = 2.0
velocity = [1, 0, 0]
[solver]
form = "lagrange"
degree = 2
""")
    status, out, err = timefem("run", model, "--json")
    assert status == 0, err
    assert json.loads(out)["form"] == "lagrange"


@pytest.mark.parametrize("options, message", [
    ({"form": "newton"}, "form"), ({"keep": "none"}, "keep"), ({"keep": "all", "n_points": 4}, "n_points = degree")])
def test_bad_input(options, message):
    with pytest.raises(tf.InputError, match=message):
        tf.MixedGalerkin(2, **options)


def test_what_is_refused():
    tied = tf.GeneralizedSystem(2, lambda q, v, c: v[0]**2 / 2, lambda q, c: q[1]**2, lambda q, c: q[1] - q[0])
    tied = tf.InitialValueProblem(tied, tf.Coordinates([1.0, 1.0], [0.0, 0.0]), (0, 1))
    with pytest.raises(tf.InputError, match=r"form='lagrange' takes no constraints \('rod.*use form='impulse' or"):
        tf.solve(point_pendulum(), tf.MixedGalerkin(2, form="lagrange"), 5)
    with pytest.raises(tf.InputError, match=r"singular mass matrix, and mg needs its inverse; use .*form='energy'"):
        tf.solve(tied, tf.MixedGalerkin(2), 5)
    assert tf.solve(tied, tf.MixedGalerkin(2, form="energy"), 5, progress=False).success
    rolling = find_case("rolling-disc").make()
    with pytest.raises(tf.InputError, match=r"form='impulse' does not take nonholonomic constraints .*form='hamilton'"):
        tf.solve(rolling, tf.MixedGalerkin(2, form="impulse"), 5)
    crane = find_case("trolley-crane").make()
    with pytest.raises(tf.InputError, match="inverse dynamics takes MixedGalerkin with form='hamilton'"):
        tf.solve(crane, tf.MixedGalerkin(2, form="energy"), 5)
