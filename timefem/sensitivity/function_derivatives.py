"""The functions of time among the arguments of a part, and how their numbers change with their attributes."""

from dataclasses import replace
from itertools import takewhile

import numpy as np
import scipy

from ..mechanics.functions.elementary import Constant, Ramp, Sine, Step, TrianglePulse
from ..mechanics.functions.formula import Formula
from ..mechanics.functions.table import Table
from ..mechanics.functions.trajectories import Polynomial, Spline, Transfer

LEAVES = {Constant: ("value",), Step: ("t0", "value"), Sine: ("amplitude", "frequency", "phase", "offset"),
          TrianglePulse: ("t0", "t_peak", "t1", "peak"), Ramp: ("t0", "t1", "v0", "v1"), Table: ("values",),
          Formula: (), Transfer: ("t0", "t1", "v0", "v1"), Spline: ("values",), Polynomial: ("coefficients",)}
ARRAYS = "values", "coefficients"  # in which the parameters are linear


def functions_of(part, name):
    """The functions of time of an argument, and where the numbers of each one start in `own_parameters`."""
    field = part.fields.get(name)
    if field is None or not field.is_function or getattr(part, name) is None:
        return (), []
    functions = field.functions(getattr(part, name))
    return functions, (place_of(part, name) + np.cumsum([0, *(len(f.parameters) for f in functions)])).tolist()


def place_of(part, name):
    """Where the numbers of an argument start in `own_parameters`."""
    return sum(np.size(value) for _, value in takewhile(lambda item: item[0] != name, part.numbers().items()))


def has_functions(part, name):
    """Whether an argument of a part is a function of time, or several."""
    return bool(functions_of(part, name)[0])


def function_names(part):
    """What may be varied of the functions of time of a part, such as "time.amplitude"."""
    names = []
    for name in part.fields:
        functions, _ = functions_of(part, name)
        for i, function in enumerate(functions):
            root = f"{name}[{i}]" if len(functions) > 1 else name
            leaves = LEAVES.get(type(function), ())
            names += [root] if isinstance(function, Constant) else [f"{root}.{leaf}" for leaf in leaves]
    return names


def derivative_of_leaf(function, leaf):
    """Derivative of the parameters of a function of time by one of its attributes."""
    if leaf in ARRAYS and not isinstance(function, Table):
        n = len(getattr(function, leaf))
        rows = [replace(function, **{leaf: x}).parameters for x in (np.zeros(n), *np.eye(n))]
        return (np.array(rows[1:]) - rows[0]).T
    if leaf not in ARRAYS:
        return np.eye(len(function.parameters))[:, [LEAVES[type(function)].index(leaf)]]
    times, n = np.array(function.times), len(function.times)
    head = scipy.sparse.vstack([scipy.sparse.csr_array(np.eye(1, n)), scipy.sparse.csr_array((n, n))])
    if function.kind == "linear":
        slopes = scipy.sparse.diags_array([-1 / np.diff(times), 1 / np.diff(times)], offsets=[0, 1], shape=(n - 1, n))
        return scipy.sparse.vstack([head, slopes], format="csc")

    c = scipy.interpolate.CubicSpline(times, np.eye(n)).c[2::-1]  # (power, interval, entry)
    return scipy.sparse.vstack([head, scipy.sparse.csr_array(c.transpose(1, 0, 2).reshape(-1, n))], format="csc")
