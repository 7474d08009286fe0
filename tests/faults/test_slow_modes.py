"""Modes that are slow beside others are no zeros: those are zero by structure."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.slow

E, DENSITY = 2e11, 7800
POINTS = {"point_a": (0, 0, 0), "point_b": (0, 0, 0)}


def beam(radius, length, n_elements):
    section = tf.Section.circle(E=E, nu=0.3, density=DENSITY, radius=radius)
    return tf.Beam(length, section, n_elements, degree=3, name="beam")


AXES = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0)}
HELD = {"clamped": (0, 1.875104068711961, lambda node: [tf.Weld(node, **POINTS)]),
        "free": (12, 4.730040744862704, lambda node: []),
        "hinged": (2, 3.926602312047919, lambda node: [tf.Revolute(node, **POINTS, **AXES)])}


@pytest.mark.parametrize("held, radius, length, n", [
    ("clamped", 1e-4, 1.0, 3), ("clamped", 0.06, 1000.0, 10), ("clamped", 5e-4, 10.0, 8), ("free", 1e-4, 1.0, 3),
    ("free", 5e-4, 10.0, 8), ("hinged", 5e-4, 10.0, 8)])
def test_slow_modes_of_slender_beams(fault, held, radius, length, n):
    n_zero, factor, joints = HELD[held]
    part = beam(radius, length, n)
    modes = tf.modes(tf.System([part, *joints(part.start)]))
    exact = (factor / length)**2 * np.sqrt(E / DENSITY) * radius / 2
    found = 2 * np.pi * modes.frequencies
    fault(f"{held} beam, {radius:g} m in {length:g} m", exact, found[np.abs(found - exact).argmin()], rtol=2e-3)
    fault(f"{held} beam, zero by structure", n_zero, modes.n_neutral)


@pytest.mark.parametrize("radius", [1e-2, 1e-4, 2e-5])
@pytest.mark.parametrize("load", [0.8, 1.2])
def test_columns_beside_the_load_of_euler(fault, radius, load):
    part = beam(radius, 1.0, 3)
    critical = np.pi**2 / 4 * E * np.pi * radius**4 / 4
    system = tf.System([part, tf.Weld(part.start, **POINTS), tf.Force(part.end, (-load * critical, 0, 0))])
    model = tf.linearize(system, tf.equilibrium(system))
    fault(f"unstable at {load:g} of Euler's load, {radius:g} m", 2 * (load > 1), model.n_unstable)


def test_a_slow_mass_beside_stiff_ones(fault):
    """1e-14 of the fastest one."""
    masses = [tf.PointMass(1.0, dimension=1, name=f"mass {i}") for i in range(3)]
    springs = [tf.Spring(masses[0], None, stiffness=1e14), tf.Spring(masses[1], masses[0], stiffness=1e10),
               tf.Spring(masses[2], None, stiffness=1e-14)]
    modes = tf.modes(tf.System([*masses, *springs]))
    fault("slow mass", (1e-7, 0), (2 * np.pi * modes[0].frequency, modes.n_neutral))
