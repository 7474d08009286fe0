"""What a mechanical part offers: energies and constraints in CasADi symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..errors import InputError
from ..types import Expression
from .bodies.states import CanonicalState, Coordinates
from .body_frame import BodyFrame
from .declared.declared import Declared
from .symmetry import ALL

if TYPE_CHECKING:
    from .shapes import Stroke
    from .symbols import Symbols


def restated(cls: type, base: type, *names: str) -> bool:
    """Whether a class has another formula of one of these names than its `base`."""
    return any(getattr(cls, name, None) is not getattr(base, name, None) for name in names)


ENERGIES = "energy", "potential_energy"
CONSTRAINTS = "constraints", "velocity_constraints", "formula"
FORCES = "force", "control_force", "multiplier_force", "constraint_force", "velocity_form"
_SAID_OF = {"lift": ENERGIES, "constraint_lift": CONSTRAINTS, "symmetry": ENERGIES + CONSTRAINTS,
            "workless_motions": ENERGIES + CONSTRAINTS + FORCES}  # what a class says of its formulas: of which


class Part(Declared, ABC):
    """A body, joint or force, stated by its energy and its constraints.

    A class declares the arguments of its constructor as attributes (see `declared`), and states formulas in their
    numbers. Kernels are made per `kind`: parts of one kind differ only in `own_parameters`. It follows from the class
    and the arguments that shape formulas; a class whose formulas depend on more states it, and its class is added.

    Attributes
    ----------
    table : {"forces", "joints", "actuators", "bodies"}
        Where a model file states it.
    fields : dict
        Name -> `Field`, the declared arguments.
    name : str
        Used in messages; the system numbers unnamed parts.
    bodies : tuple of BodyFrame
        What it acts on, in the order of its local coordinates: bodies, links and joints of trees, points of beams.
    own_parameters : ndarray
        Numbers that enter the formulas.
    constraint_names : tuple of str
        One name per constraint on configuration level.
    nonholonomic_names : tuple of str
        One name per nonholonomic constraint, see `velocity_form`.
    kinks : tuple of float
        Times [s] where it is not smooth, for nodes of the mesh.
    t_span : (float, float)
        Times [s] for which it is known.
    n_controls : int
        Controls of its own: unknown functions of time, of problems that determine them.
    controls : tuple of Part
        The actuators whose controls it sees.
    drives : tuple of Part
        The actuators that it drives, as controllers do.
    reactions_of : tuple of Part
        Joints and other constraints whose multipliers it sees, see `multiplier_force`.
    kept_reactions : tuple of int or None
        Of all constraints of these, the ones that are not left out as redundant.
    n_contacts : int
        Rows of rigid contact, see `timefem.mechanics.contacts.rigid.RigidContact`.
    sees_multipliers : bool
        Whether it sees those of the whole system.
    strains_are_quadratic : bool
        Whether its `strains` are at most quadratic in the coordinates, and their energy in them.
    couples_inertia : bool
        Whether a joint or force states a kinetic energy of its own, see `kinetic`.
    sources : tuple of (Part, int) or str
        Numbers of other parts, and unknown ones by name, that its own parameters are.
    durations : tuple of int
        Which of its own parameters are the length of the time span.
    seen_constants : tuple of int
        The unknown constants of a problem that enter its parameters.
    unknown_numbers : Following or None
        How `parameters` follow from those constants (see `with_constants`).
    """

    table = "forces"
    is_body = False  # whether it has coordinates of its own
    has_position = False  # whether it is a body with a `frame` for points and joints
    first_order = ()  # numbers of coordinates without momenta, whose rates are what forces on them add up to
    is_port = False  # whether it is a `PortSystem`: of first order, with efforts for velocities
    has_rate = True  # whether formulas may see velocities of its coordinates
    has_orientation = False  # whether that frame turns, with an `angular_velocity_map`
    owner, place = None, ""  # the part that made it, and what it is called there
    helper = False  # whether a force brings it along, such as a counter of turns; not one of a composite part
    period = None  # [s], of feedback in discrete time
    is_counter = False  # whether it only counts turns, and has no energy
    lossless = False  # whether its forces only pass energy on
    has_velocity = False  # whether its energy, not being that of a body, contains momenta
    n_controls = n_contacts = 0
    controls = drives = reactions_of = ()
    sees_multipliers = False
    couples_inertia = False
    strains_are_quadratic = True
    seen_constants, unknown_numbers, kept_reactions = (), None, None
    sources = durations = ()
    name = None
    bodies = ()
    own_parameters = np.zeros(0)
    constraint_names = ()
    nonholonomic_names = ()
    momentum_level = False  # whether `velocity_constraints` are in momenta, not the rates of `constraints`
    t_span = (-np.inf, np.inf)

    def __init_subclass__(cls, **options: Any) -> None:
        """What a class says of its formulas does not hold of those that a subclass of it states in their place; what
        an abstract base says is for all its subclasses."""
        super().__init_subclass__(**options)
        for said, formulas in _SAID_OF.items():
            base = next(c for c in cls.__mro__ if said in vars(c))
            speaks_for_all = vars(base).get("abstract") or (base is Part and said != "lift")
            if not speaks_for_all and restated(cls, base, *formulas):
                setattr(cls, said, vars(_Nothing)[said])

    @property
    def members(self) -> tuple[Part, ...]:
        """What a system takes: itself, or what a composite part is made of."""
        return (self,)

    @property
    def frames(self) -> tuple[BodyFrame, ...]:
        """What its local coordinates are those of, in their order: of a point of a beam the nodes."""
        return tuple(frame for body in self.bodies for frame in body.frames)

    @property
    def parameters(self) -> np.ndarray:
        """All parameters of the local formulas: the part's own, then those of its bodies."""
        return np.concatenate([self.own_parameters, *(b.own_parameters for b in self.bodies)])

    def workless_motions(self) -> np.ndarray | None:
        """Rigid motions of space on which the forces of the part have no power, whatever the controls, and those of
        its constraints where these hold.

        Returns
        -------
        ndarray, shape (6, k), or None
            Columns (v, w) of velocities `v + w x r`; those known, None without any.
        """
        return None

    def drawn_lines(self) -> list[Stroke]:
        """What pictures show of it as lines and dots."""
        return []

    def energy(self, s: Symbols) -> Expression:
        """Contribution to the Hamiltonian, SX scalar, in the symbols `s`: of joints and forces the potential energy."""
        return self.stored_energy(s, self.strains(s))

    def potential_energy(self, s: Symbols) -> Expression:
        """Potential energy V(q, t): of joints and forces their `energy`, of bodies none unless they state one."""
        return self.energy(s)

    def strains(self, s: Symbols) -> ca.SX:
        """Strains e(q) of parts whose whole energy is `stored_energy(s, strains(s))`; of others none.

        Those with `strains_are_quadratic` are its `lift`.
        """
        return ca.SX(0, 1)

    def stored_energy(self, s: Symbols, e: ca.SX) -> Expression:
        """Energy of strains `e`, SX scalar."""
        return 0

    def lift(self, s: Symbols) -> ca.SX | None:
        """Functions e(q, p), at most quadratic, of which its energy is a function, `lifted_energy`; None: q and p.

        Elements that keep all follow the energy along e (see `timefem.elements.gradients`), and with it every momentum
        that Poisson-commutes with e.
        """
        strains = ca.SX(self.strains(s))
        return strains if strains.numel() and self.strains_are_quadratic else None

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        """Its energy as a function of the `lift`, SX scalar."""
        return self.stored_energy(s, e)

    def constraint_lift(self, s: Symbols) -> ca.SX | None:
        """Functions e(q, p), at most quadratic, of which its constraints and their rates are functions; None: q and p.

        They spare points of quadrature where constraints are of lower degree in them.
        """
        return None

    def lifted_constraints(self, s: Symbols, e: ca.SX, t: ca.SX) -> ca.SX:
        """Its constraints and velocity constraints as functions of the `constraint_lift` and the time."""
        raise NotImplementedError

    def symmetry(self, s: Symbols) -> ca.SX:
        """Rigid motions of all its bodies that leave energy and constraints as they are, SX (6, k) with k of 0, 3, 6.

        Columns are velocities along, and angular velocities about the axes of space through the origin.
        """
        return ca.SX(6, 0)

    def rigid_motions(self, fixed: ca.SX | None = None) -> ca.SX:
        """`symmetry` of what two bodies do to each other: all rigid motions, SX (6, 6).

        Of one body the rotations about a point that is `fixed` in space, SX (6, 3), and none where there is no such
        point.
        """
        if len(self.given_bodies) == 2:
            return ca.SX.eye(6)
        return ca.SX(6, 0) if fixed is None else ca.vertcat(ca.skew(fixed), ca.SX.eye(3))

    def kinetic(self, s: Symbols, v: Sequence[ca.SX]) -> Expression:
        """Contribution to the kinetic energy T(q, v), SX scalar, at the velocities `v`: list of SX, one per body.

        Quadratic in v; its mass matrix may be singular and may depend on q. Bodies give their `kinetic_of_velocity`. A
        part over several bodies can state one that couples them, such as the consistent mass of a finite element: it
        sets `couples_inertia`, its momenta are p = dT/dv of all that is stated, and only elements with velocities of
        their own take it.
        """
        return 0

    def force(self, s: Symbols) -> ca.SX:
        """Generalized force Q(q, p, t) that does not derive from an energy, SX of the length of the local q."""
        return ca.SX(sum(b.n_q for b in self.bodies), 1)

    @property
    def from_bodies(self) -> dict[str, Any]:
        """Arguments that its bodies state where it does not, as their sizes: links that stand for them do not."""
        return {}

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        """Generalized force of the controls `u`, linear in them, SX of the length of the local q."""
        return ca.SX(sum(b.n_q for b in self.bodies), 1)

    def cost(self, s: Symbols, u: ca.SX) -> Expression:
        """Contribution to the integrand of the cost of an optimal control problem, SX scalar."""
        return 0

    def constraints(self, s: Symbols) -> ca.SX:
        """Constraints Phi(q, t) on configuration level, SX of length n_constraints."""
        return ca.SX(0, 1)

    def constraint_force(self, s: Symbols, w: ca.SX) -> ca.SX:
        """Generalized force that the constraints take off by their multipliers `w`, SX of the length of the local q.

        `Phi_q^T w`, which does no work; of constraints that something else keeps, such as a drive, its own force.
        """
        return ca.jtimes(self.constraints(s), ca.vertcat(*s.q), w, True)

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        """Further force of the multipliers `w` of its own constraints, then of those of `reactions_of`, SX of the
        length of the local q: friction, which does work; None without any."""
        return None

    def velocity_constraints(self, s: Symbols) -> ca.SX:
        """Constraints Psi(q, p, t) on velocity level: the time derivative of Phi."""
        phi = self.constraints(s)
        if not phi.numel():
            return phi
        rate = ca.jtimes(phi, ca.vertcat(*s.q), ca.vertcat(*s.velocity))
        return rate + ca.jacobian(phi, s.t)

    def velocity_form(self, s: Symbols) -> ca.SX:
        """Nonholonomic constraints A(q, t) qdot + a(q, t) = 0, affine in `s.velocity`, SX of length n_nonholonomic."""
        return ca.SX(0, 1)

    def pfaffian(self, s: Symbols) -> tuple[ca.SX, ca.SX]:
        """A and a of the `velocity_form`, SX of shapes (n_nonholonomic, n_q) and (n_nonholonomic,)."""
        velocities = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        form, v = self.velocity_form(s.at(s.q, s.p, velocities)), ca.vertcat(*velocities)
        return ca.jacobian(form, v), ca.substitute(form, v, ca.SX.zeros(v.numel()))


class _Nothing:
    """What a part says of its formulas that nobody has said anything of."""

    workless_motions, symmetry, constraint_lift = Part.workless_motions, Part.symmetry, Part.constraint_lift

    def lift(self, s: Symbols) -> ca.SX | None:
        return None


class Body(Part, BodyFrame, abstract=True):
    """A part with coordinates of its own.

    Subclasses give `n_q`, `kinetic_energy`, and the NumPy functions that turn coordinates and momenta into
    positions and velocities (arrays with leading batch axes).
    """

    table = "bodies"
    is_body = True
    mass = None  # [kg], of a body with a `centre_of_mass`
    has_inverse_mass = True  # T(q, p) exists for all momenta, and is cheap
    no_inverse = ("has a singular mass matrix", "use EML() or MixedGalerkin(k, form='energy'), which do without, or "
                  "regularize=True")  # why, where it is not, and what to do

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self,)

    @property
    def frames(self) -> tuple[Body, ...]:
        return (self,)

    @property
    def body(self) -> Body:
        return self

    @property
    def parameters(self) -> np.ndarray:
        return self.own_parameters

    @abstractmethod
    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        """Kinetic energy T(q, p), SX scalar, with parameters `c`."""

    @abstractmethod
    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        """Kinetic energy T(q, v) of velocities v = qdot, SX scalar; its mass matrix may be singular."""

    def kinetic(self, s: Symbols, v: Sequence[ca.SX]) -> Expression:
        return self.kinetic_of_velocity(s.q[0], v[0], s.own)

    def mass_of(self, c: Any) -> Any:
        """Mass as a formula of its arguments, see `numbers` [kg]."""
        return c.mass

    def centre_of_mass(self, q: ca.SX, c: ca.SX, of_weight: bool = False) -> ca.SX:
        """Centre of mass, SX (3,), or of as many components as the body moves in: what leads the coordinates.

        With the parameters `c` of the body. `of_weight`: where the weight of the whole mass would act like that which
        nothing balances, see `Link.gravity_compensation`.
        """
        return q[:min(3, self.n_q)]

    def velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX:
        """Velocities qdot = dT/dp that belong to momenta, SX (n_q,)."""
        symbol = ca.SX.sym("p", self.n_q)
        return ca.substitute(ca.gradient(ca.SX(self.kinetic_energy(q, symbol, c)), symbol), symbol, p)

    def momenta_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> ca.SX:
        """Momenta p = dT/dv that belong to velocities, SX (n_q,)."""
        symbol = ca.SX.sym("v", self.n_q)
        return ca.substitute(ca.gradient(ca.SX(self.kinetic_of_velocity(q, symbol, c)), symbol), symbol, v)

    def of_coordinates(self, value: Coordinates) -> CanonicalState:
        """State of coordinates and their rates: `p = dT/dv`.

        Raises
        ------
        InputError
            For another number of coordinates.
        """
        if len(value.q) != self.n_q:
            raise InputError(f"{self._title}: Coordinates(q, v) must have length {self.n_q}, not {len(value.q)}")
        p = ca.evalf(self.momenta_of_velocity(ca.SX(value.q), ca.SX(value.v), self.own_parameters))
        return CanonicalState(value.q, np.array(p).ravel())

    @cached_property
    def begins_with_position(self) -> bool:
        """Whether its first coordinates are its place in space, along as many of the axes as it moves in."""
        if not self.has_position:
            return False
        q, n = ca.SX.sym("q", self.n_q), min(self.dimension, self.n_q)
        place, first = ca.SX(self.frame(q)[0]), ca.vertcat(q[:n], ca.SX.zeros(3 - n))
        return ca.is_equal(ca.densify(place), ca.densify(first), 2)

    def state(self, value: Any, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta, two arrays (n_q,), of `Coordinates` or a `CanonicalState` at the time `t`; of a
        class that can be placed in space of a `Pose`, too.

        Raises
        ------
        InputError
            For another type or length.
        """
        if isinstance(value, Coordinates):
            value = self.of_coordinates(value)
        if not isinstance(value, CanonicalState):
            raise InputError(f"{self._title}: its state must be given as Coordinates(q, v) of {self.n_q} values, not "
                             f"{value!r}; a {type(self).__name__} has no method state(pose), which makes coordinates "
                             "and momenta of a Pose")
        if len(value.q) != self.n_q:
            raise InputError(f"{self._title}: q and p must have length {self.n_q}, not {len(value.q)}")
        return value.q, value.p

    def workless_motions(self) -> np.ndarray | None:
        return None if self.rigid_motion(ca.SX.sym("q", self.n_q)) is None else ALL

    # ---- what structure-preserving schemes need; None where a body does not offer it

    def kinetic_of_invariants(self, w: ca.SX, c: Any) -> Expression:
        """Kinetic energy of the invariant velocities `w`, quadratic."""
        raise NotImplementedError

    def kinetic_of_invariant_momentum(self, w: ca.SX, c: Any) -> Expression:
        """Kinetic energy of the invariant momenta `w`, quadratic."""
        raise NotImplementedError

    def lift(self, s: Symbols) -> ca.SX | None:
        """Invariant momenta, of bodies that have them and no potential of their own."""
        if type(self).potential_energy is not Body.potential_energy:
            return None
        return self.invariant_momentum(s.q[0], s.p[0])

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        return self.kinetic_of_invariant_momentum(e, s.own)

    def energy(self, s: Symbols) -> Expression:
        return self.kinetic_energy(s.q[0], s.p[0], s.own) + self.potential_energy(s)

    def potential_energy(self, s: Symbols) -> Expression:
        return 0
