"""Systems given by formulas of energies and constraints in generalized coordinates: in CasADi, text, or SymPy."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any, TypedDict

import casadi as ca

from ... import validate
from ...errors import InputError, MissingBackend, refuse_unknown
from ...types import UserFunction, Vector
from ..formulas.formula import Same, call, check_symbols, with_time
from ..formulas.stored import StoredFormula
from ..formulas.text import as_formula
from ..part import Part
from ..system import System
from .generalized_body import GeneralizedBody

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..part import Body


class GeneralizedPotential(Part):
    """Potential V(q, t) of a `GeneralizedBody`, by a formula with the parameters of the body."""

    def __init__(self, body, potential, name=None):
        if body.has_position:
            raise InputError(f"GeneralizedPotential: body must be a GeneralizedBody, not {body!r}")
        self.bodies, self.name = (body,), name
        q, _, t, c, _ = body._symbols()
        title = "GeneralizedSystem: potential"
        potential = as_formula(title, potential, ("q", "c", "t"))
        value = call(title, potential, 1, *with_time(potential, q, c, t))
        check_symbols(title, value, q, c, t)
        self._potential = ca.Function("potential", [q, t, c], [value])
        self._formula = Same(potential, partial(getattr, self, "_potential"))

    @property
    def kind(self):
        return "generalized potential", self._formula, self.bodies[0].kind

    def description(self):
        """Plain data from which `from_description` makes the same part."""
        q, _, t, c, _ = self.bodies[0]._symbols()
        function = ca.Function("potential", [q, c, t], [self._potential(q, t, c)])
        return {"potential": StoredFormula.of("GeneralizedSystem: potential", function).data(), "name": self.name}

    @classmethod
    def from_description(cls, bodies, own):
        """The part of plain data, and its body."""
        return cls(bodies[0], StoredFormula(**own["potential"]), own["name"])

    def energy(self, s):
        return self._potential(s.q[0], s.t, s.bodies[0][:len(self.bodies[0].formula_parameters)])


class OfBody(TypedDict, total=False):
    """Types of further arguments of a `GeneralizedBody`, for what hands them on."""

    constraints: UserFunction | str | Sequence[str] | None
    parameters: Vector
    names: Sequence[str] | None
    mass_scale: Vector | None
    regularize: bool | float
    name: str | None


class GeneralizedSystem(System):
    """A mechanical system given by its energies and constraints in `n` generalized coordinates.

    `H = 1/2 p.M(q)^-1 p + V(q, t)` with `p = M v`, and constraints `Phi(q, t) = 0` (index 2, GGL, as for bodies).
    The mass matrix may depend on q (then n is at most 12; to compile a full one takes about a second for n = 8, and ten
    for n = 12). It must be positive definite, or at least on motions that the constraints allow: then EML and its
    reductions take it, and other elements with `regularize`. There are no positions and
    momenta in space: a solution has `coordinates`, `velocity`, `energy` and `constraints`.

    Parameters
    ----------
    n : int
        Number of coordinates.
    kinetic : callable or str
        `kinetic(q, v, c)` -> T [J], quadratic in v, in CasADi symbols: q and v of shape (n,), parameters c of shape
        (n_parameters,). As text `"c[0] * v[0]**2 / 2"`.
    potential : callable or str, optional
        `potential(q, c)` or `potential(q, c, t)` -> V [J].
    constraints : callable, str or list of str, optional
        `constraints(q, c)` or `constraints(q, c, t)` -> expressions (list or vector) that are zero.
    parameters : array_like, shape (n_parameters,)
        Numbers that enter the formulas. Systems whose functions state the same share compiled kernels.
    names : sequence of str, optional
        One per constraint, for messages.
    mass_scale : array_like, shape (n,), optional
        Size of the mass matrix per coordinate, for the scaling of linear systems. Default: diagonal entries of M that
        do not depend on q, and 1 for the others.
    regularize : bool or float
        Redundant coordinates can have a singular M, although the constraints leave no motion without mass. Then
        `w/2 |dPhi/dt|^2` is added to T, with M + w G^T G, G = dPhi/dq, in place of M (as J0 does for quaternions).
        The term and its gradient vanish where dPhi/dt = 0, so that the motion, the momenta p = M v and the
        multipliers stay exactly as they are. A number is the weight w; True takes the largest constant diagonal
        entry of M, or 1. For constraints that do not depend on the time.
    name : str, optional
        Of its only body.

    Raises
    ------
    InputError
        For wrong numbers; for functions that fail, return something else or contain foreign symbols; for a kinetic
        energy that is not quadratic in v; for a motion without mass that no constraint rules out. At the initial state:
        when the mass matrix is singular there, or the constraints are dependent.

    Examples
    --------
    >>> import casadi, timefem as tf
    >>> pendulum = tf.GeneralizedSystem(1, lambda q, v, c: c[0] * c[1]**2 * v[0]**2 / 2,
    ...                                 lambda q, c: -9.81 * c[0] * c[1] * casadi.cos(q[0]), parameters=[2.0, 0.5])
    >>> problem = tf.InitialValueProblem(pendulum, tf.Coordinates(q=[1.0], v=[0.0]), (0, 1))
    """

    def __init__(self, n: int, kinetic: UserFunction | str, potential: UserFunction | str | None = None, *of_body: Any,
                 **more_of_body: Unpack[OfBody]) -> None:
        refuse_unknown("GeneralizedSystem()", more_of_body, ["kinetic", "potential", *OfBody.__annotations__])
        body = GeneralizedBody(n, kinetic, *of_body, **more_of_body)
        super().__init__([body] + ([] if potential is None else [GeneralizedPotential(body, potential)]))

    def find(self, body: Body | str | None = None) -> Body:
        """The only body, also for None."""
        return self.bodies[0] if body is None else super().find(body)


# ---- from SymPy models (`sympy.physics.mechanics`): expressions are rewritten in CasADi

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
