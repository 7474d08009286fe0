"""The symbols in which the formulas of a part are written."""

from copy import copy

import casadi as ca
import numpy as np

from ..errors import InputError


def first_order(part):
    """1 for coordinates of the bodies of a part that are of first order, 0 for others, DM (n,)."""
    rows = [float(i in body.first_order) for body in part.bodies for i in range(body.n_q)]
    return ca.DM(rows) if rows else ca.DM(0, 1)


def first_order_places(system):
    """Numbers of the coordinates of a system that are of first order, list of int."""
    return [system.coordinates(body).start + i for body in system.bodies for i in body.first_order]


def applied_force(part, s, u):
    """Force and force of the controls `u` that a part sees, SX (n_q,)."""
    if hasattr(part, "whole_force"):
        return part.whole_force(s, u)
    force = ca.SX(part.force(s))
    return force + part.control_force(s, u) if part.n_controls else force


def n_reactions(part):
    """Multipliers of `part.reactions_of` that its `multiplier_force` takes after its own."""
    every = sum(len(other.constraint_names) for other in part.reactions_of)
    return every if part.kept_reactions is None else len(part.kept_reactions)


class Symbols:
    """CasADi symbols of the local coordinates that a part sees.

    Attributes
    ----------
    q, p, velocity : list of SX
        Coordinates, momenta and velocities, `qdot = dH/dp` unless given, of each body the part acts on.
    velocity_given : bool
        Whether the velocities are given, and do not follow from the momenta.
    t : SX
        Time.
    own, bodies : SX, list of SX
        Parameters of the part itself and of each body it acts on.
    """

    def __init__(self, part):
        bodies = part.bodies
        self.q = [ca.SX.sym(f"q{i}", b.n_q) for i, b in enumerate(bodies)]
        self.p = [ca.SX.sym(f"p{i}", b.n_q) for i, b in enumerate(bodies)]
        self.t = ca.SX.sym("t")
        self.bodies = [ca.SX.sym(f"body{i}", len(b.own_parameters)) if b.own_symbols is None else b.own_symbols
                       for i, b in enumerate(bodies)]
        self.own = self.bodies[0] if part.is_body else ca.SX.sym("own", len(part.own_parameters))
        self.parameters = self.own if part.is_body else ca.vertcat(self.own, *self.bodies)
        self._of, self._velocity, self.velocity_given = bodies, None, False

    @property
    def velocity(self):
        """Velocities; those that follow from the momenta are worked out when asked for, with the inverse of the mass
        matrix."""
        if self._velocity is None:
            self._velocity = self._velocities(self.q, self.p)
        return self._velocity

    @velocity.setter
    def velocity(self, values):
        self._velocity, self.velocity_given = values, True

    def _velocities(self, q, p):
        return [b.velocity_of_momenta(x, y, c) for b, x, y, c in zip(self._of, q, p, self.bodies, strict=True)]

    def at(self, q, p, velocity=None, t=None):
        """The same symbols at other coordinates and momenta: lists of SX, one per body.

        The velocities follow from the momenta unless they are given.
        """
        other = copy(self)
        other.q, other.p, other.t = q, p, self.t if t is None else t
        other._velocity, other.velocity_given = velocity, velocity is not None
        return other


# ---- formulas are shared by the parts of a kind: numbers of one of them must not be written into these

def for_formulas(part):
    """The part whose formulas are written, without values for what is a number of its own.

    Of classes of users, which may read `self.stiffness` for `self.named(s.own).stiffness`: not a number in the place
    of each number, so that it stays in the formulas, see `refuse_numbers`. Arguments that shape the formulas, and of
    classes that state their `kind` all, are as they were.
    """
    names = _numbers(part)
    if not names:
        return part
    other = part.same_part()
    vars(other)["numbers"] = lambda c: part.numbers(part if c is other else c)  # whose sizes are asked for
    for name in names:
        value = getattr(part, name)
        vars(other)[name] = float("nan") if isinstance(value, float) else np.full(value.shape, np.nan)
    return other


def refuse_numbers(part, function):
    """InputError where numbers of the part itself have been written into formulas of its kind."""
    names = _numbers(part)
    if not names:
        return
    constants = (function.instruction_constant(k) for k in range(function.n_instructions())
                 if function.instruction_id(k) == ca.OP_CONST)
    if any(np.isnan(value) for value in constants):
        read = " or ".join(f"self.{name}" for name in names)
        raise InputError(f"{type(part).__name__}: its formulas read {read}, but are shared by all parts of the class; "
                         f"take numbers from c = self.named(s.own), in a joint from the argument c: c.{names[-1]}")


def _numbers(part):
    """Names of the arguments whose values formulas must take from symbols, of classes that are not of timefem."""
    own = [c for c in type(part).__mro__ if c.__module__.partition(".")[0] != "timefem"]
    if type(part) not in own or any("kind" in vars(c) or "_form" in vars(c) for c in own):
        return []
    given = {name for c in type(part).__mro__ if c in own or vars(c).get("abstract") for name in vars(c)}
    values = {name: getattr(part, name, None) for name, field in part.fields.items()
              if name in given and not field.is_body and not field.is_function and name != "name"}
    return [name for name, value in values.items()
            if (isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == float))
            and part.fields[name].form_in(part, value) is None]
