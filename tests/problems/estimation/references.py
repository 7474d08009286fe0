"""The reference problems of tests/data/estimation as timefem states them."""

import json
from pathlib import Path

import casadi as ca
import numpy as np

import timefem as tf
from timefem.problems.estimation.prior import Prior
from timefem.problems.estimation.problem import Estimation
from timefem.problems.estimation.sensors import DirectionSensor, FormulaSensor

ROTATION = [3, 4, 5, 6, 10, 11, 12, 13]  # places of the rotation in the state (q, p) of a rigid body
DATA = Path(__file__).parents[2] / "data" / "estimation"


def data(name):
    """A reference: what is given, and `states` with the time, the mean and the covariance."""
    return json.loads((DATA / f"{name}.json").read_text())


def oscillator(d=None):
    """`x'' + 2 zeta omega x' + omega^2 x = w`, of unit mass."""
    d = d or data("oscillator")
    omega, damping = d["omega"], 2 * d["zeta"] * d["omega"]
    free = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: c[0] * q[0]**2 / 2,
                                parameters=[omega**2], name="mass")
    system = tf.System([*free.parts, tf.FormulaForce(free.bodies[0], lambda f, t, c: -c[0] * f[0].rate,
                                                     parameters=[damping], name="damper")])
    place = FormulaSensor(lambda now: now.q("mass")[0], name="place", times=d["times"], values=d["measurements"],
                          covariance=d["R"])
    return Estimation(system, [place], noise={"mass": d["Q"]},
                      prior=Prior(d["prior_mean"], covariance=d["prior_covariance"]), t_span=(0.0, 4.0))


def pendulum(d=None):
    """`theta'' = -g sin theta + w`, of unit mass and length."""
    d = d or data("pendulum")
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: -c[0] * ca.cos(q[0]),
                                  parameters=[d["g"]], name="rod")
    angle = FormulaSensor(lambda now: now.q("rod")[0], name="angle", times=d["times"], values=d["measurements"],
                          covariance=d["R"])
    return Estimation(system, [angle], noise={"rod": d["Q"]},
                      prior=Prior(d["prior_mean"], covariance=d["prior_covariance"]), t_span=(0.0, 2.0))


def four_bar(d=None):
    """Crank, coupler and rocker by the places of their two moving hinges; gyroscopes with biases on crank and rocker.
    """
    d = d or data("four_bar")
    (a, b, c), m, g = d["lengths"], d["masses"], d["g"]

    def constraints(q, _):
        return [(q[0]**2 + q[1]**2 - a**2) / 2, ((q[2] - q[0])**2 + (q[3] - q[1])**2 - b**2) / 2,
                ((q[2] - 1)**2 + q[3]**2 - c**2) / 2]

    free = tf.GeneralizedSystem(4, lambda q, v, _: (m[0] * ca.sumsqr(v[:2]) + m[1] * ca.sumsqr(v[2:])) / 2,
                                lambda q, _: g * (m[0] * q[1] + m[1] * q[3]), constraints, name="hinges")
    motor = tf.GeneralizedControl(free.bodies[0], lambda q: ca.vertcat(-q[1], q[0], 0, 0) / a**2, 1, name="motor")

    def crank(now):
        q, v = now.q("hinges"), now.rates("hinges")
        return (q[0] * v[1] - q[1] * v[0]) / a**2

    def rocker(now):
        q, v = now.q("hinges"), now.rates("hinges")
        return ((q[2] - 1) * v[3] - q[3] * v[2]) / c**2

    mean, covariance, values = d["prior_mean"], np.array(d["prior_covariance"]), np.array(d["measurements"])
    gyros = [FormulaSensor(rate, name=rate.__name__, times=d["times"], values=values[:, i], covariance=d["R"][i][i],
                           bias=Prior(mean[8 + i], covariance=covariance[8 + i, 8 + i]))
             for i, rate in enumerate((crank, rocker))]
    return Estimation(tf.System([*free.parts, motor]), gyros, noise={motor: d["Q"]},
                      prior=Prior(mean[:8], covariance=covariance[:8, :8]), t_span=(0.0, 3.0))


def three_stars(d=None, unknown=False):
    """A free body that sees three stars; with `unknown` its third principal inertia is to be found."""
    d = d or data("three_stars_inertia" if unknown else "three_stars")
    body = tf.RigidBody(1.0, (0.6, 0.8, 0.33 if unknown else 0.3), name="body")
    values = np.array(d["measurements"])
    stars = [DirectionSensor("body", star, times=d["times"], values=values[:, 3 * i:3 * i + 3], covariance=np.eye(3) *
                             d["R"], name=f"star {i + 1}") for i, star in enumerate(d["stars"])]
    mean, sd = (np.array(d[name]) for name in ("prior_mean", "prior_standard_deviation"))
    still = np.zeros(3), np.full(3, 1e-3)  # the place, which nothing tells of
    z = np.concatenate([still[0], mean[:4], still[0], mean[4:8]])
    sigma = np.concatenate([still[1], sd[:4], still[1], sd[4:8]])
    numbers = {"J3": ("body.inertia[2]", Prior(mean[8], sd[8]))} if unknown else None
    return Estimation(tf.System([body]), stars, noise={"body": (None, d["Q"])}, prior=Prior(z, sigma),
                      t_span=(0.0, 3.0), numbers=numbers)


def dense_covariance(sol):
    """The covariance of all unknowns of an estimate, by the inverse of the whole matrix."""
    kkt, n = sol._found.kkt, len(sol._posterior.blocks)
    matrix = np.zeros((n, n))
    np.add.at(matrix, (kkt.rows, kkt.columns), kkt.values(sol._found.v))
    matrix = matrix + np.tril(matrix, -1).T + np.triu(matrix, 1).T
    sizes = sol._found.chain.sizes
    return np.linalg.inv(matrix)[:len(sizes), :len(sizes)] * sizes * sizes[:, None]
