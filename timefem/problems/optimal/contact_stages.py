"""Complementary pairs solved in stages, from smooth ones to those that are nearly sharp."""

from dataclasses import replace

import numpy as np

from ...solvers.nonlinear.methods import after
from ...solvers.nonlinear.options import OPTIONS as OF_PROGRAMS
from ...solvers.nonlinear.over_ranks import OverRanks
from ...status import RETRY, Reason
from .complementarity import RESTS, CoulombFriction, Soft
from .options import OPTIONS

FORESEEN = '; places by {}(drop="start") depend on later forces of contacts, too: drop="end" or MixedGalerkin may help'


def needs_all_elements(element, limits):
    """Whether one rank has to have all elements: where contacts are marched, and where unknowns of an element are
    eliminated with the next one, and so meet those of the one before."""
    return _are_marched(limits) or getattr(element, "drop", "start") == "end"


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
    near = first if program.start_multipliers is None else min(first, max(last, _missed(program, last)**2))
    tries = [(eps, 0) for eps in sorted({near, first})]
    if any(isinstance(pair, CoulombFriction) for pair in pairs):
        tries += [(first, attempt) for attempt in range(1, len(RESTS))]
    iterations = 0
    for eps, attempt in tries:
        answer = _in_stages(after(method, iterations), program, pairs, eps, attempt)
        answer.iterations = iterations = iterations + answer.iterations
        if iterations >= method.max_iterations or answer.status.success or answer.status.reason == Reason.STOPPED:
            break
    if answer.status.reason in RETRY and getattr(element, "drop", "") == "start":
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
        answer = (left if at_last else _rough(left, eps, reached)).solve(program)
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


def _rough(method, eps, reached):
    """The method for a stage that is not the last one."""
    tolerance = max(method.tolerance, min(OPTIONS.stage_tolerance * eps**0.5, OPTIONS.stage_most_tolerance))
    most = method.max_iterations if reached is None else min(OPTIONS.stage_iterations, method.max_iterations)
    rough = replace(method, tolerance=tolerance, max_iterations=most)
    return replace(rough, pushes=0) if hasattr(rough, "pushes") else rough  # a saddle point is left at the end
