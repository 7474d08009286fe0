"""Derivatives by differences, of what users give as Python functions."""

from itertools import pairwise

import numpy as np

from ..errors import InputError

LEVELS = 5  # of Richardson extrapolation
FIRST_STEP = 0.02  # relative


def differentiated(f, at, levels=LEVELS, first_step=FIRST_STEP):
    """Derivative of a smooth function of one number by central differences, extrapolated; one-sided ones where the
    function refuses (`InputError`) the other side. One level does for what is affine."""
    steps = first_step * (abs(at) or 1.0) * 0.5 ** np.arange(levels)
    failure = None
    for sides, power in (((1, -1), 2), ((1, 0), 1), ((-1, 0), 1)):
        try:
            table = [(f(at + sides[0] * h) - f(at + sides[1] * h)) / ((sides[0] - sides[1]) * h) for h in steps]
        except InputError as error:
            failure = failure or error
            continue
        for level in range(1, levels):
            factor = 2.0 ** (power * level)
            table = [(factor * b - a) / (factor - 1) for a, b in pairwise(table)]
        return table[0]
    raise failure
