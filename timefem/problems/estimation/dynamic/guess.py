"""Where the search begins."""

import numpy as np

from ....assembly import TimeMesh
from ....late import Late
from ...common.task import Task
from ...initial.march_driver import March
from ...initial.problem import InitialValueProblem

initial = Late("timefem.problems.initial.solve")


def first_guess(task, chain):
    """All unknowns of a chain: the motion from the prior's mean without noise, and means of unknown numbers."""
    problem, element, mesh = task.problem, chain.plan.element, chain.mesh
    times = mesh.points(element.state.basis)
    states, multipliers = _marched(problem, task.element, mesh, problem.z0)
    return unknowns_of(chain, times, states, multipliers, problem.guesses)


def unknowns_of(chain, times, states, multipliers, numbers):
    """Unknowns from nodal states and multipliers."""
    element, plan = chain.plan.element, chain.plan
    values = element.nodal_values(plan.system, times, states, multipliers)
    if chain.problem.n_constants:
        values[list(element.trial).index("constants")][:] = numbers
    return plan.columns.pack(*values)


def prolonged(task, chain, before, x):
    """Unknowns of a chain that goes on where a shorter one ends: what that found, then a march from its last state."""
    plan, mesh, n = chain.plan, chain.mesh, before.mesh.n_elements
    values = [v.copy() for v in plan.columns.unpack(x)]
    last = values[0][-1, -1]
    rest = TimeMesh(mesh.nodes[n:])
    states, multipliers = _marched(chain.problem, task.element, rest, last)
    numbers = before.nodal(x, "constants")[-1, -1] if chain.problem.n_constants else np.zeros(0)
    more = unknowns_of(chain, rest.points(plan.element.state.basis), states, multipliers, numbers)
    return plan.columns.pack(*(np.concatenate(both) for both in zip(values, plan.columns.unpack(more), strict=True)))


def _marched(problem, element, mesh, z0):
    """Nodal states and multipliers of a march; where it fails the last state goes on."""
    start = InitialValueProblem.__new__(InitialValueProblem)
    span = float(mesh.nodes[0]), float(mesh.nodes[-1])
    start.__dict__.update(system=problem.system, z0=z0, t_span=span, _state=z0, _assemble=False)
    task = Task(start, element, mesh=mesh, driver=March(keep_mesh=True), progress=False)
    found = initial.run_driver(task, mesh)
    n = found.n_solved
    state, multipliers, _ = found.values.arrays
    shape = (mesh.n_elements, element.state.basis.n_shapes, problem.system.n_z)
    out = np.empty(shape)
    out[:n] = state
    out[n:] = state[-1, -1] if n else z0
    full = np.zeros((mesh.n_elements, element.multiplier.basis.n_shapes, problem.system.n_multipliers))
    if multipliers.shape[-1] == full.shape[-1]:
        full[:n] = multipliers
    return out, full
