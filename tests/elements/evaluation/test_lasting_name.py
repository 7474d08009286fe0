"""Which densities have a name that holds beyond a process."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation import point_kernel as module
from timefem.elements.evaluation.batch import ElementBatch
from timefem.elements.evaluation.lasting_name import lasting_name


def names(system, element):
    return [lasting_name(group.part, element) for group in system.groups]


@pytest.mark.parametrize("case", ["four-bar", "andrews-squeezer", "mass-spring", "heavy-top"])
def test_parts_of_the_package_have_the_same_name_in_every_process(case):
    own = names(find_case(case).make().system, tf.MixedGalerkin(2))
    assert None not in own and len(set(own)) == len(own)
    code = (f"import timefem as tf; from timefem.cases import find_case\n"
            f"from timefem.elements.evaluation.lasting_name import lasting_name\n"
            f"print(*(lasting_name(g.part, tf.MixedGalerkin(3)) for g in find_case({case!r}).make().system.groups))")
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
    parts = box, Weight(box, (0, 0, -9.81)), tf.Torque(box, lambda t: (ca.sin(t), 0, 0))
    assert [lasting_name(part, tf.MixedGalerkin(2)) is not None for part in parts] == [True, False, False]

    class Own(tf.MixedGalerkin):
        pass

    assert lasting_name(box, Own(2)) is None


def test_elements_from_names_equal_those_from_symbols(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path))
    system, results = find_case("four-bar").make().system, []
    for own in ("built", "found"):
        for table in ("_DENSITIES", "_FUNCTIONS"):
            monkeypatch.setattr(module, table, {})
        monkeypatch.setattr("timefem.kernels.cache._kernels", {})
        batch = ElementBatch(system, tf.MixedGalerkin(2))
        x = np.random.default_rng(1).normal(size=(9, batch.n_columns))
        results.append((*batch(x, 0.1), *batch.pattern))
        assert bool(module._FUNCTIONS) == (own == "built")
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)
