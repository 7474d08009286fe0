"""What solves ask of a system at one state, the start: first derivatives, multipliers, sizes; all of them at once."""

import threading

import numpy as np

from ..kernels.record import Record
from .measures import blocks_of
from .one_state_loop import CONDITION, EMPHASIZED, FINITE, REFERENCE, VIOLATION, assess, spread

DENSE = 100_000  # entries of the gradient of the constraints up to which dense arrays are faster than sparse ones
MOST_MULTIPLIERS = 64  # up to which plain elimination in a loop is faster than LAPACK called from Python


class Tables(Record):
    """Where the numbers of groups of parts belong, and memory for what is made of them; see `OneState`."""

    groups: np.ndarray  # (n_groups, 6) parts, states and rows of each, first input, first output, first row
    state_index: np.ndarray
    row_index: np.ndarray
    inputs: np.ndarray  # local states of all parts
    outputs: np.ndarray  # local derivatives of all parts
    state_scale: np.ndarray  # (n_z,)
    roots: np.ndarray  # (n_q,) roots of the masses
    blocks: np.ndarray  # (n_q,) as `blocks_of`
    kinds: np.ndarray
    z: np.ndarray
    gradient: np.ndarray
    jacobian: np.ndarray
    rate: np.ndarray
    theta: np.ndarray
    unit: np.ndarray
    size: np.ndarray
    multipliers: np.ndarray
    emphasis: np.ndarray
    facts: np.ndarray
    matrix: np.ndarray  # scratch
    scratch: np.ndarray


class OneState:
    """A system at one state at a time, as dense arrays that the next state overwrites.

    Parameters
    ----------
    system : System
        Small, see `is_small`.

    Attributes
    ----------
    gradient, jacobian, rate, theta : ndarray, shapes (n_z,), (2 m, n_z), (2 m,), (2 m,)
        As `System.derivatives`, and the constraints on both levels.
    unit, size : ndarray, shape (2 m,)
        What brings the rows of the Jacobian to a largest entry of one in scaled states, and the size of the terms that
        make up each constraint, at least one.
    multipliers : ndarray, shape (2 m,)
        As `System.consistent_multipliers`, where `determined`.
    """

    def __init__(self, system):
        self.system, self._last, self._t, m = system, None, 0.0, system.n_multipliers
        rows = []
        n_in, n_out, n_rows = 0, 0, 0
        for group in system.groups:
            (n_parts, width), own = group.state_index.shape, group.multiplier_index.shape[1]
            rows.append((n_parts, width, own, n_in, n_out, n_rows))
            n_in, n_rows = n_in + n_parts * width, n_rows + n_parts * own
            n_out += n_parts * (width + own * width + 2 * own)
        blocks, kinds = blocks_of(system)
        self.solves = m <= MOST_MULTIPLIERS and not system.n_nonholonomic
        solved = m if self.solves else 0
        self.tables = tables = Tables(
            np.array(rows, np.int64).reshape(-1, 6), _flat(system, "state_index"), _flat(system, "multiplier_index"),
            np.zeros(n_in), np.zeros(n_out), system.state_scale.copy(), np.sqrt(system.mass_scale), blocks, kinds,
            np.zeros(system.n_z), np.zeros(system.n_z), np.zeros((m, system.n_z)), np.zeros(m), np.zeros(m),
            np.zeros(m), np.zeros(m), np.zeros(m), np.ones(system.n_q), np.zeros(5), np.zeros((solved, 3 * solved)),
            np.zeros(3 * m + len(kinds)))
        self.gradient, self.jacobian, self.rate, self.theta = (
            getattr(tables, name) for name in ("gradient", "jacobian", "rate", "theta"))
        self.unit, self.size, self.multipliers = tables.unit, tables.size, tables.multipliers
        self._groups = []
        for row, group, functions in zip(rows, system.groups, system._functions, strict=True):
            n_parts, width, own, first, out, _ = row
            times, numbers = np.zeros(n_parts), group.parameters.astype(float)
            memory = (tables.inputs[first:first + n_parts * width], times, numbers)
            derivatives = functions["derivatives"]
            buffer, run = (derivatives.map(n_parts) if n_parts > 1 else derivatives).buffer()
            for i, values in enumerate(memory):
                if values.size:
                    buffer.set_arg(i, memoryview(values))
            results = tables.outputs[out:out + n_parts * (width + own * width + 2 * own)]
            if results.size:
                buffer.set_res(0, memoryview(results))
                self._groups.append((run, times, numbers, buffer, derivatives))
            else:
                self._groups.append((None, times, numbers, None, None))

    def _take(self, system):
        self.system, self._last = system, None
        for group, (_, _, numbers, *_) in zip(system.groups, self._groups, strict=True):
            numbers[:] = group.parameters
        self.tables.state_scale[:], self.tables.roots[:] = system.state_scale, system.state_scale[system.n_q:]

    def at(self, system, t, z):
        """The same object, with the numbers of a system of the same structure at a time and a state."""
        if system is not self.system:
            self._take(system)
        asked = t, z.tobytes()
        if asked != self._last:
            self._last = None
            spread(self.tables, z)
            if t != self._t:
                self._t = t
                for _, times, *_ in self._groups:
                    times[:] = t
            for run, *_ in self._groups:
                if run is not None:
                    run()
            assess(self.tables)
            self._last = asked
        return self

    def fine(self, tolerance):
        """Whether all is finite, and constraints hold, relative to the size of the terms that make them up."""
        facts = self.tables.facts
        return bool(facts[FINITE] and facts[VIOLATION] <= tolerance)

    @property
    def reference(self):
        """Size of the scaled state; 1 of a zero state."""
        return self.tables.facts.item(REFERENCE)

    @property
    def condition(self):
        """Condition number of what the multipliers are solved from."""
        return self.tables.facts.item(CONDITION)

    @property
    def emphasis(self):
        """Factors by which changes of coordinates count, shape (n_q,); None where all count alike."""
        return self.tables.emphasis if self.tables.facts[EMPHASIZED] else None


class PerThread(threading.local):
    """What each thread keeps with systems of one structure, by what makes it; a copy has nothing."""

    def __init__(self):
        self.things = {}

    def __reduce__(self):
        return PerThread, ()


def kept(system, make):
    """What this thread keeps with systems of one structure, `make(system)`."""
    own = (system._original or system).__dict__
    things = (own.get("_per_thread") or own.setdefault("_per_thread", PerThread())).things
    return things.get(make) or things.setdefault(make, make(system))


def at_one_state(system, t, z):
    """`OneState` of this thread at a time and a state (n_z,), valid until it is asked again; None unless a system is
    small."""
    return kept(system, OneState).at(system, float(t), np.ascontiguousarray(z, float)) if is_small(system) else None


def _flat(system, name):
    return np.concatenate([getattr(group, name).ravel() for group in system.groups]).astype(np.int64)


def is_small(system):
    """Whether dense arrays are the faster ones."""
    known = system.__dict__.get("_small")
    if known is None:
        known = system._small = system.n_multipliers * system.n_z <= DENSE and not any(system.velocities_solved)
    return known
