"""What the motion of an optimal control problem costs, and what it states, checked before work starts."""

import casadi as ca
import numpy as np

from ....elements.extended import Controlled
from ....errors import InputError, NotDifferentiable, warn
from ....mechanics.body_frame import BodyFrame
from ....mechanics.forces.actuators import Actuator, Control, Cost, FormulaCost
from ....mechanics.formulas.formula import call, check_symbols
from ....mechanics.formulas.stored import StoredFormula, computed
from ....mechanics.formulas.text import as_formula, refuse_comparison, text_of
from ....mechanics.numbers.changes import extended
from ....mechanics.symbols import Symbols, applied_force
from ....mechanics.values.forces import n_seen
from ...end import End
from .complementarity import Soft
from .couplings import Coupling
from .limits import Limit

MINIMISED = "to be minimised; a condition is a Limit"


class Moving(End):
    """A time of the motion in symbols of coordinates and velocities, which integrands are formulas of.

    Numbers of parts are symbols, too: `numbers`, a dict from parts to those of their `own_parameters`.
    """

    _fields = "t", "parameters"
    _methods = tuple(name for name in End._methods if name != "p")

    def __init__(self, system, t, q, v, u, parameters):
        super().__init__(system, t, ca.vertcat(q, ca.SX.sym("p", q.numel())), {}, parameters, u)
        self._v, self.numbers = v, {}

    def p(self, body):
        raise InputError("integrands are formulas of coordinates, velocities and controls, not of momenta")

    def energy(self):
        return self.kinetic_energy() + self.potential_energy()

    def _parameters(self, part, values):
        own = self.numbers.setdefault(part, ca.SX.sym("c", len(part.own_parameters)))
        return own if isinstance(part, BodyFrame) else ca.vertcat(own, *map(self.own_parameters, part.bodies))


def with_costs(system, cost, actuators, limited):
    """The system with the actuators and costs that it does not have yet, and integrands that are formulas of it.

    Actuators are given, named by costs, or among what is `limited`.

    Returns
    -------
    system : System
    formulas : list of callable or str
    """
    cost, actuators = (list(x) if isinstance(x, list | tuple) else [x] for x in (cost, actuators))
    formulas = [c for c in cost if isinstance(c, str) or (callable(c) and not isinstance(c, Cost))]
    cost = [c for c in cost if not any(c is formula for formula in formulas)]
    for part, cls, what in (*((c, Cost, "cost") for c in cost), *((a, Actuator, "actuators") for a in actuators)):
        if not isinstance(part, cls):
            right = "a Cost such as Effort(ControlTorque(body))" if what == "cost" else \
                "an Actuator such as ControlForce(body)"
            raise InputError(f"{what}: {part!r} is not {right}")
    costs = [*cost, *(part for part in system.parts if isinstance(part, Cost))]
    named = [actuator for part in costs for actuator in part.controls]
    named += [key for key in limited if isinstance(key, Actuator)]
    return _extended(system, [*actuators, *named, *cost]), formulas


def with_integrands(system, formulas, unknown_names):
    """The system with the costs of formulas, which see unknown numbers by their names."""
    return _extended(system, [_integrand(system, formula, unknown_names) for formula in formulas])


def _extended(system, parts):
    further = [part for part in dict.fromkeys(parts) if part not in system.parts]
    return extended(system, further) if further else system


def _integrand(system, formula, unknown_names):
    """The `Cost` of a formula `cost(now, u)`, on those bodies, actuators and numbers that it depends on.

    As text, so that kernels of equal formulas are shared.
    """
    actuators = [part for part in system.parts if part.n_controls]
    of_bodies = [(ca.SX.sym("q", body.n_q), ca.SX.sym("v", body.n_q)) for body in system.bodies]
    of_actuators = [ca.SX.sym("u", part.n_controls) for part in actuators]
    (q, v), u, t = (ca.vertcat(*x) for x in zip(*of_bodies, strict=True)), ca.vertcat(*of_actuators), ca.SX.sym("t")
    unknown = {name: ca.SX.sym(name) for name in unknown_names}
    now, formula = Moving(system, t, q, v, u, unknown), as_formula("cost", formula, ["now", "u"])
    refuse_comparison("cost", formula, MINIMISED)
    value = call("cost", formula, 1, now, u)
    sources = [*(((part, i), x) for part, own in now.numbers.items() for i, x in enumerate(ca.vertsplit(own))),
               *unknown.items()]
    sources = [(source, x) for source, x in sources if ca.depends_on(value, x)]
    numbers = ca.vertcat(ca.SX(0, 1), *(x for _, x in sources))
    check_symbols("cost", value, q, v, u, t, numbers)
    named = zip(system.bodies, of_bodies, strict=True)
    tell_kinks(value, u, {f"now.{what}({system.label(body)!r})": x for body, own in named
                          for what, x in zip(("q", "rates"), own, strict=True)} | {"u": u, "now.t": t, "c": numbers})
    used = [k for k, symbols in enumerate(of_bodies) if ca.depends_on(value, ca.vertcat(*symbols))]
    acting = [k for k, symbols in enumerate(of_actuators) if ca.depends_on(value, symbols)]
    symbols = {"u": [of_actuators[k] for k in acting], "q": [of_bodies[k][0] for k in used],
               "v": [of_bodies[k][1] for k in used]}
    text = text_of("cost", value, {name: ca.vertcat(ca.SX(0, 1), *x) for name, x in symbols.items()} | {
        "t": t, "c": numbers})
    return FormulaCost(formula, text, [actuators[k] for k in acting], [system.bodies[k] for k in used],
                       [source for source, _ in sources])


KINKS, JUMPS = {"FABS": "abs", "FMAX": "max", "FMIN": "min"}, {"SIGN": "sign", "FLOOR": "floor", "CEIL": "ceil"}
LONG = 60  # characters from which on arguments are not written out


def tell_kinks(value, u, named):
    """Warn of the first kink or jump of a cost by controls u, and tell how it is stated without.

    Parameters
    ----------
    value, u : SX
    named : dict
        How the arguments are called in a text -> symbols, u among them.
    """
    symbols = [ca.vertcat(*named.values())]
    try:
        stored = StoredFormula.of("cost", ca.Function("cost", symbols, [ca.densify(value)]))
    except InputError:  # an operation that no text has
        return
    values = []
    for step in stored.steps:
        name, *operands = step
        values.append(computed(step, values, symbols))
        taken = [values[i] for i in operands] if name in KINKS or name in JUMPS else []
        if not any(ca.depends_on(x, u) for x in taken):
            continue
        if name != "FABS" or not _is_flat(stored, values, symbols, taken[0]):
            warn(_advice(name, [_text(x, named) for x in taken]), NotDifferentiable)
            return


def _is_flat(stored, values, symbols, given):
    """Whether the result does not change with the last of these values, of what is given, to first order where that
    is zero: |u|^3, which is |u| u^2."""
    x = ca.SX.sym("x")
    own = [*values[:-1], x]
    for step in stored.steps[len(own):]:
        own.append(computed(step, own, symbols))
    rate = ca.substitute(ca.gradient(own[stored.results[0]], x), x, 0)
    if given.is_symbolic():
        rate = ca.substitute(rate, given, 0)
    return not ca.symvar(rate) and float(ca.evalf(rate)) == 0


def _text(value, named):
    try:
        text = text_of("cost", value, named)
    except InputError:
        return None
    return None if "\n" in text or len(text) > LONG else text


def _advice(name, taken):
    bare = (text[1:-1] if text and text[0] == "(" else text or "..." for text in taken)
    what = f"cost: {(KINKS | JUMPS)[name]}({', '.join(bare)})"
    if name in JUMPS:
        return f"{what} jumps with the controls, so that a solve will hardly settle; take a smooth function, such as " \
            "tanh(x / width)"
    x, *further = (text or "xy"[i] for i, text in enumerate(taken))
    side, bounds = ("below", "None, 0") if name == "FMIN" else ("above", "0")
    rows = [f"now.control('s') - {x}", *(f"now.control('s') - {y}" for y in further or [f"-{x}"])]
    return (f"{what} has a kink by the controls, so that a solve will hardly settle; let a control lie {side} it: "
            f"s = Control(name='s') among the actuators, now.control('s') in its place in the cost, and "
            f"limits=Limit({rows}, {bounds})").replace("- -", "+ ")


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
        problem.seen_controls |= np.array([ca.depends_on(values, own) for own in ca.vertsplit(u)], bool)


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
