"""What the motion of an optimal control problem costs: parts of its system, or formulas that become such."""

import casadi as ca

from ...errors import InputError
from ...mechanics import Actuator, Cost
from ...mechanics.formula import call, check_symbols
from ...mechanics.formula_text import as_formula
from ...mechanics.formula_writing import text_of
from ..common.end import End


class Moving(End):
    """A time of the motion in symbols of coordinates and velocities, which integrands are formulas of."""

    _fields = ("t",)
    _methods = tuple(name for name in End._methods if name not in ("p", "energy"))

    def __init__(self, system, t, q, v, u):
        super().__init__(system, t, q, {}, {}, u)
        self._v = v

    def p(self, body):
        raise InputError("integrands are formulas of coordinates, velocities and controls, not of momenta")

    def energy(self):
        return self.p(None)

    def rates(self, body):
        return self._v[self.system.coordinates(self.system.find(body))]


def with_costs(system, cost, actuators):
    """The system with the actuators and costs that it does not have yet."""
    cost, actuators = (list(x) if isinstance(x, list | tuple) else [x] for x in (cost, actuators))
    formulas = [c for c in cost if isinstance(c, str) or (callable(c) and not isinstance(c, Cost))]
    cost = [c for c in cost if not any(c is formula for formula in formulas)]
    for part, cls, what in (*((c, Cost, "cost") for c in cost), *((a, Actuator, "actuators") for a in actuators)):
        if not isinstance(part, cls):
            example = "Effort(ControlTorque(body))" if cls is Cost else "ControlForce(body)"
            raise InputError(f"{what}: {part!r} is no {cls.__name__} such as {example}")
    costs = [*cost, *(part for part in system.parts if isinstance(part, Cost))]
    named = [actuator for part in costs for actuator in part.controls]
    system = _extended(system, [*actuators, *named, *cost])
    return _extended(system, [_integrand(system, formula) for formula in formulas])


def _extended(system, parts):
    further = [part for part in dict.fromkeys(parts) if part not in system.parts]
    return system.extended(further) if further else system


def _integrand(system, formula):
    """The `Cost` of a formula `cost(now, u)`, on those bodies and actuators that it depends on.

    As text, so that kernels of equal formulas are shared.
    """
    actuators = [part for part in system.parts if part.n_controls]
    of_bodies = [(ca.SX.sym("q", body.n_q), ca.SX.sym("v", body.n_q)) for body in system.bodies]
    of_actuators = [ca.SX.sym("u", part.n_controls) for part in actuators]
    (q, v), u, t = (ca.vertcat(*x) for x in zip(*of_bodies, strict=True)), ca.vertcat(*of_actuators), ca.SX.sym("t")
    value = call("cost", as_formula("cost", formula, ["now", "u"]), 1, Moving(system, t, q, v, u), u)
    check_symbols("cost", value, q, v, u, t)
    used = [k for k, symbols in enumerate(of_bodies) if ca.depends_on(value, ca.vertcat(*symbols))]
    acting = [k for k, symbols in enumerate(of_actuators) if ca.depends_on(value, symbols)]
    if not used and not acting:
        raise InputError("cost depends neither on controls nor on the motion; give an end_cost for the duration")
    symbols = {"u": [of_actuators[k] for k in acting], "q": [of_bodies[k][0] for k in used],
               "v": [of_bodies[k][1] for k in used]}
    text = text_of("cost", value, {name: ca.vertcat(ca.SX(0, 1), *x) for name, x in symbols.items()} | {"t": t})
    return Cost(text, [actuators[k] for k in acting], [system.bodies[k] for k in used])
