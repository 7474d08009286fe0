"""Relations between motions of one system told in two ways, which hold whatever the system is.

Each takes a seed, and yields what is compared: a name, two arrays, and a tolerance by the size of the second. Two ways
that are discretized alike agree to Newton's method; two that are not, to the difference of two meshes.
"""

import numpy as np

import timefem as tf

from .draft import CONSERVATIVE, MIRROR, World, built, drawn, joinable, random_turn
from .extras import with_finer_beams

N = 12
SAME = 2e-8  # of the size: Newton's method, through some tens of elements
RELATIONS = {}
UNITS = {"mg, mm, ms": World(mass=1e6, length=1e3, second=1e3),
         "Gg, km, h": World(mass=1e-6, length=1e-3, second=1 / 3600), "g, um": World(mass=1e3, length=1e6)}


def relation(function):
    RELATIONS[function.__name__] = function
    return function


class Fails(Exception):
    """A system that does not march, on which relations say nothing."""


def motion(made, n=N, element=None, **options):
    """Places and rotation matrices of all bodies, and places of what is watched besides, at n + 1 times, seen back from
    the world: (n + 1, n_bodies, 12)."""
    sol = tf.solve(made.problem, element or made.element, n, progress=False, **options)
    if not sol.success:
        raise Fails(sol.status.message)
    return seen(made, sol, n)


def seen(made, sol, n=N):
    """As `motion`; the mesh may have nodes besides, where forces begin or end."""
    world, t = made.world, np.linspace(sol.t[0], sol.t[-1], n + 1)
    back = world.turn.T
    flip = MIRROR if np.linalg.det(world.turn) < 0 else np.eye(3)
    found = []
    for body in made.bodies:
        places = (sol.position(body, t) / world.length - world.shift) @ world.turn
        turned = back @ sol.rotation_matrix(body, t) @ flip
        found.append(np.concatenate([places, turned.reshape(len(t), 9)], axis=1))
    for thing in made.watched:
        places = (sol.position(thing, t) / world.length - world.shift) @ world.turn
        found.append(np.concatenate([places, np.zeros((len(t), 9))], axis=1))
    return np.stack(found, axis=1)


def _mesh_error(made, one, element=None):
    """How far a motion is from that on half of the elements, at most: at its end alone it may be near by chance."""
    return 3 * np.abs(motion(made, N // 2, element) - one[::2]).max() + SAME


@relation
def drivers(seed):
    made = built(drawn(seed))
    one = motion(made)
    for driver in ("windows", "global"):
        yield driver, motion(made, driver=driver), one, SAME


@relation
def worlds(seed):
    """Turned, mirrored, in mm and g, elsewhere, at another time."""
    draft, rng = drawn(seed), np.random.default_rng(seed + 1)
    for rotation in ("quaternion", "directors"):
        one = motion(built(draft, rotation=rotation))
        turn = random_turn(rng)
        for name, world in (("turned", World(turn=turn)), ("mirrored", World(turn=turn @ MIRROR)),
                            ("mm, g", World(length=1e3, mass=1e3)), ("later", World(time=100.0))):
            yield f"{name}, {rotation}", motion(built(draft, world, rotation=rotation)), one, 10 * SAME
        for name, world in UNITS.items():
            yield f"{name}, {rotation}", motion(built(draft, world, rotation=rotation)), one, 1e-9


@relation
def elsewhere(seed):
    """Shifted by a few metres."""
    draft, shift = drawn(seed), np.array([3.0, -2.0, 5.0])
    yield "shifted", motion(built(draft, World(shift=shift))), motion(built(draft)), 10 * SAME


@relation
def coordinates(seed):
    draft = drawn(seed)
    made = built(draft)
    one = motion(made)
    tolerance = _mesh_error(made, one)
    other, finer = motion(built(draft, rotation="directors"))[-1], with_finer_beams(draft)
    apart = 0.0
    if finer:  # between nodes of beams directors and quaternions are interpolated
        ways = ((one[-1], "quaternion"), (other, "directors"))
        apart = sum(np.abs(value - motion(built(finer, rotation=rotation))[-1]).max() for value, rotation in ways)
    yield "directors", other, one[-1], tolerance + 1.5 * apart
    if joinable(draft):
        joined = built(draft, coordinates="joint")
        yield "joint coordinates", motion(joined)[-1], one[-1], tolerance
    k = made.element.degree
    other = tf.MixedGalerkin(k) if made.element.lifted else tf.MixedGalerkin(k, keep="all")
    found = motion(made, element=other)
    yield "other gradients", found[-1], one[-1], tolerance + _mesh_error(made, found, other)


@relation
def order_and_names(seed):
    draft, rng = drawn(seed), np.random.default_rng(seed + 2)
    yield "order", motion(built(draft, order=rng.permutation, names="z{}")), motion(built(draft)), SAME


@relation
def stranger(seed):
    """A body that nothing joins to the others."""
    def more(bodies, state):
        other = tf.RigidBody(2.0, (0.3, 0.4, 0.5), name="stranger")
        return [other], {other: tf.Pose((50, 0, 0), velocity=(0, 1, 0), angular_velocity=(1, 2, 0))}

    draft = drawn(seed)
    yield "stranger", motion(built(draft, more=more)), motion(built(draft)), SAME


@relation
def halves(seed):
    """A motion in two halves, the second from the end of the first; in directors constraints hold there, but for those
    of gears, which are no polynomials, and of rolling, which elements hold on average: starts are refused by name."""
    made = built(drawn(seed), rotation="directors")
    if made.problem.system.n_nonholonomic or any(extra["kind"] == "motor" for extra in made.draft["extras"]):
        return
    first = tf.solve(tf.InitialValueProblem(made.problem.system, made.problem.z0, (0, 0.125)), made.element, N // 2,
                     progress=False)
    second = tf.solve(tf.InitialValueProblem(made.problem.system, first.z[-1], (0.125, 0.25)), made.element, N // 2,
                      progress=False)
    if not (first.success and second.success):
        raise Fails(f"{first.status.message}, {second.status.message}")
    whole = tf.solve(made.problem, made.element, mesh=np.append(first.t, second.t[1:]), progress=False)
    yield "halves", seen(made, second, N // 2)[-1], seen(made, whole)[-1], SAME


@relation
def back_again(seed):
    """Conservative systems: from the end with momenta turned round the motion goes back to its start, by the same
    elements: where Newton's method fails they are halved."""
    made = built(drawn(seed, conservative=True), rotation="directors")
    system = made.problem.system
    end = tf.solve(made.problem, made.element, N, progress=False)
    if not end.success:
        raise Fails(end.status.message)
    z = end.z[-1].copy()
    z[system.n_q:] *= -1
    back = tf.solve(tf.InitialValueProblem(system, z, (0, 0.25)), made.element, mesh=0.25 - end.t[::-1], progress=False)
    yield "reversed", seen(made, back)[-1], seen(made, end)[0], SAME
    assert {force["kind"] for force in made.draft["forces"]} <= set(CONSERVATIVE)


@relation
def saved(seed, folder):
    made = built(drawn(seed))
    sol = tf.solve(made.problem, made.element, N, progress=False)
    if not sol.success:
        raise Fails(sol.status.message)
    sol.save(folder / f"{seed}.h5")
    again = tf.load(folder / f"{seed}.h5")
    yield "loaded", again.z, sol.z, 0.0
    anew = tf.solve(tf.InitialValueProblem(again.system, again.z[0], (0, 0.25)), made.element, N, progress=False)
    yield "solved again", anew.z, sol.z, SAME


@relation
def prepared(seed):
    """Another mass, in a prepared solver, in an ensemble, and in a new system."""
    draft = drawn(seed)
    changed = {**draft, "bodies": [{**b, "mass": b["mass"] * (1.3 if i == 0 else 1)} for i, b in
                                   enumerate(draft["bodies"])]}
    made, new = built(draft), built(changed)
    solver, mass = tf.prepare(made.problem, made.element, N, progress=False), changed["bodies"][0]["mass"]
    fresh = tf.solve(new.problem, made.element, N, progress=False)
    if not fresh.success:
        raise Fails(fresh.status.message)
    start = {body: pose for body, pose in zip(made.bodies, _poses(changed), strict=True)}
    yield "prepared", solver.solve(start=start, parameters={"b0.mass": mass}).z, fresh.z, SAME
    many = solver.solve_many([start, start], {"b0.mass": [mass, mass]}, n_workers=1, progress=False)
    yield "ensemble", many.z[1][-1], fresh.z[-1], SAME


def _poses(draft):
    return [tf.Pose(b["place"], b["turn"], b["velocity"], b["spin"], frame="space") for b in draft["bodies"]]


@relation
def split(seed):
    """The last body as two of half its mass and inertia in one place, welded."""
    draft = drawn(seed)
    made = built(draft)
    one = motion(made)
    last = draft["bodies"][-1]
    half = {**last, "mass": last["mass"] / 2, "inertia": np.array(last["inertia"]) / 2}
    n = len(draft["bodies"])
    weld = {"kind": "weld", "a": n, "b": n - 1, "point": last["place"], "axis": np.eye(3)}
    two = {**draft, "bodies": [*draft["bodies"][:-1], half, half], "joints": [*draft["joints"], weld]}
    yield "split", np.delete(motion(built(two))[-1], n, axis=0), one[-1], _mesh_error(made, one)


@relation
def derivatives(seed):
    """The gradient of a place at the end by a mass and by an initial velocity, against differences."""
    draft = drawn(seed)
    end = tf.EndValue(lambda bodies, t: bodies[0].position[0] + bodies[0].rotation[1, 0], bodies=["b0"])

    def at(step):
        bodies = [{**b, "mass": b["mass"] + step * (i == 0)} for i, b in enumerate(draft["bodies"])]
        made = built({**draft, "bodies": bodies})
        q = motion(made, newton=tf.Newton(tol_residual=1e-13))[-1, 0]
        return q[0] + q[3 + 3]

    made = built(draft)
    sol = tf.solve(made.problem, made.element, N, progress=False)
    if not sol.success:
        raise Fails(sol.status.message)
    step = 1e-4
    found = tf.gradient(sol, end, [tf.Parameter(made.bodies[0], "mass")])
    difference = (at(step) - at(-step)) / (2 * step)
    yield "by mass", np.array(found).ravel(), np.array([difference]), 1e-6 + 1e-6 / max(abs(difference), 1e-3)
