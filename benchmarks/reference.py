"""Hand-written C++ yardstick: the free rigid body in unit quaternions, mG(1) marched and mG(2) elements.

Compiles ``reference.cpp`` with g++ into ``.build`` beside this file and calls it through ctypes. Run it to
check the C++ and to time it on this machine::

    python benchmarks/reference.py [path/to/spinning_box.json]

State z = (q, p), q = (phi (3), quat (4)), p = (p_phi (3), p_quat (4)); lambda = (gamma, mu).
"""

import argparse
import ctypes
import functools
import hashlib
import itertools
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-std=c++17", "-shared", "-fPIC")
MAX_POINTS = 16
BOX = {"mass": 12.0, "inertia": (5.0, 26.0, 29.0)}


@functools.cache
def library():
    """Compile ``reference.cpp`` once per source, flags and processor, and load it.

    Raises
    ------
    RuntimeError
        When g++ is missing or does not compile the file.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError("benchmarks/reference.py needs g++ on the PATH (Debian: apt-get install g++)")
    source = HERE / "reference.cpp"
    target = subprocess.run([compiler, *FLAGS[:2], "-Q", "--help=target"], check=False, capture_output=True)
    key = hashlib.sha256(source.read_bytes() + " ".join(FLAGS).encode() + target.stdout).hexdigest()[:16]
    built = HERE / ".build" / f"reference-{key}.so"
    if not built.exists():
        built.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent) as folder:
            fresh = Path(folder) / built.name
            run = subprocess.run(
                [compiler, *FLAGS, "-o", fresh, source], check=False, capture_output=True, text=True
            )
            if run.returncode:
                raise RuntimeError(f"g++ failed on {source.name}:\n{run.stderr}")
            os.replace(fresh, built)
    lib = ctypes.CDLL(str(built))
    real, integer = ctypes.c_double, ctypes.c_int
    array = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    counts = np.ctypeslib.ndpointer(np.intc, flags="C_CONTIGUOUS")
    lib.march_mg1.argtypes = [real, array, array, real, integer, integer, array, counts, real, real]
    lib.march_mg1.restype = integer
    lib.elements_mg2.argtypes = [real, array, integer, array, array, real, integer, array, array]
    lib.elements_mg2.restype = None
    lib.step_mg1.argtypes = [real, array, array, array, real, integer, array, array]
    lib.step_mg1.restype = None
    return lib


def _array(value, shape, name):
    value = np.ascontiguousarray(value, dtype=np.float64)
    if value.shape != shape:
        raise ValueError(f"{name} has shape {value.shape}, expected {shape}")
    return value


def _points(n_points):
    if not 1 <= n_points <= MAX_POINTS:
        raise ValueError(f"n_points is {n_points}, expected 1 to {MAX_POINTS}")
    return n_points


def march_mg1(mass, inertia, z0, h, n_steps, n_points=4, tol_residual=1e-11, tol_increment=1e-9):
    """March the mixed Galerkin method mG(1).

    A step ends when max|last increment| <= tol_increment and max|residual| <= tol_residual (or no longer
    falls), after at most 20 linear solves. It starts from a linear extrapolation of the last step and from
    its multipliers; the multiplier unknown is h lambda.

    Parameters
    ----------
    mass : float
    inertia : array, shape (3,)
        Principal moments of inertia.
    z0 : array, shape (14,)
        Initial state.
    h : float
        Time step.
    n_steps : int
    n_points : int
        Gauss points per step, 1 to 16.
    tol_residual, tol_increment : float
        Absolute, on the unscaled z rows and unknowns.

    Returns
    -------
    z : array, shape (n_steps + 1, 14)
        States, ``z0`` first.
    n_iter : array of int, shape (n_steps,)
        Linear solves of each step (one residual and tangent more is evaluated).

    Raises
    ------
    RuntimeError
        When a step does not converge, or its tangent is singular.
    """
    z = np.empty((n_steps + 1, 14))
    n_iter = np.zeros(n_steps, dtype=np.intc)
    inertia, z0 = _array(inertia, (3,), "inertia"), _array(z0, (14,), "z0")
    failed = library().march_mg1(
        mass, inertia, z0, h, n_steps, _points(n_points), z, n_iter, tol_residual, tol_increment
    )
    if failed:
        raise RuntimeError(f"march_mg1: Newton failed in step {failed} of {n_steps}; a smaller h may help")
    return z, n_iter


def elements_mg2(mass, inertia, z_nodes, lam, h, n_points=3, out=None):
    """Residual and tangent of mG(2) elements, in one batch.

    Parameters
    ----------
    mass, inertia, h, n_points
        As in `march_mg1`; h is the length of every element.
    z_nodes : array, shape (2 n_elements + 1, 14)
        States at the nodes 0, 1/2, 1 of the elements, neighbours share a node.
    lam : array, shape (n_elements, 2, 2)
        Multipliers (element, node 0 or 1, gamma or mu), unscaled.
    out : tuple of two arrays, optional
        Residual and tangent to write into.

    Returns
    -------
    residual : array, shape (n_elements, 32)
        z rows of test 0 and 1 (14 each), then constraint rows of test 0 and 1 (2 each).
    tangent : array, shape (n_elements, 32, 46)
        Columns: left z (14), mid z (14), lambda (2 x 2), right z (14).
    """
    n_elements = len(lam)
    z_nodes = _array(z_nodes, (2 * n_elements + 1, 14), "z_nodes")
    lam, inertia = _array(lam, (n_elements, 2, 2), "lam"), _array(inertia, (3,), "inertia")
    residual, tangent = out or (np.empty((n_elements, 32)), np.empty((n_elements, 32, 46)))
    if residual.shape != (n_elements, 32) or tangent.shape != (n_elements, 32, 46):
        raise ValueError(f"out has shapes {residual.shape} and {tangent.shape}")
    library().elements_mg2(mass, inertia, n_elements, z_nodes, lam, h, _points(n_points), residual, tangent)
    return residual, tangent


def step_mg1(mass, inertia, z0, x, h, n_points=4):
    """Residual (16,) and tangent (16, 16) of one mG(1) step at x = (z1, h lambda)."""
    residual, tangent = np.empty(16), np.empty((16, 16))
    z0, x, inertia = _array(z0, (14,), "z0"), _array(x, (16,), "x"), _array(inertia, (3,), "inertia")
    library().step_mg1(mass, inertia, z0, x, h, _points(n_points), residual, tangent)
    return residual, tangent


def left_matrix(quat):
    """Ql(quat), shape (..., 4, 4): the quaternion product quat o (.)."""
    a, b, c, d = np.moveaxis(np.asarray(quat), -1, 0)
    rows = [[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def initial_state(inertia, quat, omega):
    """State (14,) of a body that only turns: p_quat = 2 Ql(quat) (0, J omega), omega body-fixed."""
    spin = np.concatenate([[0.0], np.multiply(inertia, omega)])
    return np.concatenate([np.zeros(3), quat, np.zeros(3), 2.0 * left_matrix(quat) @ spin])


def energy(mass, inertia, z):
    """Hamiltonian in polynomial form of states z, shape (..., 14)."""
    j4 = np.concatenate([[np.sum(inertia) / 2.0], inertia])
    w = np.einsum("...ba,...b->...a", left_matrix(z[..., 3:7]), z[..., 10:14])
    return (z[..., 7:10] ** 2).sum(-1) / (2.0 * mass) + (w**2 / j4).sum(-1) / 8.0


def slow_residual(mass, inertia, z_nodes, lam, h, n_points):
    """One mG(k) element as the paper writes it, k = len(lam), gradients by complex step; for checks only."""
    k = len(lam)
    xi, weights = np.polynomial.legendre.leggauss(n_points)
    xi, weights = (xi + 1.0) / 2.0, weights / 2.0

    def shapes(degree):
        nodes = np.linspace(0.0, 1.0, degree + 1) if degree else np.zeros(1)
        return [np.polynomial.Polynomial(c) for c in np.linalg.inv(np.vander(nodes, increasing=True)).T]

    def augmented(z):
        return np.array([energy(mass, inertia, z), (z[3:7] @ z[3:7] - 1.0) / 2.0, z[3:7] @ z[10:14]])

    z_rows, l_rows = np.zeros((k, 14)), np.zeros((k, 2))
    for x, w in zip(xi, weights, strict=True):
        z = sum(n(x) * zi for n, zi in zip(shapes(k), z_nodes, strict=True))
        zdot = sum(n.deriv()(x) * zi for n, zi in zip(shapes(k), z_nodes, strict=True)) / h
        test = np.array([n(x) for n in shapes(k - 1)])
        gradient = np.array([augmented(z + 1e-30j * e).imag / 1e-30 for e in np.eye(14)]).T
        force = gradient[0] + (test @ lam) @ gradient[1:]
        z_rows += w * h * np.outer(test, np.concatenate([-zdot[7:], zdot[:7]]) - force)
        l_rows += w * h * np.outer(test, gradient[1:] @ zdot)
    return np.concatenate([z_rows.ravel(), l_rows.ravel()])


def difference_tangent(function, x, step=0.5):
    """Four-point central differences; exact to round-off here, as the residual is of degree 4 at most."""
    columns = []
    for e in np.eye(len(x)) * step:
        near, far = function(x + e) - function(x - e), function(x + 2 * e) - function(x - 2 * e)
        columns.append((8.0 * near - far) / (12.0 * step))
    return np.array(columns).T


def check_tangents():
    """Relative errors of residuals (against `slow_residual`) and tangents (against differences), a dict."""
    rng = np.random.default_rng(1)
    mass, inertia, h = 1.3, np.array([0.5, 2.6, 2.9]), 0.7
    z, lam = rng.standard_normal((3, 14)), rng.standard_normal((2, 2))
    worst = {"mG(1) residual": 0.0, "mG(1) tangent": 0.0, "mG(2) residual": 0.0, "mG(2) tangent": 0.0}

    def compare(name, value, expected):
        worst[name] = max(worst[name], np.abs(value - expected).max() / np.abs(expected).max())

    for n_points in (1, 2, 3, 4, 7):
        x = np.concatenate([z[1], h * lam[0]])
        r, k = step_mg1(mass, inertia, z[0], x, h, n_points)
        compare("mG(1) residual", r, slow_residual(mass, inertia, z[:2], lam[:1], h, n_points))
        compare(
            "mG(1) tangent",
            k,
            difference_tangent(lambda x, n=n_points: step_mg1(mass, inertia, z[0], x, h, n)[0], x),
        )

        def residual(x, n=n_points):
            nodes = np.concatenate([x[:28], x[32:]]).reshape(3, 14)
            return elements_mg2(mass, inertia, nodes, x[28:32].reshape(1, 2, 2), h, n)[0][0]

        x = np.concatenate([z[0], z[1], lam.ravel(), z[2]])
        r, k = elements_mg2(mass, inertia, z, lam[None], h, n_points)
        compare("mG(2) residual", r[0], slow_residual(mass, inertia, z, lam, h, n_points))
        compare("mG(2) tangent", k[0], difference_tangent(residual, x))
    return worst


def batch_example(n_elements, seed=2):
    """Nodes and multipliers of `n_elements` different mG(2) elements."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((2 * n_elements + 1, 14)), rng.standard_normal((n_elements, 2, 2))


def time_march(h=0.0125, n_points=4, n_steps=100_000, repeats=7):
    """Median microseconds per step of the spinning box, and mean linear solves per step."""
    z0 = initial_state(BOX["inertia"], [1, 0, 0, 0], [0, 5, 1])
    times = []
    for _ in range(repeats + 1):  # the first one warms up
        start = time.perf_counter()
        _, n_iter = march_mg1(**BOX, z0=z0, h=h, n_steps=n_steps, n_points=n_points)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times[1:]) / n_steps, n_iter.mean()


def time_elements(n_points=3, n_elements=10_000, repeats=15):
    """Median microseconds per mG(2) element, residual and tangent, written into memory already touched."""
    z, lam = batch_example(n_elements)
    out = elements_mg2(**BOX, z_nodes=z, lam=lam, h=0.0125, n_points=n_points)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        elements_mg2(**BOX, z_nodes=z, lam=lam, h=0.0125, n_points=n_points, out=out)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times) / n_elements


def main():
    """Check and time; exits with an error when a check fails."""
    parser = argparse.ArgumentParser(description="Check and time the hand-written C++ reference.")
    parser.add_argument("reference", nargs="?", type=Path, help="spinning_box.json with reference states")
    path = parser.parse_args().reference
    failed = []

    def check(text, good):
        print(f"{text}{'' if good else '   FAILED'}")
        if not good:
            failed.append(text)

    for name, error in check_tangents().items():
        check(f"{name}: relative error {error:.1e}", error < 1e-13)

    z0 = initial_state(BOX["inertia"], [1, 0, 0, 0], [0, 5, 1])
    sizes = [0.05, 0.025, 0.0125, 0.00625, 0.003125]
    runs = {h: march_mg1(**BOX, z0=z0, h=h, n_steps=round(5.0 / h))[0] for h in sizes}
    ends = [z[-1, 3:7] for z in runs.values()]
    steps = [np.abs(b - a).max() for a, b in itertools.pairwise(ends)]
    orders = np.log2(np.divide(steps[:-1], steps[1:]))
    check(f"order at t = 5 from halved steps: {np.round(orders, 3)}", abs(orders[-1] - 2.0) < 0.05)
    if path is None:
        print("no reference states given, comparison left out")
    else:
        states = [s for s in json.loads(path.read_text())["states"] if 0.0 < s["t"] <= 5.0]
        for s in states:
            errors = [np.abs(z[round(s["t"] / h), 3:7] - s["q"]).max() for h, z in runs.items()]
            orders = np.log2(np.divide(errors[:-1], errors[1:]))
            text = " ".join(f"{e:.2e}" for e in errors)
            check(f"t = {s['t']}: errors {text}, orders {np.round(orders, 3)}", abs(orders[-1] - 2.0) < 0.05)

    for n_points in (1, 2, 3, 4):
        z, n_iter = march_mg1(**BOX, z0=z0, h=0.05, n_steps=100, n_points=n_points)
        drift = np.abs(energy(z=z, **BOX) - energy(z=z0, **BOX)).max()
        quat, p = z[:, 3:7], z[:, 10:14]
        gap = max(np.abs((quat**2).sum(-1) - 1.0).max(), np.abs((quat * p).sum(-1)).max())
        check(
            f"h = 0.05, {n_points} points: energy error {drift:.1e}, constraints {gap:.1e}, "
            f"{n_iter.mean():.2f} solves a step",
            n_points == 1 or drift <= 1e-11,
        )

    per_step, solves = time_march()
    print(f"march_mg1, h = 0.0125, 4 points: {per_step:.2f} us/step, {solves:.3f} linear solves a step")
    print(f"elements_mg2, 3 points, 10000 elements: {time_elements():.2f} us/element")
    if failed:
        raise SystemExit(f"{len(failed)} checks failed")


if __name__ == "__main__":
    main()
