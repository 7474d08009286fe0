"""Whether the actuators can move what an optimal control problem asks for, at its guess."""

from dataclasses import field, replace

import numpy as np

from ....errors import InputError, SolveError
from ....records import frozen
from ....solvers.equations.outcome import NodalValues
from ..guesses.guess import BENDS, Guess, first_guess
from ..options import OPTIONS
from ..transcription.equations import TangentParts

REFUSALS = {"control": "{} does nothing: constraints take all of it, or its direction is zero; remove it",
            "end": "the end cannot be reached: no actuator moves the {}; leave it out of `end`, or add an actuator"}
REPORTS = {"control": "{} does nothing", "end": "no actuator moves the {}"}


@frozen(eq=False)
class Reach:
    """What the actuators do to the conditions at the end, to first order.

    Attributes
    ----------
    unmoved : (str, str) or None
        ("end", name of a condition) that none moves, and that is not met without, or ("control", name of one without
        effect).
    told : bool
        Whether rounding leaves small effects to be seen.
    held : ndarray, shape (n, n_held)
        Orthonormal combinations of the conditions that no actuator moves and that are met whatever they do, such as
        those across the plane of a plane motion.
    text : str
        The report on what is unmoved, for a solve that fails; empty where nothing is.
    """

    unmoved: tuple[str, str] | None = None
    told: bool = True
    held: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    text: str = ""


def check_reach(equations, x, nearby=None, quiet=False):
    """Look for conditions at the end that no actuator moves to first order at the guess `x`.

    Where none does along another motion with all controls acting either, it is refused. An effect of second order, such
    as that of a rotor that is turned and pushes then, is one to first order there: such a solve begins beside the guess
    and may well succeed.

    Parameters
    ----------
    equations : OptimalityEquations
        Its equations, linearised, give the motion by the controls, and the conditions by the motion.
    x : ndarray
    nearby : callable
        Gives unknowns of a guess with another motion.
    quiet : bool
        Do not refuse.

    Returns
    -------
    Reach

    Raises
    ------
    InputError
        Names the control, or a condition; also when there are fewer controls on the mesh than conditions.
    """
    found = reach(equations, equations.with_costates(x, 0))
    if found.unmoved is None or quiet:
        return found
    # beside the guess, where all controls act at once, each by another amount, which grows: with a course that is
    # constant as well a vehicle moves aside alone, at all times
    controls, step = equations.columns_of("controls"), np.zeros(equations.n_unknowns)
    grows = np.linspace(1, 2, controls[..., 0].size).reshape(*controls.shape[:-1], 1)
    step[controls] = OPTIONS.nearby * grows / np.arange(1, controls.shape[-1] + 1)
    beside = equations.with_costates(nearby(), 0)
    # and at the end a state that the conditions hold: at another one a formula such as a square may have no gradient
    last, plan = equations.columns_of("state")[-1, -1], equations.plan
    there = NodalValues(*plan.unpack(equations.dofs(beside))).state[-1, -1]
    step[last[last >= 0]] = ((equations.problem.conditions.state - there)[last >= 0]) / equations.sizes[last[last >= 0]]
    never = reach(equations, equations.moved(beside, step, 1.0))
    if never.unmoved is not None and found.told and never.told:
        raise InputError(REFUSALS[never.unmoved[0]].format(never.unmoved[1]))
    what, name = found.unmoved
    return replace(found, text=f"{REPORTS[what].format(name)} at t = {equations.mesh.nodes[-1]:g}, to first order, at "
                               "the guess; another one may be better: guess={actuator: value}, or a motion")


def guess_in_reach(solve, level, guess):
    """All unknowns to start from, from which the targets are in reach."""
    problem, plan, kept = solve.problem, solve.plan, solve.kept
    if guess is None:
        known, nodes, x, problem.held = kept.thing("guess", problem, lambda: (None,) * 4)
        if known is plan and np.array_equal(nodes, level.nodes):
            return x
    problem.held = None
    equations = solve.all_equations(level)
    x = first_guess(problem, plan, level, guess)

    def bent():
        return first_guess(problem, plan, level, Guess(bend=BENDS[0]))

    found = check_reach(equations, x, bent)
    solve.unreached = found.text
    note_held(problem, found)
    if found.unmoved is not None:
        return bent() if guess is None else x
    if guess is None:
        kept.put("guess", problem, (plan, level.nodes, x, problem.held))
    return x


def note_held(problem, found):
    """Whether there are conditions that are met without actuators, which the problem takes note of."""
    if found.held.size and not problem.bounded:  # the interior-point method does without
        problem.held = found.held
    return problem.held is not None


def reach(equations, x):
    """The `Reach` at unknowns `x`."""
    problem = equations.problem
    residual, tangent = equations.evaluate(x), TangentParts(equations)
    n_end = equations.blocks[1].n_unknowns
    controls = equations.columns_of("controls")
    inputs = controls.ravel()
    if problem.free_start:
        inputs = np.append(inputs, equations.columns_at_start())
    if problem.unknown_names:
        inputs = np.append(inputs, equations.columns_of("constants")[0, 0])
    n = equations.n_unknowns
    is_input = np.zeros(n, bool)
    is_input[inputs] = True
    motion = np.flatnonzero(~equations.dual & ~is_input)
    motion_rows = np.flatnonzero(equations.dual)[:np.count_nonzero(equations.dual) - n_end]
    try:
        lu = tangent.factors(motion_rows, motion)
    except SolveError:  # the motion itself is not determined: Newton's method will tell
        return Reach()
    idle = _idle_control(problem, equations, lu, tangent, motion_rows, motion)
    if idle is not None or not n_end:
        return Reach(idle)
    ends = np.arange(n - n_end, n)
    adjoint = lu.solve_transposed(tangent.dense(ends, motion).T)
    effect = tangent.dense(ends, inputs) - tangent.transposed_product(motion_rows, inputs, adjoint).T
    size = np.linalg.norm(effect, axis=1, keepdims=True)
    least = OPTIONS.no_effect * size.max()
    n_moved = np.count_nonzero(size > least)
    size = np.maximum(size, least or 1.0)
    vectors, values, _ = np.linalg.svd(effect / size, full_matrices=effect.shape[1] < effect.shape[0])
    idle = vectors[:, np.append(values, np.zeros(max(n_end - len(values), 0))) <= OPTIONS.no_effect] / size
    if not idle.shape[1]:
        return Reach()
    idle = np.linalg.qr(idle / np.linalg.norm(idle, axis=0))[0]
    there, moves = residual[n - n_end:], residual[motion_rows]
    missed = idle.T @ (there - adjoint.T @ moves)  # by what the guess leads to
    added = np.abs(idle.T) @ (np.abs(there) + np.abs(adjoint.T) @ np.abs(moves))  # up to rounding of these
    told = np.abs(adjoint).max() * np.finfo(float).eps <= 1 / OPTIONS.grows_too_far
    if not np.linalg.norm(missed) > OPTIONS.uncontrolled * max(1.0, np.linalg.norm(added)):  # rows have sizes of one
        return Reach(None, told, idle)
    if np.count_nonzero(values > OPTIONS.no_effect) == len(inputs) < n_moved:
        raise InputError(f"the mesh has {len(inputs)} nodal values of controls for {n_moved} conditions at the end; "
                         "use more elements, or fewer conditions")
    directions = np.linalg.svd(missed[None])[2].T  # the first is missed, the others are met
    held = idle @ directions[:, 1:]
    combination = np.abs(idle @ directions[:, 0]) @ np.abs(problem.conditions.combinations)
    return Reach(("end", problem.conditions.names[int(np.argmax(combination))]), told, held)


def _idle_control(problem, equations, lu, tangent, motion_rows, motion):
    """("control", name) of one without effect on the states, tried in the first, a middle and the last element, that
    no limit sees either, nor of algebraic ones a cost."""
    place = np.full(equations.n_unknowns, -1)
    place[motion] = np.arange(len(motion))
    states = place[equations.columns_of("state").ravel()]
    states = np.unique(states[states >= 0])
    controls = equations.columns_of("controls")
    tried = controls[sorted({0, len(controls) // 2, len(controls) - 1}), 0]
    for i in range(tried.shape[1]):
        given = tangent.dense(motion_rows, tried[:, i])
        response = lu.solve(given)
        if not problem.seen_controls[i] and \
                np.abs(response[states]).max() <= OPTIONS.no_effect * max(np.abs(response).max(), np.abs(given).max()):
            return "control", problem.control_name(i)
    return None
