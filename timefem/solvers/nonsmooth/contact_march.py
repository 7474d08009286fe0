"""The march with rigid contact: stretches in one mode, elements that end on events, impacts between them."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from ...status import SHORTER, Reason, Status
from . import events
from .event_elements import EventElements
from .events import CLOSES, Stuck, some
from .fallback import Fallback
from .flight.flight import Flights
from .flight.node_loop import STRIKES
from .modes import Mode, ModeSystem, Piece
from .node import NodeLaw, event, fallback_event
from .options import CONTACT
from .search import Search
from .sharing import ALONG_GIVEN, BEGINS, CLOSED, HELD, HOLDS, OPEN, SLIDES, STICKS, held, resting
from .states import contacts_of


@dataclass
class Pace:
    """How a march comes on.

    Attributes
    ----------
    chunk : int
        Elements that are solved at once.
    last, here
        Element of the mesh, and how often something happened in it to which contact.
    waited : int
        How often something happened at one time.
    done : int
        Elements at the last event.
    entered : int
        Node at which the mode was.
    fallbacks : int
        Elements that the fallback takes at once.
    bridged, bridged_to
        Share of an element that it took last where nothing was solved, and its end.
    """

    chunk: int
    last: int = -1
    here: Counter = field(default_factory=Counter)
    waited: int = 0
    done: int = 0
    entered: int = 0
    fallbacks: int = 1
    bridged: float = 0.0
    bridged_to: float | None = None


class ContactMarch(EventElements):
    """A march of a system with rigid contacts.

    Parameters
    ----------
    system : System
    element : TimeElement
    mesh : TimeMesh
    z0 : ndarray, shape (n_z,)
    how : Marching
    options : ContactOptions

    Attributes
    ----------
    pieces : list of Piece
    events : list of ContactEvent
    located : list of (int, str, int)
        Nodes whose times follow from the motion: node, what vanishes there (see `_value`), and of which contact.
    status : Status
    """

    def __init__(self, system, element, mesh, z0, how, options=CONTACT):
        self.contacts, self.options = contacts_of(system), options
        self.element, self.mesh, self.how = element, mesh, how
        self.law, self.search = NodeLaw(self.contacts, options), Search(self.contacts, element.degree, mesh.nodes[-1])
        self.pieces, self.events, self.located, self.status = [], [], [], Status(True)
        self.t, self.z, self.n_elements = mesh.nodes[0], np.array(z0), 0
        self._systems, self.zero, self.longest = {}, set(), float(mesh.lengths.max())
        self._fallback, self._taken = None, 0.0  # energy, until the next event tells it
        self._flights = Flights(self)  # where all contacts are open
        self.modes, self.mode = np.zeros(self.contacts.n, int), None
        self.directions = np.zeros((self.contacts.n, 2))
        self.pace = Pace(options.first)

    def change(self, system, mesh, anew):
        """Go on to the end of another mesh with other numbers of the system; `anew`: forces change where it is."""
        self.mesh = mesh
        if system.structure is self.contacts.system.structure:
            self.contacts.take(system)
            self._systems = {mode: found for mode, found in self._systems.items() if self.contacts.keeps(found[1])}
        else:
            sizes, self._systems, self.contacts = self.law.sizes, {}, contacts_of(system)
            self.law = NodeLaw(self.contacts, self.options)
            self.law.take_sizes(sizes)
        self.search = Search(self.contacts, self.element.degree, mesh.nodes[-1])
        self._fallback, self._flights = None, Flights(self)
        self._states = self._forces = None
        if anew:
            self.mode = None

    # ---- the march

    def run(self, advance=lambda t: False):
        """March to the end, or as far as it goes; `advance` is given the time, and what it returns, if true, stops."""
        nodes, o, pace = self.mesh.nodes, self.options, self.pace
        try:
            if self.mode is None:
                self._node(())
            while self.t < nodes[-1]:
                before, at = (len(self.events), len(self.located)), self.t
                k = int(np.searchsorted(nodes, self.t, side="right"))
                if k < len(nodes) - 1 and nodes[k] - self.t <= o.sliver * (nodes[k + 1] - nodes[k]):
                    k += 1
                flown = self._flights.go_on(k)
                if not flown:
                    ahead = np.concatenate([[self.t], nodes[k:k + pace.chunk]])
                    try:
                        self._go_on(ahead)
                    except Stuck as error:
                        if error.reason not in SHORTER or not self._slips_in_space().any():
                            raise
                        self._bridge(ahead[1])
                most = o.most_closed if (self.modes != OPEN).any() else o.most
                if flown:  # over many elements: what counts is what happened in that of the mesh where it ended
                    k = int(np.searchsorted(nodes, self.t, side="right"))
                happened = self._happened(*before, nodes[k - 1] if flown else -np.inf)
                if flown:
                    pace.chunk, pace.done = 1, self.n_elements
                elif not happened:
                    pace.chunk = min(2 * pace.chunk, most)
                else:  # as many as between the last two events
                    pace.chunk, pace.done = min(max(self.n_elements - pace.done, 1), most), self.n_elements
                pace.here, pace.last = (pace.here + happened if k == pace.last else happened), k
                pace.waited = pace.waited + 1 if self.t == at else 0
                if self._accumulates() or pace.waited > o.stalled:
                    self._fall_back_on_mesh([name for name, _ in pace.here.most_common()])
                    pace.here, pace.waited = Counter(), 0
                if advance(self.t):
                    raise Stuck(Reason.STOPPED, "")
        except Stuck as error:
            self.status = Status.failure(error.reason, self.n_elements, self.t, error.history, error.detail)
        return self

    def _accumulates(self):
        """Whether impacts may come ever faster: many in an element of the mesh, of contacts that lose energy or are
        driven. Of others there are finitely many in any time (Vaserstein 1979, Galperin 1981)."""
        contacts, n_q = self.contacts, self.contacts.system.n_q
        many = [contacts.names.index(name) for name, n in self.pace.here.items() if n > self.options.events_per_element]
        if not many:
            return False
        still = contacts.at(self.t, self.z[:n_q], np.zeros(n_q))
        driven = still.gamma[0].any(axis=1) | any(still.pattern(name).any() for name in ("psi", "form"))
        return (driven | (still.restitution[0] < 1) | (still.friction[0] > 0) & (contacts.n_slip > 0))[many].any()

    def _happened(self, n_events, n_located, since):
        """How often something happened to which contact, from a time on, after as many events and located nodes."""
        names = Counter(name for event in self.events[n_events:] if event.t >= since for name in event.contacts)
        located = self.located[n_located:] if since == -np.inf else ()
        return names | Counter(self.contacts.names[c] for _, _, c in located if c >= 0)

    def accept_flight(self, flown):
        """Take what a compiled flight found."""
        n, first = len(flown.solved.state), self.n_elements
        starts = [node for node, *_ in flown.located]
        if n:
            entered = np.repeat([self.pace.entered, *(first + node for node in starts)], np.diff([0, *starts, n]))
            self.pieces.append(Piece(self.mode, flown.solved, self.directions.copy(), entered))
        self.events += flown.events
        self.located += [(first + node, kind, c) for node, kind, c in flown.located]
        self.pace.entered = first + starts[-1] if starts else self.pace.entered
        self.t, self.z, self.n_elements, self.zero = flown.t, flown.z, first + n, flown.zero
        if flown.code == STRIKES:
            self._at_once(CLOSES, flown.closes)

    def _go_on(self, nodes):
        """Elements over nodes, or up to the first event in them."""
        if (self.modes == BEGINS).any():
            self._begin(nodes[1] - self.t)
            return
        turning = self._slips_in_space() & (self.modes == SLIDES)
        if turning.any():  # the end of sliding in space is predicted element by element
            nodes = nodes[:2]
            if self._predicted_stop(nodes, np.flatnonzero(turning)):
                return
            for _ in range(self.options.halvings):  # none ends beyond the end of a slip, and nearer it is predicted
                try:
                    self._stretch(nodes, exact=True)
                    return
                except Stuck:
                    half = (nodes[1] - self.t) / 2
                    if half <= self._rounding(half):
                        break
                    nodes = np.array([self.t, self.t + half])
            self._stretch(nodes, exact=True)  # shorter ones would creep towards it for ever: the fallback goes through
            return
        self._stretch(nodes)

    def _slips_in_space(self):
        """Contacts whose slip has a direction, which turns at once where it is slow: there is no smooth motion then."""
        return ((self.modes == SLIDES) | (self.modes == BEGINS)) & (self.contacts.n_slip == 2)

    def _bridge(self, node):
        """A short element of the fallback, longer where nothing was solved since the last one, towards a node."""
        o = self.options
        self.pace.bridged = min(o.growth * self.pace.bridged, 1.0) if self.t == self.pace.bridged_to else o.bridge
        end = self.t + self.pace.bridged * (node - self.t)
        self._fall_back([self.contacts.names[c] for c in np.flatnonzero(self.modes != OPEN)], [end])
        self.pace.bridged_to = self.t

    def _fall_back_on_mesh(self, names):
        """Go on by fallback elements to the next node of the mesh, and to some more where that was done before."""
        n = self.pace.fallbacks
        self.pace.fallbacks = min(2 * n, self.options.most_fallback)
        k = int(np.searchsorted(self.mesh.nodes, self.t, side="right"))
        self._fall_back(names, self.mesh.nodes[k:k + n])

    def _fall_back(self, names, ends):
        """Go on by fallback elements up to each of these times; of contacts with these names."""
        if self._fallback is None:
            self._fallback = Fallback(self.contacts, self.element, self.how, self.options)
        self.events.append(event(self.t, self.n_elements, events.FALLBACK_BEGINS, names))
        self.modes, self.mode = np.zeros(self.contacts.n, int), self._fallback.system.mode
        for end in ends:
            near = self.contacts.persistent | (np.isin(self.contacts.names, names) if names else True)
            while self.t < end:
                near |= self._gaps_at([self.t], [self.z])[0][0] <= self.options.touching * self.law.length
                near[self._fallback_element(end, near)] = True
        self._log(events.FALLBACK_ENDS, [])
        if self.t < self.mesh.nodes[-1]:
            self._node(())

    def _fallback_element(self, end, near):
        """A fallback element up to `end`, or to the first closing of a contact that is not `near`, and its impact;
        returns these contacts."""
        law, contacts, start = self.law, self.contacts, self.t
        h, step, closes = self._fallback.up_to(start, self.z, end, law, ~near, self._rounding(end - start))
        if step is None:
            return closes
        rows = np.flatnonzero(np.abs(step.impulses).max(axis=1, initial=0.0) > 0)
        if len(rows):
            self.events.append(fallback_event(start, self.n_elements, step, rows, contacts))
        t = end if h == end - start else start + h
        self.pieces.append(Piece(self.mode, step.solved, self.directions, self.n_elements))
        self.t, self.z, self.n_elements = float(t), step.solved.state[-1, -1].copy(), self.n_elements + 1
        states = contacts.at_state(self.t, self.z)
        law.meet(states.gap, states.gamma)
        if len(closes):
            self._impact(states, law.touching(states, self.modes, closes), self.longest)
        return closes

    @property
    def systems(self):
        """Those of the modes met, list of `ModeSystem`."""
        return [system for _, system in self._systems.values()]

    def mode_system(self):
        """The `ModeSystem` of now."""
        mode = self.mode
        along = self.directions[[what in ALONG_GIVEN for what in mode.modes]].tobytes()  # the directions of now
        if self._systems.get(mode, (None,))[0] != along:
            found = self.contacts.kept((self.element, mode, along, self.how.scaling), lambda: ModeSystem(
                self.contacts, self.element, mode, self.directions, self.how))
            found.begin(self.how)
            self._systems[mode] = along, found
        return self._systems[mode][1]

    def _begin(self, length):
        """A very short element in which slips in space begin, in the direction of their accelerations."""
        before, h = (len(self.events), len(self.located)), max(self.options.beginning * length, self._rounding(length))
        while self.options.growth * h < length and not self._slips_by(self.t + h):
            h *= self.options.growth
        self._stretch(np.array([self.t, self.t + h]))
        if before == (len(self.events), len(self.located)):  # no event came between, where others may begin
            self.located.append((self.n_elements, events.BEGINNING, -1))
            states = self._here
            slips = np.flatnonzero((self.modes == BEGINS) & (self.contacts.n_slip == 2))
            self._projected(states, self.law.along(states, slips, self.directions, self.mode.sharing))
            self.modes = np.where(self.modes == BEGINS, SLIDES, self.modes)
            self.mode = self.mode._replace(modes=tuple(self.modes.tolist()))

    def _slips_by(self, t):
        """Whether slips that begin are seen at a time, along their directions or back, or the element fails."""
        solved = self._solve(np.array([self.t, t]))
        if not len(solved.state):
            return True
        slip = self.contacts.at_state(solved.nodes[-1:], solved.state[-1:, -1]).gamma[0, :, 1:]
        begins = self.modes == BEGINS
        ahead = np.abs((slip * self.directions)[begins].sum(axis=1))
        return bool((ahead > self.options.seen_slip * self.law.still[begins]).all())

    def _stretch(self, nodes, exact=False):
        """Solve elements up to the first event in them."""
        self.search.still = self.law.still
        self.search.touching = self.options.touching * self.law.length
        solved = self._solve(nodes, exact)
        n = len(solved.state)
        if n:
            z = np.concatenate([self.z[None], solved.state[:, -1]])
            leaves = self._leaving(solved.nodes, z)
            last = n if leaves is None else leaves[0]
            if last:
                e, candidate = self.search.first(self.mode, self.directions, solved.nodes[:last + 1], z[:last + 1],
                                                 self.zero)
                last = last if e is None else e
                self._check_apart(self.search.gaps[:last + 1])
                self._accept(solved, last)
                self.law.meet(self.search.gaps[:last + 1], self.search.gamma[:last + 1])
                if e is not None:
                    self._go_to(candidate, solved.nodes[e + 1] - solved.nodes[e])
                    return
            if leaves is not None:
                self._leave(*leaves[1:], solved.nodes[last + 1] - solved.nodes[last])
                return
        if not solved.status.success:
            status = solved.status
            raise Stuck(status.reason, self._closed_names(), status.residual_history)

    def _accept(self, solved, n):
        """Keep the first n elements of those solved."""
        if not n:
            return
        if n < len(solved.state):
            solved = solved._replace(
                nodes=solved.nodes[:n + 1], state=solved.state[:n], multipliers=solved.multipliers[:n],
                forces=solved.forces[:n], others={k: v[:n] for k, v in solved.others.items()},
                iterations=solved.iterations[:n])
        self.pieces.append(Piece(self.mode, solved, self.directions.copy(), self.pace.entered))
        self.t, self.z = float(solved.nodes[-1]), solved.state[-1, -1].copy()
        self.n_elements += n
        self.zero = set()

    def _check_apart(self, gaps):
        """Stop where gaps (n + 1, n_contacts) of open contacts get more negative in elements without an event."""
        deeper = (self.modes == OPEN) & ~self.contacts.persistent & (gaps[1:] < np.minimum(gaps[:-1], 0))
        if not deeper.any():
            return
        deeper &= gaps[1:] < np.minimum(gaps[:-1], 0) - self.options.seen * self.law.usual()
        rows = np.flatnonzero(deeper.any(axis=0))
        if len(rows):
            raise Stuck(Reason.CONSTRAINTS_VIOLATED, some([self.contacts.names[c] for c in rows]) + " overlap")

    def _closed_names(self):
        """What contacts do now, in words."""
        said = {CLOSED: "is closed", SLIDES: "slides", STICKS: "sticks", BEGINS: "begins to slide",
                HELD: "is held at the limit of its friction"}
        closed = [f"{self.contacts.names[c]} {said[self.modes[c]]}" for c in np.flatnonzero(self.modes != OPEN)]
        return some(closed)

    # ---- elements that end on events, see `EventElements`

    def _at_event(self, kind, c):
        """What follows from an event at the node where the march is."""
        if kind in (CLOSES, events.TOUCHES):
            self._node((c,))
        elif kind == events.OPENS:
            self._node((), opens=(c,))
        elif kind == events.LEAVES:
            self._node((), opens=self._leaving_with(c))
        elif kind == events.SLIPS:
            self._node((), slips=self._slipping_with(c))
        else:
            self._node((), stops=self._stopping_with(c))

    # ---- nodes

    def _log(self, kind, rows, **given):
        self.events.append(event(self.t, self.n_elements, kind, [self.contacts.names[c] for c in rows], **given))

    def _node(self, closes, opens=(), slips=(), stops=()):
        """Impacts and modes at the node where the march is."""
        contacts, law, n_events = self.contacts, self.law, len(self.events)
        states, opens = self._here, (*opens, *self._left_here())
        length = self.longest
        law.meet(states.gap, states.gamma)
        law.know(states, length)
        touching = law.touching(states, self.modes, closes)
        before, came = self.modes, self.directions
        approach = -states.gamma[0, :, 0]
        if ((before != OPEN) & (approach > law.still) & (approach <= law.slow)).any():
            # the error of the method, as on a curved surface: what is closed does not strike
            states = self._projected(states, law.consistent(states, before)[0])
        states, struck = self._impact(states, touching, length)
        given, ends = {}, [*slips, *stops]
        if ends:  # what is left across where slips stop, and where they begin, is not a slip
            still = self.modes.copy()
            still[ends] = STICKS
            states = self._projected(states, law.consistent(states, still)[0])
        if slips:
            here = self._in_mode(states)
            for c in slips:
                along = here.forces[0, c, 1:]
                if along.any():
                    given[c] = -along / np.hypot(*along)
        found = law.modes(states, touching, length, opens, given)
        if found is None:
            hit = law.jam(states, touching) if len(touching) else None
            if hit is None:
                raise Stuck(Reason.NO_MODE, some([contacts.names[c] for c in touching]))
            velocity, impulse = hit
            states = self._with_velocity(states, velocity)
            self._log(events.JAM, [], found=impulse, touching=touching, contacts=contacts)
            found = law.modes(states, touching, length)
            if found is None:
                raise Stuck(Reason.NO_MODE, some([contacts.names[c] for c in touching]) + " after a jam")
        self._enter(states, *found)
        pressed = self._pressed_from_now_on(states, [c for c in closes if c not in struck])
        rests = [c for c in struck if self.modes[c] != OPEN and before[c] == OPEN and states.restitution[0, c] > 0]
        if rests:
            self._log(events.RESTS, rests)
        on = (self.modes == SLIDES) & (before == SLIDES) & ((self.directions * came).sum(axis=1) > 0)
        self._log_changes(before, touching if len(struck) else struck, [c for c in stops if not on[c]])
        if len(self.events) > n_events:
            self.events[-1] = replace(self.events[-1], energy=self.events[-1].energy + self._taken)
            self._taken = 0.0
        begins = {(events.STICKS, c) for c in (*slips, *stops) if self.modes[c] in (SLIDES, BEGINS)}
        near = states.gap[0] <= law.rounding
        self.zero = begins | pressed | {(CLOSES, c) for c in (*touching, *opens) if self.modes[c] == OPEN and near[c]}

    def _log_changes(self, before, told, stops):
        """Report what opens, slips and sticks, from the modes `before`, but of what an impact has `told`. What is held
        at the limit of its friction does not slip, and what slides on as it did has not come to a stop."""
        apart, slides = self.modes == OPEN, np.isin(self.modes, (SLIDES, BEGINS))
        apart[told] = slides[told] = False
        slips = slides & np.isin(before, HOLDS)
        for kind, rows in ((events.OPENS, apart & (before != OPEN)), (events.SLIPS, slips)):
            if rows.any():
                self._log(kind, np.flatnonzero(rows))
        for c in stops:
            if self.modes[c] != OPEN and not slips[c]:
                self._log(events.SLIPS if slides[c] else events.STICKS, [c])

    def _impact(self, states, touching, length):
        """The states after the impact of those that touch, if they approach, and which contacts had a part in it."""
        hit = self.law.impact(states, touching, length) if len(touching) else None
        if hit is None:
            return states, np.zeros(0, int)
        velocity, found = hit
        approach = states.gamma[0, :, 0]
        states = self._with_velocity(states, velocity)
        through = [c for c in touching if states.gamma[0, c, 0] < min(approach[c] / 2, -self.law.still[c])]
        if through:  # whatever the impulses
            raise Stuck(Reason.BLOCKED, some([self.contacts.names[c] for c in through]))
        sizes = np.abs(found.impulses).max(axis=1)
        struck = np.flatnonzero(sizes > self.options.none * self.contacts.of_bodies(sizes))
        self._log(events.IMPACT, [], found=found, touching=struck, contacts=self.contacts)
        self.law.meet(states.gap, states.gamma)
        return states, struck

    def _with_velocity(self, states, velocity):
        """The states with other velocities, and the march with their momenta."""
        self.z = self.contacts.state_of(self.t, self.z, velocity)
        return self.contacts.at(states.t, states.q, velocity)

    def _projected(self, states, velocity):
        """The same by an impulse of what closes or sticks, whose energy the next event tells."""
        change = velocity - states.v[0]
        if not change.any():
            return states
        self._taken += float(states.momenta_of(change[None])[0] @ (velocity + states.v[0])) / 2
        return self._with_velocity(states, velocity)

    def _enter(self, states, modes, directions):
        """Go on in these modes, with velocities that hold them."""
        modes = held(states, modes, directions, np.hypot(*states.gamma[0, :, 1:].T) <= self.law.still)
        velocity, sharing = self.law.consistent(states, modes)
        if (modes == BEGINS).any():  # from no slip at all: else it might be one back
            velocity, _ = self.law.consistent(states, resting(modes))
        self._projected(states, velocity)
        self.modes, self.directions, self.pace.entered = modes, directions, self.n_elements
        line = self.contacts.n_slip == 1
        signs = np.where(line & (modes == SLIDES), np.sign(directions[:, 0]), 1.0)
        self.mode = Mode(tuple(modes.tolist()), tuple(signs.astype(int).tolist()), sharing)
