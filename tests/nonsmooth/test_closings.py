"""Where gaps close within an element, from values, rates and accelerations at its ends."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import timefem as tf
from timefem.solvers.nonsmooth.flight import flight
from timefem.solvers.nonsmooth.search import closings, may_close, quintic


def test_first_crossings_and_minima_are_those_of_the_polynomial():
    rng = np.random.default_rng(3)
    n = 400
    h = rng.uniform(0.05, 2, n)
    f0, f1 = rng.standard_normal((2, n, 3)) / np.stack([h**0, h, h**2 / 4], axis=1)
    f0[:, 0] = np.abs(f0[:, 0])
    f1[::2, 0] = np.abs(f1[::2, 0])
    found = np.empty((n, 3))
    closings(h, f0, f1, np.zeros(n, bool), np.zeros(n), np.zeros((5, 6)), found)
    crossed = least = 0
    for k in range(n):
        f = Polynomial(quintic(h[k], f0[k], f1[k]))
        roots = f.roots()
        roots = np.sort(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0) & (roots.real < 1)])
        if found[k, 2]:
            assert not len(roots)
        elif len(roots):
            np.testing.assert_allclose(found[k, 0], roots[0], rtol=1e-9)
            crossed += 1
        else:
            assert np.isnan(found[k, 0])
            if not np.isnan(found[k, 1]):
                assert abs(f.deriv()(found[k, 1])) < 1e-9 * np.abs(f.coef).max() and f(found[k, 1]) > 0
                least += 1
    assert crossed > 100 and least > 10


@pytest.mark.parametrize("w", [1.0, 3.0])
def test_gaps_that_close_are_looked_at_and_those_that_open_are_not(w):
    """Oscillations on parabolas; and a ball that flies off after an impact, or comes down beyond the end."""
    rng = np.random.default_rng(5)
    n, times = 5000, np.linspace(0, 1, 201)[:, None]
    a, phase, b, c = rng.uniform(0, 1, n), rng.uniform(0, 2 * np.pi, n), *rng.normal(size=(2, n))
    gap = a * np.cos(w * times + phase) + b * times + c * times**2
    gap -= gap.min(axis=0) + 10.0**rng.uniform(-4, -0.5, n)
    start, end = b - a * w * np.sin(phase), b + 2 * c - a * w * np.sin(w + phase)
    inside = (gap[0] > 0) & (gap[-1] > 0)
    near = may_close(1.0, gap[0], gap[-1], start, end, 1e-9, np.zeros(n, bool))
    assert inside.sum() > 100 and near[inside].all()
    h, g = 0.01, 9.81
    for speed, height, opens in ((2.0, -1e-17, True), (-2.0, 0.021, False)):
        assert not may_close(h, height, height + speed * h - g * h**2 / 2, speed, speed - g * h, 1e-9, opens)


def test_a_gap_that_has_just_opened_does_not_close_at_its_start():
    """A ball that bounces up and comes down within the element: h t - g t^2 / 2."""
    h, speed, g = 1.0, 2.0, 8.0
    f0, f1 = np.array([[1e-17, speed, -g]]), np.array([[speed - g / 2, speed - g, -g]])
    found = np.empty((1, 3))
    closings(np.array([h]), f0, f1, np.ones(1, bool), np.full(1, 1e-9), np.zeros((5, 6)), found)
    assert abs(found[0, 0] - 2 * speed / g) < 1e-12


@pytest.mark.parametrize("form", ["hamilton", "impulse"])
@pytest.mark.parametrize("compiled", [True, False])
def test_closings_on_nodes_of_the_mesh_make_no_slivers(form, compiled, monkeypatch):
    """A spinning ball meets the floor at 0.3 and 0.6 s, to rounding; one of 1e-16 s behind a node had no solution."""
    if not compiled:
        monkeypatch.setattr(flight, "can_fly", lambda *given: False)
    ball = tf.RigidBody(1.0, (0.01, 0.02, 0.03), "quaternion", name="ball")
    floor = tf.PlaneContact(ball, radius=0.1, restitution=0.5, friction=0.3, name="floor")
    start = tf.Pose((0, 0, 0.1 + 9.81 / 2 * 0.09), velocity=(0.5, 0, 0), angular_velocity=(1, 2, 3))
    problem = tf.InitialValueProblem(tf.System([ball, floor], gravity=(0, 0, -9.81)), {ball: start}, (0, 0.6))
    for n in (40, 80, 160):
        sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), n, progress=False)
        assert sol.success and len(sol.t) == n + 1, sol.status.message
        assert np.diff(sol.t).min() == pytest.approx(0.6 / n, rel=1e-9)
        assert [event.kind for event in sol.events] == ["impact"] * len(sol.events)
        assert sol.events[0].t == pytest.approx(0.3, abs=1e-14)
        assert sol.z[-1, :3] == pytest.approx([0.2373988, 0.0026261, 0.1], abs=1e-7)
