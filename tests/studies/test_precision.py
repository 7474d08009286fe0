"""Second quotient of precision."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.cli import main
from timefem.elements.energy_momentum import EMH
from timefem.studies import conditioning, quotient_of_precision

pytestmark = pytest.mark.long


@pytest.mark.parametrize("element, n, tolerance", [(EMH(), 400, 0.02), (tf.MixedGalerkin(1), 200, 0.02),
                                                   (tf.MixedGalerkin(2), 50, 0.05), (tf.BubnovGalerkin(3), 100, 0.15)],
                         ids=repr)
def test_quotient_is_two_to_the_order(element, n, tolerance):
    study = quotient_of_precision(find_case("spinning-box").make(t_end=1.0), element, n)
    assert study.order == pytest.approx(element.order, abs=tolerance)
    assert study.facts()["expected"] == 2**element.order
    assert len(study.t) == n and study.h == pytest.approx(1 / n)


def test_it_is_what_it_says():
    problem, element = find_case("spinning-box").make(t_end=1.0), EMH()
    study = quotient_of_precision(problem, element, 50, quantity="state")
    z = [tf.solve(problem, element, 50 * 2**i)(study.t) for i in range(3)]
    root = np.sqrt(problem.system.mass_scale)
    size = np.concatenate([root, 1 / root])
    distances = [np.linalg.norm((b - a) * size, axis=1) for a, b in ((z[0], z[1]), (z[1], z[2]))]
    assert study.coarse == pytest.approx(distances[0], rel=1e-9)
    assert study.quotients == pytest.approx(distances[0] / distances[1], rel=1e-7)


def test_meshes_are_halved_between_kinks():
    problem = find_case("nontwisting-3").make(t_end=1.03)
    study = quotient_of_precision(problem, tf.MixedGalerkin(1), 1000)
    assert {0.5, 1.0} <= set(study.t.tolist())
    assert study.quotient == pytest.approx(4, rel=0.02)


def test_nothing_moves():
    bead = tf.PointMass(1.0, name="bead")
    problem = tf.InitialValueProblem(tf.System([bead]), {}, (0, 1))
    study = quotient_of_precision(problem, tf.MixedGalerkin(1), 4)
    assert np.isnan(study.quotient) and np.isnan(study.quotients).all()
    assert json.loads(json.dumps(study.facts(), allow_nan=False))["quotient"] is None


def test_bad_input():
    problem = find_case("spinning-box").make(t_end=1.0)
    with pytest.raises(tf.InputError, match="problem must be"):
        quotient_of_precision(3, EMH(), 10)
    with pytest.raises(tf.InputError, match="element must be"):
        quotient_of_precision(problem, "emh", 10)
    with pytest.raises(tf.InputError, match="n_elements must be at least 1"):
        quotient_of_precision(problem, EMH(), 0)
    with pytest.raises(tf.InputError, match="makes its own meshes"):
        quotient_of_precision(problem, EMH(), 10, mesh=[0, 1])
    with pytest.raises(tf.SolveError, match="with 2 elements: not converged"):
        quotient_of_precision(problem, EMH(), 2, newton=tf.Newton(max_iterations=1))


def test_command_line(capsys):
    arguments = ["study", "precision", "nontwisting-1", "--element", "nontwisting-em", "--t-end", "1", "--n-elements",
                 "200"]
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["case"] == "nontwisting-1" and facts["element"] == "nontwisting-em"
    assert facts["quotient"] == pytest.approx(3.995, abs=1e-3)
    assert main(arguments) == 0
    assert "second quotient of precision" in capsys.readouterr().out


# ---- estimates of norms draw random columns: the same ones each time, and nobody else's numbers change

def test_estimated_conditions_are_the_same_each_time():
    problem, found = find_case("physical-pendulum").make(t_end=0.5), []
    for seed in range(3):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        found.append(conditioning(problem, tf.MixedGalerkin(2), [40], scaling="reference", norm=1).condition[0])
        assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert found[0] == found[1] == found[2]
