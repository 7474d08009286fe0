"""Sensors at points of the elements: which element, which place in it, and the residual in symbols of its fields."""

import casadi as ca
import numpy as np

from ....elements.along import lagrange, value
from ....mechanics.values.of_parts import rates_follow
from ...ends.targets import body_velocity
from ...optimal.transcription.views import View
from ..options import DEFAULTS
from .terms import SensorTerm


def points_of(mesh, times):
    """Element, and place in it (0 to 1), of times; at nodes the end of the element before."""
    nodes, span = mesh.nodes, mesh.nodes[-1] - mesh.nodes[0]
    elements = np.clip(np.searchsorted(nodes, times - DEFAULTS.same_time * span) - 1, 0, mesh.n_elements - 1)
    xi = (times - nodes[elements]) / mesh.lengths[elements]
    near = DEFAULTS.same_time * span / mesh.lengths[elements]
    return elements, np.where(np.abs(xi - 1) <= near, 1.0, np.where(np.abs(xi) <= near, 0.0, xi))


class SensorRows:
    """Makes the terms of sensors on a chain.

    Parameters
    ----------
    chain : EstimationChain
    views : ChainView
    """

    def __init__(self, chain, views):
        self.chain, self.views, self.problem = chain, views, chain.problem

    def term(self, sensor, number=-1, role="measurement", offset=0.0):
        """The `SensorTerm` of a sensor; `number` is that among the measurements, whose unknown numbers it sees.

        A time offset that is unknown moves places within the elements where `offset` [s] puts them.
        """
        unknown = sensor.is_late and number >= 0
        offset = offset if unknown else sensor.offset
        elements, xi = points_of(self.chain.mesh, sensor.times + offset)
        formula, view, given = self._formula(sensor, number, elements, xi, offset, unknown)
        return SensorTerm(role, formula, view, given, sensor.whitening)

    def _formula(self, sensor, number, elements, xi, offset, unknown):
        chain, problem = self.chain, self.problem
        h, n = ca.SX.sym("h"), problem.n_constants
        y = ca.SX.sym("y", sensor.values.shape[1])
        t, place = ca.SX.sym("t"), ca.SX.sym("xi")
        c = ca.SX.sym("c", n)
        own = problem.constants_of(number, c) if number >= 0 else {}
        symbols, views = [c], [self.views.constants(elements, 0.0 if np.all(xi == 0) else 1.0)]  # of the start its own
        shift = own["time_offset"] - offset if unknown else None
        field = _Moved(self, elements, place + shift / h, symbols, views) if unknown else \
            _Fixed(self, elements, xi, symbols, views)
        z, rate = field("state"), field("state", rate=True) / h
        others = {("u" if name == "controls" else name): field(name) for name in ("controls", "multipliers")
                  if chain.has(name)}
        if chain.has("velocity"):
            others |= {"v": field("velocity"), "a": field("velocity", rate=True) / h}
        elif rates_follow(problem.system):
            others["a"] = lambda: self._accelerations(z, rate, c)
        else:
            others["v"] = rate[:problem.system.n_q]
        now = problem.moment(t, z, c, **others)
        residual = field.placed(sensor.residual(now, own, y))
        if shift is not None:
            residual = ca.substitute(residual, t, t + shift)
        given = np.column_stack([sensor.times + offset, xi, chain.mesh.lengths[elements],
                                 np.nan_to_num(sensor.values)])
        return (ca.vertcat(*symbols), ca.vertcat(t, place, h, y), residual), View.joined(*views), given

    def _accelerations(self, z, rate, c):
        """Rates of the velocities of all bodies, which follow from momenta."""
        x, (system, n) = ca.SX.sym("z", z.numel()), (self.problem.system, self.problem.system.n_q)
        now = self.problem.moment(0.0, x, c)
        found = [body_velocity(body, x[:n][system.coordinates(body)], x[n:][system.coordinates(body)],
                               now.own_parameters(body)) for body in system.bodies]
        return ca.substitute(ca.jtimes(ca.vertcat(*found), x, rate), x, z)


class _Fixed:
    """Fields at given places of elements, as symbols."""

    def __init__(self, rows, elements, xi, symbols, views):
        self._rows, self._elements, self._xi, self._symbols, self._views = rows, elements, xi, symbols, views

    def __call__(self, name, rate=False):
        view = self._rows.views(name, self._elements, self._xi, rate)
        symbol = ca.SX.sym(name, view.start.shape[1])
        self._symbols.append(symbol)
        self._views.append(view)
        return symbol

    def placed(self, formula):
        """A formula of the fields, of what `symbols` holds."""
        return formula


class _Moved:
    """The same at places that depend on symbols: of all nodal values, with polynomials in the place.

    Formulas are differentiated by fields, which are symbols for that, until they are `placed`.
    """

    def __init__(self, rows, elements, place, symbols, views):
        self._rows, self._elements, self._place, self._symbols, self._views = rows, elements, place, symbols, views
        self._known, self._fields = {}, []

    def __call__(self, name, rate=False):
        basis = self._rows.chain.plan.element.trial[name].basis
        if name not in self._known:
            nodal = []
            for point in basis.points:
                view = self._rows.views(name, self._elements, np.full(len(self._elements), point))
                nodal.append(ca.SX.sym(name, view.start.shape[1]))
                self._symbols.append(nodal[-1])
                self._views.append(view)
            self._known[name] = ca.horzcat(*nodal)
        shapes = [lagrange(basis.points, i) for i in range(basis.n_shapes)]
        shapes = [shape.deriv() for shape in shapes] if rate else shapes
        formula = self._known[name] @ ca.vertcat(*(value(shape, self._place) for shape in shapes))
        self._fields.append((ca.SX.sym(name, formula.numel()), formula))
        return self._fields[-1][0]

    def placed(self, formula):
        symbols, formulas = zip(*self._fields, strict=True)
        return ca.substitute(formula, ca.vertcat(*symbols), ca.vertcat(*formulas))
