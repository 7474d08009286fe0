"""Phase portraits: rates over coordinates."""

import itertools
import re

import numpy as np

from ...display import COLOURS, STYLES
from ...errors import InputError
from ..joint_motion import joint_motion
from .options import OPTIONS
from .plots import new_axes

COMPONENT = re.compile(r"(.+)\.(position|q)\[(\d+)\]")


def plot_phase(solution, *what, times=None, ax=None):
    """Rates over coordinates, from the start, which is a dot, to the end.

    Parameters
    ----------
    solution : Solution
    *what : Part or str
        Joints, by themselves or by name, "JOINT.COORDINATE" where they have several, joints of trees;
        "BODY.position[0]" of a centre of mass; "BODY.q[0]", a generalized coordinate. Default: all joints with
        coordinates, else all generalized coordinates, else the positions of point masses; those of one unit.
    times : array_like, shape (n,), optional
        Default: several in each element.
    ax : Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        For names that are unknown, or coordinates of several units.
    """
    if times is None:
        n = min(OPTIONS.phase_per_element * (len(solution.t) - 1), OPTIONS.phase_points) + 1
        times = np.linspace(solution.t[0], solution.t[-1], n)
    curves = [curve for name in what for curve in _curves(solution, name, times)] or _default(solution, times)
    units = list(dict.fromkeys(unit for *_, unit in curves))
    if len(units) > 1:
        if what:
            raise InputError(f"a phase portrait has one unit, but these have {' and '.join(units)}; draw them one by "
                             "one")
        curves = [curve for curve in curves if curve[-1] == units[0]]
    ax = new_axes(ax, (4.8, 4.0))
    looks = zip(itertools.cycle(STYLES), itertools.cycle(COLOURS), strict=False)
    for (name, x, rate, _), (style, colour) in zip(curves, looks, strict=False):
        ax.plot(x, rate, style, color=colour, linewidth=1.5, label=name)
        ax.plot(x[:1], rate[:1], "o", color=colour, markersize=4)
    unit = f" [{units[0]}]" if units[0] else ""
    ax.set_xlabel((curves[0][0] if len(curves) == 1 else "coordinate") + unit)
    ax.set_ylabel("rate" + (f" [{units[0]}/s]" if units[0] else ""))
    ax.grid(True, linewidth=0.5, color="0.85")
    ax.tick_params(direction="in", top=True, right=True)
    if len(curves) > 1:
        ax.legend(frameon=True, framealpha=0.9, edgecolor="0.8", fontsize="small")
    return ax


def has_phase(solution):
    """Whether a phase portrait can be drawn without saying what."""
    return bool(_candidates(solution.system))


def _candidates(system):
    """Names that are drawn unless others are asked for."""
    parts = (system.complete or system).parts
    joints = [system.label(p) for p in parts if not p.is_body and p.constraint_names and
              getattr(getattr(p, "part", p), "coordinates", ())]
    joints += [name for body in system.bodies for name in getattr(body, "joint_names", ())
               if body.joint(name).coordinates]
    bodies = [body for body in system.bodies if not body.helper and not body.has_orientation]
    general = [f"{system.label(b)}.q[{i}]" for b in bodies if not b.has_position and not hasattr(b, "joint_states")
               for i in range(b.n_q)]
    return joints or general or [f"{system.label(b)}.position[{i}]" for b in bodies if b.has_position
                                 for i in range(b.n_q)]


def _default(solution, times):
    curves = [curve for name in _candidates(solution.system) for curve in _curves(solution, name, times)]
    still = 1e-9 * max([np.abs(x).max() for _, x, *_ in curves], default=0.0)
    curves = [curve for curve in curves if np.ptp(curve[1]) > still] or curves
    if not curves:
        raise InputError("no coordinates to draw: name some, as 'BODY.position[0]'")
    return curves


def _curves(solution, name, times):
    """(name, coordinate, rate, unit) of what a name stands for."""
    system, found = solution.system, COMPONENT.fullmatch(name) if isinstance(name, str) else None
    if found:
        body, quantity, i = system.find(found[1]), found[2], int(found[3])
        x = solution.position(body, times) if quantity == "position" else solution.coordinates(body, times)
        rate = solution.velocity(body, times) if quantity == "position" or body.has_position else \
            solution.rates(times)[..., system.coordinates(body)]
        if i >= x.shape[-1]:
            raise InputError(f"{name!r}: {found[1]} has {x.shape[-1]} components, counted from 0")
        return [(name, x[:, i], rate[:, i], "m" if quantity == "position" else "")]
    joint, coordinate = name, None
    if isinstance(name, str) and "." in name and name not in _candidates(system):
        joint, _, coordinate = name.rpartition(".")
    motion = joint_motion(solution, joint)
    if not motion.coordinates:
        raise InputError(f"{motion.name} has no coordinates; draw 'BODY.position[0]' instead")
    if coordinate is not None and coordinate not in motion.coordinates:
        raise InputError(f"{motion.name} has no coordinate {coordinate!r}, but {', '.join(motion.coordinates)}")
    asked = motion.coordinates if coordinate is None else (coordinate,)
    units = {c.name: c.unit for c in motion.joint.coordinates}
    return [(motion.name if len(motion.coordinates) == 1 else f"{motion.name}.{c}", motion.coordinate(times, c),
             motion.rate(times, c), units[c]) for c in asked]
