"""Functions of a tree in numbers, made when they are first asked for."""

from functools import cached_property

import casadi as ca
import numpy as np

from ....errors import InputError
from ...values.point_functions import evaluate
from .numbers import with_symbols
from .recursion import kinetic, momenta_in_space, placements, weight_moment


class TreeFunctions:
    """Of the moving bodies of a tree and its n coordinates; arrays have any leading axes."""

    def __init__(self, bodies, pattern, numbers, n):
        self._bodies, self._pattern, self._numbers, self.n = bodies, pattern, numbers, n

    @cached_property
    def parametric(self):
        """T(q, v, c) with the parameters c (see `numbers`), casadi.Function."""
        q, v = self._symbols("qv")
        c = ca.SX.sym("c", len(self._pattern))
        return ca.Function("kinetic", [q, v, c], [kinetic(with_symbols(self._bodies, self._pattern, c), q, v)])

    def kinetic(self, q, v):
        """T(q, v) in symbols."""
        return self.parametric(q, v, self._numbers)

    def momenta(self, q, v):
        """dT/dv, shape (..., n)."""
        return self._values(self._momenta, q, v)

    def mass(self, q):
        """M(q), shape (..., n, n)."""
        return self._values(self._mass, q).reshape(*np.shape(q), self.n)

    def momentum_rate(self, q, v, a):
        """`d/dt T_v` of accelerations a, shape (..., n)."""
        return self._values(self._momentum_rate, q, v, a)

    def in_space(self, q, v):
        """Linear and angular momentum in space, shape (..., 6)."""
        return self._values(self._in_space, q, v)

    def rates_in_space(self, q, v, a):
        """Of each of the m bodies: rates of its momenta, place, rotation matrix, and mass times centre of mass.

        Shapes (..., m, 6), (..., m, 3), (..., m, 3, 3), (..., m, 3); momenta as `momenta_in_space`.
        """
        values, m = self._values(self._rates_in_space, q, v, a), len(self._bodies)
        frames = values[..., 6 * m:].reshape(*values.shape[:-1], m, 15)
        turns = frames[..., 3:12].reshape(*frames.shape[:-1], 3, 3).swapaxes(-1, -2)
        return values[..., :6 * m].reshape(*values.shape[:-1], m, 6), frames[..., :3], turns, frames[..., 12:]

    def inverse(self, q, v, a, gravity):
        """`d/dt T_v - T_q - m g.c_q`, shape (..., n)."""
        return self._values(self._inverse, q, v, a, parameters=gravity)

    def _symbols(self, names):
        return [ca.SX.sym(name, self.n) for name in names]

    def _values(self, function, *arguments, parameters=()):
        both = np.concatenate(np.broadcast_arrays(*(np.asarray(x, float) for x in arguments)), axis=-1)
        if both.shape[-1] != len(arguments) * self.n:
            raise InputError(f"coordinates of this tree have length {self.n}, not {both.shape[-1] // len(arguments)}")
        n = int(np.prod(both.shape[:-1]))
        values = evaluate(function, both.reshape(n, 1, -1), np.zeros((n, 0)), np.array(parameters, float)[None])
        return values.reshape(*both.shape[:-1], function.size1_out(0))

    @cached_property
    def _momenta(self):
        q, v = self._symbols("qv")
        return _function([q, v], ca.gradient(self.kinetic(q, v), v))

    @cached_property
    def _momentum_rate(self):
        q, v, a = self._symbols("qva")
        return _function([q, v, a], ca.jtimes(ca.gradient(self.kinetic(q, v), v), ca.vertcat(q, v), ca.vertcat(v, a)))

    @cached_property
    def _mass(self):
        q, v = self._symbols("qv")
        return _function([q], ca.vec(ca.densify(ca.jacobian(ca.gradient(self.kinetic(q, v), v), v))))

    @cached_property
    def symbolic_mass(self):
        """M(q, c), sparse, casadi.Function."""
        q, v, c = ca.SX.sym("q", self.n), ca.SX.sym("v", self.n), ca.SX.sym("c", self.parametric.numel_in(2))
        mass = ca.jacobian(ca.gradient(self.parametric(q, v, c), v), v)
        return ca.Function("mass", [q, c], [ca.sparsify(mass)])

    @cached_property
    def _in_space(self):
        q, v = self._symbols("qv")
        return _function([q, v], sum(momenta_in_space(self._bodies, q, v), ca.SX(6, 1)))

    @cached_property
    def _rates_in_space(self):
        q, v, a = self._symbols("qva")
        rates = ca.jtimes(ca.vertcat(*momenta_in_space(self._bodies, q, v)), ca.vertcat(q, v), ca.vertcat(v, a))
        frames = [ca.vertcat(place, ca.vec(turn), place * body.mass + turn @ ca.DM(body.moment))
                  for body, (place, turn) in zip(self._bodies, placements(self._bodies, q), strict=True)]
        return _function([q, v, a], ca.vertcat(rates, *frames))

    @cached_property
    def _inverse(self):
        q, v, a = self._symbols("qva")
        g, energy = ca.SX.sym("g", 3), self.kinetic(q, v)
        force = ca.jtimes(ca.gradient(energy, v), ca.vertcat(q, v), ca.vertcat(v, a))
        return _function([q, v, a], force - ca.gradient(energy + ca.dot(g, weight_moment(self._bodies, q)), q), g)


def _function(variables, values, parameters=None):
    none = ca.SX(0, 1)
    return ca.Function("f", [ca.vertcat(*variables), none, none if parameters is None else parameters],
                       [ca.densify(values)])
