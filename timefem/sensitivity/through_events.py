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

from ..assembly import TimeMesh
from ..elements.augmented.part_numbers import NumberPlaces
from ..elements.evaluation.plan import ElementPlan
from ..errors import InputError, NotDifferentiable, warn
from ..solvers.nonsmooth import events
from ..solvers.nonsmooth.derivatives.node_tangents import NodeTangents
from ..solvers.nonsmooth.modes import element_of
from ..solvers.nonsmooth.options import CONTACT
from ..solvers.nonsmooth.sharing import BEGINS, without_contacts
from ..solvers.nonsmooth.states import Contacts
from .derivatives import Derivatives, check_solution
from .functionals import Evaluated
from .initial_state import Start
from .stretch import Stretch

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


class _Piece(NamedTuple):
    """Elements start, ..., stop - 1 in one mode."""

    start: int
    stop: int
    stretch: Stretch
    places: Any  # of the numbers of the system with contacts among those of its own, sparse
    by_start: np.ndarray  # changes of its rows with the time of its start
    node: Any  # `NodeTangent` of its start
    event: Any  # `EventTangent` of its end, or None where its time is fixed
    by_time: np.ndarray | None  # changes of its dofs with that time


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
        For solutions that failed, and where elements are of the fallback for many impacts.
    """

    def __init__(self, solution: Solution, linear: LinearOptions | str | None = None) -> None:
        check_solution(solution)
        self._solution, self._linear, self.system, self.element = solution, linear, solution.system, solution.element
        for event in solution.events:
            if event.kind.startswith(events.FALLBACK):
                raise InputError(f"the solution has elements for many impacts at t = {event.t:g}, which have no "
                                 "derivatives; take more elements, or let the motion end before")
        self.contacts, self.mesh = Contacts(self.system), TimeMesh(solution.t)
        self.places = NumberPlaces(self.system)
        self._values = {}
        element = element_of(self.element, without_contacts(self.system))
        self.start = Start(ElementPlan(self.system, element), self.mesh.nodes[0], solution.z[0])
        n_shapes, n_z = solution.nodal_state.shape[1:]
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
        sol, own, nodes = self._solution, self._nodes.mode_system(start), self.mesh.nodes[start:stop + 1]
        if BEGINS in own.mode.modes:
            name = self.contacts.names[own.mode.modes.index(BEGINS)]
            raise InputError(f"{name} begins to slip in space at t = {nodes[0]:g}; derivatives are offered of slips "
                             "along lines, and in space of those that end")
        mesh, x, n, status, _ = own.dofs(nodes, sol.nodal_state[start, 0], exact=True)
        if n < stop - start:
            raise InputError(f"the elements from t = {nodes[0]:g} on are not found again: {status.message}")
        stretch = Stretch(own.plan, mesh, x, self._linear, self._wrapped.setdefault(id(own), {}))
        node = self._nodes.at(start, own)
        located = self._nodes.located(stop)
        by_start, by_end = stretch.residual_by_ends()
        event = by_time = None
        if located is not None and stop < len(sol.t) - 1:
            by_time = stretch.motion(np.zeros((stretch.plan.columns.n_node, 1)), by_end[:, None])[:, 0]
            event = self._nodes.event(stop, *located, own)
        return _Piece(start, stop, stretch, self._nodes.numbers(own.system), by_start, node, event, by_time)

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
        by_states, by_numbers = at.backward(np.ones(1), self._solution.nodal_state.size, self.places.size)
        by_times = at.backward_ends(self._solution.nodal_state.ravel(), np.ones(1))
        n_z = self.system.n_z
        by_states = by_states.reshape(self._solution.nodal_state.shape)
        wanted, of_end = np.unique(given.numbers.indices), np.zeros(n_z)
        for piece in reversed(self._pieces):
            stretch, columns = piece.stretch, piece.stretch.plan.columns
            by_x, e = np.zeros(len(stretch.x)), np.arange(piece.stop - piece.start)
            np.add.at(by_x, e[:, None, None] * columns.step + columns.first, by_states[piece.start:piece.stop])
            end = (len(e) - 1) * columns.step + columns.first[-1]
            by_x[end] += of_end
            if piece.event is not None:
                size = -(by_x @ piece.by_time + by_times[piece.stop]) / piece.event.rate(piece.by_time[end])
                by_x[end] += size * piece.event.by_z
                by_numbers += size * piece.event.by_numbers
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
        states, x = states.reshape(-1, states.shape[-1]), self._solution.nodal_state.ravel()
        return np.concatenate([at.forward(states, numbers) + at.forward_ends(x, times) for at in every])

    def end_tangents(self, given: Directions) -> np.ndarray:
        return self._follow(given)[0][-1, -1]

    def event_times(self, parameters: Any) -> np.ndarray:
        """Derivatives of the times of the nodes, shape (n_nodes, n): zero but on events."""
        return self._follow(self._directions(parameters))[1]

    def _follow(self, given):
        """Changes of the states (n_elements, n_shapes, n_z, n) and of the times of the nodes (n_nodes, n)."""
        n, shape = given.numbers.shape[1], self._solution.nodal_state.shape
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
                x += np.outer(piece.by_time, times[piece.stop])
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
        """Warn where what is closed or sticks at the start would not be with other numbers."""
        own = self._nodes.mode_system(0)
        if not len(own.mode.sharing.own):
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
            self._values[functional] = Evaluated(functional, self._apart, self.mesh, self._solution.nodal_state.ravel(),
                                                 self.places)
        return self._values[functional]
