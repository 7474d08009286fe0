"""Interconnection of parts by ports: pairs of an input and the output whose product is a power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from ...argument_names import NamedArguments, named_arguments
from ...errors import InputError
from ..declared import Formula, Real
from ..formula import call, check_symbols
from ..joints.formula_part import FormulaPart
from ..joints.nonholonomic import MovingFrame
from ..part import Body

if TYPE_CHECKING:
    from ..joints.joint import Joint
    from ..symbols import Symbols


class PortConnection(FormulaPart):
    """Power-preserving interconnection of two ports, `u_a = g y_b`, `u_b = -g y_a`: what one gains the other loses.

    The outputs y_a, y_b are formulas of the frames of the `bodies` (`MovingFrame`), linear in velocities: the rate of a
    joint, the velocity of a point along an axis, or an effort of a `PortSystem`, which is the `rate` in its frame.
    Their inputs act where the outputs are measured: a force along a velocity, a voltage in the circuit of a current. As
    text the frames are `f`: `"f[0].angular_velocity[2]"`. With the velocities and efforts of the element both powers
    cancel to round-off there.

    Raises
    ------
    InputError
        For formulas that fail, or are not linear in the velocities.

    Examples
    --------
    A motor: torque `k i` on the rotor, voltage `-k omega` in its circuit.

    >>> import timefem as tf
    >>> rotor = tf.RigidBody(1.0, (1, 1, 1))
    >>> coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[0.1, 2.0, 12.0])
    >>> motor = tf.PortConnection([rotor, coil], "f[0].angular_velocity[2]", "f[1].rate[0]", gain=0.3)
    """

    table = "forces"
    output_a = Formula("y_a, see above", "f")
    output_b = Formula("y_b, see above", "f")
    gain = Real("g", "SI", 1.0)

    def _complete(self):
        s = self._symbols()
        for name in ("output_a", "output_b"):
            value = self._output(name, s)
            title, v = f"{self._title}: {name}", ca.vertcat(*s.velocity)
            check_symbols(title, value, *s.q, *s.velocity)
            slope = ca.jacobian(value, v)
            if ca.depends_on(slope, v) or not ca.simplify(ca.substitute(value, v, ca.SX.zeros(v.numel()))).is_zero():
                raise InputError(f"{title} must be linear in velocities and efforts")
            if slope.is_zero():
                raise InputError(f"{title} depends on no velocity: it has no power")

    def numbers(self, c: Any) -> dict[str, Any]:
        return {"gain": c.gain}

    def traced(self, name: str) -> tuple[ca.SX, dict[str, ca.SX]]:
        """An output, and its symbols by their names in a text."""
        symbols, frames = {}, []
        for i, body in enumerate(self.bodies):
            shapes = {"position": (3, 1), "velocity": (3, 1), "rotation": (3, 3), "angular_velocity": (3, 1)}
            own = {n: ca.SX.sym(n, *shape) for n, shape in shapes.items() if body.has_position and
                   (n != "angular_velocity" or body.has_orientation)}
            own |= {n: ca.SX.sym(n, body.n_q) for n in ("q", "rate")}
            frames.append(MovingFrame(**{n: own.get(n) for n in MovingFrame._fields}))
            symbols |= {f"f[{i}].{n}": x for n, x in own.items()}
        return call(f"{self._title}: {name}", getattr(self, name), 1, frames), symbols

    def _output(self, name, s):
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
        return s.own[0] * (rows[0] * b - rows[1] * a)


@dataclass(frozen=True)
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

    def value(self, frames: Sequence[Any]) -> Any:
        """The output, of the frames of the `bodies`."""
        if callable(self.output):
            return self.output(list(frames))
        if getattr(self.of, "is_port", False):
            return frames[0].rate[self.output or 0]
        if not hasattr(self.of, "bound"):
            raise InputError(f"Port: give the output of {self.of!r} as a formula of its frames")
        bound = self.of.bound(self.output)
        numbers = ca.SX(bound.coordinate.numbers)
        return bound.rate([f.q for f in frames], [f.rate for f in frames], numbers)


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
    places = [[bodies.index(body) for body in port.bodies] for port in (a, b)]

    def _formula(port, numbers):
        return lambda f: port.value([f[i] for i in numbers])

    return PortConnection(list(bodies), _formula(a, places[0]), _formula(b, places[1]), gain=gain, name=name)
