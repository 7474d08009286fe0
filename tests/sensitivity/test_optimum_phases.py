"""Derivatives of optima in phases, against differences of optima that are solved again, and the same motion uncut."""

import numpy as np
import pytest

import timefem as tf

EXACT = tf.InteriorPoint(tolerance=1e-11)


def solved(problem, n=6):
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False, method=EXACT)
    assert sol.success, sol.status.message
    return sol


def hop(mass=1.0, weight=9.81, height=1.0, speed=0.0, goal=0.9, bound=1.5, restitution=0.8):
    """A ball that falls, bounces, and is to come higher up than it would by itself, in times that are free."""
    def phase(start, end):
        ball = tf.PointMass(mass, dimension=1, name="ball")
        push = tf.ControlForce(ball, [(1, 0, 0)], name="push")
        system = tf.System([ball, tf.Force(ball, (-weight, 0, 0), name="weight")])
        return tf.OptimalControl(system, {ball: start}, {ball: end}, (0, 0.5), "u[0]**2 + 0.1 * u[0]**4 + 2",
                                 actuators=push, free_time=True,
                                 bounds={push: (-10, bound), "duration": (0.01, 5)})

    def state(x, v):
        return tf.EndState(position=[x, None, None], velocity=[v, None, None])

    bounce = tf.Coupling(lambda before, after: after.rates("ball")[0] + restitution * before.rates("ball")[0])
    return tf.Phases([phase(tf.Pose((height, 0, 0), velocity=(speed, 0, 0)), state(0, None)),
                      phase(state(0, None), state(goal, 0))], [bounce], names=["down", "up"])


PARAMETERS = {
    "mass": tf.Parameter("ball", "mass"), "weight": tf.Parameter("weight", "value", 0),
    "height": tf.Initial("ball", "position", 0), "speed": tf.Initial("ball", "velocity", 0),
    "goal": tf.Final("ball", "position", 0), "restitution": tf.Family(lambda x: hop(restitution=x[0]), [0.8], ["e"])}


@pytest.mark.long
def test_derivatives_are_differences_of_new_optima():
    functionals = [tf.Objective(), tf.InPhase("down", tf.UnknownNumber("duration")),
                   tf.InPhase(1, tf.UnknownNumber("duration")),
                   tf.InPhase("up", tf.Integral(lambda b, t, u: b[0].q[0] * u[0]**2, actuators="push")),
                   tf.InPhase("down", tf.EndValue(lambda b, t: b[0].v)),
                   tf.EndValue(lambda b, t, u: u, actuators="push")]
    lin = tf.OptimumLinearization(solved(hop()))
    given = [*PARAMETERS.values(), tf.InPhase("up", tf.Bound("push", "upper"))]
    found = tf.sensitivities(lin, functionals, given)
    adjoint = [tf.gradient(lin, functional, given) for functional in functionals]
    np.testing.assert_allclose(adjoint, found, rtol=0, atol=1e-9 * np.abs(found).max())

    def values(name, x):
        other = tf.OptimumLinearization(solved(hop(**{name: x})))
        return np.concatenate([other.value(functional) for functional in functionals])

    defaults = dict(zip(hop.__code__.co_varnames, hop.__defaults__, strict=False))
    for column, name in zip(found.T, PARAMETERS, strict=False):
        x, sign = defaults[name], -1.0 if name == "weight" else 1.0
        h = 1e-4 * (abs(x) or 1.0)
        coarse, fine = ((values(name, x + s) - values(name, x - s)) / (2 * s) for s in (h, h / 2))
        expected = sign * (4 * fine - coarse) / 3
        assert np.abs(expected).max() > 1e-2, name
        np.testing.assert_allclose(column, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(), err_msg=name)


def pushed(cut, mass=2.0, span=1.5):
    """A block pushed over 1 m, in one phase, or in two of the same number of elements."""
    def phase(t, start, end):
        block = tf.PointMass(mass, dimension=1, name="block")
        force = tf.ControlForce(block, [(1, 0, 0)], name="force")
        return tf.OptimalControl(tf.System([block]), {block: start}, {block: end} if end else {}, (0, t),
                                 tf.Effort(force), bounds={force: (-6, 5)})

    start, end = tf.Pose(velocity=(0.1, 0, 0)), tf.Pose((1, 0, 0))
    if not cut:
        return phase(span, start, end)
    return tf.Phases([phase(span / 2, start, None), phase(span / 2, tf.EndState(), end)])


def test_a_motion_that_is_cut_has_the_derivatives_of_the_whole():
    whole, cut = solved(pushed(False), 12), solved(pushed(True), 6)
    force = tf.EndValue(lambda b, t, u: u, actuators="force")
    common = [tf.Parameter("block", "mass"), tf.Initial("block", "position", 0), tf.Initial("block", "velocity", 0),
              tf.Final("block", "position", 0)]
    for functional in (tf.Objective(), force):
        own = tf.gradient(whole, functional, common)
        assert np.abs(own).min() > 0.1
        np.testing.assert_allclose(tf.gradient(cut, functional, common), own, rtol=1e-7)
    at = tf.OptimumLinearization(cut)
    of_bounds = [sum(at.gradient(tf.Objective(), [tf.InPhase(k, tf.Bound("force", side)) for k in (0, 1)]))
                 for side in ("lower", "upper")]
    np.testing.assert_allclose(of_bounds, tf.gradient(whole, tf.Objective(), [
        tf.Bound("force", side) for side in ("lower", "upper")]), rtol=0, atol=1e-7 * np.abs(own).max())
    assert at.labels([tf.InPhase(1, tf.Bound("force", "upper")), common[0]]) == [
        "phase 1: upper bound of force[0]", "block.mass"]


@pytest.mark.parametrize("functional, parameter, message", [
    (tf.Objective(), tf.Bound("force", "upper"), "Bound: of which phase"),
    (tf.UnknownNumber("duration"), tf.Parameter("block", "mass"), "UnknownNumber: of which phase"),
    (tf.InPhase(0, tf.Objective()), tf.Parameter("block", "mass"), "of all phases together"),
    (tf.Objective(), tf.InPhase(2, tf.Parameter("block", "mass")), "2 is no phase; there are 0 to 1, phase 0, phase 1"),
    (tf.Objective(), tf.InPhase("last", tf.Parameter("block", "mass")), "'last' is no phase"),
    (tf.Objective(), tf.Parameter("rod", "mass"), "rod")])
def test_what_is_refused(functional, parameter, message):
    with pytest.raises(tf.InputError, match=message):
        tf.gradient(solved(pushed(True), 3), functional, parameter)


def test_one_problem_has_no_phases():
    sol = solved(pushed(False), 4)
    for functional, parameter in ((tf.Objective(), tf.InPhase(0, tf.Parameter("block", "mass"))),
                                  (tf.InPhase(0, tf.EndValue(lambda b, t: b[0].q)), tf.Parameter("block", "mass"))):
        with pytest.raises(tf.InputError, match="has no phases"):
            tf.gradient(sol, functional, parameter)
    loose = tf.PhasedSolution([sol], sol.objective, sol.status, {})
    with pytest.raises(tf.InputError, match="does not know its problem"):
        tf.gradient(loose, tf.Objective(), tf.Parameter("block", "mass"))
