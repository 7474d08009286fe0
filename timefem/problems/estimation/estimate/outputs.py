"""What may be asked of an estimate, as a sensor without errors at given times."""

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.bodies.rotations import quaternion_from_matrix
from ....mechanics.body_frame import BodyFrame
from ....mechanics.forces.actuators import Actuator
from ....mechanics.formulas.text import as_formula
from ....mechanics.inversion.outputs import Output
from ....mechanics.part_names import frame_named
from ....mechanics.states.in_trees import tree_joint
from ..dynamic.program import SensorRows
from ..measurements.joints import FormulaSensor
from ..measurements.points import OrientationSensor


class BodySensor(OrientationSensor):
    """Place, turn from given orientations, velocity and angular velocity of a body; 12 numbers."""

    n = 12

    def residual(self, now, c, y):
        turn = super().residual(now, c, y)
        return ca.vertcat(-now.position(self.body), turn, -now.velocity(self.body), -now.angular_velocity(self.body))

    def _check_errors(self, title, n):
        self.covariances = np.broadcast_to(np.eye(12), (len(self.times), 12, 12))

    @property
    def whitening(self):
        return self.covariances


def term_of(solution, what, times):
    """The term whose residuals are the requested quantity with the other sign."""
    rows = SensorRows(solution._found.chain, solution._found.program.views)
    return rows.term(sensor_of(solution, what, times))


def is_joint(solution, what):
    """Whether a joint is asked for."""
    return bool(getattr(_meant(solution.problem.system, what), "coordinates", ()))


def _meant(system, what):
    """The requested quantity, of the system; formulas as they are."""
    if isinstance(what, str):
        labels = {system.label(part): part for part in (*system.parts, *system.bodies)}
        known = labels.get(what) or tree_joint(system, what) or frame_named(system, what)
        return what if known is None else known
    if not callable(what) and hasattr(what, "bodies") and not isinstance(what, Output):
        return system.here(what)
    return what


def sensor_of(solution, what, times):
    """A sensor without errors of the requested quantity."""
    system, formula = solution.problem.system, what
    what = _meant(system, what)
    if isinstance(what, Output):
        formula = lambda now: now.output(what)
    elif isinstance(what, Actuator) and what.n_controls:
        formula = lambda now: now.control(what)
    elif isinstance(what, BodyFrame) and what.has_orientation:
        return _of_body(solution, what, times)
    elif getattr(what, "coordinates", ()):
        formula = lambda now: ca.vertcat(*(now.joint(what, x.name) for x in what.coordinates))
    elif isinstance(what, BodyFrame):
        formula = lambda now: ca.vertcat(now.q(what), *([now.rates(what)] if what.has_rate else []))
    elif not (callable(what) or isinstance(what, str | list | tuple)):
        raise InputError(f"{what!r} is not a body, joint, actuator, output or formula of the estimate")
    n = _size(solution, formula)
    values = np.zeros((len(times), n))
    return FormulaSensor(formula, n, times=times, values=values, sigma=1.0, name="requested quantity")


def _size(solution, formula):
    """How many numbers a formula gives."""
    problem = solution.problem
    n = problem.system.n_q
    now = problem.moment(ca.SX.sym("t"), ca.SX.sym("z", 2 * n), ca.SX.sym("c", problem.n_constants),
                         v=ca.SX.sym("v", n), a=ca.SX.sym("a", n), u=ca.SX.sym("u", problem.n_controls),
                         multipliers=ca.SX.sym("multipliers", problem.system.n_multipliers))
    value = as_formula("requested quantity", formula, ["now"])(now)
    return ca.SX(ca.vertcat(*value) if isinstance(value, list | tuple) else value).numel()


def _of_body(solution, body, times):
    system = solution.problem.system
    z = solution(times)
    q = ca.SX.sym("q", len(z[0][:system.n_q][system.coordinates(body)]))
    turn = ca.Function("turn", [q], [body.frame(q)[1]])
    found = [quaternion_from_matrix(np.array(turn(x[:system.n_q][system.coordinates(body)]))) for x in z]
    return BodySensor(body, times=times, values=np.array(found), sigma=1.0, name="requested quantity")
