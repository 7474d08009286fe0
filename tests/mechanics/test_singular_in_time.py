"""Loads without an integral are refused, and those that have one, however steep, are not."""

import re

import casadi as ca
import numpy as np
import pytest

import timefem as tf


def problem(formula, t_span=(0.0, 1.0), body=None):
    body = tf.PointMass(1.0) if body is None else body
    load = tf.Force(body, [1, 0, 0], time=tf.Formula(formula), name="push")
    return tf.InitialValueProblem(tf.System([body, load]), {}, t_span)


@pytest.mark.parametrize("formula, time, power", [
    (lambda t: 1 / (t - 0.5) ** 2, "0.5", "2"), (lambda t: 1 / (t - 1 / 3), "0.333333", "1"),
    (lambda t: 1e-4 / (t - 0.123456) ** 2 + ca.sin(9 * t), "0.123456", "2"), (lambda t: 1 / (t - 1) ** 2, "1", "2"),
    (lambda t: ca.tan(2 * t), "0.785398", "1"), (lambda t: 1 / ca.fabs(t - 0.7) ** 1.5, "0.7", "1.5")])
def test_poles(formula, time, power):
    message = f"push grows without bound at t = {time}, like 1/|t - {time}|^{power}:"
    with pytest.raises(tf.InputError, match=re.escape(message)):
        problem(formula)


@pytest.mark.parametrize("formula", [
    lambda t: 1 / ca.sqrt(ca.fabs(t - 0.5) + 1e-300), lambda t: ca.log((t - 0.5) ** 2 + 1e-300),
    lambda t: 1 / ((t - 0.5) ** 2 + 1e-6), lambda t: 1e6 * ca.exp(-1e7 * (t - 0.5) ** 2), lambda t: ca.exp(40 * t),
    lambda t: ca.if_else(t > 0.5, 1e9, 0.0), lambda t: ca.sin(1e3 * t)])
def test_integrable(formula):
    assert problem(formula).t_span == (0.0, 1.0)


def test_poles_outside_the_time_span():
    assert problem(lambda t: 1 / (t - 0.5) ** 2, (0.6, 1.0)).t_span == (0.6, 1.0)


def test_potentials_and_other_formulas():
    with pytest.raises(tf.InputError, match=r"grows without bound at t = 0.5"):
        tf.InitialValueProblem(tf.GeneralizedSystem(1, lambda q, v, c: v[0] ** 2 / 2,
                                                    lambda q, c, t: -q[0] / (t - 0.5) ** 2),
                               tf.Coordinates([0.0]), (0, 1))


def test_large_times():
    start = 1e6
    with pytest.raises(tf.InputError, match="grows without bound at t = 1e\\+06"):
        problem(lambda t: 1 / (t - start - 0.5) ** 2, (start, start + 1))


def test_the_right_part_of_many():
    bodies = [tf.PointMass(1.0) for _ in range(3)]
    loads = [tf.Force(b, [1, 0, 0], time=tf.Sine(1.0, 2.0), name=f"load{i}") for i, b in enumerate(bodies)]
    bad = tf.Force(bodies[1], [0, 1, 0], time=tf.Formula(lambda t: 1 / (t - np.pi / 4)), name="bad")
    with pytest.raises(tf.InputError, match=r"bad grows without bound at t = 0.785398"):
        tf.InitialValueProblem(tf.System([*bodies, *loads, bad]), {}, (0, 1))
