"""Relations of what is computed besides motions, and of other kinds of problems: see `relations`."""

import pickle
import warnings

import numpy as np

import timefem as tf

from .draft import MIRROR, World, built, drawn, joinable, random_turn
from .extras import with_finer_beams
from .others import those
from .relations import SAME, UNITS, Fails, N, _mesh_error, motion, relation, seen

OWN_STATES = ("motor", "activation", "beam", *those("own", "given"))
KINKS = ("penalty plane", "penalty spheres", "slack rope", "end stop", "vanishing", *those("kinks"))


def solved(made, n=N, element=None, **options):
    sol = tf.solve(made.problem, element or made.element, n, progress=False, **options)
    if not sol.success:
        raise Fails(sol.status.message)
    return sol


def leaving(draft, kinds):
    return draft | {"extras": [extra for extra in draft["extras"] if extra["kind"] not in kinds]}


def some_worlds(seed):
    rng = np.random.default_rng(seed + 1)
    turn = random_turn(rng)
    return {"turned": World(turn=turn), "mirrored": World(turn=turn @ MIRROR), "mm, g": World(length=1e3, mass=1e3),
            "later": World(time=100.0), "km": World(length=1e-3), **UNITS}.items()


def quantities(made, sol):
    """Energy, momenta, velocities, and what joints do and carry, at N + 1 times, seen back from the world."""
    world, draft, t = made.world, made.draft, np.linspace(sol.t[0], sol.t[-1], N + 1)
    back, sign = world.turn.T, np.linalg.det(world.turn)
    force, speed = world.force, world.length / world.second
    found = {"energy": sol.energy(t) / world.energy}
    if all(hasattr(body, "linear_momentum") for body in made.problem.system.bodies):  # not of formulas
        found["momentum"] = sol.linear_momentum(t) @ back.T / (world.mass * speed)
    for i, body in enumerate(made.bodies):
        found[f"velocity {i}"] = sol.velocity(body, t) @ back.T / speed
        found[f"spin {i}"] = sign * sol.angular_velocity(body, t, frame="space") @ back.T * world.second
    for i, thing in enumerate(made.watched):
        found[f"velocity of watched {i}"] = sol.velocity(thing, t) @ back.T / speed
    for i, joint in enumerate(draft["joints"]):
        if joint["kind"] == "weld":  # is none in joint coordinates
            continue
        moving = sol.joint(f"j{i}")
        found[f"force {i}"] = moving.force(t) @ back.T / force
        found[f"torque {i}"] = sign * moving.torque(t) @ back.T / world.energy
        if joint["kind"] in ("revolute", "prismatic"):
            unit = world.length if joint["kind"] == "prismatic" else 1.0
            found[f"coordinate {i}"] = moving.coordinate(t) / unit
            found[f"rate {i}"] = moving.rate(t) / unit * world.second
    return found


@relation
def quantities_in_worlds(seed):
    draft = drawn(seed)
    made = built(draft)
    one = quantities(made, solved(made))
    for world_name, world in some_worlds(seed):
        other = built(draft, world)
        for name, value in quantities(other, solved(other)).items():
            scale = max(1.0, np.abs(one[name]).max())
            yield f"{name}, {world_name}", value / scale, one[name] / scale, 1e3 * SAME


@relation
def quantities_in_coordinates(seed):
    """By the difference of two meshes; forces of joints at the ends of elements are those of the states there.

    Energies count from the start: bodies welded to space are no bodies in joint coordinates, and their weight, which
    moves nothing, has no potential there.
    """
    draft = drawn(seed)
    one, fine = _with_error(built(draft))
    finer = with_finer_beams(draft)
    others = [("directors", built(draft, rotation="directors"))]
    if joinable(draft):
        others.append(("joint coordinates", built(draft, coordinates="joint")))
    for way, other in others:
        found, error = _with_error(other)
        if finer and way == "directors":  # which are interpolated between nodes of beams, as quaternions are
            for value, rotation in ((one, "quaternion"), (found, "directors")):
                made = built(finer, rotation=rotation)
                for name, better in quantities(made, solved(made, 4 * N)).items():
                    error[name] += 1.5 * np.abs(better - value[name]).max()
        found["energy"] = found["energy"] - found["energy"][0] + one["energy"][0]
        for name, value in found.items():
            size = max(1.0, np.abs(one[name]).max())
            yield f"{name}, {way}", value / size, one[name] / size, (fine[name] + error[name] + 1e-5 * size) / max(
                np.abs(one[name]).max(), 1e-3)


def _with_error(made):
    """Quantities, and twice the largest differences from those of half of the elements."""
    one, half = quantities(made, solved(made, 4 * N)), quantities(made, solved(made, 2 * N))
    return one, {name: 2 * np.abs(half[name] - value).max() for name, value in one.items()}


@relation
def pickled(seed):
    made = built(drawn(seed))
    one = solved(made)
    problem = pickle.loads(pickle.dumps(made.problem))
    yield "problem", tf.solve(problem, made.element, N, progress=False).z, one.z, SAME
    solver = pickle.loads(pickle.dumps(tf.prepare(made.problem, made.element, N, progress=False)))
    yield "prepared", solver.solve().z, one.z, SAME


def _holding(made):
    """Its element, with as many points as hold constraints at nodes: with fewer they drift by order 2 k, and poses
    there are none that a mechanism can have at an end."""
    element = made.element
    return element if element.n_points == 2 * element.degree else tf.MixedGalerkin(element.degree)


@relation
def boundary(seed):
    """The motion between the poses at both ends of a march is that march, on its nodes, as it halves elements where
    Newton's method fails; there are others, from other guesses."""
    made = built(leaving(drawn(seed), OWN_STATES), rotation="directors")
    sol = solved(made, element=_holding(made))
    ends = [{body: tf.Pose(sol.position(body, t), sol.rotation_matrix(body, t)) for body in made.bodies}
            for t in (0.0, sol.t[-1])]
    problem = tf.BoundaryValueProblem(made.problem.system, (0, 0.25), *ends)
    found = tf.solve(problem, _holding(made), mesh=sol.t, guess=sol, progress=False)
    if not found.success:
        raise Fails(f"boundary values: {found.status.message}")
    yield "boundary", seen(made, found), seen(made, sol), 100 * SAME


@relation
def boundary_in_units(seed):
    """From the guess that a problem makes itself, or from the march where that leads nowhere."""
    draft, found = leaving(drawn(seed), OWN_STATES), []
    for guessed in (False, True):
        for world in (World(), *UNITS.values()):
            made = built(draft, world, rotation="directors" if seed % 2 else "quaternion")
            sol, span = solved(made, element=_holding(made)), made.problem.t_span
            ends = [{body: tf.Pose(sol.position(body, t), sol.rotation_matrix(body, t)) for body in made.bodies}
                    for t in span]
            again = tf.solve(tf.BoundaryValueProblem(made.problem.system, span, *ends), _holding(made), N,
                             guess=sol if guessed else None, progress=False)
            found.append(seen(made, again) if again.success else np.zeros(0))
        if len(found[0]) or guessed:
            break
        found = []
    for name, motion_there in zip(UNITS, found[1:], strict=True):
        yield name, motion_there, found[0], 1e-9


@relation
def inverse_in_units(seed):
    """Forces that keep the middle of the first body on a parabola, and the motion of all."""
    draft, found = free_first(leaving(drawn(seed), (*OWN_STATES, *KINKS, "on a curve"))), []
    body = draft["bodies"][0]
    along = body["place"], body["velocity"], np.random.default_rng(seed + 2).normal(0, 3, 3)
    for world in (World(), *UNITS.values()):
        push = tf.ControlForce((made := built(draft, world)).bodies[0], name="push")
        outputs = {tf.PositionOutput(made.bodies[0], axis): tf.Polynomial(
            [x * world.length / world.second**i for i, x in enumerate(row)], world.time)
            for axis, row in zip(np.eye(3), np.transpose(along), strict=True)}
        problem = tf.InverseDynamics(made.problem.system, outputs, made.problem.z0, t_span=made.problem.t_span,
                                     actuators=push)
        sol = tf.solve(problem, tf.MixedGalerkin(2), N, progress=False)
        if not (sol.success or found):
            return  # modes of the internal dynamics grow, and their end is not given
        if not sol.success:
            raise Fails(f"inverse dynamics: {sol.status.message}")
        t = np.linspace(*problem.t_span, N + 1)
        found.append((seen(made, sol), sol.controls(t, "push") / world.force))
    for name, (places_there, forces) in zip(UNITS, found[1:], strict=True):
        yield f"motion, {name}", places_there, found[0][0], 1e-9
        yield f"forces, {name}", forces, found[0][1], 1e-9


def free_first(draft):
    """Without the joint of body 0 to space, which controls of that body would push against."""
    if not (draft["joints"] and draft["joints"][0]["a"] == 0):
        return draft
    return draft | {"joints": draft["joints"][1:], "forces": [f for f in draft["forces"] if "joint" not in f],
                    "extras": [e for e in draft["extras"] if "joint" not in e]}


def enough(draft):
    """A time span, of 0.25 s and a quarter of that, in which five elements resolve the motion of itself, and twice as
    many hardly change it; or None."""
    for t_end in 0.25, 0.0625:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = built(draft, t_end=t_end)
            one, finer = (seen(made, solved(made, k, tf.MixedGalerkin(2)), 5) for k in (5, 10))
        close = np.abs(one - finer).max() <= 1e-2 * np.abs(finer).max()
        if close and not any(issubclass(warning.category, tf.UnderResolved) for warning in told):
            return t_end
    return None


ITERATIONS = 300  # of one solve; those that find a minimum take 5 to 50


def steered(draft, world, t_end, n=5, guess=None, **options):
    """Least effort of a force and a torque on the first body to bring a point near a target, and its solution on n
    elements, from the motion under the controls of a solution `guess`."""
    body, unit, share = draft["bodies"][0], world.length, t_end / 0.25
    made = built(draft, world, t_end=t_end, **options)
    target = world.place(body["place"] + body["velocity"] * t_end + share**2 * np.array([0.1, 0.05, -0.1]))
    arm = world.matrix(body["turn"]).T @ world.vector([0.2, 0.1, -0.1]) * unit
    push = tf.ControlForce(made.bodies[0], name="push")
    turn = tf.ControlTorque(made.bodies[0], name="turn")
    name = made.bodies[0].name

    def miss(end, parameters):
        off = end.position(name) + end.rotation_matrix(name) @ arm - target
        return 50 / share**3 * off.T @ off / unit**2

    problem = tf.OptimalControl(made.problem.system, made.problem.z0, t_span=made.problem.t_span,
                                cost=[tf.Effort(push, 1 / world.force**2 / world.second),
                                      tf.Effort(turn, 1 / world.energy**2 / world.second)],
                                actuators=[push, turn], end_cost=miss)
    begin = guess and tf.Guess(controls={name: lambda t, name=name: guess.controls(t, name)
                                         for name in ("push", "turn")}, rollout=True)
    found = tf.solve(problem, tf.MixedGalerkin(2), n, guess=begin, progress=False,
                     newton=tf.Newton(max_iterations=ITERATIONS))
    if not found.success:
        raise Fails(f"optimum: {found.status.message}")
    return made, found


def _as_joined(draft, one, t_end):
    """Objectives in bodies and in joint coordinates, and by how much both differ on twice the elements; of the same
    one of several minima."""
    _, joined = steered(draft, World(), t_end, coordinates="joint")
    if joined.objective > one.objective:
        _, joined = steered(draft, World(), t_end, guess=one, coordinates="joint")
    else:
        _, one = steered(draft, World(), t_end, guess=joined)
    errors = [abs(sol.objective - steered(draft, World(), t_end, 10, sol, **way)[1].objective)
              for sol, way in ((one, {}), (joined, {"coordinates": "joint"}))]
    return joined.objective, one.objective, 2 * sum(errors) + 1e-7 * abs(one.objective)


@relation
def optimum(seed):
    """In two of the worlds, one by one with the seed, in another order, and in joint coordinates."""
    draft, rng = free_first(leaving(drawn(seed), ("motor", *KINKS))), np.random.default_rng(seed + 2)
    t_end = enough(draft)
    if t_end is None:
        return
    made, one = steered(draft, World(), t_end)
    worlds = [("turned", World(random_turn(rng), length=1e3, mass=1e-3)), ("mirrored", World(MIRROR)), *UNITS.items()]
    for name, world in (worlds[seed % 5], worlds[(seed + 2) % 5]):
        other, found = steered(draft, world, t_end)
        yield f"objective, {name}", found.objective, one.objective, 1e-7
        yield f"motion, {name}", seen(other, found), seen(made, one), 1e-5
    other, found = steered(draft, World(), t_end, order=rng.permutation, names="z{}")
    yield "objective, order", found.objective, one.objective, 1e-7
    if joinable(draft):
        joined, itself, error = _as_joined(draft, one, t_end)
        yield "objective, joint coordinates", joined, itself, error / max(abs(itself), 1e-3)


SCHEMES = {"energy form": lambda: tf.MixedGalerkin(2, form="energy"),
           "impulse form": lambda: tf.MixedGalerkin(2, form="impulse"),
           "BG": lambda: tf.BubnovGalerkin(2, drop="end"), "BG impulse": lambda: tf.BubnovGalerkin(3, form="impulse"),
           "EML": tf.EML, "REML": tf.REML, "EMH": tf.EMH, "Null-EML": tf.NullEML, "MPL": tf.MPL, "QuatVI": tf.QuatVI}


@relation
def schemes(seed):
    """Other elements and schemes, each to the difference of two meshes."""
    draft = drawn(seed)
    made = built(draft)
    one = motion(made, 4 * N)[-1]
    error = np.abs(one - motion(made, 2 * N)[-1]).max()
    names = sorted(SCHEMES)
    for name in (names[seed % len(names)], names[(seed // 7) % len(names)]):
        element = SCHEMES[name]()
        if name == "BG" and any(e["kind"] == "beam" and e["dissipates"] for e in draft["extras"]):
            element = tf.BubnovGalerkin(2)  # the second root of drop="end" grows where stiff modes decay
        try:
            finer, coarser = motion(made, 4 * N, element=element)[-1], motion(made, 2 * N, element=element)[-1]
        except tf.InputError as refused:
            if "does not take" not in str(refused) and "needs its inverse" not in str(refused):
                raise
            continue
        yield name, finer, one, 2 * np.abs(finer - coarser).max() + 2 * error + 1e-6


def resting(draft):
    """Without velocities, each body held against turns and by springs to the ground, one of them stiffer the further it
    goes: where forces of springs have a bound, what slides down a joint may fall without end."""
    bodies = [b | {"velocity": np.zeros(3), "spin": np.zeros(3)} for b in draft["bodies"]]
    kinds = "spring", "stiffening spring", "damper", "joint spring", "push"
    moving = {*those("own", "given"), "winch"} - {"tree", "point mass"}
    held = leaving(draft, ("vanishing", "activation", "motor", *KINKS, *moving)) | {"bodies": bodies}
    held["forces"] = [f for f in draft["forces"] if f["kind"] in kinds]
    for i, body in enumerate(bodies):
        places = [body["place"], body["place"] + [0.1, 0, 0]]
        spring = {"a": i, "b": None, "size": 5.0 + i, "rest": 0.5, "places": places}
        held["extras"] = [*held["extras"], spring | {"kind": "formula energy"}, spring | {"kind": "bend"}]
        held["forces"] = [*held["forces"], spring | {"kind": "stiffening spring"}]
    return held


def places(made, rest):
    """Where all bodies are at rest, seen back from the world: (n_bodies, 12)."""
    world = made.world
    flip = MIRROR if np.linalg.det(world.turn) < 0 else np.eye(3)
    return np.array([np.append((rest.position(body) / world.length - world.shift) @ world.turn,
                               world.turn.T @ rest.rotation_matrix(body) @ flip) for body in made.bodies])


@relation
def spectrum(seed):
    """Natural frequencies around an equilibrium, in all coordinates and worlds."""
    draft = resting(drawn(seed))
    wanted = place = None
    ways = [("itself", {})]
    if not any(extra["kind"] == "beam" for extra in draft["extras"]):  # other strains inside of elements in directors
        ways.append(("directors", {"rotation": "directors"}))
    ways += [(name, {"world": world}) for name, world in some_worlds(seed)]
    if joinable(draft):
        ways.append(("joint coordinates", {"coordinates": "joint"}))
    for name, options in ways:
        made = built(draft, **options)
        found = tf.equilibrium(made.problem.system, made.problem.z0)
        if not found.success:
            if wanted is None:
                return
            raise Fails(f"equilibrium in {name}: {found.status.message}")
        at = places(made, found)
        place = at if place is None else place
        if name in ("directors", "joint coordinates") and np.abs(at - place).max() > 1e-6:
            continue  # another equilibrium, to which Newton's method in other coordinates goes
        yield f"place, {name}", at, place, 1e-6
        values = np.linalg.eigvals(tf.linearize(made.problem.system, found).A) * made.world.second
        values = np.sort_complex(np.round(values**2, 9))
        wanted = values if wanted is None else wanted
        yield name, np.sort(values.real), np.sort(wanted.real), 1e-5


FLOORS = ((tf.PlaneContact, {"radius": 0.1}), (tf.BoxContact, {"size": (0.1, 0.12, 0.14)}),
          (tf.EllipsoidContact, {"half_axes": (0.1, 0.05, 0.12)}), (tf.RimContact, {"radius": 0.12}))


def touched(draft, world, rigid=True, **options):
    """A rigid floor below each body, so near that some are hit."""
    rng = np.random.default_rng(3)
    ups = rng.normal(size=(len(draft["bodies"]), 3))

    def more(bodies, state):
        floors = []
        for i, (body, up) in enumerate(zip(bodies, ups, strict=True)):
            normal = up / np.linalg.norm(up)
            place = draft["bodies"][i]["place"] - 0.15 * normal
            contact, shape = FLOORS[i % len(FLOORS)]
            shape = {name: np.multiply(size, world.length) for name, size in shape.items()}
            floors.append(contact(body, restitution=0.5, friction=0.3 * (i % 2), normal=world.vector(normal),
                                  plane_point=world.place(place), **shape, name=f"floor {i}"))
        return floors, {}

    return built(draft, world, more=more, **options)


@relation
def rigid_contact(seed):
    draft, rng = drawn(seed, marched=True), np.random.default_rng(seed + 2)
    element = (tf.MixedGalerkin(2), tf.MixedGalerkin(1))[seed // 2 % 2]
    made = touched(draft, World())
    one = solved(made, element=element)
    if any("fallback" in event.kind for event in one.events):  # many impacts, by a method of first order
        return
    for name, other in [*((name, touched(draft, world)) for name, world in some_worlds(seed)),
                        ("order", touched(draft, World(), order=rng.permutation, names="z{}"))]:
        yield name, motion(other, element=element), seen(made, one), 1e4 * SAME


@relation
def rigid_contact_kept(seed, folder):
    """Loaded, pickled, and in halves by a restart."""
    made, element = touched(drawn(seed, marched=True), World()), tf.MixedGalerkin(1 + seed % 2)
    one = solved(made, element=element)
    one.save(folder / f"{seed}.h5")
    again = tf.load(folder / f"{seed}.h5")
    yield "loaded", again.z, one.z, 0.0
    yield "impulses", *([impulse for event in sol.events for impulse in event.impulses.ravel()]
                        for sol in (again, one)), 0.0
    yield "solved again", tf.solve(tf.InitialValueProblem(again.system, again.z[0], (0, 0.25)), element, N,
                                   progress=False).z, one.z, SAME
    problem = pickle.loads(pickle.dumps(made.problem))
    yield "problem", tf.solve(problem, element, N, progress=False).z, one.z, SAME


@relation
def tolerances(seed):
    """A march to a tolerance is within some times that of one on many elements."""
    draft = drawn(seed)
    made = built(draft)
    right = motion(made, 16 * N, element=tf.MixedGalerkin(3))[-1]
    for tolerance in (1e-4, 1e-6):
        sol = tf.solve(made.problem, tf.MixedGalerkin(2), tolerance=tolerance, progress=False)
        if not sol.success:
            raise Fails(f"tolerance={tolerance}: {sol.status.message}")
        size = max(np.abs(right).max(), 1e-3)
        yield f"{tolerance}", seen(made, sol)[-1], right, 30 * tolerance / min(size, 1)


@relation
def finer(seed):
    """Windows and global solves of many elements, and other numbers of elements in a window."""
    made = built(drawn(seed))
    one = motion(made, 2 * N)
    yield "windows of 5", motion(made, 2 * N, driver=tf.Windows(5)), one, 10 * SAME
    assert _mesh_error(made, motion(made)) > 0
