"""Costs with kinks are reported, with what to write instead; algebraic controls that costs alone see are solved."""

import re
import warnings

import pytest

import timefem as tf


def slider(cost, further=(), **options):
    """A point moves by 1 m in 2 s, from rest to rest, by 2 N at most."""
    body = tf.PointMass(1.0, dimension=2, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose((0, 0, 0))},
                             {body: tf.EndState(position=[1, None, None], velocity=[0, None, None])}, (0, 2), cost,
                             actuators=[push, *further], bounds={push: (-2, 2)}, **options)


POWER = "u[0] * now.velocity('body')[0]"


@pytest.mark.parametrize("cost, message", [
    ("abs(u)", r"abs\(u\[0\]\) has a kink .* above it: .*now.control\('s'\) - u\[0\].*now.control\('s'\) \+ u\[0\]"),
    (f"abs({POWER})", r"abs\(u\[0\] \* now.rates\('body'\)\[0\]\) has a kink"),
    ("2 * max(u[0], 0)", r"max\(u\[0\], 0.0\) has a kink .* above it"),
    ("-min(u[0], 0.5)", r"min\(u\[0\], 0.5\) has a kink .* below it: .*None, 0\)"),
    ("u[0]**2 + sign(u[0])", r"sign\(u\[0\]\) jumps .*tanh")])
def test_kinks_are_told_at_once(cost, message):
    with pytest.warns(tf.NotDifferentiable, match=message):
        slider(cost)


@pytest.mark.parametrize("cost", ["abs(u[0])**3", "abs(u[0])**2", "u[0]**2 + abs(now.velocity('body')[0])"])
def test_what_is_smooth_by_controls_is_not(cost):
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.NotDifferentiable)
        slider(cost)


@pytest.mark.parametrize("of, expected", [("u[0]", 4 * (1 - 0.5**0.5)), (POWER, 4 * (1 - 0.5**0.5)**2)])
def test_what_is_told_to_write_is_solved(of, expected):
    """Twice full thrust for 1 - sqrt(1/2) s, which makes the kinetic energy and takes it away."""
    s = tf.Control(name="s")
    limit = tf.Limit([f"now.control('s') - ({of})", f"now.control('s') + ({of})"], 0)
    sol = tf.solve(slider("now.control('s')", [s], limits=limit), tf.MixedGalerkin(2), 80, progress=False)
    assert sol.success and sol.objective == pytest.approx(expected, rel=1e-3)
    assert sol.statistics["newton_iterations"]["max"] < 40


@pytest.mark.parametrize("cost", ["u[0]**2 / 2 + (u[1] - 1)**2", "u[0]**2 / 2 + now.control('s')**2"])
def test_an_algebraic_control_that_the_cost_alone_sees(cost):
    """The motion takes 12 / 2^3 / 2, and the control what is least."""
    sol = tf.solve(slider(cost, [tf.Control(name="s")]), tf.MixedGalerkin(2), 10, progress=False)
    assert sol.success and sol.objective == pytest.approx(0.75, rel=1e-9)


def test_one_that_nothing_sees_is_refused():
    with pytest.raises(tf.InputError, match="no cost depends on the controls of s"):
        slider("u[0]**2", [tf.Control(name="s")])


@pytest.mark.parametrize("cost, jumps", [
    ("u[0]**2 + if_else(now.position('body')[0] > 0.45, 30, 0)", 30),
    ("u[0]**2 * if_else(now.q('body')[0] > 0.3, 3, 1)", 0.08),
    ("u[0]**2 + if_else(now.position('body')[0] > 0.45, (now.position('body')[0] - 0.45)**2, 0)", 0),
    ("u[0]**2 + if_else(now.t > 0.7, 1, 0)", 0), ("u[0]**2 + abs(now.position('body')[0] - 0.5)", 0)])
def test_costs_that_jump_along_the_motion_are_told(cost, jumps):
    """Where to pass is worth something that no derivative tells: of the first the least is 0.7 lower."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert tf.solve(slider(cost), tf.MixedGalerkin(2), 20, progress=False).success
    told = [str(w.message) for w in found if issubclass(w.category, tf.NotDifferentiable)]
    assert len(told) == bool(jumps)
    if jumps:
        assert "a cost jumps by" in told[0] and "Phases" in told[0]
        assert float(told[0].split("jumps by ")[1].split()[0]) >= jumps


def lander(free=True, root="sqrt(u[0]**2 + u[1]**2 + 1e-6)"):
    """On a moon from (5, 10) m, thrust 3 N at most in any direction."""
    body = tf.PointMass(1.0, dimension=2, name="lander")
    engine = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)], name="engine")
    return tf.OptimalControl(
        tf.System([body, engine], gravity=(0, -1.5, 0)), {body: tf.Pose((5, 10, 0), velocity=(-1, -2, 0))},
        {body: tf.Pose()}, (0, 6), root, free_time=free, bounds={"duration": (1, 10)} if free else None,
        limits=tf.Limit("u[0]**2 + u[1]**2", None, 9))


SMOOTHED = {  # by IPOPT from the same start: iterations and cost, on 40 elements
    "thrust": (lander, 488, 8.9185812), "thrust for a given time": (lambda: lander(False), 136, 11.0738203),
    "force": (lambda: slider("sqrt(u[0]**2 + 1e-6)"), 214, 1.1732142),
    "power": (lambda: slider(f"sqrt(({POWER})**2 + 1e-6)"), 91, 0.3445731)}


@pytest.mark.long
@pytest.mark.parametrize("name", SMOOTHED)
def test_smoothed_kinks_take_few_iterations(name):
    """Beside a smoothed kink Newton's steps lead far across it: the first two did not converge in 1000 iterations."""
    make, iterations, cost = SMOOTHED[name]
    sol = tf.solve(make(), tf.MixedGalerkin(2), 40, progress=False)
    assert sol.success and sol.objective == pytest.approx(cost, rel=1e-6)
    assert sol.statistics["newton_iterations"]["max"] <= 1.5 * iterations
    names = [attempt.name for attempt in sol.attempts]
    assert names == ["first guess", "roots by controls", "from roots by controls"][:len(names)]
    assert "thrust" not in name or len(names) == 3
    assert sol.controls(0.1).shape[-1] == sol.system["engine" if "thrust" in name else "push"].n_controls


@pytest.mark.parametrize("cost", ["sqrt(1 + u[0]**2)", "u[0]**2 + sqrt(now.t + 1e-6)", "-sqrt(u[0]**2 + 1e-6)"])
def test_other_roots_stay(cost):
    sol = tf.solve(slider(cost), tf.MixedGalerkin(2), 8, strategies=[], progress=False)
    assert not any("roots" in attempt.name for attempt in sol.attempts)


def against(force, **options):
    body = tf.PointMass(1.0, 1, name="body")
    drag, push = tf.FormulaForce(body, force, name="drag"), tf.ControlForce(body, [(1, 0, 0)], name="push")
    return tf.OptimalControl(tf.System([body, drag, push]), {body: tf.Pose()},
                             {body: tf.EndState((1, 0, 0), velocity=(0, 0, 0))}, (0, 2), tf.Effort(push), **options)


@pytest.mark.parametrize("force, jumps", [
    ("if_else(f[0].position[0] > 0.3, -1, 0.5)", 1.5), ("if_else(f[0].velocity[0] > 0.4, -1, 0)", 1),
    ("-2 * f[0].velocity[0] * if_else(f[0].position[0] > 0.5, 1, 0)", 1.5),
    ("-9 * max(f[0].position[0] - 0.3, 0)**2", 0), ("-abs(f[0].position[0] - 0.5)", 0), ("sign(f[0].velocity[0])", 0),
    ("if_else(t > 0.7, -1, 0)", 0)])
@pytest.mark.parametrize("options", [{}, {"free_time": True, "bounds": {"duration": (1.9, 2)}}])
def test_forces_that_jump_along_the_motion_are_told(force, jumps, options):
    """The first costs 0.342 by a solve, and 0.306 by a steep smooth step: the costates jump where the motion passes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert tf.solve(against(f"[{force}, 0, 0]", **options), tf.MixedGalerkin(2), 40, progress=False).success
    told = [str(w.message) for w in found if issubclass(w.category, tf.NotDifferentiable)]
    assert len(told) == bool(jumps)
    if jumps:
        assert "the force of drag jumps by" in told[0]
        assert float(told[0].split("jumps by ")[1].split()[0]) >= jumps


@pytest.mark.parametrize("force, message", [
    ("sign(f[0].velocity[0] - 0.5)", "jumps by 2"), ("if_else(f[0].velocity[0] > 0.4, -3, 0)", "jumps by 3"),
    ("-20 * abs(f[0].velocity[0] - 0.5)", "has a kink"), ("-60 * max(f[0].velocity[0] - 0.55, 0)", "has a kink")])
@pytest.mark.parametrize("bound", [None, 30])
def test_failures_name_what_is_not_smooth(force, message, bound):
    """Part, time and remedy; of a force that is smooth a failure says nothing of the kind."""
    options = {"bounds": {"push": (-bound, bound)}} if bound else {}
    sol = tf.solve(against(f"[{force}, 0, 0]", **options), tf.MixedGalerkin(2), 30, progress=False,
                   newton=tf.Newton(max_iterations=100))
    assert not sol.success
    told = re.search(rf"; the force of drag {message}.* at t = ([\d.e-]+), .*\(Phases\), or take a smooth",
                     sol.status.message)
    assert told and 0 < float(told[1]) < 2
    smooth = tf.solve(against("[-3 * f[0].velocity[0]**2, 0, 0]", **options), tf.MixedGalerkin(2), 30, progress=False,
                      newton=tf.Newton(max_iterations=1))
    assert not smooth.success and "smooth" not in smooth.status.message
