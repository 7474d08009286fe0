"""Where formulas switch: functions of state and time that comparisons, `fmax`, `fabs`, `sign` in them tell."""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ...kernels.operations import operation_names

# by operation of CasADi: what of its operands vanishes where it is not smooth
ROUNDED = dict.fromkeys(("FLOOR", "CEIL"), lambda x: ca.sin(np.pi * x))
SWITCHES = {**dict.fromkeys(("FMAX", "FMIN", "LT", "LE"), lambda x, y: x - y),
            **dict.fromkeys(("FABS", "SIGN"), lambda x: x), **ROUNDED}


class Switches(NamedTuple):
    switching: ca.Function | None  # of (state, t, parameters)
    of_time: ca.Function | None  # of (t, parameters), what depends on the time alone
    in_time: ca.Function | None = None
    linear: ca.Function | None = None  # of parameters: what is linear `in_time` at time zero, and its slopes


def switches_in(function, timed, switches=SWITCHES):
    """The `Switches` of one kind, by following the instructions of its formula."""
    names = operation_names()
    operations = [names.get(i) for i in map(function.instruction_id, range(function.n_instructions()))]
    if not timed and switches.keys().isdisjoint(operations):
        return Switches(None, None)
    arguments = [ca.SX.sym("x", function.size1_in(i)) for i in range(function.n_in())]
    state, t, parameters = arguments
    memory, found, of_time = {}, {}, {}  # by slot: symbol, number of the value, whether it sees the state and the time
    numbers = {}
    for k, name in enumerate(operations):
        inputs, outputs = function.instruction_input(k), function.instruction_output(k)
        if name == "OUTPUT":
            of_time |= _of_time_alone([memory[inputs[0]]])
            continue
        if name == "INPUT":
            value, key = arguments[inputs[0]][inputs[1]], tuple(inputs)
            sees = inputs[0] == 0, inputs[0] == 1
        elif name == "CONST":
            value, key, sees = ca.SX(function.instruction_constant(k)), function.instruction_constant(k), (False, False)
        else:
            given, operation = [memory[i] for i in inputs], function.instruction_id(k)
            values, key = [value for value, *_ in given], tuple(number for _, number, _ in given)
            sees = tuple(any(own[j] for *_, own in given) for j in range(2))
            value = ca.SX.unary(operation, *values) if len(values) == 1 else ca.SX.binary(operation, *values)
            if any(sees) and name in switches:
                found.setdefault(frozenset(key), switches[name](*values))
            if sees[0]:
                of_time |= _of_time_alone(given)
        memory[outputs[0]] = value, numbers.setdefault((name, key), len(numbers)), sees
    moving = [value for value in found.values() if ca.depends_on(value, state)]
    switching = ca.Function("switching", arguments, [ca.densify(ca.vertcat(*moving))]) if moving else None
    in_time = [value for value in found.values() if not ca.depends_on(value, state)]
    return Switches(switching, *(ca.Function("of_time", [t, parameters], [ca.densify(ca.vertcat(*values))])
                                   if values else None for values in (of_time.values(), in_time)),
                    _linear(in_time, t, parameters) if in_time else None)


def _of_time_alone(given):
    return {number: value for value, number, sees in given if sees == (False, True)}


def _linear(values, t, parameters):
    slopes = [ca.jacobian(value, t) for value in values]
    linear = [(ca.substitute(value, t, 0), slope) for value, slope in zip(values, slopes, strict=True)
              if not ca.depends_on(slope, t)]
    return ca.Function("linear", [parameters], [ca.densify(ca.vertcat(*x)) for x in zip(*linear, strict=True)]) \
        if linear else None


def linear_zeros(switches, rows):
    """Zeros of what `Switches` compare in time that are linear in it, list of float.

    Parameters
    ----------
    switches : Switches
    rows : array_like, shape (n, n_parameters)
        Parameters, of all of which the zeros are wanted.
    """
    found = []
    for parameters in rows if switches.linear is not None else ():
        first, slope = (np.array(x).ravel() for x in switches.linear(parameters))
        found += (-first[slope != 0] / slope[slope != 0]).tolist()
    return found
