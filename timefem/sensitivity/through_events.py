"""Derivatives of marches with rigid contact: stretches of elements in one mode, and what happens at the nodes between.

The times of nodes on events are unknowns, `E(z, t, c) = 0` there; impacts and changes of modes are differentiated with
the statuses that were found. What goes along are changes of (z, t) forwards, or their gradients backwards.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from ..assembly import Scaling, TimeMesh
from ..assembly.assembler import taking_part
from ..elements.evaluation.elements_in_lanes import ElementBatch
from ..elements.evaluation.plan import ElementPlan
from ..elements.extended import costate
from ..elements.part_numbers import AS_IT_IS, LENGTH, Clocked, Contracted, Numbered, NumberPlaces, Numbers
from ..elements.part_numbers import START as LATER
from ..errors import InputError, NotDifferentiable, warn
from ..mechanics.contacts.rigid import refuse_samples
from ..parallel import own_world
from ..solvers.equations.distributed import make_equations
from ..solvers.equations.ends import Ends
from ..solvers.linear.base import linear_options
from ..solvers.nonsmooth import events
from ..solvers.nonsmooth.derivatives.node_tangents import NodeTangents
from ..solvers.nonsmooth.modes import element_of
from ..solvers.nonsmooth.options import CONTACT
from ..solvers.nonsmooth.sharing import BEGINS, without_contacts
from ..solvers.nonsmooth.states import Contacts
from .derivatives import Derivatives, check_solution
from .functionals import Evaluated
from .initial_state import Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..solution.solution import Solution
    from ..solvers.linear.base import LinearOptions
    from .functionals import Functional
    from .parameters import Directions


class Distance(NamedTuple):
    """How far an event is from one that is not smooth.

    Attributes
    ----------
    t : float
        [s]
    kind : str
        "grazing", "change of status", "simultaneous events", "less restitution".
    contacts : tuple of str
    distance : float
        Of speeds and impulses, relative to the largest ones.
    """

    t: float
    kind: str
    contacts: tuple[str, ...]
    distance: float


class _Begun(NamedTuple):
    """Directions in which slips in space begin: unknown angles, for which the slips at the end are along them."""

    by_angles: np.ndarray  # changes of the dofs of its elements, (n_dofs, n)
    across: list  # `EventTangent` of the slip across each
    inverse: np.ndarray  # of the changes of these with the angles, (n, n)

    def angles(self, z, dt, numbers):
        """Changes with those of the state at the end (n_z, K), its time (K,) and the numbers, (n, K)."""
        return -self.inverse @ [row.by_z @ z + row.by_t * dt + row.by_numbers @ numbers for row in self.across]

    def backward(self, by_x):
        """Gradients by state and time of the end and by the numbers, from that by the dofs."""
        sizes = -(by_x @ self.by_angles) @ self.inverse
        return [sum(size * getattr(row, name) for size, row in zip(sizes, self.across, strict=True))
                for name in ("by_z", "by_t", "by_numbers")]


class _Piece(NamedTuple):
    """Elements start, ..., stop - 1 in one mode."""

    start: int
    stop: int
    stretch: Stretch
    places: Any  # of the numbers of the system with contacts among those of its own, sparse
    by_start: np.ndarray  # changes of its rows with the time of its start
    node: Any  # `NodeTangent` of its start
    event: Any  # `EventTangent` of its end, or None where that is fixed, or moves with its start
    by_time: np.ndarray | None  # changes of its dofs with the time of its end; None where that is fixed
    begun: _Begun | None  # of slips in space that begin in it


class ThroughEvents(Derivatives):
    """Derivatives of a march with rigid contacts, as those of other solutions.

    Parameters
    ----------
    solution : ContactSolution
    linear : LinearOptions or str, optional

    Attributes
    ----------
    distances : list of Distance
        Of all events, the nearest first.

    Raises
    ------
    InputError
        For solutions that failed, where elements are of the fallback for many impacts, where contacts leave their
        surfaces at the end, and with sampled controllers.
    """

    def __init__(self, solution: Solution, linear: LinearOptions | str | None = None) -> None:
        check_solution(solution)
        refuse_samples(solution.system, "the derivative of a march through impacts")
        self._solution, self._linear, self.system, self.element = solution, linear, solution.system, solution.element
        for event in solution.events:
            if event.kind.startswith(events.FALLBACK):
                raise InputError(f"the solution has elements for many impacts at t = {event.t:g}, which have no "
                                 "derivatives; take more elements, or let the motion end before")
        for node, kind, c in solution.located:
            if kind == events.LEAVES:
                raise InputError(f"{solution.contact_names[c]} leaves at the end of its surface at t = "
                                 f"{solution.t[node]:g}; derivatives are offered up to there")
        self.contacts, self.mesh = Contacts(self.system), TimeMesh(solution.t)
        self.places = NumberPlaces(self.system)
        self._values = {}
        element = element_of(self.element, without_contacts(self.system))
        self.start = Start(ElementPlan(self.system, element), self.mesh.nodes[0], solution.z[0])
        n_shapes, n_z = solution.nodal.state.shape[1:]
        first = np.arange(n_shapes * n_z).reshape(n_shapes, n_z)
        self._apart = SimpleNamespace(system=self.system, element=self.element, columns=SimpleNamespace(
            step=n_shapes * n_z, first=first))  # states of elements, which share none at their ends
        self._nodes = NodeTangents(self.contacts, solution)
        self._wrapped = {}
        self._pieces = [self._piece(*pair) for pair in pairwise(self._bounds())]
        self.distances = sorted(self._find_distances(), key=lambda found: found.distance)
        for found in self.distances:
            if found.distance < CONTACT.smooth:
                warn(f"{found.kind} at t = {found.t:g} of {', '.join(found.contacts)}: there the motion does "
                     f"not depend smoothly on its numbers (distance {found.distance:.1e}); derivatives are "
                     "those with the events as they are", NotDifferentiable)

    # ---- pieces

    def _bounds(self):
        """Elements at which pieces start, and the end."""
        sol, n = self._solution, len(self._solution.t) - 1
        keys = np.concatenate([sol.contact_modes, sol.slip_signs, sol.mode_nodes[:, None]], axis=1)
        starts = {0, n, *(np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1).tolist()}
        starts |= {node for node, _, _ in sol.located} | {event.node for event in sol.events}
        return sorted(starts)

    def _piece(self, start, stop):
        """Elements are solved again: not all of their multipliers are kept."""
        sol, own = self._solution, self._nodes.mode_system(start)
        mesh, x, n, status = self._nodes.again(own, start, stop)
        if n < stop - start:
            raise InputError(f"the elements from t = {sol.t[start]:g} on are not found again: {status.message}")
        stretch = Stretch(own.plan, mesh, x, self._linear, self._wrapped.setdefault(id(own), {}))
        node = self._nodes.at(start, own)
        located = self._nodes.located(stop)
        by_start, by_end = stretch.residual_by_ends()
        event = by_time = begun = None
        if located is not None and stop < len(sol.t) - 1:
            by_time = self._moved(stretch, by_end[:, None])[:, 0]
            if located[0] == events.BEGINNING:  # an element of a length of its own
                begun = self._begun(stop, stretch, own)
            else:
                event = self._nodes.event(stop, *located, own)
        return _Piece(start, stop, stretch, self._nodes.numbers(own.system), by_start, node, event, by_time, begun)

    @staticmethod
    def _moved(stretch, changed):
        """Changes of the dofs of elements with those of their rows."""
        return stretch.motion(np.zeros((stretch.plan.columns.n_node, changed.shape[1])), changed)

    def _begun(self, stop, stretch, own):
        """`_Begun` of the element before a node."""
        rows = [c for c, mode in enumerate(own.mode.modes) if mode == BEGINS and self.contacts.n_slip[c] == 2]
        across = [self._nodes.event(stop, events.BEGINNING, c, own) for c in rows]
        along = self._solution.slip_directions[stop - 1, rows]
        turned = scipy.sparse.lil_array((stretch.places.size, len(rows)))
        for i, (c, (x, y)) in enumerate(zip(rows, along, strict=True)):
            for place in own.directions(stretch.places, c):
                turned[place:place + 2, i] = [[-y], [x]]
        by_angles = self._moved(stretch, stretch.change_of_residual(scipy.sparse.csc_array(turned)))
        end = by_angles[(stretch.mesh.n_elements - 1) * stretch.plan.columns.step + stretch.plan.columns.first[-1]]
        slips = self.contacts.at_state(self.mesh.nodes[stop], self._solution.z[stop]).gamma[0, rows, 1:]
        matrix = np.array([row.by_z for row in across]) @ end - np.diag((slips * along).sum(axis=1))
        return _Begun(by_angles, across, np.linalg.inv(matrix))

    def _find_distances(self):
        sol, found = self._solution, []
        speed = max((np.abs(piece.node.speeds).max(initial=0.0) for piece in self._pieces), default=0.0) or 1.0
        for event in sol.events:
            if np.isfinite(event.distance):
                found.append(Distance(event.t, "change of status", event.contacts, event.distance))
            if event.share < 1:
                found.append(Distance(event.t, "less restitution", event.contacts, 0.0))
        for piece in self._pieces:
            if piece.event is not None:
                rate = piece.event.rate(self._end(piece, piece.by_time))
                t, names = float(self.mesh.nodes[piece.stop]), (self.contacts.names[piece.event.contact],)
                if piece.event.kind == events.CLOSES:
                    found.append(Distance(t, "grazing", names, abs(rate) / speed))
        found += [Distance(t, "simultaneous events", names, 0.0) for t, names in self._nodes.simultaneous()]
        return found + [Distance(event.t, "grazing", event.contacts, 0.0) for event in sol.events
                        if event.kind == events.TOUCHES]

    # ---- what users ask for

    def gradient(self, functional: Functional, parameters: Any) -> np.ndarray:
        """Gradient of a scalar functional by one transposed sweep; see `timefem.gradient`."""
        given, at = self._directions(parameters), self._of_one_value(functional)
        self._check_start(given)
        by_states, by_numbers = at.backward(np.ones(1), self._solution.nodal.state.size, self.places.size)
        by_times = at.backward_ends(self._solution.nodal.state.ravel(), np.ones(1))
        n_z = self.system.n_z
        by_states = by_states.reshape(self._solution.nodal.state.shape)
        wanted, of_end = np.unique(given.numbers.indices), np.zeros(n_z)
        for piece in reversed(self._pieces):
            stretch, columns = piece.stretch, piece.stretch.plan.columns
            by_x, e = np.zeros(len(stretch.x)), np.arange(piece.stop - piece.start)
            np.add.at(by_x, e[:, None, None] * columns.step + columns.first, by_states[piece.start:piece.stop])
            end = (len(e) - 1) * columns.step + columns.first[-1]
            by_x[end] += of_end
            if piece.begun is not None:
                by_z, by_t, more = piece.begun.backward(by_x)
                by_x[end] += by_z
                by_times[piece.stop] += by_t
                by_numbers += more
            by_end = 0.0 if piece.by_time is None else by_x @ piece.by_time + by_times[piece.stop]
            if piece.event is not None:
                size = -by_end / piece.event.rate(piece.by_time[end])
                by_x[end] += size * piece.event.by_z
                by_numbers += size * piece.event.by_numbers
            elif piece.by_time is not None:
                by_times[piece.start] += by_end
            costates = stretch.transposed_solve(by_x)
            by_times[piece.start] -= costates @ piece.by_start
            own = np.unique((piece.places[:, wanted] != 0).nonzero()[0])
            by_numbers -= piece.places.T @ stretch.residual_by_numbers(costates, own)
            first = by_x[:columns.n_node] - stretch.residual_by_first_node(costates)
            of_end, by_t, more = piece.node.backward(first)
            by_times[piece.start] += by_t
            by_numbers += more
        by_z = np.zeros((1, self.start.plan.columns.n_node))
        by_z[:, self.start.plan.columns.first[0]] = of_end
        return given.numbers.T @ by_numbers + self._start_changes(by_z, given)[0]

    def sensitivities(self, functional: Functional | Sequence[Functional], parameters: Any) -> np.ndarray:
        """Derivatives of all values of a functional, by one sweep for all parameters; see `timefem.sensitivities`."""
        given = self._directions(parameters)
        functionals = functional if isinstance(functional, list | tuple) else [functional]
        every = [self._evaluated(f) for f in functionals]
        self._check_start(given)
        (states, times), numbers = self._follow(given), given.numbers.toarray()
        states, x = states.reshape(-1, states.shape[-1]), self._solution.nodal.state.ravel()
        return np.concatenate([at.forward(states, numbers) + at.forward_ends(x, times) for at in every])

    def end_tangents(self, given: Directions) -> np.ndarray:
        return self._follow(given)[0][-1, -1]

    def event_times(self, parameters: Any) -> np.ndarray:
        """Derivatives of the times of the nodes, shape (n_nodes, n): zero but on events."""
        return self._follow(self._directions(parameters))[1]

    def _follow(self, given):
        """Changes of the states (n_elements, n_shapes, n_z, n) and of the times of the nodes (n_nodes, n)."""
        n, shape = given.numbers.shape[1], self._solution.nodal.state.shape
        states, times, numbers = np.zeros((*shape, n)), np.zeros((len(self.mesh.nodes), n)), given.numbers.toarray()
        first = self._start_changes(np.eye(self.start.plan.columns.n_node), given)
        z = first[self.start.plan.columns.first[0]]
        for piece in self._pieces:
            stretch, columns, here = piece.stretch, piece.stretch.plan.columns, times[piece.start]
            changed = stretch.change_of_residual(scipy.sparse.csc_array(piece.places @ given.numbers))
            changed += np.outer(piece.by_start, here)
            x = stretch.motion(piece.node.forward(z, here, numbers), changed)
            if piece.event is not None:
                missed = piece.event.by_z @ self._end(piece, x) + piece.event.by_numbers @ numbers
                times[piece.stop] = -missed / piece.event.rate(self._end(piece, piece.by_time))
            elif piece.by_time is not None:
                times[piece.stop] = here
            if piece.by_time is not None:
                x += np.outer(piece.by_time, times[piece.stop])
            if piece.begun is not None:
                x += piece.begun.by_angles @ piece.begun.angles(self._end(piece, x), times[piece.stop], numbers)
            e = np.arange(piece.stop - piece.start)
            states[piece.start:piece.stop] = x[e[:, None, None] * columns.step + columns.first]
            z = self._end(piece, x)
        return states, times

    @staticmethod
    def _end(piece, x):
        """Of all dofs of a piece the state at its end."""
        columns = piece.stretch.plan.columns
        return x[(piece.stop - piece.start - 1) * columns.step + columns.first[-1]]

    def _check_start(self, given):
        """Warn where what is closed, sticks or strikes at the start would not with other numbers."""
        own = self._nodes.mode_system(0)
        if not (len(own.mode.sharing.own) or self._nodes.struck_at_start):
            return
        z = self._start_changes(np.eye(self.start.plan.columns.n_node), given)[self.start.plan.columns.first[0]]
        for word, name, changes in self._nodes.broken(own, z, given.numbers):
            labels = [label for label, change in zip(given.labels, changes, strict=True) if change]
            if labels:
                warn(f"{name} {word} at the start, and would not with other {', '.join(labels[:4])}: the "
                     "motion does not depend smoothly on that; derivatives are those with the contact as it "
                     "is", NotDifferentiable)

    def _evaluated(self, functional):
        if functional not in self._values:
            self._values[functional] = Evaluated(functional, self._apart, self.mesh, self._solution.nodal.state.ravel(),
                                                 self.places)
        return self._values[functional]


# ---- The discrete equations of elements in a row, linearised at their solution: one factorisation for all
# derivatives

BATCH = 512  # elements whose derivatives by numbers are in memory at once
LARGEST_STEP = 1e-9  # by which states of a solution that satisfies its equations change, relative to their size
LARGEST_RESIDUAL = 1e-6  # scaled, relative to the state: what a solution has at most


class Stretch:
    """The equations `R(x, c) = 0` of elements in a row, with their first node given: factors of `A = dR/dx`.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    x : ndarray
        All dofs in time order.
    linear : LinearOptions or str, optional
    wrapped : dict, optional
        Of earlier stretches of the same plan, which they share: elements that see numbers, or their clocks.
    """

    def __init__(self, plan: ElementPlan, mesh: TimeMesh, x: np.ndarray, linear: LinearOptions | str | None = None,
                 wrapped: dict[Any, Any] | None = None) -> None:
        linear = linear_options(linear)
        self.plan, self.mesh, self.x = plan, mesh, x
        self.system, self.element = plan.system, plan.element
        self.places = NumberPlaces(self.system)
        states = plan.columns.unpack(x)[0]
        scaling = Scaling.of("full", self.system, self.element, mesh.nodes[0], states[0, 0])
        self.equations = make_equations(plan, mesh, scaling, linear=linear,
                                        comm=own_world() if linear.distributed else None)
        values = self.equations.evaluate(self.equations.take(x))
        size = scaling.size(np.concatenate([states[:1, 0], states[:, -1]]))
        residual = self.equations.norm(values) / size
        self.equations.factor()
        self._scales = _scales(plan, mesh, scaling)
        if not (residual <= LARGEST_RESIDUAL or self._of_rounding(values, scaling, size)):
            raise InputError(f"the solution does not satisfy the equations of all its elements together (residual "
                             f"{residual:.1e}): of {self.element!r} give one of more elements, or, without rigid "
                             "contact, with driver='global'")
        batch = ElementBatch(self.system, self.element)
        _, tangent = batch(x[None, :batch.n_columns], mesh.lengths[:1], mesh.nodes[0])
        # of the rows of the first element by the dofs of the first node
        self._first_tangent = batch.dense(tangent)[0, :, :plan.columns.n_node]
        self._wrapped = {} if wrapped is None else wrapped

    def _of_rounding(self, values, scaling, size):
        """Whether it moves no state to satisfy the rows: those of elements that end at an event close to a node hold
        states over their lengths, with their rounding; and what rests where all states are zero has that of its forces.
        """
        if self.equations.comm is not None or not np.isfinite(values).all():
            return False
        (columns, sizes), _ = self._scales
        step = np.zeros(len(self.x))
        step[columns] = self.equations.solve_whole(values) * sizes[columns]
        moved = np.abs(self.plan.columns.unpack(step)[0] / scaling.state).max(initial=0.0)
        return moved <= LARGEST_STEP * max(size, np.abs(self.x[columns] / sizes[columns]).max(initial=0.0))

    def transposed_solve(self, gradient: np.ndarray) -> np.ndarray:
        """Costates w of all rows, `A^T w = gradient`, shape (n_rows_full,); zero for rows that are left out."""
        (columns, sizes), (rows, weights) = self._scales
        out = np.zeros(len(weights))
        out[rows] = self.equations.solve_whole(gradient[columns] * sizes[columns], transposed=True) * weights[rows]
        return out

    def motion(self, first: np.ndarray, changed: np.ndarray) -> np.ndarray:
        """Changes of all dofs with those of the first node (n_node, n) and of all rows (n_rows_full, n), columns."""
        (columns, sizes), (rows, weights) = self._scales
        changed = changed.copy()
        changed[:self.plan.rows.n_local] += self._first_tangent @ first
        out = np.zeros((len(self.x), first.shape[1]))
        out[:self.plan.columns.n_node] = first
        for column, change in zip(out.T, changed.T, strict=True):
            column[columns] += self.equations.solve_whole(-change[rows] * weights[rows]) * sizes[columns]
        return out

    def residual_by_first_node(self, costates: np.ndarray) -> np.ndarray:
        """Gradient of `costates . residual` by the dofs of the first node, shape (n_node,)."""
        return costates[:self.plan.rows.n_local] @ self._first_tangent

    def residual_by_numbers(self, costates: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Gradient of `costates . residual` by the numbers of the parts `wanted`, shape (n_numbers,)."""
        out = np.zeros(self.places.size)
        if len(wanted):
            numbers, batch = self._with_numbers(Contracted, wanted)
            values = dict(zip(map(costate, self.element.test), self.plan.rows.unpack(costates), strict=True))
            total = sum(rows.sum(axis=0) for _, rows, _ in self._batches(batch, values))
            out[numbers.places] = total[batch.rows.first[0]]
        return out

    def residual_by_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the rows of the first element by the time of its start, and of those of the last one by that
        of its end, shapes (n_rows_full,), [1/s]; the other ends of these elements stay."""
        if Clocked not in self._wrapped:
            self._wrapped[Clocked] = ElementBatch(self.system, Clocked(self.element))
        batch, r, n = self._wrapped[Clocked], self.plan.rows, self.mesh.n_elements
        e = np.array([0, n - 1])
        x = np.zeros((2, batch.n_columns))
        for name, value in zip(self.element.trial, self.plan.columns.unpack(self.x), strict=True):
            x[:, _field(batch, name)] = value[e]
        clock = _field(batch, "clock")[0]
        x[:, clock] = AS_IT_IS
        tangents = batch.dense(batch(x, self.mesh.lengths[e], self.mesh.nodes[e])[1])[:, :, clock]
        longer = tangents[:, :, LENGTH] / self.mesh.lengths[e, None]
        start, end = np.zeros((2, r.n_node + n * r.step))
        start[:r.n_local] = tangents[0, :, LATER] - longer[0]
        end[(n - 1) * r.step:][:r.n_local] = longer[1]
        return start, end

    def _with_numbers(self, wrapper, wanted):
        """Numbers, and elements of the kind `wrapper` that see them, made once."""
        key = wrapper, wanted.tobytes()
        if key not in self._wrapped:
            numbers = Numbers(self.system, wanted)
            self._wrapped[key] = numbers, ElementBatch(self.system, wrapper(self.element, numbers))
        return self._wrapped[key]

    def change_of_residual(self, changes: scipy.sparse.csc_array) -> np.ndarray:
        """Changes of all rows with those of the numbers (n_numbers, n), shape (n_rows_full, n)."""
        r = self.plan.rows
        out = np.zeros((r.n_node + self.mesh.n_elements * r.step, changes.shape[1]))
        wanted = np.unique(changes.indices)
        if not len(wanted):
            return out
        numbers, batch = self._with_numbers(Numbered, wanted)
        component, mine = _numbers_of_entries(batch)
        changes = scipy.sparse.csr_array(changes)[numbers.places].toarray()
        maps = [scipy.sparse.csr_array((c[component], (batch.pattern[0][mine], np.arange(len(mine)))),
                             shape=(r.n_local, len(mine))) for c in changes.T]
        values = np.broadcast_to(numbers.values, (self.mesh.n_elements, 1, len(numbers.values)))
        for e, _, tangent in self._batches(batch, {"numbers": values}):
            entries = np.ascontiguousarray(tangent[:, mine].T)
            index = (e[:, None] * r.step + np.arange(r.n_local)).ravel()
            for column, matrix in zip(out.T, maps, strict=True):
                column += np.bincount(index, (matrix @ entries).T.ravel(), len(column))
        return out

    def _batches(self, batch, more):
        """Elements, residuals and tangents of an element with more fields, some elements at a time."""
        names = list(self.element.trial)
        values = dict(zip(names, self.plan.columns.unpack(self.x), strict=True)) | more
        for start in range(0, self.mesh.n_elements, BATCH):
            e = np.arange(start, min(start + BATCH, self.mesh.n_elements))
            x = np.zeros((len(e), batch.n_columns))
            for name, value in values.items():
                x[:, _field(batch, name)] = value[e]
            yield e, *batch(x, self.mesh.lengths[e], self.mesh.nodes[e])


def _scales(plan, mesh, scaling):
    """Of columns and rows: which take part, an index, and the scales of all."""
    ends, out = Ends.initial_value(plan), []
    for numbering, which, scale in ((plan.columns, ends.free, scaling.columns), (plan.rows, ends.kept, scaling.rows)):
        _, _, index = taking_part(numbering, mesh.n_elements, which)
        out.append((index, scale(numbering, mesh.lengths)))
    return out


def _field(batch, name):
    return batch.columns.fields[list(batch.plan.element.trial).index(name)]


def _numbers_of_entries(batch):
    """Of the tangent entries by numbers: which number, and which entry."""
    field = _field(batch, "numbers")[0]
    place = np.full(batch.n_columns, -1)
    place[field] = np.arange(len(field))
    place = place[batch.pattern[1]]
    return place[place >= 0], np.flatnonzero(place >= 0)
