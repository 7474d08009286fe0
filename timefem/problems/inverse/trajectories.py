"""Prescribed outputs and their trajectories, checked."""

from ...errors import InputError
from ...mechanics.functions.formula import as_time_function
from ...mechanics.functions.table import Table
from ...mechanics.functions.trajectories import Spline, first_jump, ordinal
from ...mechanics.inversion.outputs import Output
from ..initial.problem import uncovered


def checked_outputs(system, outputs, t_span):
    """Pairs of output and `TimeFunction`, list.

    Raises
    ------
    InputError
        For outputs of bodies that are not in the system, and trajectories that do not cover the time span.
    """
    if not isinstance(outputs, dict):
        raise InputError(f"outputs must be a dict from output to trajectory, not {outputs!r}")
    pairs = []
    for output, trajectory in outputs.items():
        if not isinstance(output, Output):
            raise InputError(f"outputs: {output!r} is not an output such as PositionOutput(body, 'x')")
        for body in output.bodies:
            if not system.has(body):
                raise InputError(f"outputs: {output!r} is of {body!r}, which is not in the system")
        output = output.on(system)
        trajectory = as_time_function(f"trajectory of {output!r}", trajectory)
        fault = uncovered(trajectory, t_span)
        if fault:
            raise InputError(f"trajectory of {output!r}: {fault}")
        if isinstance(trajectory, Table) and trajectory.kind == "cubic" and len(trajectory.times) > 3:
            trajectory = Spline(trajectory.times, trajectory.values, 3)  # the same, with derivatives at its entries
        pairs.append((output, trajectory))
    return pairs


def check_smoothness(outputs, relative_degrees, t_span):
    """InputError for a trajectory with a jump in a derivative that the controls need continuous."""
    for (output, trajectory), degree in zip(outputs, relative_degrees, strict=True):
        jump = first_jump(trajectory, degree - 1, t_span) if degree else None
        if jump is not None:
            raise InputError(f"the trajectory of {output!r} has a jump in its {ordinal(jump[0])} at t = "
                             f"{jump[1]:g}; relative degree {degree} needs it continuous")
