"""Types of the public interface: every public signature has them, and type checkers find mistakes by them."""

import ast
import inspect
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import timefem
from timefem.mechanics.declared.declared import Declared
from timefem.solving.keywords import ARGUMENTS, NEW_FORM, Arguments

ROOT = Path(__file__).parents[1]
PACKAGE = Path(timefem.__file__).parent


def public_classes_and_functions():
    """What `timefem` offers, what `timefem.studies` offers, and the classes that signatures of these return."""
    classes = {}
    names = {name: getattr(timefem, name) for name in timefem.__all__ if name != "studies"}
    names |= {f"studies.{name}": getattr(timefem.studies, name) for name in timefem.studies.__all__}
    for module in [m for name, m in sys.modules.items() if name.startswith("timefem.")]:
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                classes.setdefault(name, []).append(value)
    way = list(names)
    while way:
        thing = names[way.pop()]
        for _, function in signatures(thing):
            for word in re.findall(r"\w+", str(function.__annotations__.get("return", ""))):
                known = classes.get(word, [])
                known = [c for c in known if len(known) == 1 or c is vars(sys.modules[function.__module__]).get(word)]
                if known and known[0] not in names.values():
                    names[word] = known[0]
                    way.append(word)
    return names


def signatures(thing):
    """(name, function) of a function, or of the public methods and properties of a class and of its bases."""
    if not inspect.isclass(thing):
        return [(thing.__name__, inspect.unwrap(thing))]
    found = []
    for base in thing.__mro__:
        if base.__module__.startswith("timefem"):
            for name, value in vars(base).items():
                value = getattr(value, "__func__", value)  # of class methods and static ones
                value = value.fget if isinstance(value, property) else value
                value = value.func if isinstance(value, cached_property) else value
                if inspect.isfunction(value) and (not name.startswith("_") or name in ("__init__", "__call__")):
                    found.append((f"{base.__module__}.{base.__name__}.{name}", value))
    return found


def missing(function):
    """Parameters of a function without types, and "return"."""
    signature = inspect.signature(function)
    named = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")]
    return named + ["return"] * (signature.return_annotation is signature.empty)


NAMES = public_classes_and_functions()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_public_signatures_have_types(name):
    assert {where: missing(function) for where, function in signatures(NAMES[name]) if missing(function)} == {}


def test_missing_types_are_seen():
    class Half:
        def __init__(self, a: int, b): ...

        @property
        def c(self): ...

    Half.__module__ = "timefem"
    assert [missing(function) for _, function in signatures(Half)] == [["b", "return"], ["return"]]


def in_stub(cls):
    """What the stub of its module states of a class; nothing where there is no stub, as it only inherits."""
    path = PACKAGE.parent.joinpath(*cls.__module__.split(".")).with_suffix(".pyi")
    tree = ast.parse(path.read_text()).body if path.exists() else []
    return next((n.body for n in tree if isinstance(n, ast.ClassDef) and n.name == cls.__name__), [])


@pytest.mark.parametrize("name", sorted(name for name, thing in NAMES.items() if inspect.isclass(thing)
                                        and issubclass(thing, Declared) and thing.fields and not thing.abstract))
def test_declared_arguments_are_in_stubs(name):
    """The constructor in the stub of a part takes what its constructor takes, in that order."""
    cls = NAMES[name]
    if "__init__" in vars(cls):
        return
    given = next(n for base in cls.__mro__ for n in in_stub(base)
                 if isinstance(n, ast.FunctionDef) and n.name == "__init__").args
    signature = cls.__signature__.parameters.values()
    assert [a.arg for a in given.args[1:]] == [p.name for p in signature if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [a.arg for a in given.kwonlyargs] == [p.name for p in signature if p.kind is p.KEYWORD_ONLY]
    assert all(a.annotation is not None for a in (*given.args[1:], *given.kwonlyargs))


@pytest.mark.long
def test_stubs_are_current():
    run = subprocess.run([sys.executable, ROOT / "tools" / "stubs.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, f"run tools/stubs.py: {run.stdout}{run.stderr}"


def test_keywords_of_solve_have_types():
    positional = {"n_elements"}
    assert {*ARGUMENTS, *NEW_FORM} - positional == {*Arguments.__annotations__}


WRONG = '''
import timefem as tf

body = tf.RigidBody(12, (5, 26, 29), name="box")
tf.Spring(body, stifness=3.0)  # Unexpected keyword argument "stifness" for "Spring"
tf.Revolute(body, axis_a=(0, 0, 1), axis_b=(0, 0, 1), point_a=(0, 0, 0))  # Missing named argument "point_b"
tf.Spring(body, stiffness="soft")  # has incompatible type "str"; expected "float | floating[Any] | integer[Any]"
tf.Pose(position="here")  # has incompatible type "str"; expected "Sequence[
problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose()}, (0, 1))
tf.solve(problem, tf.MixedGalerkin(2), 10, tolerence=1e-6)  # No overload variant of "solve" matches
sol = tf.solve(problem, tf.MixedGalerkin(2), n_elements=10)
sol.positon(body, 0.5)  # "Solution" has no attribute "positon"
tf.prepare(problem, tf.MixedGalerkin(2), 10).solve(strat={})  # Unexpected keyword argument "strat"
'''
RIGHT = '''
import numpy as np
import timefem as tf

body = tf.RigidBody(12, (5, 26, 29), name="box")
parts = [body, tf.Spring(body, None, (0, 0, 1), stiffness=3), tf.Force(body, [0, 0, lambda t: t], point=np.zeros(3)),
         tf.Damper(body, None, damping=np.float64(2))]
problem = tf.InitialValueProblem(tf.System(parts, gravity=[0, 0, -9.81]), {"box": tf.Pose(np.ones(3))}, (0, 1))
sol = tf.solve(problem, tf.MixedGalerkin(2), 10, driver=tf.Windows(5), guess="constant")
height: float = sol.position(body, sol.t)[:, 2].max() + sol.energy().max()
'''


@pytest.mark.long
def test_mypy_finds_mistakes(tmp_path):
    """A wrong keyword, a missing one, a wrong type, a method that does not exist; and nothing in what is right."""
    api = pytest.importorskip("mypy.api")
    for name, text in (("wrong", WRONG), ("right", RIGHT)):
        (tmp_path / f"{name}.py").write_text(text)
    settings = ["--config-file", str(ROOT / "setup.cfg"), "--cache-dir", str(ROOT / ".mypy_cache")]
    out, error, _ = api.run([*settings, str(tmp_path / "wrong.py"), str(tmp_path / "right.py")])
    assert not error
    found = {int(n): text for n, text in re.findall(r"wrong\.py:(\d+): error: (.*)", out)}
    told = {n: line.partition("  # ")[2] for n, line in enumerate(WRONG.split("\n"), 1) if "  # " in line}
    assert found.keys() == told.keys() and all(told[n] in found[n] for n in told), out
    assert "right.py" not in out
