"""Estimates in files of solutions: covariances of elements or frames, unknown numbers, and the verdict."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...assembly.mesh import TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...elements.part_numbers import with_carrier
from ...errors import InputError
from ...solution.output import hdf5
from ...solution.output.save import without_costs
from ..optimal.transcription.point_rows import ChainView
from ..parameters import checked_parameters
from .dynamic.chain import EstimationChain
from .estimate import Estimate
from .kinematic.solve import KinematicEstimate
from .problem import Estimation, Unknown
from .verdict import Fit, SensorFit

NAME, AGAIN = "estimate", "it was read from a file, which has no {}; solve again"


def write(file: Any, solution: Any) -> None:
    """Add to the file of a solution what is known of its uncertainty.

    Raises
    ------
    InputError
        For unknown numbers that cannot be named in a file.
    """
    if not solution.success:
        return
    problem, fit = solution.problem, solution.fit
    kinematic = isinstance(solution, KinematicEstimate)
    evidence = None if kinematic or solution.at_bounds else solution.log_evidence
    text = {"dynamics": problem.dynamics, "t_span": list(problem.t_span), "log_evidence": evidence,
            "held": {str(k): int(side) for k, side in solution._held.items()},
            "unknowns": [_of_unknown(u) for u in problem.unknowns], "numbers": _entries(problem),
            "follows": _follows(problem), "z0": np.asarray(problem.z0).tolist(),
            "fit": {"chi2": fit.chi2, "degrees_of_freedom": fit.degrees_of_freedom, "undetermined": fit.undetermined,
                    "suspicions": fit.suspicions, "at_bounds": fit.at_bounds,
                    "of_model": fit.of_model, "variance": fit.variance,
                    "sensors": [{**vars(own), "mean": own.mean.tolist()} for own in fit.sensors]}}
    file.attrs[NAME] = json.dumps(text)
    arrays = _of_frames(solution) if kinematic else {"covariances": _packed(_of_elements(solution))}
    for name, values in arrays.items():
        file.create_dataset(f"{NAME}/{name}", data=values, compression="gzip", compression_opts=1, shuffle=True,
                            fletcher32=True)


def read(file: Any, solution: Any) -> Any:
    """The `Estimate` of a file, of the `Solution` that it has.

    Raises
    ------
    InputError
    """
    text = json.loads(hdf5.attribute(file, NAME, str))
    kinematic = text["dynamics"] == "none"
    sol = (KinematicEstimate if kinematic else Estimate)(
        solution.system, solution.element, solution.t, solution.z[0], solution.nodal.state, solution.nodal.multipliers,
        solution.status, solution.statistics, solution.fields)
    problem = _problem(text, solution)
    held = {int(k): side for k, side in text["held"].items()}
    sol.take(problem, (_found_of_frames if kinematic else _found_of_elements)(file, sol, problem, held))
    fit = text["fit"]
    sensors = [SensorFit(**{**own, "mean": np.array(own["mean"]), "outliers": tuple(map(tuple, own["outliers"]))})
               for own in fit.pop("sensors")]
    sol.__dict__["fit"] = Fit(sensors=sensors, **fit)
    if text["log_evidence"] is not None:
        sol.__dict__["log_evidence"] = text["log_evidence"]
    return sol


# ---- problems

def _of_unknown(u):
    bounds = [[x if np.isfinite(x) else None for x in row] for row in u.bounds]
    return {"label": u.label, "sensor": u.sensor, "name": u.name, "places": [u.places.start, u.places.stop],
            "mean": u.mean.tolist(), "covariance": u.covariance.tolist(), "bounds": bounds}


def _entries(problem):
    """Unknown numbers of parts by name: "PART.NUMBER", or None of those that formulas alone have."""
    found = {}
    for name, entry in (problem.numbers or {}).items():
        *where, _ = entry if isinstance(entry, tuple | list) else [entry]
        found[name] = None if not where else where[0] if isinstance(where[0], str) else \
            f"{problem.system.label(problem.system.here(where[0]))}.{where[1]}"
    return found


def _follows(problem):
    for entry, formula in (problem.follows or {}).items():
        if not (isinstance(entry, str) and isinstance(formula, str)):
            raise InputError(f"the estimate cannot be saved: follows: {entry!r}: write number and formula as texts")
    return dict(problem.follows or {})


def _problem(text, solution):
    """As much of the problem as questions about its solution need."""
    entries = {name: 0.0 if where is None else where for name, where in text["numbers"].items()}
    system, _ = checked_parameters(without_costs(solution.system), entries, text["follows"])
    problem = Estimation.__new__(Estimation)
    unknowns = [Unknown(u["label"], u["sensor"], u["name"], slice(*u["places"]), np.array(u["mean"]),
                        np.array(u["covariance"]), tuple(
                            np.array([sign * np.inf if x is None else x for x in row])
                            for row, sign in zip(u["bounds"], (-1, 1), strict=True))) for u in text["unknowns"]]
    n = sum(part.n_controls for part in system.parts)
    problem.__dict__.update(
        system=system, dynamics=text["dynamics"], t_span=tuple(text["t_span"]), unknowns=unknowns, measurements=[],
        part_numbers=checked_parameters(system, entries, text["follows"])[1], z0=np.array(text["z0"]),
        density=np.eye(n), nodes=[], limits=None, loss=None, arrival=None, start_sensors=([], []))
    return problem


# ---- with dynamics

def _of_elements(solution):
    """Covariance of all unknowns of each element, those of its left node included."""
    chain, posterior = solution._found.chain, solution._posterior
    step, n = chain.plan.columns.step, chain.plan.columns.n_local
    return np.array([posterior.covariance(np.arange(e * step, e * step + n)) for e in range(chain.mesh.n_elements)])


class SavedPosterior:
    """Covariances of elements, as questions ask for them.

    Parameters
    ----------
    covariances : ndarray, shape (n_elements, n_local, n_local)
    step, n_node : int
        Unknowns from one element to the next, and of a node.
    """

    def __init__(self, covariances, step, n_node):
        self._covariances, self._step, self._n_node = covariances, step, n_node

    def covariance(self, unknowns):
        """Of unknowns of one element, (n, n)."""
        unknowns = np.asarray(unknowns, int)
        e = max((int(unknowns.max(initial=0)) - self._n_node) // self._step, 0)
        own = unknowns - e * self._step
        return self._covariances[e][np.ix_(own, own)]

    def of_local(self, columns, jacobian):
        """Of numbers with a Jacobian (n, n_local) by unknowns, columns that are -1 left out."""
        used = columns >= 0
        return jacobian[:, used] @ self.covariance(columns[used]) @ jacobian[:, used].T

    def draw(self, rng):
        raise InputError("draws of the estimate: " + AGAIN.format("factors"))


def _found_of_elements(file, sol, problem, held):
    plan = ElementPlan(with_carrier(sol.system, sol.element), sol.element)
    c = plan.columns
    chain = EstimationChain(problem, plan, TimeMesh(sol.t), "none")
    known = {"state": sol.nodal.state, "multipliers": sol.nodal.multipliers, **sol.fields}
    x = c.pack(*(known.get(name, np.zeros((len(sol.t) - 1, *field.shape)))
                 for name, field in zip(sol.element.trial, c.fields, strict=True)))
    shape = (chain.mesh.n_elements, c.n_local * (c.n_local + 1) // 2)
    values = _unpacked(hdf5.numbers(file, f"{NAME}/covariances", shape), c.n_local)
    program = SimpleNamespace(views=ChainView(chain, x, np.arange(len(x))),
                              held={k: SimpleNamespace(active=side) for k, side in held.items()})
    return SimpleNamespace(chain=chain, program=program, v=np.zeros(len(x)), x=x,
                           posterior=SavedPosterior(values, c.step, c.n_node))


# ---- without dynamics

def _of_frames(solution):
    found = solution._found
    smoother, (n, levels, n_q) = found.smoother, found.x.shape
    m, k = levels * n_q, len(found.c)
    states, crossed = np.empty((n, m, m)), np.zeros((n, m, k))
    for first in range(0, n, smoother.options.piece):
        piece = slice(first, min(first + smoother.options.piece, n))
        size = piece.stop - first
        by_states, by_numbers = np.split(np.broadcast_to(np.eye(m + k), (size, m + k, m + k)), [m], axis=2)
        both = smoother.of_states(by_states, piece, by_numbers)
        states[piece], crossed[piece] = both[:, :m, :m], both[:, :m, m:]
    return {"states": _packed(states), "crossed": crossed, "numbers": smoother.number_covariance(), "x": found.x,
            "c": found.c}


class SavedSmoother:
    """Covariances of frames, as questions ask for them."""

    def __init__(self, t, states, crossed, numbers, held):
        self.t, self._states, self._crossed, self._numbers, self.held = t, states, crossed, numbers, held

    def number_covariance(self):
        return self._numbers

    def of_states(self, slopes, frames, by_numbers=None):
        """As of a `Smoother`."""
        out = slopes @ self._states[frames] @ slopes.swapaxes(1, 2)
        if by_numbers is None:
            return out
        crossed = slopes @ self._crossed[frames] @ by_numbers.swapaxes(1, 2)
        return out + crossed + crossed.swapaxes(1, 2) + by_numbers @ self._numbers @ by_numbers.swapaxes(1, 2)

    def draw(self, *others):
        raise InputError("draws of the estimate: " + AGAIN.format("factors"))


def _found_of_frames(file, sol, problem, held):
    n, n_q, k = len(sol.t), problem.system.n_q, problem.n_constants
    levels = sol.element.degree
    m = levels * n_q
    x = hdf5.numbers(file, f"{NAME}/x", (n, levels, n_q))
    states = _unpacked(hdf5.numbers(file, f"{NAME}/states", (n, m * (m + 1) // 2)), m)
    smoother = SavedSmoother(sol.t, states, hdf5.numbers(file, f"{NAME}/crossed", (n, m, k)),
                             hdf5.numbers(file, f"{NAME}/numbers", (k, k)), held)
    return SimpleNamespace(x=x, c=hdf5.numbers(file, f"{NAME}/c", (k,)), smoother=smoother)


def _packed(matrices):
    """Lower triangles of symmetric matrices, one behind the other."""
    i, j = np.tril_indices(matrices.shape[1])
    return matrices[:, i, j]


def _unpacked(values, n):
    out = np.empty((len(values), n, n))
    i, j = np.tril_indices(n)
    out[:, i, j] = out[:, j, i] = values
    return out
