"""The protocol of nonlinear equations: everything that the methods see, on equations that have no elements."""

import casadi as ca
import numpy as np
import pytest
import scipy

import timefem as tf
from timefem.errors import SingularMatrix
from timefem.solvers.equations.nonlinear import NonlinearEquations, SaddleEquations
from timefem.solvers.nonlinear.newton import Fading, newton, newton_with_homotopy
from timefem.solvers.nonlinear.saddle_point import solve_minimum, solve_saddle


class Algebraic(NonlinearEquations):
    """`R(x) = 0` of a function and its Jacobian, by dense linear algebra."""

    def __init__(self, residual, jacobian):
        super().__init__()
        self.residual, self.jacobian = residual, jacobian

    def evaluate(self, x):
        self.tangent = self.jacobian(x)
        return self.residual(x)

    def linear_step(self, residual):
        try:
            return np.linalg.solve(self.tangent, residual)
        except np.linalg.LinAlgError as error:
            raise SingularMatrix(str(error)) from error


CIRCLE = Algebraic(lambda x: np.array([x @ x - 1, x[0] - x[1] ** 3]),
                   lambda x: np.array([2 * x, [1.0, -3 * x[1] ** 2]]))


def test_newton():
    x, status = newton(CIRCLE, np.array([1.0, 1.0]), tf.Newton(), 1.0)
    assert status.success and 3 <= len(status.residual_history) - 1 <= 8
    np.testing.assert_allclose(CIRCLE.residual(x), 0, rtol=0, atol=1e-14)
    r = np.array(status.residual_history)
    r = r[(r > 1e-12) & (r < 0.1)]
    assert np.all(np.log(r[1:]) / np.log(r[:-1]) > 1.7)  # quadratic


def test_a_failure_without_elements():
    flat = Algebraic(lambda x: x**2 + 1, lambda x: np.diag(2 * x))
    _, status = newton(flat, np.array([0.0]), tf.Newton(), 1.0)
    assert not status.success and status.element is None and status.time is None
    assert status.message.startswith("singular tangent (residuals 1.00e+00) [Singular matrix]: ")
    _, status = newton(flat, np.array([0.7]), tf.Newton(max_iterations=6), 1.0)
    assert status.reason == "not converged" and len(status.residual_history) == 7
    stopped = newton(flat, np.array([0.7]), tf.Newton(), 1.0, lambda iteration, norm, x: iteration == 2)[1]
    assert stopped.reason == "stopped" and len(stopped.residual_history) == 3


def test_homotopy():
    """Newton's method comes down an exponential by one in each iteration, too slowly; fading loads take longer steps.
    """
    steep = Algebraic(lambda x: np.exp(x) - 1, lambda x: np.diag(np.exp(x)))
    start, settings = np.array([12.0]), tf.Newton(line_search=True, max_iterations=10)
    assert newton(steep, start, settings, 1.0)[1].reason == "not converged"
    x, status, n = newton_with_homotopy(steep, start, settings, 1.0)
    assert status.success and abs(x[0]) < 1e-12 and n > 12
    rootless = Algebraic(lambda x: x**2 + 1, lambda x: np.diag(2 * x))
    x, status, n = newton_with_homotopy(rootless, np.array([3.0]), settings, 1.0)
    assert status.reason == "not reached" and status.element is None
    share = float(status.message.split(" %")[0].split("[")[1])  # of 10 loads, 9 can go
    assert 85 < share <= 90


def test_fading_loads_make_the_guess_a_solution():
    guess = np.array([1.0, 2.0])
    loads = CIRCLE.evaluate(guess).copy()
    assert np.all(Fading(CIRCLE, loads, 1.0).evaluate(guess) == 0)
    half = Fading(CIRCLE, loads, 0.5)
    x, status = newton(half, guess, tf.Newton(line_search=True), 1.0)
    assert status.success
    np.testing.assert_allclose(CIRCLE.residual(x), loads / 2, rtol=0, atol=1e-13)


def test_the_methods_see_nothing_else():
    """Every public method of the class is passed on by the equations that wrap others."""
    public = {name for name in vars(NonlinearEquations) if not name.startswith("_")}
    assert public - set(vars(Fading)) == {"comm", "size"}  # set when made; by `norm` and `scaled`
    equations = Fading(CIRCLE, np.zeros(2), 0.0)
    with pytest.raises(AttributeError):
        equations.mesh  # noqa: B018


class Programme(SaddleEquations):
    """Minimise J(x) with c(x) = 0: the gradient of J + y . c."""

    def __init__(self, n, objective, conditions):
        super().__init__()
        x = ca.SX.sym("x", n)
        c = ca.vertcat(*conditions(x))
        y = ca.SX.sym("y", c.numel())
        every = ca.vertcat(x, y)
        gradient = ca.gradient(objective(x) + ca.dot(y, c), every)
        self._functions = [ca.Function("f", [every], [ca.densify(e)])
                           for e in (gradient, ca.jacobian(gradient, every), ca.SX(objective(x)))]
        self.dual = np.arange(n + c.numel()) >= n

    def evaluate(self, x):
        self._now = np.array(self._functions[1](x))
        return np.array(self._functions[0](x)).ravel()

    def factor(self):
        self._tangent = self._now

    def solve(self, residual):
        return np.linalg.solve(self._tangent, residual)

    def multiply(self, step):
        return self._tangent @ step

    def linear_step(self, residual):
        self.factor()
        return self.solve(residual)

    def with_costates(self, x, factor):
        return np.where(self.dual, factor * x, x)

    def objective(self, x):
        return float(self._functions[2](x))


@pytest.mark.parametrize("solve", [solve_saddle, solve_minimum])
def test_minimum_with_conditions(solve):
    """The point of the unit circle that is closest to (2, 1), and its multiplier."""
    equations = Programme(2, lambda x: ca.sumsqr(x - ca.DM([2, 1])) / 2, lambda x: [(ca.sumsqr(x) - 1) / 2])
    x, status = solve(equations, np.array([0.3, 0.9, 0.0]), tf.Newton(max_iterations=50))
    assert status.success, status.message
    np.testing.assert_allclose(x, [2 / 5**0.5, 1 / 5**0.5, 5**0.5 - 1], rtol=0, atol=1e-10)


def test_a_stationary_point_that_is_no_minimum_is_left():
    """J = cos x0 + x1^2 is stationary at 0, where it is largest along x0."""
    equations = Programme(3, lambda x: ca.cos(x[0]) + ca.sumsqr(x[1:]), lambda x: [x[1] + x[2] - 1])
    at = np.array([0.0, 0.5, 0.5, -1.0])
    assert solve_saddle(equations, at, tf.Newton(max_iterations=50))[0][0] == 0
    x, status = solve_minimum(equations, at, tf.Newton(max_iterations=80))
    assert status.success, status.message
    np.testing.assert_allclose([abs(x[0]), *x[1:]], [np.pi, 0.5, 0.5, -1], rtol=0, atol=1e-8)


@pytest.mark.parametrize("n", [1, 2])
def test_few_unknowns_need_no_iteration_for_eigenvalues(n, monkeypatch):
    """Lanczos' method takes more than one unknown, and may fail on a few."""
    def fails(*arguments, **options):
        raise scipy.sparse.linalg.ArpackError(-9999)

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", fails)
    equations = Programme(n, lambda x: ca.cos(x[0]) + ca.sumsqr(x[1:]), lambda x: [])
    x, status = solve_minimum(equations, np.zeros(n), tf.Newton(max_iterations=80))
    assert status.success, status.message
    np.testing.assert_allclose(np.abs(x), [np.pi, 0][:n], rtol=0, atol=1e-8)
