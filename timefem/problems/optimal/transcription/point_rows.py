"""Rows of a nonlinear program that are formulas of what a few variables give: limits, integrals, rates, couplings."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from .... import sparse
from ....kernels.compile import Buffered, cached_kernel, default_backend
from ....kernels.operations import UnsupportedOperation
from ....kernels.store import digest
from ....solvers.nonlinear.program import LIMIT
from ....types import Floats, Vector
from ..options import OPTIONS


class View(NamedTuple):
    """Values w at points as linear functions of the variables v of a program: `w = start + sum over s of factors v`.

    Attributes
    ----------
    start : ndarray, shape (n_points, n_w)
    columns : ndarray of int, shape (n_points, n_w, n_shapes)
        Variables, -1 where there is none, and -2 - i for the dof i of a first node that is given: what changes with
        that, its factor is not of a scaled variable.
    factors : ndarray, shape (n_points, n_w, n_shapes)
    """

    start: np.ndarray
    columns: np.ndarray
    factors: np.ndarray

    @classmethod
    def joined(cls, *views):
        """Components one behind the other."""
        most = max(v.columns.shape[2] for v in views)

        def padded(x, fill):
            return np.pad(x, ((0, 0), (0, 0), (0, most - x.shape[2])), constant_values=fill)

        return cls(np.concatenate([v.start for v in views], axis=1),
                   np.concatenate([padded(v.columns, -1) for v in views], axis=1),
                   np.concatenate([padded(v.factors, 0.0) for v in views], axis=1))

    @classmethod
    def variables(cls, columns, size=1.0):
        """Variables of the program themselves; columns of shape (n_points, n_w), -1 for zero."""
        columns = np.asarray(columns)[:, :, None]
        return cls(np.zeros(columns.shape[:2]), columns, np.where(columns < 0, 0.0, size))

    def minus(self, other):
        """The differences to the values of another view."""
        return View(self.start - other.start, np.concatenate([self.columns, other.columns], axis=2),
                    np.concatenate([self.factors, -other.factors], axis=2))

    def shifted(self, n):
        """With variables that are numbered from n on."""
        return self._replace(columns=np.where(self.columns < 0, self.columns, self.columns + n))

    def grouped(self, n):
        """Each n points that follow each other as one, their components one behind the other."""
        return View(*(x.reshape(len(x) // n, n * x.shape[1], *x.shape[2:]) for x in self))


class ChainView:
    """Fields of a chain of elements as functions of the variables of its program.

    Parameters
    ----------
    chain : OptimalityEquations
    base : ndarray
        Unknowns where the variables are zero.
    number : ndarray of int
        Variable of each unknown of the chain, -1 for costates.
    """

    def __init__(self, chain, base, number):
        self.chain, self._base, self._number = chain, base, number

    def __call__(self, name, elements, points, rate=False):
        """A field, or its derivative by the place, at points (0 to 1) of elements, arrays of the same length."""
        chain, basis = self.chain, self.chain.plan.element.trial[name].basis
        shapes = (basis.derivatives if rate else basis.values)(np.asarray(points, float))
        unknown = chain.columns_of(name)[elements].transpose(0, 2, 1)
        factors = np.broadcast_to(shapes[:, None, :], unknown.shape)
        used = (unknown >= 0) & (np.abs(factors) > 1e-14)
        start = np.einsum("ps,psa->pa", shapes, chain.nodal(self._base, name)[elements])
        dofs = chain.places_of(name)[elements].transpose(0, 2, 1)
        given = (unknown < 0) & (dofs < chain.plan.columns.n_node) & (np.abs(factors) > 1e-14)
        return View(start, np.where(used, self._number[unknown], np.where(given, -2 - dofs, -1)),
                    np.where(used, factors * chain.sizes[unknown], np.where(given, factors, 0)))

    def constants(self, elements, point=0.0):
        """Unknown constants, where there are some, by the variables at a point (0 to 1) of elements."""
        if "constants" not in self.chain.plan.element.trial:
            shape = len(elements), 0, 1
            return View(np.zeros(shape[:2]), np.zeros(shape, int), np.zeros(shape))
        return self("constants", elements, np.full(len(elements), point))


class PointRows:
    """Rows g(w, p) at points, with the w of a `View` and given numbers p.

    Parameters
    ----------
    name : str or list of str
        For reports; of each row.
    symbols : (SX, SX)
        w and p.
    rows : SX, shape (n_values,)
    bounds : (array_like, array_like)
        Of the rows at one point.
    view : View
    blocks, times : ndarray, shape (n_points,)
        Block of the program, and time on the mesh [s].
    given : ndarray, shape (n_points, n_p), optional

    Attributes
    ----------
    n_rows : int
    elements : ndarray of int, shape (n_rows,)
        Blocks of the rows.
    lower, upper : ndarray, shape (n_rows,)
    role : int
        Of the rows in reports, see `NonlinearProgram`; that of limits unless it is changed.
    unit : float or ndarray, shape (n_values,)
        What their formulas are over already.
    are_linear : bool
        Whether their formulas are.
    jacobian_places, hessian_places : (ndarray of int, ndarray of int)
        As in `NonlinearProgram`; those of the Hessian may come twice, and count together.
    """

    role, unit = LIMIT, 1.0

    def __init__(self, name: str | Sequence[str], symbols: tuple[ca.SX, ca.SX], rows: ca.SX,
                 bounds: Sequence[Floats], view: View, blocks: Vector, times: Vector,
                 given: np.ndarray | None = None) -> None:
        (w, p), rows = symbols, ca.densify(rows)
        self.names = [f"{name}[{i}]" for i in range(rows.numel())] if isinstance(name, str) else list(name)
        self.n_points, self.n_values = len(view.start), rows.numel()
        self._view, self._of_start = _without_given(view)
        self._blocks, self._times = np.asarray(blocks), np.asarray(times)
        self._given = np.zeros((self.n_points, 0)) if given is None else np.asarray(given, float)
        weights = ca.SX.sym("weights", rows.numel())
        jacobian, hessian = ca.jacobian(rows, w), ca.triu(ca.hessian(ca.dot(weights, rows), w)[0])
        self._function = _at_points(self.n_points, [w, p, weights], [rows, _nonzeros(jacobian), _nonzeros(hessian)])
        self.n_rows = self.n_points * self.n_values
        self._weights = np.zeros(self.n_rows)
        self.elements = np.repeat(self._blocks, self.n_values)
        self.lower, self.upper = (np.tile(np.broadcast_to(np.asarray(b, float), (self.n_values,)), self.n_points)
                                  for b in bounds)
        self._places(*(np.array(m.sparsity().get_triplet(), int) for m in (jacobian, hessian)))
        self.are_linear, self._known = hessian.nnz() == 0, None
        self._size, self._of_entries = np.ones(self.n_rows), np.array(jacobian.sparsity().get_triplet()[0], int)

    def changes(self, first: int, last: int) -> tuple[np.ndarray, int]:
        """What variables of size one change at the start, (n_values,), summed over the points in blocks from first to
        last - 1, and how many these are."""
        own = (self._blocks >= first) & (self._blocks < last)
        entries = np.abs(self._function(self._view.start, self._given, self._weights)[1]).reshape(self.n_points, -1)
        entries = entries * np.abs(self._view.factors).sum(axis=2)[:, self._components]
        total = np.zeros(self.n_values)
        np.add.at(total, self._of_entries, entries[own].sum(axis=0))
        return total, int(own.sum())

    def over_sizes(self, change: np.ndarray) -> PointRows:
        """Take rows over their sizes: the larger one of their bounds, or where these are zero, or stand for none, what
        variables of size one change, shape (n_values,)."""
        bounds = np.array([self.lower[:self.n_values], self.upper[:self.n_values]])
        size = np.abs(np.where(np.isfinite(bounds), bounds, 0.0)).max(axis=0)
        change = np.where(np.isfinite(change), change, 0.0)
        size = np.where(change > 0, np.where(size > 0, np.minimum(size, OPTIONS.no_bound * change), change), size)
        self._size = np.tile(np.where(size > 0, size, 1.0), self.n_points)
        self.lower, self.upper = self.lower / self._size, self.upper / self._size
        slots, entries, factors = self._to_jacobian
        self._to_jacobian = slots, entries, factors / self._size[self._row_of_entry]
        self._known = None
        return self

    @property
    def sizes(self) -> np.ndarray:
        """What the rows are over, their unit included, shape (n_rows,)."""
        return self._size * np.tile(np.broadcast_to(self.unit, (self.n_values,)), self.n_points)

    def _places(self, of_jacobian, of_hessian):
        columns, factors = self._view.columns, self._view.factors
        row, component = of_jacobian
        at = columns[:, component]
        rows = np.broadcast_to(np.arange(self.n_points)[:, None, None] * self.n_values + row[:, None], at.shape)
        kept, n = at >= 0, columns.max(initial=0) + 1
        self._components, self._row_of_entry = component, rows[kept]
        keys, slots = np.unique(rows[kept] * n + at[kept], return_inverse=True)
        self._to_jacobian = slots, self._entries(kept, len(row)), factors[:, component][kept]
        self.jacobian_places = np.divmod(keys, n)
        first, second = of_hessian
        a, b = np.broadcast_arrays(columns[:, first][..., :, None], columns[:, second][..., None, :])
        # of different components a pair counts once, as the upper triangle does; of one component all pairs of shapes
        same = (first == second)[None, :, None, None]
        kept = (a >= 0) & (b >= 0) & (~same | (a <= b))
        both = factors[:, first][..., :, None] * factors[:, second][..., None, :]
        both = (np.where(~same & (a == b), 2.0, 1.0) * both)[kept]
        self._to_hessian = self._entries(kept, len(first)), both
        self.hessian_places = tuple(f(a, b)[kept] for f in (np.minimum, np.maximum))

    def _entries(self, kept, n):
        """Places of those kept, of shape (n_points, n, ...), among n entries of each point."""
        entries = np.arange(self.n_points * n).reshape(self.n_points, n, *[1] * (kept.ndim - 2))
        return np.broadcast_to(entries, kept.shape)[kept]

    def expect(self, weights: np.ndarray) -> None:
        """Told with which weights the Hessian may be asked for at the next v."""
        self._weights = weights

    def _at(self, v):
        """Values, and entries of Jacobian and Hessian with the weights expected, kept for the next question."""
        key = v.tobytes()
        if self._known is None or self._known[0] != key:
            view = self._view
            w = sparse.gathered(view.start, view.columns, view.factors, v)
            rows, entries, curvatures = self._function(w, self._given, self._weights / self._size)
            jacobian = np.zeros(len(self.jacobian_places[0]))
            sparse.add_spread(*self._to_jacobian, entries, jacobian)
            self._known = key, rows / self._size, jacobian, self._weights, curvatures  # these last until the next v
        return self._known[1:]

    @property
    def _at_zero(self):
        """Values and entries of the Jacobian where all variables are zero, kept."""
        if self._known is None:
            self._at(np.zeros(self._view.columns.max(initial=-1) + 1))
        return self._known[1:3]

    def give(self, value: float) -> None:
        """Change the last of the given numbers, at all points."""
        self._given[:, -1], self._known = value, None

    def move_start(self, change: np.ndarray) -> None:
        """Change the dofs of the first node, which is given."""
        points, components, dofs, factors = self._of_start
        if len(points):
            np.add.at(self._view.start, (points, components), factors * change[dofs])
            self._known = None

    def values(self, v: np.ndarray) -> np.ndarray:
        """g at all points, shape (n_rows,)."""
        if not self.are_linear:
            return self._at(v)[0]
        start, entries = self._at_zero
        out = start.copy()
        sparse.add_product(*self.jacobian_places, entries, v, 1.0, out)
        return out

    def jacobian(self, v: np.ndarray) -> np.ndarray:
        """Entries of the Jacobian at `jacobian_places`."""
        return self._at_zero[1] if self.are_linear else self._at(v)[1]

    def add_hessian(self, v: np.ndarray, weights: np.ndarray, slots: np.ndarray, out: np.ndarray) -> None:
        """Add entries of the upper triangle of the Hessian of weights . g at `hessian_places`, in these slots."""
        if self.are_linear:
            return
        *_, known, entries = self._at(v)
        if not np.array_equal(known, weights):
            self._weights, self._known = weights, None
            entries = self._at(v)[-1]
        sparse.add_spread(slots, *self._to_hessian, entries, out)

    def describe(self, i: int) -> tuple[int, float, str]:
        """Block, time on the mesh [s] and name of row i."""
        point, value = divmod(i, self.n_values)
        return int(self._blocks[point]), float(self._times[point]), self.names[value]


def _without_given(view):
    """A view of variables alone, and where dofs of a first node that is given count: points, components, dofs, factors.
    """
    at = np.nonzero(view.columns <= -2)
    of_start = at[0], at[1], -2 - view.columns[at], view.factors[at]
    given = view.columns <= -2
    return View(view.start.copy(), np.where(given, -1, view.columns), np.where(given, 0.0, view.factors)), of_start


def _at_points(n, arguments, results):
    """A function of points one behind the other: by machine code where it is long, as with inverses of mass matrices,
    else as one expression for a few points: each call of it takes CasADi as long as a small one works."""
    function = ca.Function("rows", arguments, results)
    if function.n_instructions() >= OPTIONS.machine_code_from and default_backend() == "llvm":
        with contextlib.suppress(UnsupportedOperation):
            return _MachineCode(arguments, results)
    few = max(k for k in range(1, OPTIONS.points_together + 1) if n % k == 0)
    return Buffered(function.map(few).expand().map(n // few))


class _MachineCode:
    """A function of points as a kernel, which takes eight of them at once."""

    def __init__(self, arguments, results):
        self._function = ca.Function("rows", [ca.vertcat(*arguments)], [ca.vertcat(*results)])
        self._ends = np.cumsum([result.numel() for result in results])[:-1]
        self._make()

    def _make(self):
        self._kernel = cached_kernel(("point rows", digest(self._function.serialize())), lambda: self._function)

    def __getstate__(self):
        return self._function, self._ends

    def __setstate__(self, state):
        self._function, self._ends = state
        self._make()

    def __call__(self, *arguments):
        n = len(arguments[0])
        out = self._kernel(np.concatenate([given.reshape(n, -1) for given in arguments], axis=1), lanes=True)
        return [part.ravel() for part in np.split(out, self._ends, axis=1)]


def _nonzeros(matrix):
    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())


class AddedRows:
    """Sets of `PointRows` behind the rows that a program has already.

    Parameters
    ----------
    sets : list of PointRows
    n : int
        Variables.
    first : int
        Number of the first row.
    jacobian_places, hessian_places
        Of what is there already.

    Attributes
    ----------
    jacobian_places, hessian_places
        Of all.
    starts : list of int
        First row of each set, and the end.
    """

    def __init__(self, sets, n, first, jacobian_places, hessian_places):
        self.sets, self.starts = sets, np.cumsum([first, *(rows.n_rows for rows in sets)]).tolist()
        self.jacobian_places, self.hessian_places, self._slots = jacobian_places, hessian_places, ()
        if not sets:
            return
        own = [(rows.jacobian_places[0] + start, rows.jacobian_places[1])
               for rows, start in zip(sets, self.starts, strict=False)]
        self.jacobian_places = tuple(np.concatenate(x) for x in zip(jacobian_places, *own, strict=True))
        keys = hessian_places[0] * n + hessian_places[1]
        ends = np.cumsum([len(rows.hessian_places[0]) for rows in sets])
        added = np.concatenate([rows.hessian_places[0] * n + rows.hessian_places[1] for rows in sets])
        keys = np.concatenate([keys, np.setdiff1d(added, keys)])
        order = np.argsort(keys)
        self._slots = np.split(order[np.searchsorted(keys, added, sorter=order)], ends[:-1])
        self.hessian_places = np.divmod(keys, n)

    @property
    def n_rows(self):
        return self.starts[-1]

    @property
    def bounds(self):
        none = np.zeros(0)
        return tuple(np.concatenate([none, *b]) for b in ([s.lower for s in self.sets], [s.upper for s in self.sets]))

    @property
    def are_linear(self):
        return all(rows.are_linear for rows in self.sets)

    @property
    def sizes(self):
        """What the rows added are over, see `PointRows.over_sizes`."""
        return np.concatenate([np.zeros(0), *(rows.sizes for rows in self.sets)])

    @property
    def roles(self):
        return np.concatenate([np.zeros(0, int), *(np.full(rows.n_rows, rows.role) for rows in self.sets)])

    @property
    def blocks(self):
        return np.concatenate([np.zeros(0, int), *(rows.elements for rows in self.sets)])

    def move_start(self, change):
        """Change the dofs of the first node, which is given."""
        for rows in self.sets:
            rows.move_start(change)

    def expect(self, multipliers):
        """Told those of all rows with which the Hessian may be asked for next."""
        for rows, start in zip(self.sets, self.starts, strict=False):
            rows.expect(multipliers[start:start + rows.n_rows])

    def put_values(self, v, out):
        """Write the rows added."""
        for rows, start in zip(self.sets, self.starts, strict=False):
            out[start - self.starts[0]:start - self.starts[0] + rows.n_rows] = rows.values(v)

    def put_jacobian(self, v, out):
        """Write the entries of the rows added."""
        at = 0
        for rows in self.sets:
            entries = rows.jacobian(v)
            out[at:at + len(entries)], at = entries, at + len(entries)

    def add_gradient(self, v, multipliers, out):
        """Add the gradient of multipliers . rows."""
        for rows, start in zip(self.sets, self.starts, strict=False):
            sparse.add_product(*rows.jacobian_places[::-1], rows.jacobian(v), multipliers[start:start + rows.n_rows],
                                 1.0, out)

    def add_hessian(self, v, multipliers, out):
        """Add what they have to the entries at `hessian_places`."""
        for rows, slots, start in zip(self.sets, self._slots, self.starts, strict=False):
            rows.add_hessian(v, multipliers[start:start + rows.n_rows], slots, out)

    def describe(self, i):
        """Block, time on the mesh [s] and name of row i."""
        k = int(np.searchsorted(self.starts, i, side="right")) - 1
        return self.sets[k].describe(i - self.starts[k])
