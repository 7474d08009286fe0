"""Boxes that stand on each other: more contacts, which depend on each other, than bodies have ways to move."""

import itertools

import numpy as np
import pytest

import timefem as tf
from tests.nonsmooth.contact_scenes import DOWN, G
from timefem.solvers.nonsmooth.sharing import _independent

M = 1.3
LAW = {"friction": 0.5, "restitution": 0.0}


def marched(edge, poses, pairs, t_end, n, on_floor=1):
    """Cubes (n,) as (place, turn about the vertical), of which the first ones are on a floor; their weights by what
    they stand on."""
    cubes = [tf.RigidBody(M, (M * edge**2 / 6,) * 3, size=(edge,) * 3, name=f"box {i}") for i in range(len(poses))]
    parts = [*cubes, *(tf.BoxContact(cube, **LAW, name=f"floor, {cube.name}") for cube in cubes[:on_floor])]
    parts += [tf.BoxPairContact(cubes[a], cubes[b], **LAW, name=f"box {a} on box {b}") for a, b in pairs]
    state = {cube: tf.Pose(place, (np.cos(turn / 2), 0, 0, np.sin(turn / 2)))
             for cube, (place, turn) in zip(cubes, poses, strict=True)}
    problem = tf.InitialValueProblem(tf.System(parts, gravity=DOWN), state, (0, t_end))
    sol = tf.solve(problem, tf.MixedGalerkin(1), n, progress=False)
    assert sol.success, sol.status.message
    assert sol.contact_gaps().min() > -1e-12 and np.abs(sol.energy.balance()).max() < 1e-10
    assert max(np.abs(sol.velocity(cube, t_end)).max() for cube in cubes) < 1e-10
    carried, forces = {}, sol.contact_forces([t_end])[0]
    assert (np.hypot(*forces[:, 1:].T) <= LAW["friction"] * forces[:, 0] + 1e-9).all()
    for name, force in zip(sol.contact_names, forces[:, 0], strict=True):
        of = name.split(":")[0]
        carried[of] = carried.get(of, 0.0) + force / (M * G)
    return sol, carried


STACKS = [  # edge, height above what is below, place and turn of each
    pytest.param(0.2, 0.0, [((0, 0), 0.0)] * 3, id="aligned"),
    pytest.param(0.2, 0.0, [((0, 0), 0.7)] * 3, id="aligned, turned"),
    pytest.param(0.2, 0.0, [((0, 0), 0.0), ((0, 0), 1e-5), ((0, 0), -1e-5)], id="nearly aligned"),
    pytest.param(0.2, 0.0, [((0, 0), 0.4), ((0.03, 0.02), 0.4), ((0.05, -0.01), 0.4)], id="askew"),
    pytest.param(0.2, 0.02, [((0, 0), 0.0)] * 3, id="falls"),
]


@pytest.mark.long
@pytest.mark.parametrize("edge, height, cubes", STACKS)
def test_a_stack_of_three_stands(edge, height, cubes):
    """Where edges cross at corners, or almost along each other, faces carry it."""
    poses = [((*place, (i + 0.5) * edge + (i + 1) * height), turn) for i, (place, turn) in enumerate(cubes)]
    found = [marched(edge, poses, [(1, 0), (2, 1)], 2.0, 40) for _ in range(1 + (height == 0))]
    for sol, carried in found:
        assert carried == {name: pytest.approx(n, rel=1e-8) for name, n in
                           (("floor, box 0", 3), ("box 1 on box 0", 2), ("box 2 on box 1", 1))}
        assert [event.kind for event in sol.events] == ["impact"] * (3 if height else 0)
        if height:  # all of the energy of the fall: nothing bounces, and all strike by turns
            assert sum(event.energy for event in sol.events) == pytest.approx(-6 * M * G * height, rel=1e-8)
    for one, other in itertools.pairwise(found):
        np.testing.assert_array_equal(one[0].z, other[0].z)


@pytest.mark.long
@pytest.mark.parametrize("turn, drop", [(0.0, 0.0), (0.4, 0.01)])
def test_a_box_on_two_boxes(turn, drop):
    edge, c, s = 0.4, np.cos(turn), np.sin(turn)
    places = [(-0.225, edge / 2), (0.225, edge / 2), (0.0, 1.5 * edge + drop)]
    _, carried = marched(edge, [((c * x, s * x, z), turn) for x, z in places], [(2, 0), (2, 1)], 1.0, 20, on_floor=2)
    assert carried == {name: pytest.approx(n, rel=1e-8) for name, n in (
        ("floor, box 0", 1.5), ("floor, box 1", 1.5), ("box 2 on box 0", 0.5), ("box 2 on box 1", 0.5))}


def test_rows_of_feet_that_are_almost_on_a_line_are_not_taken_for_independent_ones():
    """The first three would do, just so; of all the choices it is one by which others follow with small factors."""
    feet = np.array([[-1, 0], [0, 1e-5], [1, 0], [0.5, 1e-5], [0.3, 0.8], [-0.3, -0.8]])
    rows = np.column_stack([np.ones(len(feet)), feet])  # of gaps, for height and two tilts
    basis, kept = _independent(rows, np.linalg.norm(rows, axis=1), len(rows))
    assert basis.shape == (3, 3) and len(kept) == 3
    assert np.abs(np.linalg.solve(rows[kept].T, rows.T)).max() < 5
