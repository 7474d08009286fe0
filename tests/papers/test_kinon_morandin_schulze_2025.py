"""Four particles as a port-Hamiltonian system, Kinon, Morandin & Schulze (2025): their errors beside those of mG(k)."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf

MASSES, PLACES = (1.0, 3.0, 2.3, 1.7), ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))
STEPS = np.array([0.01, 0.005, 0.002, 0.001])
PUBLISHED = np.array([3.411e-5, 8.666e-6, 1.390e-6, 3.451e-7]), np.array([2.378e-4, 5.266e-5, 8.102e-6, 1.999e-6])
# elements of degree 5 on two fine meshes, which agree to 1e-12
POSITION = 0.9959913701255, 0.9962623994065, 0.1172586895686
VELOCITY = -0.0802455489441, -0.1068973723983, 1.1635313657275


def particles(t_end):
    """Springs 0-2 and 1-3, rods 0-1 and 2-3, a damper 1-2 that is stiffer where it is long."""
    p = [tf.PointMass(m, name=f"p{i}") for i, m in enumerate(MASSES)]
    springs = [tf.NonlinearSpring(p[a], p[b], potential=lambda length, k: k / 2 * (length**2 - 1)**2, parameters=[k])
               for a, b, k in ((0, 2, 50.0), (1, 3, 500.0))]
    rods = [tf.RigidDistance(p[a], p[b], length=1.0) for a, b in ((0, 1), (2, 3))]

    def damping(frames, t, c):
        gap = frames[1].position - frames[0].position
        force = (1 + 0.5 * ca.sumsqr(gap)) * (frames[1].velocity - frames[0].velocity)
        return [force, -force]

    state = dict(zip(p, map(tf.Pose, PLACES), strict=True)) | {p[3]: tf.Pose(PLACES[3], velocity=(0, 0, 2 / 1.7))}
    system = tf.System([*p, *springs, *rods, tf.FormulaForce([p[1], p[2]], damping, name="damper")])
    return tf.InitialValueProblem(system, state, (0, t_end))


def errors(k):
    """Relative errors of position and velocity of the last particle at t = 0.1, per step."""
    found = []
    for h in STEPS:
        sol = tf.solve(particles(0.1), tf.MixedGalerkin(k, keep="all"), round(0.1 / h), progress=False)
        found.append([np.linalg.norm(value - exact) / np.linalg.norm(exact) for value, exact in
                      ((sol.position("p3", 0.1), POSITION), (sol.velocity("p3", 0.1), VELOCITY))])
    return np.array(found).T


def test_errors_beside_the_published_ones():
    """k = 1 is more accurate in position and within 2.1 times in velocity; k = 2, 3 are better by orders."""
    position, velocity = errors(1)
    assert np.all(position < PUBLISHED[0]) and np.all(velocity < 2.4 * PUBLISHED[1])
    assert position == pytest.approx([1.936e-5, 4.995e-6, 8.064e-7, 2.019e-7], rel=1e-3)
    assert velocity == pytest.approx([4.823e-4, 1.168e-4, 1.851e-5, 4.620e-6], rel=1e-3)
    for k, factor in ((2, 100), (3, 1e4)):
        for found, published in zip(errors(k), PUBLISHED, strict=True):
            assert found[0] < published[0] / factor


def test_end_states():
    sol = tf.solve(particles(0.1), tf.MixedGalerkin(3, keep="all"), 50, progress=False)
    assert sol.position("p3", 0.1) == pytest.approx(POSITION, rel=0, abs=2e-13)
    assert sol.velocity("p3", 0.1) == pytest.approx(VELOCITY, rel=0, abs=2e-12)
    assert sol.multipliers(0.1)[:2] == pytest.approx((0.029280257568, 1.384997275628), rel=0, abs=1e-10)
    assert sol.energy()[-1] == pytest.approx(1.17610244904, rel=0, abs=1e-11)
    sol = tf.solve(particles(10.0), tf.MixedGalerkin(2, keep="all"), 1000, progress=False)
    assert sol.position("p0", 10.0) == pytest.approx((0.10283989, 0.09310977, 2.76087040), rel=0, abs=6e-9)
    assert sol.energy()[-1] == pytest.approx(0.68504344, rel=0, abs=6e-9)
