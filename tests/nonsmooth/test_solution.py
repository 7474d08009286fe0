"""What a solution with rigid contact tells, keeps in files, and what is refused."""

import base64
import csv
import re
import warnings

import numpy as np
import pytest

import timefem as tf
from tests import contact_systems as systems
from timefem.solution.drawing.scene import make_scene


@pytest.fixture(scope="module")
def bar():
    return systems.bar(2, 60)[0]


def test_both_sides_of_an_impact(bar):
    event = bar.events[0]
    assert bar.t[event.node] == event.t
    before, after = bar(event.t, side="left"), bar(event.t)
    np.testing.assert_array_equal(before, bar.z[event.node])
    np.testing.assert_array_equal(after, bar.nodal.state[event.node, 0])
    n = bar.system.n_q
    np.testing.assert_array_equal(before[:n], after[:n])
    assert np.abs(after[n:] - before[n:]).max() > 1
    np.testing.assert_array_equal(bar(0.1, side="left"), bar(0.1))


def test_velocities_and_rates_have_both_sides_of_an_impact(bar):
    """A bar that falls on its end; a pendulum, by its joint, at a wall, in a tree and out of it."""
    event, body = bar.events[0], bar.system.bodies[0]
    for found in (bar.velocity, bar.angular_velocity):
        sides = [found(body, event.t, side=side) for side in ("left", "right")]
        assert np.abs(sides[1] - sides[0]).max() > 0.5
        np.testing.assert_array_equal(found(body, event.t), sides[1])
    assert np.abs(bar.rates(event.t, side="left") - bar.rates(event.t - 1e-9)).max() < 1e-6
    with pytest.raises(tf.InputError, match="side"):
        bar.velocity(body, event.t, side="before")
    for coordinates in ("joint", "bodies"):
        rod = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="rod")
        hinge = tf.Revolute(rod, axis_a=(0, 1, 0), axis_b=(0, 1, 0), point_a=(0, 0, 0.5), point_b=(0, 0, 0))
        stop = tf.EndStop(hinge, lowest=-0.2, restitution=0.5)
        system = tf.System([rod, hinge, stop], (0, 0, -9.81), coordinates=coordinates)
        state = {rod: tf.Pose((-0.5 * np.sin(0.8), 0, -0.5 * np.cos(0.8)), (np.cos(0.4), 0, np.sin(0.4), 0))}
        sol = tf.solve(tf.InitialValueProblem(system, state, (0, 0.8)), tf.MixedGalerkin(2), 40, progress=False)
        event, joint = sol.events[0], sol.joint(hinge)
        before, after = (joint.rate(event.t, side=side) for side in ("left", "right"))
        assert after == pytest.approx(-0.5 * before, rel=1e-9) and abs(before) > 0.5
        assert joint.rate()[event.node] == pytest.approx(before, rel=1e-12)


def test_energy_is_lost_in_impacts_alone(bar):
    energy, lost = bar.energy(), sum(bar.energy_lost().values())
    assert lost == pytest.approx(energy[0] - energy[-1], rel=1e-10)
    assert sum(event.energy for event in bar.events) == pytest.approx(-lost, rel=1e-12)
    assert np.abs(bar.energy.balance()).max() < 1e-10 * energy[0]
    assert np.abs(bar.energy.balance(np.linspace(0.05, 1.45, 7))).max() < 1e-2 * energy[0]


def test_work_of_friction_is_that_of_the_motion():
    sol, _ = systems.spinning_ball(2, 20)
    assert np.abs(sol.energy.balance()).max() < 1e-11 * sol.energy()[0]
    lost = sol.energy_lost()["floor"]
    rest = next(event.t for event in sol.events if event.kind == "rests")
    assert lost == pytest.approx(sol.energy()[0] - sol.energy()[-1] + 9.81 * 0.9, rel=1e-10)  # its weight is a force
    forces = sol.contact_forces(np.array([rest + 0.1, 2.2]))
    np.testing.assert_allclose(forces[0], [[9.81, -0.2 * 9.81, 0]], rtol=1e-12)
    np.testing.assert_allclose(forces[1], [[9.81, 0, 0]], rtol=1e-12, atol=1e-12)


def test_contact_forces_are_as_accurate_as_the_state():
    """The push of the wall on the ladder, at a node."""
    reference = systems.ladder(3, 100)[0].contact_forces(0.3)
    errors = [np.abs(systems.ladder(2, n)[0].contact_forces(0.3) - reference).max() for n in (25, 50, 100)]
    assert errors[0] < 3e-7
    assert 3.8 < np.log2(errors[0] / errors[2]) / 2 < 4.2


def test_files(bar, tmp_path):
    body = tf.RigidBody(2.0, (0.15, 0.15, 0.15), name="bar")
    contact = tf.PlaneContact(body, normal=(0, 1, 0), points=[[-0.5, 0, 0], [0.5, 0, 0]], restitution=0.6,
                              friction=0.3, name="ends")
    problem = tf.InitialValueProblem(tf.System([body, contact], gravity=systems.DOWN), {body: systems.BAR}, (0, 1.0))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40)
    sol.save(tmp_path / "bar.h5")
    found = tf.load(tmp_path / "bar.h5")
    assert found.events == sol.events and len(sol.events) == 2
    assert found.located == sol.located
    for name in ("contact_modes", "slip_signs", "mode_nodes", "slip_directions", "nodal_contact_forces"):
        np.testing.assert_array_equal(getattr(found, name), getattr(sol, name))
    np.testing.assert_array_equal(found.contact_forces(), sol.contact_forces())
    assert found.energy_lost() == sol.energy_lost()


def test_tables_hold_contacts_and_events(bar, tmp_path):
    times = np.array([0.0, 0.31, 1.1, 1.4])
    names, impulses = bar.contact_names, np.zeros(3)
    for event in bar.events:
        for name, impulse in zip(event.contacts, event.impulses, strict=False):
            impulses += impulse * (name == names[0])
    for t in (None, times):
        side, at = ("left", bar.t) if t is None else ("right", t)
        bar.save(tmp_path / "bar.csv", t)
        with open(tmp_path / "bar.csv", newline="") as file:
            header, *rows = csv.reader(file)
        table = dict(zip(header, np.array(rows, float).T, strict=True))
        data, variables = bar.to_dict(times=t), bar.to_xarray(t)
        forces, vectors = bar.contact_forces(at, side=side), bar.contact_force_vectors(at, side=side)
        for c, name in enumerate(names):
            np.testing.assert_array_equal(table[f"{name}.gap [m]"], bar.contact_gaps(t)[:, c])
            for i, along in enumerate(("normal", "slip1", "slip2")):
                np.testing.assert_array_equal(table[f"{name}.force.{along} [N]"], forces[:, c, i])
            np.testing.assert_array_equal(data["contacts"][name]["force_vector"], vectors[:, c])
            np.testing.assert_array_equal(data["contacts"][name]["point"], bar.contact_points(t)[:, c])
            np.testing.assert_array_equal(variables["contact force"].sel(contact=name), forces[:, c])
            np.testing.assert_array_equal(variables["contact impulse"].sel(contact=name, along="normal"),
                                          table[f"{name}.impulse.normal [N s]"])
        np.testing.assert_allclose(data["contacts"][names[0]]["impulse"][-1], impulses, rtol=1e-13)
        counts = [sum(e.t < x if t is None else e.t <= x for e in bar.events) for x in at]
        np.testing.assert_array_equal(table["events [-]"], counts)
        assert counts[-1] == len(bar.events) > 5
        assert [type(bar.events[0]).from_dict(event) for event in data["events"]] == list(bar.events)
        assert data["units"]["contacts"][names[0]]["impulse"] == "N s"
        np.testing.assert_array_equal(variables["event time"], [event.t for event in bar.events])
        assert list(variables["event kind"].values) == [event.kind for event in bar.events]
        assert variables["event impulse"].sum("event").sel(contact=names[0]).values == pytest.approx(impulses)
        frame = variables.to_dataframe()
        assert len(frame) == len(at) and f"contact gap {names[0]}" in frame
        assert not any(column.startswith("event ") for column in frame)


def test_tables_of_stops_have_units_of_their_joints():
    arm = tf.RigidBody(1.0, (1.0,) * 3, name="arm")
    hinge = tf.Revolute(arm, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    stop = tf.EndStop(hinge, highest=0.1, restitution=0.5, name="stop")
    start = {arm: tf.Pose(angular_velocity=(0, 1, 0))}
    sol = systems.solved(tf.System([arm, hinge, stop]), start, (0, 0.2), 1, 4)
    fields = sol.to_dict()
    name, = sol.contact_names
    assert set(fields["contacts"][name]) == {"gap", "force", "impulse"}
    assert set(fields["units"]["contacts"][name].values()) == {"SI"}
    assert fields["contacts"][name]["impulse"][-1][0] == pytest.approx(1.5, rel=1e-9)
    assert np.isnan(sol.to_xarray()["contact point"]).all()


def test_status_and_statistics_tell_of_events(bar):
    assert bar.status.message == "converged; contacts: 6 impact"
    assert bar.statistics["contact_events"] == {"impact": 6}


def test_what_does_not_take_rigid_contact_says_so():
    body = tf.PointMass(1.0, 1, name="ball")
    floor = tf.PlaneContact(body, normal=(1, 0, 0), name="floor")
    system = tf.System([body, floor], gravity=(-9.81, 0, 0))
    problem = tf.InitialValueProblem(system, {body: tf.Pose((1, 0, 0))}, (0, 1))
    for driver in ("windows", "global"):
        with pytest.raises(tf.InputError, match=f"floor is a rigid contact.*{driver}.*driver='march'"):
            tf.solve(problem, tf.MixedGalerkin(1), 10, driver=driver)
    for element in (tf.EML(), tf.BubnovGalerkin(1), tf.MixedGalerkin(2, keep="all")):
        with pytest.raises(tf.InputError, match="floor is a rigid contact"):
            tf.solve(problem, element, 10)
    with pytest.raises(tf.InputError, match=r"floor overlaps at the start by 0\.2"):
        tf.solve(tf.InitialValueProblem(system, {body: tf.Pose((-0.2, 0, 0))}, (0, 1)), tf.MixedGalerkin(1), 10)
    arm = tf.Tree([tf.Link("ground"), tf.Link("arm", 1.0, (0, 0, 0), (1, 1, 1))],
                  [tf.TreeJoint("slide", "ground", "arm", "prismatic", axis=(0, 0, 1))], name="arm")
    parts = [arm, tf.PlaneContact(arm.link("arm"), radius=0.1, name="floor")]
    start = tf.InitialValueProblem(tf.System(parts), {arm: {"slide": 0.0}}, (0, 1))
    with pytest.raises(tf.InputError, match="floor overlaps at the start") as caught:
        tf.solve(start, tf.MixedGalerkin(1), 10)
    assert caught.value.__context__ is None  # nothing of forms of the element, which fits a tree
    for work in (tf.equilibrium, tf.linearize):
        with pytest.raises(tf.InputError, match="floor is a rigid contact"):
            work(system)
    with pytest.raises(tf.InputError, match="restitution belongs to a rigid contact"):
        tf.PlaneContact(body, normal=(1, 0, 0), stiffness=1.0, restitution=0.5)
    with pytest.raises(tf.InputError, match="belong to a penalty"):
        tf.PlaneContact(body, normal=(1, 0, 0), damping=1.0)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_a_far_body_that_nothing_joins_lets_nothing_overlap(unit):
    """It did: 1 cm was rounding beside its place. So it is where a contact with it is open."""
    ball, far = tf.PointMass(1.0, name="ball"), tf.PointMass(1.0, name="far")
    floor = tf.PlaneContact(ball, radius=0.1 * unit, name="floor")
    pair = tf.SphereContact(ball, far, radius_a=0.1 * unit, radius_b=0.1 * unit, name="pair")
    start = {ball: tf.Pose((0, 0, 0.09 * unit)), far: tf.Pose((0, 0, 1e6 * unit))}
    for parts in ([floor], [pair, floor]):
        problem = tf.InitialValueProblem(tf.System([ball, far, *parts]), start, (0, 1))
        with pytest.raises(tf.InputError, match="floor overlaps at the start"):
            tf.solve(problem, tf.MixedGalerkin(2), 2)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize(("upper", "lower"), [(0.1, 0.2), (0.1, 0.3), (0.2, 0.3), (0.3, 0.7)])
def test_what_hangs_straight_down_to_the_floor_stays(coordinates, upper, lower):
    """In joint coordinates all are zero: lengths of links, whose sum is off by rounding, are none of these. Of bodies
    speeds are rounding, which blocked the motion."""
    rods = [tf.RigidBody(1.0, (0.01,) * 3, name=name) for name in "ab"]
    y, zero = (0, 1, 0), (0, 0, 0)
    joints = [tf.Revolute(*ends, point_a=(0, 0, length), point_b=zero, axis_a=y, axis_b=y, name=f"joint {ends[0].name}")
              for ends, length in zip([(rods[0],), (rods[1], rods[0])], (upper, lower), strict=True)]
    floor = tf.PlaneContact(rods[1], plane_point=(0, 0, -round(upper + lower, 2)), points=[zero], name="floor")
    system = tf.System([*rods, *joints, floor], gravity=(0, 0, -9.81), coordinates=coordinates)
    problem = tf.InitialValueProblem(system, system.state({"joint a": 0.0, "joint b": 0.0}), (0, 0.01))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4)
    assert sol.success and np.abs(sol.z - problem.z0).max() < 1e-12


def test_contact_forces_in_space_and_in_pictures(tmp_path):
    """A ball that slides: its force is on its lowest point, up and against the slip; pictures have it in proportion."""
    ball = tf.RigidBody(2.0, (0.008,) * 3, name="ball")
    floor = tf.PlaneContact(ball, radius=0.1, friction=0.2, name="floor")
    problem = tf.InitialValueProblem(tf.System([ball, floor], gravity=(0, 0, -9.81)),
                                     {ball: tf.Pose((0, 0, 0.1), velocity=(0.6, 0.8, 0))}, (0, 0.1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    t = np.array([0.02, 0.08])
    place = sol.position(ball, t)
    np.testing.assert_allclose(sol.contact_points(t)[:, 0], place - (0, 0, 0.1), rtol=0, atol=1e-12)
    weight = 2.0 * 9.81
    expected = weight * np.array([-0.2 * 0.6, -0.2 * 0.8, 1.0])
    np.testing.assert_allclose(sol.contact_force_vectors(t)[:, 0], [expected] * 2, rtol=1e-9)
    scene = make_scene(sol, t)
    force, = (link for link in scene.links if link.kind == "force")
    assert force.name == "floor"
    drawn = force.points[:, 1] - force.points[:, 0]
    np.testing.assert_allclose(drawn / np.linalg.norm(drawn[0]), expected / np.linalg.norm(expected) * np.ones((2, 1)),
                               rtol=0, atol=1e-9)
    sol.save(tmp_path / "motion.pvd", t)
    kinds = re.search('Name="kind"[^>]*>([^<]*)<', (tmp_path / "motion" / "motion_1.vtu").read_text())[1]
    assert np.count_nonzero(np.frombuffer(base64.b64decode(kinds)[8:], "i8") == 7) == 1
    stop = systems.nonlinear_stop(1, 20)[0]  # of no place in space
    assert np.isnan(stop.contact_points()).all()


@pytest.mark.parametrize("n", [7, 50])
@pytest.mark.parametrize("what, time", [("stop", 1 / 3), ("floor", 0.5), ("start", 0.0)])
def test_a_prescribed_motion_into_a_stop_is_blocked(what, time, n):
    """No force stops it: the march ends there, and does not go through."""
    slide, bead = tf.RigidBody(2.0, (1, 1, 1), name="slide"), tf.PointMass(1.0, name="bead")
    rail = tf.Prismatic(slide, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    if what == "floor":
        fall = tf.PrescribedPosition(bead, lambda t: (0, 0, 1 - 2 * t))
        parts = [bead, fall, tf.PlaneContact(bead, name="floor")]
        start = {bead: tf.Pose((0, 0, 1), velocity=(0, 0, -2))}
    elif what == "stop":  # sin(pi t / 2) comes to 0.5
        motion = tf.Sine(1.0, 0.25)
        parts = [slide, rail, tf.PrescribedJoint(rail, value=motion), tf.EndStop(rail, highest=0.5, name="stop")]
        start = {rail: (0.0, np.pi / 2)}
    else:
        motion = tf.Ramp(0, 1, 0, 1.0, kind="smooth")
        parts = [slide, rail, tf.PrescribedJoint(rail, value=motion), tf.EndStop(rail, highest=0.0, name="start")]
        start = {rail: 0.0}
    sol = tf.solve(tf.InitialValueProblem(tf.System(parts), start, (0, 1)), tf.MixedGalerkin(2), n, progress=False)
    assert sol.status.reason == "motion blocked" and what in sol.status.message
    assert abs(sol.t[-1] - time) < (1e-9 if time else 1.5 / n)


@pytest.mark.parametrize("n", [20, 200])
def test_a_driven_paddle_works_on_what_it_hits(n):
    """Its drive gives the impulse, so the energy of the ball is work done: (3^2 - 1^2) / 2 at speeds of 1."""
    paddle, ball = tf.RigidBody(5.0, (1, 1.2, 1.3), name="paddle"), tf.PointMass(1.0, name="ball")
    guide = tf.Prismatic(paddle, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(0, 0, 1))
    system = tf.System([ball, paddle, guide, tf.PrescribedJoint(guide, value=lambda t: 1.0 * t),
                        tf.PlaneContact(ball, on=paddle, normal=(0, 0, 1), restitution=1.0, name="contact")])
    start = {ball: tf.Pose((0, 0, 1.0), velocity=(0, 0, -1.0)), paddle: tf.Pose(velocity=(0, 0, 1.0))}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), tf.MixedGalerkin(2), n, progress=False)
    np.testing.assert_allclose([sol.energy.work()[-1], -sol.energy_lost()["contact"]], 4.0, rtol=1e-12)
    assert np.abs(sol.energy.balance()).max() < 1e-13


@pytest.mark.parametrize("angle, told", [(0.5, False), (2.7, True)])
def test_spins_too_fast_for_the_elements_are_told_where_contacts_are_closed(angle, told):
    """A ball of directors that slides with so much spin per element; at 2.7 rad its axes are off by nearly 1."""
    ball = tf.RigidBody(1.0, (0.004,) * 3, "directors", name="ball")
    system = tf.System([ball, tf.PlaneContact(ball, radius=0.1, friction=0.01)], gravity=(0, 0, -9.81))
    start = {ball: tf.Pose((0, 0, 0.1), velocity=(5, 0, 0), angular_velocity=(0, -20, 0))}
    problem = tf.InitialValueProblem(system, start, (0, angle))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    said = [str(one.message) for one in found if issubclass(one.category, tf.UnderResolved)]
    assert bool(said) == told and all("ball moves too fast" in text for text in said)


def test_friction_where_a_joint_carries_the_load_is_reported():
    """A planar joint along a rigid plane holds the gap: nothing presses, nothing rubs. Without it mu g brakes."""
    body = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="body")
    guide = tf.Planar(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="guide")
    floor = tf.PlaneContact(body, friction=0.3, name="floor")

    def speed(*parts):
        problem = tf.InitialValueProblem(tf.System([body, floor, *parts], gravity=(0, 0, -9.81)),
                                         {body: tf.Pose(velocity=(2, 0, 0))}, (0, 0.5))
        return tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False).velocity(body, 0.5)[0]

    with pytest.warns(tf.NotAsked, match="floor: touches where joints hold the gap"):
        assert abs(speed(guide) - 2) < 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert abs(speed() - (2 - 0.3 * 9.81 * 0.5)) < 1e-12
