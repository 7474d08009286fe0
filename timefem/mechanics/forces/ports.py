"""Interconnection of parts by ports: pairs of an input and the output whose product is a power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError, NamedArguments, named_arguments
from ...records import frozen
from ..body_frame import is_on_tree
from ..declared import CoordinateName, Formula, OnJoint, Real
from ..formulas.formula import call, check_symbols
from ..joints.nonholonomic import FormulaPart, MovingFrame
from ..part import Body

if TYPE_CHECKING:
    from ..joints.joint import Joint
    from ..symbols import Symbols


class PortConnection(FormulaPart):
    """Power-preserving interconnection of two ports, `u_a = g y_b`, `u_b = -g y_a`: what one gains the other loses.

    The outputs y_a, y_b are rates of joints, or formulas of the frames of the `bodies` (`MovingFrame`), linear in
    velocities: the velocity of a point along an axis, or an effort of a `PortSystem`, which is the `rate` in its frame.
    Their inputs act where the outputs are measured: a force along a velocity, a voltage in the circuit of a current. As
    text the frames are `f`: `"f[0].angular_velocity[2]"`. With the velocities and efforts of the element both powers
    cancel to round-off there.

    Raises
    ------
    InputError
        For formulas that fail, or are not linear in the velocities; for outputs that are missing or given twice.

    Examples
    --------
    A motor: torque `k i` on the rotor, voltage `-k omega` in its circuit.

    >>> import timefem as tf
    >>> rotor = tf.RigidBody(1.0, (1, 1, 1))
    >>> coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[0.1, 2.0, 12.0])
    >>> motor = tf.PortConnection([rotor, coil], "f[0].angular_velocity[2]", "f[1].rate[0]", gain=0.3)
    """

    table, lossless = "forces", True
    output_a = Formula("y_a, see above", "f", default=None, optional=True)
    output_b = Formula("y_b, see above", "f", default=None, optional=True)
    gain = Real("g", "SI", 1.0)
    joint_a = OnJoint("between some of the bodies, whose rate is y_a", default=None, optional=True)
    coordinate_a = CoordinateName("which coordinate of joint_a: the first unless given", of="joint_a")
    joint_b = OnJoint("between some of the bodies, whose rate is y_b", default=None, optional=True)
    coordinate_b = CoordinateName("which coordinate of joint_b: the first unless given", of="joint_b")
    keyword_only = "output_a", "output_b", "gain"  # what goes by place

    def _complete(self):
        super()._complete()
        self.bound_a, self.bound_b = self._bound("a"), self._bound("b")
        s = self._symbols()
        for name in ("output_a", "output_b"):
            value = self._output(name, s)
            title, v = f"{self._title}: {name}", ca.vertcat(*s.velocity)
            check_symbols(title, value, *s.q, *s.velocity, s.own)
            slope = ca.jacobian(value, v)
            if ca.depends_on(slope, v) or not ca.simplify(ca.substitute(value, v, ca.SX.zeros(v.numel()))).is_zero():
                raise InputError(f"{title} must be linear in velocities and efforts")
            if slope.is_zero():
                raise InputError(f"{title} depends on no velocity: it has no power")

    def _bound(self, letter):
        """The coordinate of a joint whose rate is an output; None where that is a formula."""
        joint, formula = getattr(self, f"joint_{letter}"), getattr(self, f"output_{letter}")
        if (joint is None) == (formula is None):
            raise InputError(f"{self._title}: give output_{letter}, a formula, or joint_{letter}")
        if joint is None:
            return None
        bound = joint.bound(getattr(self, f"coordinate_{letter}"))
        if is_on_tree(joint):  # its coordinates are no longer those of the links
            self.bodies = tuple(dict.fromkeys((*self.bodies, *bound.bodies)))
        if not set(bound.bodies) <= set(self.bodies):
            raise InputError(f"{self._title}: joint_{letter} joins {' and '.join(map(repr, bound.bodies))}, which have "
                             "to be among the bodies")
        return bound

    @property
    def _form(self):
        return (*super()._form, *(b and (b.form, tuple(map(self.bodies.index, b.bodies)))
                                  for b in (self.bound_a, self.bound_b)))

    def numbers(self, c: Any) -> dict[str, Any]:
        axes = {name: getattr(self, name).numbers(getattr(c, name)) for name in ("bound_a", "bound_b")
                if getattr(self, name) is not None}
        return {"gain": c.gain} | axes

    def traced(self, name: str) -> tuple[ca.SX, dict[str, ca.SX]]:
        """An output, and its symbols by their names in a text."""
        frames, symbols = self._traced_frames(MovingFrame)
        return call(f"{self._title}: {name}", getattr(self, name), 1, frames), symbols

    def _output(self, name, s):
        bound = getattr(self, name.replace("output", "bound"))
        if bound is not None:
            q, v = ([x[self.bodies.index(body)] for body in bound.bodies] for x in (s.q, s.velocity))
            return bound.rate(q, v, getattr(self.named(s.own), name.replace("output", "bound")))
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        return call(f"{self._title}: {name}", getattr(self, name), 1, frames)

    def outputs(self, s: Symbols) -> tuple[ca.SX, ca.SX]:
        """y_a and y_b at the velocities of `s`."""
        return self._output("output_a", s), self._output("output_b", s)

    def force(self, s: Symbols) -> ca.SX:
        a, b = self.outputs(s)
        v = [ca.SX.sym("v", body.n_q) for body in self.bodies]
        at = s.at(s.q, s.p, v)
        rows = [ca.jacobian(y, ca.vertcat(*v)).T for y in self.outputs(at)]
        return self.named(s.own).gain * (rows[0] * b - rows[1] * a)


@frozen
class Port(NamedArguments):
    """An output, and with it the input that is conjugate to it, of a joint, of bodies, or of a `PortSystem`.

    Parameters
    ----------
    of : Joint, Body or sequence of Body
    output : callable, str or int, optional
        Of a joint the name of its coordinate, where it has several; of bodies a formula of their frames, linear in
        velocities; of a `PortSystem` the number of the effort, 0 unless given.

    Raises
    ------
    InputError
        Where there is no such output.
    """

    of: Joint | Body | Sequence[Body]
    output: Callable[[Any], Any] | str | int | None = None

    @property
    def bodies(self) -> tuple[Body, ...]:
        """Bodies whose frames the output sees."""
        if isinstance(self.of, list | tuple):
            return tuple(self.of)
        return tuple(self.of.bodies)

    def arguments(self, bodies: Sequence[Body]) -> dict[str, Any]:
        """The `output`, or the `joint` and its `coordinate`, for a `PortConnection` of these bodies."""
        places = [bodies.index(body) for body in self.bodies]
        if callable(self.output):
            return {"output": lambda f: self.output([f[i] for i in places])}
        if getattr(self.of, "is_port", False):
            return {"output": lambda f: f[places[0]].rate[self.output or 0]}
        if not hasattr(self.of, "bound"):
            raise InputError(f"Port: give the output of {self.of!r} as a formula of its frames")
        return {"joint": self.of, "coordinate": self.output}


@named_arguments
def connect(a: Port, b: Port, gain: float = 1.0, name: str | None = None) -> PortConnection:
    """Join two ports, `u_a = gain y_b`, `u_b = -gain y_a`.

    Parameters
    ----------
    a, b : Port
    gain : float
        Such as the constant of a motor [N m/A] between a joint and a circuit, the area of a piston [m^2] between a
        joint and a pressure.
    name : str, optional

    Returns
    -------
    PortConnection
    """
    bodies = tuple(dict.fromkeys((*a.bodies, *b.bodies)))
    given = {f"{key}_{letter}": value for letter, port in (("a", a), ("b", b))
             for key, value in port.arguments(bodies).items()}
    return PortConnection(list(bodies), gain=gain, name=name, **given)
