"""Declarations of options: one for the objects, the command line and model files."""

import dataclasses
import warnings

import numpy as np
import pytest

import timefem as tf
from timefem import validate
from timefem.cli.options import run
from timefem.elements.element import ELEMENTS
from timefem.errors import InputError, SuspectUnits
from timefem.models.schema import schema
from timefem.problems.initial.drivers import DRIVERS
from timefem.problems.kinds import KINDS
from timefem.solvers.linear import LINEAR_SOLVERS
from timefem.validate.options import FORMS, METHODS, OPTIONS, PETSC_METHODS, in_words, said, said_any, spelt, spelt_as

pytestmark = pytest.mark.long


def test_model_files_take_what_is_declared():
    stated = schema()["properties"]["solver"]["properties"]
    by_table = stated["element"]["then"]["properties"]["name"]
    assert stated["element"]["else"]["enum"] == by_table["enum"] == list(ELEMENTS)
    assert stated.keys() - {"element"} == {name for name, option in OPTIONS.items() if option.in_files}
    assert stated["degree"]["maximum"] == 12 and stated["drop"]["enum"] == ["start", "end"]


def test_the_command_line_takes_what_is_declared():
    assert {option.argument for option in OPTIONS.values()} <= set(run.__signature__.parameters)


def test_declared_names_are_those_of_the_tables():
    assert OPTIONS["driver"].choices == tuple(DRIVERS)
    assert OPTIONS["backend"].choices is LINEAR_SOLVERS
    assert OPTIONS["form"].choices is FORMS
    assert set(OPTIONS["method"].choices) == {*METHODS, *PETSC_METHODS, "chain"}
    assert set(OPTIONS["guess"].choices) == {guess for kind in KINDS.values() for guess in kind.guesses}


def test_files_take_linear_solvers_of_users(monkeypatch):
    with pytest.raises(tf.InputError, match=r"backend must be .*not 'banded'"):
        OPTIONS["backend"].check("banded")
    monkeypatch.setitem(LINEAR_SOLVERS, "banded", tf.SuperLU)
    assert OPTIONS["backend"].check("banded") == "banded" and "banded" in OPTIONS["backend"].schema["enum"]


@pytest.mark.parametrize("cls", [tf.MixedGalerkin, tf.BubnovGalerkin, tf.Newton, tf.March, tf.Windows, tf.Global])
def test_objects_take_fields_from_declarations(cls):
    for f in dataclasses.fields(cls):
        if f.name in OPTIONS:
            assert f.metadata["option"] is OPTIONS[f.name], f.name
            if OPTIONS[f.name].default is not None and f.default is not None:  # None: what fits a system
                assert f.default == OPTIONS[f.name].default


def test_parsing():
    assert OPTIONS["window"].parse("auto") == "auto" and OPTIONS["window"].parse("5") == 5
    with pytest.raises(InputError, match="--window must be an integer or auto, not 'x'"):
        OPTIONS["window"].parse("x")


def test_spellings():
    assert said("line_search") == "line_search=True" and said("driver", "global") == "driver='global'"
    with spelt_as("options"):
        assert said("line_search") == "--line-search" and spelt("n_points") == "--points"
        assert said_any("element", ("mg", "bg")) == "--element mg and bg"
        assert in_words("use {line_search=True} or {continuation}") == "use --line-search or --follow"
    with spelt_as("file"):
        assert said("line_search") == "line_search = true" and said("driver", "global") == 'driver = "global"'
    assert in_words("{continuation}") == "timefem.continuation"


def test_limits_of_options_hold_on_the_command_line(timefem):
    for arguments, message in ((["--degree", "99"], "degree must be at most 12, not 99"),
                               (["--points", "41"], "n_points must be at most 40"),
                               (["--window", "x"], "--window must be an integer or auto")):
        status, out, err = timefem("run", "spinning-box", *arguments)
        assert (status, out) == (2, "") and message in err


# ---- memory that can be had: by the machine, the container and the limits of the process

@pytest.mark.parametrize("version", [0, 1])
def test_containers(version, tmp_path, monkeypatch):
    machine = validate.free_memory()
    limit, used, facts, name = validate.GROUP_FILES[version]
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(validate, "GROUP", tmp_path)
    for file, text in ((limit, "300000000"), (used, "200000000"), (facts, f"anon 5\n{name} 50000000\n")):
        (tmp_path / file).write_text(f"{text}\n")
    assert validate.free_memory() == 150_000_000
    with pytest.raises(tf.InputError, match=r"needs 0.149 GiB of memory, and 0.14 GiB are free"):
        validate.check_memory("it", 160_000_000)
    validate.check_memory("it", 140_000_000)
    (tmp_path / limit).write_text("max\n")
    assert validate.free_memory() > min(machine / 2, 160_000_000)


# ---- what people try: wrong types, units and sizes end in one line that names the thing

def problem():
    body = tf.RigidBody(1.0, [1.0, 1.0, 1.0])
    return tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[1, 2, 3])}, (0, 1))


def test_a_number_is_no_name_of_a_file():
    sol = tf.solve(problem(), tf.MixedGalerkin(1), 4, progress=False)
    for write in (sol.save, tf.load, tf.restart):
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
    monkeypatch.setattr(validate, "free_memory", lambda unknown: 10**6)
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


def test_sizes_whose_squares_are_no_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.RigidBody(1.5, [1, 2, 2], size=(1.0, 2e-192, 3e-204))
