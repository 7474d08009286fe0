"""From SymPy models (`sympy.physics.mechanics`) to systems by formulas: expressions are rewritten in CasADi."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any

import casadi as ca

from ... import validate
from ...errors import InputError, MissingBackend
from ..bodies.generalized_system import GeneralizedSystem

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..bodies.generalized_system import OfBody

# SymPy class -> CasADi function, where the names differ; the same names stand for themselves
SAME = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
        "log", "sign", "erf", "floor")
OTHER = {"Abs": "fabs", "ceiling": "ceil", "Max": "fmax", "Min": "fmin"}
FUNCTIONS = {name: name for name in SAME} | OTHER


def from_sympy(coordinates: Sequence[Any], speeds: Sequence[Any], kinetic: Any, potential: Any = 0,
               constraints: Sequence[Any] = (), parameters: Mapping[Any, float] | None = None,
               **options: Unpack[OfBody]) -> GeneralizedSystem:
    """A `GeneralizedSystem` of SymPy expressions.

    Energies of SymPy's own bodies serve as they are: `kinetic_energy(frame, *bodies)`, `potential_energy(*bodies)` of
    `sympy.physics.mechanics`, and the `hol_coneqs` of a `LagrangesMethod`.

    Parameters
    ----------
    coordinates : sequence of n SymPy functions of time
        `dynamicsymbols`.
    speeds : sequence of n SymPy expressions, optional
        Names of the velocities: `qdot_i`, in the order of the coordinates. `dynamicsymbols` of other names stand for
        the derivatives (generalized speeds that are combinations of these do not). None: the derivatives themselves,
        which are known in any case.
    kinetic, potential : SymPy expression
        [J]; the kinetic energy is quadratic in the velocities. The potential may contain the time.
    constraints : sequence of SymPy expressions or equations
        Zero, in coordinates and time.
    parameters : dict from symbol to float
        All other symbols.
    **options
        For `GeneralizedSystem`: names, mass_scale, regularize, name.

    Returns
    -------
    GeneralizedSystem
        Systems of equal expressions share compiled kernels, whatever the parameters.

    Raises
    ------
    MissingBackend
        When SymPy is not installed.
    InputError
        For symbols that are neither coordinates, velocities nor parameters, and functions without a counterpart in
        CasADi, both named.

    Examples
    --------
    >>> import sympy, timefem as tf
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> (m, k), x = sympy.symbols("m k"), dynamicsymbols("x")
    >>> oscillator = tf.from_sympy([x], None, m * x.diff()**2 / 2, k * x**2 / 2, parameters={m: 2.0, k: 3.0})
    """
    sympy = _sympy()
    from sympy.physics.mechanics import dynamicsymbols

    coordinates = _sequence("coordinates", coordinates)
    for q in coordinates:
        if not isinstance(q, sympy.core.function.AppliedUndef) or q.args != (dynamicsymbols._t,):
            raise InputError(f"from_sympy: coordinates must be dynamicsymbols (functions of the time), not {q!r}")
    if len(set(coordinates)) < len(coordinates):
        raise InputError(f"from_sympy: coordinates must differ, not {coordinates}")
    speeds = [q.diff() for q in coordinates] if speeds is None else _sequence("speeds", speeds)
    if len(speeds) != len(coordinates):
        raise InputError(f"from_sympy: {len(coordinates)} coordinates need as many speeds, not {len(speeds)}")
    if not isinstance(parameters, dict | None):
        raise InputError(f"from_sympy: parameters must be a dict from symbol to number, not {parameters!r}")
    for symbol in parameters or ():
        if not isinstance(symbol, sympy.Symbol):
            raise InputError(f"from_sympy: parameters must be a dict from symbol to number, not from {symbol!r}")
    parameters = {s: validate.real(f"from_sympy: parameter {s}", v)
                  for s, v in (parameters or {}).items()}
    formulas = (_expression("kinetic", kinetic), _expression("potential", potential),
                *(_expression("constraints", c) for c in _sequence("constraints", constraints)))
    functions = _functions(tuple(coordinates), tuple(speeds), tuple(parameters), *formulas)
    return GeneralizedSystem(len(coordinates), *functions, parameters=list(parameters.values()), **options)


@lru_cache(maxsize=256)
def _functions(coordinates, speeds, parameters, kinetic, potential, *constraints):
    """Functions for `GeneralizedSystem`: the very same ones for equal expressions, which so share kernels."""
    from sympy.physics.mechanics import dynamicsymbols

    def table(q, v=None, c=(), t=None):
        known = dict(zip(coordinates, _parts(q), strict=True)) | dict(zip(parameters, _parts(c), strict=True))
        if v is not None:
            known |= dict(zip([x.diff() for x in coordinates], _parts(v), strict=True))
            known |= dict(zip(speeds, _parts(v), strict=True))
        return known if t is None else known | {dynamicsymbols._t: t}

    def kinetic_function(q, v, c):
        return _translate("kinetic", kinetic, table(q, v, c))

    def potential_function(q, c, t):
        return _translate("potential", potential, table(q, None, c, t))

    def constraint_functions(q, c, t):
        known = table(q, None, c, t)
        return [_translate("constraints", x, known) for x in constraints]

    functions = kinetic_function, potential_function, constraint_functions
    _check(functions, len(coordinates), len(parameters))
    return (kinetic_function, None if potential == 0 else potential_function,
            constraint_functions if constraints else None)


def _check(functions, n, n_parameters):
    """Translate once, so that errors come as they are and not wrapped by `GeneralizedSystem`."""
    q, v, c, t = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("c", n_parameters), ca.SX.sym("t")
    for function, arguments in zip(functions, ((q, v, c), (q, c, t), (q, c, t)), strict=True):
        function(*arguments)


def _translate(title, expression, known):
    """A SymPy expression in CasADi symbols; `known` holds what each symbol stands for, and all that was translated."""
    from sympy.core.function import AppliedUndef

    if expression in known:
        return known[expression]
    kind = type(expression).__name__
    if expression.is_Symbol or expression.is_Derivative or isinstance(expression, AppliedUndef):
        raise InputError(f"from_sympy: {title} contains {expression}, which is none of its coordinates, velocities and "
                         f"parameters")
    if expression.is_Number or expression.is_NumberSymbol:
        if not expression.is_finite:
            raise InputError(f"from_sympy: {title} contains {expression}; all numbers must be finite")
        return ca.SX(float(expression))
    if not (expression.is_Add or expression.is_Mul or expression.is_Pow or kind in FUNCTIONS):
        raise InputError(f"from_sympy: {title} contains {kind}, which has no counterpart in CasADi; known are "
                         f"{', '.join(sorted(FUNCTIONS))}")
    arguments = [_translate(title, a, known) for a in expression.args]
    if expression.is_Add:
        value = reduce(operator.add, arguments)
    elif expression.is_Mul:
        value = reduce(operator.mul, arguments)
    elif expression.is_Pow:
        value = _power(expression.exp, *arguments)
    elif kind in ("Max", "Min"):
        value = reduce(getattr(ca, FUNCTIONS[kind]), arguments)
    else:
        value = getattr(ca, FUNCTIONS[kind])(*arguments)
    known[expression] = value
    return value


def _power(exponent, base, power):
    """`base**power`; square roots and inverses as such, which keeps derivatives short and defined."""
    if exponent.is_Rational and exponent.q == 2:
        root = ca.sqrt(base)
        return root if exponent.p == 1 else 1 / root if exponent.p == -1 else root ** int(exponent.p)
    if exponent.is_Integer:
        return base ** int(exponent) if exponent > 0 else 1 / base ** -int(exponent)
    return base ** power


def _parts(vector):
    return ca.vertsplit(vector) if vector.numel() else []


def _expression(title, value):
    """One scalar SymPy expression; an equation becomes the difference of its sides."""
    sympy = _sympy()
    try:
        value = sympy.sympify(value)
    except (sympy.SympifyError, TypeError):
        raise InputError(f"from_sympy: {title} must be a SymPy expression, not {value!r}") from None
    if isinstance(value, sympy.Equality):
        value = value.lhs - value.rhs
    if not isinstance(value, sympy.Expr) or getattr(value, "is_Matrix", False):
        raise InputError(f"from_sympy: {title} must be a scalar SymPy expression, not {value!r}")
    return value.doit()


def _sequence(title, values):
    """A list of SymPy expressions, from a list, a tuple or a matrix with one row or column."""
    if not isinstance(values, list | tuple) and not hasattr(values, "tolist"):
        raise InputError(f"from_sympy: {title} must be a list of SymPy expressions, not {values!r}")
    values = list(values)
    if not values and title != "constraints":
        raise InputError(f"from_sympy: {title} must not be empty")
    return values


def _sympy():
    try:
        import sympy
        import sympy.physics.mechanics
    except ImportError:
        raise MissingBackend("from_sympy needs sympy, which is not installed: "
                             "python -m pip install 'timefem[sympy]'") from None
    return sympy
