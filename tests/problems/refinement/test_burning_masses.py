"""Errors of a mass that burns are relative to what burns, so that refinement ends where the motion is resolved."""

import numpy as np
import pytest

import timefem as tf
from timefem.solvers.march.motion import size_of_motion


def descent(mass=1905.0):
    """A lander on Mars, with a glide slope of 4 degrees (Acikmese and Ploen), from 2 km beside and 1.5 km above."""
    most, slope = 0.8 * 6 * 3100 * np.cos(np.deg2rad(27)), np.tan(np.deg2rad(86))
    lander = tf.VariableMass(mass, dimension=2, name="lander")
    engine = tf.FormulaForce(lander, "[u[0] * cos(u[1]), u[0] * sin(u[1]), 0, -c[0] * u[0]]",
                             [1 / (225 * 9.807 * np.cos(np.deg2rad(27)))], 2, name="engine")
    glide = tf.Limit(lambda now, u: now.position(lander)[0] - slope * now.position(lander)[1], None, 0, name="slope")
    return tf.OptimalControl(
        tf.System([lander, engine], gravity=(0, -3.7114, 0)),
        {lander: tf.Pose((2000, 1500, 0), velocity=(100, -75, 0))},
        {lander: tf.EndState(position=(0, 0, None), velocity=(0, 0, None))}, (0, 75), free_time=True, limits=[glide],
        end_cost=f"{mass} - end.q('lander')[2]",
        bounds={engine: ((most * 3 / 8, -np.pi), (most, 2 * np.pi)), "duration": (30, 120)})


def test_the_size_of_a_mass_is_what_burns():
    system, t = descent().system, np.linspace(0, 75, 11)
    z = np.zeros((11, system.n_z))
    z[:, :3] = np.column_stack([2000 - 20 * t, 1500 - 10 * t, 1905 - 4 * t])
    z[:, 3:5] = z[:, 2:3] * [-20, -10]
    size = size_of_motion(system, t, z)
    assert size[2] == pytest.approx(300) and size[5] == np.inf


@pytest.mark.long
def test_a_descent_takes_few_elements():
    """3335 of them where errors of the mass were reported relative to 0.2 kg; the cost by a transcription in phases."""
    sol = tf.solve(descent(), tf.MixedGalerkin(2), 60, tolerance=1e-3, progress=False)
    assert sol.success and len(sol.t) < 150
    assert sol.objective == pytest.approx(398.073869, rel=1e-5)
