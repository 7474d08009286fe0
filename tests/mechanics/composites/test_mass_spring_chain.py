"""Parts with several nodes, on a chain of masses: against formulas, against single parts, and wherever bodies go."""

from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.describe import build, describe
from timefem.models import load_model
from timefem.solution.drawing.scene import make_scene

N, MASS, STIFFNESS, G = 5, 2.0, 40.0, (0.0, 0.0, -9.81)
END = (1.0, 0.0, 0.0)


def chain(n=N, name="rope", **options):
    return tf.MassSpringChain(n, MASS, options.pop("stiffness", STIFFNESS), END, name=name, **options)


def hung(rope, **options):
    """A rope with its first node held."""
    held = tf.Spherical(rope.node(0), point_a=(0, 0, 0), point_b=(0, 0, 0), name="held")
    return tf.System([rope, held], gravity=G, **options)


def solved(system, t_end=0.3, n_elements=6, state=None):
    return tf.solve(tf.InitialValueProblem(system, state or {}, (0, t_end)), tf.MixedGalerkin(2), n_elements,
                    progress=False)


def exact(n, t):
    """Positions of the free nodes of a linear chain hung at its first node, by its modes."""
    m, places = MASS / n, np.linspace(0, 1, n)[1:, None] * END
    k = STIFFNESS * (2 * np.eye(n - 1) - np.eye(n - 1, k=1) - np.eye(n - 1, k=-1))
    k[-1, -1] = STIFFNESS
    rest = np.linalg.solve(k, m * np.ones((n - 1, 1)) * G)
    square, modes = np.linalg.eigh(k / m)
    return rest + modes @ (np.cos(np.sqrt(square) * t)[:, None] * (modes.T @ (places - rest)))


def test_motion_is_that_of_the_modes():
    """Fourth order at the nodes of the mesh, and small."""
    errors = []
    for n_elements in (6, 12, 24):
        rope = chain()
        sol = solved(hung(rope), n_elements=n_elements)
        errors.append(max(abs(sol.position(rope.node(i), 0.3) - exact(N, 0.3)[i - 1]).max() for i in range(1, N)))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes == pytest.approx([4, 4], abs=0.3)
    assert errors[-1] < 1e-6


def test_it_is_its_parts():
    """The same numbers as point masses and springs given one by one; the nodes of one part have one measure."""
    rope = chain(length=0.2, damping=0.3)
    single = [tf.PointMass(MASS / N) for _ in range(N)]
    pairs = list(pairwise(single))
    parts = [*single, *(tf.Spring(a, b, stiffness=STIFFNESS, length=0.2) for a, b in pairs),
             *(tf.Damper(a, b, damping=0.3) for a, b in pairs),
             tf.Spherical(single[0], point_a=(0, 0, 0), point_b=(0, 0, 0))]
    state = {body: tf.Pose((i / (N - 1), 0, 0)) for i, body in enumerate(single)}
    first, second = solved(hung(rope)), solved(tf.System(parts, gravity=G), state=state)
    np.testing.assert_allclose(first(0.3), second(0.3), rtol=0, atol=1e-14)


def test_kernels_are_per_kind():
    """Bodies, springs, weights and the joint: four kinds, however many nodes."""
    groups = [hung(chain(n)).groups for n in (3, 30)]
    assert [len(g) for g in groups] == [4, 4]
    assert sorted(len(g.members) for g in groups[1]) == [1, 29, 30, 30]
    assert all(tuple(p.kind for p in g.members) == (g.part.kind,) * len(g.members) for g in groups[1])


def test_names_and_places():
    rope, other = chain(), chain(3, name=None)
    system = tf.System([rope, other])
    assert [system.label(b) for b in system.bodies[4:7]] == ["rope.node[4]", "MassSpringChain 2.node[0]",
                                                             "MassSpringChain 2.node[1]"]
    assert system.label(rope.element(-1)) == "rope.element[3]"
    assert system["rope"] is rope and system["rope.element[0]"] is rope.element(0)
    assert system.find("rope.node[2]") is rope.node(2) is rope.at(0.5) and rope.node(-1) is rope.at(1)
    assert system.composites == (rope, other)
    for make, message in ((lambda: rope.node(5), "'rope' has no node 5; they are counted from 0 to 4"),
                          (lambda: rope.at(0.3), r"no node at 0.3; the nearest is at 0.25, node\(1\)"),
                          (lambda: chain(1), "n must be at least 2"), (lambda: chain(stiffness=0), "stiffness must be"),
                          (lambda: system.find("rope.node[9]"), "no body 'rope.node.9.' in the system"),
                          (lambda: tf.InitialValueProblem(system, {rope: [tf.Pose()]}, (0, 1)), "a list of 5 states")):
        with pytest.raises(tf.InputError, match=message):
            make()


def test_states():
    """The undeformed shape, or a list, or a function of the place; single nodes take their own."""
    rope = chain()
    system = tf.System([rope])
    z = tf.InitialValueProblem(system, {}, (0, 1)).z0
    np.testing.assert_array_equal(z[:15].reshape(5, 3), np.linspace(0, 1, 5)[:, None] * END)
    given = {"rope": lambda s: tf.Pose((s, s**2, 0), velocity=(0, 0, s))}
    z = tf.InitialValueProblem(system, given, (0, 1)).z0
    np.testing.assert_array_equal(z[:15].reshape(5, 3)[:, 1], np.linspace(0, 1, 5)**2)
    np.testing.assert_allclose(z[15:].reshape(5, 3)[:, 2], np.linspace(0, 1, 5) * MASS / N, rtol=1e-15)
    same = tf.InitialValueProblem(system, {rope: [given["rope"](s) for s in rope.places]}, (0, 1)).z0
    np.testing.assert_array_equal(same, z)


def test_nodes_stand_for_bodies(tmp_path):
    """Joints to other bodies, loads, controls and outputs, drawings; files and loaded solutions."""
    rope, box = chain(length=0.2), tf.RigidBody(1.0, [1, 1, 1], name="box")
    tied = tf.Spherical(box, rope.node(-1), point_a=(-0.5, 0, 0), point_b=(0, 0, 0), name="tied")
    push = tf.Force(rope.at(0.5), (0, 3, 0), name="push")
    system = tf.System([rope, box, tied, push], gravity=G)
    sol = solved(system, state={box: tf.Pose((1.5, 0, 0))})
    scene = make_scene(sol, [0, 0.3])
    assert [body.name for body in scene.bodies] == [*(f"rope.node[{i}]" for i in range(5)), "box"]
    assert sum(link.kind == "spring" for link in scene.links) == 4
    gap = sol.position(box, 0.3) + sol.rotation_matrix(box, 0.3) @ (-0.5, 0, 0) - sol.position("rope.node[4]", 0.3)
    np.testing.assert_allclose(gap, 0, rtol=0, atol=1e-10)
    description = describe(system)
    assert [part["class"] for part in description["parts"]][:2] == ["MassSpringChain", "QuaternionBody"]
    again = build(description)
    assert list(map(again.label, again.parts)) == list(map(system.label, system.parts))
    sol.save(tmp_path / "rope.h5")
    loaded = tf.load(tmp_path / "rope.h5")
    np.testing.assert_array_equal(loaded.position("rope.node[2]", 0.2), sol.position(rope.node(2), 0.2))
    control = tf.ControlForce(rope.node(-1), name="hand")
    problem = tf.InverseDynamics(tf.System([rope, control], gravity=G),
                                 {tf.PositionOutput(rope.node(-1), a): lambda t, x=x: x for a, x in zip("xyz", END)},
                                 {}, t_span=(0, 0.1))
    held = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    np.testing.assert_allclose(held.position(rope.node(-1), 0.1), END, atol=1e-9)


MODEL = """
gravity = [0, 0, -9.81]
[time]
span = [0, 0.3]
n_elements = 6
[solver]
driver = "march"
[bodies.rope]
type = "mass_spring_chain"
n = 5
mass = 2.0
stiffness = 40.0
end = [1, 0, 0]
[joints.held]
type = "spherical"
bodies = ["rope.node[0]"]
point_a = [0, 0, 0]
point_b = [0, 0, 0]
"""


def test_model_file(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(MODEL)
    sol, rope = load_model(path).solve(progress=False), chain()
    np.testing.assert_array_equal(sol(0.3), solved(hung(rope))(0.3))
    path.write_text(MODEL.replace("node[0]", "node[5]"))
    with pytest.raises(tf.InputError, match=r"model.toml:16: joints.held.bodies: there is no body 'rope.node.5.'"):
        load_model(path)
    path.write_text(MODEL.replace("n = 5", "n = 1"))
    with pytest.raises(tf.InputError, match=r"model.toml:10: bodies.rope.n: must be an integer from 2 to"):
        load_model(path)


def test_sensitivity_to_its_arguments():
    """Derivatives of the last place by numbers of the whole rope, against differences of solutions."""
    def end(**changes):
        rope = chain(length=0.2, **changes) if "mass" not in changes else tf.MassSpringChain(
            N, changes["mass"], STIFFNESS, END, length=0.2, name="rope")
        return solved(hung(rope)), rope

    sol, rope = end()
    at = tf.EndValue(lambda bodies, t: bodies[0].position[0], [rope.node(-1)])
    found = tf.sensitivities(sol, at, [tf.Parameter("rope", "stiffness"), tf.Parameter(rope, "mass")])
    for value, name, size in zip(np.ravel(found), ("stiffness", "mass"), (STIFFNESS, MASS),
                                 strict=True):
        h = 1e-4 * size
        ends = [s.position(r.node(-1), 0.3)[0] for s, r in (end(**{name: size + x}) for x in (h, -h))]
        assert value == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
        assert abs(value) > 1e-4


def test_a_changed_member_is_saved_on_its_own():
    """With the number of one spring changed the rope is no longer what its arguments say: all members are stored."""
    rope = chain()
    system = hung(rope)
    changed = system.with_numbers({(rope.element(1), "stiffness"): 50.0})
    again = build(describe(changed))
    assert list(map(again.label, again.parts)) == list(map(system.label, system.parts))
    assert again["rope.element[1]"].stiffness == 50.0 and again["rope.element[2]"].stiffness == STIFFNESS
    z = tf.InitialValueProblem(system, {}, (0, 1)).z0
    assert again.hamiltonian(0, z) == changed.hamiltonian(0, z)
