"""Declarations of options: one for the objects, the command line and model files."""

import dataclasses

import pytest

import timefem as tf
from timefem.cli.options import run
from timefem.elements.forms import FORMS
from timefem.elements.named import ELEMENTS
from timefem.errors import InputError
from timefem.models.schema import schema
from timefem.problems.initial.drivers import DRIVERS
from timefem.problems.kinds import KINDS
from timefem.solvers.linear import LINEAR_SOLVERS
from timefem.validate.options import METHODS, OPTIONS, PETSC_METHODS, in_words, said, said_any, spelt, spelt_as

pytestmark = pytest.mark.long


def test_model_files_take_what_is_declared():
    stated = schema()["properties"]["solver"]["properties"]
    assert stated["element"]["enum"] == list(ELEMENTS)
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
