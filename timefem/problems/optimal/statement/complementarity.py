"""Conditions of contact in optimal control: complementary pairs, impacts and sliding friction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any

import casadi as ca
import numpy as np

from .... import validate
from ....display import digits
from ....errors import InputError, NamedArguments
from ....mechanics.formulas.formula import call_vector, check_symbols
from ....mechanics.formulas.text import as_formula
from ....types import UserFormula
from ..options import OPTIONS

PLACES = "controls", "element-end"


class Soft(NamedArguments):
    """Limits with rows that are smoothed by a number, first by `first`, then by a tenth of that, and so on to `eps`."""

    type, formulas = "", ()  # in files, and names of its formulas
    has_size = False  # whether `eps` tells the size of its rows, which else are in the user's units

    def __init__(self, name: str, eps: float, first: float, at: str, march: bool = False) -> None:
        self.march = validate.flag(f"{name}: march", march)
        self.name, self.at = name, validate.choice(f"{name}: at", at, PLACES)
        self.eps = validate.real(f"{name}: eps", eps, positive=True)
        self.first = max(self.eps, validate.real(f"{name}: first", first, positive=True))

    @abstractmethod
    def rows(self, now: Any, u: ca.SX, eps: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Expressions that are positive or zero, and expressions, smoothed by eps, that stay within `band`."""

    @abstractmethod
    def band(self, eps: float, attempt: int = 0) -> tuple[float, float]:
        """Bounds of the smoothed expressions; `attempt` counts the tries from the first eps that failed before."""

    def stated(self, write: Any) -> dict[str, Any]:
        """Its arguments as plain data, by `write(formula)` -> text."""
        own = {name: getattr(self, name) for name in self.formulas}
        return {"type": self.type, **{name: write(x) if callable(x) else x for name, x in own.items()}, "eps": self.eps,
                "first": self.first, "name": self.name}

    def add_to(self, rows: Any) -> None:
        rows.complementary(self)

    def check(self, now: Any, symbols: Sequence[ca.SX], z0: np.ndarray | None, t0: float, numbers: np.ndarray) -> ca.SX:
        """Refuse what is not a formula of the arguments, and return the expressions."""
        values = ca.vertcat(*self.rows(now, symbols[1], ca.SX(self.eps)))
        check_symbols(self.name, values, *symbols)
        return values

    def _formula(self, word, value):
        return as_formula(f"{self.name}: {word}", value, ["now", "u"])

    def _values(self, word, formula, now, u):
        return call_vector(f"{self.name}: {word}", formula, now, u)

    def _pairs(self, now, u, first, second):
        """Expressions of two of its formulas, as many of one as of the other."""
        a, b = (self._values(word, getattr(self, word), now, u) for word in (first, second))
        if a.numel() != b.numel():
            raise InputError(f"{self.name}: {first} gives {a.numel()} expressions and {second} {b.numel()}; they make "
                             "pairs")
        return a, b


def smoothed_pairs(a: ca.SX, b: ca.SX, eps: ca.SX) -> tuple[ca.SX, ca.SX]:
    """What `Soft.rows` gives for complementary a and b."""
    return ca.SX(0, 1), a + b - ca.sqrt(a**2 + b**2 + 2 * eps)


class Complementary(Soft):
    """`a >= 0`, `b >= 0` and `a b = 0` for pairs of formulas, by `a b = eps` with eps driven to zero.

    Such as the gap to the ground and the force there, which is a control. The rows are those of Fischer and Burmeister,
    smoothed (Kanzow, SIAM J. Matrix Anal. Appl. 17 (1996)): `-eps <= a + b - sqrt(a^2 + b^2 + 2 eps) <= 0`. So forces
    act before contact, and a path of smooth problems leads to the rigid one; eps is `first`, then a tenth of that, and
    so on down to `eps`, each solve from the one before. The width of eps lets conditions at the end ask for `a = 0`.

    Parameters
    ----------
    a, b : callable, str or sequence of str
        `a(now, u)` -> expressions, or text, as in `Limit`; as many as `b`. Scaled so that a unit of a means as much as
        one of b.
    at : {"controls", "element-end"}
        At the nodes of the controls, where forces are those of contacts that give a little; or the state at the end of
        each element with the controls in it, which is for rigid contacts without rebound: a force acts where it keeps
        the gap from closing (Stewart & Trinkle, Int. J. Numer. Meth. Eng. 39 (1996); Posa, Cantu & Tedrake, Int. J.
        Robot. Res. 33 (2014)). Take `SymplecticEuler` with it, whose velocities are those after the impulses of a step;
        elements of higher degree are refused.
    eps, first : float
        Last and first product.
    march : bool
        Whether each solve starts from the motion that the other controls make with these forces, marched element by
        element: where bodies fly and bounce. Not where contacts or friction hold bodies, or push them along.
    name : str, optional
        For reports.

    Raises
    ------
    InputError
    """

    type, formulas = "complementary", ("a", "b")

    def __init__(self, a: UserFormula, b: UserFormula, *, at: str = "controls", eps: float = 1e-8,
                 first: float = 1.0, march: bool = False, name: str | None = None) -> None:
        super().__init__(name or "complementarity", eps, first, at, march)
        self.a, self.b = self._formula("a", a), self._formula("b", b)

    def rows(self, now: Any, u: ca.SX, eps: ca.SX) -> tuple[ca.SX, ca.SX]:
        return smoothed_pairs(*self.pair(now, u), eps)

    def pair(self, now: Any, u: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The expressions a and b."""
        return self._pairs(now, u, "a", "b")

    def band(self, eps: float, attempt: int = 0) -> tuple[float, float]:
        return -eps, 0.0

    def stated(self, write: Any) -> dict[str, Any]:
        return super().stated(write) | {"at": self.at, "march": self.march}


# share of the first eps below which rest is rest, and not creeping, and the width of it over eps; one after the other
# where solves fail. With 2 all friction up to the bound goes with rest, but at the bound itself it may also draw a body
# along, which from a large eps on leads to motions of no cost; 1 rules that out
RESTS = (3e-4, 2.0), (0.05, 1.0), (1.0, 1.0)


class CoulombFriction(Soft):
    """Dry friction whose force f is a control: `|f| <= bound`, and against the sliding velocity v where it slides.

    Solved is `v (bound^2 - f^2) + 2 eps f = 0`, that is `v = eps / (bound + f) - eps / (bound - f)`: sticking is
    creeping, ever slower as eps goes to zero. When eps is small, any v with this up to `2 eps bound` will do, so that
    bodies can be at rest; where that fails, up to `eps bound` from the first eps on. No slack for the sliding speed is
    needed. Several velocities and forces are as many contacts, each along a line.

    The velocity is that at the end of each element, the force that in it, so that sliding ends at rest (Posa, Cantu &
    Tedrake, Int. J. Robot. Res. 33 (2014)). Elements of degree one.

    Parameters
    ----------
    velocity, force : callable, str or sequence of str
        `velocity(now, u)` -> expressions, or text, as in `Limit`, of the sliding velocity; as many as `force`, which
        acts against it.
    bound : float, callable, str or sequence of str
        Coefficient of friction times the normal force [N]: a number, or a formula of one expression, or one each.
    eps, first : float
        Last and first product of velocity and what is left of the force to its bound [W].
    name : str, optional
        For reports.

    Raises
    ------
    InputError
    """

    type, formulas = "friction", ("velocity", "force", "bound")

    def __init__(self, velocity: UserFormula, force: UserFormula, bound: float | UserFormula, *,
                 eps: float = 1e-8, first: float = 1.0, name: str | None = None) -> None:
        super().__init__(name or "friction", eps, first, "element-end")
        self.velocity, self.force = self._formula("velocity", velocity), self._formula("force", force)
        plain = isinstance(bound, int | float | np.number)
        self.bound = validate.real(f"{self.name}: bound", bound, positive=True) if plain else \
            self._formula("bound", bound)

    def rows(self, now: Any, u: ca.SX, eps: ca.SX) -> tuple[ca.SX, ca.SX]:
        v, f = self._values("velocity", self.velocity, now, u), self._values("force", self.force, now, u)
        bound = self._values("bound", self.bound, now, u) if callable(self.bound) else ca.SX(self.bound)
        if v.numel() != f.numel() or bound.numel() not in (1, v.numel()):
            raise InputError(f"{self.name}: velocity, force and bound give {v.numel()}, {f.numel()} and "
                             f"{bound.numel()} expressions; they belong together")
        left = bound**2 - f**2
        return left, (v * left + 2 * eps * f) / ca.sqrt(bound**2 + eps)

    def band(self, eps: float, attempt: int = 0) -> tuple[float, float]:
        share, width = RESTS[attempt]
        width = width * eps if eps <= share * self.first else 0.0
        return -width, width


class SpringContact(Soft):
    """A spring that only pushes, with a damper for the rebound: `f = max(0, -k g - d dg/dt)`, where f is a control.

    `0 <= f/k` is complementary to `g + (d dg/dt + f)/k >= 0`. With a damper the force begins a little before the gap is
    closed, from zero. A body of mass m that hits it alone leaves with the share `e = exp(-pi z / sqrt(1 - z^2))` of its
    speed, `z = d / (2 sqrt(k m))`, after the time `pi / sqrt((1 - z^2) k / m)`: half a period of the oscillator. Give
    that time some ten elements, and eps: below `sqrt(2 eps)`, a length, forces are rounded. Where this is much less
    than the distance covered in a step, derivatives of what follows an impact do not see that the time of the impact
    changes, and there are many local minima.

    Parameters
    ----------
    gap, force : callable, str or sequence of str
        `gap(now, u)` and `force(now, u)` -> expressions, or text, as in `Limit`, as many of one as of the other [m, N].
    stiffness : float
        k [N/m].
    restitution : float
        e, above zero; 1 without a damper.
    mass : float, optional
        m [kg], needed where e < 1: of a body before a fixed one; of two bodies `m1 m2 / (m1 + m2)`.
    eps : float
        Last product [m^2]; the first one is a thousand times as large.
    march, name
        As in `Complementary`.

    Raises
    ------
    InputError
    """

    type, formulas, has_size = "spring_contact", ("gap", "force"), True

    def __init__(self, gap: UserFormula, force: UserFormula, stiffness: float, *, restitution: float = 1.0,
                 mass: float | None = None, eps: float = 1e-4, march: bool = True, name: str | None = None) -> None:
        super().__init__(name or "contact", eps, OPTIONS.first_over_last * eps, "controls", march)
        self.gap, self.force = self._formula("gap", gap), self._formula("force", force)
        self.stiffness = validate.real(f"{self.name}: stiffness", stiffness, positive=True)
        e = self.restitution = validate.real(f"{self.name}: restitution", restitution)
        if not 0 < e <= 1:
            raise InputError(f"{self.name}: restitution must be above 0 and at most 1, not {digits(e, 1)}; contacts "
                             'without rebound are Complementary(gap, force, at="element-end")')
        self.mass = None if mass is None else validate.real(f"{self.name}: mass", mass, positive=True)
        self.damping = 0.0
        if e < 1:
            if mass is None:
                raise InputError(f"{self.name}: restitution takes mass, of the body that bounces")
            ratio = -np.log(e) / np.hypot(np.pi, np.log(e))
            self.damping = float(2 * ratio * (self.stiffness * mass)**0.5)

    def rows(self, now: Any, u: ca.SX, eps: ca.SX) -> tuple[ca.SX, ca.SX]:
        gap, force = self._pairs(now, u, "gap", "force")
        length = self.first**0.5  # beside which rows are numbers, in any units
        force /= self.stiffness * length
        gap = (gap + self.damping / self.stiffness * self._rate(now, u)) / length
        return smoothed_pairs(gap + force, force, eps / self.first)

    def band(self, eps: float, attempt: int = 0) -> tuple[float, float]:
        share = eps / self.first
        return -(share if eps > self.eps else min(share, OPTIONS.band * share**0.5)), 0.0

    def stated(self, write: Any) -> dict[str, Any]:
        names = "stiffness", "restitution", "mass", "march"
        own = super().stated(write) | {name: getattr(self, name) for name in names}
        return {name: value for name, value in own.items() if name != "first" and value is not None}

    def _rate(self, now, u):
        """Rates of the gaps."""
        moving = copy(now)
        moving.t = ca.SX.sym("t")
        gap, n, system = self._values("gap", self.gap, moving, u), now.system.n_q, now.system
        rates = ca.SX.zeros(n)
        for body in system.bodies:
            if body.n_q:
                rates[system.coordinates(body)] = now.rates(body)
        rate = ca.jtimes(gap, now.z, ca.vertcat(rates, ca.SX.zeros(n))) + ca.jacobian(gap, moving.t)
        return ca.substitute(rate, moving.t, now.t)
