"""Errors at the end of the motion against the length of the elements and against the time they take."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from timefem import IllConditioned, InputError, MixedGalerkin, Solution, SolveError, TimeElement, solve, validate

from ..display import COLOURS, STYLES
from ..version import __version__
from .common import Cache, element_label, element_list, initial_value_problem, problem_key, run_jobs, solve_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLATEAU = 10  # errors below this many times the reference's own say nothing
NOISE = 1e-13  # relative error that is round-off
MARKERS = "os^Dv<>P"


@dataclass(frozen=True)
class Convergence:
    """Errors of one method on several meshes.

    Attributes
    ----------
    element : TimeElement
    quantity, unit : str
    n_elements : ndarray of int, shape (n,)
    h : ndarray, shape (n,)
        Longest element [s].
    errors : ndarray, shape (n,)
        At the end; NaN where the solve failed.
    seconds : ndarray, shape (n,)
        Wall time of a solve without its set-up (kernels, patterns), median of `repeats`.
    messages : tuple of str
        Why solves failed; empty where they did not.
    repeats : int
    reference : str
    floor : float
        Errors up to here are round-off or the error of the reference.
    """

    element: TimeElement
    quantity: str
    unit: str
    n_elements: np.ndarray
    h: np.ndarray
    errors: np.ndarray
    seconds: np.ndarray
    messages: tuple[str, ...]
    repeats: int
    reference: str
    floor: float

    @property
    def label(self) -> str:
        """Short name of the method."""
        return element_label(self.element)

    @property
    def expected(self) -> int | None:
        """Order that the element declares, or None."""
        return getattr(self.element, "order", None)

    @property
    def orders(self) -> np.ndarray:
        """Powers of h from one mesh to the next, shape (n - 1,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.diff(np.log(self.errors)) / np.diff(np.log(self.h))

    @property
    def used(self) -> np.ndarray:
        """Whether an error is above the round-off plateau, bool (n,).

        The plateau is what is below `floor`, whatever comes after the first such mesh, and the finest meshes as long as
        the step to them fell short of half the order that the element declares (or, where that is less, of the largest
        order seen).
        """
        good = np.isfinite(self.errors) & (self.errors > self.floor)
        index = np.flatnonzero(good)
        below = np.flatnonzero(np.isfinite(self.errors) & ~good)
        if len(below):
            index = index[index < below[0]]
        if len(index) > 1:
            orders = np.diff(np.log(self.errors[index])) / np.diff(np.log(self.h[index]))
            enough = 0.5 * min(self.expected or np.inf, max(orders.max(), 0))
            while len(index) > 1 and orders[len(index) - 2] < enough:
                index = index[:-1]
        return np.isin(np.arange(len(self.h)), index)

    @property
    def order(self) -> float:
        """Power of h, fitted to the errors above the plateau; NaN for fewer than two of them."""
        used = self.used
        if used.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.h[used]), np.log(self.errors[used]), 1)[0])

    def cells(self) -> list[Any]:
        """The rows as they are shown."""
        rows = [row | {"used_in_fit": "" if row["used_in_fit"] else "x"} for row in self.rows()]
        return [{"left out" if k == "used_in_fit" else k: v for k, v in row.items()} for row in rows]

    def rows(self) -> list[dict[str, Any]]:
        """One dict per mesh, for tables and CSV."""
        orders = [float("nan"), *self.orders]
        return [{"method": self.label, "quantity": self.quantity, "n_elements": int(self.n_elements[i]),
                 "h": float(self.h[i]), "error": float(self.errors[i]), "order": float(orders[i]),
                 "used_in_fit": bool(self.used[i]), "seconds": float(self.seconds[i]), "fitted_order": self.order,
                 "message": self.messages[i]} for i in range(len(self.h))]

    def facts(self) -> dict[str, Any]:
        """Everything as plain data; None stands for NaN."""
        def plain(values):
            return [float(v) if np.isfinite(v) else None for v in np.atleast_1d(values)]

        return {"method": self.label, "element": repr(self.element), "quantity": self.quantity, "unit": self.unit,
                "n_elements": self.n_elements.tolist(), "h": plain(self.h), "errors": plain(self.errors),
                "orders": plain(self.orders), "used_in_fit": self.used.tolist(), "order": plain(self.order)[0],
                "expected": self.expected, "seconds": plain(self.seconds), "repeats": self.repeats,
                "reference": self.reference, "floor": self.floor, "messages": list(self.messages)}


@dataclass(frozen=True)
class _Runs:
    """How the solves of a study are run and kept; see `convergence`."""

    processes: int = 1
    cache: str | Path | None = None
    name: str | None = None
    progress: bool | None = None


def convergence(problem: Any, elements: TimeElement | Sequence[TimeElement], n_elements: Sequence[int] = (50, 100, 200),
                *, reference: Any = "fine", quantity: str = "state", repeats: int = 1, **arguments: Any) -> Any:
    """Errors at the end, orders of convergence and work-precision of one or several methods.

    Parameters
    ----------
    problem : InitialValueProblem or Case
    elements : TimeElement or list of TimeElement
    n_elements : sequence of int
        Meshes, see `timefem.solve`.
    reference : "fine", Solution, or callable
        What is exact: mG(4) on a mesh at least twice as fine as the finest here, doubled until the solution does not
        change any more; a solution; or a function t -> z, the state `(q, p)`. None is "fine".
    quantity : {"state", "coordinates", "momenta", "position", "rotation"} or callable
        Mass-weighted state, relative to its size; coordinates or momenta as they are; centres of mass [m]; rotation
        matrices, |R - R'|_F / sqrt(2), the angle between them where that is small [rad]. A function
        `(system, t, z) -> array` gives any other quantity. The error is the Euclidean norm of the difference.
    repeats : int
        Solves of each mesh, for the median of their times.
    processes : int
        Solves that run at a time. Times are disturbed by neighbours; for work-precision leave it at 1.
    cache : str or Path, optional
        Folder in which each solve is kept, under name, element and mesh, and from which a study goes on.
    name : str, optional
        Of the problem in the cache; also stands for a system that cannot be described there.
    progress : bool, optional
        Progress bar; default: when standard error is a terminal.
    **arguments
        Of `timefem.solve`, for instance `driver` or `newton`.

    Returns
    -------
    list of Convergence
        One per element. A solve that fails has the error NaN and a message.

    Raises
    ------
    InputError
        For input that cannot be used.
    SolveError
        When the reference cannot be found.
    """
    runs = _Runs(**{f.name: arguments.pop(f.name) for f in fields(_Runs) if f.name in arguments})
    name = runs.name or getattr(problem, "name", None)
    problem, elements = initial_value_problem(problem), element_list(elements)
    counts = sorted({validate.integer("n_elements", n, minimum=1) for n in np.atleast_1d(n_elements).tolist()})
    if not counts:
        raise InputError("n_elements is empty; give some numbers of elements")
    check_quantity(problem, quantity)
    repeats = validate.integer("repeats", repeats, minimum=1)
    for element in elements:
        element.check(problem.system)
    if {"mesh", "tolerance"} & set(arguments):
        raise InputError("convergence makes its own uniform meshes; give n_elements only")
    reference = "fine" if reference is None else reference
    known = None if isinstance(reference, str) and reference == "fine" else given_reference(problem, reference)
    cache, key = Cache(runs.cache), _key(problem, name, arguments) if runs.cache is not None else {}
    name = name or "problem"
    jobs = [] if known else [(f"{name}/reference/{counts[-1]}", key | {"reference": counts[-1]}, fine_solution,
                              (problem, counts[-1]))]
    jobs += [(f"{name}/{element_label(element)}/{n}", key | {"element": repr(element), "n": n, "repeats": repeats},
              _point, (problem, element, n, repeats, arguments)) for n in counts for element in elements]
    results = run_jobs(jobs, processes=runs.processes, cache=cache, title="convergence", show=runs.progress)
    if not known:
        fine = results.pop(0)
        known = Reference(f"mG(4), {fine['n_elements']} elements", np.array(fine["z"]), np.array(fine["coarse"]))
    return [_evaluated(problem, element, counts, results[i::len(elements)], known, quantity, repeats)
            for i, element in enumerate(elements)]


def plot_convergence(studies: Convergence | Sequence[Convergence], ax: Axes | None = None, against: str = "h") -> Axes:
    """Errors at the end over the length of the elements, or over wall time.

    Points of the round-off plateau are hollow; the fitted order is in the legend.

    Parameters
    ----------
    studies : sequence of Convergence
        Of one problem and quantity.
    ax : matplotlib Axes, optional
    against : {"h", "seconds"}

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    validate.choice("against", against, ("h", "seconds"))
    if not studies:
        raise InputError("there is no study to draw")
    ax = plt.subplots(figsize=(6.0, 4.5), layout="constrained")[1] if ax is None else ax
    for i, s in enumerate(studies):
        x, label = getattr(s, against), s.label
        label += "" if against == "seconds" or np.isnan(s.order) else rf": $h^{{{s.order:.2f}}}$"
        style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        good = np.isfinite(s.errors) & (s.errors > 0)
        ax.loglog(x[good], s.errors[good], linestyle=STYLES[i // len(COLOURS) % len(STYLES)], label=label, **style,
                  markerfacecolor="none")
        ax.loglog(x[s.used], s.errors[s.used], linestyle="none", **style)
    s = studies[0]
    unit = ", relative" if s.unit == "1" else f" [{s.unit}]"
    ax.set(xlabel={"h": "length of an element [s]", "seconds": "wall time of a solve [s]"}[against],
           ylabel=f"error of the {s.quantity} at the end{unit}")
    lengths = sorted({x for s in studies for x in s.h.tolist()})
    if against == "h" and len(lengths) <= 10:
        ax.set_xticks(lengths, [f"{x:.3g}" for x in lengths], rotation=30 if len(lengths) > 5 else 0)
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    return ax


def _key(problem, name, arguments):
    settings = {k: repr(v) for k, v in arguments.items()}
    return problem_key(problem, name) | {"version": __version__, "arguments": settings}


def _point(problem, element, n, repeats, arguments):
    """Solve `repeats` times, after a short solve that compiles what is not compiled yet; plain data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditioned)  # the error says it better
        try:
            solve_on(problem, element, min(n, 10), progress=False, **arguments)
        except InputError:  # so few do not reach all kinks of the loads
            pass
        solutions = [solve_on(problem, element, n, progress=False, **arguments) for _ in range(repeats)]
    solution, seconds = solutions[0], [s.statistics["seconds"] for s in solutions]
    return {"z": solution.z[-1].tolist() if solution.success else None, "h": float(np.diff(solution.t).max(initial=0)),
            "message": "" if solution.success else solution.status.message,
            "seconds": statistics.median(s["total"] - s["setup"] for s in seconds)}


def _evaluated(problem, element, counts, points, reference, quantity, repeats):
    system, t = problem.system, problem.t_span[1]
    errors = [float("nan") if p["z"] is None else distance(system, quantity, t, np.array(p["z"]), reference.z)
              for p in points]
    size = 1.0 if quantity == "state" else np.linalg.norm(measured(system, quantity, t, reference.z))
    floor = float(max(PLATEAU * reference.error(system, quantity, t), NOISE * size))
    name, unit = (quantity, UNITS[quantity]) if isinstance(quantity, str) else \
        (getattr(quantity, "__name__", "quantity"), "SI")
    span = problem.t_span[1] - problem.t_span[0]
    h = [p["h"] if p["z"] is not None else span / n for p, n in zip(points, counts, strict=True)]
    return Convergence(element, name, unit, np.array(counts), np.array(h), np.array(errors),
                       np.array([p["seconds"] for p in points]), tuple(p["message"] for p in points), repeats,
                       reference.name, floor)


# ---- what errors are measured against, and in what

UNITS = {"state": "1", "coordinates": "SI", "momenta": "SI", "position": "m", "rotation": "rad"}
QUANTITIES = tuple(UNITS)
FINE = MixedGalerkin(4)
DOUBLINGS = 4


@dataclass(frozen=True)
class Reference:
    """State at the end that is taken as exact.

    Attributes
    ----------
    name : str
    z : ndarray, shape (n_z,)
    coarse : ndarray, shape (n_z,)
        The same from half as many elements; equal to `z` where there is no such solution.
    """

    name: str
    z: np.ndarray
    coarse: np.ndarray

    def error(self, system, quantity, t):
        """How far the reference itself may be off: distance of the two, an upper bound for mG(4)."""
        return distance(system, quantity, t, self.coarse, self.z)


def measured(system, quantity, t, z):
    """A quantity of a state, as an array; see `convergence`."""
    if callable(quantity):
        return np.asarray(quantity(system, t, z), float)
    n = system.n_q
    if quantity == "state":
        return z / system.state_scale
    if quantity in ("coordinates", "momenta"):
        return z[:n] if quantity == "coordinates" else z[n:]
    what, scale = {"position": ("position", 1.0), "rotation": ("rotation_matrix", 1 / np.sqrt(2))}[quantity]
    bodies = [body for body in system.bodies if hasattr(body, what)]
    if not bodies:
        raise InputError(f"quantity is {quantity!r}, but no body of the system has one")
    return scale * np.stack([getattr(body, what)(z[system.coordinates(body)]) for body in bodies])


def distance(system, quantity, t, z, exact):
    """Distance of two states in a quantity; of "state" relative to its size."""
    exact = measured(system, quantity, t, exact)
    error = np.linalg.norm(measured(system, quantity, t, z) - exact)
    return float(error / np.linalg.norm(exact) if quantity == "state" else error)


def check_quantity(problem, quantity):
    """Raise InputError for what is not a quantity, or none of this problem."""
    if not callable(quantity):
        validate.choice("quantity", quantity, QUANTITIES)
    measured(problem.system, quantity, problem.t_span[0], problem.z0)


def given_reference(problem, reference):
    """Reference from a Solution or a function t -> z."""
    t, n = problem.t_span[1], problem.system.n_z
    if isinstance(reference, Solution):
        end, z = reference.end
        if abs(end - t) > 1e-12 * max(abs(t), 1) or not reference.success:
            raise InputError(f"the reference is a solution up to t = {end:g}, but the problem ends at {t:g}")
        name = f"solution by {reference.element.name}, {len(reference.t) - 1} elements"
    elif callable(reference):
        z, name = reference(t), "analytic"
    else:
        raise InputError(f"reference must be 'fine', a Solution, or a function t -> z, not {reference!r}")
    z = validate.array("the reference's state at the end", z, (n,))
    return Reference(name, z, z)


def fine_solution(problem, n_elements):
    """End of a fine solution by mG(4), as plain data; elements are doubled until that changes nothing any more.

    Returns
    -------
    dict
        `n_elements`, and `z` and `coarse`, from that many elements and from half of them.
    """
    try:
        FINE.check(problem.system)
    except InputError as error:
        raise InputError(f"there is no fine solution by mG(4): {error}; give a Solution or a function t -> z as "
                         "reference") from None
    coarse, last = _fine_end(problem, n_elements), np.inf
    for _ in range(DOUBLINGS):
        n_elements *= 2
        z = _fine_end(problem, n_elements)
        change = distance(problem.system, "state", problem.t_span[1], coarse, z)
        pair = {"n_elements": n_elements, "z": z.tolist(), "coarse": coarse.tolist()}
        if change < 1e-13 or change > 0.5 * last:
            break
        coarse, last = z, change
    return pair


def _fine_end(problem, n_elements):
    """State at the end by mG(4)."""
    solution = solve(problem, FINE, n_elements, progress=False)
    if not solution.success:
        raise SolveError(f"the fine reference by mG(4) failed with {n_elements} elements: {solution.status.message}; "
                         "take more elements, or give a reference")
    return solution.z[-1]
