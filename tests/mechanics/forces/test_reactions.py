"""Forces that depend on those of constraints: friction in bearings and guides against closed forms."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import assert_tangent_is_derivative
from timefem.models import load_model

G, Z = 9.81, (0, 0, 1)
MU, RADIUS, MASS, AXIAL = 0.3, 0.05, 2.0, 0.25


def rotor(rotation="quaternion", coordinates="bodies", span=2.0, tilt=0.0, **friction):
    """A balanced rotor on a pin, its axis tilted against the horizontal, at 5 rad/s."""
    body = tf.RigidBody(MASS, (0.2, 0.2, AXIAL), rotation, name="rotor")
    pin = tf.Revolute(body, axis_a=Z, axis_b=Z, point_a=(0, 0, 0), point_b=(0, 0, 0), name="pin")
    given = {"friction": MU, "friction_width": 1e-2, "radius": RADIUS} | friction
    weight = MASS * G * np.array([0, -np.cos(tilt), -np.sin(tilt)])
    parts = [body, pin, tf.BearingFriction(pin, **given, name="rub")]
    system = tf.System(parts, gravity=weight / MASS, coordinates=coordinates)
    return tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=(0, 0, 5.0))}, (0, span))


FRICTION_CIRCLE = MU / np.sqrt(1 + MU**2) * RADIUS * MASS * G


@pytest.mark.long
@pytest.mark.parametrize("element, rotation", [
    (tf.MixedGalerkin(1, keep="all"), "quaternion"), (tf.MixedGalerkin(2, keep="all"), "directors"),
    (tf.MixedGalerkin(3), "quaternion"), (tf.MixedGalerkin(3, form="energy"), "directors")])
def test_a_journal_bearing_slows_down_evenly(element, rotation):
    """By the moment of the friction circle, `r sin(arctan mu) m g`; work is that of the moment."""
    sol = tf.solve(rotor(rotation), element, 40)
    assert sol.success
    speed, lost = 5.0 - FRICTION_CIRCLE / AXIAL * sol.t, FRICTION_CIRCLE * (5 * sol.t - FRICTION_CIRCLE / AXIAL / 2
                                                                            * sol.t**2)
    accuracy = 1e-11 if element.lifted else 2e-6
    np.testing.assert_allclose(sol.angular_velocity("rotor", sol.t)[:, 2], speed, rtol=accuracy)
    np.testing.assert_allclose(sol.energy.work(by_part=True)["rub"], -lost, rtol=accuracy, atol=accuracy)
    if element.lifted:
        np.testing.assert_allclose(sol.energy() - sol.energy()[0], -lost, rtol=0, atol=1e-11)
    else:
        assert np.abs(sol.energy.balance()).max() < 1e-6


def test_a_collar_carries_the_force_along_the_axis():
    """An axis at 30 degrees: pin and collar share the weight; a length changes nothing, for the load is central."""
    tilt, collar = np.pi / 6, 0.08
    moment = FRICTION_CIRCLE * np.cos(tilt) + MU * MASS * G * np.sin(tilt) * collar
    for more in ({}, {"length": 0.1}):
        sol = tf.solve(rotor(tilt=tilt, collar=collar, span=1.0, **more), tf.MixedGalerkin(2, keep="all"), 20)
        assert sol.angular_velocity("rotor", 1.0)[2] == pytest.approx(5 - moment / AXIAL, rel=1e-10)


def test_drivers_are_equivalent():
    results = [tf.solve(rotor(), tf.MixedGalerkin(2), 10, driver=driver).z for driver in ("march", "windows", "global")]
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(results[2], results[0], rtol=0, atol=1e-12)


def pendulum(mu=0.4, width=0.5, radius=0.08, arm=0.5, span=1.0, coordinates="bodies", rotation="quaternion"):
    """A rod that swings on a pin, with friction that is smooth."""
    rod = tf.RigidBody(2.0, (0.2, 0.1, 0.25), rotation, name="rod")
    pin = tf.Revolute(rod, axis_a=Z, axis_b=Z, point_a=(0, arm, 0), point_b=(0, 0, 0), name="pin")
    rub = tf.BearingFriction(pin, friction=mu, friction_width=width, radius=radius, name="rub")
    system = tf.System([rod, pin, rub], gravity=(0, -G, 0), coordinates=coordinates)
    angle = 1.2
    start = tf.Pose(arm * np.array([np.sin(angle), -np.cos(angle), 0]), (np.cos(angle / 2), 0, 0, np.sin(angle / 2)))
    return tf.InitialValueProblem(system, {rod: start}, (0, span))


@pytest.mark.parametrize("degree, numbers", [(1, (40, 80, 160, 640)), (2, (20, 40, 80, 320))])
def test_orders(degree, numbers):
    *coarse, fine = (tf.solve(pendulum(), tf.MixedGalerkin(degree), n).z[-1] for n in numbers)
    errors = [np.abs(z - fine).max() for z in coarse]
    slopes = np.log2(errors[:-1]) - np.log2(errors[1:])
    assert np.abs(slopes - 2 * degree).max() < 0.3 and errors[-1] < (1e-3, 1e-5)[degree - 1]


@pytest.mark.long
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(1, form="energy"), tf.BubnovGalerkin(2),
                                     tf.MixedGalerkin(2, keep="all")])
def test_unsymmetric_tangent(element):
    """Against differences; the forces of the joint are among the unknowns of the friction."""
    batch = tf.ElementBatch(pendulum().system, element)
    assert_tangent_is_derivative(batch, 0.1, step=1e-6, atol=1e-7)


@pytest.mark.long
def test_multipliers_of_element_and_state():
    """Newton's method finds the consistent ones; those of the elements converge to them, and so does a linear model's
    balance of forces."""
    sol = tf.solve(pendulum(), tf.MixedGalerkin(3), 160)
    own, consistent = (sol.multipliers(sol.t[1:-1], kind=kind) for kind in ("element", "consistent"))
    np.testing.assert_allclose(own, consistent, rtol=0, atol=2e-5 * np.abs(consistent).max())
    middles = (sol.t[1:] + sol.t[:-1]) / 2
    np.testing.assert_allclose(sol.system.power(middles, sol(middles)), sol.energy.power()["rub"], rtol=0, atol=1e-5)
    force, speed = sol.joint("pin").force(sol.t), sol.angular_velocity("rod", sol.t)[:, 2]
    mu = 0.4 * np.tanh(speed / 0.5)
    np.testing.assert_allclose(sol.joint("pin").drive(sol.t),
                               -mu / np.sqrt(1 + mu**2) * 0.08 * np.linalg.norm(force, axis=1), rtol=1e-9)


def test_linear_model():
    """At rest: damped by `mu r m g / w`."""
    system, (mass, arm, inertia) = pendulum().system, (2.0, 0.5, 0.25 + 2.0 * 0.5**2)
    model = tf.linearize(system, {"rod": tf.Pose((0, -arm, 0))})
    damping = 0.4 * 0.08 * mass * G / 0.5
    wanted = np.roots([inertia, damping, mass * G * arm])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(model.A)), np.sort_complex(wanted), rtol=1e-9)


@pytest.mark.long
def test_joint_coordinates_keep_the_joint():
    """A joint whose force is seen stays one, between links; the motion is the same."""
    sols = [tf.solve(pendulum(coordinates=coordinates, span=0.5), tf.MixedGalerkin(3, form="energy"), 30)
            for coordinates in ("bodies", "joint")]
    assert any(name.startswith("pin: ") for name in sols[1].system.constraint_names)
    positions = [sol.position("rod", 0.5) for sol in sols]
    np.testing.assert_allclose(positions[1], positions[0], rtol=0, atol=1e-9)


def test_a_guide_jams_under_a_force_off_its_axis():
    """A drawer pulled at the offset b from its middle, on a guide of length L: `F - mu 2 F b / L`; it jams at b =
    L / (2 mu)."""
    mass, pull, length, width = 1.5, 10.0, 0.4, 0.05

    def speed(offset):
        drawer = tf.RigidBody(mass, (0.1, 0.1, 0.1), name="drawer")
        guide = tf.Prismatic(drawer, axis_b=(1, 0, 0), point_a=(0, 0, 0), point_b=(0, 0, 0), name="guide")
        rub = tf.BearingFriction(guide, friction=MU, friction_width=width, length=length, name="rub")
        force = tf.Force(drawer, (pull, 0, 0), point=(0, offset, 0))
        problem = tf.InitialValueProblem(tf.System([drawer, guide, rub, force]), {}, (0, 1))
        return tf.solve(problem, tf.MixedGalerkin(2), 50).velocity("drawer", 1.0)[0]

    for offset in (0.1, 0.4):
        share = 2 * MU * offset / length  # of the pull; m v' = F (1 - share tanh(v / w))
        late = pull * (1 - share) / mass + share / (1 + share) * width * np.log(2 / (1 - share) * (1 + share) / 2)
        assert speed(offset) == pytest.approx(late, rel=1e-2)
    creep = np.arctanh(length / (2 * 0.8 * MU)) * width  # mu tanh(v / w) 2 b / L = 1
    assert speed(0.8) == pytest.approx(creep, rel=1e-6)


def test_formula_sees_multipliers():
    """A bead on a ring with friction mu N: `v = v0 exp(-mu angle)`."""
    radius, mu, v0 = 0.7, 0.25, 3.0
    bead = tf.PointMass(0.4, 2, name="bead")
    ring = tf.Constraint(bead, lambda f, t, c: ca.norm_2(f[0].position[:2]) - c[0], 1, parameters=[radius], name="ring")
    rub = tf.FormulaForce(bead, "-c[0] * abs(r[0]) * f[0].velocity / norm(f[0].velocity)", parameters=[mu],
                          reactions=[ring], name="rub")
    problem = tf.InitialValueProblem(tf.System([bead, ring, rub]), {bead: tf.Pose((radius, 0, 0), velocity=(0, v0, 0))},
                                     (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40)
    speed = np.linalg.norm(sol.velocity("bead", sol.t), axis=1)
    np.testing.assert_allclose(speed, v0 / (1 + mu * v0 / radius * sol.t), rtol=1e-8)
    np.testing.assert_allclose(sol.energy.work(by_part=True)["rub"], 0.2 * (speed**2 - v0**2), rtol=0, atol=1e-8)


def planar_wedge(push, incline=0.3, mu=0.2, mu_floor=0.15, weight=30.0):
    """A wedge of 1 kg, pushed under a block in an upright guide; faces that slide are Planar joints."""
    wedge, block = (tf.RigidBody(mass, (0.1, 0.1, 0.1), name=name) for mass, name in (
        (1.0, "wedge"), (weight / G, "block")))
    normal, here = (-np.sin(incline), np.cos(incline), 0), {"point_a": (0, 0, 0), "point_b": (0, 0, 0)}
    floor = tf.Planar(wedge, axis_a=(0, 1, 0), axis_b=(0, 1, 0), **here, name="floor")
    face = tf.Planar(block, wedge, axis_a=normal, axis_b=normal, **here, name="face")
    guide = tf.Prismatic(block, axis_b=(0, 1, 0), **here, name="guide")
    rubs = [tf.BearingFriction(joint, coordinate=name, friction=size, friction_width=1e-3, name=f"{joint.name} {name}")
            for joint, size in ((floor, mu_floor), (face, mu)) for name in "uv"]
    system = tf.System([wedge, block, floor, face, guide, *rubs, tf.Force(wedge, (-push, 0, 0))], gravity=(0, -G, 0),
                       redundant="drop")
    return tf.InitialValueProblem(system, {}, (0, 0.3))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
def test_a_wedge_lifts_or_creeps():
    """It moves from `W (tan a + mu) / (1 - mu tan a) + mu_floor (W + w)` = 22.26 N on, and creeps below."""
    incline, mu, mu_floor, weight, push = 0.3, 0.2, 0.15, 30.0, 30.0
    slope = np.tan(incline)
    share = (slope + mu) / (1 - mu * slope) + mu_floor
    wanted = (push - share * weight - mu_floor * G) / (1 + share * weight / G * slope) * 0.3
    sol = tf.solve(planar_wedge(push), tf.MixedGalerkin(2), 60)
    assert sol.velocity("wedge", 0.3)[0] == pytest.approx(-wanted, abs=1e-3)  # by the friction_width
    assert abs(tf.solve(planar_wedge(20.0), tf.MixedGalerkin(2), 60).velocity("wedge", 0.3)[0]) < 2e-3


def drum_brake(sense, offset, pivot=0.3, lever=0.6, mu=0.4, force=100.0, radius=0.2, inertia=0.5):
    """A shoe on a lever, pressed on a drum that turns at 30 rad/s, the drum's tangent `offset` off the pivot."""
    drum, arm = tf.RigidBody(5.0, [inertia] * 3, name="drum"), tf.RigidBody(1.0, [0.05] * 3, name="lever")
    axes = {"axis_a": Z, "axis_b": Z}
    axle = tf.Revolute(drum, point_a=(0, 0, 0), point_b=(0, 0, 0), **axes, name="axle")
    hinge = tf.Revolute(arm, point_a=(-pivot, 0, 0), point_b=(-pivot, radius + offset, 0), **axes, name="hinge")
    pad = ca.DM([0, -offset, 0])
    touch = tf.Constraint([arm, drum], lambda f, t, c: ca.norm_2((f[0].point(pad) - f[1].position)[:2]) - radius, 1,
                          name="touch")

    def rub(f, t, c, r):
        place = f[0].direction(pad)
        on_drum = f[0].position + place - f[1].position
        along = ca.cross(ca.SX([0, 0, 1]), on_drum / ca.norm_2(on_drum))
        slip = ca.dot(along, f[0].velocity_at(place) - f[1].velocity_at(on_drum))
        pushed = -c[0] * ca.fabs(r[0]) * ca.tanh(slip / 1e-2) * along
        return ca.vertcat(pushed, ca.cross(place, pushed)), ca.vertcat(-pushed, ca.cross(on_drum, -pushed))

    friction = tf.FormulaForce([arm, drum], rub, parameters=[mu], reactions=[touch], name="rub")
    push = tf.Force(arm, (0, -force, 0), point=(lever - pivot, 0, 0))
    system = tf.System([drum, arm, axle, hinge, touch, friction, push], redundant="drop")
    state = {drum: tf.Pose(angular_velocity=(0, 0, 30.0 * sense)), arm: tf.Pose((0, radius + offset, 0))}
    return tf.InitialValueProblem(system, state, (0, 0.1))


@pytest.mark.long
def test_a_brake_amplifies_itself_and_locks():
    """Leading and trailing shoe: N = F l / (b -+ mu c); where b < mu c there is no motion."""
    for sense, offset in ((1, 0.05), (1, 0.3), (-1, 0.3)):
        sol = tf.solve(drum_brake(sense, offset), tf.MixedGalerkin(2), 8)
        pressed = 100.0 * 0.6 / (0.3 - sense * 0.4 * offset)
        lost = 30.0 - abs(sol.angular_velocity("drum", 0.1)[2])
        assert lost == pytest.approx(0.4 * pressed * 0.2 / 0.5 * 0.1, rel=2e-5)
    problem = drum_brake(1, 0.9)
    with pytest.raises(tf.InputError, match="as in a mechanism that jams"):
        tf.solve(problem, tf.MixedGalerkin(2), 8)


def four_bar(length=0.0, mu=0.3):
    """A planar four-bar linkage with pins in space, of which three constraints are redundant."""
    lengths, ground, angle = (0.3, 0.8, 0.6), np.array([0.7, 0.0]), np.pi / 3
    a, b = np.zeros(2), 0.3 * np.array([np.cos(angle), np.sin(angle)])
    way = ground - b
    d = np.linalg.norm(way)
    turn = np.arctan2(way[1], way[0]) + np.arccos((0.8**2 + d**2 - 0.6**2) / (1.6 * d))
    c = b + 0.8 * np.array([np.cos(turn), np.sin(turn)])
    bars, state = [], {}
    for start, end, size, name in zip((a, b, ground), (b, c, c), lengths, ("crank", "coupler", "rocker"), strict=True):
        bar = tf.RigidBody(2 * size, (0.02, 0.02 + size**3 / 6, 0.03 + size**3 / 6), name=name)
        turn = np.arctan2(*(end - start)[::-1]) / 2
        state[bar] = tf.Pose((*(start + end) / 2, 0), (np.cos(turn), 0, 0, np.sin(turn)))
        bars.append(bar)
    crank, coupler, rocker = bars
    axes = {"axis_a": Z, "axis_b": Z}
    pins = [tf.Revolute(crank, point_a=(-0.15, 0, 0), point_b=(0, 0, 0), **axes, name="A"),
            tf.Revolute(coupler, crank, point_a=(-0.4, 0, 0), point_b=(0.15, 0, 0), **axes, name="B"),
            tf.Revolute(coupler, rocker, point_a=(0.4, 0, 0), point_b=(0.3, 0, 0), **axes, name="C"),
            tf.Revolute(rocker, point_a=(-0.3, 0, 0), point_b=(*ground, 0), **axes, name="D")]
    rubs = [tf.BearingFriction(pin, friction=mu, friction_width=0.05, radius=0.02, length=length,
                               name=f"rub {pin.name}") for pin in pins]
    system = tf.System([*bars, *pins, *rubs], gravity=(0, -G, 0), redundant="drop")
    return tf.InitialValueProblem(system, state, (0, 0.5))


def test_redundant_constraints():
    """In-plane forces of a linkage in space are determined, and friction by these is; moments are not."""
    problem = four_bar()
    assert len(problem.system.dropped) == 3
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60)
    assert sol.success and abs(sol.energy.balance()[-1]) < 1e-5
    other = tf.InitialValueProblem(problem.system.with_numbers({f"rub {name}.friction": 0.6 for name in "ABCD"}),
                                   problem.z0, (0, 0.5))
    np.testing.assert_array_equal(*(tf.solve(p, tf.MixedGalerkin(2), 10).z for p in (other, four_bar(mu=0.6))))
    work = sol.energy.work(by_part=True)
    assert all(work[f"rub {name}"][-1] < -1e-3 for name in "ABCD")
    with pytest.raises(tf.InputError, match="rub A depends on the force of A, which redundant constraints leave open"):
        four_bar(length=0.05)


def test_refusals():
    link = tf.Tree([tf.Link("ground"), tf.Link("arm", 1.0, (0, 0.5, 0), (0.1, 0.1, 0.1))],
                   [tf.TreeJoint("hinge", "ground", "arm", "revolute", axis=Z)], name="tree")
    with pytest.raises(tf.InputError, match="coordinates of a tree enforce it"):
        tf.BearingFriction(link.joint("hinge"), friction=0.1, friction_width=0.1, radius=0.1)
    problem = rotor()
    for element in (tf.MixedGalerkin(2, form="impulse"), tf.EML(), tf.BubnovGalerkin(2, form="impulse")):
        with pytest.raises(tf.InputError, match="rub depends on the force of pin, which"):
            tf.solve(problem, element, 10)
    pin = problem.system["pin"]
    with pytest.raises(tf.InputError, match="give the radius of the pin"):
        tf.BearingFriction(pin, friction=0.1, friction_width=0.1)
    with pytest.raises(tf.InputError, match="sees the force of"):
        tf.System([problem.system["rotor"], problem.system["rub"]])
    with pytest.raises(tf.InputError, match="has no constraints, whose forces could be seen"):
        tf.FormulaForce(problem.system["rotor"], "[r[0], 0, 0]", reactions=[problem.system["rub"]])
    with pytest.raises(tf.InputError, match="reactions and controls"):
        tf.FormulaForce(problem.system["rotor"], "[r[0] * u[0], 0, 0]", reactions=[pin], n_controls=1)


def test_an_unknown_friction():
    """Found from where the rod is at the end: forces of the joint are in the guess, without which it has no effect."""
    truth = tf.solve(pendulum(), tf.MixedGalerkin(2), 20).position("rod", 1.0)[0]
    problem = pendulum(mu=0.3)
    angle = 0.6
    start = tf.Pose((0.5 * np.sin(1.2), -0.5 * np.cos(1.2), 0), (np.cos(angle), 0, 0, np.sin(angle)))
    unknown = tf.BoundaryValueProblem(problem.system, (0, 1), start={"rod": start}, parameters={"mu": 0.3},
                                      follows={"rub.friction": "parameters['mu']"},
                                      conditions=lambda start, end, c: [end.position("rod")[0] - truth,
                                                                        start.velocity("rod")[0]])
    assert tf.solve(unknown, tf.MixedGalerkin(2), 20).parameters["mu"] == pytest.approx(0.4, rel=1e-9)
    with pytest.raises(tf.InputError, match="a boundary-value problem with continuous multipliers does not take"):
        tf.solve(unknown, tf.BubnovGalerkin(2, "continuous"), 20)


END = tf.EndValue(lambda f, t: f[0].position[0], "rod")


@pytest.mark.long
def test_gradient_against_differences():
    names = [("rub", "friction"), ("rub", "friction_width"), ("rub", "radius"), ("pin", "point_a", 1)]
    sol = tf.solve(pendulum(), tf.MixedGalerkin(2), 20)
    gradient = tf.gradient(sol, END, [tf.Parameter(*name) for name in names])
    forward = tf.sensitivities(sol, END, [tf.Parameter(*name) for name in names])
    np.testing.assert_allclose(forward.ravel(), gradient, rtol=1e-10)
    for i, (number, at) in enumerate((("mu", 0.4), ("width", 0.5), ("radius", 0.08))):
        ends = [tf.solve(pendulum(**{number: at * (1 + h)}), tf.MixedGalerkin(2), 20).position("rod", 1.0)[0]
                for h in (1e-4, -1e-4)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / (2e-4 * at), rel=1e-6)


MODEL = """
gravity = [0, -9.81, 0]
time = { span = [0, 1], n_elements = 20 }
solver = { element = "mg", degree = 2 }
[bodies.rod]
type = "rigid"
mass = 2.0
inertia = [0.2, 0.1, 0.25]
[joints.pin]
type = "revolute"
bodies = ["rod"]
point_a = [0, 0.5, 0]
point_b = [0, 0, 0]
axis_a = [0, 0, 1]
axis_b = [0, 0, 1]
[state]
pin = 1.2
[forces.rub]
type = "bearing_friction"
joint = "pin"
friction = 0.4
friction_width = 0.5
radius = 0.08
[forces.push]
type = "formula_force"
bodies = ["rod"]
formula = "[0 * r[2], 0, 0]"
reactions = ["pin"]
"""


def test_model_files(tmp_path):
    path = tmp_path / "swing.toml"
    path.write_text(MODEL)
    sol = tf.solve(load_model(path).problem, tf.MixedGalerkin(2), 20)
    np.testing.assert_allclose(sol.position("rod", 1.0), tf.solve(pendulum(), tf.MixedGalerkin(2), 20).position(
        "rod", 1.0), rtol=0, atol=1e-12)


@pytest.mark.long
def test_optimal_control_with_friction():
    """A motor on the pin lifts the rod; a march of its controls goes the same way."""
    base = pendulum(width=0.2).system
    motor = tf.JointControl(base["pin"], name="motor")
    system = tf.System([*base.parts, motor, tf.Effort(motor)])

    def pose(a):
        return {"rod": tf.Pose((0.5 * np.sin(a), -0.5 * np.cos(a), 0), (np.cos(a / 2), 0, 0, np.sin(a / 2)))}

    problem = tf.OptimalControl(system, pose(0.0), pose(1.5), (0, 1))
    costs = [tf.solve(problem, element, 20).objective for element in (
        tf.MixedGalerkin(2), tf.MixedGalerkin(2, form="energy"))]
    assert costs[0] == pytest.approx(costs[1], rel=1e-5) and 15 < costs[0] < 20
    assert tf.simulate(problem, tf.solve(problem, tf.MixedGalerkin(2), 20)).distance.max() < 1e-4


def test_files(tmp_path):
    sol = tf.solve(pendulum(), tf.MixedGalerkin(2), 20)
    sol.save(tmp_path / "swing.h5")
    loaded = tf.load(tmp_path / "swing.h5")
    assert loaded.system["rub"].reactions_of == (loaded.system["pin"],)
    np.testing.assert_array_equal(loaded.energy.work(), sol.energy.work())


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_a_screw_falls_or_locks_itself(mu):
    """A nut of mass m on a steep thread: it turns as N, of the thread's constraint, and mu N let it; where mu is above
    the tangent of the lead angle it creeps."""
    pitch, radius, mass, inertia, span, width = 0.05 / (2 * np.pi), 0.02, 2.0, 1e-3, 0.12, 1e-2
    lead = np.arctan(pitch / radius)
    nut = tf.RigidBody(mass, (2e-3, 2e-3, inertia), name="nut")
    guide = tf.Cylindrical(nut, axis_a=Z, axis_b=Z, point_a=(0, 0, 0), point_b=(0, 0, 0), name="guide")
    thread = tf.Constraint(nut, "f[0].position[2] - c[0] * atan2(f[0].rotation[1, 0], f[0].rotation[0, 0])", 1,
                           parameters=[pitch], name="thread")

    def along_the_thread(f, t, c, r):
        pushed = -c[0] * ca.fabs(r[0]) / np.cos(lead) * ca.tanh(f[0].angular_velocity[2] / width)
        return ca.vertcat(0, 0, pushed * np.sin(lead), 0, 0, pushed * np.cos(lead) * radius)

    rub = tf.FormulaForce(nut, along_the_thread, parameters=[mu], reactions=[thread], name="rub")
    problem = tf.InitialValueProblem(tf.System([nut, guide, thread, rub], gravity=(0, 0, -G)), {}, (0, span))
    spin = tf.solve(problem, tf.MixedGalerkin(2), 40).angular_velocity("nut", span)[2]
    if mu > np.tan(lead):
        assert spin == pytest.approx(-width * np.arctanh(np.tan(lead) / mu), rel=1e-3)
        return
    turning = radius * (np.sin(lead) - mu * np.cos(lead))
    normal = mass * G / (np.cos(lead) + mu * np.sin(lead) + mass * pitch * turning / inertia)
    assert spin == pytest.approx(-normal * turning / inertia * span, abs=2 * width)
