"""Input of optimal control that cannot be used, or would have been ignored."""

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError

pytestmark = pytest.mark.long

mass = tf.PointMass(1.0, dimension=1, name="mass")
push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
REST = tf.EndState(position=[1, None, None], velocity=[0, None, None])


def problem(end=REST, **options):
    options = {"cost": tf.Effort(push), "bounds": {push: (-6, 6)}} | options
    return tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: end} if end else {}, (0, 2), **options)


@pytest.mark.parametrize("make, message", [
    (lambda: tf.EndState(position=(np.nan, None, None)), "position must be an array of 3 numbers, or None"),
    (lambda: tf.EndState(q=[1.0, np.nan]), "q must be an array of 2 numbers, or None"),
    (lambda: problem(tf.EndState(position=(1, 1, 0))), r"end of mass: position \[1, 1, 0\] leaves the first 1 "),
    (lambda: problem(tf.EndState(velocity=(1, None, 2))), "end of mass: velocity .* leaves the first 1 axes"),
    (lambda: tf.Guess(times=[0, 1]), "times belong to states or controls that are arrays"),
    (lambda: tf.Guess(times=[0, 1], controls={"push": 3.0}), "times belong to states or controls that are arrays"),
    (lambda: problem(cost="u[0]**2", bounds=None), "'u' has no entries; give actuators"),
    (lambda: problem(limits=tf.Limit("u[3]", 0, 1)), "'u' has 1 entries"),
    (lambda: problem(None, end_conditions="sqrt(-1 - end.q('mass')[0]**2)"), r"end_conditions\[0\] is not finite"),
    (lambda: tf.Limit("velocity('mass')[0]", 0, 1), r"of a motion it is now.velocity\(...\)"),
    (lambda: tf.Limit("now.velocity(mass)[0]", 0, 1), r"have their names in quotes, now.q\('body'\)"),
])
def test_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("options, message", [
    ({"newton": tf.Newton(tol_residual=1e-3)}, r"tol_residual belongs to Newton.s .*timefem.InteriorPoint\(tolerance="),
    ({"newton": tf.Newton(tol_increment=1e-3), "method": "ipopt"}, r"tol_increment .*timefem.Ipopt\(tolerance="),
    ({"method": tf.Ipopt(options={"foo": 1})}, "Ipopt: options {'foo': 1}: No such IPOPT option: foo"),
    ({"method": tf.Fatrop(options={"foo": 1})}, "Fatrop: options {'foo': 1}: Fatrop option not supported: foo"),
])
def test_options_of_solves(options, message):
    with pytest.raises(InputError, match=message):
        tf.solve(problem(), tf.MixedGalerkin(1), 5, progress=False, **options)


def test_conditions_without_a_derivative_at_the_guess():
    """The length of a way that is zero at the start: no derivative there, but everywhere else."""
    found = tf.solve(problem({}, end_conditions="sqrt(end.q('mass')[0]**2) - 1", bounds=None), tf.MixedGalerkin(2), 10,
                     progress=False)
    assert found.success and found.objective == pytest.approx(3 / 2 / 2**3, rel=1e-6)


def test_starts_belong_to_solve_all():
    with pytest.raises(TypeError, match=r"n_starts belongs to solve_all\(\)"):
        tf.solve(problem(), tf.MixedGalerkin(1), 5, n_starts=3)


@pytest.mark.parametrize("phases", [False, True])
def test_the_most_iterations_count_for_all_methods(phases):
    given = tf.Phases([problem(), problem()], [tf.Coupling("after.rates('mass') - before.rates('mass')")]) if phases \
        else problem()
    sol = tf.solve(given, tf.MixedGalerkin(1), 5, newton=tf.Newton(max_iterations=2), progress=False)
    assert sol.status.reason == "not converged" and sol.statistics["newton_iterations"]["max"] <= 20
    assert "another guess, more elements, more iterations, or another method" in sol.status.message


def test_bounds_that_are_equal_prescribe_a_control():
    body = tf.PointMass(1.0, dimension=2, name="body")
    force = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)], name="force")
    problem = tf.OptimalControl(tf.System([body, force]), {body: tf.Pose()},
                                {body: tf.EndState(position=(None, 1.0, None))}, (0, 1), cost=tf.Effort(force),
                                bounds={force: ((0.5, -9), (0.5, 9))})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False)
    assert abs(sol.objective - 1.5 - 0.125) < 1e-9 and abs(sol.position(body, 1.0)[0] - 0.25) < 1e-9


@pytest.mark.parametrize("options, message", [
    ({"cost": lambda now: 1.0}, r"cost must be a function of \(now, u\), not of \(now\)"),
    ({"limits": tf.Limit(lambda: 1, 0, 5)}, r"limit: formula must be a function of \(now, u\), not of \(\)"),
    ({"end_conditions": lambda end: 1}, r"end_conditions must be a function of \(end, parameters\), not of \(end\)")])
def test_functions_of_other_arguments_are_told_which(options, message):
    body = tf.PointMass(1.0, dimension=2, name="body")
    force = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)], name="force")
    with pytest.raises(InputError, match=message):
        tf.solve(tf.OptimalControl(tf.System([body, force]), {body: tf.Pose()},
                                   {body: tf.EndState(position=(None, 1.0, None))}, (0, 1),
                                   **{"cost": tf.Effort(force)} | options), tf.MixedGalerkin(2), 5, progress=False)


@pytest.mark.parametrize("make, message", [
    (lambda: {"guess": lambda a, b: 1}, r"guess must be a function of \(t\), not of \(a, b\)"),
    (lambda: {"guess": tf.Guess(rollout=lambda t: 1)}, r"rollout must be a function of \(t, q, v\), not of \(t\)")])
def test_guesses_of_other_arguments_are_told_which(make, message):
    with pytest.raises(InputError, match=message):
        tf.solve(problem(), tf.MixedGalerkin(1), 5, progress=False, **make())


def test_forces_of_other_arguments_are_told_which():
    with pytest.raises(InputError, match=r"must be a function of \(f, t, c\), not of \(f, t\)"):
        tf.FormulaForce(tf.PointMass(1.0), lambda f, t: [0, 0, 0])
