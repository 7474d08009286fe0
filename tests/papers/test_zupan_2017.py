"""Zupan & Zupan (2017): rotations under a prescribed torque, with the scheme corrected and as printed."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.element import ELEMENTS
from timefem.elements.evaluation.plan import ElementPlan
from timefem.mechanics.bodies import rotations

pytestmark = pytest.mark.long

DATA = Path(__file__).parents[1] / "data"
NAMES = ("zupan3", "zupan3-printed", "newmark-so3")


def reference(case):
    return json.loads((DATA / f"prescribed_rotation_{case}.json").read_text())["states"]


def rotation_error(sol, case):
    """Largest angle between the rotations of a solution and those of the rotation vector [rad]."""
    t = sol.t
    vector = np.stack([t**2, 0 * t, t / 5] if case == "i" else [t + np.sin(t), 0 * t, np.cos(t)], axis=1)
    angle = np.linalg.norm(vector, axis=1, keepdims=True)
    exact = np.hstack([np.cos(angle / 2), np.sinc(angle / (2 * np.pi)) * vector / 2])
    q = sol.z[:, 3:7]
    return 4 * np.arcsin(np.minimum(np.linalg.norm(q - exact, axis=1), np.linalg.norm(q + exact, axis=1)) / 2).max()


@pytest.mark.parametrize("case", ["i", "ii"])
def test_the_torque_is_that_of_the_rotation(case):
    problem = find_case(f"rotation-{case}").make()
    torque = problem.system.parts[1]
    for state in reference(case):
        values = [float(f(state["t"])) for f in torque.value]
        np.testing.assert_allclose(values, state["torque_spatial_M"], rtol=0, atol=1e-11)


@pytest.mark.parametrize("case", ["i", "ii"])
def test_mixed_galerkin_follows_the_rotation(case):
    sol = tf.solve(find_case(f"rotation-{case}").make(t_end=3.0), tf.MixedGalerkin(4), 100)
    body, state = sol.system.bodies[0], reference(case)[2]
    np.testing.assert_allclose(sol.rotation_matrix(body, 3.0), rotations.matrix_from_quaternion(state["q"]), rtol=0,
                               atol=1e-9)
    np.testing.assert_allclose(sol.angular_velocity(body, 3.0), state["Omega"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name, coarse, fine", [("zupan3", 2.8e-3, 2.25e-5), ("zupan3-printed", 1.83e-2, 7.63e-4),
                                                ("newmark-so3", 6.9e-2, 2.8e-3)])
def test_errors_of_load_case_ii(name, coarse, fine):
    problem = find_case("rotation-ii").make()
    for n, expected in ((314, coarse), (1571, fine)):  # h = 0.05, 0.01
        assert rotation_error(tf.solve(problem, ELEMENTS[name](), n), "ii") == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_order(name):
    problem, element = find_case("rotation-ii").make(), ELEMENTS[name]()
    n = np.array([800, 1600, 3200])
    errors = [rotation_error(tf.solve(problem, element, int(m)), "ii") for m in n]
    slope = -np.polyfit(np.log(n), np.log(errors), 1)[0]
    assert slope == pytest.approx(element.order, abs=0.1)


@pytest.mark.parametrize("name, error", [("zupan3", 6.13e-5), ("zupan3-printed", 2.98e-3), ("newmark-so3", 2.71e-2)])
def test_load_case_i(name, error):
    sol = tf.solve(find_case("rotation-i").make(), ELEMENTS[name](), 1571)
    assert rotation_error(sol, "i") == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_unit_quaternions_without_a_multiplier(name):
    sol = tf.solve(find_case("rotation-ii").make(), ELEMENTS[name](), 314)
    np.testing.assert_allclose(np.linalg.norm(sol.z[:, 3:7], axis=1), 1, rtol=0, atol=1e-13)
    np.testing.assert_allclose((sol.z[:, 3:7] * sol.z[:, 10:]).sum(axis=1), 0, rtol=0, atol=1e-12)


def forced_system():
    """A body and a point mass on a spring with a damper, gravity and a torque in body axes."""
    body = tf.RigidBody(2, (5, 4, 2), name="body")
    mass = tf.PointMass(1, name="mass")
    spring = tf.Spring(body, mass, stiffness=30, length=0.8, point_a=(0.1, 0.2, 0.3))
    damper = tf.Damper(body, mass, damping=0.5, point_a=(0.1, 0.2, 0.3))
    torque = tf.Torque(body, (1, tf.Sine(2, 0.5), 0), frame="body")
    system = tf.System([body, mass, spring, damper, torque], gravity=(0, 0, -1))
    return system, {body: tf.Pose(angular_velocity=(1, -2, 0.5)), mass: tf.Pose(position=(1, 0.5, 0))}


@pytest.mark.parametrize("name", NAMES)
def test_forces_between_bodies_have_the_order_too(name):
    element, problem = ELEMENTS[name](), tf.InitialValueProblem(*forced_system(), (0, 1))
    end = tf.solve(problem, tf.MixedGalerkin(4), 40).z[-1]
    n = np.array([40, 80, 160])
    errors = [np.abs(tf.solve(problem, element, int(m)).z[-1] - end).max() for m in n]
    assert -np.polyfit(np.log(n), np.log(errors), 1)[0] == pytest.approx(element.order, abs=0.15)
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_global_and_windows_equal_marching(name):
    problem, element = tf.InitialValueProblem(*forced_system(), (0, 1)), ELEMENTS[name]()
    marched = tf.solve(problem, element, 20).z
    for driver in ("global", "windows"):
        np.testing.assert_allclose(tf.solve(problem, element, 20, driver=driver).z, marched, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_tangents_by_differences(name):
    """Of the density of each kind of part, against central differences of order 4."""
    import casadi as ca

    element, (system, _) = ELEMENTS[name](), forced_system()
    plan, rng = ElementPlan(system, element), np.random.default_rng(0)
    for number, group in enumerate(system.groups):
        sizes = {name: c.places[number].shape[1] for name, c in plan.components.items()}
        s = element.symbols(group.part, element, sizes)
        rows = ca.vertcat(*(ca.densify(ca.SX(r)) for r in element.density(s)))
        x = ca.vertcat(*s.slots.values())
        f = ca.Function("f", [x, s.t, s.h, s.parameters], [rows, ca.jacobian(rows, x)])
        x0, c = rng.uniform(-1, 1, x.numel()), group.parameters[0]
        tangent = np.array(f(x0, 0.3, 0.1, c)[1])
        for k in range(len(x0)):
            d = np.zeros(len(x0))
            d[k] = 1e-3
            up, down, up2, down2 = (np.array(f(x0 + m * d, 0.3, 0.1, c)[0]).ravel() for m in (1, -1, 2, -2))
            slope = (8 * (up - down) - (up2 - down2)) / 12e-3
            np.testing.assert_allclose(tangent[:, k], slope, rtol=0, atol=1e-8 * max(1, np.abs(tangent).max()))


def test_local_error_estimate():
    """It is the difference of the orders 2 and 3, hence of order 3, and larger than the error itself."""
    problem, sizes = tf.InitialValueProblem(*forced_system(), (0, 1)), []
    for n in (50, 100):
        sol = tf.solve(problem, ELEMENTS["zupan3"](), n)
        sizes.append(np.abs(sol.fields["error"][0]).max())
        exact = tf.solve(tf.InitialValueProblem(*forced_system(), (0, 1 / n)), tf.MixedGalerkin(4), 4).z[-1]
        assert np.abs(sol.z[1] - exact).max() < 0.5 * sizes[-1]
    assert np.log2(sizes[0] / sizes[1]) == pytest.approx(3, abs=0.3)


@pytest.mark.parametrize("name", NAMES)
def test_systems_that_cannot_be_taken(name):
    with pytest.raises(tf.InputError, match="rotation='quaternion'"):
        tf.solve(find_case("free-body").make("directors"), ELEMENTS[name](), 10)


@pytest.mark.parametrize("name, order", [("zupan3", 3), ("newmark-so3", 2)])
def test_joints_on_the_level_of_accelerations(name, order):
    """Two bodies in a row: order of the motion, and of the drift of the joints."""
    upper, lower = tf.RigidBody(2, [0.3, 0.4, 0.5], name="upper"), tf.RigidBody(1, [0.1, 0.2, 0.15], name="lower")
    system = tf.System([upper, lower, tf.Spherical(upper, point_a=(0, 0, 0.5), point_b=(0, 0, 0)),
                        tf.Spherical(upper, lower, point_a=(0, 0, -0.5), point_b=(0, 0, 0.4))], gravity=(0, 0, -9.81))
    start = {upper: tf.Pose((0, 0, -0.5), angular_velocity=(0.5, 1, 2)),
             lower: tf.Pose((0, 0, -1.4), angular_velocity=(1, 0, 1))}
    problem = tf.InitialValueProblem(system, start, (0, 0.5), assemble=True)
    exact = tf.solve(problem, tf.MixedGalerkin(4), 100, progress=False).position("lower", 0.5)
    found = [tf.solve(problem, ELEMENTS[name](), n, progress=False) for n in (50, 100, 200)]
    errors = [np.abs(sol.position("lower", 0.5) - exact).max() for sol in found]
    drifts = [sol.errors()["configuration"] for sol in found]
    assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(order, abs=0.1)
    assert np.log2(drifts[0] / drifts[2]) / 2 == pytest.approx(order, abs=0.3)


def clamped_beam(stiffness, t_end):
    """A beam of one quadratic element, clamped and pushed across at its end."""
    section = tf.Section(EA=50 * stiffness, GA=40 * stiffness, GJ=stiffness, EI=stiffness, mass=1.0,
                         inertia=(0.2, 0.1, 0.1))
    beam = tf.Beam(1.0, section, 1, 2, marks=[("tip", 1)], name="beam")
    push = tf.Sine(0.5 * stiffness, 0.5)
    system = tf.System([beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
                        tf.Force(beam.end, (0, 0.3, 1), time=push), tf.Torque(beam.end, (0.3, 0, 0), time=push)])
    return tf.InitialValueProblem(system, {}, (0, t_end))


@pytest.mark.parametrize("name, cap", [("zupan3", 3e-9), ("zupan3-printed", 2.5e-7), ("newmark-so3", 4e-7)])
def test_order_on_a_soft_beam(name, cap):
    """Of the positions and rotations, where all vibrations are resolved."""
    element, problem = ELEMENTS[name](), clamped_beam(1.0, 0.5)
    exact = tf.solve(problem, tf.MixedGalerkin(4), 50, progress=False)
    n, errors = np.array([100, 200, 400]), []
    for m in n:
        sol = tf.solve(problem, element, int(m), progress=False)
        errors.append(np.abs(sol.z[-1, :21] - exact.z[-1, :21]).max())
    assert np.abs(exact.position("tip", 0.5) - (1, 0, 0)).max() > 1e-2
    assert -np.polyfit(np.log(n), np.log(errors), 1)[0] == pytest.approx(element.order, abs=0.15)
    assert errors[-1] <= cap


def test_vibrations_that_are_not_resolved():
    """The printed scheme damps them, with strains that follow the velocities; velocities of order 3 let them grow."""
    stiff = clamped_beam(1e4, 1.0)
    printed, corrected = (tf.solve(stiff, ELEMENTS[name](), 20, progress=False) for name in NAMES[1::-1])
    fine = tf.solve(stiff, tf.MixedGalerkin(2), 400, progress=False)
    assert printed.success and printed.energy().max() == pytest.approx(fine.energy().max(), rel=0.05)
    assert not corrected.success and "not converged" in corrected.status.message


def test_growth_of_vibrations():
    """Of an oscillator without damping, (h w)^4/77 per step."""
    mass, w, h, n = tf.PointMass(1.0, name="mass"), 3.0, 0.1, 1000
    system = tf.System([mass, tf.Spring(mass, stiffness=w**2)])
    sol = tf.solve(tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0))}, (0, n * h)), tf.Zupan3(), n)
    growth = np.log(sol.energy()[-1] / sol.energy()[0]) / (2 * n)
    assert growth == pytest.approx((h * w)**4 / 77, rel=0.03)


def test_strains_that_are_carried():
    """They are zero at the start, differ from those of the coordinates by the local error, and join in all drivers."""
    problem, sizes = clamped_beam(1.0, 0.5), []
    for n in (20, 40):
        sol = tf.solve(problem, tf.Zupan3Printed(), n, progress=False)
        carried = sol.fields["strains"]
        assert np.all(carried[0, 0] == 0) and carried.shape == (n, 2, 12)
        sizes.append(np.abs(carried[:, 1]).max())
    assert np.log2(sizes[0] / sizes[1]) == pytest.approx(2, abs=0.3)
    whole = tf.solve(problem, tf.Zupan3Printed(), 40, driver="global", progress=False)
    np.testing.assert_allclose(whole.z, sol.z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.fields["strains"], carried, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name, level", [("zupan3-printed", 7e-6), ("newmark-so3", 2.1e-5)])
def test_right_angle_cantilever(name, level):
    """Order 2 to the motion of the same elements, and the error with h = 0.01 s; the clamp stays where it is."""
    known = json.loads((DATA / "beams" / "right_angle_quaternion_lumped.json").read_text())
    n, errors = np.array([50, 100, 200]), []
    for m in n:
        sol = tf.solve(find_case("right-angle-cantilever").make(t_end=1.0), ELEMENTS[name](), int(m), progress=False)
        errors.append(max(np.abs(sol.position(point, 1.0) - start - known[f"{point}_u"][1]).max()
                          for point, start in (("elbow", (10, 0, 0)), ("tip", (10, 10, 0)))))
        assert sol.errors()["configuration"] <= 1e-14
    assert -np.polyfit(np.log(n), np.log(errors), 1)[0] == pytest.approx(2, abs=0.1)
    assert errors[1] == pytest.approx(level, rel=0.1)
