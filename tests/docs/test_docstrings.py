"""Docstrings of the public names: parameters, and errors that a function raises."""

import ast
import doctest
import inspect
import textwrap
from itertools import pairwise

import pytest

import timefem

FUNCTIONS = [name for name in timefem.__all__ if inspect.isfunction(inspect.unwrap(getattr(timefem, name)))]
CLASSES = [name for name in timefem.__all__ if inspect.isclass(getattr(timefem, name))
           and not issubclass(getattr(timefem, name), BaseException)]


def sections(thing):
    """Titles of the sections of a numpydoc docstring."""
    lines = inspect.getdoc(thing).split("\n")
    return {line for line, under in pairwise(lines) if under == "-" * len(line) and line}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function = inspect.unwrap(getattr(timefem, name))
    stated = sections(function)
    if len(inspect.signature(function).parameters) > 1:
        assert "Parameters" in stated
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    if any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree)):
        assert "Raises" in stated


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    thing = getattr(timefem, name)
    assert thing.__doc__
    if inspect.signature(thing).parameters:
        assert sections(thing) & {"Parameters", "Attributes"}


@pytest.mark.parametrize("name", [name for name in timefem.__all__ if ">>>" in (getattr(timefem, name).__doc__ or "")])
def test_examples(name):
    for example in doctest.DocTestFinder(exclude_empty=True).find(getattr(timefem, name), name, globs={}):
        assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0


def test_there_are_many():
    assert len(FUNCTIONS) > 30 and len(CLASSES) > 100
