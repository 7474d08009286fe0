"""Systems given by formulas: kinetic energy, potential and constraints in generalized coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import casadi as ca

from ...errors import InputError, refuse_unknown
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
