"""Numbers in messages: short, and with all their digits beside one that looks alike."""

import ast
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.display import digits


@pytest.mark.parametrize(("given", "written"), [
    ((2.0,), "2"), ((0.1 + 0.2,), "0.3"), ((-1e-300,), "-1e-300"), ((np.float64(1.5),), "1.5"), ((7,), "7"),
    ((np.inf,), "inf"), (([0.1 + 0.2, -2.0],), "[0.3, -2]"), ((np.eye(2),), "[[1, 0], [0, 1]]"), (((),), "[]"),
    ((1 + 1e-15, 1.0), "1.000000000000001"), ((1.0, 1 + 1e-15), "1"), ((0.1 + 0.2, 0.5), "0.3"),
])
def test_digits(given, written):
    assert digits(*given) == written


@pytest.mark.parametrize(("make", "message"), [
    (lambda: tf.RigidBody(1.0, [1, 1, 1], size=(0.1 + 0.2, 1.0, -2.0)), r"not \[0\.3, 1, -2\]$"),
    (lambda: tf.Spring(tf.PointMass(1.0), None, stiffness=-0.1 - 0.2), r"must not be negative, but is -0\.3$"),
    (lambda: tf.Section.circle(radius=1.0, E=1.0, density=1.0, nu=0.5 + 1e-15), r"at most 0\.5, but is 0\.5000+1$"),
    (lambda: tf.TimeMesh([0.0, 0.1 + 0.2, 0.3]), r"node 2 at 0\.3 does not come after 0\.30000000000000004$"),
    (lambda: tf.InitialValueProblem(tf.System([tf.PointMass(1.0)]), {}, (1.0, 0.5)), r"0\.5 is not after the start 1$"),
])
def test_numbers_in_messages(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_no_message_has_a_list_as_it_is():
    """Python writes [0.30000000000000004, 2.0]."""
    found = 0
    for path in Path(tf.__file__).parent.rglob("*.py"):
        for raised in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(raised, ast.Raise) and raised.exc is not None:
                for part in ast.walk(raised.exc):
                    if isinstance(part, ast.FormattedValue):
                        found += 1
                        assert "tolist()" not in ast.unparse(part.value), f"{path}:{part.lineno}: use display.digits"
    assert found > 500
