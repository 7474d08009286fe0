"""Driver "march": one element at a time."""

import time

import numpy as np

from ...progress import progress
from ...solvers.equations.outcome import Outcome, first_elements
from ...solvers.march.march import CHUNK, march


def solve_one_by_one(job):
    """Solve element by element; returns an `Outcome`."""
    plan, mesh, system = job.plan, job.mesh, job.plan.system
    step, n_node = plan.columns.step, plan.columns.n_node
    n_solved = job.saved.n_solved if job.saved else 0
    x = np.zeros(n_node + mesh.n_elements * step)
    if n_solved:
        x[:n_node + n_solved * step] = job.saved.dofs(0, n_solved, n_node)
    with progress("march", mesh.n_elements, job.show) as bar:
        def advance(n):
            nonlocal n_solved
            n_solved += n
            bar.advance(n)
            return job.visit(n, lambda: (n_solved, n_solved, [(0, x[:n_node + n_solved * step])]))

        bar.advance(n_solved)
        start = time.perf_counter()
        chunk = job.recorder.within(CHUNK) if job.recorder else CHUNK
        x, n_solved, status, iterations = march(
            plan, mesh, job.z0, system.consistent_multipliers(mesh.nodes[0], job.z0), job.scale, job.settings, advance,
            chunk, x, n_solved)
    return Outcome(*first_elements(plan.unpack(x), n_solved), status, iterations, plan.rows.n_interior,
                   {"solve": time.perf_counter() - start})
