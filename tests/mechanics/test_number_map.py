"""Parameters of every class as formulas of the numbers that it declares."""

import numpy as np
import pytest

import timefem as tf
from tests.every_class import classes_without_a_part, every_class, numbers_of
from timefem.errors import InputError
from timefem.mechanics.describe import build, describe
from timefem.mechanics.numbers.arguments import number_at
from timefem.mechanics.numbers.map import NumberMap
from timefem.mechanics.numbers.names import numbers_of as names_of_part

STEP = 1e-5


def free(system):
    """A system with the tree of another one, in which places and axes of joints are parameters."""
    tree = system["tree"]
    paths = [entry[1:] for entry in numbers_of(system) if entry[0] is tree and entry[1] != "friction_width"]
    freed = tree.changed({}, free=[path for path in paths
                                   if path[2] != "axis" or tree.joints[path[1]].kind != "fixed"])
    return tf.System([freed, tf.Gravity(freed, (1, 2, 3))])


SYSTEMS = {"first": lambda: every_class(1), "second": lambda: every_class(2),
           "zeros": lambda: every_class(3, zeros=True), "free tree": lambda: free(every_class(1)),
           "free tree of zeros": lambda: free(every_class(3, zeros=True))}


@pytest.mark.parametrize("name", [pytest.param("first", marks=pytest.mark.long),
                                  pytest.param("second", marks=pytest.mark.slow),
                                  pytest.param("zeros", marks=pytest.mark.long), *list(SYSTEMS)[3:]])
def test_every_number_of_every_class(name):
    system = SYSTEMS[name]()
    assert "tree" in name or not classes_without_a_part(system)
    numbers, entries = NumberMap(system), []
    for entry in numbers_of(system):
        part, *path = entry
        if not part.is_shaped_by(path):
            entries.append(entry)
            continue
        moves = path[0] == "joints" and path[2] in ("position", "axis")
        assert number_at(*entry) == 0 or moves, entry
        with pytest.raises(InputError, match="shapes the formulas"):
            numbers.jacobian([entry])
    entries = [entry for entry in entries if not _is_time_of_spline(entry)]
    present = numbers.values({entry: number_at(*entry) for entry in entries})
    for part in system.parts:
        expected = present.get(part, np.zeros(0) if not len(part.own_parameters) else part.own_parameters)
        np.testing.assert_allclose(part.own_parameters, expected, rtol=1e-12, atol=1e-14, err_msg=repr(part))
    exact = numbers.jacobian(entries)
    for k, entry in enumerate(entries):
        value = number_at(*entry)
        step = STEP * max(abs(value), 0.1)
        below, above = (numbers.values({entry: value + sign * step}) for sign in (-1, 1))
        for part, own in above.items():
            difference = (own - below[part]) / (2 * step)
            derivative = exact[part][:, k] if part in exact else np.zeros(len(own))
            size = max(np.abs(difference).max(initial=0.0), 1.0)
            np.testing.assert_allclose(derivative, difference, rtol=0, atol=1e-7 * size, err_msg=f"{part!r} by {entry}")
        for part in set(exact) - set(above):
            assert not np.any(exact[part][:, k]), (part, entry)


def _is_time_of_spline(entry):
    part, name, *steps = entry
    return "times" in steps and isinstance(getattr(part, name)[steps[0]], tf.Spline)


def names_and_values(system):
    """Names of all numbers, as `System.with_numbers` takes them, and their entries, but for those that stand alone."""
    for part in (*system.parts, *system.composites):
        if part.owner is None:
            for name, own in names_of_part(part).items():
                for key in own.keys:
                    entry = own.entry(part, key)
                    index = "" if key is None else f"[{','.join(map(str, np.atleast_1d(key)))}]"
                    if "orientation" not in entry and not part.is_shaped_by(entry[1:]):
                        yield f"{system.label(part)}.{name}{index}", entry


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 3])
def test_all_numbers_changed_at_once(seed):
    """As the numbers of a system that is rebuilt from the changed parts."""
    system = every_class(seed, zeros=seed == 3, costs=False)
    changes = {name: 1.001 * number_at(*entry) for name, entry in names_and_values(system)
               if entry[0].name != "plate" and not name.startswith(("beam.section.inertia", "turned.section.inertia"))}
    other = system.with_numbers(changes)
    for part, own in zip(system.parts, other.parts, strict=True):
        assert part == own and part.kind == own.kind
    anew = build(describe(other))
    for own, again in zip(other.parts, anew.parts, strict=True):
        np.testing.assert_allclose(own.own_parameters, again.own_parameters, rtol=1e-12, atol=1e-14, err_msg=repr(own))
    for own, again in zip(other.groups, anew.groups, strict=True):
        np.testing.assert_allclose(own.parameters, again.parameters, rtol=1e-12, atol=1e-14)
    assert any(np.any(a.parameters != b.parameters) for a, b in zip(system.groups, other.groups, strict=True))
    before = {name: number_at(*entry) for name, entry in names_and_values(system) if name in changes}
    back = other.with_numbers(before)
    for own, again in zip(system.groups, back.groups, strict=True):
        np.testing.assert_allclose(own.parameters, again.parameters, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_one_number_changed_at_a_time():
    system = every_class(1)
    numbers = NumberMap(system)
    for name, entry in names_and_values(system):
        value = 1.001 * number_at(*entry)
        try:
            other = system.with_numbers({name: value})
        except InputError as error:
            assert "plate" in name, error
            continue
        expected = numbers.values({entry: value})
        for part, own in zip(system.parts, other.parts, strict=True):
            if getattr(part, "counts_turns", False):  # what stands for its mass drops out of the motion
                continue
            np.testing.assert_allclose(own.own_parameters, expected.get(part, part.own_parameters), rtol=1e-9,
                                       atol=1e-12, err_msg=f"{own!r} by {name}")


def two_links(position=(1, 0, 0), axis=(0, 1, 0), orientation=(1, 0, 0, 0)):
    links = [tf.Link("base"), *(tf.Link(name, mass=1, centre=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for name in "ab")]
    joints = [tf.TreeJoint("j1", "base", "a", axis=(0, 1, 0)),
              tf.TreeJoint("j2", "a", "b", position=position, axis=axis, orientation=orientation)]
    return tf.System([tf.Tree(links, joints, name="arm")], gravity=(0, 0, -9.81))


TURNED = np.array([1, 0.1, 0.2, 0.05]) / np.linalg.norm([1, 0.1, 0.2, 0.05])


@pytest.mark.long
@pytest.mark.parametrize("changes, other", [
    ({"arm.j2.position[0]": 1.2}, {"position": (1.2, 0, 0)}),
    ({"arm.j2.position": (1.2, 0.1, 0.2)}, {"position": (1.2, 0.1, 0.2)}),
    ({"arm.j2.axis": (0.1, 1, 0.1)}, {"axis": (0.1, 1, 0.1)}),
    ({"arm.j2.orientation": TURNED}, {"orientation": TURNED}),
    ({"arm.j2.position[2]": 0.3, "arm.j2.axis[0]": 0.2}, {"position": (1, 0, 0.3), "axis": (0.2, 1, 0)})])
def test_joints_of_trees_stand_elsewhere(changes, other):
    """Formulas of trees have places and axes of joints in themselves: they were refused, whole ones of prepared solvers
    ended in a RuntimeError."""

    def problem(system):
        return tf.InitialValueProblem(system, {"j1": 0.3, "j2": 0.2}, (0, 0.5))

    def solved(system):
        return tf.solve(problem(system), tf.MixedGalerkin(2), 10, progress=False).z[-1]
    wanted, system = solved(two_links(**other)), two_links()
    np.testing.assert_allclose(solved(system.with_numbers(changes)), wanted, rtol=0, atol=1e-12)
    prepared = tf.prepare(problem(system), tf.MixedGalerkin(2), 10, progress=False)
    np.testing.assert_allclose(prepared.solve(parameters=changes).z[-1], wanted, rtol=0, atol=1e-12)
