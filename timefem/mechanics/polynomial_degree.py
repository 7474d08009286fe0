"""Degrees of formulas, from the operations they are made of."""

import math

import casadi as ca


def polynomial_degree(formula: ca.SX, variables: ca.SX) -> float:
    """Degree of `formula` as a polynomial of `variables`, that its operations show; inf where they are no polynomials.

    Terms that cancel count, so that it is the degree or more.
    """
    function = ca.Function("formula", [variables], [formula], {"allow_free": True})
    work, most = [0.0] * function.sz_w(), 0.0
    for k in range(function.n_instructions()):
        operation, inputs = function.instruction_id(k), function.instruction_input(k)
        if operation == ca.OP_OUTPUT:
            most = max(most, work[inputs[0]])
            continue
        given = [work[i] for i in inputs] if operation not in _LEAVES else [_LEAVES[operation]]
        work[function.instruction_output(k)[0]] = _DEGREES.get(operation, _of_others)(*given)
    return most


def _of_others(*given):
    return math.inf if any(given) else 0.0


_LEAVES = {ca.OP_INPUT: 1.0, ca.OP_CONST: 0.0, ca.OP_PARAMETER: 0.0}
_DEGREES = {ca.OP_ADD: max, ca.OP_SUB: max, ca.OP_MUL: lambda a, b: a + b, ca.OP_SQ: lambda a: 2 * a,
            ca.OP_DIV: lambda a, b: math.inf if b else a} | dict.fromkeys(
                (ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN, *_LEAVES), lambda a: a)
