"""What a problem without dynamics may ask for, its frames, and states at these."""

import numpy as np

from ....assembly.mesh import TimeMesh
from ....errors import InputError
from .options import DEFAULT


def without_dynamics(problem):
    """The system of a problem with `dynamics="none"`, once it is checked that nothing is asked for that needs masses.

    Raises
    ------
    InputError
    """
    if problem.numbers:
        raise InputError(f"numbers: {next(iter(problem.numbers))!r} is a number of a part, which dynamics='none' does "
                         "not take; numbers of sensors, such as the point of a Marker, may be unknown: give a Prior "
                         "there")
    if problem.nodes is not problem.measurements and list(problem.nodes) != list(problem.measurements):
        raise InputError("nodes: with dynamics='none' all times are frames; leave it out")
    if problem.noise is None:
        raise InputError("dynamics='none' needs noise, a spectral density of accelerations [rad^2/s^3, m^2/s^3]: the "
                         "square of how much velocities change in a second, such as noise=50.0")
    return problem.system


def frames(times, t_span):
    """All times, and the ends of the time span, each once."""
    t = np.unique(np.concatenate([*times, t_span]))
    return t[np.concatenate([[True], np.diff(t) > DEFAULT.same * (t[-1] - t[0])])]


def places_among(t, times):
    """Numbers of the frames of some times."""
    return np.searchsorted(t, times + DEFAULT.same * (t[-1] - t[0]), "right") - 1


def frames_of(problem):
    """The frames of a problem as a mesh."""
    return TimeMesh(frames([sensor.times + sensor.offset for sensor in problem.measurements], problem.t_span))


def check_kinematic_element(element):
    """InputError for elements that do not say which rate of the coordinates is noise."""
    if element.degree not in (2, 3) or not element.can_march:
        raise InputError("dynamics='none' takes MixedGalerkin(2), by which accelerations are noise, or MixedGalerkin(3)"
                         f", by which these are known and change by noise, not {element!r}")


def momenta_of(system, t, x):
    """(q, p) of frames, shapes (n,), (n, levels, n_q) -> (n, n_z)."""
    z = np.concatenate([x[:, 0], np.zeros_like(x[:, 0])], axis=1)
    return np.concatenate([x[:, 0], system.momentum(t, z, x[:, 1])], axis=1)
