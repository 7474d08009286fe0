"""Derivatives by the numbers of sections, against differences of whole solutions."""

from dataclasses import replace

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

SECTION = tf.Section(EA=100.0, GA=(80.0, 90.0), GJ=1.5, EI=(1.0, 2.0), mass=2.0, inertia=(0.3, 0.2, 0.15), damping=0.01)


def solved(section, rotation="quaternion", mass="lumped"):
    beam = tf.Beam(1.0, section, 1, 2, rotation, mass=mass, name="arm")
    parts = [beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.Force(beam.at(0.8), (1.0, 2.0, 3.0), frame="body"), tf.Torque(beam.end, (0.5, 0.2, 0.1)),
             tf.LineForce(beam, (0, 1, 0))]
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, -3, -9.81)), {}, (0, 0.4))
    element = tf.MixedGalerkin(1) if rotation == "quaternion" else tf.MixedGalerkin(1, form="energy")
    return tf.solve(problem, element, 20, progress=False)


FUNCTIONAL = tf.EndValue(lambda b, t: [b[0].position[0], b[0].position[1], b[0].position[2], b[1].position[1]],
                         ["arm.node[2]", "arm.at(0.3)"])
NAMES = [("EA", None), ("GA", 1), ("GJ", None), ("EI", 0), ("EI", 1), ("mass", None), ("inertia", 0), ("damping", None)]


def value(sol):
    return np.append(sol.position("arm.node[2]", 0.4), sol.position("arm.at(0.3)", 0.4)[1])


def by_differences(section, name, index, make):
    whole = getattr(section, name)
    at = whole if index is None else whole[index]
    step = 1e-3 * at

    def changed(x):
        new = x if index is None else tuple(x if i == index else v for i, v in enumerate(whole))
        return value(make(replace(section, **{name: new})))

    f = [changed(at + k * step) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def test_derivatives_by_all_numbers_of_a_section():
    sol = solved(SECTION)
    parameters = [tf.Parameter("arm", f"section.{name}", index) for name, index in NAMES]
    found = tf.sensitivities(sol, FUNCTIONAL, parameters)
    for column, (name, index) in zip(found.T, NAMES, strict=True):
        exact = by_differences(SECTION, name, index, solved)
        assert np.abs(exact).max() > 1e-7
        assert np.allclose(column, exact, rtol=0, atol=1e-6 * np.abs(exact).max() + 1e-9), (name, index)
    one = tf.EndValue(lambda b, t: b[0].position[1], "arm.node[2]")
    assert np.allclose(tf.gradient(sol, one, parameters), found[1], rtol=0, atol=1e-10)
    both = tf.sensitivities(sol, FUNCTIONAL, tf.Parameter("arm", "section.EI"))
    assert np.allclose(both, found[:, 3:5], rtol=0, atol=1e-12)


def test_singular_mass_is_refused():
    sol = solved(replace(SECTION, inertia=(0.35, 0.2, 0.15)), "directors", "consistent")
    with pytest.raises(tf.InputError, match=r"not offered for mass matrices that are singular .*use rotation='quater"):
        tf.sensitivities(sol, FUNCTIONAL, tf.Parameter("arm", "section.mass"))


def test_unknown_numbers_say_what_there_is():
    sol = solved(SECTION)
    with pytest.raises(tf.InputError, match=r"arm has no parameter 'section.E'; it has section.EA, section.GA,"):
        tf.sensitivities(sol, FUNCTIONAL, tf.Parameter("arm", "section.E"))
    with pytest.raises(tf.InputError, match=r"section.EA has no entry 0; it has none, being a single number"):
        tf.sensitivities(sol, FUNCTIONAL, tf.Parameter("arm", "section.EA", 0))
    undamped = solved(replace(SECTION, damping=0.0))
    with pytest.raises(tf.InputError, match=r"arm: .*section.damping"):
        tf.sensitivities(undamped, FUNCTIONAL, tf.Parameter("arm", "section.damping"))
