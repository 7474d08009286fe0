"""Port-Hamiltonian systems beside bodies: motors and hydraulics, the balance of power, and what is refused."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from tests.example_systems import slope
from timefem.models import load_model

EXAMPLES = Path(__file__).parents[2] / "examples"
ALL = [tf.MixedGalerkin(k, keep="all") for k in (1, 2, 3)]
T_END = 0.3


def motor(curved=0.0):
    """A rotor on a shaft with friction, turned by a motor at 12 V; energy `x^2 / (2 L) + curved x^4` of its coil."""
    rotor = tf.RigidBody(1.0, (0.02, 0.02, 0.03), name="rotor")
    shaft = tf.Revolute(rotor, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="shaft")
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0]) + c[3] * x[0]**4", "c[2] - c[1] * w[0]",
                         parameters=[0.05, 2.0, 12.0, curved], name="coil")
    drive = tf.connect(tf.Port(shaft), tf.Port(coil), gain=0.3, name="drive")
    bearing = tf.JointDamper(shaft, damping=0.01, name="bearing")
    system = tf.System([rotor, shaft, coil, drive, bearing])
    return tf.InitialValueProblem(system, {rotor: tf.Pose(), coil: [0.0]}, (0, T_END))


def exact(curved):
    """Rate of the rotor and flux linkage at the end."""
    def rates(t, y):
        current = y[1] / 0.05 + 4 * curved * y[1] ** 3
        return [(0.3 * current - 0.01 * y[0]) / 0.03, 12 - 2 * current - 0.3 * y[0]]
    return solve_ivp(rates, (0, T_END), [0, 0], rtol=1e-13, atol=1e-14, method="DOP853").y[:, -1]


def end(sol):
    return np.array([sol.angular_velocity("rotor", T_END)[2], sol.coordinates("coil", T_END)[0]])


@pytest.mark.long
@pytest.mark.parametrize("element", [*ALL, tf.MixedGalerkin(1), tf.BubnovGalerkin(1),
                                     tf.MixedGalerkin(2, form="energy")], ids=repr)
@pytest.mark.parametrize("curved", [0.0, 0.3])
def test_motor_converges_with_the_order_of_the_element(element, curved):
    meshes, size = np.array([10, 20, 40]), np.abs(exact(curved))
    errors = [(np.abs(end(tf.solve(motor(curved), element, int(n), progress=False)) - exact(curved)) / size).max()
              for n in meshes]
    order = 2 * element.degree
    assert slope(1 / meshes, errors) == pytest.approx(order, abs=0.2) and errors[-1] < 10.0 ** (-1.5 * order - 0.2)


@pytest.mark.parametrize("element", ALL, ids=repr)
def test_energy_changes_by_the_works_of_the_parts(element):
    sol = tf.solve(motor(0.3), element, 20, progress=False)
    assert element.kept(sol.system).working == ("coil", "bearing")
    works = sol.energy.work(by_part=True)
    assert set(works) == {"coil", "drive", "bearing"} and np.abs(works["drive"]).max() < 1e-14
    assert works["bearing"][-1] < 0 < works["coil"][-1]
    np.testing.assert_allclose(np.diff(sol.energy()), np.diff(sum(works.values())), rtol=0, atol=1e-13)
    rate = sol.angular_velocity("rotor", 0.1)[2]
    assert sol.energy.power(0.1)["bearing"] == pytest.approx(-0.01 * rate ** 2, rel=10.0 ** -element.degree)
    with pytest.raises(tf.InputError, match="work by part is known at the ends"):
        sol.energy.work(0.1, by_part=True)


def cylinder(joined):
    """A mass on a piston against a gas: as a port system that the piston pumps into, or as an energy of its place."""
    mass, area, volume = tf.PointMass(2.0, dimension=1, name="mass"), 0.01, 0.02
    gas, parameters = "c[0] * x[0]**(-0.4)", [1e5 * volume ** 1.4 / 0.4, area, volume]
    if joined:
        tank = tf.PortSystem(1, gas, "0 * w[0]", parameters=parameters[:1], name="gas")
        other = [tank, tf.connect(tf.Port(mass, lambda f: f[0].velocity[0]), tf.Port(tank), gain=area, name="piston")]
    else:
        other = [tf.FormulaEnergy(mass, lambda e, t, c: c[0] * e[0] ** -0.4, parameters=parameters, n_lift=1,
                                  lift=lambda f, t, c: c[2] - c[1] * f[0].position[0], name="gas")]
    load = tf.Force(mass, (900.0, 0, 0))
    damper = tf.Damper(mass, None, point_b=(-5, 0, 0), damping=20.0)
    state = {mass: tf.Pose((0, 0, 0), velocity=(3.0, 0, 0))} | ({other[0]: [volume]} if joined else {})
    return tf.InitialValueProblem(tf.System([mass, *other, load, damper]), state, (0, 0.5))


@pytest.mark.long
@pytest.mark.parametrize("element", ALL, ids=repr)
def test_two_systems_joined_by_a_port_are_the_one_of_both(element):
    joined, whole = (tf.solve(cylinder(one), element, 40, progress=False) for one in (True, False))
    assert joined.success and whole.success
    places = [sol.position("mass", sol.t)[:, 0] for sol in (joined, whole)]
    assert np.ptp(places[0]) > 0.1
    np.testing.assert_allclose(places[0], places[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(joined.energy(), whole.energy(), rtol=1e-13, atol=0)


@pytest.mark.long
def test_drivers_files_and_python_agree(tmp_path):
    element = tf.MixedGalerkin(2, keep="all")
    z = [tf.solve(motor(0.3), element, 10, driver=d, progress=False).z for d in ("march", "windows", "global")]
    np.testing.assert_allclose(z[1:], [z[0]] * 2, rtol=0, atol=1e-11)
    sol = tf.solve(motor(0.3), element, 10, progress=False)
    sol.save(tmp_path / "motor.h5")
    again = tf.load(tmp_path / "motor.h5")
    np.testing.assert_array_equal(again.z, sol.z)
    assert again.energy.work(by_part=True)["bearing"][-1] == pytest.approx(
        sol.energy.work(by_part=True)["bearing"][-1], rel=1e-12)
    model = load_model(EXAMPLES / "motor.toml")
    found = tf.solve(model.problem, model.element, 50, progress=False)
    done = sum(work[-1] for work in found.energy.work(by_part=True).values())
    assert found.success and abs(done - np.ptp(found.energy()[[0, -1]])) < 1e-9


def driven(axis):
    """A rotor that a motor on its shaft drives; the axis says which way."""
    rotor = tf.RigidBody(1.0, (0.02, 0.02, 0.03), name="rotor")
    shaft = tf.Revolute(rotor, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=axis, axis_b=axis, name="shaft")
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[0.05, 2.0, 5.0], name="coil")
    return tf.System([rotor, shaft, coil, tf.connect(tf.Port(shaft), tf.Port(coil), gain=0.3, name="motor")])


@pytest.mark.long
@pytest.mark.parametrize("element", ALL, ids=repr)
def test_balance_of_a_bead_on_a_hoop_that_a_motor_turns(element):
    """Port, friction and constraints by formula; energy and works by formulas of the test, in each element."""
    radius, spin, mass, current, loss = 0.5, 0.08, 0.3, 0.05, 0.02  # m, kg m^2, kg, H, N m s
    hoop, bead = tf.RigidBody(1.0, (0.05, 0.05, spin), name="hoop"), tf.PointMass(mass, name="bead")
    shaft = tf.Revolute(hoop, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))

    def wire(f, t, c):
        arm = f[1].position - f[0].position
        return [(f[0].rotation.T @ arm)[1], ca.sumsqr(arm) - c[0] ** 2]

    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "c[1] - c[2] * w[0]", parameters=[current, 9.0, 1.2], name="coil")
    system = tf.System([hoop, bead, shaft, tf.Constraint([hoop, bead], wire, 2, parameters=[radius]), coil,
                        tf.connect(tf.Port(shaft), tf.Port(coil), gain=0.4), tf.JointDamper(shaft, damping=loss)],
                       gravity=(0, 0, -9.81))
    start = {hoop: tf.Pose(), bead: tf.Pose((0.3, 0, -0.4)), coil: [0.0]}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), element, 60, progress=False)
    n, basis = system.n_q, element.state.basis
    turning, height, flux = system.coordinates(hoop).start + 3, system.coordinates(bead).start + 2, n - 1
    p = sol.z[:, n:]
    rates = np.array([sol.angular_velocity(hoop, t) for t in sol.t])
    energy = ((rates ** 2 @ [0.05, 0.05, spin]) / 2 + (p[:, height - 2:height + 1] ** 2).sum(axis=1) / (2 * mass)
              + mass * 9.81 * sol.z[:, height] + sol.z[:, flux] ** 2 / (2 * current))
    np.testing.assert_allclose(energy - energy[0], sol.energy() - sol.energy()[0], rtol=0, atol=1e-13 * np.ptp(energy))
    xi, weights = np.polynomial.legendre.leggauss(element.degree)
    for i, h in enumerate(np.diff(sol.t)):
        nodes = sol(sol.t[i] + h * basis.points)[:, :n]
        q, v = basis.values((xi + 1) / 2) @ nodes, basis.derivatives((xi + 1) / 2) @ nodes / h
        (s, x, y, z), (ds, dx, dy, dz) = (a[:, turning:turning + 4].T for a in (q, v))
        rate = 2 * (s * dz - z * ds - y * dx + x * dy) / (s**2 + x**2 + y**2 + z**2)
        i_coil = q[:, flux] / current
        power = 9.0 * i_coil - 1.2 * i_coil ** 2 - loss * rate ** 2
        assert energy[i + 1] - energy[i] == pytest.approx(weights @ power * h / 2, rel=0, abs=1e-13 * np.ptp(energy))
    assert max(np.abs(level).max() for level in sol.constraints()) < 1e-13 and rates[-1, 2] > 5


HYDRAULIC = """
gravity = [0, 0, -9.81]
[time]
span = [0, 1]
n_elements = 50
[solver]
degree = 2
keep = "all"
[bodies.arm]
type = "rigid"
mass = 3.0
inertia = [0.02, 0.25, 0.25]
position = [0.5, 0, 0]
[bodies.oil]                # volume of the gas, and oil pressed into the cylinder; a throttle between them
type = "port_system"
n = 2
stored = "c[0] * x[0]**(-0.4) / 0.4 + c[1] * x[1]**2 / 2"
flow = ["-c[2] * (w[0] + w[1])", "-c[2] * (w[0] + w[1])"]
parameters = [31.0, 2e10, 1e-9]
x = [1e-3, 2.4e-5]
[joints.hinge]
type = "revolute"
bodies = ["arm"]
point_a = [-0.5, 0, 0]
point_b = [0, 0, 0]
axis_a = [0, 1, 0]
axis_b = [0, 1, 0]
[forces.piston]             # torque per pressure: 3e-5 m^3
type = "port_connection"
bodies = ["arm", "oil"]
joint_a = "hinge"
output_b = "f[1].rate[1]"
gain = -3e-5
"""


@pytest.mark.long
def test_a_hydraulic_cylinder_with_accumulator_in_a_model_file(tmp_path):
    """An arm on a cylinder whose oil goes through a throttle into a gas: SciPy's motion, and the balance of power."""
    (tmp_path / "arm.toml").write_text(HYDRAULIC)
    model = load_model(tmp_path / "arm.toml")
    sol = tf.solve(model.problem, model.element, 100, progress=False)

    def rates(t, y):
        angle, rate, gas, oil = y
        flow = 1e-9 * (2e10 * oil - 31 * gas ** -1.4)  # out of the cylinder
        return [rate, 3 * 9.81 * 0.5 * np.cos(angle) - 3e-5 * 2e10 * oil, -flow, -flow + 3e-5 * rate]

    y = solve_ivp(rates, (0, 1), [0, 0, 1e-3, 2.4e-5], rtol=1e-12, atol=1e-15, method="DOP853").y[:, -1]
    assert sol.position("arm", 1.0) == pytest.approx((0.5 * np.cos(y[0]), 0, -0.5 * np.sin(y[0])), rel=0, abs=1e-7)
    assert sol.coordinates("oil", 1.0) == pytest.approx(y[2:], rel=1e-6)
    works, size = sol.energy.work(by_part=True), np.abs(sol.energy()).max()
    np.testing.assert_allclose(np.diff(sol.energy()), np.diff(sum(works.values())), rtol=0, atol=1e-13 * size)
    assert works["oil"][-1] < -1e-3 and np.abs(works["piston"]).max() < 1e-12 * size


@pytest.mark.long
def test_a_port_on_a_joint_follows_its_axes(tmp_path):
    """Other axes, given as numbers or from the start, from a file too; with constants of the joint it turned back."""
    def end(system):
        problem = tf.InitialValueProblem(system, {"rotor": tf.Pose(), "coil": [0.0]}, (0, 0.5))
        sol = tf.solve(problem, tf.MixedGalerkin(2, keep="all"), 20, progress=False)
        assert sol.success
        return sol

    made = end(driven((0, 0, -1.0)).with_numbers({"shaft.axis_a": (0, 0, 1.0), "shaft.axis_b": (0, 0, 1.0)}))
    other = end(driven((0, 0, 1.0)))
    assert other.angular_velocity("rotor", 0.5)[2] > 1.0
    np.testing.assert_allclose(made.z, other.z, rtol=0, atol=1e-13)
    back = end(driven((0, 0, 1.0)).with_numbers({"shaft.axis_a": (0, 0, -1.0), "shaft.axis_b": (0, 0, -1.0)}))
    assert back.angular_velocity("rotor", 0.5)[2] == pytest.approx(-other.angular_velocity("rotor", 0.5)[2], rel=1e-10)
    other.save(tmp_path / "driven.h5")
    np.testing.assert_allclose(end(tf.load(tmp_path / "driven.h5").system).z, other.z, rtol=0, atol=1e-14)
    text = (EXAMPLES / "motor.toml").read_text()
    formula = 'output_a = "f[0].angular_velocity[0]"'
    assert formula in text
    (tmp_path / "motor.toml").write_text(text.replace(formula, 'joint_a = "shaft"'))
    by_joint, by_formula = (load_model(path).problem for path in (tmp_path / "motor.toml", EXAMPLES / "motor.toml"))
    a, b = (tf.solve(tf.InitialValueProblem(p.system, p.z0, (0, 0.02)), tf.MixedGalerkin(2, keep="all"), 4,
                     progress=False) for p in (by_joint, by_formula))
    np.testing.assert_allclose(a.z, b.z, rtol=0, atol=1e-11)


def hanging(coordinates):
    """An arm on a hinge that a motor lifts."""
    arm = tf.RigidBody(1.0, (0.02, 0.1, 0.1), name="arm")
    shoulder = tf.Revolute(arm, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "c[2] - c[1] * w[0]", parameters=[0.05, 2.0, 12.0], name="coil")
    drive = tf.connect(tf.Port(shoulder), tf.Port(coil), gain=2.3, name="drive")
    system = tf.System([arm, shoulder, coil, drive, tf.JointDamper(shoulder, damping=0.1)], gravity=(0, 0, -9.81),
                       coordinates=coordinates)
    return tf.InitialValueProblem(system, {arm: tf.Pose((0.5, 0, 0)), coil: [0.0]}, (0, 0.5))


@pytest.mark.long
@pytest.mark.parametrize("coordinates, form, keep", [
    ("bodies", "energy", "points"), ("bodies", "energy", "all"), ("joint", None, "points"), ("joint", None, "all"),
    ("joint", "lagrange", "all"), ("joint", "energy", "points")])
def test_forms_and_joint_coordinates_agree(coordinates, form, keep):
    """Livens' forms with lifts took the effort off the flow; on trees ports were refused, and work left out efforts."""
    sol = tf.solve(hanging(coordinates), tf.MixedGalerkin(3, form=form, keep=keep), 40, progress=False)
    wanted = tf.solve(hanging("bodies"), tf.MixedGalerkin(3), 40, progress=False)
    np.testing.assert_allclose(sol.position("arm", 0.5), wanted.position("arm", 0.5), rtol=0, atol=1e-8)
    np.testing.assert_allclose(sol.coordinates("coil", 0.5), wanted.coordinates("coil", 0.5), rtol=1e-7)
    change, works = np.diff(sol.energy()[[0, -1]])[0], sol.energy.work(by_part=True)
    assert works["coil"][-1] > 1 and np.abs(works["drive"]).max() < (1e-12 if keep == "all" else 1e-7)
    for done in (sol.energy.work()[-1], sum(work[-1] for work in works.values())):
        assert done == pytest.approx(change, rel=0, abs=1e-7 * works["coil"][-1])


@pytest.mark.long
def test_voltage_as_a_control():
    """Half a turn from rest to rest with least effort: the currents are at rest at both ends, too."""
    rotor = tf.RigidBody(1.0, (0.02, 0.02, 0.03), name="rotor")
    shaft = tf.Revolute(rotor, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="shaft")
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0]", parameters=[0.05, 2.0], name="coil")
    drive = tf.connect(tf.Port(shaft), tf.Port(coil), gain=0.3)
    source = tf.FormulaForce(coil, "[u[0]]", n_controls=1, name="source")
    problem = tf.OptimalControl(tf.System([rotor, shaft, coil, drive, source]), {rotor: tf.Pose(), coil: [0.0]},
                                {rotor: tf.EndState(orientation=(np.cos(1.5), 0, 0, np.sin(1.5)),
                                                    angular_velocity=(0, 0, 0))}, (0, 1.0), tf.Effort(source))
    costs = [tf.solve(problem, tf.MixedGalerkin(2, keep=keep), 20, progress=False) for keep in ("all", "points")]
    assert all(sol.success for sol in costs)
    assert costs[0].objective == pytest.approx(costs[1].objective, rel=1e-3)


@pytest.mark.parametrize("element", [tf.EML(), tf.MixedGalerkin(1, form="impulse"), tf.NullEML()], ids=repr)
def test_other_elements_refuse(element):
    with pytest.raises(tf.InputError, match=r"does not take coil, a PortSystem of first order; use MixedGalerkin"):
        tf.solve(motor(), element, 4)


def test_bad_input():
    rotor = tf.RigidBody(1.0, (1, 1, 1), name="rotor")
    coil = tf.PortSystem(1, "x[0]**2", "-w[0]", name="coil")
    with pytest.raises(tf.InputError, match="give output_b, a formula, or joint_b"):
        tf.PortConnection([rotor, coil], lambda f: f[0].velocity[0])
    shaft = tf.Revolute(tf.RigidBody(1.0, (1, 1, 1)), point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1),
                        axis_b=(0, 0, 1))
    with pytest.raises(tf.InputError, match=r"joint_a joins .* have to be among the bodies"):
        tf.PortConnection([rotor, coil], joint_a=shaft, output_b=lambda f: f[1].rate[0])
    with pytest.raises(tf.InputError, match="the energy does not depend on x\\[1\\]"):
        tf.PortSystem(2, "x[0]**2", "[-w[0], 0]")
    with pytest.raises(tf.InputError, match="flow must return 2 values"):
        tf.PortSystem(2, "x[0]**2 + x[1]**2", "[-w[0]]")
    with pytest.raises(tf.InputError, match="must be linear in velocities"):
        tf.PortConnection([rotor, coil], lambda f: ca.sumsqr(f[0].velocity), lambda f: f[1].rate[0])
    with pytest.raises(tf.InputError, match="depends on no velocity"):
        tf.PortConnection([rotor, coil], lambda f: f[0].velocity[0], lambda f: ca.SX(0))
    with pytest.raises(tf.InputError, match="give the output"):
        tf.connect(tf.Port(rotor), tf.Port(coil))
    with pytest.raises(tf.InputError, match="Coordinates of 1 values"):
        tf.InitialValueProblem(tf.System([coil]), {coil: [0.0, 1.0]}, (0, 1))
    with pytest.raises(tf.InputError, match="give lift and n_lift together"):
        tf.FormulaEnergy(rotor, "c[0]", parameters=[1.0], n_lift=1)
    with pytest.raises(tf.InputError, match="at most quadratic"):
        tf.FormulaEnergy(rotor, "f[0]", n_lift=1, lift="f[0].position[0]**3")


def test_energies_of_others_do_not_see_the_states():
    """They would add no effort, so that the balance of power would be wrong silently."""
    mass = tf.PointMass(1.0, name="mass")
    coil = tf.PortSystem(1, "x[0]**2 / 2", "-w[0]", name="coil")
    with pytest.raises(tf.InputError, match="add this energy there"):
        tf.FormulaEnergy([mass, coil], "f[0].position[0] * f[1].q[0]")
