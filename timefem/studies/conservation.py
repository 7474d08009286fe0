"""Invariants and constraints over time: are they kept, do they oscillate, do they drift?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import scipy

from timefem import InputError, Solution, SolveError, TimeElement, TimeMesh, constant_momenta, gauss_legendre

from .. import validate
from ..display import COLOURS
from .common import element_label, initial_value_problem, solve_on

KEPT = 500  # values of each series
PLACES = {"nodes": "-", "quadrature points": ":"}
FLOOR = 1e-17  # where exact zeros are drawn on a logarithmic axis


@dataclass(frozen=True)
class Conservation:
    """Invariants and constraints of one solution.

    Attributes
    ----------
    method : str
    n_elements : int
    t_end, seconds : float
        End of the motion [s], and wall time of the solve; zero for a solution that was given.
    invariants : tuple of Drift
        "energy" (work of loads and dampers taken off), "generalized energy" where the element has velocities, and the
        components of the momenta that the system conserves, as "angular momentum z".
    constraints : dict
        Largest residuals: "configuration" and "velocity" level, each a dict with "nodes" (the ends of the elements) and
        "quadrature points"; "nonholonomic" where there are such constraints.
    residuals : dict
        For figures: "t", and largest residuals at "nodes" and "quadrature points" of each of at most 500 elements.
    """

    method: str
    n_elements: int
    t_end: float
    seconds: float
    invariants: tuple[Drift, ...]
    constraints: dict[str, Any]
    residuals: dict[str, Any]

    def __getitem__(self, name):
        """An invariant by name."""
        return self.invariants[[i.name for i in self.invariants].index(
            validate.choice("invariant", name, [i.name for i in self.invariants]))]

    def rows(self) -> list[dict[str, Any]]:
        """One dict per number, for tables and CSV."""
        head = {"method": self.method, "n_elements": self.n_elements}
        rows = [head | {"quantity": i.name, "unit": i.unit, "largest_change": i.largest, "slope_per_second": i.slope,
                        "uncertainty": i.uncertainty, "verdict": i.verdict} for i in self.invariants]
        return rows + [head | {"quantity": f"{level} constraints, {where}", "unit": "SI", "largest_change": value,
                               "slope_per_second": "", "uncertainty": "", "verdict": ""}
                       for level, values in self.constraints.items() for where, value in values.items()]

    def cells(self) -> list[Any]:
        """The rows as they are shown."""
        head = {"method": self.method, "n_elements": self.n_elements}
        rows = [head | {"quantity": f"{i.name} [{i.unit}]", "largest": i.largest, "slope per second":
                        "" if np.isnan(i.slope) else f"{i.slope:.1e} ± {i.uncertainty:.0e}", "verdict": i.verdict}
                for i in self.invariants]
        return rows + [head | {"quantity": f"{level}, {where}", "largest": value, "slope per second": "", "verdict": ""}
                       for level, values in self.constraints.items() for where, value in values.items()]

    def facts(self) -> dict[str, Any]:
        """Everything as plain data, from which `from_facts` makes the same again."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Conservation:
        """The study of `facts`."""
        given = {f.name: facts[f.name] for f in fields(cls)}
        return cls(**given | {"invariants": tuple(Drift(**i) for i in facts["invariants"])})


def conservation(problem: Any, element: TimeElement | None = None, n_elements: int | None = None, *,
                 axes: Sequence[int] | None = None, **arguments: Any) -> Conservation:
    """Invariants and constraints of one solution, at the nodes and at quadrature points.

    Which momenta are conserved follows from the rigid motions of space that all parts leave alone (Noether).

    Parameters
    ----------
    problem : Solution, InitialValueProblem or Case
    element : TimeElement
        For a problem or case.
    n_elements : int
        For a problem; a case has its own number.
    axes : sequence of int, optional
        Space axes about which the angular momentum counts as conserved; default: those of the case, or those found.
    **arguments
        Of `timefem.solve`, for instance `mesh` or `driver`.

    Returns
    -------
    Conservation

    Raises
    ------
    InputError
        For input that cannot be used.
    SolveError
        When the solve fails.
    """
    if isinstance(problem, Solution):
        if element is not None or n_elements is not None or arguments:
            raise InputError("a solution is given; element, n_elements and settings of solve belong to a problem")
        solution, seconds = problem, 0.0
    else:
        if not isinstance(element, TimeElement):
            raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
        if n_elements is None and not {"mesh", "tolerance"} & set(arguments):
            n_elements = getattr(problem, "n_elements", None)
        axes = getattr(problem, "conserved_axes", None) if axes is None else axes
        problem = initial_value_problem(problem)
        solution = solve_on(problem, element, n_elements, **({"progress": False} | arguments))
        seconds = solution.statistics["seconds"]["solve"]
        if not solution.success:
            raise SolveError(f"{element_label(element)}: {solution.status.message}")
    if len(solution.t) == 1:
        raise InputError(f"{solution!r} has no elements, and so nothing to judge")
    constraints, residuals = _constraints(solution)
    return Conservation(element_label(solution.element), len(solution.t) - 1, float(solution.t[-1]), seconds,
                        tuple(_invariants(solution, axes)), constraints, residuals)


def plot_conservation(studies: Conservation | Sequence[Conservation], figure: Any = None) -> Any:
    """Changes of the invariants over time, one panel each, and the largest residuals of the constraints.

    Axes are logarithmic; exact zeros are drawn at 1e-17. Solid: at the nodes; dotted: at quadrature points.

    Parameters
    ----------
    studies : sequence of Conservation
        Of one problem.
    figure : matplotlib Figure, optional

    Returns
    -------
    matplotlib Figure
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    if not studies:
        raise InputError("there is no study to draw")
    units = {i.name: i.unit for s in studies for i in s.invariants}
    levels = list(dict.fromkeys(level for s in studies for level in s.constraints))
    n = len(units) + len(levels)
    columns = 2 if n > 1 else 1
    rows = -(-n // columns)
    figure = figure or plt.figure(figsize=(5.5 * columns, 2.6 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    colours = [COLOURS[i] if len(studies) <= len(COLOURS) else f"C{i % 10}" for i in range(len(studies))]
    meshes = {s.n_elements for s in studies}
    names = [s.method if len(meshes) == 1 else f"{s.method}, {s.n_elements} elements" for s in studies]
    keys = [Line2D([], [], color=c, label=name) for c, name in zip(colours, names, strict=True)]
    keys += [Line2D([], [], color="0.4", linestyle=line, label=where) for where, line in PLACES.items() if levels]
    figure.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 6), fontsize="small")
    for ax, (name, unit) in zip(axes, units.items(), strict=False):
        for i, s in enumerate(studies):
            for own in (x for x in s.invariants if x.name == name):
                ax.semilogy(own.t[1:], np.maximum(np.abs(own.change[1:]), FLOOR), color=colours[i], linewidth=1.0)
        ax.set(title=name, ylabel=f"|change| [{unit}]")
    for ax, level in zip(axes[len(units):], levels, strict=False):
        for i, s in enumerate(studies):
            for where, line in PLACES.items():
                if level in s.residuals:
                    ax.semilogy(s.residuals["t"], np.maximum(s.residuals[level][where], FLOOR), line, linewidth=1.0,
                                color=colours[i])
        ax.set(title=f"{level} constraints" if level == "nonholonomic" else f"constraints, {level} level",
               ylabel="largest residual [SI]")
    for ax in axes[:n]:
        ax.set_xlabel("t [s]")
        ax.grid(alpha=0.3)
    for ax in axes[n:]:
        ax.remove()
    return figure


def conserved_axes(system):
    """Space axes along which linear, and about which angular momentum is constant: two tuples of axes."""
    motions = constant_momenta(system)
    if not all(hasattr(body, "angular_momentum") for body in system.bodies):
        return (), ()
    left = np.abs(np.eye(6) - motions @ np.linalg.pinv(motions)).max(axis=0) < 1e-9
    return tuple(np.flatnonzero(left[:3]).tolist()), tuple(np.flatnonzero(left[3:]).tolist())


def _invariants(solution, axes):
    system, t, z = solution.system, solution.t, solution.z
    energy, potential, work = solution.energy(), system.potential(t, z), solution.energy.work()
    size = np.abs(energy - potential).max() + np.ptp(potential) + np.ptp(work)
    yield drift("energy", "J", t, energy - work, size)
    if "velocity" in solution.fields:
        yield drift("generalized energy", "J", t, solution.energy.generalized() - work, size)
    along, about = conserved_axes(system)
    if axes is not None:
        about = tuple(validate.integer("axes", axis, minimum=0) for axis in np.atleast_1d(axes).tolist())
        validate.choice("largest of axes", max(about, default=0), (0, 1, 2))
    for kind, unit, chosen in (("angular", "kg m^2/s", about), ("linear", "kg m/s", along)):
        if not chosen:
            continue
        total = getattr(solution, f"{kind}_momentum")()
        own = [np.linalg.norm(getattr(b, f"{kind}_momentum")(z[:, s], z[:, system.n_q:][:, s]), axis=-1).max()
               for b in system.bodies for s in [system.coordinates(b)]]
        for axis in chosen:
            yield drift(f"{kind} momentum {'xyz'[axis]}", unit, t, total[:, axis], max(own))


def _constraints(solution):
    """Largest residuals, and their course."""
    system, mesh = solution.system, TimeMesh(solution.t)
    xi, _ = gauss_legendre(solution.element.n_points)
    points = mesh.nodes[:-1, None] + mesh.lengths[:, None] * xi
    at_points = solution.constraints(points)
    values = {level: {"nodes": np.abs(n[1:]).max(axis=-1, initial=0.0),
                      "quadrature points": np.abs(p).max(axis=(-2, -1), initial=0.0)}
              for level, n, p in zip(("configuration", "velocity"), solution.constraints(), at_points, strict=True)}
    values = values if system.n_constraints else {}
    if system.n_nonholonomic:
        values["nonholonomic"] = {
            "nodes": np.abs(system.nonholonomic(solution.t[1:], solution.z[1:])).max(axis=-1),
            "quadrature points": np.abs(system.nonholonomic(points, solution(points))).max(axis=(-2, -1))}
    largest = {level: {where: float(v.max()) for where, v in places.items()} for level, places in values.items()}
    kept = np.unique(np.linspace(0, mesh.n_elements - 1, min(mesh.n_elements, KEPT)).round().astype(int))
    course = {level: {where: v[kept].tolist() for where, v in places.items()} for level, places in values.items()}
    return largest, {"t": mesh.nodes[1:][kept].tolist(), **course}


# ---- Does a number that should stay constant drift, or does it only oscillate?

BLOCKS = 10
CONFIDENCE = 0.95  # two-sided
SHARE = 0.2  # of the range of the values: what a drift has to reach within the series
ROUNDING = 1e-10  # relative change that rounding and Newton's tolerance explain


@dataclass(frozen=True)
class Drift:
    """Change of one number in time.

    Attributes
    ----------
    name, unit : str
    scale : float
        Size of the number, or of what it is made of.
    largest : float
        Largest distance from the first value.
    slope, uncertainty : float
        Drift per second, and half the width of its 95 % confidence interval; NaN for a short series.
    verdict : {"rounding", "bounded", "drifting", "short"}
        "rounding": the largest change is below 1e-10 of the scale. "short": fewer than 20 values. "drifting": the slope
        is surely not zero, and makes a fifth of the range of the values or more. Otherwise "bounded".
    t, change : list of float
        At most 500 of the values, for figures.
    """

    name: str
    unit: str
    scale: float
    largest: float
    slope: float
    uncertainty: float
    verdict: str
    t: list[float]
    change: list[float]

    def facts(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)


def drift(name, unit, t, values, scale):
    """Judge a series.

    The slope is that of the straight line through the means of ten blocks of equal numbers of values, its uncertainty
    from Student's distribution with eight degrees of freedom. The means take out oscillations that are shorter than a
    block, whose values are correlated, so that a fit through all values would look surer than it is. A regular
    oscillation leaves regular means, which pass for a line now and then; its slope is small against its range when the
    series has several periods. What oscillates more slowly cannot be distinguished from a drift.

    Parameters
    ----------
    name, unit : str
    t, values : ndarray, shape (n,)
    scale : float

    Returns
    -------
    Drift
    """
    t, change = np.asarray(t, float), np.asarray(values, float) - values[0]
    largest = float(np.abs(change).max())
    slope, uncertainty = _slope(t, change) if len(t) >= 2 * BLOCKS else (float("nan"), float("nan"))
    if largest <= ROUNDING * scale:
        verdict = "rounding"
    elif np.isnan(slope):
        verdict = "short"
    else:
        grows = abs(slope) > uncertainty and abs(slope) * (t[-1] - t[0]) > SHARE * np.ptp(change)
        verdict = "drifting" if grows else "bounded"
    kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), 500)).round().astype(int))
    return Drift(name, unit, float(scale), largest, slope, uncertainty, verdict, t[kept].tolist(),
                 change[kept].tolist())


def _slope(t, change):
    blocks = np.array_split(np.arange(len(t)), BLOCKS)
    fit = scipy.stats.linregress([t[b].mean() for b in blocks], [change[b].mean() for b in blocks])
    return float(fit.slope), float(fit.stderr * scipy.stats.t.ppf((1 + CONFIDENCE) / 2, BLOCKS - 2))
