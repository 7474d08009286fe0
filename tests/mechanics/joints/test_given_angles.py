"""Angles that are given are those of the motion, and joints stand as they are meant, not with opposite axes."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.parts import frame_named

Z = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
ANGLES = 0.3, 2.0, 2.5, -2.9, 3.14, 4.0
ROUND = np.radians(np.arange(-360, 390, 30))
KINDS = {
    "revolute": lambda body, **at: tf.Revolute(body, **Z, **at),
    "cylindrical": lambda body, **at: tf.Cylindrical(body, **Z, **at),
    "planar": lambda body, **at: tf.Planar(body, **Z, **at),
    "universal": lambda body, **at: tf.Universal(body, axis_a=(1, 0, 0), axis_b=(0, 0, 1), **at),
    "prismatic": lambda body, **at: tf.Prismatic(body, axis_b=(0, 0, 1), **at)}


def about_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def z_of(state):
    return np.concatenate([*(s.q for s in state.values()), *(s.p for s in state.values())])


def turn_of(system, name, z):
    body = frame_named(system, name) or system[name]
    return body.rotation_matrix(system.local_state(body, z)[0])


@pytest.mark.parametrize("coordinates", ["body", "directors", "joint", "joint with friction"])
@pytest.mark.parametrize("kind", KINDS)
def test_joints_stand_as_given(kind, coordinates):
    body = tf.RigidBody(3.0, (0.04, 0.02, 0.05), name="b",
                        rotation="directors" if coordinates == "directors" else "quaternion")
    joint = KINDS[kind](body, point_a=(0, 0.4, 0), point_b=(0.1, 0, 0), name="h")
    parts = [body, joint]
    if coordinates == "joint with friction":
        shape = {"radius": 0.06} if kind == "revolute" else {}
        if kind not in ("revolute", "prismatic"):
            pytest.skip("a bearing knows its friction for axles and guides")
        parts.append(tf.BearingFriction(joint, friction=0.3, friction_width=0.02, **shape))
    kept = {"coordinates": "joint"} if coordinates.startswith("joint") else {}
    system = tf.System(parts, **kept)
    names = [c.name for c in joint.coordinates]
    for angle in ANGLES:
        given = {name: (angle * 0.4**i, 0.3 + 0.1 * i) for i, name in enumerate(names)}
        state = system.state({joint: given})
        local = {b: (s.q, s.p) for b, s in state.items()}
        for name, (x, rate) in given.items():
            coordinate = getattr(system[joint], "bound", None)
            if coordinate is not None:
                value, speed = coordinate(name).local(local)
                off = value - x
                assert abs(np.remainder(off + 1, 2 * np.pi) - 1 if "angle" in name else off) < 1e-12
                assert abs(speed - rate) < 1e-12
        found = turn_of(system, "b", z_of(state))
        assert np.abs(found - joint.relative(given)[0]).max() < 1e-12


def slider_crank(guide=0.0, **kept):
    rotation = kept.pop("rotation", "quaternion")
    crank, rod, slider = (tf.RigidBody(1.0, (0.01, 0.01, 0.01), rotation=rotation, name=n)
                          for n in ("crank", "rod", "slider"))
    joints = [tf.Revolute(crank, point_a=(-0.075, 0, 0), point_b=(0, 0, 0), name="A", **Z),
              tf.Revolute(rod, crank, point_a=(-0.2, 0, 0), point_b=(0.075, 0, 0), name="B", **Z),
              tf.Revolute(rod, slider, point_a=(0.2, 0, 0), point_b=(0, 0, 0), name="C", **Z),
              tf.Prismatic(slider, point_a=(0, 0, 0), point_b=(guide, 0, 0), axis_b=(1, 0, 0), name="P")]
    return tf.System([crank, rod, slider, *joints], redundant="drop", **kept)


@pytest.mark.long
@pytest.mark.parametrize("guide", [0.0, 0.55])
@pytest.mark.parametrize("kept", [{}, {"rotation": "directors"}, {"coordinates": "joint"}], ids=str)
def test_a_slider_is_not_turned_against_its_guide(kept, guide):
    """x = r cos a + (l^2 - r^2 sin^2 a)^(1/2), the closure next to where all joints are at zero."""
    system = slider_crank(guide, **kept)
    for angle in ROUND[::3] if kept else ROUND:
        z = z_of(system.state({"A": (angle, 0.7)}))
        assert np.abs(system.constraints(0, z)).max() < 1e-12
        assert np.abs(turn_of(system, "crank", z) - about_z(angle)).max() < 1e-12
        assert np.abs(turn_of(system, "slider", z) - np.eye(3)).max() < 1e-12
        slider = frame_named(system, "slider") or system["slider"]
        x = slider.position(system.local_state(slider, z)[0])[0]
        assert abs(x - 0.15 * np.cos(angle) - np.sqrt(0.16 - (0.15 * np.sin(angle)) ** 2)) < 1e-12


def test_a_crank_beyond_a_quarter_turn_takes_the_slider_along():
    z = z_of((system := slider_crank()).state({"A": 2.9}))
    slider = system["slider"]
    q = system.local_state(slider, z)[0]
    assert np.abs(slider.rotation_matrix(q) - np.eye(3)).max() < 1e-12
    assert abs(slider.position(q)[0] - 0.15 * np.cos(2.9) - np.sqrt(0.16 - (0.15 * np.sin(2.9)) ** 2)) < 1e-12


def four_bar(crank, coupler, rocker, joints, **kept):
    bars = [tf.RigidBody(1.0, (x**2 / 12, 0.001, x**2 / 12), name=n)
            for n, x in (("crank", crank), ("coupler", coupler), ("rocker", rocker))]
    a, b, c = bars
    axle = tf.Revolute(a, point_a=(0, -crank / 2, 0), point_b=(0, 0, 0), name="A", **Z)
    return tf.System([*bars, axle, *joints(a, b, c)], redundant="drop", **kept)


def plane(a, b, c):
    return [tf.Revolute(b, a, point_a=(0, -1.5, 0), point_b=(0, 0.5, 0), name="B", **Z),
            tf.Revolute(c, point_a=(0, -1, 0), point_b=(3, 0, 0), name="D", **Z),
            tf.Revolute(b, c, point_a=(0, 1.5, 0), point_b=(0, 1, 0), name="C", **Z)]


def spatial(a, b, c):
    across = {"axis_a": (1, 0, 0), "axis_b": (1, 0, 0)}
    return [tf.Spherical(b, a, point_a=(0, -1.3, 0), point_b=(0, 0.2, 0), name="B"),
            tf.Revolute(c, point_a=(0, -1, 0), point_b=(1.5, 0, 0.4), name="D", **across),
            tf.Universal(b, c, point_a=(0, 1.3, 0), point_b=(0, 1, 0), axis_a=(0, 0, 1), axis_b=(1, 0, 0), name="C")]


@pytest.mark.long
@pytest.mark.parametrize("lengths, joints, axis", [((1.0, 3.0, 2.0), plane, 2), ((0.4, 2.6, 2.0), spatial, 0)],
                         ids=["plane", "spatial"])
def test_four_bars_at_all_angles_of_the_crank(lengths, joints, axis):
    system = four_bar(*lengths, joints)
    for angle in ROUND[::2]:
        z = z_of(system.state({"A": angle}))
        assert np.abs(system.constraints(0, z)).max() < 1e-12
        assert np.abs(turn_of(system, "crank", z) - about_z(angle)).max() < 1e-12
        assert turn_of(system, "rocker", z)[axis, axis] > 1 - 1e-12  # its axle is not turned over


def test_an_angle_that_no_closure_has_names_the_joint_and_how_near_it_comes():
    """Crank 2, coupler 2, rocker 2, ground 5: the crank reaches cos(a) = (4 + 25 - 16) / 20 from the ground."""
    def joints(a, b, c):
        return [tf.Revolute(b, a, point_a=(0, -1, 0), point_b=(0, 1, 0), name="B", **Z),
                tf.Revolute(c, point_a=(0, -1, 0), point_b=(5, 0, 0), name="D", **Z),
                tf.Revolute(b, c, point_a=(0, 1, 0), point_b=(0, 1, 0), name="C", **Z)]

    system = four_bar(2.0, 2.0, 2.0, joints)
    with pytest.raises(tf.InputError, match=r"angle 0\.5 of A: the nearest has") as error:
        system.state({"A": 0.5})
    nearest = float(str(error.value).split("the nearest has ")[1].split(";")[0])
    limit = -np.pi / 2 + np.arccos(13 / 20)
    assert limit - 0.02 < nearest < limit + 1e-6


def test_rates_that_agree_to_rounding_are_taken():
    """More rates than freedoms, the second one with ten digits: the constraints hold to rounding all the same."""
    system = slider_crank(0.55)
    z = z_of(system.state({"A": (0.8, 1.7)}))
    states = {b: system.local_state(b, z) for b in system.bodies}
    value, rate = system["P"].bound().local(states)
    again = z_of(system.state({"A": (0.8, 1.7), "P": (value, float(f"{rate:.9e}"))}))
    assert np.abs(system.constraints(0, again)).max() < 1e-12
    assert np.abs(again - z).max() < 1e-8
    with pytest.raises(tf.InputError, match="no velocities satisfy"):
        system.state({"A": (0.8, 1.7), "P": (value, 1.001 * rate)})


def test_a_given_value_of_the_joint_that_closes_the_loop_counts():
    """A loop that is closed where all is at zero does not hide that the last joint was given something else."""
    with pytest.raises(tf.InputError, match="the nearest has"):
        slider_crank(0.55).state({"A": 0.0, "B": 0.0, "C": 0.0, "P": 0.1})


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_spherical_joints_take_orientations_in_any_form(coordinates):
    body = tf.RigidBody(1.0, (0.1, 0.2, 0.25), name="body")
    ball = tf.Spherical(body, point_a=(0, 0, 0.4), point_b=(0, 0, 0), name="ball")
    system = tf.System([body, ball], coordinates=coordinates)
    turn, spin = np.array([np.cos(0.2), 0, 0.6 * np.sin(0.2), 0.8 * np.sin(0.2)]), np.array([0.5, 1.0, 2.0])

    def started(value):
        problem = tf.InitialValueProblem(system, {ball: value}, (0, 0.1))
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 2, progress=False)
        return sol.rotation_matrix(body, 0.0), sol.angular_velocity(body, 0.0, "space")

    matrix = started(turn)[0]
    assert np.allclose(matrix[:, 1], [-0.8 * np.sin(0.4), 1 - 0.64 * (1 - np.cos(0.4)), 0.48 * (1 - np.cos(0.4))])
    forms = [(turn, spin), (matrix, spin), {"orientation": turn, "angular_velocity": spin},
             tf.Pose(orientation=turn, angular_velocity=spin, frame="space"),
             tf.Pose(orientation=turn, angular_velocity=matrix.T @ spin)]
    for form in forms:
        found = started(form)
        assert np.allclose(found[0], matrix, rtol=0, atol=1e-12) and np.allclose(found[1], spin, rtol=0, atol=1e-12)
    for wrong, message in ((tf.Pose((1, 0, 0)), "takes orientation and angular_velocity alone"),
                           ({"rotation": turn}, "did you mean 'orientation'"), ((2, 0, 0, 0), "must have length 1")):
        with pytest.raises(tf.InputError, match=message):
            started(wrong)


@pytest.mark.parametrize("inertia", [(0.1, 0.1, 0.2), (0.1, 0.1, 0.19)])
def test_discs_in_directors_start_with_a_cardan_joint(inertia):
    """At the angle beta of the shafts, turned by phi, they turn as 1 to cos(beta) / (1 - sin(beta)^2 cos(phi)^2)."""
    beta, (first, second) = 0.5, (tf.RigidBody(1.0, inertia, rotation="directors", name=x) for x in ("first", "second"))
    z, at = (0, 0, 1), {"point_a": (0, 0, 0), "point_b": (0, 0, 0)}
    driving = tf.Revolute(first, axis_a=z, axis_b=z, name="driving", **at)
    driven = tf.Revolute(second, axis_a=z, axis_b=(np.sin(beta), 0, np.cos(beta)), name="driven", **at)
    cross = tf.Universal(second, first, axis_a=(0, 1, 0), axis_b=(1, 0, 0), **at)
    system = tf.System([first, second, driving, driven, cross], redundant="drop")
    problem = tf.InitialValueProblem(system, {driving: (0.3, 3.0)}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 50, progress=False)
    phi, rates = sol.joint(driving).angle(), [sol.joint(joint).rate() for joint in (driven, driving)]
    assert phi[-1] > 2 and abs(rates[1][0] - 3) < 1e-12
    assert np.allclose(rates[0] / rates[1], np.cos(beta) / (1 - (np.sin(beta) * np.cos(phi))**2), rtol=1e-10)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_a_beam_on_a_hub_turns_with_it(rotation):
    """In its shape at rest, unless its nodes are given; and so does what hangs on its end, by a hinge of its own."""
    hub, load = (tf.RigidBody(1.0, (1, 1, 1), rotation=rotation, name=name) for name in ("hub", "load"))
    hinge = tf.Revolute(hub, point_a=(0, 0, 0), point_b=(0, 0, 0), **Z, name="hinge")
    section = tf.Section(EA=1e4, GA=1e4, GJ=1, EI=1, mass=1, inertia=(2e-3, 1e-3, 1e-3))
    beam = tf.Beam([tf.Line((0.2, 0, 0), (1, 0, 0)), tf.Line((1, 0, 0), (1, 0.5, 0))], section, 1, triads="space",
                   rotation=rotation, marks=[("tip", 2)], name="beam")
    weld = tf.Weld(beam.at(0), hub, point_a=(0, 0, 0), point_b=(0.2, 0, 0), name="weld")
    joint = tf.Revolute(load, beam.at(2), point_a=(0, -0.1, 0), point_b=(0, 0, 0), **Z, name="joint")
    system, turn = tf.System([hub, hinge, beam, weld, load, joint]), about_z(0.5)

    def along(place, orientation, spin=2):
        return tf.Pose(place, orientation, np.cross((0, 0, 2), place), (0, 0, spin))

    nodes = {node: along(turn @ node.reference.position, turn) for node in beam.nodes}
    beyond, arm = about_z(0.8), np.array([1, 0.5, 0])
    at = turn @ arm + beyond @ (0, 0.1, 0)
    moved = np.cross((0, 0, 2), turn @ arm) + np.cross((0, 0, 3), beyond @ (0, 0.1, 0))
    exact = {hub: along((0, 0, 0), turn), **nodes, load: tf.Pose(at, beyond, moved, (0, 0, 3))}
    z = tf.InitialValueProblem(system, {hinge: (0.5, 2.0), joint: (0.3, 1.0)}, (0, 1)).z0
    assert np.allclose(z, tf.InitialValueProblem(system, exact, (0, 1)).z0, rtol=0, atol=1e-12)
    given = tf.InitialValueProblem(system, {hinge: (0.5, 2.0), joint: (0.3, 1.0), **nodes}, (0, 1)).z0
    assert np.allclose(z, given, rtol=0, atol=1e-12)
    some = {hinge: 0.5, beam.nodes[0]: nodes[beam.nodes[0]]}
    with pytest.raises(tf.InputError, match="nodes of beam stand as they do at rest unless they are given"):
        tf.InitialValueProblem(system, some, (0, 1))
