"""Mass properties against textbook values and against sums over many points."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import PENDULUM_INERTIA, reference
from timefem import MassProperties
from timefem.mechanics.bodies import rotations

TURN = rotations.matrix_from_quaternion(np.array([0.5, 0.1, -0.7, 0.5]))


def sampled(inside, box, density, n=120):
    """Mass, centre and inertia about the centre from the midpoints of a grid over the box [low, high]."""
    low, high = (np.asarray(v, float) for v in box)
    axes = [lo + (hi - lo) * (np.arange(n) + 0.5) / n for lo, hi in zip(low, high)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    x = x[inside(x)]
    dm = density * np.prod((high - low) / n)
    centre = x.mean(axis=0)
    r = x - centre
    return dm * len(x), dm * ((r**2).sum() * np.eye(3) - r.T @ r), centre


@pytest.mark.parametrize("solid, inside, box", [
    (MassProperties.cuboid(1, 2, 3, 7), lambda x: np.ones(len(x), bool), ([-0.5, -1, -1.5], [0.5, 1, 1.5])),
    (MassProperties.cylinder(1, 3, 7), lambda x: (x[:, :2]**2).sum(axis=1) < 1, ([-1, -1, -1.5], [1, 1, 1.5])),
    (MassProperties.cone(1, 3, 7), lambda x: (x[:, :2]**2).sum(axis=1) < (x[:, 2] / 3)**2, ([-1, -1, 0], [1, 1, 3])),
    (MassProperties.sphere(1, 7), lambda x: (x**2).sum(axis=1) < 1, ([-1, -1, -1], [1, 1, 1])),
    (MassProperties.rod(3, 1e-4, 7), lambda x: np.ones(len(x), bool), ([-5e-3, -5e-3, -1.5], [5e-3, 5e-3, 1.5])),
], ids=["cuboid", "cylinder", "cone", "sphere", "rod"])
def test_solids_against_a_grid(solid, inside, box):
    mass, inertia, centre = sampled(inside, box, 7)
    assert solid.mass == pytest.approx(mass, rel=2e-3)
    np.testing.assert_allclose(solid.inertia, inertia, rtol=0, atol=2e-3 * inertia.max())
    np.testing.assert_allclose(solid.centre, centre, rtol=0, atol=2e-3)


def test_textbook_values():
    np.testing.assert_allclose(MassProperties.cuboid(1, 10, 1, 10).inertia, np.diag(PENDULUM_INERTIA), rtol=1e-15)
    assert MassProperties.cylinder(2, 3, 1).mass == pytest.approx(12 * np.pi, rel=1e-15)
    assert MassProperties.sphere(3, 2).inertia[1, 1] == pytest.approx(0.4 * 72 * np.pi * 9, rel=1e-15)
    rod = MassProperties.rod(2, 0.1, 15)
    np.testing.assert_allclose(rod.about([0, 0, 1]), np.diag([4, 4, 0]), rtol=0, atol=1e-15)  # m l^2 / 3 about an end


def test_heavy_top():
    """The cone of the heavy top, about its centre and about its tip."""
    top = reference("heavy_top")["parameters"]
    cone = MassProperties.cone(top["Rbase"], top["H"], top["rho"])
    assert cone.mass == pytest.approx(top["m"], rel=1e-14)
    assert cone.centre[2] == pytest.approx(top["Lcm"], rel=1e-14)
    expected = np.diag([top["J1_com"], top["J1_com"], top["J3"]])
    np.testing.assert_allclose(cone.inertia, expected, rtol=0, atol=1e-18)
    pivot = np.diag([top["J1_pivot"], top["J1_pivot"], top["J3"]])
    np.testing.assert_allclose(cone.about([0, 0, 0]), pivot, rtol=0, atol=1e-17)


def test_a_composed_cuboid():
    """Two halves make the whole, wherever and however turned they are put together."""
    half = MassProperties.cuboid(1, 2, 3, 5)
    both = (half.shifted([-0.5, 0, 0]) + half.shifted([0.5, 0, 0])).rotated(TURN).shifted([1, 2, 3])
    whole = MassProperties.cuboid(2, 2, 3, 5)
    assert both.mass == pytest.approx(whole.mass, rel=1e-15)
    np.testing.assert_allclose(both.inertia, TURN @ whole.inertia @ TURN.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(both.centre, [1, 2, 3], rtol=0, atol=1e-14)


def test_parallel_axis_and_rotation():
    solid = MassProperties.cuboid(1, 2, 3, 5).shifted([1, 0, 0])
    np.testing.assert_allclose(solid.about([0, 0, 0]) - solid.inertia, solid.mass * np.diag([0, 1, 1]), rtol=0,
                               atol=1e-12)
    turned = solid.rotated(TURN)
    np.testing.assert_allclose(turned.centre, TURN[:, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(turned.about([0, 0, 0]), TURN @ solid.about([0, 0, 0]) @ TURN.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("make, message", [
    (lambda: MassProperties.cuboid(1, 0, 1, 1), "width must be positive"),
    (lambda: MassProperties.cone(1, 1, -1), "density must be positive"),
    (lambda: MassProperties.sphere(np.nan, 1), "radius must be finite"),
    (lambda: MassProperties.rod("long", 1, 1), "length must be a number"),
    (lambda: MassProperties(1, [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
    (lambda: MassProperties(1, [1, 2]), "inertia must have shape"),
    (lambda: MassProperties.sphere(1, 1).shifted([0, 0]), "must have shape"),
    (lambda: MassProperties.sphere(1, 1).rotated(2 * np.eye(3)), "not a rotation"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_only_mass_properties_add_up():
    with pytest.raises(TypeError):
        MassProperties.sphere(1, 1) + 1
