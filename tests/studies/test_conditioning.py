"""Condition numbers: agreement with dense SVD, and the slopes of numerics.md section 1."""

import importlib.util
import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem import studies
from timefem.assembly import Scaling, TimeMesh
from timefem.cli import main
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.equations.nonlinear import name_unknown
from timefem.solvers.linear import LINEAR_SOLVERS
from timefem.studies import conditioning, multiplier_rank, unit_body

pytestmark = pytest.mark.long

MULTIPLIERS = ("continuous", "discontinuous")


def tangent(equations):
    pattern = equations.pattern
    return sp.csr_matrix((equations.data, pattern.indices, pattern.indptr)).toarray()


def dense_condition(problem, element, n, scaling, norm, first_only=False):
    solution = tf.solve(problem, element, n)
    plan, mesh = ElementPlan(problem.system, element), TimeMesh(solution.t[:2] if first_only else solution.t)
    chain = ElementEquations(plan, mesh, Scaling.of(scaling, problem.system, element, 0, problem.z0))
    k = mesh.n_elements
    chain.evaluate(plan.pack(mesh, solution.nodal.state[:k], solution.nodal.multipliers[:k]))
    return np.linalg.cond(tangent(chain), norm)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("scaling", ["none", "reference", "weights", "full"])
@pytest.mark.parametrize("element", [tf.BubnovGalerkin(1), tf.BubnovGalerkin(2, "continuous"), tf.MixedGalerkin(2)])
def test_condition_agrees_with_dense_svd(norm, scaling, element):
    problem = pendulum(t_end=0.5)
    measured = conditioning(problem, element, [12], scaling=scaling, norm=norm)
    assert measured.condition[0] == pytest.approx(dense_condition(problem, element, 12, scaling, norm), rel=0.01)


@pytest.mark.parametrize("norm", [1, 2])
def test_condition_of_one_step_agrees_with_dense_svd(norm):
    problem = spinning_box("directors")
    measured = conditioning(problem, tf.MixedGalerkin(1), [100], tangent="step", norm=norm)
    expected = dense_condition(problem, tf.MixedGalerkin(1), 100, "none", norm, first_only=True)
    assert measured.condition[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("multipliers, slope", [("continuous", 2), ("discontinuous", 3)])
def test_slopes_in_units_of_order_one(degree, rotation, multipliers, slope):
    element = tf.BubnovGalerkin(degree, multipliers)
    n_elements = (60, 120) if rotation == "directors" and degree > 1 else (200, 400)
    assert conditioning(unit_body(rotation), element, n_elements).slope == pytest.approx(slope, abs=0.15)
    scaled = conditioning(unit_body(rotation), element, n_elements, scaling="weights")
    assert scaled.slope == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("scaling, slope", [("none", 1), ("reference", 2), ("weights", 0)])
@pytest.mark.parametrize("make", [unit_body, spinning_box])
def test_slopes_of_one_mixed_galerkin_step(degree, rotation, scaling, slope, make):
    measured = conditioning(make(rotation), tf.MixedGalerkin(degree), (800, 1600), scaling=scaling, tangent="step")
    assert measured.slope == pytest.approx(slope, abs=0.15)


SLOW = pytest.mark.slow


@pytest.mark.parametrize("rotation, degree, n_elements", [
    ("quaternion", 1, (200, 400)), ("quaternion", 2, (200, 400)), ("quaternion", 3, (200, 400)),
    ("directors", 1, (1000, 2000)), pytest.param("directors", 2, (1000, 2000), marks=SLOW),
    pytest.param("directors", 3, (1000, 2000), marks=SLOW)])
@pytest.mark.parametrize("multipliers", MULTIPLIERS)
def test_slopes_of_the_scaled_box(rotation, degree, n_elements, multipliers):
    element = tf.BubnovGalerkin(degree, multipliers)
    measured = conditioning(spinning_box(rotation), element, n_elements, scaling="weights")
    assert measured.slope == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("rotation, degree, multipliers, n_elements, slope", [
    ("quaternion", 1, "continuous", (200, 400), 0.0), ("quaternion", 3, "continuous", (200, 400), 0.0),
    ("quaternion", 1, "discontinuous", (200, 400), 2.0), ("quaternion", 2, "discontinuous", (200, 400), 2.0),
    ("quaternion", 3, "discontinuous", (200, 400), 2.0), ("directors", 1, "continuous", (200, 400), 0.0),
    ("directors", 2, "discontinuous", (200, 400), 2.0),
    pytest.param("directors", 3, "discontinuous", (800, 1600), 2.66, marks=SLOW)])
def test_slopes_of_the_box_as_written(rotation, degree, multipliers, n_elements, slope):
    """From 0 (continuous) and 2 (discontinuous) on: the inertia hides powers on coarse meshes."""
    measured = conditioning(spinning_box(rotation), tf.BubnovGalerkin(degree, multipliers), n_elements)
    assert measured.slope == pytest.approx(slope, abs=0.15)


@pytest.mark.slow
def test_slopes_of_the_box_as_written_rise_to_those_of_order_one():
    """Through 1.3, where the table of numerics.md ends, to 2."""
    measured = conditioning(spinning_box("directors"), tf.BubnovGalerkin(1, "continuous"),
                            (200, 800, 1600, 3200, 6400, 12800))
    assert (np.diff(measured.slopes) > 0).all()
    assert measured.slopes[0] == pytest.approx(0, abs=0.15)
    assert measured.slopes[-1] == pytest.approx(2, abs=0.15)


def test_trajectory_of_another_element_and_without_one():
    problem = spinning_box()
    with pytest.raises(tf.SolveError, match="no trajectory on 50 elements"):
        conditioning(problem, tf.BubnovGalerkin(1), [50])
    own = conditioning(problem, tf.BubnovGalerkin(3), [200]).condition
    other = conditioning(problem, tf.BubnovGalerkin(3), [200], trajectory=tf.solve(problem, tf.MixedGalerkin(3), 200))
    assert other.condition == pytest.approx(own, rel=0.02)


@pytest.mark.parametrize("arguments, message", [
    ({"scaling": "some"}, "scaling must be one of"), ({"norm": 3}, "norm must be one of"),
    ({"tangent": "all"}, "tangent must be one of"), ({"n_elements": [0]}, "at least 1"),
    ({"n_elements": [5, 5]}, "different numbers"), ({"element": "mg"}, "element must be"),
    ({"problem": 3}, "problem must be"), ({"backend": "superlo"}, "backend must be one of"),
    ({"trajectory": 3}, "trajectory must be"), ({"backend": "chain", "tangent": "step"}, "does not use it")])
def test_bad_input(arguments, message):
    with pytest.raises(tf.InputError, match=message):
        conditioning(**{"problem": spinning_box(), "element": tf.MixedGalerkin(1), "n_elements": [5], **arguments})


@pytest.mark.parametrize("norm", [1, 2])
def test_every_linear_solver_gives_the_same(norm):
    expected = conditioning(spinning_box(t_end=1), tf.BubnovGalerkin(2), 12, scaling="full", norm=norm).condition
    others = [name for name, options in LINEAR_SOLVERS.items() if all(map(importlib.util.find_spec, options.needs))]
    if "petsc" in others:
        others += [tf.PETSc(method="substructuring"), tf.PETSc({"-timefem_pc_factor_mat_solver_type": "umfpack"})]
    for linear in others:
        found = conditioning(spinning_box(t_end=1), tf.BubnovGalerkin(2), 12, scaling="full", norm=norm, linear=linear)
        np.testing.assert_allclose(found.condition, expected, rtol=1e-8, atol=0, err_msg=str(linear))


@pytest.mark.skipif(importlib.util.find_spec("petsc4py") is None, reason="petsc4py is not installed")
def test_a_solver_without_transposed_solves_is_refused():
    linear = tf.PETSc({"pc_factor_mat_solver_type": "superlu_dist", "mat_superlu_dist_replacetinypivot": True})
    with pytest.raises(tf.InputError, match="PETSc's superlu_dist has no transposed solves"):
        conditioning(spinning_box(t_end=1), tf.BubnovGalerkin(2), 12, linear=linear)


# ---- rank of the multiplier space

@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_keeping_all_continuous_multipliers_loses_rank(degree, rotation):
    element = tf.BubnovGalerkin(degree, "continuous")
    sound = multiplier_rank(spinning_box(rotation), element, (200, 400))
    assert sound.full_rank.all() and abs(sound.slope) < 0.05
    every = multiplier_rank(spinning_box(rotation), element, (200, 400), all_multipliers=True)
    assert (every.n_multipliers - sound.n_multipliers == 2 * (6 if rotation == "directors" else 1)).all()
    assert every.slope > 0.9 and (every.smallest < sound.smallest / 50).all()
    if rotation == "directors":
        assert not every.full_rank.any()


def test_smallest_singular_value_of_the_constraint_block():
    """Against dense SVD; that of mG(k) does not depend on h, that of BG with discontinuous multipliers falls like h."""
    from timefem.analysis import tangents as rank

    problem, element = spinning_box(), tf.BubnovGalerkin(2)
    mesh = TimeMesh.uniform(problem.t_span, 200)
    values = rank._nodal_values(problem, element, mesh, None, tf.TimeChain())
    scale = Scaling.of("full", problem.system, element, 0, problem.z0)
    block = rank._block(ElementPlan(problem.system, element), mesh, scale, values, False)
    dense = np.linalg.svd(block[:700, :100].toarray(), compute_uv=False)
    assert rank._ratio(block[:700, :100]) == pytest.approx(dense[-1] / dense[0], rel=0.01)
    assert multiplier_rank(problem, element, (200, 400)).slope == pytest.approx(1, abs=0.05)
    assert multiplier_rank(problem, tf.MixedGalerkin(2), (200, 400)).slope == pytest.approx(0, abs=0.05)
    with pytest.raises(tf.InputError, match="continuous"):
        multiplier_rank(problem, element, (20,), all_multipliers=True)


# ---- warning before a solve

def test_warning_names_the_block_and_what_scaling_would_do():
    problem = heavy_top()
    with pytest.warns(tf.IllConditioned, match=r"(position|velocity)-level multipliers of '.*' in element \d+; "
                                               "with scaling='full' it would be") as caught:
        tf.solve(problem, tf.BubnovGalerkin(3), 500, scaling="none")
    assert sum(issubclass(one.category, tf.IllConditioned) for one in caught) == 1


def test_no_warning_for_sound_solves():
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.IllConditioned)
        tf.solve(heavy_top(), tf.BubnovGalerkin(3), 500)
        tf.solve(spinning_box(), tf.BubnovGalerkin(1, "continuous"), 200, scaling="none")


def heavy_top():
    from timefem.cases import find_case

    return find_case("heavy-top").make()


def test_forward_error_bounds_the_error_of_the_solution():
    """The estimate is within 1 % of the exact bound, and never below what roundings of the tangent do."""
    from timefem.solvers.equations.nonlinear import EPS, forward_error

    problem, element = pendulum(t_end=0.5), tf.BubnovGalerkin(2)
    solution = tf.solve(problem, element, 10)
    plan = ElementPlan(problem.system, element)
    scale = Scaling.of("none", problem.system, element, 0, problem.z0)
    chain = ElementEquations(plan, TimeMesh(solution.t), scale)
    x = plan.pack(chain.mesh, solution.nodal.state, solution.nodal.multipliers)
    chain.evaluate(x)
    chain.linear.factor(chain.data)
    free = x[chain.assembler.pattern.column_index]
    A = tangent(chain)
    bound = EPS * np.abs(np.linalg.inv(A)) @ (np.abs(A) @ np.abs(free))
    error, worst = forward_error(chain, x)
    assert error == pytest.approx(bound.max() / np.abs(free).max(), rel=0.01)
    assert bound[worst] == pytest.approx(bound.max(), rel=0.01)
    changed = A * (1 + EPS * np.random.default_rng(1).choice([-1, 1], A.shape))
    assert np.abs(np.linalg.solve(A, (changed - A) @ free)).max() < error * np.abs(free).max()


def test_names_of_unknowns():
    problem = pendulum()
    plan = ElementPlan(problem.system, tf.BubnovGalerkin(2, "continuous"))
    step, (state, multipliers, *_) = plan.columns.step, plan.columns.fields
    assert name_unknown(plan, state[-1, 0] + 3 * step) == ("coordinates of 'pendulum'", 3)
    assert name_unknown(plan, state[1, -1] + step) == ("momenta of 'pendulum'", 1)
    first, last = problem.system.constraint_names[0], problem.system.constraint_names[-1]
    assert name_unknown(plan, multipliers[1, 0]) == (f"position-level multipliers of '{first}'", 0)
    assert name_unknown(plan, multipliers[1, -1]) == (f"velocity-level multipliers of '{last}'", 0)


# ---- command line

def test_command(capfd, tmp_path):
    command = ["study", "conditioning", "unit-body", "--elements", "200", "400", "--degree", "1", "2", "--multipliers",
               "continuous", "discontinuous", "--scaling", "none", "weights"]
    assert main([*command, "--json", "-o", str(tmp_path / "a.png")]) == 0
    result = json.loads(capfd.readouterr().out)["studies"]
    assert len(result) == 8 and {(s["degree"], s["multipliers"], s["scaling"]) for s in result} == {
        (k, m, s) for k in (1, 2) for m in MULTIPLIERS for s in ("none", "weights")}
    assert result[0]["n_elements"] == [200, 400] and result[0]["slope"] == pytest.approx(2, abs=0.15)
    assert (tmp_path / "a.png").stat().st_size > 10000
    assert main([*command[:6], "--csv", "--degree", "1"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].startswith('"BG(1)')
    assert main([*command[:5], "--element", "mg", "--degree", "1", "--norm", "1", "--tangent", "step"]) == 0
    assert "mG(1), one step" in capfd.readouterr().out


@pytest.mark.parametrize("arguments, message", [
    (["--norm", "3"], "norm must be one of"), (["--element", "mg", "--multipliers", "continuous"], "belongs to"),
    (["--scaling", "some"], "scaling must be one of"), (["--json", "--csv"], "either --json or --csv"),
    (["--frequency", "3"], "--frequency"), (["--tangent", "step", "--backend", "chain"], "does not use it")])
def test_command_refuses(arguments, message, capfd):
    assert main(["study", "conditioning", "unit-body", "--elements", "5", *arguments]) == 2
    out, err = capfd.readouterr()
    assert not out and err.startswith("timefem: error: ") and message in err and err.count("\n") == 1


def test_studies_are_public():
    assert tf.studies is studies


@pytest.mark.skipif(importlib.util.find_spec("petsc4py") is None, reason="petsc4py is not installed")
@pytest.mark.mpi
@pytest.mark.parametrize("norm", ["1", "2"])
def test_the_same_on_several_ranks(norm):
    from tests.parallel.launch import timefem

    arguments = ["study", "conditioning", "spinning-box", "--elements", "41", "--t-end", "1", "--degree", "2", "--norm",
                 norm, "--backend", "petsc", "--json"]
    serial = conditioning(spinning_box(t_end=1), tf.BubnovGalerkin(2), [41], norm=int(norm))
    for n_ranks in (1, 3):
        run = timefem(n_ranks, *arguments)
        assert run.returncode == 0, run.stderr
        measured = json.loads(run.stdout)["studies"][0]
        assert measured["condition"][0] == pytest.approx(serial.condition[0], rel=0.01)
        assert measured["n_unknowns"][0] == serial.n_unknowns[0]


def test_figure_8(tmp_path):
    from timefem.reproduction import find_scripts, run_scripts

    facts = run_scripts(find_scripts("may-betsch-2025", "fig8"), quick=True, folder=tmp_path, show=False)
    assert facts["may-betsch-2025/fig8"]["settled"]
