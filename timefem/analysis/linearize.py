"""`linearize`: a system around a state, or around a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .. import validate
from ..errors import InputError, named_arguments, warn
from ..mechanics.contacts.rigid import refuse_events
from ..mechanics.formulas.formula import call_vector, check_symbols
from ..mechanics.inversion.outputs import JointOutput, Output
from ..mechanics.states.assemble import consistent_states
from ..mechanics.states.given import joints_of_trees
from ..mechanics.states.redundancy import drop_redundant, redundant_rows
from ..mechanics.system import System
from ..mechanics.values.equations_of_motion import EquationsOfMotion
from ..problems.initial.problem import InitialValueProblem
from ..problems.static.at_rest import Equilibrium
from ..sensitivity.functionals import View
from ..sensitivity.names import functionals_of
from ..solution.solution import Solution
from ..types import Floats, UserFunction
from .chart import components
from .linear_model import LinearModel
from .reduction import Reduction

if TYPE_CHECKING:
    from ..mechanics.states.given import GivenStates
    from ..mechanics.system import System
    from ..problems.static.at_rest import Equilibrium
    from ..solution.solution import Solution
    from .linear_model import Modes

RATES = {"acceleration": "velocity", "angular_acceleration": "angular_velocity"}


@named_arguments
def linearize(system: System, state: GivenStates | Equilibrium | Solution | None = None, t: float | None = None, *,
              inputs: Sequence[Any] | None = None, outputs: Sequence[Any] | Output | UserFunction = (),
              controls: Floats | Mapping[Any, Any] | None = None) -> LinearModel:
    """Linear equations `xdot = A x + B u`, `y = C x + D u` around a state, in minimal coordinates on the constraints.

    The exact first derivatives of the equations of motion, `M(q) vdot = Q(q, v, t) + B(q) u - G^T gamma - A^T nu` with
    `Phi(q, t) = 0` and `A(q, t) v + a(q, t) = 0`, along the motions that the constraints allow, whatever the
    coordinates of the bodies are. Around a steady motion A does not change with the time: straight, about axes of
    symmetry (a rolling wheel), or in a frame that turns steadily, which is found (`frame`).

    Parameters
    ----------
    system : System
    state : dict, Equilibrium or Solution
        Of bodies, as for an `InitialValueProblem`, and assembled if need be; default: the reference state of all
        bodies. Of a `Solution` the state at `t`.
    t : float, optional
        Time [s]; default 0, of an `Equilibrium` its own. Of a `Solution` any time inside.
    inputs : sequence of actuators or str, optional
        Parts with controls, or their names; default: all of the system.
    outputs : sequence, optional
        Names such as "BODY.position[0]", "BODY.velocity", "BODY.angular_velocity[2]", "BODY.acceleration[1]",
        "BODY.q[0]", "BODY.rotation[2]" (a small turn about an axis of space), "JOINT.angle", or another coordinate of a
        joint by its name, and "JOINT.rate", joints of trees as "ARM.JOINT"; outputs
        as of inverse dynamics (`AngleOutput`, ...); or formulas `formula(bodies, t)` of a list of
        bodies with `position`, `rotation`, `velocity`, `angular_velocity`, `q`, `v`.
    controls : array_like, shape (n_controls,), or "balance", optional
        Controls of all actuators at the state; default zero, of a `Solution` its own. "balance": the smallest ones that
        leave the least acceleration, such as those of a quadcopter that hovers.

    Returns
    -------
    LinearModel

    Raises
    ------
    InputError
        For a state that cannot be assembled, unknown names, and a state where accelerations are not determined.

    Warns
    -----
    UserWarning
        Where parts are assembled far from the given state, which names what has moved: beams may be bent there.

    Examples
    --------
    >>> import timefem as tf
    >>> bob = tf.PointMass(2.0, name="bob")
    >>> system = tf.System([bob, tf.RigidDistance(bob, length=1.0)], gravity=(0, 0, -9.81))
    >>> model = tf.linearize(system, {bob: tf.Pose(position=(0, 0, -1))})
    >>> model.modes()[0].frequency  # doctest: +SKIP
    0.4985
    """
    balanced = isinstance(controls, str) and validate.choice("controls", controls, ("balance",))
    system, t, z, u = _at(system, state, t, None if balanced else controls)
    refuse_events(system, "a linear model")
    at = EquationsOfMotion.of_state(system, t, z, u)
    if balanced:
        at = EquationsOfMotion.of_state(system, t, z, at.balance())
    reduction = Reduction(at)
    if reduction.omega.any() and not reduction.stays():
        reduction = Reduction(at, turning=False)
    wanted = _inputs(at, inputs)
    names, c, d = _outputs(system, at, reduction, outputs)
    places = [i for i, _ in wanted]
    return LinearModel(reduction, z, reduction.b[:, places], c, d[:, places], [name for _, name in wanted], names)


def _at(system, state, t, controls):
    """System without redundant constraints, time, state, and controls there."""
    n_controls = sum(p.n_controls for p in system.parts)
    if controls is not None:
        controls = validate.array("controls", controls, (n_controls,))
    u = np.zeros(n_controls) if controls is None else controls
    if isinstance(state, Solution):
        if state.system is not system and state.system.complete is not system:
            raise InputError("the solution belongs to another system")
        t = state.t[0] if t is None else validate.real("t", t)
        if controls is None and "controls" in state.fields:
            u = state.controls(t)
        return state.system, float(t), state(t), u
    if isinstance(state, Equilibrium):
        if state.system is not system and state.system.complete is not system:
            raise InputError("the equilibrium belongs to another system; make the system once, and use it for both")
        if not state.success:
            raise InputError(f"the equilibrium was not found: {state.status.message}")
        t, state = state.t if t is None else t, state.state
    t = 0.0 if t is None else validate.real("t", t)
    problem = _consistent(system, {} if state is None else state, t)
    system, z = problem.system, problem.z0
    if redundant_rows(system, t, z):
        system = drop_redundant(system, t, z)
    return system, t, z, u


def _consistent(system, state, t):
    span = t, t + 1e-9 * max(1.0, abs(t))
    try:
        return InitialValueProblem(system, state, span)
    except InputError as error:
        if "violates the" not in str(error):
            raise
    return InitialValueProblem(system, consistent_states(system, state, t, sides=True), span)


def _inputs(at, inputs):
    """(place, name) of each input."""
    system, actuators = at.system, list(at.places)
    if inputs is None:
        chosen = actuators
    else:
        chosen = []
        for given in inputs if isinstance(inputs, list | tuple) else [inputs]:
            found = [p for p in actuators if p is given or system.label(p) == given]
            if not found:
                known = ", ".join(map(system.label, actuators)) or "none"
                raise InputError(f"{given!r} is not an actuator of the system, which has {known}; add a ControlForce "
                                 "or ControlTorque to its parts")
            chosen += found
    return [(int(i), f"{system.label(p)}[{k}]" if p.n_controls > 1 else system.label(p))
            for p in chosen for k, i in enumerate(at.places[p])]


def _outputs(system, at, reduction, outputs):
    """Names, C and D with all controls."""
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    names, rows, straight = [], [], []
    displacements = components(system)
    for given in outputs:
        small = [i for i, name in enumerate(displacements) if given in (name, name.rpartition("[")[0])]
        if small and not _is_position(displacements[small[0]]):
            rows.append(reduction.displacements[small])
            straight.append(np.zeros((len(small), len(at.u))))
            names += [displacements[i] for i in small]
            continue
        turn = _turn_of_frame(system, at, given)
        if turn is not None:
            own, q, by_q = turn
            rows.append(by_q @ reduction.dq[q])
            straight.append(np.zeros((len(own), len(at.u))))
            names += own
            continue
        for name, bodies, formula, rate in _formulas(system, given):
            c, by_acceleration = _derivatives(at, bodies, formula, rate)
            q = np.concatenate([np.arange(system.n_q)[system.coordinates(b)] for b in bodies])
            n = len(q)
            rows.append(c[:, :n] @ reduction.dq[q] + c[:, n:] @ reduction.dv[q] + by_acceleration @ reduction.da[q])
            straight.append(by_acceleration @ reduction.by_controls[q])
            names += [name] if len(c) == 1 else [f"{name}[{i}]" for i in range(len(c))]
    n, m = len(reduction.a), len(at.u)
    return names, np.concatenate([np.zeros((0, n)), *rows]), np.concatenate([np.zeros((0, m)), *straight])


def _turn_of_frame(system, at, given):
    """Names, coordinates and derivatives by these of a small turn about axes of space of a link or a point of a beam,
    "ARM.LINK.rotation" or one component of it; None of other outputs."""
    label, _, what = given.rpartition(".") if isinstance(given, str) else ("", "", "")
    names = [f"{label}.rotation[{i}]" for i in range(3)]
    if what != "rotation" and given not in names:
        return None
    frame = system.find(label)
    if frame.is_body or not frame.has_orientation:
        return None
    own = range(3) if what == "rotation" else [names.index(given)]
    q = system.coordinates(frame)
    by_q = frame.angular_velocity(at.q[q], np.eye(len(q)), "space").T
    return [names[i] for i in own], q, by_q[list(own)]


def _is_position(name):
    return name.rpartition("[")[0].endswith(".position") or ".q[" in name


def _formulas(system, given):
    """(name, bodies, formula of views and t, whether its rate is meant) of one output."""
    name, output, rate = repr(given), given, False
    if isinstance(given, str):
        name, (output, rate) = given, _of_joint(system, given)
    if isinstance(output, Output):
        for body in output.bodies:
            system.find(body)
        return [(name, output.bodies, lambda views, t: output.value(*(v.q for v in views)), rate)]
    if callable(given):
        return [(getattr(given, "__name__", "output"), system.bodies, given, False)]
    if not isinstance(given, str):
        raise InputError(f"outputs must be names such as 'BODY.position[0]', outputs, or formulas, not {given!r}")
    text = given
    for name, of in RATES.items():
        if f".{name}" in text:
            text, rate = text.replace(f".{name}", f".{of}"), True
    try:
        found = functionals_of(system, [f"end:{text}"])
    except InputError as error:
        raise InputError(str(error).replace(f"end:{text}", given)) from None
    listed = []
    for name, functional in found.items():
        name = name.removeprefix("end:")
        for other, of in RATES.items() if rate else ():
            name = name.replace(f".{of}", f".{other}")
        listed.append((name, system.bodies if functional.bodies is None else functional.bodies, functional.formula,
                       rate))
    return listed


def _of_joint(system, text):
    """The output "JOINT.angle", a coordinate by its name, or "JOINT.rate", that of its first; and whether it is a rate.
    """
    label, _, what = text.rpartition(".")
    joint = next((part for part in system.parts if not part.is_body and system.label(part) == label), None)
    joint = system[joint] if joint is not None else joints_of_trees(system).get(label)
    names = [coordinate.name for coordinate in getattr(joint, "coordinates", ())]
    if not names or what not in (*names, "rate"):
        return None, False
    return JointOutput(joint, None if what == "rate" else what), what == "rate"


def _derivatives(at, bodies, formula, rate):
    """Of a formula, or its rate, at the state: derivatives by (q, v) of the bodies, and by their accelerations."""
    q, v, a = ([ca.SX.sym(name, b.n_q) for b in bodies] for name in "qva")
    t = ca.SX.sym("t")
    momenta = [ca.gradient(b.kinetic_of_velocity(x, y, ca.DM(b.own_parameters)), y) if b.is_body else y
               for b, x, y in zip(bodies, q, v, strict=True)]
    views = [View(b, *x) for b, *x in zip(bodies, q, momenta, v, strict=True)]
    value = call_vector("output", formula, views, t)
    check_symbols("output", value, *q, *v, t)
    q, v, a = ca.vertcat(*q), ca.vertcat(*v), ca.vertcat(*a)
    if rate:
        value = ca.jtimes(value, q, v) + ca.jtimes(value, v, a) + ca.jacobian(value, t)
    function = ca.Function("output", [q, v, a, t], [ca.densify(ca.jacobian(value, ca.vertcat(q, v))),
                                                    ca.densify(ca.jacobian(value, a))])
    index = np.concatenate([np.arange(at.n)[at.system.coordinates(b)] for b in bodies])
    return [np.array(x) for x in function(at.q[index], at.v[index], at.acceleration[index], at.t)]


@named_arguments
def modes(system: System, state: GivenStates | Equilibrium | Solution | None = None, t: float | None = None, *,
          controls: Floats | Mapping[Any, Any] | None = None) -> Modes:
    """Natural modes around a state: those of `linearize(system, state, t, controls=controls)`.

    Parameters
    ----------
    system, state, t, controls
        As for `linearize`.

    Returns
    -------
    Modes
        A sequence that prints as a table.

    Raises
    ------
    InputError
        As `linearize`.

    Warns
    -----
    UserWarning
        As `linearize`, and where the motion is not steady at the state.
    """
    model = linearize(system, state, t, inputs=(), controls=controls)
    if not model.steady:
        warn("the motion is not steady at this state: its eigenvalues are those of one instant, not of a motion; "
             "modes(system, equilibrium(system)) are those at rest")
    return model.modes()
