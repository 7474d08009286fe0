"""Bodies with coordinates and a kinetic energy of the user, whose mass matrix is factored in symbols."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError
from ...types import Expression, Floats, UserFunction, Vector
from ..declared import Numbers
from ..formulas.formula import Same, call, call_vector, check_symbols, checked_names, idle_rows, with_time
from ..formulas.stored import StoredFormula
from ..formulas.text import as_formula
from ..numbers.arguments import is_symbolic, joined
from ..part import Body
from .states import CanonicalState, Coordinates

if TYPE_CHECKING:
    from ..symbols import Symbols


def solved_energy(mass, p, order):
    """`1/2 p.M^-1 p = 1/2 |D^-1/2 L^-1 p|^2` with `M = L D L^T`, SX scalar; zeros of M that elimination keeps stay.

    Parameters
    ----------
    mass : SX, shape (n, n)
        M, positive definite, so that no pivots are needed; symmetric, whole.
    p : SX, shape (n,)
    order : iterable of int
        Columns in the order in which they are eliminated.
    """
    m, y, energy, order = ca.SX(mass), ca.vertsplit(p), 0, list(order)
    for k, j in enumerate(order):
        energy += y[j] ** 2 / m[j, j] / 2
        left = sorted(i for i in order[k + 1:] if not m[i, j].is_zero())
        for i in left:
            factor = m[i, j] / m[j, j]
            y[i] -= factor * y[j]
            for l in left:
                if l <= i:
                    m[i, l] -= factor * m[l, j]
                    m[l, i] = m[i, l]
    return energy


# ---- A place that no coincidence singles out: what formulas are there, such as singular, they are everywhere

def general_position(*shape: int) -> np.ndarray:
    """Numbers from 0.1 to 1, of which no polynomial with rational coefficients takes the sines and cosines to zero.

    Roots of primes, taken between 0 and 1, are linearly independent over the rationals, also of 1. By the theorem of
    Lindemann and Weierstrass their exponentials are then algebraically independent. The determinant of a mass matrix is
    such a polynomial in the sines and cosines of joints' angles: where it vanishes here, it vanishes everywhere.
    """
    n = int(np.prod(shape))
    roots = np.sqrt(_primes(n))
    return (0.1 + 0.9 * (roots - np.floor(roots))).reshape(shape)  # away from zero, where users like to put things


def _primes(n):
    """The first ones, by the sieve of Eratosthenes."""
    most = int(n * (np.log(n + 2) + np.log(np.log(n + 3)))) + 12  # above the n-th one (Rosser)
    prime = np.ones(most, bool)
    prime[:2] = False
    for i in range(2, int(most**0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return np.flatnonzero(prime)[:n]


LARGEST = 12  # coordinates, for a mass matrix that varies: the derivatives of its inverse are compiled, in 1 s for 8
ALTERNATIVES = ("its inverse is needed. Choose coordinates that leave no direction without mass, or constraints, "
                "independent of the time, that rule such directions out: EML() then takes it as it is, and other "
                "elements with regularize=True")


class GeneralizedBody(Body):
    """What moves in a `GeneralizedSystem`: `n` coordinates with `T = 1/2 v.M(q) v`, and constraints.

    In Hamiltonian form `p = M v` and `T = 1/2 p.M^-1 p`. A constant M is inverted in numbers, which enter as
    parameters; one that depends on q is factored in symbols, L D L^T, which keeps its zeros. It can stand in a
    `System` next to other bodies; `Constraint` joins them. Parameters and errors: see `GeneralizedSystem`.

    Attributes
    ----------
    constant_mass : bool
        Whether M does not depend on q.
    has_inverse_mass : bool
        False for a singular M without `regularize`: for elements with velocities of their own, such as EML. Momenta at
        given times still yield velocities, by the regularised M.
    mass_scale : ndarray, shape (n,)
        Size of the mass matrix per coordinate, for scaling.
    """

    formula_parameters = Numbers("c of the formulas", argument="parameters")

    def __init__(self, n: int, kinetic: UserFunction | str,
                 constraints: UserFunction | str | Sequence[str] | None = None, parameters: Vector = (),
                 names: Sequence[str] | None = None, mass_scale: Vector | None = None,
                 regularize: bool | float = False, name: str | None = None) -> None:
        self.name = name
        kinetic = as_formula(f"{self._title}: kinetic", kinetic, ("q", "v", "c"))
        if constraints is not None:
            constraints = as_formula(f"{self._title}: constraints", constraints, ("q", "c", "t"))
        self._arguments = kinetic, constraints, names, mass_scale, regularize
        self.n_q = validate.integer(f"{self._title}: n", n, minimum=1)
        self.formula_parameters = validate.array(f"{self._title}: parameters", parameters, (None,))
        self._complete()

    def _complete(self):
        kinetic, constraints, names, mass_scale, regularize = self._arguments
        q, v, t, c, w = self._symbols()
        phi = self._constraints(constraints, q, c, t)
        self._phi = ca.Function("constraints", [q, t, c], [phi, ca.jacobian(phi, q)])
        self._formulas = tuple(Same(given, partial(getattr, self, name))
                               for given, name in ((kinetic, "_kinetic"), (constraints, "_phi")))
        self.constraint_names = checked_names(self._title, names, phi.numel())
        mass = self._mass_of(kinetic, q, v, c)
        diagonal = self._constant_diagonal(mass, q, c)
        self.has_inverse_mass = regularize is not False or not self._always_singular(mass, q, c)
        if not self.has_inverse_mass and phi.numel() and not ca.depends_on(phi, t):
            regularize = True
        self._set_weight(regularize, self._diagonal_formula(mass, q, c), phi, t)
        weight = self._weight_of(self.formula_parameters)
        if self.regularized:
            gradient = ca.jacobian(phi, q)
            mass += w * gradient.T @ gradient
            diagonal = self._constant_diagonal(mass, q, ca.vertcat(c, w), [*self.formula_parameters, weight])
        self._mass = ca.Function("mass", [q, ca.vertcat(c, w)], [mass])
        self.own_parameters = np.array([*self.formula_parameters, weight])
        self.mass_scale = np.where(diagonal > 0, diagonal, 1.0)
        if mass_scale is not None:
            self.mass_scale = validate.array(f"{self._title}: mass_scale", mass_scale, (self.n_q,))
            if np.any(self.mass_scale <= 0):
                raise InputError(f"{self._title}: mass_scale must be positive")
        self._prepare_inverse(mass, q)

    @property
    def _title(self):
        return "GeneralizedSystem" + (f" {self.name!r}" if self.name else "")

    def __repr__(self):
        name = f", name={self.name!r}" if self.name else ""
        return f"GeneralizedBody(n={self.n_q}, {len(self.constraint_names)} constraints{name})"

    # ---- reading the formulas

    def _symbols(self):
        n = self.n_q
        return (ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("t"), ca.SX.sym("c", len(self.formula_parameters)),
                ca.SX.sym("w"))

    def _constraints(self, constraints, q, c, t):
        if constraints is None:
            return ca.SX(0, 1)
        title = f"{self._title}: constraints"
        phi = call_vector(title, constraints, *with_time(constraints, q, c, t))
        check_symbols(title, phi, q, c, t)
        idle = idle_rows(ca.jacobian(phi, q))
        if idle:
            raise InputError(f"{title}: number {idle[0] + 1} does not depend on the coordinates; remove it")
        return phi

    def _mass_of(self, kinetic, q, v, c):
        """M(q) of a kinetic energy that is checked to be 1/2 v.M v."""
        title = f"{self._title}: kinetic"
        energy = call(title, kinetic, 1, q, v, c)
        check_symbols(title, energy, q, v, c)
        mass, gradient = ca.hessian(energy, v)
        if ca.depends_on(mass, v):
            raise InputError(f"{title} must be quadratic in the velocities v, but its second derivatives depend on v")
        at_rest = [ca.simplify(ca.substitute(x, v, ca.SX.zeros(self.n_q))) for x in (energy, gradient)]
        for what, value, remedy in zip(("part without v", "linear part"), at_rest,
                                       ("add it to the potential with the opposite sign",
                                        "such gyroscopic terms are not supported"), strict=True):
            if not value.is_zero():
                raise InputError(f"{title} must be quadratic in the velocities v, but has a {what}; {remedy}")
        self._kinetic = ca.Function("kinetic", [q, v, c], [energy])
        mass = ca.sparsify(mass)
        missing = np.flatnonzero(~np.array(ca.DM(mass.sparsity(), 1)).any(axis=1))
        self._massless = [f"q[{i}]" for i in missing]
        return mass

    def _always_singular(self, mass, q, c):
        """Whether M is singular, for one that depends on q in general position."""
        function = ca.Function("mass", [q, c], [ca.densify(mass)])
        value = np.array(function(general_position(self.n_q), self.formula_parameters))
        return np.isfinite(value).all() and abs(_smallest(value)) < 1e-12

    def _constant_diagonal(self, mass, q, c, values=None):
        """Diagonal of M, with zeros where it depends on q."""
        function = self._diagonal_formula(mass, q, c)
        return np.array(function(self.formula_parameters if values is None else values)).ravel()

    def _diagonal_formula(self, mass, q, c):
        diagonal = ca.vertcat(*(0 if ca.depends_on(m, q) else m for m in ca.vertsplit(ca.diag(mass))))
        return ca.Function("diagonal", [c], [ca.densify(ca.SX(diagonal))])

    def _weight_of(self, parameters):
        """Weight of the squared rates of the constraints in the kinetic energy; zero without them."""
        if isinstance(self._weight, float):
            return self._weight
        diagonal = ca.mmax(self._weight(parameters))
        return ca.if_else(diagonal > 0, diagonal, 1.0) if is_symbolic(diagonal) else float(diagonal) or 1.0

    def _set_weight(self, regularize, diagonal, phi, t):
        """Whether there is one, and the number, or the formula of what it is the largest of."""
        self.regularized, self._weight = regularize is not False, 0.0
        if not self.regularized:
            return
        if not phi.numel() or ca.depends_on(phi, t):
            raise InputError(f"{self._title}: regularize needs constraints that do not depend on the time")
        self._weight = diagonal if regularize is True else validate.real(f"{self._title}: regularize", regularize,
                                                                         positive=True)

    # ---- the inverse of the mass matrix

    def _prepare_inverse(self, mass, q):
        if ca.sprank(mass) < self.n_q:
            self._refuse_mass("is singular")
        self.constant_mass = not ca.depends_on(mass, q)
        if not self.constant_mass:
            if self.n_q > LARGEST:
                raise InputError(f"{self._title}: a mass matrix that depends on q is inverted in symbols, for at most "
                                 f"{LARGEST} coordinates, not {self.n_q}; split the system into several bodies")
            return
        self._checked_mass(np.zeros(self.n_q))
        # the inverse is full within each set of coordinates that M couples, and zero elsewhere
        _, order, ends = mass.sparsity().scc()
        component = np.empty(self.n_q, int)
        component[order] = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        self._pattern = np.nonzero(component[:, None] == component)
        self.own_parameters = self.declared_numbers()

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        first = len(self.formula_parameters) + 1
        if self.constant_mass:
            inverse = ca.SX(self.n_q, self.n_q)
            for k, (i, j) in enumerate(zip(*self._pattern, strict=True)):
                inverse[int(i), int(j)] = c[first + k]
            return ca.dot(p, inverse @ p) / 2
        return solved_energy(self._mass(q, c[:first]), p, range(self.n_q))

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        """The formula itself, without what `regularize` adds."""
        return self._kinetic(q, v, c[:len(self.formula_parameters)])

    @property
    def n_increments(self) -> int | None:
        return None if self.constraint_names else self.n_q

    def mass_matrix(self, q: Floats) -> np.ndarray:
        """Mass matrix, of the regularised kinetic energy where asked for, shape (..., n) -> (..., n, n)."""
        q = np.asarray(q, float)
        n, c = self.n_q, self.own_parameters[:len(self.formula_parameters) + 1]
        if not q.size:
            return np.zeros((*q.shape, n))
        points = q.reshape(-1, n)
        values = np.array(self._mass.map(len(points))(points.T, np.tile(c[:, None], len(points))))
        return values.reshape(n, -1, n).swapaxes(0, 1).reshape(*q.shape, n)

    def _checked_mass(self, q):
        """M(q) at one place, refused when it cannot be inverted."""
        where = "" if self.constant_mass else f" at q = {digits(q)}"
        mass = self.mass_matrix(q)
        if not np.all(np.isfinite(mass)):
            raise InputError(f"{self._title}: the mass matrix is not finite{where}")
        smallest = _smallest(mass)
        if smallest < 1e-12:
            self._refuse_mass(("is singular" if smallest > -1e-12 else "is not positive definite") + where)
        return mass

    def _refuse_mass(self, fault):
        which = f" ({', '.join(self._massless)} without kinetic energy)" if self._massless else ""
        if self.regularized:
            raise InputError(f"{self._title}: the mass matrix {fault} even with the rates of the constraints: some "
                             f"motion has no mass and no constraint; give it one or the other")
        raise InputError(f"{self._title}: the mass matrix {fault}{which}, and {ALTERNATIVES}")

    # ---- other numbers

    def numbers(self, c: Any) -> dict[str, Any]:
        """The parameters, the weight of the constraints in the kinetic energy, the inverse of a constant M."""
        given = c.formula_parameters
        found = {"parameters": given, "weight": self._weight_of(given)}
        if not self.constant_mass:
            return found
        mass = self._mass(np.zeros(self.n_q), joined(*found.values()))
        inverse = ca.inv(ca.densify(mass)) if is_symbolic(mass) else np.linalg.inv(np.array(mass))
        return found | {"inverse": joined(*((inverse[i, j] + inverse[j, i]) / 2
                                            for i, j in zip(*(p.tolist() for p in self._pattern), strict=True)))}

    # ---- in files

    def description(self) -> dict[str, Any]:
        """Plain data from which `from_description` makes the same body."""
        _, constraints, names, mass_scale, regularize = self._arguments
        scale = None if mass_scale is None else np.asarray(mass_scale, float).tolist()
        formulas = {"kinetic": (self._kinetic, True), "constraints": (self._ordered_constraints(), constraints)}
        return {"n": self.n_q, "parameters": self.formula_parameters.tolist(),
                "names": None if names is None else list(names), "mass_scale": scale, "regularize": regularize,
                "name": self.name,
                **{name: StoredFormula.of(f"{self._title}: {name}", f).data() if given else None
                   for name, (f, given) in formulas.items()}}

    def _ordered_constraints(self):
        q, _, t, c, _ = self._symbols()
        return ca.Function("constraints", [q, c, t], [self._phi(q, t, c)[0]])

    @classmethod
    def from_description(cls, bodies: Sequence[Body], own: Mapping[str, Any]) -> GeneralizedBody:
        """The body of plain data."""
        formulas = {name: own[name] and StoredFormula(**own[name]) for name in ("kinetic", "constraints")}
        return cls(**{**own, **formulas})

    # ---- what a body offers

    @property
    def kind(self) -> Hashable:
        return ("generalized", self.n_q, *self._formulas, len(self.formula_parameters), self.regularized)

    def constraints(self, s: Symbols) -> ca.SX:
        return self._phi(s.q[0], s.t, s.own[:len(self.formula_parameters)])[0]

    def state(self, value: Coordinates | CanonicalState, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta, two arrays of length n, of `Coordinates` or a `CanonicalState` at the time `t`.

        Raises
        ------
        InputError
            For another type or length; when the mass matrix is singular there, or the constraints are dependent.
        """
        if not isinstance(value, Coordinates | CanonicalState):
            raise InputError(f"{self._title}: the state must be given as Coordinates(q, v), not {value!r}")
        if len(value.q) != self.n_q:
            raise InputError(f"{self._title}: q must have length {self.n_q}, not {len(value.q)}")
        mass = self._checked_mass(value.q)
        if self.constraint_names:
            gradient = np.array(self._phi(value.q, t, self.formula_parameters)[1])
            # masses and units taken out: G M^-1/2, rows of unit length
            gradient = np.linalg.solve(np.linalg.cholesky(mass), gradient.T).T
            size = np.linalg.norm(gradient, axis=1, keepdims=True)
            gradient /= np.where(size > 0, size, 1.0)
            if np.linalg.matrix_rank(gradient, 1e-10) < len(gradient):
                raise InputError(f"{self._title}: the constraints are dependent at the initial state; remove those "
                                 f"that repeat others")
        return value.q, mass @ value.v if isinstance(value, Coordinates) else value.p

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Velocities `qdot = M^-1 p`, shape (..., n)."""
        return np.linalg.solve(self.mass_matrix(q), np.asarray(p, float)[..., None])[..., 0]


def _smallest(mass):
    """Smallest eigenvalue of a mass matrix, without the units of its coordinates."""
    root = np.sqrt(np.maximum(np.diag(mass), 0))
    return np.linalg.eigvalsh(mass / np.outer(*[np.where(root > 0, root, 1.0)] * 2))[0]
