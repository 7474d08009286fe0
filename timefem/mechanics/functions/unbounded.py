"""Loads and prescribed motions that grow without bound at a time, so that no integral of them exists."""

import numpy as np

from ...errors import InputError
from ..values.point_functions import evaluate
from ..values.quantities import formulas_of

N_TIMES = 512  # at which each part is looked at first
OUTSTANDING = 20.0  # times the median, of values that are looked at closer
MOST = 4  # largest values that are looked at
NEAR, FAR = 1e-9, 1e-5  # distances, as parts of the time span, between which the growth is measured
POWER = 0.8  # of 1/distance, from which on it is taken for 1: integrals are finite below 1


def check_integrable(system, t_span, z):
    """Refuse parts whose force or constraint grows like 1/|t - t*| or faster within a time span, at the state z.

    Quadrature never meets t*, and gives a finite number that depends on the mesh.

    Raises
    ------
    InputError
        Names the part, the time, and the power.
    """
    start, end = t_span
    t = start + (end - start) * (np.arange(N_TIMES) + 0.5) / N_TIMES
    for group in system.groups:
        formulas = formulas_of(group.part)
        if not formulas.depends_on_time:
            continue
        function, index = formulas.whole("sizes"), group.state_index
        local = z[index]
        if formulas.solved:
            local = np.hstack([local, system.velocity(start, z)[index[:, :index.shape[1] // 2]]])

        def values(t, parts, group=group, function=function, local=local):
            with np.errstate(over="ignore"):
                return evaluate(function, np.tile(local[parts], (len(t), 1, 1)), t, group.parameters[parts])[..., 0]

        first = values(t, slice(None))
        for i, part in enumerate(group.members):
            for place in _outstanding(first[:, i]):
                time, power = _growth(lambda t, i=i: values(t, [i])[:, 0], t_span, t[place])
                if power >= POWER:
                    raise InputError(f"{system.label(part)} grows without bound at t = {time:.6g}, like "
                                     f"1/|t - {time:.6g}|^{power:.2g}: it has no integral; bound it, or let the time "
                                     "span end before")


def _outstanding(values):
    """Places of the largest values, those that are not finite first."""
    finite = np.isfinite(values)
    if not finite.any():
        return []
    size = np.where(finite, values, np.inf)
    inside = np.concatenate([[0.0], size, [0.0]])
    peaks = np.flatnonzero((size >= inside[:-2]) & (size >= inside[2:]) & (size > OUTSTANDING * np.median(size)))
    return peaks[np.argsort(-size[peaks], kind="stable")][:MOST]


def _growth(function, t_span, t):
    """Place of the largest value around a time, and the power of 1/distance with which values grow there."""
    start, end = t_span
    step = (end - start) / N_TIMES
    near = max(NEAR * (end - start), 1e5 * np.spacing(max(abs(start), abs(end))))
    while step > 1e-4 * near:
        times = np.clip(t + step * np.linspace(-1, 1, 33), start, end)
        values = function(times)
        t, step = times[np.argmax(np.where(np.isfinite(values), values, np.inf))], step / 8
    sizes = []
    for distance in (near, near * FAR / NEAR):
        times = t + distance * np.array([-1.0, 1.0])
        values = function(times[(times >= start) & (times <= end)])
        sizes.append(values[np.isfinite(values)].max(initial=0.0))
    return t, np.log(sizes[0] / sizes[1]) / np.log(FAR / NEAR) if min(sizes) > 0 else 0.0
