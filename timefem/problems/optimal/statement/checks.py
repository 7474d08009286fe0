"""What an optimal control problem states, checked before work starts."""

import casadi as ca
import numpy as np

from ....elements.augmented.extended import Controlled
from ....errors import InputError
from ....mechanics.forces.actuators import Control, Cost
from ....mechanics.formulas.formula import check_symbols
from ....mechanics.symbols import Symbols, applied_force
from ....mechanics.values.forces import n_seen
from .complementarity import Soft
from .couplings import Coupling
from .limits import Limit


def check_formulas(problem):
    """Refuse formulas with symbols that are not theirs, and limits that fail on them or that a given start violates.

    Notes which controls limits see, or of algebraic ones costs: these need not move anything.
    """
    costly = {a for part in problem.system.parts if isinstance(part, Cost) for a in part.controls}
    problem.seen_controls = np.repeat([type(a) is Control and a in costly for a in problem.actuators],
                                      [a.n_controls for a in problem.actuators]).astype(bool)
    if problem.end_cost is None and not problem.limits:
        return
    z, c = ca.SX.sym("z", problem.system.n_z), ca.SX.sym("numbers", len(problem.guesses))
    check_symbols("end_cost", problem.terminal(z, c), z, c)
    u, t = ca.SX.sym("u", problem.n_controls), ca.SX.sym("t")
    now = problem.now(z, t, c, u)
    for limit in problem.limits:
        z0 = None if problem.free_start else problem.z0
        if isinstance(limit, Limit):
            limit.check_bounds(now, u, problem.t_span[0], problem.t_span[0 if problem.free_time else 1])
        values = limit.check(now, (z, u, t, c), z0, problem.t_span[0], problem.guesses)
        problem.seen_controls |= [ca.depends_on(values, own) for own in ca.vertsplit(u)]


def check_numbers(problem, further=()):
    """Refuse unknown numbers that nothing depends on: neither the motion, nor costs, limits and conditions.

    Parameters
    ----------
    problem : OptimalControl
    further : sequence of (SX, SX)
        Other expressions, and the symbols of the unknown numbers in them, such as those of links between phases.
    """
    idle = [i for i, name in enumerate(problem.unknown_names) if name != "duration" and not problem.numbers.of(name)]
    if not idle:
        return
    z, u, t, c = (ca.SX.sym("z", problem.system.n_z), ca.SX.sym("u", problem.n_controls), ca.SX.sym("t"),
                  ca.SX.sym("numbers", len(problem.guesses)))
    now, ends = problem.now(z, t, c, u), (problem.symbols_at(0), problem.symbols_at(1))
    conditions = [own for own in (problem.start_conditions, problem.conditions) if own is not None]
    formulas = [(problem.terminal(z, c), c),
                *((own.formulas.function(z, c, own.wanted), c) for own in conditions),
                *((limit.check(now, (z, u, t, c), None, problem.t_span[0], problem.guesses), c)
                  for limit in problem.limits),
                *((coupling.rows(ends[0][0], ends[1][0]), symbols[problem.system.n_z:])
                  for coupling in problem.couplings for _, symbols in ends), *further]
    for i in idle:
        if not any(ca.depends_on(ca.SX(formula), own[i]) for formula, own in formulas):
            raise InputError(f"parameters: nothing depends on {problem.unknown_names[i]}, so that it cannot be found; "
                             "use it in a cost, limit or condition, or leave it out")


def check_costs_of_controls(problem):
    """Refuse controls that cost nothing and have no bounds: nothing determines them, but for motions that limit
    themselves, as where a force that grows with the speed turns it; which controls do so, shape (n_controls,)."""
    costly = {a for part in problem.system.parts if isinstance(part, Cost) for a in part.controls}
    at, found = 0, np.zeros(problem.n_controls, bool)
    for a in problem.actuators:
        own, at = slice(at, at + a.n_controls), at + a.n_controls
        free = ~np.isfinite(problem.bounds[:, own]).all(axis=0)
        if a in costly or not free.any() or problem.limits:
            continue
        if not any(_limits_itself(part) for part in problem.system.parts if a in part.controls):
            raise InputError(f"no cost depends on the controls of {problem.system.label(a)}: add Effort, or bounds")
        found[own] = free
    return found


def _limits_itself(part):
    """Whether the force of controls depends on velocities, or on the controls by curved formulas."""
    s, u = Symbols(part), ca.SX.sym("u", n_seen(part))
    s.velocity = [ca.SX.sym(f"v{i}", body.n_q) for i, body in enumerate(part.bodies)]
    by_controls = ca.jacobian(applied_force(part, s, u), u)
    return ca.depends_on(by_controls, ca.vertcat(u, *s.velocity))


def check_element(problem, element):
    """Refuse elements that cannot have a free start, or rigid contacts."""
    further = [name for name, space in element.trial.items() if space.continuous and name not in ("state", "velocity")]
    if problem.free_start and further:
        raise InputError(f"a free start takes elements whose nodes hold state and velocity alone, but those of "
                         f"{element!r} hold the {further[0]} as well; take MixedGalerkin")
    rigid = [pair for pair in problem.limits if isinstance(pair, Soft) and pair.at == "element-end"]
    if rigid and Controlled(element).trial["controls"].basis.n_shapes > 1:
        raise InputError(f"{rigid[0].name}: rigid contacts and friction take elements with one value of the controls: "
                         "SymplecticEuler() or MixedGalerkin(1)")


def limits_of(path, limits):
    """A list of limits, of one or several, and of `path`."""
    limits = all_of("limits", limits, (Limit, Soft))
    return limits if path is None else [Limit(path, upper=0.0, name="path"), *limits]


def all_of(what, given, cls):
    """A list of objects of a class, of one or several."""
    given = list(given) if isinstance(given, list | tuple) else [given]
    for one in given:
        if not isinstance(one, cls):
            example = "Coupling(lambda start, end: end.z - start.z)" if cls is Coupling else \
                "Limit(lambda now, u: now.q('body')[0], -1, 1)"
            raise InputError(f"{what}: {one!r} is not a {example.partition('(')[0]} such as {example}")
    return given
