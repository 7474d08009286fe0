"""Prepared solvers change beams and what is spread along them, one after the other."""

import itertools

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT, N = tf.MixedGalerkin(2), 6
CHANGES = {"arm.section.EI": 12.0, "arm.section.mass": 0.7, "line.value[1]": 0.8, "line.time.amplitude": 2.0,
           "tip.value": (0, 1, 0)}


def problem(changes=()):
    """A clamped beam with a force along it, and one at its end."""
    of = {"arm.section.EI": 10.0, "arm.section.mass": 0.5, "line.value[1]": 0.3, "line.time.amplitude": 1.0,
          "tip.value": (0, 0.5, -1)} | dict(changes)
    section = tf.Section(EA=1e4, GA=5e3, GJ=8.0, EI=of["arm.section.EI"], mass=of["arm.section.mass"],
                         inertia=(1e-3, 5e-4, 5e-4))
    beam = tf.Beam(1.0, section, n_elements=2, degree=2, name="arm")
    parts = [beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.Force(beam.end, of["tip.value"], name="tip"),
             tf.LineForce(beam, (0, of["line.value[1]"], -2), time=tf.Sine(of["line.time.amplitude"], 2), name="line")]
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {}, (0, 0.1))


def check(found, changes):
    fresh = tf.solve(problem(changes), ELEMENT, N)
    assert found.success and fresh.success
    np.testing.assert_allclose(found.z, fresh.z, rtol=0, atol=1e-11 * np.abs(fresh.z).max())


@pytest.mark.parametrize("name", CHANGES)
def test_each(name):
    check(tf.prepare(problem(), ELEMENT, N).solve(parameters={name: CHANGES[name]}), {name: CHANGES[name]})


@pytest.mark.parametrize("first, second", [
    *itertools.permutations(["arm.section.EI", "line.value[1]", "tip.value"], 2)])
def test_of_a_changed_problem(first, second):
    once = tf.prepare(problem(), ELEMENT, N).changed(parameters={first: CHANGES[first]})
    twice = tf.prepare(once, ELEMENT, N).changed(parameters={second: CHANGES[second]})
    found = tf.prepare(twice, ELEMENT, N).solve(parameters={"arm.section.mass": 0.7})
    check(found, {name: CHANGES[name] for name in (first, second, "arm.section.mass")})


def test_what_a_load_cannot_be():
    with pytest.raises(tf.InputError, match="line"):
        tf.prepare(problem(), ELEMENT, N).solve(parameters={"line.value": (1, 2)})
    with pytest.raises(tf.InputError, match="line"):
        tf.prepare(problem(), ELEMENT, N).solve(parameters={"line.value[1]": np.nan})
