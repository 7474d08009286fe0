"""The simplest walking machine (Garcia et al. 1998): its gait and how that is stable, against other integrations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf

SLOPE = 0.009
ANGLE, RATE = 0.200310900544287, -0.199832473004977  # of the leg that stands, at heel strike, with feet without mass


def along(x):
    return np.array([np.sin(x), np.cos(x), 0.0])


def across(x):
    return np.array([np.cos(x), -np.sin(x), 0.0])


def flying(y, foot, other, rates):
    """Poses of hip and feet: the first one stands at `foot`."""
    a, b = y
    w, u = rates
    hip = foot + along(a)
    return [tf.Pose(hip, velocity=w * across(a)), tf.Pose(foot), tf.Pose(hip - along(b), velocity=w * across(a) -
                                                                         u * across(b))]


def walker(mass, step, depth=0.1):
    """A hip of mass one and two feet on legs of length one, down a slope. Each foot has a lane of stones two steps
    apart, between which its leg, which has no knee, can swing through."""
    hip, feet = tf.PointMass(1.0, 2, name="hip"), [tf.PointMass(mass, 2, name=f"foot {i}") for i in range(2)]
    legs = [tf.RigidDistance(hip, foot, length=1.0, name=f"leg {i}") for i, foot in enumerate(feet)]
    lanes = [tf.SurfaceContact(foot, formula=f"x[1] + {depth}*(1 {sign} cos({np.pi / step!r}*x[0]))", friction=5.0,
                               name=f"lane {i}") for i, (foot, sign) in enumerate(zip(feet, "-+", strict=True))]
    return tf.System([hip, *feet, *legs, *lanes], gravity=(np.sin(SLOPE), -np.cos(SLOPE), 0))


def swing(mass, start, t, event=None):
    """The state (a, b, a', b') of both legs, angles from the normal of the slope, after a time, or at an event."""
    def rates(t, y):
        a, b, w, u = y
        c, s = np.cos(a - b), np.sin(a - b)
        forces = [(1 + mass) * np.sin(SLOPE + a) + mass * s * u**2, -mass * np.sin(SLOPE + b) - mass * s * w**2]
        return [w, u, *np.linalg.solve([[1 + mass, -mass * c], [-mass * c, mass]], forces)]

    found = solve_ivp(rates, t, start, method="DOP853", rtol=1e-13, atol=1e-15, events=event)
    return (found.y[:, -1], t[1]) if event is None else (found.y_events[0][0], found.t_events[0][0])


def stride(x, mass):
    """The state (a, a', b') after heel strike, with b = -a, one step later, and how long it takes."""
    def foot(t, y):
        return np.cos(y[0]) - np.cos(y[1])

    foot.terminal, foot.direction = True, -1
    y, _ = swing(mass, [x[0], -x[0], x[1], x[2]], (0, 2.0))
    (a, b, w, _), t = swing(mass, y, (2.0, 8.0), foot)
    c = np.cos(a - b)  # momentum of the whole about the foot that lands, of the leg that leaves about the hip
    after = np.linalg.solve([[1 + mass - mass * c, mass - mass * c], [c, -1.0]], [w * c, 0.0])
    return np.array([b, *after]), t


def gait(mass, x):
    """The gait by Newton's method on differences of fourth order: state, length of a step in time, multipliers."""
    for _ in range(6):
        (end, t), h = stride(x, mass), 1e-4
        slopes = np.array([(8 * (stride(x + d, mass)[0] - stride(x - d, mass)[0]) - stride(x + 2 * d, mass)[0] +
                            stride(x - 2 * d, mass)[0]) / (12 * h) for d in h * np.eye(3)]).T
        x = x + np.linalg.solve(np.eye(3) - slopes, end - x)
        if np.abs(end - x).max() < 1e-12:
            break
    return x, t, np.linalg.eigvals(slopes)


def gait_found(mass, x, period, n, off=0.0):
    """`tf.periodic` over two steps, from 0.3 s after a heel strike on, at a rate that is off by a share."""
    (a, b, *rates), _ = swing(mass, [x[0], -x[0], (1 + off) * x[1], x[2]], (0, 0.3))
    system = walker(mass, 2 * np.sin(-x[0]))
    start = dict(zip(system.bodies[:3], flying((a, b), np.zeros(3), None, rates), strict=True))
    return tf.periodic(system, start, period, tf.MixedGalerkin(3), n, free_period=True,
                       modulo=tf.Symmetry(shifts=[(1, 0, 0)]), progress=False)


def of_gait(multipliers):
    """Those of the gait itself: without the time and the place, which are one, and what constraints hold."""
    return np.sort_complex(multipliers[(np.abs(multipliers) > 1e-6) & (np.abs(multipliers - 1) > 1e-3)])


@pytest.mark.long
def test_the_gait_of_feet_with_masses():
    """Two steps, with an impact each: the foot that lands sticks, the other one leaves."""
    mass = 0.01
    x, t, multipliers = gait(mass, np.array([-0.1988, 0.2006, 0.1849]))
    found = gait_found(mass, x, 2 * t, 80)
    assert found.success and [e.kind for e in found.solution.events] == ["impact"] * 2
    assert [e.contacts + e.statuses for e in found.solution.events] == [("lane 1", "sticks"), ("lane 0", "sticks")]
    assert found.period == pytest.approx(2 * t, rel=0, abs=1e-8)
    np.testing.assert_allclose(of_gait(found.multipliers), of_gait(multipliers**2), rtol=0, atol=1e-7)


@pytest.mark.long
def test_a_start_near_the_gait_and_one_too_far_away():
    """From a start that is off by 1 % steps lead to feet in the ground, which was refused as if it had been given."""
    x, t, _ = gait(0.01, np.array([-0.1988, 0.2006, 0.1849]))
    near, far = (gait_found(0.01, x, 2 * t * (1 + off), 40, off) for off in (1e-3, 1e-2))
    with pytest.warns(tf.NotSolved):
        assert near.success and near.period == pytest.approx(2 * t, rel=0, abs=1e-7) and far.period
    assert far.status.reason == "not converged"


@pytest.mark.long
def test_the_limit_of_feet_without_mass():
    """To the published fixed point, and to the multipliers of the two equations that are left: both err by the mass."""
    angle, multiplier = [], []
    c = np.cos(2 * ANGLE)
    for mass in (2e-4, 1e-4):
        x, t, _ = gait(mass, np.array([-ANGLE, -RATE, -RATE * c]))
        found = gait_found(mass, x, 2 * t, 80)
        assert found.success
        sol = found.solution
        node = sol.events[0].node
        hip, _, foot = (sol.position(name, sol.t[node]) for name in ("hip", "foot 0", "foot 1"))
        angle.append(np.arcsin(foot[0] - hip[0]))
        multiplier.append(of_gait(found.multipliers))
    assert 2 * angle[1] - angle[0] == pytest.approx(ANGLE, abs=1e-7)
    step = complex(-0.19009985, 0.55759874)  # of one step, by integration of both equations to 1e-13
    limit = 2 * multiplier[1] - multiplier[0]
    np.testing.assert_allclose(limit, np.sort_complex([step**2, np.conj(step)**2]), rtol=0, atol=1e-5)
