"""What elements keep on a free beam: energy, linear and angular momentum."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

SECTION = tf.Section(EA=400.0, GA=300.0, GJ=2.0, EI=(1.5, 2.0), mass=1.2, inertia=(0.35, 0.2, 0.3))
MOMENTUM, ENERGY, BOTH, NEITHER = "momentum", "energy", "both", "neither"
TABLE = [(tf.MixedGalerkin(1), ENERGY), (tf.MixedGalerkin(2), ENERGY), (tf.MixedGalerkin(2, n_points=2), MOMENTUM),
         (tf.MixedGalerkin(1, keep="all"), BOTH), (tf.MixedGalerkin(2, keep="all"), BOTH),
         (tf.MixedGalerkin(2, form="energy", keep="all"), BOTH), (tf.MixedGalerkin(2, form="impulse"), MOMENTUM),
         (tf.EML(), BOTH), (tf.REML(), BOTH), (tf.NullEML(), BOTH), (tf.EMH(), BOTH)]
QUATERNIONS = [(tf.EML(), BOTH), (tf.EMH(), BOTH),
               *(pytest.param(e, BOTH, marks=pytest.mark.slow) for e in (tf.REML(), tf.NullEML(), tf.NullEMH())),
               (tf.MixedGalerkin(2, n_points=2), MOMENTUM), (tf.MixedGalerkin(2, form="impulse"), MOMENTUM),
               (tf.MixedGalerkin(2), NEITHER), (tf.NewmarkSO3(), NEITHER)]


def name(value):
    if isinstance(value, str):
        return value
    return "-".join(map(str, (value.name, value.degree, value.n_points, getattr(value, "form", ""),
                              getattr(value, "keep", ""))))


def thrown(rotation, element, n_elements=40):
    """A free beam of one quadratic element that bends and turns."""
    beam = tf.Beam(1.0, SECTION, 1, 2, rotation, name="beam")

    def start(s):
        spin = np.array([0.5, 1, 2])
        x = np.array([s, 0, 0])
        return tf.Pose(x, velocity=(1, 0.5 + 0.8 * s**2, -0.3 - 0.5 * s) + np.cross(spin, x), angular_velocity=spin)

    problem = tf.InitialValueProblem(tf.System([beam]), {beam: start}, (0, 1))
    return tf.solve(problem, element, n_elements, progress=False)


def check(sol, kept):
    """Energy and momenta are kept to round-off where the table says so, and are not otherwise."""
    errors = sol.errors()
    energy = errors.get("generalized_energy", errors["energy"])
    assert sol.success and errors["configuration"] <= 1e-13
    assert (energy <= 1e-12) == (kept in (ENERGY, BOTH)) and energy <= 1e-2
    assert (errors["angular_momentum"] <= 1e-12) == (kept in (MOMENTUM, BOTH)) and errors["angular_momentum"] <= 1e-2
    assert np.ptp(sol.linear_momentum(), axis=0).max() <= 1e-13


@pytest.mark.parametrize("element, kept", TABLE, ids=name)
def test_what_is_kept_of_a_beam_in_directors(element, kept):
    check(thrown("directors", element), kept)


@pytest.mark.parametrize("element, kept", QUATERNIONS, ids=name)
def test_what_is_kept_of_a_beam_in_quaternions(element, kept):
    check(thrown("quaternion", element), kept)
