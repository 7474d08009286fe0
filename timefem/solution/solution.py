"""The solution of a problem: fields in time, and what is written and drawn of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..assembly import TimeMesh
from ..display import counted
from ..errors import InputError, NotSolved, warn
from ..mechanics.values.of_parts import consistent_velocity, couples_inertia, rates_follow, with_own_momenta
from ..memory import Late
from ..parallel import rank
from ..types import Floats
from .invariants import (
    COSTATES,
    FIELD,
    Invariants,
    consistent_multipliers,
    costates_of,
    rolling_of_elements,
    shared_out,
)
from .shown import Shown
from .solved_elements import SolvedElements

if TYPE_CHECKING:
    from ..mechanics.body_frame import BodyFrame
    from ..mechanics.composites.along import Along
    from ..mechanics.composites.mesh import CurveMesh
    from ..mechanics.part import Part
    from .joint_motion import JointMotion, TreeJointMotion

beams = Late("timefem.mechanics.composites.along")
joint_motion = Late(f"{__package__}.joint_motion")

MULTIPLIERS = "consistent", "element"


class Solution(SolvedElements, Invariants, Shown):
    """Motion of a system over the solved elements.

    Parameters
    ----------
    system : System
    element : TimeElement
    t : ndarray, shape (n_elements + 1,)
        Ends of the solved elements [s]; the start alone when none was solved.
    z0 : ndarray, shape (n_z,)
        Initial state.
    state : ndarray, shape (n_elements, n_shapes, n_z)
        Nodal values of `(q, p)`.
    multipliers : ndarray, shape (n_elements, n, n_multipliers)
        Nodal values of `(gamma, mu)`.
    status : Status
    statistics : dict
        Numbers of the solve: driver, backend, n_ranks, newton_iterations, seconds, n_unknowns, backward_error,
        ordering; and `per_rank` where ranks share one system, lists by rank: elements, memory of the process at most
        [bytes], and by substructuring left_over (columns without a pivot inside of the slab, those of the nodes at its
        ends included), messages, bytes_sent, largest_message and factor_bytes, of all iterations.
    fields : dict, optional
        Nodal values of the further fields of the element by name, shape (n_elements, n_shapes, n_components).

    Attributes
    ----------
    nodal : NodalValues
        At the nodes of each element: `nodal.state` and `nodal.multipliers`, shaped as the parameters.
    """

    _problem: Any = None  # of kinds whose solutions are asked for more than a motion tells
    _beside: Any = 0.0  # of a phase, sizes of the whole motion, beside which it may rest

    def __getstate__(self) -> dict[str, Any]:
        """Copies in other processes know no problem."""
        return {name: value for name, value in vars(self).items() if name != "_problem"}

    @property
    def end(self) -> tuple[float, np.ndarray]:
        """Time and state at the end."""
        return float(self.t[-1]), self.z[-1]

    @property
    def parameters(self) -> dict[str, Any]:
        """Unknown numbers that the problem asked for, by name."""
        found = self.statistics.get("parameters", {})
        if found:
            self._warn_if_failed()
        return found

    @property
    def success(self) -> bool:
        """Whether the solve succeeded; `status` says why not."""
        return self.status.success

    @property
    def is_root(self) -> bool:
        """Whether this process is the first of those under `mpirun`, or the only one: the one to print."""
        return rank() == 0

    def __repr__(self):
        return (f"Solution({self.element!r}, {counted(len(self.t) - 1, 'element')}, "
                f"t = {self.t[0]:g} to {self.t[-1]:g}, {self.status.reason})")

    # ---- dense output

    def __call__(self, t: Floats, *, side: str = "right") -> np.ndarray:
        """State `z = (q, p)` at times inside the solution, from the shape functions; shape t.shape + (n_z,).

        Where momenta jump, at impacts, on that `side`: "right", after it, or "left".
        """
        return self._interpolate(self.nodal.state, self.element.state.basis, t, side)

    def multipliers(self, t: Floats, *, kind: str | None = None, minimum_norm: bool = False) -> np.ndarray:
        """Multipliers `(gamma, mu)`, shape t.shape + (n_multipliers,), for forces `-G^T gamma` on the coordinates.

        Of gaps between points gamma is the force on body a [N]; turns have the signs of their formulas, and `joint`
        gives forces and torques of joints.

        In the order of `system.constraint_names`, gamma first. Redundant constraints that were dropped have none, and
        the kept ones carry their forces, unless `minimum_norm` is True: then the forces are shared out evenly among
        all constraints, in the order of `system.complete.constraint_names` (see `minimum_norm_multipliers` in
        `timefem.mechanics.states.redundancy`).

        Parameters
        ----------
        t : array_like
            Times [s].
        kind : {"consistent", "element"}, optional
            "consistent": those for which `d/dt Theta = 0` at the states, as accurate as these (see
            `System.consistent_multipliers`), with the forces of controls and contacts. "element": those of the time
            element, of its degree and order, which are what it keeps in `nodal.multipliers`. Default: consistent ones,
            those of the element where mass matrices have no inverse.

        Raises
        ------
        InputError
            For consistent ones where constraints are redundant, or the mass matrix has no inverse.
        """
        kind = validate.choice("kind", kind or MULTIPLIERS[not rates_follow(self.system)], MULTIPLIERS)
        values, rolling = self._constraint_forces(t) if kind == "consistent" else (
            self._interpolate(self.nodal.multipliers, self.element.multiplier.basis, t), rolling_of_elements(self, t))
        return shared_out(self, t, values, rolling)[0] if minimum_norm else values

    def _constraint_forces(self, t):
        """Consistent multipliers of all constraints, and of the nonholonomic ones."""
        return consistent_multipliers(self, t)

    def _pressed_forces(self, t):
        """Forces that see those of contacts, at times (n,): dict part -> (the part that does so, what it sees)."""
        return {}

    def joint(self, joint: Part | str) -> JointMotion | TreeJointMotion:
        """Motion and reactions of a joint; see `timefem.solution.joint_motion.JointMotion`."""
        return joint_motion.joint_motion(self, joint)

    def field(self, name: str, t: Floats | None = None) -> np.ndarray:
        """A further field of the element, such as the velocities qdot of EML, at times inside the solution.

        Parameters
        ----------
        name : str
            One of `fields`; or "costates", of optimal control, shape t.shape + (n_z,): from the multipliers of the
            discrete equations, per unit of time, the gradient of the cost by a disturbance of `(dp/dt, dq/dt)`, in the
            order of `z`.
        t : array_like, optional
            Times [s]; default: the ends of the elements, for fields that are continuous.

        Returns
        -------
        ndarray, shape t.shape + (n_components,)

        Raises
        ------
        InputError
            When the element has no such field, or a time lies outside of the solution.
        """
        own = FIELD if name == COSTATES else name
        if own not in self.fields:
            has = ", ".join(map(repr, self.fields)) or "none"
            raise InputError(f"{self.element!r} has no field {name!r}; further fields of this solution: {has}")
        space = self.element.trial[own]
        values, basis = costates_of(self) if name == COSTATES else (self.fields[own], space.basis)
        if t is not None:
            return self._interpolate(values, basis, t)
        if not space.continuous or not len(values):
            raise InputError(f"the field {name!r} has no values at the ends of the elements; give times")
        return np.concatenate([values[:1, 0], values[:, -1]])

    def controls(self, t: Floats, actuator: Part | str | None = None) -> np.ndarray:
        """Controls of all actuators in the order of the system, or of one.

        Parameters
        ----------
        t : array_like
            Times inside the solution [s].
        actuator : Actuator or str, optional
            The actuator as it was made or as the system has it, or its name; default: all.

        Returns
        -------
        ndarray, shape t.shape + (n_controls,)
            In the units of the actuators, [N] or [N m].

        Raises
        ------
        InputError
            When the problem determines no controls, or the actuator is not in the system.
        """
        values = self.field("controls", t)
        if actuator is None:
            return values
        own = actuator if isinstance(actuator, str) else self.system.here(actuator)
        first = 0
        for part in self.system.parts:
            if part.n_controls and own in (part, self.system.label(part)):
                return values[..., first:first + part.n_controls]
            first += part.n_controls
        raise InputError(f"{actuator!r} is not an actuator of the system")

    @property
    def objective(self) -> float:
        """Cost of an optimal control problem.

        Raises
        ------
        InputError
            When there is none, or the solve failed.
        """
        if "objective" not in self.statistics:
            raise InputError("the solution has no objective: it is not of an optimal control problem")
        if not self.success:
            raise InputError(f"the solve failed ({self.status.reason}), so that there is no objective; that of the "
                             "last iterate is statistics['objective']")
        return self.statistics["objective"]

    def _warn_if_failed(self):
        """Warn where numbers are read that a solve of the whole time span did not find."""
        if not self.success and ("objective" in self.statistics or self.statistics.get("parameters")):
            warn(f"the solve failed ({self.status.reason}): these are numbers of its last iterate, no "
                 "solution", NotSolved)

    def _places(self, t, side="right"):
        """Elements and reference coordinates of times, where elements meet in the one on that side."""
        try:
            e, xi = TimeMesh(self.t).locate(t)
        except InputError as error:
            if self.success:
                raise
            raise InputError(f"{error}; the solve failed: {self.status.message}") from None
        if validate.choice("side", side, ("right", "left")) == "left":
            e = np.where((xi == 0) & (e > 0), e - 1, e)
            xi = (t - self.t[e]) / np.diff(self.t)[e]
        return e, xi

    def _interpolate(self, values, basis, t, side="right"):
        try:
            t = np.asarray(t, float)
        except (TypeError, ValueError):
            raise InputError(f"times must be numbers, not {t!r}") from None
        if len(self.t) == 1:
            raise InputError(f"no element was solved ({self.status.reason}); the solution holds the initial state only")
        self._warn_if_failed()
        e, xi = self._places(t.ravel(), side)
        out = np.einsum("pi,pia->pa", basis.values(xi), values[e])
        return out.reshape(*t.shape, values.shape[-1])

    def _body(self, body, t, quantity="position", side="right"):
        """The body, its coordinates and its momenta (of links of a tree rates), when it has that quantity."""
        body = self.system.find(body)
        if not hasattr(body, quantity):
            raise InputError(f"{self.system.label(body)} has no {quantity.replace('_', ' ')}: it is {body!r}")
        z = self(t, side=side)
        if couples_inertia(self.system) and quantity in ("velocity", "angular_velocity"):
            z = with_own_momenta(self.system, t, z, self.rates(t, side=side))
        return body, *self.system.local_state(body, z)

    def position(self, body: BodyFrame | str, t: Floats) -> np.ndarray:
        """Place of a body [m], shape t.shape + (3,): its centre of mass; of a link of a tree the origin of its frame.

        `tree.link(name, point)` is another point of a link. Of bodies that a system solves in joint coordinates it is
        the centre of mass, as of others.

        Parameters
        ----------
        body : Body, link, point of a beam, or str
        t : array_like
            Times inside the solution [s].

        Raises
        ------
        InputError
            For a body that has none, and times outside of the solution.
        """
        body, q, _ = self._body(body, t)
        return body.position(q)

    def coordinates(self, body: BodyFrame | str, t: Floats) -> np.ndarray:
        """Generalized coordinates q of a body, shape t.shape + (n_q,).

        Parameters
        ----------
        body : Body, link, point of a beam, or str
        t : array_like
            Times inside the solution [s].

        Raises
        ------
        InputError
            For a body that has none, and times outside of the solution.
        """
        return self._body(body, t, "n_q")[1]

    def velocity(self, body: BodyFrame | str, t: Floats, *, side: str = "right") -> np.ndarray:
        """Velocity of that place [m/s], shape t.shape + (3,); of a `GeneralizedBody` qdot, t.shape + (n_q,).

        Parameters
        ----------
        body : Body, link, point of a beam, or str
        t : array_like
            Times inside the solution [s].
        side : {"right", "left"}
            At impacts, after or before.

        Raises
        ------
        InputError
            For a body that has none, and times outside of the solution.
        """
        body, q, p = self._body(body, t, "velocity", side)
        return body.velocity(q, p)

    def rotation_matrix(self, body: BodyFrame | str, t: Floats) -> np.ndarray:
        """Rotation matrix, body to space, shape t.shape + (3, 3).

        Parameters
        ----------
        body : Body, link, point of a beam, or str
        t : array_like
            Times inside the solution [s].

        Raises
        ------
        InputError
            For a body that has none, and times outside of the solution.
        """
        body, q, _ = self._body(body, t, "rotation_matrix")
        return body.rotation_matrix(q)

    def quaternion(self, body: BodyFrame | str, t: Floats) -> np.ndarray:
        """Quaternion, scalar first, of a body in quaternions, shape t.shape + (4,).

        Parameters
        ----------
        body : Body, link, point of a beam, or str
        t : array_like
            Times inside the solution [s].

        Raises
        ------
        InputError
            For a body that has none, and times outside of the solution.
        """
        body, q, _ = self._body(body, t, "quaternion")
        return body.quaternion(q)

    def angular_velocity(self, body: BodyFrame | str, t: Floats, frame: str = "body", *,
                         side: str = "right") -> np.ndarray:
        """Angular velocity [rad/s], shape t.shape + (3,).

        Parameters
        ----------
        body : Body, link, point of a beam, or str
        t : array_like
            Times inside the solution [s].
        frame : {"body", "space"}
            Axes of its components.
        side : {"right", "left"}
            At impacts, after or before.

        Raises
        ------
        InputError
            For a body that has none, and times outside of the solution.
        """
        body, q, p = self._body(body, t, "angular_velocity", side)
        return body.angular_velocity(q, p, frame)

    def rates(self, t: Floats, *, side: str = "right") -> np.ndarray:
        """Velocities qdot of all coordinates, shape t.shape + (n_q,): those of the momenta; at impacts on that `side`,
        "right", after it, or "left"."""
        t, z = np.asarray(t, float), self(t, side=side)
        if not couples_inertia(self.system):
            return self.system.velocity(t, z)
        if "velocity" in self.fields and len(self.t) > 1:
            return self._interpolate(self.fields["velocity"], self.element.trial["velocity"].basis, t, side)
        pairs = zip(t.ravel(), z.reshape(-1, z.shape[-1]), strict=True)
        return np.array([consistent_velocity(self.system, *pair, least=True) for pair in pairs]).reshape(*t.shape, -1)

    def along(self, beam: CurveMesh | str, s: Floats | None = None, t: Floats | None = None) -> Along:
        """Positions, rotations, strains, section forces and moments, and velocities along a beam or rope.

        Parameters
        ----------
        beam : Beam, Rope or str
        s : array_like, shape (n,), optional
            Places, as `beam.at` takes them; default: four intervals per element.
        t : array_like, optional
            Times inside the solution [s]; default: the ends of the elements.

        Returns
        -------
        Along
            Arrays of shape t.shape + (n, ...), see `timefem.mechanics.composites.along.Along`.
        """
        t = self.t if t is None else np.asarray(t, float)
        return beams.along(self.system, beam, s, (t, self(t)[..., :self.system.n_q], self.rates(t)))
