"""Programs as engines take them: scaled, and as functions of CasADi."""

from dataclasses import replace

import casadi as ca
import numpy as np

from ... import interrupts
from ...errors import InputError
from ..interior_point.barrier import enlargement
from .options import OPTIONS
from .program import Answer, NonlinearProgram


def refused_options(title, options, error):
    """The `InputError` for an error of CasADi about options that were given besides; others as they are."""
    text = str(error).strip().splitlines()[-1]
    if not options or "option" not in text:
        return error
    return InputError(f"{title}: options {options!r}: {text.split(': ', 1)[-1]}")


def guarded(owner, function):
    """The function on flat arrays; what it raises is `owner.failure`, too: CasADi would turn it into text."""
    def run(*arguments):
        try:
            if interrupts.asked():
                raise interrupts.Interrupted(interrupts.asked())
            return function(*(np.array(a).ravel() for a in arguments))
        except (Exception, KeyboardInterrupt) as error:
            owner.failure = error
            raise
    return run


def sparsity(n_rows, n_columns, places):
    """CasADi sparsity of entries (rows, columns), and their order in it."""
    rows, columns = (np.asarray(x, np.int64) for x in places)
    order = np.lexsort((rows, columns))
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=n_columns))])
    return ca.Sparsity(n_rows, n_columns, starts.tolist(), rows[order].tolist()), order


class _Called(ca.Callback):
    def __init__(self, spec, name, inputs, outputs, keep, options):
        ca.Callback.__init__(self)
        self.spec, self.names, self.keep = spec, (list(inputs), list(outputs)), keep
        self.construct(name, options)

    def get_n_in(self):
        return len(self.spec["inputs"])

    def get_n_out(self):
        return len(self.spec["outputs"])

    def get_sparsity_in(self, i):
        return self.spec["inputs"][i]

    def get_sparsity_out(self, i):
        return self.spec["outputs"][i]

    def get_name_in(self, i):
        return self.names[0][i]

    def get_name_out(self, i):
        return self.names[1][i]

    def eval(self, arguments):
        return self.spec["function"](*arguments)

    def has_reverse(self, n):
        return n == 1 and "reverse" in self.spec

    def get_reverse(self, n, name, inputs, outputs, options):
        return called(self.spec["reverse"], name, inputs, outputs, self.keep, options)

    def has_jacobian(self):
        return "jacobian" in self.spec

    def get_jacobian(self, name, inputs, outputs, options):
        return called(self.spec["jacobian"], name, inputs, outputs, self.keep, options)

    def has_jac_sparsity(self, output, i):
        return "jacobian" in self.spec

    def get_jac_sparsity(self, output, i, symmetric):
        return self.spec["jacobian"]["outputs"][output * len(self.spec["inputs"]) + i]


def called(spec, name, inputs, outputs, keep, options=None):
    """A CasADi function of a Python function.

    Parameters
    ----------
    spec : dict
        "inputs" and "outputs" (sparsities), "function" (of and to CasADi matrices), and perhaps "jacobian" and
        "reverse" of the same form.
    name : str
    inputs, outputs : list of str
    keep : object
        Has a list `functions`, which is made if need be and holds what must stay alive.
    options : dict, optional
    """
    function = _Called(spec, name, inputs, outputs, keep, options or {})
    keep.__dict__.setdefault("functions", []).append(function)
    return function


# ---- programs scaled anew from an answer, for engines that cannot do it themselves: small objectives, and `Centred`.
#
# That is a program in which a point near a solution is where methods begin that take no multipliers: s, z and mu all 1.
#
# Distances s to bounds, their multipliers z and the objective f become `s / k`, `k z / mu` and `f / mu`, so that, with
# k = s, all become 1 where products s z are mu. Rows with bounds are equations with variables for their values. So none
# of the terms z / s of active bounds is large, which Riccati's recursion adds to the Hessian and carries on to the next
# stage: from z / s = 1e9 on it finds the curvature of minima negative, by rounding.

class Centred:
    """A program around an answer, with `answer` for the way back.

    Parameters
    ----------
    program : NonlinearProgram
    v, multipliers, bound_multipliers : ndarray
        As in `Answer`.
    mu : float
        Products of slacks and multipliers there, about.
    """

    start_multipliers = None

    def __init__(self, program, v, multipliers, bound_multipliers, mu):
        self._program, self.factor = program, 1 / mu
        bounds, (lower, upper) = program.bounds, program.row_bounds
        self._row = np.flatnonzero(lower < upper)
        values = np.concatenate([v, program.rows(v)[self._row]])
        z = np.abs(np.concatenate([bound_multipliers, multipliers[self._row]]))
        low, high = (np.concatenate([b, r[self._row]]) for b, r in zip(bounds, program.row_bounds, strict=True))
        low = low - OPTIONS.centred_relaxed * np.maximum(1, np.abs(low))
        high = high + OPTIONS.centred_relaxed * np.maximum(1, np.abs(high))
        free, at_low = np.isinf(low) & np.isinf(high), values - low <= high - values
        self._base = np.where(free, 0.0, np.where(at_low, low, high))
        slack = np.clip(np.where(at_low, values - low, high - values), 0, 1)
        room = np.maximum(slack, np.minimum(mu / np.maximum(z, OPTIONS.no_multiplier), mu**0.5))
        self._size = np.where(free, 1.0, np.clip(np.minimum(room, high - low), OPTIONS.centred_least, 1))
        self.bounds = (low - self._base) / self._size, (high - self._base) / self._size
        self.n, self.n_rows, self._n = len(values), program.n_rows, program.n
        equal = np.where(lower < upper, 0.0, lower)
        equal[self._row] = self._base[self._n:]
        self.row_bounds = equal, equal
        self.start = (np.clip(values, low, high) - self._base) / self._size
        self.variable_blocks = np.concatenate([program.variable_blocks, program.row_blocks[self._row]])
        self.row_blocks, self.hessian_places = program.row_blocks, program.hessian_places
        rows, columns = program.jacobian_places
        self._entry_size, (i, j) = self._size[columns], program.hessian_places
        self._hessian_size = self._size[i] * self._size[j]
        self.jacobian_places = (np.concatenate([rows, self._row]),
                                np.concatenate([columns, np.arange(self._n, self.n)]))

    gradient_of_lagrangian = NonlinearProgram.gradient_of_lagrangian  # by its own rows and gradient

    def __getattr__(self, name):
        return getattr(self._program, name)

    def _plain(self, w):
        return (self._base + self._size * w)[:self._n]

    def objective(self, w):
        return self.factor * self._program.objective(self._plain(w))

    def gradient(self, w):
        gradient = np.zeros(self.n)
        gradient[:self._n] = self.factor * self._program.gradient(self._plain(w)) * self._size[:self._n]
        return gradient

    def rows(self, w):
        rows = self._program.rows(self._plain(w)).copy()
        rows[self._row] -= (self._size * w)[self._n:]
        return rows

    def jacobian(self, w):
        own = self._program.jacobian(self._plain(w)) * self._entry_size
        return np.concatenate([own, -self._size[self._n:]])

    def hessian(self, w, factor, multipliers):
        return self._program.hessian(self._plain(w), self.factor * factor, multipliers) * self._hessian_size

    def violation(self, rows):
        return np.abs(rows - self.row_bounds[0])

    def answer(self, found):
        """The `Answer` for the program itself."""
        v, y = self._plain(found.v), found.multipliers / self.factor
        bounded = np.isfinite(self.bounds[0][:self._n]) | np.isfinite(self.bounds[1][:self._n])
        z = np.where(bounded, self._program.gradient_of_lagrangian(v, 1.0, y), 0.0)
        return Answer(v, y, z, found.status, found.iterations)


def solved_enlarged(solve, program):
    """The answer of a method that has no such factor: where the objective turns out to be small, of a second solve.

    Parameters
    ----------
    solve : callable
        Of a program -> its `Answer`.
    program : NonlinearProgram
    """
    first = solve(program)
    factor = 1.0
    if first.status.success:
        factor = enlargement(program.objective(first.v), np.abs(program.gradient(first.v)).max(initial=0.0))
    if factor == 1:
        return first
    found = solve(_Enlarged(program, factor, first))
    if not found.status.success:
        return replace(first, iterations=first.iterations + found.iterations)
    return replace(found, multipliers=found.multipliers / factor, bound_multipliers=found.bound_multipliers / factor,
                   iterations=first.iterations + found.iterations)


class _Enlarged:
    """A program with its objective times a factor, from an answer without that."""

    def __init__(self, program, factor, answer):
        self._program, self._factor = program, factor
        self.start, self.start_multipliers = answer.v, factor * answer.multipliers

    def __getattr__(self, name):
        return getattr(self._program, name)

    def objective(self, v):
        return self._factor * self._program.objective(v)

    def gradient(self, v):
        return self._factor * self._program.gradient(v)

    def hessian(self, v, factor, multipliers):
        return self._program.hessian(v, self._factor * factor, multipliers)
