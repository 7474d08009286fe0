"""Every part that there is, on every kind of frame and in both kinds of coordinates: each combination works, or is
refused by name with what would do. Parts come from `every_class`, which has one of each class of the catalogue."""

import contextlib
import json
from functools import cache

import numpy as np
import pytest

import timefem as tf
from tests.every_class import every_class
from timefem.mechanics.bodies.rigid import RigidBodyBase
from timefem.mechanics.bodies.tree.compile import _moved
from timefem.mechanics.catalogue import refers_in
from timefem.mechanics.describe import build, describe
from timefem.mechanics.states.given import canonical_states, given_states

INERTIA = [1.0, 1.1, 1.2]
REFUSED = {  # (part, frame) -> what is said
    ("nonholonomic", "link"): "does not depend on the velocities"}  # the origin of a link on an axis in space rests
NOT_ON_FRAMES = tf.Gravity, tf.Cost  # weights are stated by the system, costs by problems


def of_bodies(rotation):
    a, b = (tf.RigidBody(1.0, INERTIA, rotation, name=name, size=(1, 1, 1)) for name in "AB")
    return [a, b], a, b


def of_links():
    tree = tf.Tree([tf.Link("ground"), *(tf.Link(name, 1.0, (0.1, 0, 0), INERTIA, shapes=()) for name in "AB")], [
        tf.TreeJoint("one", "ground", "A", "revolute", position=(0.2, 0.3, 0.4), axis=(0.6, 0, 0.8)),
        tf.TreeJoint("two", "A", "B", "revolute", position=(1, 0.2, 0.1), axis=(0, 0.6, 0.8))], name="arm")
    return [tree], tree.link("A"), tree.link("B")


def of_beam():
    section = tf.Section(1.0, (1.0, 1.0), 1.0, (1.0, 1.0), 1.0, (1.8, 1.0, 1.0))
    beam = tf.Beam([tf.Line((0, 0, 0), (1, 0, 0))], section, 1, 2, name="beam")
    return [beam], beam.at(0.0), beam.at(0.4)  # a node, and a place between nodes


def of_chain():
    parts, a, b = of_bodies("quaternion")
    one, two = (0.6, 0, 0.8), (0, 0.6, 0.8)
    place = (0.3, 0.2, 0.1)
    return [*parts, tf.Revolute(a, point_a=place, point_b=place, axis_a=one, axis_b=one, name="one"),
            tf.Revolute(a, b, point_a=(1, 0, 0), point_b=(0, 0.5, 0), axis_a=two, axis_b=two, name="two")], a, b


FRAMES = {"quaternion": lambda: of_bodies("quaternion"), "directors": lambda: of_bodies("directors"), "link": of_links,
          "beam": of_beam, "joint coordinates": of_chain}


@cache
def source():
    """The system of all classes, its rigid bodies, and its parts that act on frames."""
    system = every_class(1)
    rigid = [body for body in system.bodies if isinstance(body, RigidBodyBase) and body.owner is None]
    return system, rigid, {part.name: part for part in system.parts if part.owner is None
                           and not (part.is_body or part.helper or isinstance(part, NOT_ON_FRAMES))}


def combined(name, frame):
    """The system of a part on two frames instead of its rigid bodies, with what else it needs."""
    system, rigid, parts = source()
    part = parts[name]
    own, a, b = FRAMES[frame]()
    order = [body for body in dict.fromkeys(part.frames) if body in rigid]
    found = {body: a if body in order[:1] or body.name == "a" else b for body in rigid}

    def here(thing):
        if thing not in found and any(body in rigid for body in getattr(thing, "bodies", ())):
            refer(thing)
            found[thing] = _moved(thing, found)
        return found.get(thing, thing)

    def refer(part):
        for argument, field in refers_in(type(part)).items():
            field.moved(getattr(part, argument), here)

    refer(part)
    moved = _moved(part, found)
    others = [new for old, new in found.items() if old not in rigid and new.owner is None and not new.helper]
    seen = {getattr(body, "body", None) or body for new in (moved, *others) for body in new.bodies}
    needed = [body for body in system.bodies if body in seen and body not in rigid and body.owner is None]
    return tf.System(list(dict.fromkeys([*own, *needed, *others, moved])),
                     coordinates="joint" if frame == "joint coordinates" else "bodies")


def state_of(system):
    """At the references of its bodies, and where these have none."""
    given = {body: tf.Coordinates([0.3] * body.n_q, [0.0] * body.n_q) for body in system.bodies
             if not (body.has_position or body.helper)}
    states = [state for _, state in given_states(system, canonical_states(system, given, 0.0)).values()]
    return np.concatenate([state.q for state in states] + [state.p for state in states])


def works(name, frame):
    """Evaluate, report, save and load one combination."""
    if (name, frame) in REFUSED:
        with pytest.raises(tf.InputError, match=REFUSED[name, frame]):
            combined(name, frame)
        return
    system = combined(name, frame)
    z = state_of(system)
    derivatives = [value.toarray() if hasattr(value, "toarray") else value for value in system.derivatives(0.1, z)]
    assert all(map(str, (system, repr(system), system._repr_html_())))
    loaded = build(json.loads(json.dumps(describe(system))))
    for value, own in zip(derivatives, loaded.derivatives(0.1, z), strict=True):
        own = own.toarray() if hasattr(own, "toarray") else own
        size = np.abs(value[np.isfinite(value)]).max(initial=1.0)
        np.testing.assert_allclose(own, value, rtol=1e-10, atol=1e-10 * size)


@pytest.mark.long
@pytest.mark.parametrize("frame", FRAMES)
def test_every_combination(frame):
    for name in source()[2]:
        works(name, frame)


@pytest.mark.slow
@pytest.mark.parametrize("frame", FRAMES)
def test_every_combination_marches(frame):
    """One element, and reports of its solution; not with what states at hand violate: constraints, rigid contacts."""
    for name in source()[2]:
        system = None if (name, frame) in REFUSED else combined(name, frame)
        if system is None or system.rigid_contacts or system.n_nonholonomic or any(
                part.constraint_names and not part.is_body for part in system.parts):
            continue
        z, n = state_of(system), system.n_q
        state = {body: tf.CanonicalState(z[:n][system.coordinates(body)], z[n:][system.coordinates(body)])
                 for body in system.bodies if not body.helper}
        solution = tf.solve(tf.InitialValueProblem(system, state, (0, 1e-3)), tf.MixedGalerkin(1), n_elements=1,
                            progress=False)
        assert solution.success, (name, solution.status)
        assert repr(solution) and np.isfinite(solution.energy()).all()


def states_of(system):
    z, n = state_of(system), system.n_q
    return {body: tf.CanonicalState(z[:n][system.coordinates(body)], z[n:][system.coordinates(body)])
            for body in system.bodies if not body.helper}


def report(solution, folder):
    """What any solution has: its page, its table, its files."""
    assert repr(solution) and solution.status.message
    solution.to_xarray().to_dataframe()
    for ending in ("h5", "json", "csv"):
        solution.save(folder / f"solution.{ending}")
    tf.load(folder / "solution.h5")


def initial(system, folder):
    problem = tf.InitialValueProblem(system, states_of(system), (0, 1e-3), assemble=True)
    report(tf.solve(problem, tf.MixedGalerkin(1), 2, progress=False), folder)


def at_once(system, folder):
    problem = tf.InitialValueProblem(system, states_of(system), (0, 1e-3), assemble=True)
    report(tf.solve(problem, tf.BubnovGalerkin(2), 2, driver="global", progress=False), folder)


def boundary(system, folder):
    places = {body: tf.Coordinates(state.q) for body, state in states_of(system).items()}
    problem = tf.BoundaryValueProblem(system, (0, 0.1), places, places)
    report(tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False), folder)


def optimal(system, folder):
    tree = next((body for body in system.bodies if isinstance(body, tf.Tree)), None)
    drive = tf.ControlForce(system.bodies[0], [(1, 0, 0)]) if tree is None else tf.JointControl(tree.joint("one"))
    problem = tf.OptimalControl(system, states_of(system), None, (0, 0.1), tf.Effort(drive), actuators=drive)
    report(tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False), folder)


def at_rest(system, folder):
    assert repr(tf.equilibrium(system, states_of(system)))


def linear(system, folder):
    assert repr(tf.linearize(system, states_of(system))) and repr(tf.modes(system, states_of(system)))


def periodic(system, folder):
    assert repr(tf.periodic(system, states_of(system), 0.1, tf.MixedGalerkin(1), 4))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [initial, at_once, boundary, optimal, at_rest, linear, periodic])
@pytest.mark.parametrize("frame", FRAMES)
def test_every_combination_in_every_kind(frame, kind, tmp_path):
    """It is solved, or fails with a reason, and is reported, saved and loaded; or it is refused."""
    for name in source()[2]:
        if (name, frame) not in REFUSED:
            with contextlib.suppress(tf.InputError, tf.SolveError):
                kind(combined(name, frame), tmp_path)


def test_turns_of_a_spring_at_a_place_of_a_beam():
    """Places among nodes have no coordinates of their own: what counts turns sees those of the nodes."""
    angle = 0.5
    turned = tf.Pose(orientation=(np.cos(angle / 2), np.sin(angle / 2), 0, 0))
    found = []
    for s in (0.0, 0.3, 0.4):
        (beam,), *_ = of_beam()
        system = tf.System([beam, tf.TorsionalSpring(beam.at(s), axis=(1, 0, 0), stiffness=2.0, rest=0.2)])
        state = {node: tf.Pose(node.reference.position, turned.quaternion) for node in beam.nodes}
        found.append(system.potential(0.0, tf.InitialValueProblem(system, state, (0, 1)).z0))
    assert found == pytest.approx([(angle - 0.2)**2] * 3, rel=1e-12)


def test_boxes_in_joint_coordinates_have_the_size_of_their_bodies():
    found = []
    for coordinates in ("bodies", "joint"):
        body = tf.RigidBody(1.0, INERTIA, name="A", size=(1, 2, 3))
        hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 1), axis_a=(0, 0.6, 0.8), axis_b=(0, 0.6, 0.8))
        system = tf.System([body, hinge, tf.BoxContact(body, normal=(0, 0, 1), stiffness=10.0)],
                           coordinates=coordinates)
        problem = tf.InitialValueProblem(system, {hinge: (0.4, 0.0)}, (0, 1))
        found.append(system.potential(0.0, problem.z0))
    assert found[0] > 1.0 and found[1] == pytest.approx(found[0], rel=1e-12)


def test_a_tree_made_beside_one_called_tree():
    arm = tf.Tree([tf.Link("ground"), tf.Link("A", 1.0, (0.1, 0, 0), INERTIA)],
                  [tf.TreeJoint("one", "ground", "A", "revolute", axis=(0, 0, 1))], name="tree")
    body = tf.RigidBody(1.0, INERTIA, name="B")
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 1), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    system = tf.System([arm, body, hinge], coordinates="joint")
    assert sorted(map(system.label, system.bodies)) == ["tree", "tree 2"]
