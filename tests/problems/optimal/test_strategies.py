"""What is tried where the first guess leads to no solution: told, picked, reordered, switched off."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.problems.optimal.strategies.strategy import STRATEGIES, named_strategies

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)


def around_a_disc():
    """A mass past a disc on its straight way, on which the first guess is stuck, by at most 20 N."""
    mass = tf.PointMass(1.0, dimension=2, name="mass")
    push = tf.ControlForce(mass, np.eye(3)[:2], name="push")
    end = tf.EndState(position=(1, 0, None), velocity=(0, 0, None))
    disc = tf.Limit("sumsqr(now.q('mass') - [0.5, 0.0])", 0.04)
    return tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: end}, (0, 1), tf.Effort(push),
                             bounds={push: (-20, 20)}, limits=disc)


def test_attempts_are_told_in_order():
    sol = tf.solve(around_a_disc(), ELEMENT, 10)
    assert sol.success
    assert sol.attempts[0].name == "first guess" and sol.attempts[-1].outcome == "solved"
    assert all(a.outcome != "solved" and a.iterations > 0 for a in sol.attempts[:-1])
    assert sum(a.iterations for a in sol.attempts) == sol.statistics["newton_iterations"]["max"]
    names = [a.name for a in sol.attempts[1:]]
    assert names == [name for name in STRATEGIES if name in names]
    assert all(a.why for a in sol.attempts[1:])
    json.dumps(sol.statistics["attempts"])


def out_of_reach():
    """No force of 0.1 N brings a mass of 1 kg to 1 m and to rest in a second."""
    mass = tf.PointMass(1.0, dimension=2, name="mass")
    push = tf.ControlForce(mass, np.eye(3)[:2], name="push")
    far = tf.EndState(position=(1, None, None), velocity=(0, None, None))
    disc = tf.Limit("sumsqr(now.q('mass') - [0.5, 0.1])", 0.04)
    return tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: far}, (0, 1), tf.Effort(push),
                             bounds={push: (-0.1, 0.1)}, limits=disc)


def test_strategies_are_switched_off_and_reordered():
    alone = tf.solve(out_of_reach(), ELEMENT, 5, strategies=[])
    assert [a.name for a in alone.attempts] == ["first guess"] and "tried" not in alone.status.message
    names = ["waving controls", "perturbation"]
    other = tf.solve(out_of_reach(), ELEMENT, 5, strategies=names)
    assert [a.name for a in other.attempts] == ["first guess", *names]


def test_a_failure_tells_what_was_tried():
    sol = tf.solve(out_of_reach(), ELEMENT, 5)
    assert not sol.success and len(sol.attempts) > 1
    assert "; tried: first guess (" in sol.status.message


def test_solutions_keep_their_attempts(tmp_path):
    sol = tf.solve(around_a_disc(), ELEMENT, 10)
    sol.save(tmp_path / "sol.h5")
    assert tf.load(tmp_path / "sol.h5").attempts == sol.attempts


@pytest.mark.parametrize(("names", "message"), [
    (["magic"], "'magic'"), ("perturbation", "list of names"), (3, "list of names")])
def test_unknown_strategies_are_refused(names, message):
    with pytest.raises(tf.InputError, match=message):
        named_strategies(names)
    with pytest.raises(tf.InputError, match=message):
        tf.solve(around_a_disc(), ELEMENT, 10, strategies=names)


def test_other_problems_have_none():
    mass = tf.PointMass(1.0, name="mass")
    problem = tf.InitialValueProblem(tf.System([mass]), {mass: tf.Pose()}, (0, 1))
    with pytest.raises(tf.InputError, match="strategies are of optimal control"):
        tf.solve(problem, ELEMENT, 10, strategies=[])
