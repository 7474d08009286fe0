"""The time element: trial and test spaces, quadrature, and the residual density."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..display import Card, Summarized
from ..errors import InputError, NamedArguments, known_names
from ..memory import Late, LateTable
from ..polynomials import LagrangeBasis
from ..records import frozen
from ..validate.options import OPTIONS, check_fields, said_any, spelt

components = Late("timefem.elements.components")  # with CasADi: the command line reads names of elements first

if TYPE_CHECKING:
    import casadi as ca

    from ..mechanics.system import System


@frozen
class Space:
    """A field over one time element.

    Attributes
    ----------
    basis : LagrangeBasis
    continuous : bool
        Whether neighbouring elements share the value at their common node.
    components : str or Constants
        What the field has values for, a name of `components.COMPONENTS`.
    dual : bool
        Of a costate, or of tests with a trial function: scaled as rows, or as unknowns, would be.
    of_paths : bool
        Of tests of momenta, whose integrals over time are as large as coordinates, and not as momenta.
    """

    basis: LagrangeBasis
    continuous: bool
    components: str = "state"
    dual: bool = False
    of_paths: bool = False


class TimeElement(NamedArguments, Summarized, ABC):
    """A time finite element.

    A subclass is a frozen dataclass that declares its spaces and one method, `density`, which reads like the weak form.
    The rows of the element residual are `sum_g w_g h phi_i(xi_g) density(xi_g)`, with `phi_i'/h` instead of `phi_i` for
    tests by rates.

    Attributes
    ----------
    degree : int
        Polynomial degree of the state.
    n_points : int
        Gauss points.
    trial, test : dict
        Field name -> `Space`. The first trial fields are the state `z = (q, p)` and the multipliers.
    slots, test_slots : tuple of (str, str or int)
        What the density sees of the trial fields, and what its rows are tested with: field, and "value" or "rate" at
        the quadrature point, "projected" for that of the projection on polynomials of a degree less, "left" or "right"
        for the values at the ends of the element, a number for the value at
        that node of the field.
    symbols : callable
        `symbols(part, element, sizes)` makes the argument of `density`.
    explicit : tuple of (str, int, str, int)
        Momenta that one row gives as they are, with the coefficient one: number of the test and of the node.
    density_key : hashable
        Elements with equal keys share their density: the class and all fields, unless an element states another one.
    has_tangent : bool
        Whether the rows are differentiated.
    one_kernel : bool
        Whether a kernel stands for all points of an element, which have much in common.
    needs_inverse_mass : bool
        Whether velocities follow from momenta, as in Hamilton's equations.
    takes_coupled_inertia : bool
        Whether kinetic energies T(q, v) of parts that are not bodies enter.
    is_variational : bool
        Whether the residual is the gradient of a discrete action.
    takes_ports : bool
        Whether systems may have states of first order, `State`, `VariableMass` and `PortSystem`.
    takes_reactions : bool
        Whether forces of parts may depend on multipliers, see `Part.multiplier_force`.
    takes_outputs : bool
        Whether inverse dynamics takes it: outputs that are prescribed, and controls.
    costates_converge : bool
        Whether the multipliers of optimal control do, to the costates, with the order of the state.
    joints_drift : bool
        Whether constraints of joints hold up to the error of the method only.
    energy_drifts : bool
        Whether the energy of bodies is kept up to the error of the method only.
    elements_per_block : int
        How many elements are eliminated together in optimal control: from those of fewer the equations tested so far do
        not give the state.
    constraint_row_power : int
        Rows of the constraints are multiplied with `h` to this power by scaling.
    name : str
        Short name on the command line.
    """

    constraint_row_power, elements_per_block = 0, 1
    needs_inverse_mass = has_tangent = True
    takes_coupled_inertia = is_variational = takes_ports = takes_outputs = costates_converge = joints_drift = False
    energy_drifts = False
    takes_reactions = False
    one_kernel = False
    drop = None  # "start", "end": at which end of a motion an element of `BubnovGalerkin` leaves constraints out
    lifted = False  # whether its gradients are lifted ones, see `gradients.Lift`
    remedy = ""  # what else may help where a march of it fails
    explicit = ()
    slots = (("state", "value"), ("state", "rate"), ("multipliers", "value"))

    @property
    def symbols(self) -> type:
        """Class of the symbols of a part."""
        return components.PointSymbols

    @property
    @abstractmethod
    def trial(self) -> dict[str, Space]:
        """Trial spaces by field."""

    @property
    @abstractmethod
    def test(self) -> dict[str, Space]:
        """Test spaces by field."""

    @property
    def test_slots(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, "value") for name in self.test)

    @property
    def density_key(self) -> Hashable:
        key = type(self), *(getattr(self, field.name) for field in (fields(self) if is_dataclass(self) else ()))
        try:
            hash(key)
        except TypeError as error:
            raise InputError(f"{type(self).__name__}: fields must be hashable ({error}), as tuples are; or state a "
                             "density_key") from None
        return key

    @property
    def stated(self) -> TimeElement:
        """The element that was asked for, without what a kind of problem adds to it."""
        return self

    @cached_property
    def state(self) -> Space:
        """Trial space of the state `z = (q, p)`."""
        return self.trial["state"]

    @cached_property
    def multiplier(self) -> Space:
        """Trial space of the multipliers."""
        return self.trial["multipliers"]

    keeps_factors = False  # whether Newton may take those of the element before

    @cached_property
    def can_march(self) -> bool:
        """Whether each element can be solved on its own, given its left node: no tests are shared."""
        return not any(space.continuous for space in self.test.values())

    def fitting(self, system: System) -> TimeElement:
        """The element in the form that a system needs, for those that it cannot take as it is; or itself."""
        return self

    def check(self, system: System) -> None:
        """Refuse systems that the element does not take; called before work starts.

        Raises
        ------
        InputError
            Says why not, and which element does.
        """
        singular = [body for body in system.bodies if not body.has_inverse_mass] if self.needs_inverse_mass else []
        if singular:
            fault, remedy = singular[0].no_inverse
            raise InputError(f"{system.label(singular[0])} {fault}, and {self.name} needs its inverse; {remedy}")
        coupled = [] if self.takes_coupled_inertia else [part for part in system.parts if part.couples_inertia]
        if coupled:
            raise InputError(f"{system.label(coupled[0])} couples the inertia of its bodies by a kinetic energy "
                             f"T(q, v), which {self.name} does not take; use MixedGalerkin(k, form='energy') or "
                             "another form without the inverse of the mass matrix, or lumped masses")
        loaded = [part for part in system.parts if part.reactions_of] if not self.takes_reactions else []
        if loaded:
            raise InputError(f"{system.label(loaded[0])} depends on the force of "
                             f"{system.label(loaded[0].reactions_of[0])}, which {self.name} does not take; use "
                             "MixedGalerkin(k), in Hamilton's or the energy form, or BubnovGalerkin(k) in Hamilton's")
        states = [body for body in system.bodies if body.first_order] if not self.takes_ports else []
        if states:
            raise InputError(f"{self.name} does not take {system.label(states[0])}, a {type(states[0]).__name__} of "
                             "first order; use MixedGalerkin(k), or BubnovGalerkin(k) in Hamilton's form")
        if system.n_nonholonomic and "nonholonomic" not in self.trial:
            raise InputError(f"{self.name} does not take nonholonomic constraints ('{system.nonholonomic_names[0]}'); "
                             "use MixedGalerkin, BubnovGalerkin, NonTwistingEM or DLA")

    def kept_multipliers(self, system: System) -> np.ndarray:
        """Which of the multipliers `(gamma, mu)` of a system the element has, bool (n_multipliers,)."""
        return np.ones(system.n_multipliers, bool)

    def nodal_values(self, system: System, times: np.ndarray, state: np.ndarray,
                     multipliers: np.ndarray) -> list[np.ndarray]:
        """Nodal values of all trial fields that belong to given states and multipliers, for guesses and initial values.

        Parameters
        ----------
        system : System
        times : ndarray, shape (n_elements, n_shapes)
            Of the nodes of the state [s].
        state, multipliers : ndarray, shapes (n_elements, n_shapes, n_z), (n_elements, n, n_multipliers)

        Returns
        -------
        list of ndarray
            In the order of `trial`.
        """
        return [state, multipliers]

    def summary(self) -> Card:
        """Degree, order and spaces as a table: text where it is printed, HTML in a notebook."""
        facts = {"what it is": (type(self).__doc__ or "").strip().splitlines()[0], "degree of the state": self.degree}
        facts |= {"order": self.order} if hasattr(self, "order") else {}
        facts |= {"Gauss points": self.n_points,
                  "can be marched": "yes" if self.can_march else "no: windows or global"}
        rows = [("trial field", "degree", "nodes", "shared with neighbours", "components")]
        rows += [(name, s.basis.n_shapes - 1, s.basis.n_shapes, "at the ends" if s.continuous else "no",
                  str(s.components)) for name, s in self.trial.items()]
        return Card(repr(self), facts, {"spaces": rows})

    def _validate(self, minimum_points):
        """Checks common to the Galerkin elements; called when the value object is made."""
        check_fields(self)
        if self.n_points is None:
            object.__setattr__(self, "n_points", 2 * self.degree)
        if self.n_points < minimum_points:
            raise InputError(
                f"n_points = {self.n_points} makes the tangent of {type(self).__name__}(degree={self.degree}) "
                f"singular; at least {minimum_points} are needed")

    @abstractmethod
    def density(self, s: Any) -> tuple[ca.SX, ...]:
        """Residual density of one part in the symbols `s`: rows per test slot.

        Returns
        -------
        sequence of SX
            Shapes (n,) with the number of components that the part has of the test field.
        """


ELEMENTS = LateTable(__package__, {  # imported when they are asked for
    "mg": ".mixed_galerkin.MixedGalerkin", "bg": ".bubnov_galerkin.BubnovGalerkin",
    "eml": ".energy_momentum.EML", "reml": ".energy_momentum.REML",
    "null-eml": ".energy_momentum.NullEML", "emh": ".energy_momentum.EMH",
    "null-emh": ".energy_momentum.NullEMH", "mpl": ".energy_momentum.MPL",
    "mph": ".energy_momentum.MPH", "quat-vi": ".rotation_schemes.QuatVI",
    "dir-em": ".energy_momentum.DirEM", "algo-c1": ".rotation_schemes.AlgoC1",
    "zupan3": ".rotation_schemes.Zupan3", "zupan3-printed": ".rotation_schemes.Zupan3Printed",
    "newmark-so3": ".rotation_schemes.NewmarkSO3", "nontwisting-em": ".energy_momentum.NonTwistingEM",
    "dla": ".rotation_schemes.DLA", "symplectic-euler": ".energy_momentum.SymplecticEuler",
})
ALIASES = {"quat-em": "emh"}
DEGREE = {"mg": 2, "bg": 3}  # unless given
ELEMENT_OPTIONS = tuple(name for name, option in OPTIONS.items() if {*option.of} & {*ELEMENTS})


def name_of(stated):
    """The name of an element in a file: a text, or that in a table of it and the fields of the element."""
    return stated["name"] if isinstance(stated, dict) else stated


def named_element(name, **options):
    """A time element by name, with options or fields of its class; those that are None are as if not given.

    Raises
    ------
    InputError
        For an unknown name, and for options that the element does not have.
    """
    name = ALIASES.get(name, name)
    validate.choice("element", name, tuple(ELEMENTS))
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option in OPTIONS and name in OPTIONS[option].of:
            continue
        known = [field.name for field in fields(ELEMENTS[name])] if is_dataclass(ELEMENTS[name]) else []
        if option in OPTIONS and option not in known:
            raise InputError(f"{spelt(option)} belongs to {said_any('element', OPTIONS[option].of)}")
        if option not in known:
            raise InputError(f"element: {name!r} has no {option!r}{known_names(option, known)}")
    default = {"degree": DEGREE[name]} if name in DEGREE else {}
    return ELEMENTS[name](**default | given)
