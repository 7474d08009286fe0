"""The compiled loop of the law of impact: a semismooth Newton method, and a proximal loop around it."""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record


class Law(Record):
    """The law at some contacts, scaled, and what the loop works on."""

    compliance: np.ndarray  # (3 n, 3 n)
    friction: np.ndarray  # (n,)
    bound: np.ndarray  # (n,) of friction under a given load
    exact: float
    stalled: float
    rounds: int
    iterations: int
    halvings: int
    recent: np.ndarray  # residuals that a step may not exceed: of the last iterations
    count: np.ndarray  # (1,) of int, of all iterations
    before: np.ndarray  # (3 n,) scratch, as the following
    trial: np.ndarray
    step: np.ndarray
    drift: np.ndarray
    residual: np.ndarray
    a: np.ndarray
    length: np.ndarray  # (n,)
    radius: np.ndarray  # (n,)
    tangent: np.ndarray  # (3 n, 3 n)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def residual(law, x, b, shift, drift, r):
    """`L - proj(L - r xi)`, and what it is made of, in `law`; its square, and its largest entry."""
    square, largest = 0.0, 0.0
    for i in range(x.shape[0]):
        xi = shift * x[i] + b[i]
        if drift != 0.0:  # what one without a solution left may not be finite
            xi -= drift * law.drift[i]
        for j in range(x.shape[0]):
            xi += law.compliance[i, j] * x[j]
        law.a[i] = x[i] - r * xi
    for c in range(law.friction.shape[0]):
        i = 3 * c
        normal = max(law.a[i], 0.0)
        radius, length = law.friction[c] * normal + law.bound[c], np.hypot(law.a[i + 1], law.a[i + 2])
        share = radius / length if length > radius else 1.0
        law.radius[c], law.length[c] = radius, length
        law.residual[i] = x[i] - normal
        law.residual[i + 1] = x[i + 1] - share * law.a[i + 1]
        law.residual[i + 2] = x[i + 2] - share * law.a[i + 2]
    for i in range(x.shape[0]):
        square += law.residual[i] * law.residual[i]
        if not abs(law.residual[i]) <= largest:
            largest = abs(law.residual[i])
    return square, largest


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _tangent(law, shift, r):
    """Generalized derivative of `residual`."""
    n, matrix, d = law.friction.shape[0], law.tangent, law.compliance
    for c in range(n):
        i = 3 * c
        pressed = law.a[i] > 0.0
        held = pressed or law.bound[c] > 0.0
        length, radius = law.length[c], law.radius[c]
        s = 1.0 if held and length <= radius else (radius / length if held else 0.0)
        u, w = (law.a[i + 1] / length, law.a[i + 2] / length) if held and length > radius else (0.0, 0.0)
        mu = law.friction[c]
        for j in range(3 * n):
            p, f, g = -r * d[i, j], -r * d[i + 1, j], -r * d[i + 2, j]  # of what is projected
            if i <= j < i + 3:
                p += (1.0 - r * shift) * (j == i)
                f += (1.0 - r * shift) * (j == i + 1)
                g += (1.0 - r * shift) * (j == i + 2)
            along = u * f + w * g
            matrix[i, j] = (j == i) - (p if pressed else 0.0)
            matrix[i + 1, j] = (j == i + 1) - (mu * u * p + s * (f - u * along))
            matrix[i + 2, j] = (j == i + 2) - (mu * w * p + s * (g - w * along))


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _solve(matrix, x):
    """Solution in place of the right-hand side, by elimination with pivots; False where there is none."""
    n = x.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if not abs(matrix[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(k, n):
                matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
            x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    matrix[i, j] -= factor * matrix[k, j]
                x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= matrix[k, j] * x[j]
        x[k] /= matrix[k, k]
    return True


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def newton(law, x, b, shift, drift, r):
    """Semismooth Newton's method with a non-monotone search, from `x` and in place; whether it converged.

    `drift` is a factor of `law.drift`, which is taken from `xi`.
    """
    n, trial, memory = x.shape[0], law.trial, law.recent.shape[0]
    norm = np.sqrt(residual(law, x, b, shift, drift, r)[0])
    law.recent[:] = 0.0
    law.recent[0] = norm
    for it in range(law.iterations):
        if norm < 0.1 * law.exact:
            return True
        law.count[0] += 1
        _tangent(law, shift, r)
        for i in range(n):
            law.step[i] = law.residual[i]
        if not _solve(law.tangent, law.step):
            return False
        length, bound, size, better = 1.0, 0.0, 0.0, False
        for i in range(memory):
            bound = max(bound, law.recent[i])
        for _ in range(law.halvings + 1):
            for i in range(n):
                trial[i] = x[i] - length * law.step[i]
            size = np.sqrt(residual(law, trial, b, shift, drift, r)[0])
            if size <= (1.0 - 1e-4 * length) * bound:
                better = True
                break
            length /= 2.0
        if not better:
            return norm < law.exact
        for i in range(n):
            x[i] = trial[i]
        norm = size
        law.recent[(it + 1) % memory] = norm
    return norm < law.exact


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def proximal(law, x, b, shift, r, largest):
    """Solutions of laws with a shift about the last one, until that has no effect, in place; False where one fails.

    Where contacts repeat each other, and their velocities do not, impulses have a long way to go that changes next to
    nothing: by residual over shift in each of these laws. Newton's method fails where that is too far; then the shift
    is ten times as large, up to the `largest`, and less again after a success.
    """
    last, least = np.inf, shift
    for _ in range(law.rounds):
        left = residual(law, x, b, 0.0, 0.0, r)[1]
        if left < law.exact or (left < law.stalled and left > 0.5 * last):
            return True
        last = left
        for i in range(x.shape[0]):
            law.before[i], law.drift[i] = x[i], shift * x[i]
        if newton(law, x, b, shift, 1.0, r):
            shift = max(0.1 * shift, least)
            continue
        shift *= 10.0
        if not shift <= largest:
            return False
        for i in range(x.shape[0]):
            x[i] = law.before[i]
    return False
