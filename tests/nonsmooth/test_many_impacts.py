"""Many impacts: Moreau's midpoint where events are too many, thin bodies, energy over long bouncing."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from tests import contact_systems as systems
from timefem.solvers.nonsmooth import node
from timefem.solvers.nonsmooth.contact_march import ContactMarch
from timefem.solvers.nonsmooth.flight import flight
from timefem.solvers.nonsmooth.impact_law import impact
from timefem.solvers.nonsmooth.options import CONTACT, LAW
from timefem.solvers.nonsmooth.search import Search
from timefem.solvers.nonsmooth.sharing import SLIDES
from timefem.status import Reason, Status


@pytest.fixture
def fallback_only(monkeypatch):
    options = replace(CONTACT, events_per_element=-1, most_fallback=1000, first=1)
    monkeypatch.setattr(ContactMarch.__init__, "__defaults__", (options,))
    monkeypatch.setattr(ContactMarch, "_accumulates", lambda self: True)


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["directors", "quaternion"])
def test_the_fallback_is_of_first_order_and_gains_no_energy(fallback_only, rotation):
    """The bar after two impacts, with nodes where they are not."""
    errors = []
    for n in (50, 200, 800):
        sol, found = systems.bar(1, n, rotation=rotation, end=0.8)
        assert sol.success
        assert "fallback" in sol.statistics["contact_events"]
        assert np.diff(sol.energy()).max() < 1e-9 * sol.energy()[0]
        errors.append(found)
    steps = [np.abs(a - b).max() for a, b in pairwise(errors)]
    assert steps[1] < 0.5 * steps[0]


def test_what_stays_closed_in_the_fallback_moves_along_its_surface(fallback_only):
    """At the ends of elements, too, however far the surface turns: a taut rope, whose end went out at 2 cm/s."""
    ball = tf.PointMass(1.0, name="ball")
    rope = tf.Tether(ball, None, length=1.0, point_b=(0, 0, 2), name="rope")
    state = {ball: tf.Pose((0.6, 0, 1.2), velocity=(0, 2.0, 0))}
    sol = systems.solved(tf.System([ball, rope], gravity=(0, 0, -9.81)), state, (0, 0.5), 1, 60)
    assert sol.success and sol.statistics["contact_events"]["fallback"] > 20
    assert np.abs(sol.contact_gaps()).max() < 1e-12
    outwards = ((sol.z[:, :3] - (0, 0, 2)) * sol.z[:, 3:]).sum(axis=1)
    assert np.abs(outwards).max() < 1e-4
    assert np.abs(np.diff(sol.energy())).max() < 1e-6 * abs(sol.energy()[0])


def test_slips_whose_elements_have_no_solution_go_through_the_fallback(monkeypatch):
    """At once: halved again and again they crept on by a millionth of an element each, for hours."""
    solve, failed = ContactMarch._solve, []

    def without_solution(march, nodes, exact=True):
        solved = solve(march, nodes, exact)
        if not ((march.modes == SLIDES).any() and march.t < 0.02):
            return solved
        failed.append(exact)
        status = Status.failure(Reason.NOT_CONVERGED, 0, march.t, [])
        return solved._replace(nodes=nodes[:1], state=solved.state[:0], multipliers=solved.multipliers[:0],
                               forces=solved.forces[:0], iterations=solved.iterations[:0], status=status)

    monkeypatch.setattr(ContactMarch, "_solve", without_solution)
    puck = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="puck")
    floor = tf.PlaneContact(puck, radius=0.1, friction=0.3, name="floor")
    start = tf.Pose((0, 0, 0.1), velocity=(1, 0.5, 0), angular_velocity=(0, 1, 2))
    sol = systems.solved(tf.System([puck, floor], gravity=(0, 0, -9.81)), {puck: start}, (0, 0.1), 2, 10)
    assert sol.success and failed and all(failed)
    assert sol.statistics["contact_events"]["fallback"] > 0
    assert np.diff(sol.energy()).max() < 1e-9 * sol.energy()[0]


def _in_a_hollow():
    ball = tf.PointMass(0.3, name="ball")
    hollow = tf.SphereContact(ball, None, radius_a=0.2, radius_b=1.2, inside=True, restitution=1.0, friction=0.3)
    return [ball, hollow], {ball: tf.Pose((0.3, -0.37, 0), velocity=(0.1, 1, 0))}, None, 5


def _tumbling():
    box = tf.RigidBody(0.3, (0.01, 0.02, 0.015), size=(0.4, 0.3, 0.2), name="box")
    start = tf.Pose((0, 0, 0.4), velocity=(1, 0, -1), angular_velocity=(5, 9, 3))
    return [box, tf.BoxContact(box, restitution=1.0)], {box: start}, (0, 0, -2), 40


@pytest.mark.parametrize("scene", [_in_a_hollow, _tumbling])
def test_long_elements_of_the_fallback_gain_no_energy(fallback_only, scene):
    """Where normals turn far in one, it is shortened; the energies grew by half, and by 0.4 %."""
    parts, state, gravity, n = scene()
    sol = systems.solved(tf.System(parts, gravity=gravity), state, (0, 6), 2, n)
    assert sol.success and sol.statistics["contact_events"]["fallback"] > 0
    assert np.diff(sol.energy()).max() < 1e-9 * sol.energy()[0]


def test_the_fallback_of_one_body_leaves_the_impacts_of_others(monkeypatch):
    """One ball bounces often in an element, the other one by its closed form, and through no floor."""
    monkeypatch.setattr(ContactMarch.__init__, "__defaults__", (replace(CONTACT, events_per_element=2),))
    busy, free = tf.PointMass(1.0, name="busy"), tf.PointMass(2.0, name="free")
    parts = [busy, free, tf.PlaneContact(busy, normal=(0, 1, 0), restitution=0.8, name="a"),
             tf.PlaneContact(free, normal=(0, 1, 0), restitution=1.0, name="b")]
    drop, height = 0.7, np.array([0, 1e-3, 0])
    problem = tf.InitialValueProblem(tf.System(parts, gravity=systems.DOWN),
                                     {busy: tf.Pose(height), free: tf.Pose(drop * height / 1e-3)}, (0, 1.0))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert sol.success and "fallback" in sol.statistics["contact_events"]
    hits = [event.t for event in sol.events if event.kind == "impact" and "b" in event.contacts]
    first = np.sqrt(2 * drop / 9.81)
    np.testing.assert_allclose(hits, [first], rtol=1e-8)
    after = 1.0 - first
    np.testing.assert_allclose(sol.z[-1, 4], np.sqrt(2 * drop * 9.81) * after - 9.81 / 2 * after**2, rtol=1e-8)
    assert sol.contact_gaps().min() > -1e-9


def _discs(n, columns=4, radius=0.1):
    rng = np.random.default_rng(1)
    inertia, bodies, parts, state = 0.5 * radius**2, [], [], {}
    laws = {"restitution": 0.3, "friction": 0.3}
    walls = {"floor": ((0, 1, 0), (0, 0, 0)), "left": ((1, 0, 0), (0, 0, 0)), "right": ((-1, 0, 0), (1, 0, 0))}
    for i in range(n):
        row, column = divmod(i, columns)
        body = tf.RigidBody(1.0, (inertia,) * 3, rotation="directors", name=f"disc {i}")
        place = 0.15 + 0.23 * column + rng.uniform(-0.01, 0.01), 0.15 + 0.25 * row + rng.uniform(-0.01, 0.01), 0
        state[body] = tf.Pose(place, velocity=(rng.uniform(-0.5, 0.5), 0, 0))
        parts += [tf.PlaneContact(body, normal=normal, plane_point=point, radius=radius, name=f"{name} {i}", **laws)
                  for name, (normal, point) in walls.items()]
        parts += [tf.DiscContact(body, other, radius_a=radius, radius_b=radius, name=f"{i} and {j}", **laws)
                  for j, other in enumerate(bodies)]
        bodies.append(body)
    return tf.System([*bodies, *parts], gravity=systems.DOWN), state


def _check_pile(sol):
    assert sol.success
    energy = sol.energy()
    assert energy[-1] < 0.8 * energy[0]
    assert np.diff(energy).max() < 1e-9 * energy[0]
    assert np.abs(sol.energy.balance()).max() < 1e-11 * energy[0]
    gaps = sol.contact_gaps()
    assert gaps.min() > -3e-3 and gaps[-1].min() > -1e-3


@pytest.mark.long
def test_four_discs_in_a_box(fallback_only):
    system, state = _discs(4)
    _check_pile(systems.solved(system, state, (0, 0.6), 1, 100))


@pytest.mark.slow
def test_twenty_discs_in_a_box(fallback_only):
    system, state = _discs(20)
    _check_pile(systems.solved(system, state, (0, 0.8), 1, 200))


def _two_between_walls(end, n):
    """Point masses of 1 and 2 kg on a line, a thin one among them, without losses."""
    a, b = tf.PointMass(1.0, 1, name="a"), tf.PointMass(2.0, 1, name="b")
    laws = {"restitution": 1.0}
    system = tf.System([a, b, tf.PlaneContact(a, normal=(1, 0, 0), name="left", **laws),
                        tf.PlaneContact(b, normal=(-1, 0, 0), plane_point=(1, 0, 0), name="right", **laws),
                        tf.SphereContact(b, a, radius_a=0.05, radius_b=0.0, name="pair", **laws)])
    start = {a: tf.Pose((0.2, 0, 0), velocity=(1, 0, 0)), b: tf.Pose((0.7, 0, 0), velocity=(-0.4, 0, 0))}
    return systems.solved(system, start, (0, end), 1, n)


def _check_bouncing(sol):
    energy = sol.energy()
    assert np.abs(energy - energy[0]).max() < 1e-11 * energy[0]
    assert sol.contact_gaps().min() > -1e-12
    assert ((sol.z[:, 1] - sol.z[:, 0]) > 0).all()


def test_thin_bodies_do_not_pass_through_each_other():
    """Elements in which they would be on the other side at the end."""
    sol = _two_between_walls(20, 40)
    _check_bouncing(sol)
    assert sol.statistics["contact_events"]["impact"] > 40


@pytest.mark.slow
def test_energy_over_ten_thousand_impacts():
    sol = _two_between_walls(4500, 9000)
    _check_bouncing(sol)
    assert sol.statistics["contact_events"]["impact"] > 10_000


def test_grazing():
    """cos t above a stop at -1 + d: whether it touches does not matter more than d."""
    for depth in (1e-4, 1e-6, 1e-10, 1e-12, 0.0, -1e-12, -1e-8):
        body = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="mass")
        spring = tf.FormulaForce(body, lambda f, t, c: -f[0].q)
        stop = systems.Stop(body, place=-1 + depth, restitution=1.0, name="stop")
        sol = systems.solved(tf.System([body, spring, stop]), tf.Coordinates([1.0], [0.0]), (0, 6), 3, 20)
        expected = np.cos(2 * np.arccos(max(-1.0, -1 + depth)) - 6)
        assert abs(sol.z[-1, 0] - expected) < 4.1e-8
        assert [event.kind for event in sol.events] == (["impact"] if depth > 0 else ["touches"])


def test_an_impact_beyond_its_budget_stops_by_name(monkeypatch):
    monkeypatch.setattr(node, "impact", partial(impact, options=replace(LAW, rounds=0, work=0.0)))
    ball = tf.PointMass(1.0, 1, name="ball")
    wall = tf.PlaneContact(ball, normal=(1, 0, 0), name="wall")
    sol = systems.solved(tf.System([ball, wall]), {ball: tf.Pose((1, 0, 0), velocity=(-2, 0, 0))}, (0, 1), 1, 10)
    assert sol.status.reason == "budget of impacts" and sol.status.time == pytest.approx(0.5)
    assert "impact of wall" in sol.status.message


@pytest.mark.slow
def test_a_crate_wedged_in_a_groove_stops_by_name():
    crate, steep = tf.RigidBody(1.0, (0.01,) * 3, name="crate"), np.deg2rad(80)
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    walls = [tf.PlaneContact(crate, normal=(side * np.sin(steep), 0, np.cos(steep)), plane_point=(-0.11 * side, 0, 0),
                             points=corners, friction=0.9, restitution=0.3, name=name)
             for side, name in ((1, "left"), (-1, "right"))]
    start = tf.Pose((0, 0, 0.15), (np.cos(0.1), 0, np.sin(0.1), 0), angular_velocity=(0, 3, 0))
    sol = systems.solved(tf.System([crate, *walls], gravity=(0, 0, -9.81)), {crate: start}, (0, 1), 2, 100)
    assert sol.success or (sol.status.reason in ("no consistent mode", "budget of impacts")
                           and "left: contact" in sol.status.message)


def test_what_goes_through_a_surface_stops_by_name(monkeypatch):
    """Whatever the reason; here because no closing is seen."""
    first = Search.first
    monkeypatch.setattr(Search, "first", lambda *given: (first(*given), (None, None))[1])
    monkeypatch.setattr(flight, "can_fly", lambda *given: False)
    ball = tf.PointMass(1.0, 1, name="ball")
    wall = tf.PlaneContact(ball, normal=(1, 0, 0), name="wall")
    sol = systems.solved(tf.System([ball, wall]), {ball: tf.Pose((1, 0, 0), velocity=(-2, 0, 0))}, (0, 1), 1, 10)
    assert sol.status.reason == "constraints violated" and "wall overlap" in sol.status.message


@pytest.mark.slow
def test_cards_that_fall_on_each_other_lie_in_a_pile():
    """Their edges are parallel to rounding: they fell through each other and the floor."""
    size, mass = np.array([0.06, 0.09, 3e-4]), 2e-3
    cards = [tf.RigidBody(mass, mass / 12 * ((size**2).sum() - size**2), name=f"card {i}", size=size) for i in range(2)]
    law = {"friction": 0.3, "restitution": 0.1}
    parts = [*cards, *(tf.BoxContact(card, **law) for card in cards), tf.BoxPairContact(*cards[::-1], **law)]
    state = {cards[0]: tf.Pose((0, 0, 0.03), (np.cos(0.1), 0, -np.sin(0.1), 0), velocity=(0.3, 0, 0)),
             cards[1]: tf.Pose((0.005, 0.003, 0.05), velocity=(0.3, 0, 0))}
    sol = systems.solved(tf.System(parts, gravity=(0, 0, -9.81)), state, (0, 0.25), 2, 100)
    assert sol.success and sol.contact_gaps().min() > -1e-12
    assert [sol.position(card, 0.25)[2] for card in cards] == [pytest.approx(1.5e-4, abs=1e-7),
                                                               pytest.approx(4.5e-4, abs=1e-7)]


@pytest.mark.parametrize("height, speed, mass, pair", [(1e6, 0.0, 1.0, False), (10.0, 1e5, 1.0, False),
                                                       (10.0, 1.0, 1e9, False), (1e5, 0.0, 1.0, True)])
def test_sizes_of_other_bodies_do_not_matter(height, speed, mass, pair):
    """Of a far, fast or heavy one: small bounces go on as without it, by their closed forms."""
    balls = [tf.PointMass(m, name=name) for m, name in ((1.0, "a"), (1.0, "b"), (mass, "far"))]
    parts = [tf.PlaneContact(ball, normal=(0, 1, 0), restitution=e, name=f"floor {ball.name}")
             for ball, e in zip(balls, (0.5, 0.9, 1.0), strict=True)]
    if pair:
        parts.append(tf.SphereContact(balls[0], balls[2], radius_a=0.01, radius_b=0.01, name="pair"))
    drops = 0.02, 0.001
    state = {ball: tf.Pose((0, y, 0)) for ball, y in zip(balls, drops, strict=False)}
    state[balls[2]] = tf.Pose((0, height, 0), velocity=(0, speed, 0))
    problem = tf.InitialValueProblem(tf.System([*balls, *parts], gravity=systems.DOWN), state, (0, 0.15))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 15, progress=False)
    assert sol.success, sol.status.message
    for name, e, drop in zip("ab", (0.5, 0.9), drops, strict=True):
        hits = [event.t for event in sol.events if event.kind == "impact" and event.contacts == (f"floor {name}",)]
        first = np.sqrt(2 * drop / 9.81)
        expected = first + 2 * first * np.concatenate([[0.0], np.cumsum(e ** np.arange(1, 5))])
        expected = expected[expected < 0.15]
        np.testing.assert_allclose(hits[:len(expected)], expected, rtol=1e-8)


@pytest.mark.parametrize("third", [False, True])
def test_a_fast_body_that_may_touch_does_not_change_when_a_slow_one_rests(third):
    """Beside it, or a third one that both may touch."""
    found = []
    for fast in (False, True):
        ball, table, far = (tf.PointMass(m, name=name) for m, name in ((1.0, "ball"), (5.0, "table"), (1.0, "far")))
        parts = [ball, tf.PlaneContact(ball, restitution=0.5, name="floor")]
        state = {ball: tf.Pose((0, 0, 0.1)), table: tf.Pose((0, 0, -10)),
                 far: tf.Pose((50, 0, 3), velocity=(1e3, 0, 0))}
        if third:
            parts += [table, tf.SphereContact(ball, table, radius_a=0.1, radius_b=0.1, name="ball on table")]
        if fast:
            parts += [far, tf.SphereContact(far, table if third else ball, radius_a=0.1, radius_b=0.1, name="pair")]
        start = {body: pose for body, pose in state.items() if body in parts}
        sol = systems.solved(tf.System(parts, gravity=(0, 0, -9.81)), start, (0, 0.6), 2, 12)
        found.append([(event.kind, event.t) for event in sol.events if event.contacts == ("floor",)])
    kinds, times = zip(*(zip(*events, strict=True) for events in found), strict=True)
    assert kinds[0] == kinds[1] and kinds[0][-1] == "rests"
    np.testing.assert_allclose(*times, rtol=1e-13)
    np.testing.assert_allclose(found[0][-1][1], 3 * np.sqrt(0.2 / 9.81), rtol=1e-5)


@pytest.mark.parametrize("ratio, count", [(100.0, 31), (1e4, 314)])
def test_the_digits_of_pi_are_counted(ratio, count):
    """Galperin's billiard: a heavy ball pushes a light one to a wall, with as many impacts as pi has hundredths. Most
    of them come within one element; without losses they do not accumulate."""
    small, big = tf.PointMass(1.0, 1, name="small"), tf.PointMass(ratio, 1, name="big")
    parts = [tf.PlaneContact(small, normal=(1, 0, 0), restitution=1.0, name="wall"),
             tf.SphereContact(big, small, radius_a=0.05, radius_b=0.05, restitution=1.0, name="pair")]
    state = {small: tf.Pose((1, 0, 0)), big: tf.Pose((2, 0, 0), velocity=(-1, 0, 0))}
    problem = tf.InitialValueProblem(tf.System([small, big, *parts]), state, (0, 20.0))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10, progress=False)
    assert sol.success and {event.kind for event in sol.events} == {"impact"}
    t, x, y, u, v, times = 0.0, 1.0, 1.9, 0.0, -1.0, []  # the big one without the radii; from impact to impact
    while u < 0 or v < u:
        wall, pair = -x / u if u < 0 else np.inf, (y - x) / (u - v) if v < u else np.inf
        if len(times) and times[-1][1] == "wall":
            wall = np.inf
        elif len(times):
            pair = np.inf
        h = min(wall, pair)
        t, x, y = t + h, x + h * u, y + h * v
        times.append((t, "wall" if wall < pair else "pair"))
        u, v = (-u, v) if wall < pair else (((1 - ratio) * u + 2 * ratio * v) / (1 + ratio),
                                            ((ratio - 1) * v + 2 * u) / (1 + ratio))
    assert len(times) == count
    assert [event.contacts for event in sol.events] == [(name,) for _, name in times]
    np.testing.assert_allclose([event.t for event in sol.events], [at for at, _ in times], rtol=1e-9)
    assert [sol.velocity(ball, 20.0)[0] for ball in (small, big)] == pytest.approx([u, v], rel=1e-8)
    assert np.ptp(sol.energy()) < 1e-11 * sol.energy()[0]


def test_balls_that_lose_energy_fall_back_where_they_accumulate():
    """The same with losses, and with a wall that is driven towards what bounces off it without any."""
    for restitution, driven in ((0.98, False), (1.0, True)):
        ball = tf.PointMass(1.0, name="ball")
        floor = tf.PlaneContact(ball, restitution=restitution, name="floor")
        parts = [ball, floor]
        state = {ball: tf.Pose((0, 0, 0.05))}
        if driven:
            parts.append(tf.PlaneContact(ball, normal=(0, 0, -1), plane_point=(0, 0, 1.0),
                                         motion=(0, 0, lambda t: -t), restitution=1.0, name="press"))
            state = {ball: tf.Pose((0, 0, 0.05), velocity=(0, 0, 30.0))}
        system = tf.System(parts, gravity=(0, 0, 0 if driven else -9.81))
        sol = tf.solve(tf.InitialValueProblem(system, state, (0, 0.98 if driven else 20.0)), tf.MixedGalerkin(1), 2,
                       progress=False)
        assert "fallback begins" in {event.kind for event in sol.events}, restitution


@pytest.mark.long
def test_a_chain_of_twenty_links_dropped_on_a_floor():
    """Let go with its end at the floor: it falls free, as what lies goes slack, and the floor carries three
    times the weight of what lies there (two parts are momentum), as the textbooks have it of uniform chains."""
    n, length, g = 20, 0.1, 9.81
    links = [tf.PointMass(0.5, 1, name=f"link {i}") for i in range(n)]
    heights = length * (np.arange(n) + 0.5)
    parts = [tf.PlaneContact(link, normal=(1, 0, 0), name=f"floor {i}") for i, link in enumerate(links)]
    parts += [tf.Tether(a, b, length=length, name=f"tether {i}") for i, (a, b) in enumerate(pairwise(links))]
    state = {link: tf.Pose((height, 0, 0)) for link, height in zip(links, heights, strict=True)}
    problem = tf.InitialValueProblem(tf.System([*links, *parts], gravity=(-g, 0, 0)), state, (0, 0.7))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 14, progress=False)
    assert sol.success, sol.status.message
    hits = [event for event in sol.events if event.kind == "impact"]
    assert [event.contacts for event in hits] == [(f"floor {i}",) for i in range(n)]
    np.testing.assert_allclose([event.t for event in hits], np.sqrt(2 * heights / g), rtol=1e-10)
    impulses = np.array([event.impulses[0, 0] for event in hits])
    np.testing.assert_allclose(impulses, 0.5 * np.sqrt(2 * g * heights), rtol=1e-10)
    momentum = (impulses[1:] + impulses[:-1]) / 2 / np.diff([event.t for event in hits])  # per time
    carried = sol.contact_forces([hits[-1].t + 1e-6])[0, :n, 0].sum()
    assert carried == pytest.approx(n * 0.5 * g, rel=1e-9)
    assert momentum[-1] / (0.5 * g * (n - 1)) == pytest.approx(2.0, rel=1e-3)  # twenty links are nearly uniform
    assert sol.contact_gaps().min() > -1e-12
