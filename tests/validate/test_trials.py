"""What people try: wrong types, units and sizes end in one line that names the thing."""

import warnings

import numpy as np
import pytest

import timefem as tf
from timefem.errors import SuspectUnits
from timefem.validate import memory

pytestmark = pytest.mark.long


def problem():
    body = tf.RigidBody(1.0, [1.0, 1.0, 1.0])
    return tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[1, 2, 3])}, (0, 1))


def test_a_number_is_no_name_of_a_file():
    sol = tf.solve(problem(), tf.MixedGalerkin(1), 4, progress=False)
    for write in (sol.save, sol.to_csv, sol.to_json, sol.to_vtk, tf.load, tf.restart):
        with pytest.raises(tf.InputError, match="the name of a file must be a text, not 5"):
            write(5)


def test_guesses_that_raise():
    def raises(t):
        raise KeyError("speed")

    for guess, message in ((raises, r"guess raised KeyError \('speed'\); it must take an array of times"),
                           (lambda t: t, r"guess\(t\) must have shape \(12, 14\)"),
                           (lambda t: "z", r"guess\(t\) must be an array of numbers"), (5, "guess must have shape")):
        with pytest.raises(tf.InputError, match=message):
            tf.solve(problem(), tf.MixedGalerkin(2), 4, driver=tf.Global(), guess=guess, progress=False)


def test_memory_is_asked_before_a_mesh_is_made(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda unknown: 10**6)
    with pytest.raises(tf.InputError, match=r"the solution on 10000 elements needs .* GiB of memory"):
        tf.solve(problem(), tf.MixedGalerkin(1), 10_000, progress=False)


@pytest.mark.parametrize("factor, said", [(1e-3, "1e-3"), (1e3, "1e+3"), (1e-9, "1e-9"), (1.0, None), (30.0, None)])
@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_slips_of_units(factor, said, rotation):
    size, mass = np.array([0.3, 0.2, 0.1]), 2.0
    inertia = mass / 12 * (size @ size - size**2)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tf.RigidBody(mass, factor * inertia, rotation, size=size, name="box")
    assert [w.category for w in found] == [SuspectUnits] * bool(said)
    assert all(str(w.message).startswith("RigidBody") for w in found)  # as users call it
    if said:
        assert f"'box': the inertia is {said} times that of a box of its mass and size" in str(found[0].message)
