"""Gaps, normals and points of contact against distances that a minimizer finds."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from timefem.mechanics.contacts import geometry


def rotation(rng):
    return Rotation.random(random_state=rng).as_matrix()


def evaluated(touch):
    return [np.array(ca.DM(ca.evalf(ca.SX(x)))).squeeze() for x in touch[:4]]


def unit(x):
    return x / np.linalg.norm(x)


def nearest_on_sphere(angles):
    a, b = angles
    return np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])


def least(function, starts):
    """Least value over all starts."""
    return min(minimize(function, start, method="BFGS", options={"gtol": 1e-10}).fun for start in starts)


@pytest.mark.parametrize("seed", range(4))
def test_an_ellipsoid_above_a_plane(seed):
    rng = np.random.default_rng(seed)
    r, half, normal, place = rotation(rng), rng.uniform(0.2, 1.0, 3), unit(rng.normal(size=3)), rng.normal(size=3)
    centre = place + 2 * normal + rng.normal(size=3) * 0.3
    gap, n, a, b = evaluated(geometry.ellipsoid_on_plane(ca.SX(ca.DM(centre)), ca.SX(ca.DM(r)), ca.DM(half),
                                                         ca.DM(normal), ca.DM(place)))

    def height(angles):
        return normal @ (centre + r @ (half * nearest_on_sphere(angles)) - place)

    assert gap == pytest.approx(least(height, rng.uniform(0, 3, (4, 2))), abs=1e-9)
    assert np.sum((r.T @ (a - centre) / half) ** 2) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(a - b, gap * n, rtol=0, atol=1e-12)


@pytest.mark.parametrize("inside", [False, True])
def test_two_spheres(inside):
    rng = np.random.default_rng(5)
    a, radius_a, radius_b = rng.normal(size=3), 0.3, 1.1
    b = a + unit(rng.normal(size=3)) * (0.5 if inside else 2.0)
    gap, n, at_a, at_b = evaluated(geometry.spheres(ca.SX(ca.DM(a)), radius_a, ca.SX(ca.DM(b)), radius_b, inside))

    def distance(x):
        return np.linalg.norm(a + radius_a * nearest_on_sphere(x[:2]) - b - radius_b * nearest_on_sphere(x[2:]))

    assert gap == pytest.approx(least(distance, rng.uniform(0, 3, (6, 4))), abs=1e-9)
    np.testing.assert_allclose([np.linalg.norm(at_a - a), np.linalg.norm(at_b - b)], [radius_a, radius_b], rtol=1e-14)
    np.testing.assert_allclose(at_a - at_b, gap * n, rtol=0, atol=1e-14)
    assert np.dot(n, a - b) * (-1 if inside else 1) > 0


@pytest.mark.parametrize("inside", [False, True])
def test_two_circles_in_a_plane(inside):
    rng = np.random.default_rng(6)
    axis = unit(rng.normal(size=3))
    u = unit(np.cross(axis, (1, 0, 0)))
    v = np.cross(axis, u)
    a = rng.normal(size=3)
    b = a + (0.5 if inside else 2.0) * (0.6 * u + 0.8 * v) + 0.7 * axis
    gap, n, at_a, at_b = evaluated(geometry.circles(*(ca.SX(ca.DM(x)) if np.ndim(x) else x for x in (a, 0.3, b, 1.1)),
                                                    ca.DM(axis), inside))

    def distance(x):
        line = a - b + 0.3 * (np.cos(x[0]) * u + np.sin(x[0]) * v) - 1.1 * (np.cos(x[1]) * u + np.sin(x[1]) * v)
        return np.linalg.norm(line - axis * (axis @ line))

    assert gap == pytest.approx(least(distance, rng.uniform(0, 6, (6, 2))), abs=1e-9)
    assert n @ axis == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(at_a - at_b, gap * n, rtol=0, atol=1e-14)


def segment_distance(a, u, b, v):
    found = minimize(lambda x: np.sum((a + x[0] * u - b - x[1] * v) ** 2), (0.5, 0.5), bounds=[(0, 1)] * 2,
                     method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12})
    return np.sqrt(found.fun)


def edges(a, u, b, v, out):
    return evaluated(geometry.edges(*(ca.SX(ca.DM(x)) for x in (a, u, b, v, out))))


@pytest.mark.parametrize("seed", range(8))
def test_two_edges(seed):
    """The distance of the edges, wherever they are closest; between their ends it has a sign."""
    rng = np.random.default_rng(seed)
    a, u, b, v = rng.normal(size=(4, 3))
    if seed < 4:  # cross
        normal = unit(np.cross(u, v))
        b = a + 0.3 * u - 0.6 * v - 0.1 * normal
        gap, n, at_a, at_b = edges(a, u, b, v, normal)
        assert gap == pytest.approx(0.1, abs=1e-12)
        np.testing.assert_allclose([at_a, n], [a + 0.3 * u, normal], rtol=0, atol=1e-12)
        assert edges(a, u, b, v, -normal)[0] == pytest.approx(-0.1, abs=1e-12)
    gap, n, at_a, at_b = edges(a, u, b, v, a - b)
    assert abs(gap) == pytest.approx(segment_distance(a, u, b, v), abs=1e-6)
    np.testing.assert_allclose(at_a - at_b, gap * n, rtol=0, atol=1e-12)


def test_parallel_edges_have_a_distance():
    gap, n, *_ = edges((0, 0, 0.2), (1, 0, 0), (0.5, 0, 0), (2, 0, 0), (0, 0, 1))
    assert gap == pytest.approx(0.2)
    np.testing.assert_allclose(n, (0, 0, 1), rtol=0, atol=1e-15)


def box_distance(a, ra, ha, b, rb, hb):
    """Least distance of two boxes; zero where they overlap."""
    bounds = [(-h, h) for h in (*ha, *hb)]
    found = minimize(lambda x: np.sum((a + ra @ x[:3] - b - rb @ x[3:]) ** 2), np.zeros(6), bounds=bounds,
                     method="L-BFGS-B", options={"ftol": 1e-18, "gtol": 1e-13, "maxiter": 2000})
    return np.sqrt(found.fun)


@pytest.mark.long
def test_two_boxes_touch_where_their_distance_vanishes():
    """Brought together along a line until the least gap is zero, the distance is zero there, and positive before."""
    rng = np.random.default_rng(10)
    x = [ca.SX.sym(n, *shape) for n, shape in zip("arhbsk", ((3, 1), (3, 3), (3, 1)) * 2, strict=True)]
    far = ca.SX.sym("far")
    line = ca.SX.sym("line", 3)
    gaps = ca.vertcat(*(touch.gap for touch in geometry.boxes(x[0] + far * line, *x[1:])))
    least = ca.Function("least", [far, line, *x], [ca.mmin(gaps), ca.mmin(gaps[:16])])
    by_edges = 0
    for _ in range(25):
        ra, rb, ha, hb = rotation(rng), rotation(rng), rng.uniform(0.3, 1, 3), rng.uniform(0.3, 1, 3)
        b, along, aside = rng.normal(size=3), unit(rng.normal(size=3)), 0.2 * rng.normal(size=3)
        arguments = along, b + aside, ra, ha, b, rb, hb
        ways = np.linspace(4, 0, 401)
        values = np.array([float(least(x, *arguments)[0]) for x in ways])
        first = int(np.argmax(values < 0))
        assert first
        low, high = ways[first], ways[first - 1]
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if float(least(middle, *arguments)[0]) < 0 else (low, middle)
        places = [(b + aside + way * along, ra, ha, b, rb, hb) for way in (high, high + 0.02)]
        assert box_distance(*places[0]) < 1e-5
        assert box_distance(*places[1]) > 1e-4
        by_edges += float(least(high, *arguments)[1]) > 1e-9
    assert 3 < by_edges < 22


def test_a_box_on_a_box_touches_at_the_corners_of_both():
    half = np.array([0.5, 0.4, 0.3])
    x = [ca.SX(ca.DM(v)) for v in ((0.2, 0.1, 0.6), np.eye(3), half, (0, 0, 0), np.eye(3), half)]
    touches = [evaluated(touch) for touch in geometry.boxes(*x)]
    places = {tuple(np.round(touch[2], 9)) for touch in touches if abs(touch[0]) < 1e-12}
    assert places == {(-0.3, -0.3, 0.3), (-0.3, 0.4, 0.3), (0.5, -0.3, 0.3), (0.5, 0.4, 0.3)}
    assert all(touch[0] > -1e-12 for touch in touches)


@pytest.mark.parametrize("turn", [0.0, 0.3, 0.7, 2.3])
@pytest.mark.parametrize("place", [(0, 0, 2), (2, 0, 0), (0.0, 0.3, 2), (0.2, 0.3, 2)])
def test_boxes_as_wide_that_stand_on_or_beside_each_other_touch_on_faces_alone(turn, place):
    """Their edges cross at corners, some of which would push aside what stands on it, and others are the same line."""
    half, place = np.array([0.1, 0.1, 0.1]), 0.1 * np.array(place)
    r = Rotation.from_rotvec((0, 0, turn)).as_matrix()
    x = [ca.SX(ca.DM(v)) for v in (r @ place, Rotation.from_rotvec((0, 0, 1e-16)).as_matrix() @ r, half, (0, 0, 0), r,
                                   half)]
    touches = [evaluated(touch) for touch in geometry.boxes(*x)]
    near = [k for k, touch in enumerate(touches) if touch[0] < 1e-8]
    overlap = {tuple(np.round(r.T @ touches[k][2], 9)) for k in near}
    assert len(overlap) == 4 and min(touch[0] for touch in touches) > -1e-15
    across = r @ (np.abs(place) > 0.19)
    for k in near:
        np.testing.assert_allclose(touches[k][1], across, rtol=0, atol=1e-12)
    if not place[:2].any() or place[2] == 0:
        assert max(near) < 16


def test_two_boards_that_cross_touch_at_four_edges():
    """No corner is on the other one: four places, those of the crossing."""
    half = np.array([1.0, 0.1, 0.05])
    turn = Rotation.from_rotvec((0, 0, np.pi / 3)).as_matrix()
    x = [ca.SX(ca.DM(v)) for v in ((0, 0, 0.1), turn, half, (0, 0, 0), np.eye(3), half)]
    touches = [evaluated(touch) for touch in geometry.boxes(*x)]
    places = [touch[2] for touch in touches if abs(touch[0]) < 1e-12]
    assert len(places) == 4
    np.testing.assert_allclose(np.abs([turn.T @ place for place in places])[:, 1:], [[0.1, 0.05]] * 4, rtol=0,
                               atol=1e-12)
    np.testing.assert_allclose(np.abs([place[1] for place in places]), 0.1, rtol=0, atol=1e-12)
    assert all(touch[0] > -1e-12 for touch in touches)


def test_a_disc_that_leans():
    rng = np.random.default_rng(8)
    axis, normal, place = unit(rng.normal(size=3)), unit(rng.normal(size=3)), rng.normal(size=3)
    centre = place + 1.5 * normal
    gap, _, a, _ = evaluated(geometry.disc_on_plane(ca.SX(ca.DM(centre)), ca.SX(ca.DM(axis)), 0.4, ca.DM(normal),
                                                    ca.DM(place)))
    u = unit(np.cross(axis, (1, 0, 0)))
    v = np.cross(axis, u)
    found = least(lambda x: normal @ (centre + 0.4 * (np.cos(x[0]) * u + np.sin(x[0]) * v) - place), [[0.0], [2.0]])
    assert gap == pytest.approx(found, abs=1e-9)
    assert [np.linalg.norm(a - centre), axis @ (a - centre)] == pytest.approx([0.4, 0], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_corner_above_a_box(seed):
    """Beyond a face the distance to it; inside the negative way out."""
    rng = np.random.default_rng(seed)
    r, half, centre = rotation(rng), rng.uniform(0.3, 1.0, 3), rng.normal(size=3)
    axis, side = seed % 3, (-1) ** seed
    local = rng.uniform(-0.9, 0.9, 3) * half
    for out in (0.4, -0.02):
        local[axis] = side * (half[axis] + out)
        gap, n, at_a, at_b = evaluated(geometry.corner_on_box(ca.SX(ca.DM(centre + r @ local)), ca.SX(ca.DM(centre)),
                                                              ca.SX(ca.DM(r)), ca.DM(half)))
        assert gap == pytest.approx(out, abs=1e-12)
        np.testing.assert_allclose(n, side * r[:, axis], rtol=0, atol=1e-14)
        np.testing.assert_allclose(np.abs(r.T @ (at_b - centre))[axis], half[axis], rtol=0, atol=1e-14)
        np.testing.assert_allclose(at_a - at_b, gap * n, rtol=0, atol=1e-14)


def test_a_corner_on_two_faces_of_a_box_as_wide():
    """Where two boxes overlap least tells which face counts, and a corner on its rim is not beside it."""
    half = np.array([0.015, 0.05, 0.1])
    x = [ca.SX(ca.DM(v)) for v in ((-0.029, 0, 0), np.eye(3), half, (0, 0, 0), np.eye(3), half)]
    touches = [evaluated(touch) for touch in geometry.boxes(*x, with_edges=False)]
    on_b = [touch for touch in touches[:8] if touch[0] < 0]
    assert len(on_b) == 4
    for touch in on_b:
        assert touch[0] == pytest.approx(-0.001, abs=1e-14)
        np.testing.assert_allclose(touch[1], (-1, 0, 0), rtol=0, atol=1e-15)


def test_directions_across_a_normal_are_smooth():
    rng = np.random.default_rng(9)
    n = ca.SX.sym("n", 3)
    across = ca.Function("across", [n], [geometry.across(n)])
    for normal in [*map(unit, rng.normal(size=(50, 3))), *np.eye(3), *-np.eye(3)]:
        frame = np.column_stack([np.array(across(normal)), normal])
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), rtol=0, atol=1e-13)
        assert np.linalg.det(frame) == pytest.approx(1, abs=1e-12)
        near = unit(normal + 1e-7 * rng.normal(size=3))
        assert np.abs(np.array(across(near)) - frame[:, :2]).max() < 1e-5


@pytest.mark.parametrize("with_edges, n", [(False, 16), (True, 160)])
def test_places_of_boxes_are_written_once(monkeypatch, with_edges, n):
    """They are the same formulas for any symbols, which are not written again."""
    symbols = [ca.SX.sym("x", *shape) for _ in range(2) for shape in ((3,), (3, 3), (3,))]
    written = geometry._boxes(*symbols, with_edges)
    geometry.boxes(*symbols, with_edges)
    monkeypatch.setattr(geometry, "_boxes", None)
    found = geometry.boxes(*symbols, with_edges)
    assert len(found) == n
    for one, other in zip(found, written, strict=True):
        one, other = (ca.Function("f", symbols, [*x[:5], *x.further[:4]]).serialize() for x in (one, other))
        assert one == other
