"""How far is a motion off that was marched? By what its own polynomials show, and where that leaves doubts by elements
of half the length.

All is relative to the amplitude of the body, as in `solvers.march.resolution`, and so is what counts as rest.
What is reported is an error of coordinates; of momenta, which may belong to vibrations that hardly move what they are
of, only that they are missed at all. In doubt are errors of either: what an encounter that is over in few elements
does to the momenta, such as a bounce or a perihelion, carries the coordinates away as long as the motion goes on.
"""

import math
from typing import NamedTuple

import numpy as np

from ..assembly import Scaling, TimeMesh
from ..elements.evaluation.plan import ElementPlan
from ..mechanics.values.forces import switching_of
from ..solvers.march.events import missed_forces
from ..solvers.march.march import Run, march
from ..solvers.march.resolution import amplitudes, at_rest, differences, excess, find_ranges, largest_sizes
from ..solvers.nonlinear.newton import Newton
from .options import OPTIONS


def surely_resolves(plan, system, t, x):
    """Whether `estimated_error` surely has nothing in doubt in a motion with ends of elements t and all dofs x of a
    plan: by the amplitude of each component, in a fraction of the time."""
    (difference, _), found = differences(plan.element), np.zeros((4, system.n_z))
    find_ranges(x, plan.columns.first, plan.columns.step, t, difference, found)
    low, high, *squares = found
    size = np.maximum((high - low) / 2, at_rest(system, largest_sizes(system, found[:2])))
    return bool((_phase_errors(plan.element, squares, len(t) - 1, size) <= OPTIONS.error_in_doubt).all())


def _phase_errors(element, squares, n, amplitudes):
    """Errors of components over those that are to be reported, of n elements in all, estimated from sums as of
    `find_ranges` and amplitudes.

    The change of the highest divided difference from element to element over that difference is the turn x per element
    of the vibration that it shows, and the difference over x^m / m! the amplitude; where that would be more than all of
    the motion, x is more. Elements of order p miss x^(p + 1) / C of its phase each; at most they miss all of it.
    """
    order = getattr(element, "order", 2)
    constant = math.gamma(order + 1) * math.gamma(order + 2) / math.gamma(order / 2 + 1) ** 2  # 12, 720, 100800, ...
    power = max(element.state.basis.degree, 2)
    own, changes = np.sqrt(2 * np.array(squares) / n)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sized = math.factorial(power) * own / amplitudes
        turn = np.maximum(np.where(own > 0, changes / own, 0.0), sized ** (1 / power))
        error = np.where(turn > 0, sized / turn**power * np.minimum(n * turn ** (order + 1) / constant, 2.0), 0.0)
    return error / OPTIONS.error_shown


def _shown(n_z):
    """Errors of the components of a state, over their amplitudes, that are to be reported."""
    return np.repeat([OPTIONS.error_shown, OPTIONS.momenta_shown], n_z // 2)


def estimated_error(system, element, t, z, nodal):
    """The error of a motion over the one that is to be reported, as its own polynomials show it; float.

    For what is marched. Arguments as of `excess`. The estimate takes what it sees for vibrations that go on: what is
    damped, driven or free only for a while is off by less. `measured_error` looks closer.
    """
    (difference, _), found = differences(element), np.zeros((4, z.shape[1]))
    n_shapes, n_z = nodal.shape[1:]
    places = np.arange(n_shapes * n_z).reshape(n_shapes, n_z)
    find_ranges(np.ascontiguousarray(nodal).reshape(-1), places, n_shapes * n_z, t, difference, found)
    return float(_phase_errors(element, found[2:], len(t) - 1, amplitudes(system, t, z)).max(initial=0.0))


class Missed(NamedTuple):
    """How far a motion is off: at the end of which element first by more than is to be reported, which component of the
    state, by what part of the amplitude of its body, infinite where elements of half the length cannot be solved; and
    how many elements of the whole motion do, or None."""

    end: int
    component: int
    error: float
    needed: int | None


def measured_error(system, element, t, z, nodal, counted=True):
    """Where a motion that was marched differs too far from one by elements of half the length, a `Missed`; None where
    it does nowhere. They are marched up to there, or to where they cannot be solved. `counted`: tries how many elements
    do where the first ones miss all."""
    nodes = np.sort(np.concatenate([t, (t[1:] + t[:-1]) / 2]))
    mesh, (plan, marched), n = TimeMesh(nodes), marching(system, element, t[0], z[0]), len(t) - 1
    x = np.zeros(plan.columns.n_node + mesh.n_elements * plan.columns.step)
    size, solved, found = amplitudes(system, t, nodal.reshape(-1, system.n_z)), 0, []
    shown = _shown(system.n_z)

    def compare(new):
        nonlocal solved
        first, solved = solved // 2, solved + new
        ends = 2 * np.arange(first, solved // 2) + 1
        error = np.abs(x[ends[:, None] * plan.columns.step + plan.columns.first[-1]] - z[first + 1:solved // 2 + 1])
        off = np.flatnonzero((error / size > shown).any(axis=1))
        if len(off):
            found.append((first + 1 + int(off[0]), error[off[0]] / size))
        return bool(found)

    _, done, status, _ = marched(mesh, Run(compare, x=x))
    if found:
        end, error = found[0]
    elif status.success:
        return None
    else:
        end, moved = done // 2, np.abs(np.diff(z[done // 2:done // 2 + 2], axis=0)[0]) / size
        error = np.where(moved == moved.max(), np.inf, 0.0)
    worst, order, needed = int((error / shown).argmax()), getattr(element, "order", 2), None
    if error[worst] <= OPTIONS.momenta_shown:  # else nothing tells by how much it is off
        wrong = error[worst] / shown[worst] * n / end / (1 - 0.5**order)
        needed = int(np.ceil(n * (wrong / OPTIONS.error_in_doubt) ** (1 / order)))
    if counted:
        needed = elements_that_do(plan, marched, t[[0, -1]], z[0], needed or 2 * n, needed)
    return Missed(end, worst, float(error[worst]), needed)


def marching(system, element, t, z):
    """The `ElementPlan` of marches from a state, and what makes one: `march` of a mesh and a `Run`."""
    plan, scaling = ElementPlan(system, element), Scaling.of("full", system, element, t, z)
    multipliers, newton = system.consistent_multipliers(t, z), Newton()
    return plan, lambda mesh, *run: march(plan, mesh, z, multipliers, scaling, newton, *run)


def elements_that_do(plan, marched, t_span, z0, n, estimate):
    """How many elements resolve the whole of a motion, n or more; None where it would take too many to know, or the
    `estimate` where not even n are tried. Arguments after those of `marching`.

    It is marched on meshes twice as fine as the one before, until vibrations are resolved and what two meshes differ by
    is not to be reported; it falls by the order from there. Errors that grow on the way, as beyond an encounter, show
    nowhere before. The order is one where forces begin or end, anywhere in an element.
    """
    system, before = plan.system, None
    order = getattr(plan.element, "order", 2) if switching_of(system, steep=True) is None else 1
    most = OPTIONS.error_most / plan.columns.step
    if 2 * n > most:
        return estimate
    while n <= most:
        mesh, found = TimeMesh.uniform(t_span, n), None
        x, _, status, _ = marched(mesh)
        if status.success:
            nodal = plan.columns.unpack(x)[0]
            found = mesh.nodes, np.concatenate([z0[None], nodal[:, -1]]), nodal
            if before is not None:
                t, z, _ = found
                off = (np.abs(z[::2] - before[1]) / amplitudes(system, t, z) / _shown(system.n_z)).max()
                if (off <= 1.0 and excess(system, plan.element, *found)[0].max() <= 1.0
                        and missed_forces(system, plan.element, *before) is None):
                    return int(np.ceil(n / 2 * max(off / OPTIONS.error_in_doubt, 1.0) ** (1 / order)))
        n, before = 2 * n, found
    return None
