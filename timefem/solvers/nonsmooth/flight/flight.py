"""Motion with all contacts open, as a compiled loop finds it from impact to impact."""

import time
from typing import NamedTuple

import numpy as np

from ....kernels.compile import default_backend
from ....kernels.loops import all_compiled
from ....mechanics.values.equations_of_motion import MotionFormulas
from ....mechanics.values.evaluate import evaluator
from ....mechanics.values.of_parts import couples_inertia
from ....status import Status
from ...march.march import CHUNK, FIRST_CHUNK, LONG_CHUNK
from .. import events
from ..impact_law import law_arrays
from ..mobility import Block
from ..modes import Solved
from ..node import SAID
from ..options import LAW
from ..sharing import OPEN
from ..states import NAMES
from .loop import fly
from .node_loop import LOOKS, QUANTITIES, Flight, Formulas, Limits, Moving, Rows, Told


def can_fly(contacts, element):
    """Whether a system with all contacts open is one that the compiled loop knows."""
    system = contacts.system
    plain = not (couples_inertia(system) or system.n_nonholonomic or contacts.persistent.any() or contacts.reactions
                 or len(contacts.flows) or any(body.velocity_by_solve for body in system.bodies))
    driven = any(group.part.has_velocity and not (group.part.is_body or group.part.is_counter)
                 for group in system.groups)
    return plain and not driven and element.form == "hamilton" and default_backend() == "llvm"


class Flights:
    """Stretches of a `ContactMarch` with all contacts open, as far as the compiled loop takes them."""

    slow = 0.0  # seconds that all marches of the process took without the loop, where it could have been taken

    def __init__(self, march):
        self._march, self._flight, self._began, self._ready = march, None, None, False

    def go_on(self, k):
        """Go on where all contacts are open, k is the next node of the mesh; whether the march came any further."""
        march, now = self._march, time.perf_counter()
        if self._began is not None:
            Flights.slow, self._began = Flights.slow + now - self._began, None
        if (march.modes != OPEN).any() or self._flight is False:
            return False
        if self._flight is None:
            self._flight = can_fly(march.contacts, march.element) and CompiledFlight(
                march.mode_system(), march.law, march.options)
        if not self._flight:
            return False
        if not self._ready and not self._flight.ready(march.t, march.z, len(march.mesh.nodes) - k):
            self._began = now
            return False
        self._ready = True
        flown = self._flight.go(march, k)
        march.accept_flight(flown)
        return len(flown.solved.state) > 0 or flown.code != LOOKS


class Flown(NamedTuple):
    """How far a flight came.

    Attributes
    ----------
    solved : Solved
    t, z
        Where it is then: at a node at which something happens, before that.
    events : list of ContactEvent
    located : list of (int, str, int)
        Nodes count from the start of the flight.
    zero : set
        What is zero at the end as it has just opened, see `ContactMarch`.
    code : int
    closes : int
        Contact that closes there, where it STRIKES.
    """

    solved: object
    t: float
    z: np.ndarray
    events: list
    located: list
    zero: set
    code: int
    closes: int


class CompiledFlight:
    """The compiled loop, and what it takes, for one march.

    Parameters
    ----------
    mode : ModeSystem
        With all contacts open.
    law : NodeLaw
    options : ContactOptions
    """

    def __init__(self, mode, law, options):
        self.mode, self.law, self.contacts, self.options = mode, law, law.contacts, options
        self._flight, self._chunk = None, FIRST_CHUNK

    def ready(self, t, z, n):
        """Whether there is machine code, or it pays to make it, for about n elements from a state on."""
        surely = all_compiled() or Flights.slow > self.options.slow
        if self._flight is None:
            self._flight = self._made(t, z, n, surely)
        return self._flight is not None and (surely or fly.at_hand(self._flight, np.zeros(1), 0, 0, 0.0))

    def _made(self, t, z, n, surely):
        """The `Flight` of this march, of what the mode keeps from march to march."""
        mode = self.mode
        mode.prepare(t, z)
        if mode.flight is None or mode.flight[0] != self.options:
            system = self.contacts.system
            self._evaluators = [evaluator(system, "gaps", "gap rates"), evaluator(system, "velocity"),
                                evaluator(system, "momentum"), evaluator(system, *NAMES, formulas=MotionFormulas)]
            tables = [one.tables(system, n, surely) for one in self._evaluators]
            if any(one is None for one in tables):  # it does not pay to make machine code of formulas
                return None
            mode.flight = self.options, self._evaluators, self._record(tables, self.contacts.at_state(t, z))
        _, self._evaluators, record = mode.flight
        columns, size = mode.plan.columns, len(record.told.ends)
        many = mode.arrays(np.zeros(columns.n_node + size * columns.step), *np.zeros((2, size)))
        return record.replaced(march=many, one=mode.arrays(np.zeros(columns.n_local), *np.zeros((2, 1))))

    def _record(self, tables, here):
        """A `Flight` but for what it marches, from tables of the evaluators and `ContactStates`."""
        contacts, mode = self.contacts, self.mode
        evaluators, pattern = self._evaluators, here.jacobian
        order, _ = contacts.stacks["gap_q"]
        n_q, n_z, n_c, motion = contacts.system.n_q, contacts.system.n_z, contacts.n, evaluators[-1]
        block, n_rows = self._block(here, motion)
        n_blocks, b = block.coordinates.shape
        place = np.zeros((n_q + 1, 2), np.int64)
        place[block.coordinates] = np.stack(np.indices((n_blocks, b)), axis=-1)
        first = np.array([motion.place(name)[0] for name in QUANTITIES], np.int64)
        values = np.concatenate([np.arange(*motion.place(name)) for name in ("gap_q", "slip_v")])[order]
        jacobian = np.stack([pattern.rows, pattern.columns, values], axis=1).astype(np.int64)
        mass = here.pattern("row_a")
        mass = np.stack([mass.rows, mass.columns, np.arange(*motion.place("row_a"))], axis=1).astype(np.int64)
        widths = [n_z, n_z + n_q, motion.n_inputs]
        formulas = Formulas(*tables, *(np.zeros((1 + (one is motion), one.n_values)) for one in evaluators),
                            *(np.zeros((1, width)) for width in widths), np.zeros(1), first, mass, jacobian)
        moving = Moving(block, place[:n_q].copy(), contacts.helpers.astype(np.int64), np.zeros((2, n_q)),
                        np.zeros((2, n_q + 1)), np.zeros((2, n_rows)), np.zeros((2, n_blocks, b, b)),
                        np.zeros((2, n_q + 1)), np.zeros((3 * n_c, n_blocks * b)), np.zeros((2, n_blocks * b)),
                        np.zeros(n_q + 1))
        sets = [numbers.astype(np.int64) for numbers in (contacts.labels[0], contacts.alike, contacts.labels[1])]
        rows = Rows(contacts.tangents.astype(np.int64), contacts.n_slip.astype(np.int64), *sets,
                    np.zeros((2, max(numbers.max(initial=0) for numbers in sets) + 1)),
                    np.zeros((6, n_c)), np.zeros(n_c, np.int64), *np.zeros((2, 2, n_c)), *np.zeros((2, 2, 3 * n_c)),
                    np.zeros(n_c, np.int64), np.zeros((2, n_c, 3)), np.zeros(n_c), np.zeros(n_c),
                    np.zeros(n_c, np.int64), np.zeros((5, 6)), np.zeros((n_c, 3)))
        o = self.options
        limits = Limits(o.touching, o.through, o.still, np.finfo(float).eps, o.rest, o.short_flight, o.sliver,
                        o.locations, LAW.shift, LAW.blocked, LAW.stalled, LAW.gain, o.events_per_element // 2, o.ahead)
        columns = mode.plan.columns
        n_local = columns.n_local
        size = min(CHUNK, max(o.room // n_local, FIRST_CHUNK))
        told = Told(np.zeros((size, n_local)), np.zeros(size), np.zeros(size, np.int64),
                    np.zeros((o.together, 3), np.int64), *np.zeros((2, o.together, o.few), np.int64),
                    np.zeros((o.together, 3)), np.zeros((o.together, o.few, 3)))
        alone, few = (law_arrays(k, LAW) for k in (1, o.few))
        return Flight(None, None, np.zeros(n_local), columns.first.astype(np.int64), formulas, moving, rows, limits,
                      alone, few, np.zeros((2, 3 * o.few)), np.zeros(3 * o.few), np.zeros(o.few), told, np.zeros(1),
                      np.zeros((2, n_z)), np.zeros(3, np.int64))

    def _block(self, here, motion):
        """All blocks as one kind, for values of the motion; and how many rows constraints have.

        What is missing to the largest block are coordinates without a number, with masses of one, and rows of zeros.
        """
        n_q, blocks = self.contacts.system.n_q, here.blocks
        b, m = (max(getattr(one, name).shape[1] for one in blocks) for name in ("coordinates", "rows"))
        order, _ = self.contacts.stacks["psi_v"]
        entries = np.concatenate([np.arange(*motion.place(name)) for name in ("psi_v", "form_v")])[order]
        masses, number = np.arange(*motion.place("row_a")), 0
        n_blocks = sum(len(one.coordinates) for one in blocks)
        coordinates, rows = np.full((n_blocks, b), n_q), np.zeros((n_blocks, m), int)
        size, terms = np.ones((n_blocks, b)), np.zeros((n_blocks, m))
        found = {"mass": [], "gradient": [], "counters": []}
        for one in blocks:
            own, (n_own, b_own), m_own = slice(number, number + len(one.rows)), one.coordinates.shape, one.rows.shape[1]
            coordinates[own, :b_own], rows[own, :m_own], size[own, :b_own] = one.coordinates, one.rows, one.size
            terms[own, :m_own] = one.terms
            for name, at in (("mass", masses), ("gradient", entries), ("counters", None)):
                table = getattr(one, name).copy()
                table[:, 0] += number
                if at is not None:
                    table[:, 3] = at[table[:, 3]]
                found[name].append(table)
            none = np.indices((n_own, b - b_own)).reshape(2, -1).T + (number, b_own)
            found["counters"].append(none)
            number += n_own
        tables = [np.ascontiguousarray(np.concatenate(found[name]), np.int64) for name in found]
        return Block(coordinates.astype(np.int64), rows.astype(np.int64), size, *tables, blocks[0].dependent,
                     terms, blocks[0].rounding, np.zeros((n_blocks, b, b)), np.zeros((n_blocks, m, b)),
                     *np.zeros((2, b, b)), np.zeros((2, b + m)), np.zeros(m, np.int64)), here.gradient.shape[0]

    def go(self, march, k):
        """Go on from where a march is to the end of the mesh, or as far as it goes at once; k is the next node of the
        mesh.

        Returns
        -------
        Flown
        """
        f, law, begin = self._flight, self.law, time.monotonic()
        for one in self._evaluators:
            one.tables(self.contacts.system, 0)
        f.rows.sizes[:] = law.sizes
        f.rows.zero[:] = [(events.CLOSES, c) in march.zero for c in range(self.contacts.n)]
        f.t[0], f.z[0], nodes = march.t, march.z, march.mesh.nodes
        code = fly(f, nodes, k, min(len(nodes) - 1, k + self._chunk - 1), march.longest)
        law.take_sizes(f.rows.sizes)
        n, n_events, contact = f.counts.tolist()
        seconds = time.monotonic() - begin
        if seconds > LONG_CHUNK / 2:
            self._chunk = max(self._chunk // 2, 1)
        elif seconds < LONG_CHUNK / 4:
            self._chunk = min(4 * self._chunk, len(f.told.ends))
        located = [(node, events.CLOSES, c) for node, c, _ in f.told.where[:n_events].tolist()]
        left = {(events.CLOSES, c) for c in np.flatnonzero(f.rows.zero).tolist()}
        return Flown(self._solved(march.t, n), float(f.t[0]), f.z[0].copy(), self._events(n_events, march.n_elements),
                     located, left, code, contact)

    def _events(self, n_events, first):
        """Those of a flight whose elements begin with the `first`."""
        told, names, found = self._flight.told, self.contacts.names, []
        none = self.options.none * np.abs(told.impulses[:n_events]).max(axis=(1, 2), initial=0.0)
        impulses, own = told.impulses[:n_events].copy(), told.contacts[:n_events]
        there = np.arange(own.shape[1]) < told.where[:n_events, 2:]
        there &= np.abs(impulses).max(axis=2, initial=0.0) > none[:, None]
        ordered = np.argsort(np.where(there, own, len(names)), axis=1, kind="stable")
        many = there.sum(axis=1).tolist()
        tables = (x[:n_events].tolist() for x in (told.where, told.contacts, told.statuses, told.numbers))
        for k, (places, n, where, own, statuses, numbers) in enumerate(zip(ordered, many, *tables, strict=True)):
            places = places[:n].tolist()
            t, energy, distance = numbers
            found.append(events.ContactEvent(t, first + where[0], events.IMPACT, tuple([names[own[i]] for i in places]),
                                             impulses[k, places], tuple([SAID[statuses[i]] for i in places]), energy,
                                             1.0, distance))
        return found

    def _solved(self, t, n):
        f, columns = self._flight, self.mode.plan.columns
        x = f.told.x[:n]
        state, every = (x.take(field, axis=1) for field in columns.fields[:2])
        every, forces = self.mode.spread(every)
        return Solved(np.concatenate([[t], f.told.ends[:n]]), state, every, forces, {}, f.told.iterations[:n].copy(),
                      Status(True))
