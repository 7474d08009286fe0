"""Numbers of ropes, chains and beams, and of plates in directors, as unknown numbers."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

NUMBERS = "EA", "GA[0]", "GA[1]", "GJ", "EI[0]", "EI[1]", "mass", "inertia[0]", "inertia[1]", "inertia[2]"


def rope(x, free):
    """Pulled at one end, tied to a place by a spring at the other one."""
    line = tf.Rope(1.0, tf.RopeSection(20.0 if free else x, 0.5), 3, dimension=2, name="rope")
    pull = tf.ControlForce(line.end, [(1, 0, 0), (0, 1, 0)], name="pull")
    tied = tf.Spring(line.start, None, stiffness=300.0, length=0.0)
    own = {"parameters": {"x": (line, "section.EA")}, "bounds": {"x": (2, 200)}} if free else {}
    return tf.OptimalControl(
        tf.System([line, pull, tied]), {}, {line.end: tf.EndState(position=(1.2, 0.3, None), velocity=(0, 0, None))},
        (0, 1), tf.Effort(pull),
        end_cost=lambda end, parameters: 0.02 * ((parameters["x"] if free else x) - 18)**2, **own)


def chain(x, free):
    """Moved at both ends; the mass and the stiffness of the chain follow from one number, by names in text."""
    row = tf.MassSpringChain(4, *(1.0, 50.0) if free else (0.5 + x / 100, x), (1, 0, 0), length=0.3, name="chain")
    ends = row.nodes[0], row.nodes[-1]
    pulls = [tf.ControlForce(node, [(1, 0, 0), (0, 1, 0)]) for node in ends]
    own = {"parameters": {"x": 50.0}, "bounds": {"x": (10, 500)}, "follows": {
        "chain.stiffness": "parameters['x']", "chain.mass": "0.5 + parameters['x'] / 100"}} if free else {}
    targets = {node: tf.EndState(position=place, velocity=(0, 0, 0))
               for node, place in zip(ends, ((0, 0, 0), (1.5, 0.3, 0)), strict=True)}
    return tf.OptimalControl(tf.System([row, *pulls]), {}, targets, (0, 1), [tf.Effort(pull) for pull in pulls],
                             end_cost=lambda end, parameters: (lambda x: 0.02 * x + 20 / x)(
                                 parameters["x"] if free else x), **own)


def beam(x, free):
    """A cantilever whose tip is pushed; all numbers of the section follow from the radius."""
    def section(radius):
        return tf.Section.circle(1e8, 0.3, 1000.0, radius)

    rod = tf.Beam(1.0, section(0.03 if free else x), 1, 1, name="rod")
    push = tf.ControlForce(rod.end, [(0, 0, 1)], name="push")
    clamp = tf.Weld(rod.start, None, point_a=(0, 0, 0), point_b=(0, 0, 0))
    own, unit = {}, section(1.0)
    if free:
        known = dict(zip(NUMBERS, [unit.EA, *unit.GA, unit.GJ, *unit.EI, unit.mass, *unit.inertia], strict=True))
        own = {"parameters": {"r": 0.03}, "bounds": {"r": (0.01, 0.1)}, "follows": {
            (rod, f"section.{name}"): f"{value} * parameters['r']**{2 if name[:2] in ('EA', 'GA', 'ma') else 4}"
            for name, value in known.items()}}
    return tf.OptimalControl(
        tf.System([rod, push, clamp]), {}, {rod.end: tf.EndState(position=(None, None, 0.1))}, (0, 0.3),
        tf.Effort(push), end_cost=lambda end, parameters: 1e6 * ((parameters["r"] if free else x) - 0.035)**2, **own)


def plate(x, free):
    """A plate without thickness in directors, which moves at the start; its inertia goes with its mass."""
    share = 0.1, 0.15, 0.25
    body = tf.RigidBody(x, tuple(s * x for s in share), "directors", name="plate")
    drives = [tf.ControlTorque(body, np.eye(3)), tf.ControlForce(body, np.eye(3))]
    own = {"parameters": {"m": 1.0}, "bounds": {"m": (0.3, 9)}, "follows": {
        (body, "mass"): "parameters['m']",
        **{(body, f"inertia[{i}]"): f"{s} * parameters['m']" for i, s in enumerate(share)}}} if free else {}
    turned = np.cos(0.5), 0.6 * np.sin(0.5), 0.8 * np.sin(0.5), 0
    return tf.OptimalControl(
        tf.System([body, *drives], gravity=(0, 0, -9.81)),
        {body: tf.Pose(velocity=(1, 0, 0), angular_velocity=(0.2, 0, 0.3))},
        {body: tf.EndState((1, 0, 0), turned, (0, 0, 0), (0, 0, 0))}, (0, 1), [tf.Effort(drive) for drive in drives],
        end_cost=lambda end, parameters: 60 / (parameters["m"] if free else x), **own)


@pytest.mark.parametrize("make, guess, element, n", [
    (rope, 20.0, tf.MixedGalerkin(2), 5), (chain, 50.0, tf.MixedGalerkin(2), 8), (beam, 0.03, tf.MixedGalerkin(1), 5),
    (plate, 1.0, tf.MixedGalerkin(2, form="energy"), 6), (plate, 1.0, tf.EML(), 6)])
def test_the_best_number(make, guess, element, n):
    """Systems with a known number cost the same, the least where it is found; IPOPT agrees."""
    sol = tf.solve(make(guess, True), element, n, progress=False)
    assert sol.success
    other = tf.solve(make(guess, True), element, n, method="ipopt", guess=sol, progress=False)
    found, = sol.parameters.values()
    assert [*other.parameters.values()] == pytest.approx([found], rel=1e-6)

    def cost(x):
        return tf.solve(make(x, False), element, n, guess=sol, progress=False).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    step = 1e-3
    slopes = [(cost(x * (1 + step)) - cost(x * (1 - step))) / (2 * step * sol.objective) for x in (found, 1.1 * found)]
    assert abs(slopes[0]) < 1e-4 < 1e-2 < abs(slopes[1])


def test_numbers_of_the_solution_and_what_is_refused():
    problem = chain(50.0, True)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    whole, = sol.system.composites
    assert whole.stiffness == pytest.approx(sol.parameters["x"]) == pytest.approx(100 * (whole.mass - 0.5))
    row = tf.MassSpringChain(4, 1.0, 50.0, (1, 0, 0), name="chain")
    pull = tf.ControlForce(row.nodes[0], [(1, 0, 0)])
    for entry, words in (((row, "damping"), "damping shapes the formulas where it is 0; start from another value"),
                         ((row, "n"), "n shapes the formulas"), ((row.nodes[0], "mass"), "made together")):
        with pytest.raises(tf.InputError, match=words):
            tf.OptimalControl(tf.System([row, pull]), {}, {}, (0, 1), tf.Effort(pull), parameters={"x": entry})
