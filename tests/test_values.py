"""Values that would be converted silently, that overflow when squared, or that no memory can hold."""

import os
import resource
from datetime import datetime

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import spinning_box
from timefem import validate
from timefem.models import load_model
from timefem.validate import check_memory, free_memory


@pytest.mark.parametrize("value, message", [
    (np.ones(3) + 0j, "must be real, but is complex"), ([1, 2, 3j], "must be real, but is complex"),
    (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), "masked array"), (np.zeros(3, "datetime64[s]"), "not dates"),
    (np.zeros(3, "timedelta64[s]"), "not dates"), ([1, 2, 1e50], "at most 1e.40, but contains 1e.50"),
    ([1, 2, np.nan], "finite"), ([datetime(2020, 1, 1)] * 3, "array of numbers"),
    (["1", 2, 3], "array of numbers"), (np.array([1, 2, "3"], object), "array of numbers"),
    (np.array(["1", "2", "3"]), "array of numbers"), ([[1, b"2", 3]], "array of numbers")])
def test_arrays(value, message):
    with pytest.raises(tf.InputError, match=message):
        validate.array("size", value, (3,))
    with pytest.raises(tf.InputError):
        tf.RigidBody(1, value, name="box")


@pytest.mark.parametrize("value, message", [
    (1 + 0j, "complex"), (np.complex128(2), "complex"), (np.timedelta64(5, "s"), "not dates"), (1e155, "at most 1e.40"),
    (np.ma.masked, "masked"), (np.ma.array(2.0), "masked"), ("2", "a number, not '2'"), (b"2", "a number, not b'2'")])
def test_numbers(value, message):
    with pytest.raises(tf.InputError, match=message):
        validate.real("mass", value)
    with pytest.raises(tf.InputError):
        tf.PointMass(value)


def test_numbers_that_are_fine():
    assert validate.real("mass", np.float32(2)) == 2 and validate.real("mass", 2e30) == 2e30
    assert validate.array("x", [np.int8(1), 2.0, True], (3,)).tolist() == [1, 2, 1]


@pytest.mark.parametrize("n", [10**12, 10**10])
def test_more_elements_than_memory(n):
    with pytest.raises(tf.InputError, match=rf"(a mesh of|the solution on) {n} elements needs .* GiB of memory"):
        tf.solve(spinning_box(), tf.MixedGalerkin(1), n)


def test_the_limit_of_the_process_counts():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, before[1]))
        assert free_memory() <= 2**28
        with pytest.raises(tf.InputError, match="the plan needs 1 GiB of memory, and"):
            check_memory("the plan", 2**30)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_models_from_pipes_and_editors(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(tf.InputError, match="not a regular file"):
        load_model(tmp_path / "pipe.toml")
    with open("examples/models/heavy_top.toml", encoding="utf-8") as file:
        text = file.read()
    (tmp_path / "top.toml").write_text("\ufeff" + text, encoding="utf-8")
    assert load_model(tmp_path / "top.toml").system.bodies
