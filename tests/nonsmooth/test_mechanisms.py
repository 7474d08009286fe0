"""Mechanisms with clearance and intermittent contact against numbers of others, closed forms and other integrators."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.nonsmooth.mechanisms import GENEVA, G, geneva, slider_crank, woodpecker


def _crank_and_rod(t, x):
    """Angles of crank and rod and their rates, with a slider that does not turn."""
    l1, l2, m1, m2, m3, j1, j2 = 0.153, 0.306, 0.038, 0.038, 0.076, 7.4e-5, 5.9e-4
    a, b, u, v = x
    coupled = (m2 / 2 + m3) * l1 * l2
    mass = np.array([[j1 + (m1 / 4 + m2 + m3) * l1**2, coupled * np.cos(a - b)],
                     [coupled * np.cos(a - b), j2 + (m2 / 4 + m3) * l2**2]])
    force = np.array([-coupled * np.sin(a - b) * v**2 - (m1 / 2 + m2 + m3) * G * l1 * np.cos(a),
                      coupled * np.sin(a - b) * u**2 - (m2 / 2 + m3) * G * l2 * np.cos(b)])
    return [u, v, *np.linalg.solve(mass, force)]


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["quaternion", pytest.param("directors", marks=pytest.mark.slow)])
def test_a_slider_crank_with_clearance(rotation):
    """Up to the impact by an integrator of order eight; after it as Siconos has it, with steps of first order."""
    crank, rod, sol = slider_crank(rotation=rotation)
    assert sol.success and np.abs(sol.energy_balance()).max() < 1e-12
    impact, = sol.events
    assert impact.contacts == ("upper: contact 0", "upper: contact 1")  # both upper corners at once

    def gap(t, x):
        return 0.001 - 0.153 * np.sin(x[0]) - 0.306 * np.sin(x[1])

    gap.terminal = True
    exact = solve_ivp(_crank_and_rod, (0, 4e-3), [0, 0, 150, -75], "DOP853", events=gap, rtol=1e-12, atol=1e-12)
    t = exact.t_events[0][0]
    assert impact.t == pytest.approx(t, rel=1e-6)
    before = [sol.angular_velocity(body, t - 1e-9, "space")[2] for body in (crank, rod)]
    np.testing.assert_allclose(before, exact.y[2:, -1], rtol=2e-6)
    speeds = {3e-3: (104.9330, -50.3308), 4e-3: (93.9624, -42.7924)}
    for t, expected in speeds.items():
        found = [sol.angular_velocity(body, t, "space")[2] for body in (crank, rod)]
        np.testing.assert_allclose(found, expected, rtol=0.01)


@pytest.mark.long
def test_a_woodpecker_toy_falls_on_its_limit_cycle():
    """Glocker's (1995) numbers start on it: the motion of the next period is the same. At the end Siconos, with steps
    of 1e-5 s of first order, has the height and the angle below."""
    sol = woodpecker()
    assert sol.success and np.abs(sol.energy_balance()).max() < 1e-14
    first, second = ([event for event in sol.events if low < event.t < high] for low, high in ((0, 0.14), (0.14, 0.29)))
    assert [(a.kind, a.contacts) for a in first] == [(b.kind, b.contacts) for b in second]
    beaks = [event.t for event in sol.events if event.contacts == ("beak",)]
    period = beaks[1] - beaks[0]
    assert period == pytest.approx(0.1459, abs=2e-4)
    again = sol(period + 0.05)[1:3]
    np.testing.assert_allclose(again, sol(0.05)[1:3], rtol=0, atol=3e-3)  # as near as four digits start
    end = sol(0.29998)
    np.testing.assert_allclose(end[:3], (-0.0413482, -0.1034685, -0.340934), rtol=0, atol=2e-3)
    assert end[0] == pytest.approx(-0.0413482, rel=2e-3)


@pytest.mark.long
def test_a_geneva_drive_follows_its_pin():
    """The wheel is pulled by one wall of the slot until the pin is inside most, and stopped by the other; angles and
    forces are those of the pin in a slot without play."""
    r, d, spin, play, inertia = GENEVA.values()
    wheel, sol = geneva()
    assert sol.success and sol.contact_gaps().min() > -1e-12
    t = np.array([0.01, 0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15])
    pin = spin * t - np.pi / 4
    way = np.sqrt(d**2 + r**2 - 2 * d * r * np.cos(pin))
    angle, rotation = np.arctan2(r * np.sin(pin), d - r * np.cos(pin)), sol.rotation_matrix(wheel, t)
    off = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0]) - angle
    assert np.abs(off * way).max() < 1.05 * play
    pushed = inertia * spin**2 * r * d * (d**2 - r**2) * np.abs(np.sin(pin)) / way**5
    forces = sol.contact_forces(t)[:, :, 0]
    np.testing.assert_allclose(forces[:4, 1], pushed[:4], rtol=2e-3)
    np.testing.assert_allclose(forces[5:, 0], pushed[5:], rtol=2e-3)
    assert not forces[:4, 0].any() and not forces[5:, 1].any()
    opens, = (event for event in sol.events if event.kind == "opens")
    assert opens.t == pytest.approx(np.pi / 4 / spin, rel=1e-4)
