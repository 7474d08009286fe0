"""A guess for targets that are out of reach at once: controls that put in energy, until there is enough of it.

A pendulum whose motor is too weak to hold it up has to swing. Controls at their bounds, with the sign of the velocity
along them, feed every swing; the time that this takes is the guess of the duration.
"""

import warnings
from copy import copy

import casadi as ca
import numpy as np

from ....elements.mixed_galerkin import MixedGalerkin
from ....errors import InputError, UnderResolved
from ....mechanics.numbers.changes import extended
from ....mechanics.part import Part
from ....mechanics.values.equations_of_motion import EquationsOfMotion
from ....mechanics.values.forces import n_seen
from ...common.task import Task
from ...initial.problem import InitialValueProblem
from ...kinds import KINDS
from ..options import OPTIONS


class Pumping(Part):
    """Puts an actuator's controls where they put in energy: `u = middle + half tanh(rate / width + kick)`."""

    def __init__(self, actuator, middle, half, width):
        self.actuator, self.bodies, self.name = actuator, actuator.bodies, f"pumping by {actuator.name}"
        self.own_parameters = np.concatenate([actuator.own_parameters, middle, half, width])

    @property
    def kind(self):
        return Pumping, self.actuator.kind

    def force(self, s):
        n, k = len(self.actuator.own_parameters), self.actuator.n_controls
        own, middle, half, width = ca.vertsplit(s.own, [0, n, n + k, n + 2 * k, n + 3 * k])
        theirs, u = copy(s), ca.SX.sym("u", k)
        theirs.own = own
        by_controls = ca.jacobian(self.actuator.control_force(theirs, u), u)
        rates = by_controls.T @ ca.vertcat(*s.velocity)
        return by_controls @ pumped(rates, middle, half, width, ca.tanh)


def pumped(rates, middle, half, width, tanh=np.tanh):
    """Controls at these rates along them."""
    return middle + half * tanh(rates / width + OPTIONS.pumping_kick)


def pumping(system, actuators, bounds, t_span, ends, longest):
    """States, times and controls (n, n_controls) of a motion that has the energy of the target in the end.

    None where a control has no two bounds, the target has no more energy, or it is not reached.

    Parameters
    ----------
    system : System
    actuators : list of Actuator
    bounds : ndarray, shape (2, n_controls)
    t_span : (float, float)
        As guessed [s].
    ends : (ndarray, ndarray), shape (n_z,) each
        States at the start and at the target.
    longest : float
        Duration [s].
    """
    t0, t1 = t_span
    before, after = (system.hamiltonian(t0, z) for z in ends)
    if any(n_seen(actuator) > actuator.n_controls or not actuator.is_affine for actuator in actuators):
        return None
    if not np.isfinite(bounds).all() or (bounds[0] == bounds[1]).any() or not after > before:
        return None
    middle, half = bounds.mean(axis=0), np.diff(bounds, axis=0)[0] / 2
    try:
        at = EquationsOfMotion.of_state(system, t0, ends[0], middle)
        moved = at.by_controls()  # a control of one gives rates up to the root of twice the energy times a.M a
        squares = 2 * (after - before) * np.sum(moved * (at.mass @ moved), axis=0)
        width = OPTIONS.pumping_width * np.sqrt(np.maximum(squares, 0.0))
        if not (width > 0).all():
            return None
        longest = min(longest, OPTIONS.pumping_longest * (t1 - t0))
        sol = _marched(system, actuators, (middle, half, width), ends[0], t_span, longest)
        enough = system.hamiltonian(sol.t, sol.z) >= after  # where it fails it is far too fast
        if not np.any(enough):
            return None
        t = np.linspace(t0, sol.t[int(np.argmax(enough))], OPTIONS.pumping_samples)
        z, controls = sol(t), []
        for time, state in zip(t, z, strict=True):
            at = EquationsOfMotion.of_state(system, float(time), state, middle)
            controls.append(pumped(at.v @ at.mass @ at.by_controls(), middle, half, width))
    except (InputError, np.linalg.LinAlgError, ValueError):
        return None
    return z, t, np.array(controls)


def _marched(system, actuators, numbers, start, t_span, span):
    parts, stop = [], 0
    for actuator in actuators:
        first, stop = stop, stop + actuator.n_controls
        parts.append(Pumping(actuator, *(x[first:stop] for x in numbers)))
    t0, t1 = t_span
    way = InitialValueProblem(extended(system, parts), start, (t0, t0 + span))
    trees = any(body.velocity_by_solve for body in system.bodies)
    element = MixedGalerkin(2, form="lagrange") if trees else MixedGalerkin(2)
    marches = KINDS["initial"]
    march = marches.default_driver(element)
    n = int(np.ceil(OPTIONS.pumping_per_span * span / (t1 - t0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderResolved)  # of a guess, that goes on too fast once there is enough
        return marches.solve(Task(way, element, n, driver=march(keep_mesh=True), progress=False))
