"""Six questions of the field: each example is short, and its number is that of a calculation of another kind."""

import importlib.util
from functools import cache
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipk

import timefem as tf

FOLDER = Path(__file__).parents[2] / "examples" / "questions"


@cache
def example(name):
    spec = importlib.util.spec_from_file_location(f"question_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_at_most_25_lines_each():
    texts = {path.stem: path.read_text().split("\n") for path in FOLDER.glob("*.py")}
    lines = {name: sum(bool(line.strip()) for line in text) for name, text in texts.items()}
    assert len(lines) == 6 and max(lines.values()) <= 25, lines


@pytest.mark.long
def test_five_links_keep_energy_and_closure():
    assert example("five_links").main() < 2e-12


@pytest.mark.long
def test_five_links_against_equations_in_angles():
    """For 1.5 s: Lagrange's equations of five angles with two closing conditions, by DOP853."""
    q, v = ca.SX.sym("q", 5), ca.SX.sym("v", 5)
    along = [ca.vertcat(ca.sin(angle), -ca.cos(angle)) for angle in ca.vertsplit(q)]
    ends = [ca.SX.zeros(2)]
    for step in along:
        ends.append(ends[-1] + step)
    centres = [(a + b) / 2 for a, b in pairwise(ends)]
    energy = sum(ca.sumsqr(ca.jtimes(c, q, v)) + w**2 / 12 for c, w in zip(centres, ca.vertsplit(v), strict=True)) / 2
    potential = 9.81 * sum(centre[1] for centre in centres)
    mass, momentum, closing = ca.hessian(energy, v)[0], ca.gradient(energy, v), ends[-1] - ca.DM([2, 0])
    jacobian = ca.jacobian(closing, q)
    force = ca.gradient(energy - potential, q) - ca.jtimes(momentum, q, v)
    matrix = ca.vertcat(ca.horzcat(mass, jacobian.T), ca.horzcat(jacobian, ca.SX.zeros(2, 2)))
    right = ca.vertcat(force, -ca.jtimes(ca.jtimes(closing, q, v), q, v))
    rate = ca.Function("rate", [q, v], [v, ca.solve(matrix, right)[:5]])
    places = ca.Function("places", [q], [ca.horzcat(*centres)])
    system, state = example("five_links").pendulum()
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 1.5)), tf.MixedGalerkin(4), 600)
    rods = system.bodies
    first = [np.arctan2(-sol.rotation_matrix(rod, 0)[0, 1], sol.rotation_matrix(rod, 0)[1, 1]) for rod in rods]
    other = solve_ivp(lambda t, x: np.concatenate([y.full()[:, 0] for y in rate(x[:5], x[5:])]), (0, 1.5),
                      np.append(first, np.zeros(5)), method="DOP853", rtol=1e-12, atol=1e-12).y[:5, -1]
    found = np.array([sol.position(rod, 1.5)[:2] for rod in rods]).T
    np.testing.assert_allclose(found, places(other).full(), rtol=0, atol=1e-6)


def leg_by_circles(angle):
    """Joints of the Strandbeest's leg at an angle of the crank, by intersections of circles; shape (6, 2)."""
    bars, ground = example("strandbeest").BARS, example("strandbeest").GROUND
    at = {name: np.array(point[:2]) for name, point in ground.items()}
    at["toe"] = at["axle"] + bars["toe-axle"] * np.array([np.cos(angle), np.sin(angle)])

    def meet(a, to_a, b, to_b, side):
        gap = at[b] - at[a]
        length = np.hypot(*gap)
        x = (length**2 + to_a**2 - to_b**2) / (2 * length)
        return at[a] + (x * gap + side * np.sqrt(to_a**2 - x**2) * np.array([-gap[1], gap[0]])) / length

    for name, a, b, side in (("top", "hub", "toe", 1), ("back", "hub", "top", 1), ("low", "hub", "toe", -1),
                             ("heel", "low", "back", 1), ("foot", "low", "heel", 1)):
        at[name] = meet(a, bars[f"{name}-{a}"], b, bars[f"{name}-{b}"], side)
    return np.array([at[name] for name in example("strandbeest").NEAR])


@pytest.mark.long
def test_strandbeest_against_circles_and_quadrature():
    """Places of its joints by circles; when its crank has turned 70 times by the energy of one degree of freedom."""
    module = example("strandbeest")
    sol = module.motion()
    assert np.ptp(sol.energy()) < 1e-12 * abs(sol.energy()[0]) and sol.errors()["configuration"] < 1e-12
    joints, axle = sol.system.bodies, np.array(module.GROUND["axle"][:2])
    arm = sol.position("toe", sol.t)[:, :2] - axle
    angle = np.unwrap(np.arctan2(arm[:, 1], arm[:, 0]))
    assert angle[-1] - angle[0] > 70 * 2 * np.pi
    for n in np.linspace(0, 6000, 25, dtype=int):
        found = np.array([sol.position(joint, sol.t[n])[:2] for joint in joints])
        np.testing.assert_allclose(found, leg_by_circles(angle[n]), rtol=0, atol=1e-11)

    def slowness(a, h=1e-5):
        rates = (leg_by_circles(a + h) - leg_by_circles(a - h)) / (2 * h)
        return np.sqrt(np.sum(rates**2) / 2 / (sol.energy()[0] - 9.81 * leg_by_circles(a)[:, 1].sum()))

    turn = quad(slowness, 0, 2 * np.pi, epsabs=1e-10, epsrel=1e-10, limit=200)[0]
    start = quad(slowness, angle[0], 2 * np.pi, epsabs=1e-10, epsrel=1e-10, limit=200)[0]
    n = np.searchsorted(angle, 70 * 2 * np.pi)
    there = brentq(lambda t: np.arctan2(*(sol.position("toe", t)[:2] - axle)[::-1]), sol.t[n - 1], sol.t[n])
    assert there == pytest.approx(start + 69 * turn, abs=5e-4)


@pytest.mark.long
def test_steel_rod_against_the_series_of_its_modes():
    """Euler and Bernoulli's beam under a load that comes at once; shear and the bend's size are 1e-3 of it."""
    module = example("steel_rod")
    roots = [brentq(lambda x: np.cos(x) + 1 / np.cosh(x), np.pi * (n + 0.3), np.pi * (n + 0.7)) for n in range(8)]
    t, deflection = np.linspace(0, 1, 1001), 0.0
    for n, k in enumerate(roots):
        rate = k**2 * module.RADIUS / 2 * np.sqrt(module.E / module.DENSITY)
        ratio = (np.cosh(k) + np.cos(k)) / (np.sinh(k) + np.sin(k))
        deflection = deflection - 9.81 * 4 * (-1)**n * ratio * (1 - np.cos(rate * t)) / (k * rate**2)
    tip = module.tip()
    assert tip.min() == module.main() == pytest.approx(deflection.min(), rel=5e-3)
    np.testing.assert_allclose(tip[:400], deflection[:400], rtol=0, atol=0.02 * abs(deflection).max())


@pytest.mark.long
def test_tumbling_body_repeats_after_periods_by_elliptic_functions():
    """Euler's equations in closed form (Landau and Lifshitz, Mechanics, section 37), over 150 periods."""
    inertia, omega = np.array([3.0, 6.0, 8.0]), np.array([0.2, 0.3, 1.0])
    (a, b, c), twice, square = inertia, inertia @ omega**2, np.sum((inertia * omega)**2)
    rate = np.sqrt((c - b) * (square - twice * a) / (a * b * c))
    period = 4 * ellipk((b - a) * (twice * c - square) / ((c - b) * (square - twice * a))) / rate
    problem = example("long_runs").body(32_000)
    assert problem.t_span[1] > 150 * period
    sol = tf.solve(problem, tf.MixedGalerkin(3), 32_000)
    np.testing.assert_allclose(sol.angular_velocity("box", 150 * period), [0.3, 1.0, 0.2], rtol=0, atol=1e-7)


def by_hand(sol):
    """Energy at 50 nodes: bodies of 1 kg, with inertias (6, 8, 3) or 1/12 kg m^2."""
    total = 0.0
    for body in sol.system.bodies:
        t = sol.t[::len(sol.t) // 50]
        inertia = (6, 8, 3) if body.name == "box" else (1 / 12, 1 / 12, 1 / 12)
        total += (sol.velocity(body, t)**2).sum(1) / 2 + sol.angular_velocity(body, t)**2 @ inertia / 2
        total += 9.81 * sol.position(body, t)[:, 1] * (body.name != "box")
    return total


@pytest.mark.long
@pytest.mark.parametrize("name", ["body", "chain"])
def test_energy_of_long_runs_by_hand(name):
    sol = tf.solve(getattr(example("long_runs"), name)(20_000), tf.MixedGalerkin(1, keep="all"), 20_000)
    energy = by_hand(sol)
    assert np.ptp(energy) < 1e-11 * abs(energy[0])
    assert np.ptp(sol.position(sol.system.bodies[-1], sol.t), axis=0).max() > 1 or name == "body"


@pytest.mark.slow
def test_long_runs_of_a_million_steps():
    assert example("long_runs").main() < 1e-11


def effort_of_leg(n, degree):
    """By hip and crank alone, the knee by the closed form of the four-bar; Gauss collocation in CasADi, IPOPT."""
    q, v, u = (ca.SX.sym(name, 2) for name in "qvu")
    toe = ca.vertcat(0.1 * ca.cos(q[1]), 0.4 + 0.1 * ca.sin(q[1]))  # from the knee, in axes of the thigh
    bend = ca.acos((ca.sumsqr(toe) + 0.08**2 - 0.4**2) / (0.16 * ca.norm_2(toe)))
    knee = ca.atan2(toe[1], toe[0]) - bend
    centres = [(0, -0.2), (0.05 * ca.cos(q[1]), 0.05 * ca.sin(q[1])), (0.2 * ca.sin(knee), -0.4 - 0.2 * ca.cos(knee))]
    turn = ca.vertcat(ca.horzcat(ca.cos(q[0]), -ca.sin(q[0])), ca.horzcat(ca.sin(q[0]), ca.cos(q[0])))
    kinetic, potential = 0, 0
    masses, inertias = (2.0, 0.2, 1.0), (0.03, 2e-4, 0.015)
    for mass, inertia, centre, angle in zip(masses, inertias, centres, (0, q[1], knee), strict=True):
        place = turn @ ca.vertcat(*centre)
        kinetic += mass / 2 * ca.sumsqr(ca.jtimes(place, q, v)) + inertia / 2 * ca.jtimes(q[0] + angle, q, v)**2
        potential += 9.81 * mass * place[1]
    force = u + ca.gradient(kinetic - potential, q) - ca.jtimes(ca.gradient(kinetic, v), q, v)
    rate = ca.Function("rate", [q, v, u], [ca.vertcat(v, ca.solve(ca.hessian(kinetic, v)[0], force))])
    tau, opti, cost, h = ca.collocation_points(degree, "legendre"), ca.Opti(), 0, 0.3 / n
    slopes, ends, weights = ca.collocation_coeff(tau)
    begin, end = np.array([-0.3, -0.5, 0, 0]), np.array([0.3, 0.3, 0, 0])
    x = opti.variable(4, n + 1)
    opti.subject_to(x[:, 0] == begin)
    opti.subject_to(x[:, n] == end)
    for i in range(n):
        inner, torque = opti.variable(4, degree), opti.variable(2, degree)
        opti.set_initial(x[:, i], begin + (end - begin) * i / n)
        for j in range(degree):
            slope = ca.horzcat(x[:, i], inner) @ slopes[:, j]
            opti.subject_to(slope == h * rate(inner[:2, j], inner[2:, j], torque[:, j]))
            opti.subject_to(opti.bounded(-1, inner[1, j], 0.9))
            opti.set_initial(inner[:, j], begin + (end - begin) * (i + tau[j]) / n)
            cost += h * weights[j] * ca.sumsqr(torque[:, j]) / 2
        opti.subject_to(x[:, i + 1] == ca.horzcat(x[:, i], inner) @ ends)
    opti.minimize(cost)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-10})
    return opti.solve().value(cost)


@pytest.mark.long
def test_effort_of_a_leg_with_a_loop():
    known = effort_of_leg(12, 4)
    assert known == pytest.approx(24.717725, rel=1e-6)
    assert example("four_bar_leg").main() == pytest.approx(known, rel=5e-5)
    assert example("four_bar_leg").main(degree=3) == pytest.approx(known, rel=1e-6)


@pytest.mark.long
def test_backbone_of_duffing():
    """The example compares with complete elliptic integrals itself."""
    assert example("duffing_backbone").main(n_amplitudes=7) < 2e-11
