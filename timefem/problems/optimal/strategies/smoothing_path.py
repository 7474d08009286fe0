"""Complementary pairs solved in stages, from smooth ones to nearly sharp ones, and contacts marched as starts.

A march is the motion that given controls make, element by element.
"""

from dataclasses import replace

import numpy as np

from ....memory import Late
from ....parallel import OverRanks
from ....solvers.nonlinear.options import OPTIONS as OF_PROGRAMS
from ....solvers.nonlinear.program import after
from ....sparse import sparse_lu
from ....status import RETRY, Reason
from ..options import OPTIONS
from ..statement.complementarity import RESTS, CoulombFriction, Soft

scipy = Late("scipy")

FORESEEN = '; places by {}(drop="start") depend on later forces of contacts, too: drop="end" or MixedGalerkin may help'


def needs_all_elements(element, limits):
    """Whether one rank has to have all elements: where contacts are marched, and where unknowns of an element are
    eliminated with the next one, and so meet those of the one before."""
    return _are_marched(limits) or element.drop == "end"


def _are_marched(limits):
    return any(limit.march for limit in limits if isinstance(limit, Soft))


def solve_in_stages(method, program, limits, element):
    """The answer at the last smoothing eps of complementary pairs; `iterations` are those of all stages.

    The first eps is that of the pairs; near a solution the one whose corner is about as wide as the start misses the
    rows, so that a solution is found again, and that of the pairs only where this fails. Each stage starts from the one
    before, whose tolerance is only so tight that its error is small beside the width `sqrt(eps)` of the smoothed
    corner. The next eps is a tenth, less after quick stages, and more where a stage fails, from the last one that did
    not. Where pairs ask for it, each stage starts from the motion that the controls make at its eps. With friction
    further tries let bodies rest sooner.
    """
    pairs = [limit for limit in limits if isinstance(limit, Soft)]
    if not pairs:
        return _solve_relaxed_first(method, program)
    first, last = max(p.first for p in pairs), min(p.eps for p in pairs)
    unit = max(p.first if p.has_size else 1.0 for p in pairs)  # of eps, over rows squared
    near = first if program.start_multipliers is None else min(first, max(last, unit * _missed(program, last)**2))
    tries = [(eps, 0) for eps in sorted({near, first})]
    if any(isinstance(pair, CoulombFriction) for pair in pairs):
        tries += [(first, attempt) for attempt in range(1, len(RESTS))]
    iterations = 0
    for eps, attempt in tries:
        answer = _in_stages(after(method, iterations), program, pairs, eps, attempt)
        answer.iterations = iterations = iterations + answer.iterations
        if iterations >= method.max_iterations or answer.status.success or answer.status.reason == Reason.STOPPED:
            break
    if answer.status.reason in RETRY and element.drop == "start":
        answer.status.message += FORESEEN.format(type(element).__name__)
    return answer


def _solve_relaxed_first(method, program):
    """The answer by way of a convex set of controls for equations that curve one way, whose minimum often lies on
    these ("lossless convexification": B. Acikmese, L. Blackmore, Automatica 47 (2011) 341-347)."""
    if program.start_multipliers is not None or not program.relax():
        return method.solve(program)
    relaxed = method.solve(program)
    program.state()
    missed = program.violation(program.rows(relaxed.v)).max(initial=0.0)
    if relaxed.status.success and OverRanks(program.comm).largest(missed) <= OF_PROGRAMS.missed:
        return relaxed  # so the minimum of more is that of what is stated
    left, start = after(method, relaxed.iterations), program.start
    if relaxed.status.success:
        program.start, program.start_multipliers = relaxed.v, relaxed.multipliers
    answer = left.solve(program)
    program.start, program.start_multipliers = start, None
    answer.iterations += relaxed.iterations
    return answer


def _missed(program, eps):
    """By how much the start misses the rows, on all ranks."""
    program.soften(eps)
    missed = program.violation(program.rows(np.clip(program.start, *program.bounds)))
    return OverRanks(program.comm).largest(missed.max(initial=0.0))


def _in_stages(method, program, pairs, eps, attempt):
    first, last = max(p.first for p in pairs), min(p.eps for p in pairs)
    reached, fall, iterations, start = None, OPTIONS.stage_fall, 0, (program.start, program.start_multipliers)
    while True:
        program.soften(eps, attempt)
        at_last = eps <= last
        if _are_marched(pairs):
            marched = program.marched(program.start)
            program.start = program.start if marched is None else marched
        left = after(method, iterations)
        answer = (left if at_last else _rough(left, eps / first, reached)).solve(program)
        iterations += answer.iterations
        if iterations >= method.max_iterations and not (answer.status.success and at_last):
            break
        if answer.status.success and not at_last:
            program.start, program.start_multipliers, reached = answer.v, answer.multipliers, eps
            settled = eps <= OPTIONS.stage_settled * OPTIONS.stage_rounding * first
            if answer.iterations <= OPTIONS.stage_quick and settled:
                fall = max(fall**OPTIONS.stage_longer, OPTIONS.stage_greatest_fall)
        elif answer.status.success or reached is None or fall > OPTIONS.stage_least_fall or \
                answer.status.reason == Reason.STOPPED:
            break
        else:
            fall = fall**0.5
        eps = reached * fall
        eps = last if eps <= OPTIONS.stage_rounding * last else eps
    program.start, program.start_multipliers = start
    answer.iterations = iterations
    return answer


def _rough(method, share, reached):
    """The method for a stage that is not the last one, whose eps is this share of the first."""
    tolerance = max(method.tolerance, min(OPTIONS.stage_tolerance * share**0.5, OPTIONS.stage_most_tolerance))
    most = method.max_iterations if reached is None else min(OPTIONS.stage_iterations, method.max_iterations)
    rough = replace(method, tolerance=tolerance, max_iterations=most)
    return replace(rough, pushes=0) if hasattr(rough, "pushes") else rough  # a saddle point is left at the end


class ContactMarch:
    """States and forces of contacts of an `OptimalProgram`, all other controls, start and constants as they are.

    The equations of motion and the smoothed rows of contacts are as many as states and forces of contacts, and those of
    an element join it to earlier ones only. They are solved by Newton's method over windows of elements, which grow in
    free flight and shrink down to one element at an impact: there the rows grow with the force, and steps from any
    force lead to the root. Newton's method over all elements does not: when eps changes, an impact comes in another
    step.

    Parameters
    ----------
    program : OptimalProgram
        Given with each call, as it holds the march.
    rows, columns : ndarray of int
        Of the program: those of contacts and of motion, and what they determine.
    """

    def __init__(self, program, rows, columns):
        n = int(program.joined[-1]) + 1
        self._rows, ends_of_rows = _in_order(rows, program.joined[program.row_blocks], n)
        self._columns, self._ends = _in_order(columns, program.joined[program.variable_blocks], n)
        self.determined = np.array_equal(ends_of_rows, self._ends)
        i, j = (np.full(m, -1) for m in (program.n_rows, program.n))
        i[self._rows], j[self._columns] = np.arange(len(rows)), np.arange(len(columns))
        i, j = i[program.jacobian_places[0]], j[program.jacobian_places[1]]
        self._kept = np.flatnonzero((i >= 0) & (j >= 0))
        self._places = i[self._kept], j[self._kept]

    def __call__(self, program, v):
        """The variables after a march; None where Newton's method fails."""
        first, width, n = 0, OPTIONS.march_window, len(self._ends) - 1
        while first < n:
            last = min(n, first + width)
            most = OPTIONS.march_few if width > 1 else OPTIONS.march_most
            found, steps = self._window(program, v, first, last, most)
            if found is not None:
                v, first, width = found, last, width * OPTIONS.march_longer if steps <= OPTIONS.march_quick else width
            elif width == 1:
                return None
            else:
                width = max(1, width // OPTIONS.march_shorter)
        # rows may see the element after them, as with shared tests
        return self._window(program, v, 0, n, OPTIONS.march_most)[0]

    def _window(self, program, v, first, last, most):
        """The variables with elements first, ..., last - 1 solved, or None, and how many steps it took."""
        (a, b), (i, j) = self._ends[[first, last]], self._places
        rows, columns = self._rows[a:b], self._columns[a:b]
        inside = np.flatnonzero((i >= a) & (i < b) & (j >= a) & (j < b))
        middle = sum(bound[rows] for bound in program.row_bounds) / 2
        v = v.copy()
        for step in range(most + 1):
            residual = program.rows(v)[rows] - middle
            if not np.isfinite(residual).all():
                return None, step
            if np.abs(residual).max() <= OPTIONS.march_tolerance:
                return v, step
            entries = program.jacobian(v)[self._kept[inside]]
            tangent = scipy.sparse.csc_matrix((entries, (i[inside] - a, j[inside] - a)), (b - a, b - a))
            try:
                v[columns] -= sparse_lu(tangent, "NATURAL").solve(residual)
            except RuntimeError:  # singular
                return None, step
        return None, most


def _in_order(numbers, blocks, n):
    """Rows or variables in the order of their blocks, and where those of each of n blocks begin, and the end."""
    numbers = numbers[np.argsort(blocks[numbers], kind="stable")]
    return numbers, np.searchsorted(blocks[numbers], np.arange(n + 1))
