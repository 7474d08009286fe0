"""Beams in motion: converged reference states of independent codes, momentum and energy."""

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import slope
from timefem.cases import find_case
from timefem.mechanics.composites.beam import Beam
from timefem.mechanics.composites.section import Section

pytestmark = pytest.mark.long

DATA = Path(__file__).parents[1] / "data" / "beams"


def reference(name):
    return json.loads((DATA / f"{name}.json").read_text())


def marched(case, t_end, n_elements, **options):
    sol = tf.solve(find_case(case).make(t_end=t_end, **options), tf.MixedGalerkin(2), n_elements, progress=False)
    assert sol.success
    return sol


def deviations(sol, known, start=np.array([[10, 0, 0], [10, 10, 0]])):
    """Largest differences of positions and rotations of elbow and tip at the listed times of the motion."""
    place = turn = 0.0
    for i, t in enumerate(known["t"]):
        if t <= sol.t[-1] + 1e-9:
            for j, body in enumerate(("elbow", "tip")):
                place = max(place, np.abs(sol.position(body, t) - start[j] - known[f"{body}_u"][i]).max())
                if f"{body}_R" in known:
                    turn = max(turn, np.abs(sol.rotation_matrix(body, t) - known[f"{body}_R"][i]).max())
    return place, turn


def test_cantilever_of_cubic_elements_is_the_semidiscrete_reference():
    """The independent reference was made with h = 0.02 s and two points in time: the same equations to round-off."""
    known, same = reference("right_angle_quaternion_lumped"), find_case("right-angle-cantilever").make(t_end=2.0)
    assert max(deviations(tf.solve(same, tf.MixedGalerkin(2, n_points=2), 100, progress=False), known)) <= 1e-10
    sol = marched("right-angle-cantilever", 2.0, 100)
    assert max(deviations(sol, known)) <= 1e-6
    assert deviations(sol, reference("right_angle_space_time"))[0] <= 2e-5


@pytest.mark.slow
def test_cantilever_keeps_its_energy_after_the_load():
    sol = marched("right-angle-cantilever", 5.0, 500)
    assert max(deviations(sol, reference("right_angle_quaternion_lumped"))) <= 3e-6  # that of the reference: 2.4e-6
    energy = sol.energy()[sol.t >= 2.0]
    assert np.ptp(energy) <= 1e-11 * energy[0]
    assert energy[-1] == pytest.approx(114.88035, abs=2e-4)


@pytest.mark.slow
def test_energy_momentum_scheme_on_the_cantilever():
    """EMH in quaternions: energy after the load to round-off, error of order 2."""
    sol = tf.solve(find_case("right-angle-cantilever").make(t_end=3.0), tf.EMH(), 150, progress=False)
    assert sol.success and max(deviations(sol, reference("right_angle_quaternion_lumped"))) <= 3e-4
    energy = sol.energy()[sol.t >= 2.0]
    assert np.ptp(energy) <= 1e-11 * energy[0] and energy[-1] == pytest.approx(114.880365, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("rotation, element, drift", [("quaternion", tf.MixedGalerkin(2), 1e-9),
                                                      ("directors", tf.MixedGalerkin(2, form="energy"), 1e-11)])
def test_fine_cantilever_over_20_seconds(rotation, element, drift):
    """Ten elements of degree 4 per leg against independent converged states; in directors energy stays to round-off."""
    problem = find_case("right-angle-cantilever").make(t_end=20.0, rotation=rotation, elements_space=10, degree_space=4)
    sol = tf.solve(problem, element, 1000, progress=False)
    known = reference("right_angle_space_time")
    assert sol.success and known["t"][-1] == 20
    assert max(deviations(sol, known)) <= 1e-5
    energy = sol.energy()[sol.t >= 2.0]
    assert energy[-1] == pytest.approx(114.88035, abs=1e-4)
    assert np.ptp(energy) <= drift * energy[0]


@pytest.mark.parametrize("elements, n_elements, error", [
    (5, 100, 2e-3), pytest.param(10, 400, 5e-5, marks=pytest.mark.slow)])
def test_thrown_beam(elements, n_elements, error):
    """Linear momentum is the impulse, exactly; no moment acts about x. The reference is good to some 1e-5."""
    sol = marched("flying-beam", 5.0, n_elements, elements_space=elements)
    known = reference("flying_beam")
    for body, places in (("loaded end", known["loaded_end"]), ("other end", known["other_end"])):
        for t, x in zip(known["t"], places, strict=True):
            assert np.abs(sol.position(body, t) - x).max() <= error
    assert np.allclose(sol.linear_momentum()[-1], (50, 0, 0), rtol=0, atol=1e-11)
    assert np.allclose(sol.angular_momentum()[-1], (0, -295.7031, -553.0015), rtol=0, atol=1e-3)


@pytest.mark.parametrize("t_end, elements, n_elements, error", [
    (0.5, 6, 100, 3e-4), pytest.param(2.0, 10, 1600, 3e-5, marks=pytest.mark.slow)])
def test_flexible_pendulum(t_end, elements, n_elements, error):
    """The reference is good to some 1e-5; longer steps do not resolve the axial waves."""
    sol = marched("flexible-pendulum", t_end, n_elements, elements_space=elements)
    known = reference("flexible_pendulum")
    for t, x in zip(known["t"], known["tip"], strict=True):
        if t <= t_end:
            assert np.abs(sol.position("tip", t)[:2] - x).max() <= error
    assert sol.errors()["energy"] <= 1e-11 and sol.errors()["configuration"] <= 1e-13


def turning(t):
    """Angle of the spin-up of Simo & Vu-Quoc (1986): 6 rad/s after 15 s."""
    early = 6 / 15 * (t**2 / 2 + (15 / (2 * ca.pi))**2 * (ca.cos(2 * ca.pi * t / 15) - 1))
    return ca.if_else(t < 15, early, 6 * t - 45)


@pytest.mark.slow
def test_spin_up_by_strains_by_their_rate():
    """Stiff, thin beam in directors; deflection in the rotating frame against that of independent codes."""
    thin = Section(EA=2.8e7, GA=1e7, GJ=1.4e4, EI=1.4e4, mass=1.2, inertia=(12e-4, 6e-4, 6e-4))
    beam = Beam(10.0, thin, 4, 3, "directors", marks=[("tip", 1)], name="beam")
    axis, origin = (0, 0, 1), (0, 0, 0)
    hinge = tf.Revolute(beam.start, axis_a=axis, axis_b=axis, point_a=origin, point_b=origin)
    motor = tf.PrescribedAngle(beam.start, angle=turning, axis_b=axis, direction_a=(1, 0, 0), direction_b=(1, 0, 0))
    system = tf.System([beam, hinge, motor])
    element = tf.MixedGalerkin(2, form="energy", keep="all")
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 6.9)), element, 345, progress=False)
    assert sol.success
    t = sol.t[sol.t > 6.6]
    angle = np.array([float(turning(float(v))) for v in t])
    x = sol.position("tip", t)
    across = -np.sin(angle) * x[:, 0] + np.cos(angle) * x[:, 1]
    best = np.polynomial.Polynomial.fit(t, across, 6)
    extreme = min(float(best(r.real)) for r in best.deriv().roots() if 6.6 < r.real < 6.9 and abs(r.imag) < 1e-9)
    assert extreme == pytest.approx(reference("spinup")["v_min"], abs=1e-5)


@pytest.mark.parametrize("degree, meshes", [(1, (8, 16, 32)), (2, (4, 8, 16))])
def test_exact_circular_wave(degree, meshes):
    """`x = (a s, b cos(k s - w t), b sin(k s - w t))`, `w = c k`, `c^2 = EA/rhoA (1 - 1/l)`; order 2 p."""
    a, b, k, EA, mass, length, t_end = 1.0, 0.3, 2.0, 30.0, 1.5, 1.0, 0.4
    stretch = np.hypot(a, b * k)
    w = k * np.sqrt(EA / mass * (1 - 1 / stretch))

    def at(s, t):
        return np.array([a * s, b * np.cos(k * s - w * t), b * np.sin(k * s - w * t)])

    def speed(s, t):
        return np.array([0, b * w * np.sin(k * s - w * t), -b * w * np.cos(k * s - w * t)])

    errors = []
    for n in meshes:
        rope = tf.Rope(length, tf.RopeSection(EA, mass), n, degree, name="rope")
        ends = [tf.PrescribedPosition(node, (a * s, lambda t, s=s: b * ca.cos(k * s - w * t),
                                             lambda t, s=s: b * ca.sin(k * s - w * t)))
                for node, s in ((rope.start, 0.0), (rope.end, length))]
        state = {rope: lambda s: tf.Pose(at(s * length, 0.0), velocity=speed(s * length, 0.0))}
        problem = tf.InitialValueProblem(tf.System([rope, *ends]), state, (0, t_end))
        sol = tf.solve(problem, tf.MixedGalerkin(2), 4 * n, progress=False)
        errors.append(max(np.abs(sol.position(node, t_end) - at(s * length, t_end)).max()
                          for node, s in zip(rope.nodes, rope.along, strict=True)))
    assert slope(1 / np.array(meshes), errors) == pytest.approx(2 * degree, abs=0.25)


def test_damping_takes_energy_as_the_balance_says():
    damped = Beam(1.0, Section(EA=100, GA=100, GJ=1, EI=1, mass=1, inertia=(2e-2, 1e-2, 1e-2), damping=1e-2), 2, 2)
    system = tf.System([damped, tf.Weld(damped.start, point_a=(0, 0, 0), point_b=(0, 0, 0))], gravity=(0, -9.81, 0))
    motion = tf.InitialValueProblem(system, {}, (0, 1))
    sol = tf.solve(motion, tf.MixedGalerkin(2), 100, progress=False)
    assert sol.energy()[-1] < sol.energy()[0] - 1e-2
    assert np.abs(sol.energy.balance()).max() <= 1e-5


def test_command_line_takes_the_mesh_of_beams(timefem):
    status, out, _ = timefem("run", "right-angle-cantilever", "--elements-space", 2, "--degree-space", 2,
                             "--n-elements", 10, "--t-end", 0.2, "--json")
    final = json.loads(out)["final"]
    assert status == 0 and len(final) == 9
    assert {"position", "rotation_matrix"} <= final["elbow"].keys() & final["tip"].keys()
    assert final["elbow"]["position"][:2] == pytest.approx([10, 0], abs=1e-3) and final["elbow"]["position"][2] > 1e-3
    status, _, error = timefem("run", "spinning-box", "--degree-space", 3)
    assert status == 2 and "spinning-box has no use for degree_space" in error


def test_files_hold_beams(tmp_path):
    sol = marched("right-angle-cantilever", 0.1, 5, elements_space=1, degree_space=2)
    sol.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    assert np.array_equal(again.position("elbow", 0.05), sol.position("elbow", 0.05))
    assert np.array_equal(again.energy(), sol.energy())


def test_a_scheme_that_lets_stiff_beams_diverge_says_what_does_not():
    section = tf.Section(EA=1e6, GA=1e6, GJ=1, EI=1, mass=1, inertia=(2e-4, 1e-4, 1e-4))
    beam = tf.Beam(1.0, section, 1)
    parts = [beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0)), tf.Force(beam.end, (0, 1, 0))]
    sol = tf.solve(tf.InitialValueProblem(tf.System(parts), {}, (0, 1)), tf.Zupan3(), 20, progress=False)
    assert not sol.success and "take Zupan3Printed(), or a Galerkin element" in sol.status.message
    assert not tf.Zupan3Printed().remedy
