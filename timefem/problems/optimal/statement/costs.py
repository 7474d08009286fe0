"""What the motion of an optimal control problem costs: parts of its system, or formulas that become such."""

import casadi as ca

from ....errors import InputError
from ....mechanics.body_frame import BodyFrame
from ....mechanics.forces.actuators import Actuator, Cost, FormulaCost
from ....mechanics.formulas.formula import call, check_symbols
from ....mechanics.formulas.text import as_formula, refuse_comparison, text_of
from ...ends.end import End
from .kinks import tell_kinks

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
    return system.extended(further) if further else system


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
