"""Sequences of contacts that are found: against the least cost of cubics between impacts."""

import numpy as np
import pytest
import scipy.optimize

import timefem as tf

G, E, HEIGHT, END = 9.81, 0.8, 0.5, 1.2


def bouncing():
    ball = tf.PointMass(1.0, 1, name="ball")
    floor = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=E, name="floor")
    system = tf.System([ball, floor], gravity=(-G, 0, 0))
    return ball, tf.InitialValueProblem(system, {ball: tf.Pose((HEIGHT, 0, 0))}, (0, END))


def effort(x, v, later, rate, t):
    """Integral of u^2 / 2 where x'' = u - g, from place and speed to others."""
    way, gain = later - x - v * t + G * t**2 / 2, rate - v + G * t
    return 6 * way**2 / t**3 - 6 * way * gain / t**2 + 2 * gain**2 / t


def least(n):
    """Of n impacts, by their times and speeds."""
    def total(w):
        lengths, speeds = [*w[:n], END - sum(w[:n])], [*-abs(w[n:]), 0.0]
        if min(lengths) <= 1e-3:
            return 1e9
        places, x, v, out = [0.0] * n + [HEIGHT], HEIGHT, 0.0, 0.0
        for t, later, rate in zip(lengths, places, speeds, strict=True):
            out, x, v = out + effort(x, v, later, rate, t), later, -E * rate
        return out
    starts = [[*[END / (n + 1) * share] * n, *[speed] * n] for share in (0.6, 1.0, 1.4) for speed in (1, 2, 3)]
    return min(scipy.optimize.minimize(total, start, method="Nelder-Mead", options={
        "xatol": 1e-10, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000}).fun for start in starts)


@pytest.mark.long
def test_sequences_of_impacts_are_found():
    """A ball is to be back at its height, at rest: with two impacts it costs least, others cost up to 20 times more."""
    ball, problem = bouncing()
    push = tf.ControlForce(ball, [(1, 0, 0)], name="push")
    end = {ball: tf.EndState(position=(HEIGHT, None, None), velocity=(0, None, None))}
    found = tf.contact_sequences(problem, push, tf.MixedGalerkin(2), 4, cost=tf.Effort(push), sizes=6.0, end=end,
                                 n_starts=12, progress=False)
    counts = [len(solution.statistics["sequence"]) for solution in found]
    assert counts[0] == 2 and sorted(counts) == [0, 1, 2, 3, 4]
    for n, solution in zip(counts, found, strict=True):
        bound = least(n) if n else effort(HEIGHT, 0, HEIGHT, 0, END)
        assert solution.objective > bound * (1 - 1e-8)
        assert solution.objective == pytest.approx(bound, rel=1e-8 if n != 1 else 0.02)  # with one impact: two minima
    assert found[0].statistics["starts"][0] == 0


def test_what_cannot_be_searched_says_so():
    ball, problem = bouncing()
    push = tf.ControlForce(ball, [(1, 0, 0)], name="push")
    given = {"cost": tf.Effort(push), "sizes": 1.0}
    with pytest.raises(TypeError, match="did you mean 'duration'"):
        tf.contact_sequences(problem, push, tf.MixedGalerkin(1), **given, duratoin="free")
    with pytest.raises(tf.InputError, match="actuators must be actuators"):
        tf.contact_sequences(problem, ball, tf.MixedGalerkin(1), **given)
    with pytest.raises(tf.InputError, match="actuators must be actuators"):
        tf.contact_sequences(problem, [], tf.MixedGalerkin(1), **given)
    for wrong, said in (({"sizes": {}}, "sizes must have one number for each"), ({"seed": -1}, "seed must be at least"),
                        ({"march_elements": 0}, "march_elements must be at least")):
        with pytest.raises(tf.InputError, match=said):
            tf.contact_sequences(problem, push, tf.MixedGalerkin(1), **given | wrong)
    free = tf.InitialValueProblem(tf.System([ball]), {ball: tf.Pose()}, (0, 1))
    with pytest.raises(tf.InputError, match="no rigid contacts"):
        tf.contact_sequences(free, push, tf.MixedGalerkin(1), **given)


@pytest.mark.long
def test_searches_that_find_nothing_say_so():
    """An end of a body that the system has not, which is no fault of a march, and one below a floor, whose name begins
    as that of links of turns."""
    ball, problem = bouncing()
    push, other = tf.ControlForce(ball, [(1, 0, 0)], name="push"), tf.PointMass(1.0, 1, name="other")
    given = {"cost": tf.Effort(push), "sizes": 1.0, "n_starts": 1, "march_elements": 20, "progress": False}
    with pytest.raises(tf.InputError, match=r"none of 1 marches becomes phases.*other"):
        tf.contact_sequences(problem, push, tf.MixedGalerkin(1), 2, end={other: tf.EndState()}, **given)
    floor = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=E, name="turnstile")
    turned = tf.InitialValueProblem(tf.System([ball, floor], gravity=(-G, 0, 0)), {ball: tf.Pose((HEIGHT, 0, 0))},
                                    (0, 0.65))
    below = {ball: tf.EndState(position=(-0.5, None, None))}
    with pytest.warns(tf.NotSolved, match="holds; tried were turnstile closes"):
        assert not tf.contact_sequences(turned, push, tf.MixedGalerkin(1), 2, end=below, **given)


@pytest.mark.long
def test_a_march_with_a_controller_is_handed_over_to_its_actuators():
    """The controller is left out, and its law by the time is the guess: what it did is found again where it is best."""
    ball, problem = bouncing()
    push = tf.ControlForce(ball, [(1, 0, 0)], name="push")
    drive = tf.Controller([push], lambda x, v, t, c: c[0] * (1 - t), parameters=[2.0])
    system = tf.System([*problem.system.parts, drive])
    driven = tf.InitialValueProblem(system, {ball: tf.Pose((HEIGHT, 0, 0))}, (0, 0.8))
    march = tf.solve(driven, tf.MixedGalerkin(2), 40, progress=False)
    end = march.position(ball, 0.8)[0], march.velocity(ball, 0.8)[0]
    phases = march.phases(end={ball: tf.EndState(position=(end[0], None, None), velocity=(end[1], None, None))},
                          actuators=push, cost=tf.Effort(push))
    assert not any("Controller" in repr(part) for phase in phases.phases for part in phase.system.parts)
    times = np.linspace(*phases.phases[1].t_span, 7)
    np.testing.assert_allclose(phases.guess[1].controls[push](times)[:, 0], 2 * (1 - times), rtol=1e-12)
    sol = tf.solve(phases, tf.MixedGalerkin(2), 6, progress=False)
    assert sol.success and sol.objective < 4 * (1 - 0.2**3) / 6
