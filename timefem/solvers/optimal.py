"""Optimal control: from a coarse mesh to the given one."""

import time

import numpy as np

from ..assembly import Scaling, TimeMesh
from ..elements import ElementPlan
from ..elements.derived import Carrier, Controlled, Optimality, WithConstants
from ..errors import InputError
from ..mechanics import GeneralizedBody, Pose, RigidBodyBase, System, rotations
from .job import Outcome
from .newton import Newton
from .optimal_chain import OptimalChain
from .reach import check_reach
from .saddle import solve_minimum, solve_saddle

COARSE, RATIO = 64, 10  # elements of the coarsest mesh, and from one mesh to the next


def optimality_element(problem, element):
    """The element of the optimality system, and the system with what that needs."""
    element, system = Controlled(element), problem.system
    if problem.free_time:
        element = WithConstants(element, 1, True)
        system = System([*system.parts, Carrier(1)], redundant=system.redundant)
    return Optimality(element), system


def solve_optimal(problem, element, mesh, *, backend="chain", options=None, guess=None, settings=None, scaling="full"):
    """Solve an `OptimalControl` problem with a time element on a mesh; see `timefem.solve`.

    Returns
    -------
    element : TimeElement
        That of the optimality system, whose fields the outcome has.
    system : System
    outcome : Outcome
    stretch : float
        Final time over that of the mesh.
    objective : float
    """
    start = time.perf_counter()
    element.check(problem.system)
    if problem.system.n_constraints and getattr(element, "multipliers", "") == "continuous":
        raise InputError("optimal control takes multipliers='discontinuous': continuous ones would have to be prescribed "
                         "at the start, where they depend on the controls")
    optimality, system = optimality_element(problem, element)
    plan = ElementPlan(system, optimality)
    scale = Scaling.of(scaling, system, optimality, mesh.nodes[0], problem.z0)
    seconds, iterations = {"setup": time.perf_counter() - start, "assemble": 0.0, "solve": 0.0}, 0
    values = None
    for level in ([mesh] if problem.bounded else meshes(mesh)):
        if values is None:
            x = first_guess(problem, plan, level, guess)
            check_reach(OptimalChain(problem, plan, level, scale), x)
        else:
            x = prolonged(plan, previous, level, values)
            x = np.concatenate([x, end])
        for hold in (True, False) if problem.free_time and values is None and not problem.bounded else (False,):
            chain = OptimalChain(problem, plan, level, scale, backend, options, hold)
            if problem.bounded:
                from .ipopt import solve_bounded

                x, status, iterations = solve_bounded(chain, x, settings and settings.max_iterations)
            else:
                solver = solve_minimum if level.n_elements <= COARSE else solve_saddle
                x, status = solver(chain, x, settings or Newton(max_iterations=200))
                iterations = len(status.residual_history) - 1
            for name, value in chain.seconds.items():
                seconds[name] += value
            if not status.success:
                break
        if not status.success and level is not mesh:
            values = None  # a finer mesh may do
            continue
        _, dofs, end = chain.split(x)
        previous, values = level, plan.columns.unpack(dofs)
    seconds["total"] = time.perf_counter() - start
    state, multipliers, others = plan.unpack(dofs)
    outcome = Outcome(state, multipliers, others, status, np.array([iterations]), chain.n_unknowns, seconds,
                      backward_error=chain.backward_error)
    return optimality, system, outcome, chain.stretch(x), chain.objective(x)


def meshes(mesh):
    """Meshes of which each is part of the next one, the given one last."""
    levels = [mesh]
    while levels[-1].n_elements > COARSE:
        nodes = levels[-1].nodes
        stride = min(RATIO, -(-levels[-1].n_elements // COARSE))
        levels.append(TimeMesh(np.append(nodes[:-1:stride], nodes[-1])))
    return levels[::-1]


def prolonged(plan, coarse, mesh, values):
    """All dofs on a mesh, interpolated from nodal values on a coarser one whose nodes it has."""
    parent = np.clip(np.searchsorted(coarse.nodes, mesh.nodes[:-1] + mesh.lengths / 2, side="right") - 1, 0,
                     coarse.n_elements - 1)
    fine = []
    for nodal, space in zip(values, plan.columns.spaces, strict=True):
        xi = (mesh.points(space.basis) - coarse.nodes[parent, None]) / coarse.lengths[parent, None]
        shapes = space.basis.values(xi.ravel()).reshape(*xi.shape, -1)
        fine.append(np.einsum("eis,esa->eia", shapes, nodal[parent]))
    return plan.columns.pack(*fine)


def first_guess(problem, plan, mesh, guess):
    """All unknowns to start from: given states, or those between start and end; no forces, no costates."""
    system, element = plan.system, plan.element
    times = mesh.points(element.state.basis)
    multipliers = np.zeros((mesh.n_elements, element.multiplier.basis.n_shapes, system.n_multipliers))
    if guess is None:
        state = between(problem, times)
    elif callable(guess):
        state = np.asarray(guess(times.ravel()), float).reshape(*times.shape, system.n_z)
    else:
        raise InputError(f"guess must be a function t -> z or a Solution, not {guess!r}")
    if not np.all(np.isfinite(state)):
        raise InputError("guess must be finite")
    state[0, 0] = problem.z0
    x = plan.pack(mesh, state, multipliers)
    return np.concatenate([x, np.zeros(len(problem.conditions.combinations))])


def between(problem, times):
    """States on a smooth way from the start to the end, at times of shape (n_elements, n_shapes)."""
    system, z0, z1 = problem.system, problem.z0, problem.conditions.state
    t0, t1 = problem.t_span
    tau = (times.ravel() - t0) / (t1 - t0)
    s, rate = tau**2 * (3 - 2 * tau), 6 * tau * (1 - tau) / (t1 - t0)
    out = np.zeros((len(tau), system.n_z))
    for body in system.bodies:
        part = system.coordinates(body)
        momenta = slice(system.n_q + part.start, system.n_q + part.stop)
        a, b = z0[part], z1[part]
        if isinstance(body, RigidBodyBase):
            first, axis_angle = _turn(body, a, b)
            for i in range(len(tau)):
                pose = Pose(a[:3] + s[i] * (b[:3] - a[:3]), _turned(first, s[i] * axis_angle),
                            rate[i] * (b[:3] - a[:3]), rate[i] * axis_angle, "space")
                out[i, part], out[i, momenta] = body.state(pose)
            continue
        q, v = a + s[:, None] * (b - a), rate[:, None] * (b - a)
        out[:, part] = q
        if isinstance(body, GeneralizedBody):
            v = np.einsum("...ab,...b->...a", body.mass_matrix(q), v)
        else:
            v = v * body.mass_scale
        out[:, momenta] = v
    return out.reshape(*times.shape, system.n_z)


def _turn(body, a, b):
    """Quaternion at the start, and axis times angle (in space) of the rotation to the end."""
    if hasattr(body, "quaternion"):
        first, last = body.quaternion(a), body.quaternion(b)
    else:
        first, last = (rotations.as_quaternion(body.rotation_matrix(q)) for q in (a, b))
        last = last if first @ last >= 0 else -last
    vector, scalar = rotations.spatial_map(first) @ last, first @ last  # last = turn o first
    size = np.linalg.norm(vector)
    return first, (2 * np.arctan2(size, scalar) / size if size else 0.0) * vector


def _turned(quaternion, axis_angle):
    angle = np.linalg.norm(axis_angle)
    if angle == 0:
        return quaternion
    half = np.sin(angle / 2) / angle * axis_angle
    turned = np.cos(angle / 2) * quaternion + rotations.spatial_map(quaternion).T @ half
    return turned / np.linalg.norm(turned)
