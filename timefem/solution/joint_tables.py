"""Joints of a solution as columns of numbers, for tables and figures."""

import numpy as np

from ..errors import InputError
from ..mechanics.states.in_trees import joints_of_trees
from .joint_motion import joint_motion

JOINT_UNITS = {"force": "N", "torque": "N m"}


def joint_names(system):
    """Labels of the joints of a system that hold bodies, and have forces; in the order of its parts."""
    return [system.label(part) for part in (system.complete or system).parts
            if part.table == "joints" and not part.is_body and hasattr(getattr(part, "part", part), "point_a")]


def joint_fields(solution, times=None, names=None):
    """Per joint a dict of arrays: its coordinates and their rates by name, force and torque on body a in space axes.

    The latter two are NaN at singular positions, where the constraints do not determine them.

    Returns
    -------
    dict
        Label -> {name: (array, unit)}; `angle`, `rate`; `displacement`, `displacement rate` where there are several.
    """
    found = {}
    if names is None:
        names = joint_names(solution.system) + [name for name, joint in joints_of_trees(solution.system).items()
                                                if joint.coordinates]
    for name in names:
        motion, own = joint_motion(solution, name), {}
        for i, coordinate in enumerate(motion.coordinates):
            unit = motion.joint.coordinates[i].unit
            own[coordinate] = motion.coordinate(times, coordinate), unit
            own["rate" if i == 0 else f"{coordinate} rate"] = motion.rate(times, coordinate), f"{unit}/s"
        if len(solution.t) > 1:
            try:
                force, torque = motion.force(times), motion.torque(times)
            except InputError:
                force = torque = np.full((*np.shape(solution.t if times is None else times), 3), np.nan)
            own |= {"force": (force, JOINT_UNITS["force"]), "torque": (torque, JOINT_UNITS["torque"])}
        found[name] = own
    return found
