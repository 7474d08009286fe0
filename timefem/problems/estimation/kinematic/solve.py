"""Estimation without dynamics solved: the motion at the frames, as elements between them."""

import time
from dataclasses import replace
from functools import cached_property

import numpy as np

from ....assembly.mesh import TimeMesh
from ....elements.evaluation.nodal_values import NodalValues
from ....errors import InputError
from ....mechanics.numbers.unknown import with_values
from ....parallel import own_world
from ....progress import progress
from ....solvers.equations.outcome import Outcome
from ....status import Reason, Status
from ...common.statistics import solve_statistics
from .estimate import KinematicEstimate
from .fit import Asked, fit
from .noise import densities
from .options import DEFAULT
from .statement import PartNumbers, limits_of, momenta_of, sensors_of


def solve_kinematic(task):
    """The `KinematicEstimate` of a `Task` of `timefem.solve`."""
    start, problem, element = time.perf_counter(), task.problem, task.element
    if task.mesh is None or not np.array_equal(task.mesh.nodes, problem.own_mesh.nodes):
        raise InputError("without dynamics the frames are the times of the measurements: leave out n_elements and mesh")
    if task.guess is not None and not callable(task.guess):
        raise InputError(f"guess must be a function t -> z or a Solution, not {task.guess!r}")
    system, n = problem.system, problem.system.n_q
    guess = None if task.guess is None else lambda t: np.array([task.guess(time) for time in t])[:, :n]
    options = DEFAULT if task.newton is None else \
        replace(DEFAULT, tolerance=task.newton.tol_increment, iterations=task.newton.max_iterations)
    asked = Asked(element.degree, problem.t_span, options, limits_of(problem),
                  own_world() if task.driver.distributed else None, PartNumbers.of(problem), problem.number_bounds)
    with progress("estimation without dynamics", show=task.progress):
        found = fit(system, sensors_of(problem), lambda geometry: densities(geometry, problem.noise),
                    (problem.z0[:n], guess), asked)
    return estimate_of(task, found, time.perf_counter() - start)


def estimate_of(task, found, total):
    """The `KinematicEstimate` of a `Fit`, which took `total` seconds."""
    problem, element, system = task.problem, task.element, task.problem.system
    status = Status(True) if found.converged else \
        Status.failure(Reason.NOT_CONVERGED, 0, problem.t_span[0], [], detail=found.message)
    t = found.smoother.t
    mesh = TimeMesh(t)  # with frames where unknown clocks put them
    if len(problem.part_numbers) and status.success:
        values = {u.name: float(found.c[u.places][0]) for u in problem.unknowns if u.sensor is None}
        system = with_values(system, problem.part_numbers, values)
    seconds = {"setup": 0.0, "assemble": 0.0, "solve": total, "total": total}
    n_unknowns = len(t) * found.smoother.size + len(found.c)
    values = FrameValues(system, element, mesh, found)
    outcome = Outcome(values, status, np.array([found.iterations]), n_unknowns, seconds, n_ranks=found.n_ranks)
    statistics = solve_statistics(task.driver, "block Cholesky", mesh, outcome, objective=found.objective)
    z0 = momenta_of(system, t[:1], found.x[:1])[0]
    sol = KinematicEstimate.of(system, element, mesh.nodes, z0, values, status, statistics)
    sol.take(problem, found)
    return sol


class FrameValues(NodalValues):
    """Nodal values of all fields, worked out when they are first asked for: between frames the coordinates are the
    polynomials of their ends."""

    def __init__(self, system, element, mesh, found):
        self._of = system, element, mesh, found

    def __len__(self):
        return self._of[2].n_elements

    def __reduce__(self):
        return NodalValues, self.arrays

    @cached_property
    def _values(self):
        system, element, mesh, found = self._of
        points = mesh.points(element.state.basis)
        q, v = _between(points, mesh, found.x)
        x = np.stack([q.reshape(-1, system.n_q), v.reshape(-1, system.n_q)], axis=1)
        z = momenta_of(system, points.ravel(), x).reshape(*points.shape, system.n_z)
        n = element.multiplier.basis.n_shapes if "multipliers" in element.trial else 1
        multipliers = np.zeros((len(points), n, system.n_multipliers))
        state, multipliers, *others = element.nodal_values(system, points, z, multipliers)
        named = zip(list(element.trial)[2:], others, strict=False)
        return state, multipliers, {name: values for name, values in named if values.size}

    @property
    def state(self):
        return self._values[0]

    @property
    def multipliers(self):
        return self._values[1]

    @property
    def others(self):
        return self._values[2]


def _between(points, mesh, x):
    """Coordinates and velocities at points of the elements, by those at their ends."""
    h = mesh.lengths[:, None, None]
    s = (points - mesh.nodes[:-1, None])[..., None] / h
    first, last = x[:-1, 0][:, None], x[1:, 0][:, None]
    start, end = h * x[:-1, 1][:, None], h * x[1:, 1][:, None]
    q = ((1 + 2 * s) * (1 - s) ** 2 * first + s * (1 - s) ** 2 * start
         + s**2 * (3 - 2 * s) * last - s**2 * (1 - s) * end)
    v = 6 * s * (s - 1) * (first - last) + (1 - s) * (1 - 3 * s) * start + s * (3 * s - 2) * end
    return q, v / h
