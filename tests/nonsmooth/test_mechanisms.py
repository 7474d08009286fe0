"""Mechanisms with clearance and intermittent contact against numbers of others, closed forms and other integrators."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from tests.nonsmooth.contact_scenes import solved
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
    assert sol.success and np.abs(sol.energy.balance()).max() < 1e-12
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
    assert sol.success and np.abs(sol.energy.balance()).max() < 1e-14
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


@pytest.mark.parametrize("rotation", ["quaternion", pytest.param("directors", marks=pytest.mark.long)])
def test_a_ratchet_holds_what_has_passed_its_pawl(rotation, arm=0.2, pin=0.02, tip=0.015, below=0.02, push=1.5):
    """A pawl that hangs lets pins of a rack push it forwards, and a stop holds it backwards: the rack, pulled back,
    stands where the first pin touches it from behind, and the stop carries the moment of the pull."""
    rack, pawl = (tf.RigidBody(m, inertia, rotation, name=name) for m, inertia, name in (
        (1.0, (0.01, 0.01, 0.01), "rack"), (0.1, (4e-4, 4e-4, 1e-5), "pawl")))
    rail = tf.Prismatic(rack, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    hinge = tf.Revolute(pawl, None, point_a=(0, 0, arm / 2), point_b=(0, 0, arm + below), axis_a=(0, -1, 0),
                        axis_b=(0, -1, 0), name="hinge")
    teeth = [tf.SphereContact(rack, pawl, radius_a=pin, radius_b=tip, point_a=(x, 0, 0), point_b=(0, 0, -arm / 2),
                              restitution=0.2, name=f"tooth {i}") for i, x in enumerate((-0.1, -0.2))]
    parts = [rack, rail, pawl, hinge, *teeth, tf.EndStop(hinge, lowest=0.0, restitution=0.2, name="stop"),
             tf.JointForce(rail, value=tf.Table([0.7, 0.70001], [push, -push]), name="drive"),
             tf.JointDamper(rail, damping=4.0, name="air")]
    sol = solved(parts, {hinge: 0.0}, 2.0, 100)
    assert sol.success
    assert {"tooth 0", "tooth 1", "stop"} == {name for event in sol.events for name in event.contacts}
    behind = np.sqrt((pin + tip)**2 - below**2)
    assert sol.position(rack, 2.0)[0] == pytest.approx(0.1 + behind, abs=1e-8)
    np.testing.assert_allclose(sol.contact_forces(2.0).reshape(-1, 3)[:, 0],
                               [push * (pin + tip) / behind, 0, push * arm], rtol=0, atol=1e-7)


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


def _kane_and_levinson(angles, rates, restitution, friction):
    """Impulses up and along the floor, and rates after: Newton's and Coulomb's laws for two rods of 1 m and 1 kg."""
    inertia = np.array([[4 / 3, np.cos(angles[0] - angles[1]) / 2], [np.cos(angles[0] - angles[1]) / 2, 1 / 3]])
    tip = np.array([np.sin(angles), np.cos(angles)])
    compliance, before = tip @ np.linalg.solve(inertia, tip.T), tip @ rates
    right = -before * (1 + restitution, 1)
    impulses = np.linalg.solve(compliance, right)
    if abs(impulses[1]) > friction * impulses[0]:
        along = np.sign(impulses[1]) * friction
        impulses = right[0] / (compliance[0] @ (1, along)) * np.array([1, along])
    after = rates + np.linalg.solve(inertia, tip.T @ impulses)
    return impulses, after, (after @ inertia @ after - rates @ inertia @ rates) / 2


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("restitution, friction", [(0.0, 0.5), (0.5, 0.5), (0.7, 0.5)])
def test_the_double_pendulum_of_kane_and_levinson_gains_no_energy(rotation, restitution, friction):
    """Its tip strikes a floor. With Newton's law kinetic energy would grow by half and more, as they found; with the
    largest share of the restitution that takes none it does not, and impulses are those of that share."""
    angles, rates = np.deg2rad([20.0, 30.0]), np.array([-0.1, -0.2])
    down = np.array([np.sin(angles), -np.cos(angles), [0, 0]]).T  # along the rods
    speeds = rates[:, None] * np.array([np.cos(angles), np.sin(angles), [0, 0]]).T
    rods = [tf.RigidBody(1.0, (1 / 12, 1e-3, 1 / 12), rotation, name=name) for name in ("upper", "lower")]
    along, half = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}, (0, 0.5, 0)
    joints = [tf.Revolute(rods[0], None, point_a=half, point_b=(0, 0, 0), **along),
              tf.Revolute(rods[0], rods[1], point_a=(0, -0.5, 0), point_b=half, **along)]
    floor = tf.PlaneContact(rods[1], normal=(0, 1, 0), plane_point=(0, down[:, 1].sum(), 0), points=[(0, -0.5, 0)],
                            restitution=restitution, friction=friction, name="floor")
    state, start, velocity = {}, np.zeros(3), np.zeros(3)
    for i, rod in enumerate(rods):
        turned = (np.cos(angles[i] / 2), 0, 0, np.sin(angles[i] / 2))
        state[rod] = tf.Pose(start + down[i] / 2, turned, velocity=velocity + speeds[i] / 2,
                             angular_velocity=(0, 0, rates[i]))
        start, velocity = start + down[i], velocity + speeds[i]
    system = tf.System([*rods, *joints, floor], redundant="drop")
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 0.01)), tf.MixedGalerkin(2), 4, progress=False)
    assert sol.success
    impact = sol.events[0]
    assert impact.kind == "impact" and impact.t == 0
    _, _, gain = _kane_and_levinson(angles, rates, restitution, friction)
    energy = -gain if restitution == 0 else gain
    assert energy > 0.001  # by Newton's law
    impulses, after, gain = _kane_and_levinson(angles, rates, impact.share * restitution, friction)
    size = np.abs(impulses).max()
    assert np.sort(np.abs(impact.impulses[0])) == pytest.approx(np.sort([0, *np.abs(impulses)]), abs=1e-9 * size)
    assert [sol.angular_velocity(rod, 0.0)[2] for rod in rods] == pytest.approx(after, rel=1e-8)
    assert impact.energy == pytest.approx(gain, abs=1e-12) and impact.energy <= 1e-12
    assert (impact.share < 1) == (restitution > 0)
