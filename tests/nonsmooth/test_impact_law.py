"""The law of impact: random cases, closed forms, energy, symmetry."""

import json

import numpy as np
import pytest

from tests.contact_systems import DATA
from tests.random_impacts import impact_case
from timefem.solvers.nonsmooth.impact_law import (
    LAW,
    OPEN,
    PRESSED,
    SLIDES,
    STICKS,
    complementary,
    impact,
    kept_law,
    lemke,
    stepped,
)


def _cases(n, seed):
    """Contacts, outcome, and (residual of the law as it was solved, change of energy, its size) of random impacts."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        compliance, before, restitution, friction = impact_case(rng)
        found = impact(compliance, before, restitution, friction)
        x, gamma = found.impulses.ravel(), before.ravel()
        change, size = x @ gamma + x @ compliance @ x / 2, 1 + np.abs(x * gamma).sum()
        xi = (compliance @ x + gamma).reshape(-1, 3)
        xi[:, 0] += found.share * restitution * before[:, 0]
        yield friction, found, change / size, xi, np.abs(gamma).max()


def _violated(friction, found, xi, speed):
    """How far from the law, relative to the velocities: signs, complementarity, cones, friction against slip."""
    force = np.abs(found.impulses).max() + 1e-300
    normal, along = found.impulses[:, 0], np.hypot(*found.impulses[:, 1:].T)
    slip = np.hypot(*xi[:, 1:].T)
    bound = friction * normal
    inside = along < bound - 1e-6 * force
    against = (found.impulses[:, 1:] * xi[:, 1:]).sum(axis=1) + along * slip
    return max(-(normal / force).min(), -(xi[:, 0] / speed).min(), (normal * xi[:, 0] / force / speed).max(),
               ((along - bound) / force).max(), (slip[inside] / speed).max(initial=0.0),
               (against / force / speed).max())


def _check(n, seed):
    failed = {}
    for friction, found, change, xi, speed in _cases(n, seed):
        if not found.solved:
            failed[len(friction)] = failed.get(len(friction), 0) + 1
            continue
        assert found.residual < 1e-9
        assert change < 1e-9
        assert _violated(friction, found, xi, speed) < 1e-6
    assert sum(failed.values()) <= 0.004 * n  # all with 7 contacts or more that depend on each other
    assert all(contacts > 3 for contacts in failed)


@pytest.mark.long
def test_random_impacts():
    _check(300, 1)


@pytest.mark.long
def test_facets_that_follow_the_slip_find_what_fixed_ones_do_not():
    """Cases that were not solved from polygons at fixed angles, nor where these gave the law's solution itself."""
    rng = np.random.default_rng(2)
    cases = [impact_case(rng) for _ in range(780)]
    for k in (34, 63, 771, 778):
        found = impact(*cases[k])
        assert found.solved and found.residual < 1e-11 and found.energy <= 1e-10


@pytest.mark.slow
def test_ten_thousand_random_impacts():
    _check(10_000, 2)


def _flat_box(spin=0.0):
    """Four corners of a box of 1 kg that falls flat, with sideways velocity 1 or a spin about the vertical."""
    corners = np.array([[x, y, -0.5] for x in (-1, 1) for y in (-1, 1)])
    inverse = np.diag([1, 1, 1, 3, 3, 3 / 2])
    rows = []
    for r in corners:
        lever = np.array([[0, r[2], -r[1]], [-r[2], 0, r[0]], [r[1], -r[0], 0]])
        w = np.hstack([np.eye(3), lever])[[2, 0, 1]]
        rows.append(w)
    w = np.concatenate(rows)
    v = np.array([0.0 if spin else 1.0, 0, -2.0, 0, 0, spin])
    return w @ inverse @ w.T, (w @ v).reshape(-1, 3)


def test_a_flat_box_shares_its_impulses_evenly():
    compliance, before = _flat_box()
    found = impact(compliance, before, np.full(4, 0.5), np.zeros(4))
    np.testing.assert_allclose(found.impulses[:, 0], 0.75, rtol=1e-7)
    assert (found.statuses == PRESSED).all()
    assert found.energy == pytest.approx(-0.5 * 4 * (1 - 0.25), rel=1e-9)


def test_a_spinning_box_has_symmetric_friction():
    compliance, before = _flat_box(spin=20.0)
    found = impact(compliance, before, np.full(4, 0.5), np.full(4, 0.1))
    assert (found.statuses == SLIDES).all()
    np.testing.assert_allclose(found.impulses[:, 0], 0.75, rtol=1e-7)
    np.testing.assert_allclose(np.hypot(*found.impulses[:, 1:].T), 0.075, rtol=1e-7)
    np.testing.assert_allclose(found.impulses[:, 1:].sum(axis=0), 0, rtol=0, atol=1e-8)


@pytest.mark.long
def test_units_do_not_matter():
    rng = np.random.default_rng(5)
    for _ in range(20):
        compliance, before, restitution, friction = impact_case(rng)
        a = impact(compliance, before, restitution, friction)
        b = impact(compliance * 1e6, before * 1e-3, restitution, friction)
        if a.solved:
            assert b.solved and (b.share == a.share).all()
            size = np.abs(a.impulses).max()
            assert np.abs(b.impulses * 1e9 - a.impulses).max() < 1e-6 * size


def test_the_jam_of_a_rod():
    """Painleve's rod, of which no forces are consistent: impulses without a velocity of approach."""
    c, s = np.cos(1.2), np.sin(1.2)
    w = np.array([[0, 1, -c], [1, 0, s]])  # length 2 and mass 1
    compliance = np.zeros((3, 3))
    compliance[:2, :2] = w @ np.diag([1, 1, 3.0]) @ w.T
    for friction in (1.4, 1.8):
        found = impact(compliance, np.array([[-1e-9, -1.0, 0.0]]), np.zeros(1), np.array([friction]))
        assert found.solved and found.statuses[0] == STICKS
        np.testing.assert_allclose(found.impulses[0], [0.253299, 0.348477, 0], rtol=0, atol=1e-6)
    found = impact(compliance, np.array([[-1e-9, -1.0, 0.0]]), np.zeros(1), np.array([1.2]))
    assert np.abs(found.impulses).max() < 1e-7


def test_lemke_solves_a_linear_complementarity_problem():
    rng = np.random.default_rng(3)
    for _ in range(20):
        a = rng.normal(size=(6, 6))
        matrix, q = a @ a.T + 0.1 * np.eye(6), rng.normal(size=6)
        z = lemke(matrix, q)
        w = matrix @ z + q
        assert z.min() >= 0 and w.min() > -1e-9 and abs(z @ w) < 1e-9


@pytest.mark.parametrize("pull", [5e-324, 1e-310, 1e-300, 1e-20, 1.0])
def test_accelerations_next_to_nothing_are_held_by_given_friction(pull):
    with np.errstate(all="raise", under="ignore"):
        forces, statuses = complementary(np.diag([0.0, 1.0, 1.0]), np.array([0.0, pull, 0.0]), np.zeros(1),
                                         np.array([1e10]))
    assert statuses == [STICKS] and forces == pytest.approx(np.array([[0.0, -pull, 0.0]]), rel=1e-12, abs=1e-290)


def test_no_work_is_gained_in_an_element_whose_slip_turns_round():
    """Friction against the slip at the end alone would work with the one at the start."""
    none = np.zeros(1)
    before, after = np.array([[0.0, 1.0, 0]]), np.array([[-1.0, -0.5, 0]])
    found, _, share = stepped(np.eye(3), after, before, none, none, np.array([0.6]), none)
    work = (found * (before + after + found)).sum() / 2
    assert work <= 1e-10 and share < 1 and found[0, 0] > 0
    rng = np.random.default_rng(5)
    for _ in range(40):
        n = int(rng.integers(1, 4))
        rows = rng.normal(size=(3 * n, 6))
        after, before = rng.normal(size=(2, n, 3))
        turned, e, mu = rng.normal(size=n), rng.uniform(0, 1, n), rng.uniform(0, 1, n)
        found, _, _ = stepped(rows @ rows.T, after, before, turned, e, mu, np.zeros(n))
        mean = (before + after + (rows @ rows.T @ found.ravel()).reshape(-1, 3)) / 2
        assert (found * mean).sum() <= 1e-8 * max(1.0, np.abs(found).max())


def test_points_of_a_face_whose_velocities_do_not_fit_are_solved():
    """Four points of one face have six independent rows, and what bounces at some of them does not fit these: friction
    has a long way to go to its limit, which changes next to nothing on the way. From an element of a stack of boxes."""
    case = json.loads((DATA / "face_of_a_box.json").read_text())
    compliance, after, before = (np.array(case[name]) for name in ("compliance", "after", "before"))
    friction, restitution = np.full(4, 0.5), np.full(4, 0.3)
    found = stepped(compliance, after, before, np.array(case["turned"]), restitution, friction, np.zeros(4))
    assert found is not None
    impulses, statuses, share = found
    assert np.linalg.matrix_rank(compliance, tol=1e-9) == 6 and share == 0
    assert (impulses[:, 0] >= 0).all() and (impulses[:, 0] > 0).sum() == 2
    assert (np.hypot(*impulses[:, 1:].T) <= 0.5 * impulses[:, 0] + 1e-12).all()
    assert sorted(statuses) == [OPEN, OPEN, STICKS, SLIDES]


def test_memory_is_kept_for_few_contacts_only():
    """That of many would stay, squares of their number, for each number that ever came up."""
    assert kept_law(LAW.kept, LAW) is kept_law(LAW.kept, LAW)
    assert kept_law(LAW.kept + 1, LAW) is not kept_law(LAW.kept + 1, LAW)
    n = LAW.kept + 2
    found = impact(np.eye(3 * n), np.tile([-1.0, 0.0, 0.0], (n, 1)), np.zeros(n), np.zeros(n))
    np.testing.assert_allclose(found.impulses, np.tile([1.0, 0.0, 0.0], (n, 1)), rtol=0, atol=1e-10)


def _askew(rng):
    """Compliance, velocities, restitutions and frictions of three to six boxes on each other, each touching the next
    with two corners on a tilted face; speeds of very different sizes."""
    n, ways = int(rng.integers(3, 7)), []
    widths, heights, masses = *rng.uniform(0.2, 1.0, (2, n)), 10**rng.uniform(-1, 1, n)
    mobility = np.column_stack([1 / masses, 1 / masses, 12 / (masses * (widths**2 + heights**2))]).ravel()
    floors = np.cumsum([0.0, *heights[:-1]])
    centres = np.column_stack([0.05 * rng.normal(size=n), floors + heights / 2])
    for i, tilt in enumerate(0.05 * rng.normal(size=n)):
        normal, along = np.array([-np.sin(tilt), np.cos(tilt)]), np.array([np.cos(tilt), np.sin(tilt)])
        below = widths[i] if not i else min(widths[i], widths[i - 1])
        for side in (-0.5, 0.5):
            for direction in (normal, along, np.zeros(2)):
                way = np.zeros(3 * n)
                for body, sign in ((i, 1.0), (i - 1, -1.0))[:1 + (i > 0)]:
                    x, y = np.array([side * below, floors[i]]) - centres[body]
                    way[3 * body:3 * body + 3] = sign * np.append(direction, x * direction[1] - y * direction[0])
                ways.append(way)
    ways, v = np.array(ways), rng.normal(size=3 * n) * 10**rng.uniform(-6, 0, 3 * n)
    v[1::3] -= 10**rng.uniform(-6, 0)
    restitution = rng.uniform(0, 0.9, 2 * n) * (rng.random() > 0.3)
    return ways * mobility @ ways.T, (ways @ v).reshape(-1, 3), restitution, rng.uniform(0, 1, 2 * n)


def test_stacks_askew():
    """All are solved, next to all to 1e-11, and energy never grows."""
    rng, residuals = np.random.default_rng(11), []
    for _ in range(1000):
        compliance, before, restitution, friction = _askew(rng)
        found = impact(compliance, before, restitution, friction)
        x, gamma = found.impulses.ravel(), before.ravel()
        xi = (compliance @ x + gamma).reshape(-1, 3)
        xi[:, 0] += found.share * restitution * before[:, 0]
        assert found.solved and x @ gamma + x @ compliance @ x / 2 <= 1e-9 * np.abs(x * gamma).sum()
        assert _violated(friction, found, xi, np.abs(gamma).max()) < 1e-6
        residuals.append(found.residual)
    assert np.mean(np.array(residuals) < 1e-11) >= 0.996 and max(residuals) < 1e-8


@pytest.mark.parametrize("faster", [1.0, 1e9, 1e13])
def test_contacts_that_do_not_depend_on_each_other_have_laws_of_their_own(faster):
    """However fast some of them are, the others stick and slide as if these were not there."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        alone, other = (impact_of(rng, n, n_bodies) for n, n_bodies in ((2, 5), (3, 7)))
        compliance = np.zeros((15, 15))
        order = rng.permutation(5)
        order = np.concatenate([np.sort(order[:2]), np.sort(order[2:])])
        rows = (3 * order[:, None] + np.arange(3)).ravel()
        compliance[np.ix_(rows[:6], rows[:6])], compliance[np.ix_(rows[6:], rows[6:])] = alone[0], other[0]
        before = np.zeros((5, 3))
        before[order[:2]], before[order[2:]] = alone[1], faster * other[1]
        found, expected = (impact(*given, np.full(n, 0.5), np.full(n, 0.3))
                           for n, given in ((5, (compliance, before)), (2, alone)))
        np.testing.assert_allclose(found.impulses[order[:2]], expected.impulses, rtol=1e-14, atol=1e-300)
        assert found.statuses[order[:2]].tolist() == expected.statuses.tolist()


def impact_of(rng, n, n_coordinates):
    rows, before = rng.normal(size=(3 * n, n_coordinates)), rng.normal(size=(n, 3))
    before[:, 0] = -np.abs(before[:, 0])
    return rows @ rows.T, before
