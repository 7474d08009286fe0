"""Targets that weak controls reach by swings, in a time that is to be found."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.problems.optimal.guesses.guess import swung

pytestmark = pytest.mark.long


def pendulum(torque, span=5, **options):
    """A bob of 1 kg at 1 m, which a motor turns up from rest in least time."""
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: -9.81 * ca.cos(q[0]))
    body = system.bodies[0]
    motor = tf.GeneralizedControl(body, [[1.0]], name="motor")
    return tf.OptimalControl(
        system, tf.Coordinates([0]), {body: tf.Coordinates([np.pi], [0])}, (0, span), actuators=motor,
        **({"free_time": True, "bounds": {motor: (-torque, torque), "duration": (0.1, 100)},
            "end_cost": lambda end, parameters: parameters["duration"]} | options))


@pytest.mark.parametrize(("n", "span", "objective"), [(20, 5, 5.748147), (40, 2, 5.714880), (60, 5, 5.712280)])
def test_a_pendulum_too_heavy_for_its_motor(n, span, objective):
    """2 Nm hold it at 12 degrees: four swings. IPOPT finds a motion on one of two meshes."""
    sol = tf.solve(pendulum(2.0, span), tf.MixedGalerkin(2), n, progress=False)
    assert sol.success and sol.objective == pytest.approx(objective, rel=1e-5)
    u = sol.fields["controls"][..., 0]
    assert np.abs(u).max() <= 2 * (1 + 1e-6) and np.abs(np.abs(u) - 2).mean() < 0.1


def test_energy_is_put_in_until_there_is_enough():
    problem = pendulum(2.0)
    guess = swung(problem)
    z, controls, duration = guess.motion, guess.controls, guess.duration
    t = guess.times * (duration / 5)
    energy = problem.system.hamiltonian(t, z)
    assert guess.times[-1] == pytest.approx(5) and energy[-1] == pytest.approx(9.81, rel=0.05) and energy[0] == -9.81
    np.testing.assert_allclose(np.diff(energy), np.diff(t) * (controls * z[:, 1:])[:-1, 0], atol=0.05)
    assert (np.abs(controls) <= 2).all() and (np.diff(energy) > -1e-3).all()


def test_where_it_is_of_no_use():
    down = pendulum(2.0)
    effort = "sumsqr(now.control('motor'))"
    fixed = pendulum(2.0, free_time=False, bounds={}, end_cost=None, cost=effort)
    assert swung(fixed) is None
    with pytest.raises(tf.InputError, match="Guess: duration is for problems with free_time=True"):
        tf.solve(fixed, tf.MixedGalerkin(2), 10, guess=tf.Guess(duration=1.0), progress=False)
    body = down.system.bodies[0]
    assert swung(pendulum(2.0, free_time=True, bounds={"duration": (0.1, 1.0)}, cost=effort)) is None  # no others
    level = tf.OptimalControl(down.system, tf.Coordinates([0]), {body: tf.Coordinates([0.0], [0])}, (0, 2),
                              actuators=down.actuators, end_cost="parameters['duration']", free_time=True,
                              bounds={down.actuators[0]: (-2, 2)})
    assert swung(level) is None


def test_a_guess_of_the_duration():
    problem, element = pendulum(20.0), tf.MixedGalerkin(2)
    sol = tf.solve(problem, element, 20, guess=tf.Guess(duration=1.0), progress=False)
    assert sol.success
    with pytest.raises(tf.InputError, match="Guess: duration must be positive"):
        tf.Guess(duration=-1.0)
