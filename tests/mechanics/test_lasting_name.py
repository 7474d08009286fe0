"""Which kinds of parts have a name that holds beyond a process."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation import plan as module
from timefem.elements.evaluation.elements_in_lanes import ElementBatch
from timefem.mechanics.parts import lasting_name
from timefem.mechanics.values import equations_of_motion, quantities
from timefem.memory import Recent


def names(system, element):
    return [lasting_name("density", group.part, element) for group in system.groups]


@pytest.mark.long
@pytest.mark.parametrize("case", ["four-bar", "andrews-squeezer", "mass-spring", "heavy-top", "container-crane"])
def test_parts_of_the_package_have_the_same_name_in_every_process(case):
    own = names(find_case(case).make().system, tf.MixedGalerkin(2))
    assert None not in own and len(set(own)) == len(own)
    code = (f"import timefem as tf; from timefem.cases import find_case\n"
            f"from timefem.mechanics.parts import lasting_name\n"
            f"parts = [group.part for group in find_case({case!r}).make().system.groups]\n"
            f"print(*(lasting_name('density', part, tf.MixedGalerkin(3)) for part in parts))")
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.split() == own  # the degree is not part of the density


def test_elements_and_parts_are_told_apart():
    system = find_case("four-bar").make().system
    assert not set(names(system, tf.MixedGalerkin(2))) & set(names(system, tf.BubnovGalerkin(2)))
    directors = find_case("four-bar").make(rotation="directors").system
    assert not set(names(system, tf.MixedGalerkin(2))) & set(names(directors, tf.MixedGalerkin(2)))


class Weight(tf.Gravity):
    @property
    def kind(self):
        return ("weight", self.bodies[0].kind)


def test_what_others_write_has_none():
    box = tf.RigidBody(1.0, (1, 2, 3))
    parts = box, Weight(box, (0, 0, -9.81))
    assert [lasting_name("density", part, tf.MixedGalerkin(2)) is not None for part in parts] == [True, False]

    class Own(tf.MixedGalerkin):
        pass

    assert lasting_name("density", box, Own(2)) is None
    assert lasting_name("density", box) != lasting_name("another thing", box)


def by_formulas(factor):
    """One part of each kind that takes a formula, which states the same with the same factor."""
    box, point = tf.RigidBody(1.0, (1, 2, 3)), tf.PointMass(1.0)
    body = tf.GeneralizedSystem(2, lambda q, v, c: factor * ca.sumsqr(v), lambda q, c: factor * q[0] ** 2,
                                lambda q, c: q[0] - factor * q[1])
    push = tf.GeneralizedControl(body.bodies[0], lambda q: factor * q, n_controls=1)
    return [*body.parts, push, tf.Cost(lambda u, q, v, t: factor * u[0] ** 2, push),
            tf.Torque(box, lambda t: (factor * ca.sin(t), 0, 0)),
            tf.FormulaForce([box, point], lambda f, t, c: (factor * f[0].velocity, factor * f[1].velocity)),
            tf.Constraint(point, lambda f, t, c: factor * f[0].position[0], n=1)]


def test_formulas_are_known_by_what_they_state():
    first, again, other = ([lasting_name("density", part, tf.MixedGalerkin(2)) for part in by_formulas(factor)]
                           for factor in (2.0, 2.0, 3.0))
    assert None not in first and len(set(first)) == len(first)
    assert first == again and not set(first) & set(other)


def test_derivatives_of_equations_from_disk_equal_those_from_symbols(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path))
    problem, results = find_case("container-crane").make(), []
    for own in ("built", "found"):
        monkeypatch.setattr(quantities, "_FORMULAS", Recent())
        if own == "found":
            problem = find_case("container-crane").make()
            monkeypatch.setattr(equations_of_motion, "Symbols", None)  # is not called
        z = np.random.default_rng(1).normal(size=problem.system.n_z)
        at = equations_of_motion.EquationsOfMotion.of_state(problem.system, 0.3, z)
        results.append((at.acceleration, at.by_controls(), *at.tangent(*np.eye(6).reshape(2, 3, 6)), at.timed))
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


def test_elements_from_names_equal_those_from_symbols(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path))
    system, results = find_case("four-bar").make().system, []
    for own in ("built", "found"):
        for table in ("_DENSITIES", "_FUNCTIONS"):
            monkeypatch.setattr(module, table, Recent())
        for table in ("_kernels", "_recent"):
            monkeypatch.setattr(f"timefem.kernels.compile.{table}", Recent())
        batch = ElementBatch(system, tf.MixedGalerkin(2))
        x = np.random.default_rng(1).normal(size=(9, batch.n_columns))
        results.append((*batch(x, 0.1), *batch.pattern))
        assert bool(module._FUNCTIONS) == (own == "built")
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.long
def test_no_two_formulas_share_a_name():
    """Of many that differ in a number, a sign, the body, the component, or the order of bodies alone."""
    rng, names = np.random.default_rng(0), {}
    bodies = [tf.PointMass(1.0), tf.PointMass(1.0), tf.RigidBody(1.0, (1, 2, 2.5))]
    for _ in range(300):
        i, j, component, ends = (int(rng.integers(n)) for n in (2, 2, 3, 3))
        factor = float(rng.choice([1.0, 1.0 + 2**-52, -1.0, 2.0]))
        others = [[0, 1], [0, 2], [2, 0]][ends]

        def force(f, t, c, i=i, j=j, factor=factor, component=component):
            return [factor * f[i].position[component] * ca.SX.eye(3)[:, component] if k == j else 0 for k in range(2)]

        part = tf.FormulaForce([bodies[k] for k in others], force)
        cost = tf.Cost(lambda u, q, v, t, i=i, factor=factor, component=component: factor * (q, v)[i][component] ** 2,
                       bodies=[bodies[k] for k in others])
        names.setdefault(("force", i, j, component, factor, ends), set()).add(lasting_name("first variation", part))
        names.setdefault(("cost", i, component, factor, ends), set()).add(lasting_name("first variation", cost))
    every = [name for known in names.values() for name in known]
    assert all(len(known) == 1 for known in names.values())
    assert None not in every and len(set(every)) == len(every) > 150
