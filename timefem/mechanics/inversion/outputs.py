"""Outputs of a system that a trajectory can prescribe: scalar functions of the coordinates of its bodies, and poses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError, NamedArguments, named_arguments
from ...types import UserFunction, Vector
from ..bodies.rotations import as_quaternion, matrix_from_quaternion
from ..body_frame import BodyFrame
from ..formulas.formula import call, check_symbols
from ..formulas.text import TextFormula, as_formula, text_of
from ..joints.frame import Frame
from ..time_formulas import as_vector_function
from ..time_functions import Polynomial

if TYPE_CHECKING:
    from ..joints.joint import Joint
    from ..part import Body
    from ..system import System

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Output(NamedArguments, ABC):
    """A scalar y(q) of one or more bodies.

    Attributes
    ----------
    bodies : tuple of BodyFrame
    name : str
        For messages.
    """

    bodies = ()
    name = None
    by_coordinates = False  # whether it is of coordinates of the bodies themselves
    turns = False  # whether it is an angle, whose whole turns are not counted
    arguments = {}  # noqa: RUF012  those of the constructor besides bodies and name, for files

    refers_to_parts = True

    def __repr__(self):
        return self.name or f"{type(self).__name__}({', '.join(b.name or 'body' for b in self.bodies)})"

    @abstractmethod
    def value(self, *q: ca.SX) -> ca.SX:
        """y in CasADi symbols of the coordinates of each body."""

    def deviation(self, target: Any, *q: ca.SX) -> ca.SX:
        """y - target."""
        return self.value(*q) - target

    def on(self, system: System) -> Output:
        """The same output of the bodies of a system with other numbers."""
        return self.moved(system.__getitem__)

    def moved(self, stand_in: Callable[[Any], Any]) -> Output:
        """The same output of other bodies."""
        bodies = tuple(map(stand_in, self.bodies))
        if all(a is b for a, b in zip(bodies, self.bodies, strict=True)):
            return self
        if self.by_coordinates and any(old.is_body and not new.is_body
                                       for new, old in zip(bodies, self.bodies, strict=True)):
            raise InputError(f"{self!r} is of coordinates that its body does not have here: in joint coordinates take "
                             "JointOutput, PositionOutput or AngleOutput")
        other = copy(self)
        other.bodies = bodies
        return other

    def described(self, refer: Any) -> dict[str, Any]:
        """Plain data from which `restored` makes the same output; `refer` names bodies and joints."""
        if type(self).__name__ not in OUTPUTS:
            raise InputError(f"{self!r} cannot be saved: {type(self).__name__} has no description for files")
        own = {name: value.tolist() if isinstance(value, np.ndarray) else value
               for name, value in self.arguments.items()}
        on = {"joint": refer.coordinate(self.bound)} if isinstance(self, JointOutput) else \
            {"bodies": [refer.body(body) for body in self.bodies]}
        return {"output": type(self).__name__, **on, **own, "name": self.name}

    @staticmethod
    def restored(data: Mapping[str, Any], found: Any) -> Output:
        """The output of a description; `found` has the bodies and joints that it names."""
        own = {name: value for name, value in data.items() if name not in ("output", "joint", "bodies")}
        cls = OUTPUTS[data["output"]]
        if "joint" in data:
            return cls(*found.coordinate(data["joint"]), **own)
        bodies = [found.body(body) for body in data["bodies"]]
        return cls(bodies=bodies, **own) if cls is FormulaOutput else cls(*bodies, **own)

    def evaluate(self, system: System, z: np.ndarray) -> np.ndarray:
        """y at states of shape (..., n_z) -> (...)."""
        z = np.asarray(z, float)
        symbols = [ca.SX.sym("q", b.n_q) for b in self.bodies]
        function = ca.Function("y", symbols, [ca.densify(ca.SX(self.value(*symbols)))])
        flat = z.reshape(-1, z.shape[-1])
        values = [flat[:, system.coordinates(b)].T for b in self.bodies]
        return np.array(function.map(len(flat))(*values)).reshape(z.shape[:-1])


class PositionOutput(Output):
    """Position of a point of a body along an axis of space [m].

    Parameters
    ----------
    body : RigidBody or PointMass
    axis : {"x", "y", "z"} or array_like, shape (3,)
        A vector is brought to unit length.
    point : array_like, shape (3,)
        In body axes, from the centre of mass [m].
    name : str, optional
    """

    def __init__(self, body: BodyFrame, axis: str | Vector, point: Vector = (0.0, 0.0, 0.0),
                 name: str | None = None) -> None:
        if not isinstance(body, BodyFrame) or not body.has_position:
            raise InputError(f"PositionOutput: body must be a RigidBody or a PointMass, not {body!r}")
        known = isinstance(axis, str) and axis in AXES
        if isinstance(axis, str) and not known:
            raise InputError(f"PositionOutput: axis must be 'x', 'y', 'z' or a vector, not {axis!r}")
        self.axis = validate.direction("PositionOutput: axis", AXES[axis] if known else axis)[1]
        self.point = validate.array("PositionOutput: point", point, (3,))
        if np.any(self.point) and not body.has_orientation:
            raise InputError(f"PositionOutput: {body!r} has no points but its own; leave point out")
        self.bodies, self.arguments = (body,), {"axis": self.axis, "point": self.point}
        self.name = name or f"{body.name or 'body'} {axis if known else 'position'}"

    def value(self, q: ca.SX) -> ca.SX:
        position, rotation = self.bodies[0].frame(q)
        return ca.dot(ca.DM(self.axis), position + rotation @ ca.DM(self.point))


class CoordinateOutput(Output):
    """One generalized coordinate of a body.

    Parameters
    ----------
    body : Body
    index : int
    name : str, optional
    """

    by_coordinates = True

    def __init__(self, body: BodyFrame, index: int, name: str | None = None) -> None:
        if not isinstance(body, BodyFrame):
            raise InputError(f"CoordinateOutput: body must be a body, not {body!r}")
        self.index = validate.integer("CoordinateOutput: index", index, minimum=0)
        if self.index >= body.n_q:
            raise InputError(f"CoordinateOutput: index must be below {body.n_q}, the coordinates of {body!r}, "
                             f"not {index}")
        self.bodies, self.arguments = (body,), {"index": self.index}
        self.name = name or f"{body.name or 'body'} q[{self.index}]"

    def value(self, q: ca.SX) -> ca.SX:
        return q[self.index]


class AngleOutput(Output):
    """Angle of a direction of a body about an axis of space [rad], from a reference; turns are not counted.

    Parameters
    ----------
    body : RigidBody
    axis : {"x", "y", "z"}
        Of space: the angle is that of the projection on the plane across it, by the right hand.
    direction : array_like, shape (3,)
        In body axes.
    reference : array_like, shape (3,), optional
        In space axes, where the angle is zero; default: that of `direction` in the reference orientation.
    name : str, optional
    """

    turns = True

    def __init__(self, body: BodyFrame, axis: str | Vector, direction: Vector, reference: Vector | None = None,
                 name: str | None = None) -> None:
        if not getattr(body, "has_orientation", False):
            raise InputError(f"AngleOutput: body must be a RigidBody, not {body!r}")
        axis_vector = np.array(AXES[validate.choice("AngleOutput: axis", axis, tuple(AXES))])
        self.direction = validate.direction("AngleOutput: direction", direction)[1]
        reference = self.direction if reference is None else validate.direction("AngleOutput: reference", reference)[1]
        first = reference - axis_vector * (axis_vector @ reference)
        if np.linalg.norm(first) < 1e-8:
            raise InputError(f"AngleOutput: the reference direction is along {axis}, about which it has no angle")
        self.plane = np.array([first, np.cross(axis_vector, first)]) / np.linalg.norm(first)
        self.bodies = (body,)
        self.arguments = {"axis": axis, "direction": self.direction, "reference": reference}
        self.name = name or f"{body.name or 'body'} angle"

    def value(self, q: ca.SX) -> ca.SX:
        cosine, sine = ca.vertsplit(ca.DM(self.plane) @ (self.bodies[0].frame(q)[1] @ ca.DM(self.direction)))
        return ca.atan2(sine, cosine)

    def deviation(self, target: Any, q: ca.SX) -> ca.SX:
        cosine, sine = ca.vertsplit(ca.DM(self.plane) @ (self.bodies[0].frame(q)[1] @ ca.DM(self.direction)))
        c, s = ca.cos(target), ca.sin(target)
        return ca.atan2(sine * c - cosine * s, cosine * c + sine * s)


class JointOutput(Output):
    """A coordinate of a joint [rad or m]; turns of an angle are not counted.

    Parameters
    ----------
    joint : Joint
    coordinate : str, optional
        Which one, where it has several; the first unless given.
    name : str, optional
    """

    def __init__(self, joint: Joint, coordinate: str | None = None, name: str | None = None) -> None:
        if not getattr(joint, "coordinates", ()):
            raise InputError(f"JointOutput: joint must be one with an angle or a displacement, not {joint!r}")
        self.bound = joint.bound(coordinate or joint.coordinates[0].name)
        self.bodies, self.turns = self.bound.bodies, self.bound.coordinate.turns
        self.name = name or f"{joint.name or type(joint).__name__} {self.bound.coordinate.name}"

    def on(self, system: System) -> Output:
        return self.moved(lambda part: system.here(part) if part is self.bound.owner else system[part])

    def moved(self, stand_in: Callable[[Any], Any]) -> Output:
        joint = stand_in(self.bound.owner)
        if joint is self.bound.owner:
            return super().moved(stand_in)
        return JointOutput(joint, self.bound.coordinate.name, self.name)

    def value(self, *q: ca.SX) -> ca.SX:
        return self.bound.value(q, ca.SX(self.bound.coordinate.numbers))

    def deviation(self, target: Any, *q: ca.SX) -> ca.SX:
        return self.bound.deviation(q, ca.SX(self.bound.coordinate.numbers), target)


class FormulaOutput(Output):
    """An output by a formula.

    Parameters
    ----------
    formula : callable or str
        `formula(q1, q2, ...)` of the coordinates of each body -> CasADi scalar; or text, in which `f` has a `Frame` of
        each body: `"f[0].position[2] - f[1].q[0]"`.
    bodies : Body or sequence of Body
    name : str, optional
    """

    def __init__(self, formula: UserFunction | str, bodies: BodyFrame | Sequence[BodyFrame],
                 name: str | None = None) -> None:
        self.bodies = tuple(bodies) if isinstance(bodies, Sequence) else (bodies,)
        for body in self.bodies:
            if not isinstance(body, BodyFrame):
                raise InputError(f"FormulaOutput: {body!r} is not a body; the formula comes first, then its bodies")
        self.name = name or "output"
        self.formula = as_formula(f"FormulaOutput {self.name!r}", formula, ["f"])
        symbols = [ca.SX.sym("q", b.n_q) for b in self.bodies]
        check_symbols("FormulaOutput", self.value(*symbols), *symbols)

    @property
    def by_coordinates(self) -> bool:
        return not isinstance(self.formula, TextFormula) or ".q" in self.formula.text

    def value(self, *q: ca.SX) -> ca.SX:
        if isinstance(self.formula, TextFormula):
            q = [Frame.of(*x) for x in zip(self.bodies, q, strict=True)],
        return call(f"FormulaOutput {self.name!r}", self.formula, 1, *q)

    @property
    def arguments(self) -> dict[str, Any]:
        """The formula as text."""
        if isinstance(self.formula, TextFormula):
            return {"formula": self.formula.text}
        q = [ca.SX.sym("q", b.n_q) for b in self.bodies]
        return {"formula": text_of(repr(self), self.value(*q), {f"f[{i}].q": x for i, x in enumerate(q)})}


TYPES = {"position": PositionOutput, "angle": AngleOutput, "coordinate": CoordinateOutput, "joint": JointOutput,
         "formula": FormulaOutput}  # by `type` in a model file
OUTPUTS = {cls.__name__: cls for cls in TYPES.values()}


# ---- Outputs for the pose of a body along a path

CLOCK = Polynomial((0.0, 1.0))


class OrientationOutput(Output):
    """One of three numbers that vanish where a body has the orientation R_d(t); its trajectory is the time.

    The skew part of `R_d^T R`, sin(angle) times the axis of the rotation that is left: neither the sign of a
    quaternion nor full turns enter. `pose_outputs` makes all three.

    Parameters
    ----------
    body : RigidBody or link of a tree
    orientation : array_like, shape (4,) or (3, 3), or callable
        R_d: unit quaternion or rotation matrix, body to space, or a function of the CasADi symbol of the time.
    component : {0, 1, 2}
        Axis of the body about which the turn is counted.
    name : str, optional

    Raises
    ------
    InputError
        For bodies without an orientation, and for what is not a rotation.
    """

    def __init__(self, body: Body, orientation: Any, component: int, name: str | None = None) -> None:
        if not getattr(body, "has_orientation", False):
            raise InputError(f"OrientationOutput: body must be a rigid body or link, not {body!r}")
        self.bodies, self.component = (body,), validate.choice("OrientationOutput: component", component, (0, 1, 2))
        self.name = name or f"{body.name or 'body'} turn about {'xyz'[component]}"
        self._wanted = _matrix_of(self.name, orientation)

    def value(self, q: ca.SX) -> ca.SX:
        return self.deviation(0.0, q)

    def deviation(self, target: Any, q: ca.SX) -> ca.SX:
        left = self._wanted(target).T @ self.bodies[0].frame(q)[1]
        i, j = (self.component + 1) % 3, (self.component + 2) % 3
        return (left[j, i] - left[i, j]) / 2


def _matrix_of(title, orientation):
    """A function from the time to the rotation matrix of a constant orientation, or of one as a function of time."""
    if not callable(orientation):
        matrix = ca.DM(matrix_from_quaternion(as_quaternion(orientation)))
        return lambda t: ca.SX(matrix)
    t = ca.SX.sym("t")
    try:
        given = orientation(t)
        rows = given if isinstance(given, list | tuple) else [given]
        value = ca.SX(ca.vertcat(*(ca.horzcat(*row) if isinstance(row, list | tuple) else row for row in rows)))
    except Exception as error:
        raise InputError(f"{title}: the orientation fails on the CasADi symbol of the time: {error}") from None
    if value.shape == (4, 1):  # of any length
        a, v = value[0], value[1:]
        e, g = (ca.horzcat(-v, a * ca.SX.eye(3) + sign * ca.skew(v)) for sign in (1, -1))
        value = e @ g.T / ca.sumsqr(value)
    if value.shape != (3, 3) or any(not ca.is_equal(s, t) for s in ca.symvar(value)):
        raise InputError(f"{title}: the orientation must be a quaternion or a rotation matrix, or a function of the "
                         "CasADi symbol of the time that returns one")
    return ca.Function("orientation", [t], [value])


@named_arguments
def pose_outputs(body: BodyFrame, position: Any = None, orientation: Any = None,
                 point: Vector = (0.0, 0.0, 0.0)) -> dict[Output, Any]:
    """Outputs that guide a body along a path: up to six, with their trajectories, for `InverseDynamics`.

    Parameters
    ----------
    body : RigidBody or link of a tree
    position : optional
        Of the point in space [m]: three numbers or functions of time, or one function that returns three.
    orientation : optional
        Unit quaternion (scalar first, of either sign) or rotation matrix, body to space; or a function of the CasADi
        symbol of the time that returns one (a quaternion may have any length).
    point : array_like, shape (3,)
        In the axes of the body.

    Returns
    -------
    dict
        Output -> trajectory.

    Raises
    ------
    InputError
        When neither position nor orientation is given, and for what is not a rotation.
    """
    found = {}
    if position is not None:
        for axis, trajectory in zip("xyz", as_vector_function("pose_outputs: position", position), strict=True):
            found[PositionOutput(body, axis, point)] = trajectory
    if orientation is not None:
        found |= {OrientationOutput(body, orientation, i): CLOCK for i in range(3)}
    if not found:
        raise InputError("pose_outputs: give a position, an orientation, or both")
    return found
