"""Driver against driver, backend against backend, and what happens when a solve fails."""

import importlib.util

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem.cases import find_case
from timefem.polynomials import LagrangeBasis, gauss_legendre

BACKENDS = ["superlu"] + [name for name, module in (("petsc", "petsc4py"), ("sksparse", "sksparse"))
                          if importlib.util.find_spec(module)]


@pytest.mark.parametrize("problem", [spinning_box, pendulum])
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_march_windows_and_global_agree(problem, rotation, degree):
    p, element = problem(rotation, t_end=2), tf.MixedGalerkin(degree)
    marched = tf.solve(p, element, 40)
    windows = tf.solve(p, element, 40, driver="windows", window=7)  # 7 does not divide 40
    together = tf.solve(p, element, 40, driver="global")
    size = np.abs(marched.nodal.state).max()
    for other in (windows, together):
        np.testing.assert_allclose(other.nodal.state, marched.nodal.state, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(other.rotation_matrix(p.system.bodies[0], 2.0),
                                   marched.rotation_matrix(p.system.bodies[0], 2.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("problem", [spinning_box, pendulum])
def test_windows_keep_the_tests_between_them(problem, degree):
    p, element = problem(t_end=1), tf.BubnovGalerkin(degree, drop="end")
    together = tf.solve(p, element, 50, driver="global")
    for window in (7, 7, "auto"):  # twice: what a solve before left has to be forgotten
        windows = tf.solve(p, element, 50, driver=tf.Windows(window))
        np.testing.assert_allclose(windows.z, together.z, rtol=0, atol=1e-11 * np.abs(together.z).max())


@pytest.mark.long
@pytest.mark.parametrize("drop", ["start", "end"])
def test_what_follows_moves_the_first_node_where_the_first_test_is_left_out(drop):
    """So that no windows can be the global solve there; see docs/theory/elements.md, whose numbers are for y' = a y."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    system = tf.System([mass, tf.Spring(mass, stiffness=4.0, length=0.0)])
    first = [tf.solve(tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0))}, (0, 0.2 * n)),
                      tf.BubnovGalerkin(1, drop=drop), n, driver="global", progress=False).z[1] for n in (1, 2, 3, 6)]
    apart = np.abs(np.diff(first, axis=0)).max(axis=1)
    assert (apart > 1e-4).all() if drop == "start" else (apart < 1e-12).all()

    def ratio(n, b=-1.0):
        tests = np.diag(np.full(n, -2 * b / 3)) + np.diag(np.full(n - 1, 0.5 - b / 6), 1) \
            - np.diag(np.full(n - 1, 0.5 + b / 6), -1)
        tests[-1, -1] = 0.5 - b / 3
        return np.linalg.solve(tests, np.eye(n)[0] * (0.5 + b / 6))[0]

    np.testing.assert_allclose([ratio(n) for n in (1, 2, 3)], [0.4, 0.357, 0.368], rtol=0, atol=5e-4)


@pytest.mark.parametrize("element, step, bound", [(tf.BubnovGalerkin(3), 0.02, 0.2),
                                                  (tf.BubnovGalerkin(1, drop="end"), 0.005, 0.02)], ids=str)
def test_hundreds_of_turns_at_once(element, step, bound):
    p = spinning_box(t_end=250)
    solution = tf.solve(p, element, round(250 / step), driver="global")
    assert solution.success and len(solution.status.residual_history) <= 8
    exact = tf.solve(p, tf.MixedGalerkin(4), 12500)
    assert np.abs(solution.z[-1] - exact.z[-1]).max() < bound  # of momenta up to 145


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("ah", [0.05, 0.05j])
def test_second_root_of_bubnov_galerkin(degree, ah):
    basis, (points, weights) = LagrangeBasis(degree), gauss_legendre(degree + 1)
    n, dn = basis.values(points), basis.derivatives(points)
    matrix = np.einsum("p,pi,pj->ij", weights, n, dn - ah * n)
    ends, inner = [0, degree], list(range(1, degree))
    ends = matrix[np.ix_(ends, ends)] - matrix[np.ix_(ends, inner)] @ np.linalg.solve(
        matrix[np.ix_(inner, inner)], matrix[np.ix_(inner, ends)])
    roots = np.roots([ends[0, 1], ends[1, 1] + ends[0, 0], ends[1, 0]])
    own = np.argmin(np.abs(roots - np.exp(ah)))
    assert abs(roots[own] - np.exp(ah)) < 1e-8
    assert abs(roots[1 - own] - (-1)**degree * np.exp(-ah / (2 * degree + 1))) < 1e-4 * abs(ah)


@pytest.mark.parametrize("problem", [spinning_box, pendulum])
@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.BubnovGalerkin(1), tf.BubnovGalerkin(2, "continuous"),
                                     tf.BubnovGalerkin(3), tf.BubnovGalerkin(2, drop="end")], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree(problem, element, backend):
    p = problem(t_end=1)
    chain = tf.solve(p, element, 30, driver="global")
    other = tf.solve(p, element, 30, driver="global", backend=backend)
    assert chain.success and other.success, other.status.message
    assert max(chain.statistics["backward_error"], other.statistics["backward_error"]) < 1e-12
    np.testing.assert_allclose(other.z, chain.z, rtol=0, atol=1e-8 * np.abs(chain.z).max())


@pytest.mark.parametrize("driver", ["windows", "global"])
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.BubnovGalerkin(2)], ids=str)
def test_meshes_with_unequal_elements(driver, element):
    rng = np.random.default_rng(0)
    nodes = np.linspace(0, 1, 31)
    nodes[1:-1] += rng.uniform(-0.3, 0.3, 29) / 30
    p = spinning_box(t_end=1)
    fine = tf.solve(p, tf.MixedGalerkin(4), 100)
    solution = tf.solve(p, element, mesh=nodes, driver=driver, **({"window": 9} if driver == "windows" else {}))
    error = np.abs(solution.z[-1] - fine.z[-1]).max() / np.abs(fine.z[-1]).max()
    assert 1e-9 < error < (1e-2 if element.order == 2 else 1e-4)
    if element.can_march:
        np.testing.assert_allclose(tf.solve(p, element, mesh=nodes).z, solution.z, rtol=0, atol=1e-8)


def test_a_window_larger_than_the_mesh_is_the_global_solve():
    p = spinning_box(t_end=1)
    np.testing.assert_array_equal(tf.solve(p, tf.BubnovGalerkin(2), 20, driver="windows", window=99).z,
                                  tf.solve(p, tf.BubnovGalerkin(2), 20, driver="global").z)


def test_guesses_lead_to_one_solution():
    p, element = spinning_box(t_end=0.5), tf.BubnovGalerkin(2)
    reference = tf.solve(p, element, 20)
    nodes = np.concatenate([reference.nodal.state[:, :-1].reshape(-1, 14), reference.z[-1:]])
    for guess in ("constant", "march", reference, lambda t: reference(t) + 1e-3, nodes):
        solution = tf.solve(p, element, 20, guess=guess)
        assert solution.success
        np.testing.assert_allclose(solution.z, reference.z, rtol=0, atol=1e-9)
    assert tf.solve(p, element, 20, guess=nodes).statistics["newton_iterations"]["max"] <= 2


def test_reach_of_a_constant_guess():
    """Without line search about 3 rad of rotation, with it 5; the pendulum to t = 2 and 4."""
    careful = tf.Newton(line_search=True, max_iterations=60)
    for problem, reach in ((spinning_box, (0.6, 1.0)), (pendulum, (2, 4))):
        element = tf.BubnovGalerkin(3 if problem is spinning_box else 2)
        n_elements = 40 if problem is spinning_box else 80
        for newton, t_end in zip((None, careful), reach, strict=True):
            solution = tf.solve(problem(t_end=t_end), element, n_elements, guess="constant", newton=newton)
            assert solution.success
            reference = tf.solve(problem(t_end=t_end), element, n_elements)
            np.testing.assert_allclose(solution.z, reference.z, rtol=0, atol=1e-8 * np.abs(reference.z).max())
    beyond = tf.solve(spinning_box(t_end=2), tf.BubnovGalerkin(3), 40, guess="constant")
    assert not beyond.success


def test_line_search_in_the_march():
    plain, careful = (tf.solve(spinning_box(t_end=2), tf.MixedGalerkin(1), 20, newton=tf.Newton(line_search=search))
                      for search in (False, True))
    np.testing.assert_allclose(careful.z, plain.z, rtol=0, atol=1e-9)


def test_a_march_that_fails_keeps_what_it_has():
    p = spinning_box(t_end=40)
    mesh = np.concatenate([np.linspace(0, 1, 41), [3, 40]])  # the last elements are far too long
    solution = tf.solve(p, tf.MixedGalerkin(1), mesh=mesh, newton=tf.Newton(max_iterations=6),
                        driver=tf.March(keep_mesh=True))
    assert not solution.success
    status = solution.status
    assert status.element in (40, 41) and status.time == mesh[status.element]
    assert len(status.residual_history) > 2 and f"element {status.element}" in status.message
    assert len(solution.t) == status.element + 1
    good = tf.solve(spinning_box(t_end=1), tf.MixedGalerkin(1), 40)
    np.testing.assert_allclose(solution.z[:41], good.z, rtol=0, atol=1e-9)
    with pytest.raises(tf.InputError, match=r"outside .*; the solve failed: not converged in element"):
        solution(39.0)


@pytest.mark.parametrize("driver", ["march", "windows", "global"])
def test_too_few_iterations(driver):
    solution = tf.solve(spinning_box(), tf.MixedGalerkin(1), 50, driver=driver, newton=tf.Newton(max_iterations=1))
    assert not solution.success and solution.status.reason == "not converged"
    assert solution.status.element is not None and len(solution.status.residual_history) == 2
    assert solution.t.tolist() == [0.0] and len(solution.z) == 1


@pytest.mark.parametrize("driver", ["windows", "global"])
def test_a_guess_that_fails_keeps_what_there_is(driver, monkeypatch):
    import timefem.problems.initial.guess as module

    initial_guess = module.initial_guess

    def fails_later(guess, plan, mesh, z0, start, stop):
        if driver == "global" or mesh.nodes[0] > 0.4:
            raise tf.SolveError("no luck")
        return initial_guess(guess, plan, mesh, z0, start, stop)

    monkeypatch.setattr(module, "initial_guess", fails_later)
    solution = tf.solve(spinning_box(t_end=1), tf.BubnovGalerkin(2), 20, driver=driver)
    assert not solution.success and solution.status.reason == "no guess" and "no luck" in solution.status.message
    assert f"in element {solution.status.element} at" in solution.status.message
    assert len(solution.t) == (1 if driver == "global" else 11) == solution.status.element + 1


@pytest.mark.parametrize("driver", ["windows", "global"])
def test_singular_tangent_is_reported(driver, monkeypatch):
    from timefem.solvers.equations.elements import ElementEquations

    evaluate = ElementEquations.evaluate

    def spoilt(self, x):
        residual = evaluate(self, x)
        self.data[:] = 0
        return residual

    monkeypatch.setattr(ElementEquations, "evaluate", spoilt)
    solution = tf.solve(spinning_box(), tf.BubnovGalerkin(1), 20, driver=driver)
    assert not solution.success and solution.status.reason == "singular tangent"
    assert "block" in solution.status.message


@pytest.mark.parametrize("options, message", [
    (dict(n_elements=0), "n_elements must be at least 1"), (dict(n_elements=2.5), "n_elements"), (dict(), "either"),
    (dict(n_elements=3, mesh=[0, 5]), "either"), (dict(mesh=[0, 1]), "time span"),
    (dict(n_elements=9, driver="sprint"), "driver must be one of"),
    (dict(n_elements=9, driver="global", backend="lapack"), "backend"),
    (dict(n_elements=9, driver="global", scaling="some"), "scaling"),
    (dict(n_elements=9, driver="windows", window=0), "window"), (dict(n_elements=9, window=3), "does not use it"),
    (dict(n_elements=9, backend="chain"), "does not use it"),
    (dict(n_elements=9, driver="global", guess="good"), "guess"), (dict(n_elements=9, newton=3), "newton"),
    (dict(n_elements=9, petsc_options={"ksp_type": "gmres"}), "petsc_options"),
    (dict(n_elements=9, driver="global", guess=np.zeros((2, 3))), "guess must have shape"),
    (dict(n_elements=9, driver="windows", guess=np.zeros((10, 14))), "driver='global'"),
])
def test_bad_options(options, message):
    with pytest.raises(tf.InputError, match=message):
        tf.solve(spinning_box(), tf.MixedGalerkin(1), **options)


def test_elements_that_cannot_be_marched():
    with pytest.raises(tf.InputError, match="windows"):
        tf.solve(spinning_box(), tf.BubnovGalerkin(1), 10, driver="march")


def test_missing_backend_says_how_to_install(monkeypatch):
    import timefem.solvers.linear.base as base

    monkeypatch.setattr(base.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tf.MissingBackend, match=r"petsc4py.*timefem\[parallel\]"):
        tf.solve(spinning_box(), tf.MixedGalerkin(1), 10, driver="global", backend="petsc")


@pytest.mark.parametrize("options", [dict(tol_residual=0), dict(tol_increment=-1), dict(max_iterations=0),
                                     dict(tol_residual=np.nan)])
def test_bad_newton(options):
    with pytest.raises(tf.InputError):
        tf.Newton(**options)


def test_sksparse_refuses_hopeless_conditions():
    pytest.importorskip("sksparse", reason="scikit-sparse is an extra")
    solution = tf.solve(spinning_box("directors"), tf.BubnovGalerkin(3), 100, backend="sksparse", scaling="none")
    assert not solution.success and "normal equations" in solution.status.message


def test_automatic_windows():
    """They grow while Newton converges fast, and shrink when it does not or fails."""
    from timefem.problems.initial.global_driver import WindowSize

    size = WindowSize("auto", 2, 200)
    assert size.now == 64
    size.converged(64, 3)
    size.converged(128, 3)
    assert size.now == 200
    size.converged(200, 7)
    assert size.now == 200
    size.converged(200, 12)
    assert size.now == 100
    assert size.failed(100) and size.now == 50
    size.converged(30, 2)  # the last window, shorter than it might have been
    assert size.now == 50
    assert not WindowSize("auto", 2, 2).failed(2) and not WindowSize(10, 1, 100).failed(10)


def test_a_failed_automatic_window_is_tried_again():
    """From a constant guess long windows fail; what comes out is what short ones give."""
    p, element = spinning_box(t_end=4), tf.MixedGalerkin(2)
    solution = tf.solve(p, element, 160, driver="windows", window="auto", guess="constant")
    assert solution.success
    np.testing.assert_allclose(solution.z, tf.solve(p, element, 160).z, rtol=0, atol=1e-8 * np.abs(solution.z).max())
    assert not tf.solve(p, element, 160, driver="windows", window=64, guess="constant").success


def test_automatic_windows_by_few_solves():
    solution = tf.solve(spinning_box(t_end=5), tf.MixedGalerkin(2), 1000, driver="windows", window="auto")
    whole = tf.solve(spinning_box(t_end=5), tf.MixedGalerkin(2), 1000)
    np.testing.assert_allclose(solution.z, whole.z, rtol=0, atol=1e-9 * np.abs(whole.z).max())
    assert 512 * 16 <= solution.statistics["n_unknowns"]


def test_failed_elements_without_tests_at_the_start_name_better_ones():
    top = find_case("heavy-top").make()
    messages = [tf.solve(top, element, 12, progress=False).status.message
                for element in (tf.BubnovGalerkin(1), tf.BubnovGalerkin(1, drop="end"))]
    assert ["drop='end' and MixedGalerkin converge further" in message for message in messages] == [True, False]
