"""One evaluator of all quantities: gather the local states of parts, the formula of their kind, scatter its values."""

from __future__ import annotations

import threading
from typing import NamedTuple

import casadi as ca
import numpy as np

from ...kernels.compile import cached_kernel, default_backend
from ...kernels.lanes import call_kernel
from ...kernels.loops import compiled
from ...kernels.record import Record
from ...memory import Late
from ..formulas.stored import sizes_at
from .measures import OPTIONS
from .quantities import StateFormulas, formulas_of, places_of, sees_velocities

scipy = Late("scipy")


@compiled(error_model="numpy", _nrt=False)
def along(tables, t, x, out):
    """Add the values of all parts, by the kernels of their kinds, at states (n, length) to `out`, shape (n, n_values).
    """
    groups, inputs, values = tables.groups, tables.inputs, tables.values
    for k in range(x.shape[0]):
        for g in range(groups.shape[0]):
            address, n_parts, n_in = groups[g, 0], groups[g, 1], groups[g, 2]
            n_numbers, n_out = groups[g, 3], groups[g, 4]
            first, number, target = groups[g, 5], groups[g, 6], groups[g, 7]
            inputs[n_in] = t[k]
            for _ in range(n_parts):
                for i in range(n_in):
                    inputs[i] = x[k, tables.index[first + i]]
                for i in range(n_numbers):
                    inputs[n_in + 1 + i] = tables.parameters[number + i]
                call_kernel(address, inputs, 0, values, 0)
                for i in range(n_out):
                    out[k, tables.targets[target + i]] += values[i]
                first, number, target = first + n_in, number + n_numbers, target + n_out


class Matrix(NamedTuple):
    """Matrices of one pattern, in compressed rows.

    Attributes
    ----------
    shape : (int, int)
    rows, columns : ndarray of int, shape (n_entries,)
        Of the entries, row by row.
    starts : ndarray of int, shape (n_rows + 1,)
        Of the rows.
    data : ndarray, shape (n, n_entries)
    """

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    data: np.ndarray

    def dense(self):
        """Array of shape (n, *shape)."""
        out = np.zeros((len(self.data), *self.shape))
        out[:, self.rows, self.columns] = self.data
        return out

    def dense_rows(self, rows):
        """Some of the rows, array of shape (n, n_rows, n_columns)."""
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        own = np.flatnonzero(place[self.rows] >= 0)
        out = np.zeros((len(self.data), len(rows), self.shape[1]))
        out[:, place[self.rows[own]], self.columns[own]] = self.data[:, own]
        return out

    def times(self, x):
        """Products with vectors (n, n_columns), shape (n, n_rows)."""
        return _sums(self.rows, self.data * x[:, self.columns], self.shape[0])

    def transposed_times(self, x):
        """Products of the transposed matrices with vectors (n, n_rows), shape (n, n_columns)."""
        return _sums(self.columns, self.data * x[:, self.rows], self.shape[1])

    def sparse(self):
        """SciPy's CSR array of the first of them, without entries that are zero."""
        out = scipy.sparse.csr_array((self.data[0], self.columns.copy(), self.starts.copy()), shape=self.shape)
        out.eliminate_zeros()
        return out


def _sums(places, values, size):
    """Sums of values (n, m) at places (m,): array of shape (n, size)."""
    n = len(values)
    places = places + size * np.arange(n)[:, None]
    return np.bincount(places.ravel(), values.ravel(), n * size).reshape(n, size)


class Tables(Record):
    """What machine code takes of an evaluator."""

    groups: np.ndarray  # (n_groups, 8) address, parts, inputs, parameters and values of each, its first three places
    index: np.ndarray
    parameters: np.ndarray
    targets: np.ndarray
    inputs: np.ndarray  # scratch
    values: np.ndarray


class Evaluator:
    """Quantities of the systems of one structure, at any number of states; for one thread.

    Parameters
    ----------
    system : System
    names : tuple of str
    formulas : type
        The `Formulas` that has these quantities.
    """

    def __init__(self, system, names, formulas=StateFormulas):
        places, sizes = places_of(system)
        made = [(i, group.part.kind, place, *formulas_of(group.part, formulas).function(*names))
                for i, (group, place) in enumerate(zip(system.groups, places, strict=True))]
        made = [(*others, function, inputs, patterns) for *others, function, inputs, patterns in made
                if function.size1_out(0)]
        taken = {next(iter(formulas.inputs))}.union(*(inputs for *_, inputs, _ in made))
        self.names, self.inputs = names, [name for name in formulas.inputs if name in taken]
        first = dict(zip(self.inputs, np.cumsum([0, *(sizes[formulas.inputs[name]] for name in self.inputs)]).tolist(),
                         strict=False))
        self.n_inputs = sum(sizes[formulas.inputs[name]] for name in self.inputs)
        self.groups, targets = [], [[] for _ in names]
        for i, kind, place, function, inputs, patterns in made:
            index = np.hstack([np.asarray(place[formulas.inputs[name]], int) + first[name] for name in inputs])
            self.groups.append((i, (formulas.__qualname__, kind, *names), function, index))
            for name, own, (rows, columns) in zip(names, targets, patterns, strict=True):
                quantity = formulas.quantities[name]
                own.append(np.asarray(place[quantity.rows], int)[:, rows])
                if quantity.columns:
                    own[-1] = own[-1] * sizes[quantity.columns] + np.asarray(place[quantity.columns], int)[:, columns]
        self._results, start = [], 0
        for name, own in zip(names, targets, strict=True):
            start = self._add_result(formulas.quantities[name], own, sizes, start)
        self.n_values = start
        joined = [np.concatenate(own, axis=1).ravel() for own in zip(*targets, strict=True)]
        self._targets = np.concatenate([np.zeros(0, int), *joined])
        self._order = np.argsort(self._targets, kind="stable")
        self._present, self._starts = np.unique(self._targets[self._order], return_index=True)
        self._index = np.concatenate([np.zeros(0, int), *(index.ravel() for *_, index in self.groups)])
        self._evaluated, self._asked, self.gave_sizes = 0, 0, False
        self._tables, self._of, self._bound, self._kernels = None, None, None, ()

    def _add_result(self, quantity, own, sizes, start):
        """What happens to the values of a quantity, of which `own` are the places of each group, to be those among all
        values; where those of the next begin."""
        n = sizes[quantity.rows]
        if quantity.columns is None:
            self._results.append((start, start + n, None))
            for place in own:
                place += start
            return start + n
        n_columns = sizes[quantity.columns]
        keys = np.unique(np.concatenate([np.zeros(0, int), *(place.ravel() for place in own)]))
        rows, columns = np.divmod(keys, max(n_columns, 1))
        pattern = (n, n_columns), rows, columns, np.searchsorted(rows, np.arange(n + 1))
        self._results.append((start, start + len(keys), pattern))
        for place in own:
            place[:] = start + np.searchsorted(keys, place)
        return start + len(keys)

    def __call__(self, system, t, first, repeatable=True, **inputs):
        """Values at states, list.

        Parameters
        ----------
        system : System
        t, first : ndarray, shapes (n,), (n, length)
            Times, and the first of the inputs: of `StateFormulas` the states.
        repeatable : bool
            Whether the same states give the same bits whatever was evaluated before; else machine code, which rounds
            in another way than CasADi's, is used as soon as it pays.
        **inputs : ndarray
            What is in `self.inputs` besides, by name, shape (n, length).

        Returns
        -------
        list of ndarray of shape (n, length), and of Matrix
        """
        others = [inputs[name] for name in self.inputs[1:]]
        x = np.concatenate([first, *others], axis=1) if others else first
        out = np.zeros((len(x), self.n_values))
        if not self.groups:
            pass
        elif len(x) == 1 and (repeatable or not self._machine_code_pays(1, False)):
            out[0, self._present] = np.add.reduceat(self._at_one(system, t, x)[self._order], self._starts)
        elif self._machine_code_pays(len(x), repeatable):
            self._take(system)
            along(self._tables, np.ascontiguousarray(t, float), np.ascontiguousarray(x, float), out)
        else:
            size = max(1, OPTIONS.piece // len(self._targets))
            for start in range(0, len(x), size):
                piece = slice(start, start + size)
                values = np.concatenate([
                    evaluate(function, x[piece, index], t[piece], system.groups[i].parameters).reshape(
                        len(x[piece]), -1) for i, _, function, index in self.groups], axis=1)
                out[piece, self._present] = np.add.reduceat(values[:, self._order], self._starts, axis=1)
        return self._split(out)

    def _split(self, out):
        """Quantities among all values."""
        return [out[:, start:stop] if pattern is None else Matrix(*pattern, out[:, start:stop])
                for start, stop, pattern in self._results]

    def sizes(self, system, t, first):
        """Sizes of the terms that make up the values at one state, as of `sizes_at`; of what takes states alone.

        It takes a tenth of the time of making formulas of them, and ten times that of evaluating these.
        """
        self.gave_sizes = True
        out = np.zeros((1, self.n_values))
        if self.groups:
            found = [sizes_at(function, first[0][index], np.full((len(index), 1), t[0]),
                              system.groups[i].parameters).ravel() for i, _, function, index in self.groups]
            out[0, self._present] = np.add.reduceat(np.concatenate(found)[self._order], self._starts)
        return self._split(out)

    def _at_one(self, system, t, x):
        """Local values at one state, in memory that the next state overwrites."""
        if self._bound is None:
            self._bind(system)
        runs, states, values = self._bound
        if self._of is not system:
            for (i, *_), (_, _, parameters, *_) in zip(self.groups, runs, strict=True):
                parameters[:] = system.groups[i].parameters
            self._of = system
        np.take(x[0], self._index, out=states, mode="clip")
        for run, times, *_ in runs:
            times[:] = t[0]
            run()
        return values

    def _bind(self, system):
        """Functions with their arguments and results at one state: to hand these over takes as long as to evaluate."""
        states, values = np.zeros(len(self._index)), np.zeros(len(self._targets))
        runs, first, at = [], 0, 0
        for i, _, function, index in self.groups:
            n, n_values = len(index), len(index) * function.size1_out(0)
            buffer, run = (function.map(n) if n > 1 else function).buffer()
            parameters = system.groups[i].parameters.astype(float)
            memory = states[first:first + index.size], np.zeros(n), parameters
            for k, argument in enumerate(memory):
                if argument.size:
                    buffer.set_arg(k, memoryview(argument))
            buffer.set_res(0, memoryview(values[at:at + n_values]))
            runs.append((run, memory[1], parameters, buffer, function))
            first, at = first + index.size, at + n_values
        self._bound, self._of = (runs, states, values), system

    def _machine_code_pays(self, n, repeatable):
        """Whether to evaluate n states by machine code: where they are many, and also as soon as there were many
        before unless the same states are to give the same bits again."""
        if self._tables is not None and not repeatable:
            return True
        if default_backend() != "llvm":
            return False
        points = n * sum(len(index) for *_, index in self.groups) / len(self.groups)
        if not repeatable:
            self._evaluated = points = self._evaluated + points
        pays = points > OPTIONS.pays or (not repeatable and _COMPILED.issuperset(key for _, key, *_ in self.groups))
        if not pays or points < 2 * self._asked:  # whether the loop is on disk takes as long as to evaluate
            return False
        self._asked = 0 if repeatable else points
        if not (along.at_hand(*_EXAMPLE) or points > OPTIONS.pays_to_compile):
            return False
        if self._tables is None:
            self._compile()
        return True

    def _compile(self):
        """Tables for machine code, whose kernels are taken from disk, or made."""
        rows, self._kernels, first, number, target = [], [], 0, 0, 0
        for _, key, function, index in self.groups:
            sizes = function.size1_in(0), function.size1_in(2), function.size1_out(0)

            def packed(function=function, sizes=sizes):
                x = ca.SX.sym("x", sum(sizes[:2]) + 1)
                return ca.Function("values", [x], [function(*ca.vertsplit(x, np.cumsum([0, sizes[0], 1, sizes[1]])))])

            kernel = cached_kernel(("values", *key), packed)
            rows.append((kernel.address, len(index), *sizes, first, number, target))
            first, number, target = (at + len(index) * size for at, size in zip(
                (first, number, target), sizes, strict=True))
            self._kernels.append(kernel)  # whose addresses hold as long as they live
            _COMPILED.add(key)
        rows = np.array(rows, np.int64)
        self._tables = Tables(rows, self._index.astype(np.int64), np.zeros(number), self._targets.astype(np.int64),
                              np.zeros((rows[:, 2] + rows[:, 3]).max() + 1), np.zeros(rows[:, 4].max()))
        self._system = None

    def tables(self, system, n, surely=False):
        """What machine code takes, with the numbers of a system; None where it does not pay for n states, and is not
        made `surely`."""
        if not self.groups or not (surely or self._machine_code_pays(n, False)):
            return None
        if self._tables is None:
            self._compile()
        self._take(system)
        return self._tables

    def place(self, name):
        """First and last place of a quantity among the values."""
        return self._results[self.names.index(name)][:2]

    def _take(self, system):
        """The parameters of a system."""
        if system is not self._system:
            self._tables.parameters[:] = np.concatenate(
                [system.groups[i].parameters.ravel() for i, *_ in self.groups])
            self._system = system


_COMPILED = set()  # kinds of parts and quantities whose kernels are at hand
_EXAMPLE = (Tables(np.zeros((0, 8), np.int64), *(np.zeros(0, kind) for kind in (int, float, int, float, float))),
            np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))  # of no states, for the types of its arguments


def compile_loop():
    """Compile the loop of all evaluators ahead: they wait with that until it pays."""
    along(*_EXAMPLE)


class PerThread(threading.local):
    """What each thread keeps, such as with systems of one structure by what makes it; a copy has nothing."""

    def __init__(self):
        self.things = {}

    def __reduce__(self):
        return PerThread, ()


def kept(system, make, *arguments):
    """What this thread keeps with systems of one structure, `make(system, *arguments)`."""
    own = system.structure.__dict__
    things = (own.get("_per_thread") or own.setdefault("_per_thread", PerThread())).things
    if (make, arguments) not in things:
        things[make, arguments] = make(system, *arguments)
    return things[make, arguments]


def evaluator(system, *names, formulas=StateFormulas):
    """The `Evaluator` of some quantities that this thread keeps with systems of this structure."""
    return kept(system, Evaluator, names, formulas)


def quantities_at(system, t, z, *names, repeatable=True, **inputs):
    """Quantities at states (n, n_z) at times (n,), list, see `Evaluator`; velocities are those of the states unless
    given."""
    evaluate = evaluator(system, *names)
    if "v" in evaluate.inputs and "v" not in inputs:
        inputs["v"] = system.velocity(t, z)
    return evaluate(system, t, z, repeatable, **inputs)


def flattened(system, t, z):
    """Times and states without their leading axes, `(n,)` and `(n, n_z)`, and the shape to restore."""
    z = np.asarray(z, float)
    shape = z.shape[:-1]
    z = z.reshape(-1, system.n_z)
    return np.broadcast_to(np.asarray(t, float), shape).reshape(-1), z, shape


def sees_solved_velocities(system):
    """Whether some formulas take velocities, which do not follow from momenta by a formula."""
    return kept(system, _sees_solved_velocities)


def _sees_solved_velocities(system):
    return any(sees_velocities(group.part) for group in system.groups)


# ---- Values of parts at given states, evaluated by CasADi's VM: for initial states and post-processing

PIECE = 256  # points that are evaluated at once
MOST_BUFFERS = 500  # kept by a thread


def evaluate(function, z, t, c):
    """Evaluate `function(z, t, c)` for all parts of a group at many points.

    Shapes (n, n_parts, n_local), (n,), (n_parts, n_c) -> (n, n_parts, n_out).
    """
    n, n_parts, n_local = z.shape
    n_out = function.size1_out(0)
    if n == 0 or n_out == 0:
        return np.zeros((n, n_parts, n_out))
    # through buffers and in pieces: CasADi's own matrices and long maps take ten times as long as the evaluation
    arguments = [np.ascontiguousarray(x, dtype=float)
                 for x in (z.reshape(n * n_parts, n_local), t if n_parts == 1 else np.repeat(t, n_parts),
                           c if n == 1 else np.tile(c, (n, 1)))]
    out = np.zeros((n * n_parts, n_out))
    for start in range(0, len(out), PIECE):
        stop = min(start + PIECE, len(out))
        buffer, run, _ = _buffer(function, stop - start)
        for i, x in enumerate(arguments):
            if x.size:
                buffer.set_arg(i, memoryview(x[start:stop]))
        buffer.set_res(0, memoryview(out[start:stop]))
        run()
    return out.reshape(n, n_parts, n_out)


def _buffer(function, size):
    """The buffer of a function at so many points, and what evaluates it; of this thread, as it cannot serve two."""
    buffers = _kept.__dict__.setdefault("buffers", {})
    key = function.__hash__(), size  # that of the address
    if key not in buffers:
        if len(buffers) == MOST_BUFFERS:
            buffers.clear()
        buffers[key] = *(function.map(size) if size > 1 else function).buffer(), function
    return buffers[key]


_kept = threading.local()
