"""What is differentiated: numbers that a motion gives, by formulas of coordinates, velocities and time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from .. import validate
from ..errors import InputError, NamedArguments, known_names
from ..mechanics.body_frame import BodyFrame, is_on_tree
from ..mechanics.formulas.formula import call_vector, check_symbols
from ..mechanics.part import Part
from ..mechanics.symbols import Symbols
from ..mechanics.values.evaluate import evaluate
from ..polynomials import gauss_legendre
from ..types import Floats, UserFunction

if TYPE_CHECKING:
    from ..assembly.mesh import TimeMesh
    from ..elements.element import TimeElement


class View:
    """What a formula sees of a body, in CasADi symbols.

    Attributes
    ----------
    q, p, v : SX, shape (n_q,)
        Coordinates, momenta, and velocities qdot = dH/dp.
    position, rotation : SX, shapes (3,), (3, 3)
        Centre of mass [m] and rotation matrix, body to space; of bodies in space.
    velocity, angular_velocity : SX, shape (3,)
        Of the centre of mass [m/s], and in space axes [rad/s]; of bodies in space, the latter of rigid bodies.
    """

    def __init__(self, body, q, p, v):
        self.q, self.p, self.v = q, p, v
        if body.has_position:
            self.position, self.rotation = body.frame(q)
            self.velocity = ca.jtimes(self.position, q, v)
        if body.has_orientation:
            self.angular_velocity = body.angular_velocity_map(q) @ v

    def point(self, x):
        """Place in space of a point given in body axes, shape (3,) [m]."""
        return self.position + self.rotation @ x


def _views(asked, chosen, s):
    """A `View` of each body; links and joints of trees see their part of the coordinates of the tree."""
    seen, views = dict(zip(chosen, zip(s.q, s.p, s.velocity, strict=True), strict=True)), []
    for body in asked:
        on_tree = is_on_tree(body)
        own = seen[body.body if on_tree else body]
        views.append(View(body, *([x[body.dofs.tolist()] for x in own] if on_tree else own)))
    return views


class _Probe(Part):
    """A part without any effect: its symbols are those of some bodies."""

    kind = "probe"

    def __init__(self, bodies, part):
        self.bodies = bodies
        self.own_parameters = np.zeros(0) if part is None else part.own_parameters


class Functional(NamedArguments, ABC):
    """Numbers that a motion gives, by a formula.

    Parameters
    ----------
    formula : callable
        `formula(bodies, t)` -> expression, or a list of them, in CasADi symbols; `bodies` is a list of `View`, in the
        order of `bodies`; with `actuators` it is `formula(bodies, t, u)`.
    bodies : Body, str, or sequence of them, optional
        Default: all bodies of the system.
    actuators : Actuator, str, or sequence of them, optional
        Of optimal control: u are their controls, one behind the other.

    Raises
    ------
    InputError
        When it is used: for unknown bodies, and for formulas that fail or contain other symbols.
    """

    part = None  # whose own numbers the formula takes besides
    at_times = False  # whether its points are at given times, and not at places of the mesh

    def __init__(self, formula: UserFunction, bodies: BodyFrame | str | Sequence[BodyFrame | str] | None = None, *,
                 actuators: Part | str | Sequence[Part | str] | None = None) -> None:
        self.formula = formula
        self.bodies = (bodies,) if isinstance(bodies, str | BodyFrame) else bodies
        self.actuators = (actuators,) if isinstance(actuators, str | Part) else actuators
        self._title = f"{type(self).__name__}: the formula"

    @abstractmethod
    def points(self, mesh: TimeMesh, element: TimeElement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Elements, reference coordinates and weights of the points in time, each of shape (n_points,)."""

    @abstractmethod
    def values(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The numbers, shape (m,), from the values of the formula at the points, shape (n_points, n)."""

    @abstractmethod
    def forward(self, f: np.ndarray, weights: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Their change, shape (m,), with a change of the values of the formula."""

    @abstractmethod
    def backward(self, f: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient by the values of the formula, shape (n_points, n), from that by the numbers, shape (m,)."""

    def by_weights(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Derivatives of the numbers by the weights of the points, which are times, shape (n_points, m)."""
        return np.zeros((len(f), len(self.values(f, weights))))


class EndValue(Functional):
    """The formula at the end of the solution.

    Parameters
    ----------
    formula, bodies, actuators
        As for any `Functional`.
    """

    def points(self, mesh: TimeMesh, element: TimeElement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array([mesh.n_elements - 1]), np.ones(1), np.ones(1)

    def values(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return f[0]

    def forward(self, f: np.ndarray, weights: np.ndarray, change: np.ndarray) -> np.ndarray:
        return change[0]

    def backward(self, f: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return gradient[None]


class Values(EndValue):
    """The formula at given times, one after the other.

    Parameters
    ----------
    formula, bodies, actuators
        As for any `Functional`.
    times : array_like, shape (n,)
        [s]
    """

    at_times = True

    def __init__(self, formula: UserFunction, times: Floats,
                 bodies: BodyFrame | str | Sequence[BodyFrame | str] | None = None, *,
                 actuators: Part | str | Sequence[Part | str] | None = None) -> None:
        super().__init__(formula, bodies, actuators=actuators)
        self.times = validate.array("times", np.atleast_1d(times), (None,))

    def points(self, mesh: TimeMesh, element: TimeElement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return *mesh.locate(self.times), np.ones(len(self.times))

    def values(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return f.ravel()

    def forward(self, f: np.ndarray, weights: np.ndarray, change: np.ndarray) -> np.ndarray:
        return change.ravel()

    def backward(self, f: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return gradient.reshape(f.shape)


class Objective(NamedArguments):
    """The least cost of an optimal control problem."""


class UnknownNumber(NamedArguments):
    """An unknown number of an optimal control problem, such as "duration".

    Parameters
    ----------
    name : str
        One of `parameters` of the problem, or "duration".
    """

    def __init__(self, name: str) -> None:
        self.name = name


class Integral(Functional):
    """The integral of the formula over time, by Gauss quadrature with at least k + 2 points in an element.

    Parameters
    ----------
    formula, bodies, actuators
        As for any `Functional`.
    """

    def points(self, mesh: TimeMesh, element: TimeElement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, w = gauss_legendre(max(element.n_points, element.degree + 2))
        e = np.repeat(np.arange(mesh.n_elements), len(x))
        return e, np.tile(x, mesh.n_elements), np.tile(w, mesh.n_elements) * mesh.lengths[e]

    def values(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weights @ f

    def forward(self, f: np.ndarray, weights: np.ndarray, change: np.ndarray) -> np.ndarray:
        return weights @ change

    def backward(self, f: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return np.outer(weights, gradient)

    def by_weights(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return f


class Peak(Integral):
    """A smooth maximum of the formula over time, `log(mean of exp(sharpness f)) / sharpness`.

    It lies below the maximum by about the logarithm of the span over the width of the peak, divided by `sharpness`.
    With a negative sharpness it is a smooth minimum.

    Parameters
    ----------
    formula, bodies, actuators
        As for any `Functional`.
    sharpness : float
        In units of 1/f: several times the inverse of differences that matter.
    """

    def __init__(self, formula: UserFunction, sharpness: float,
                 bodies: BodyFrame | str | Sequence[BodyFrame | str] | None = None, *,
                 actuators: Part | str | Sequence[Part | str] | None = None) -> None:
        super().__init__(formula, bodies, actuators=actuators)
        self.sharpness = validate.real("Peak: sharpness", sharpness)
        if not self.sharpness:
            raise InputError("Peak: sharpness must not be zero, which would be the mean")

    def _shares(self, f, weights):
        best = (self.sharpness * f).max(axis=0)
        shares = weights[:, None] * np.exp(self.sharpness * f - best)
        return shares, best

    def values(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        shares, best = self._shares(f, weights)
        return (np.log(shares.sum(axis=0) / weights.sum()) + best) / self.sharpness

    def forward(self, f: np.ndarray, weights: np.ndarray, change: np.ndarray) -> np.ndarray:
        shares, _ = self._shares(f, weights)
        return (shares * change).sum(axis=0) / shares.sum(axis=0)

    def backward(self, f: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        shares, _ = self._shares(f, weights)
        return shares / shares.sum(axis=0) * gradient

    def by_weights(self, f: np.ndarray, weights: np.ndarray) -> np.ndarray:
        shares, best = self._shares(f, weights)
        return (np.exp(self.sharpness * f - best) / shares.sum(axis=0) - 1 / weights.sum()) / self.sharpness


def _controls(plan, actuators):
    """Places of the controls of actuators among all."""
    if actuators is None:
        return []
    if "controls" not in plan.element.trial:
        raise InputError("actuators of a functional are those of an optimal control problem; this motion has none")
    system, first, places = plan.system, 0, {}
    for part in system.parts:
        places[system.label(part)] = range(first, first + part.n_controls)
        first += part.n_controls
    names = [one if isinstance(one, str) else system.label(system[one]) for one in actuators]
    known = [name for name, own in places.items() if own]
    for name in names:
        if name not in known:
            raise InputError(f"functional: {name!r} is not an actuator{known_names(name, known, 'there are')}")
    return [i for name in names for i in places[name]]


class Evaluated:
    """A functional at a solution: its values, and its derivatives in both directions.

    Attributes
    ----------
    values : ndarray, shape (m,)
    """

    def __init__(self, functional, plan, mesh, x, places):
        if not isinstance(functional, Functional):
            raise InputError(f"functional must be an EndValue, Values, Integral or Peak, not {functional!r}")

        self.functional, system = functional, plan.system
        own = tuple(b for b in system.bodies if not b.helper)
        asked = own if functional.bodies is None else tuple(map(system.find, functional.bodies))
        chosen = tuple(dict.fromkeys(body.body if is_on_tree(body) else body for body in asked))
        s, part = Symbols(_Probe(chosen, functional.part)), functional.part
        places_of_controls = _controls(plan, functional.actuators)
        title, u = functional._title, ca.SX.sym("u", len(places_of_controls))
        z = ca.vertcat(*s.q, *s.p, u)
        views = _views(asked, chosen, s)
        value = call_vector(title, functional.formula, views, s.t, *([] if part is None else [s.own]),
                            *([] if functional.actuators is None else [u]))
        for link in (body for body in asked if body.own_symbols is not None):  # its place by numbers of its tree
            own = s.bodies[chosen.index(link.body)][link.numbers_of_body]
            value = ca.substitute(value, link.own_symbols, own)
        check_symbols(title, value, *s.q, *s.p, *s.bodies, s.t, s.own, u)
        e, xi, self.weights = functional.points(mesh, plan.element)
        self._e, self._nodes = e, mesh.nodes
        q = np.concatenate([np.arange(system.n_q)[system.coordinates(b)] for b in chosen])
        field = plan.columns.first[:, np.concatenate([q, q + system.n_q])]  # (n_shapes, n_local)
        fields = [(plan.element.state.basis, field)]
        if len(places_of_controls):
            trial = list(plan.element.trial)
            field = plan.columns.fields[trial.index("controls")][:, places_of_controls]
            fields.append((plan.element.trial["controls"].basis, field))
        self._gathers = [(e[:, None, None] * plan.columns.step + field, basis.values(xi)[:, :, None])
                         for basis, field in fields]
        self._bases = [basis for basis, _ in fields]
        self._xi, self._lengths = xi, mesh.lengths[e]
        self.numbers = np.concatenate([places.of(b) for b in ([] if part is None else [part]) + list(chosen)])
        n, widths = value.numel(), (z.numel(), s.parameters.numel(), 1)
        function = ca.Function("functional", [z, s.t, s.parameters], [
            ca.vertcat(value, *(ca.vec(ca.densify(ca.jacobian(value, v)).T) for v in (z, s.parameters, s.t)))])
        self.t = mesh.nodes[e] + xi * mesh.lengths[e]
        out = evaluate(function, self._gathered(x)[:, None], self.t, places.values[self.numbers][None])[:, 0]
        self.f, by_z, by_c, self.by_t = np.split(out, n * np.cumsum([1, *widths[:2]]), axis=1)
        if not np.isfinite(out).all():
            bad = np.argmin(np.isfinite(out).all(axis=1))
            raise InputError(f"{title} or its derivative is not finite at t = {self.t[bad]:g}")
        self.by_z, self.by_c = by_z.reshape(len(e), n, -1), by_c.reshape(len(e), n, -1)
        self.values = functional.values(self.f, self.weights)

    def _gathered(self, x):
        """What the formula sees of dofs, shape (n_points, n)."""
        return np.concatenate([(shapes * x[dofs]).sum(axis=1) for dofs, shapes in self._gathers], axis=1)

    def by_length(self, x, t0):
        """Derivative of the values, shape (m,), by the relative length of the time span, with the dofs as they are."""
        return self.forward_ends(x, (self._nodes - t0)[:, None])[:, 0]

    def by_start(self, x):
        """The same by the time at which the mesh starts, as a whole."""
        return self.forward_ends(x, np.ones((len(self._nodes), 1)))[:, 0]

    def _by_ends(self, x):
        """Derivatives of the formula at the points by the times of start and end of their elements, with the dofs as
        they are, shape (2, n_points, n), and those of the weights, (2, n_points)."""
        shares = np.stack([1 - self._xi, self._xi])
        if not self.functional.at_times:
            return shares[:, :, None] * self.by_t, np.array([[-1.0], [1.0]]) * self.weights / self._lengths
        rates = np.concatenate([(basis.derivatives(self._xi)[:, :, None] * x[dofs]).sum(axis=1) for (dofs, _), basis
                                in zip(self._gathers, self._bases, strict=True)], axis=1) / self._lengths[:, None]
        # the times then lie elsewhere in the mesh
        return -shares[:, :, None] * np.einsum("gna,ga->gn", self.by_z, rates), np.zeros_like(shares)

    def forward_ends(self, x, changes):
        """Changes of the values, shape (m, n), with those of the times of the nodes of the mesh, shape (n_nodes, n)."""
        (by_f, by_weights), more, columns = self._by_ends(x), self.functional.by_weights(self.f, self.weights), []
        for own in changes.T:
            own = np.stack([own[self._e], own[self._e + 1]])
            change = self.functional.forward(self.f, self.weights, np.einsum("sgn,sg->gn", by_f, own))
            columns.append(change + (by_weights * own).sum(axis=0) @ more)
        return np.array(columns).T

    def backward_ends(self, x, gradient):
        """Gradient by the times of the nodes of the mesh, shape (n_nodes,), from that by the values."""
        (by_f, by_weights), out = self._by_ends(x), np.zeros(len(self._nodes))
        c = self.functional.backward(self.f, self.weights, gradient)
        more = self.functional.by_weights(self.f, self.weights) @ gradient
        for side in range(2):
            np.add.at(out, self._e + side, (by_f[side] * c).sum(axis=1) + by_weights[side] * more)
        return out

    def backward(self, gradient, n_dofs, n_numbers):
        """Gradients by all dofs and by all numbers of the parts, from that by the values, shape (m,)."""
        c = self.functional.backward(self.f, self.weights, gradient)
        by_z = np.einsum("gn,gna->ga", c, self.by_z)
        by_x, stops = np.zeros(n_dofs), np.cumsum([dofs.shape[2] for dofs, _ in self._gathers])
        for (dofs, shapes), own in zip(self._gathers, np.split(by_z, stops[:-1], axis=1), strict=True):
            by_x += np.bincount(dofs.ravel(), (shapes * own[:, None]).ravel(), n_dofs)
        by_c = np.einsum("gn,gnc->c", c, self.by_c)
        return by_x, np.bincount(self.numbers, by_c, n_numbers) if len(by_c) else np.zeros(n_numbers)

    def forward(self, dx, dc):
        """Changes of the values, shape (m, n), with changes of the dofs and of the numbers, shapes (n_dofs, n), ..."""
        columns = []
        for x, c in zip(dx.T, dc.T, strict=True):
            change = np.einsum("gna,ga->gn", self.by_z, self._gathered(x)) + self.by_c @ c[self.numbers]
            columns.append(self.functional.forward(self.f, self.weights, change))
        return np.array(columns).T
