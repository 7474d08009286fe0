"""Redundant constraints left out, and their multipliers shared out."""

import casadi as ca
import numpy as np

from ...errors import InputError, named_arguments
from ...memory import Late
from ...records import frozen
from ..numbers.arguments import own_parameters
from ..part import Part
from ..parts import seeing
from ..symbols import Symbols
from ..system import System
from ..values.of_parts import has_reaction_forces, nonholonomic_derivatives
from .consistent_multipliers import RANK_TOLERANCE, null_space, redundant_names, redundant_rows

scipy = Late("scipy")

__all__ = ["Selected", "drop_redundant", "keep_constraints", "minimum_norm_multipliers", "redundant_constraints",
           "redundant_rows"]


@frozen
class OpenOptions:
    """What counts as rounding where constraint forces are open."""

    noise: float = 1e-7  # entries of unit vectors: states hold their constraints to 1e-9
    dependent: float = 1e-6  # sum of the terms by which a force depends on open ones, over their size


OPTIONS = OpenOptions()


@named_arguments
def redundant_constraints(system: System, t: float, z: np.ndarray) -> list[str]:
    """Names of the constraints that repeat others at a state, the last one first.

    A constraint is redundant when its gradient, restricted to the motions that the bodies' own constraints allow, is a
    combination of those before it: of several that repeat one another the later ones are named. The constraints of the
    bodies themselves count as first, and nonholonomic ones, by their gradient by the velocities, as last.

    Parameters
    ----------
    system : System
    t : float
        Time [s].
    z : array_like, shape (n_z,)
        A state that satisfies the constraints (see `assemble`): elsewhere redundant constraints may not be seen.

    Returns
    -------
    list of str
        As in `system.constraint_names` and `system.nonholonomic_names`.
    """
    return redundant_names(system, t, z)


class Selected(Part):
    """A joint of which only some constraints are kept.

    Parameters
    ----------
    part : Part
    rows, forms : tuple of int
        The constraints that are kept, and the nonholonomic ones.
    name : str
    """

    def __init__(self, part, rows, forms, name):
        self.part, self.rows, self.forms, self.name = part, tuple(rows), tuple(forms), name
        self.key = Selected, part.key, self.rows, self.forms
        self.bodies, self.own_parameters = part.bodies, part.own_parameters
        self.constraint_names = tuple(part.constraint_names[i] for i in self.rows)
        self.nonholonomic_names = tuple(part.nonholonomic_names[i] for i in self.forms)

    def __repr__(self):
        return f"Selected({self.part!r}, {self.rows}, {self.forms})"

    @property
    def whole(self):
        return self.part

    def numbers(self, c):
        return {"own": own_parameters(self.part, c.part)}

    @property
    def kinks(self):
        return self.part.kinks

    @property
    def t_span(self):
        return self.part.t_span

    @property
    def kind(self):
        return (Selected, self.part.kind, self.rows, self.forms)

    def energy(self, s):
        return self.part.energy(s)

    def force(self, s):
        return self.part.force(s)

    def constraints(self, s):
        return _chosen(self.part.constraints(s), self.rows)

    def velocity_constraints(self, s):
        return _chosen(self.part.velocity_constraints(s), self.rows)

    def workless_motions(self):
        return self.part.workless_motions()

    def velocity_form(self, s):
        return _chosen(self.part.velocity_form(s), self.forms)


def _chosen(rows, which):
    return rows[list(which)] if which else ca.SX(0, 1)  # indexed with no rows it would be of shape (0, 0)


def drop_redundant(system, t, z):
    """The same system without the constraints that are redundant at a state.

    The motion is the same as long as they stay redundant, that is for mechanisms whose mobility does not change; the
    kept constraints carry all forces. Which ones are kept is settled at this state (see `redundant_constraints`).

    Parameters
    ----------
    system : System
    t : float
        Time [s].
    z : array_like, shape (n_z,)
        A state that holds the constraints.

    Returns
    -------
    System
        With the same bodies and the same names, `complete` (the system given), `kept` (numbers of the kept constraints
        there, nonholonomic ones after the others) and `dropped` (names of the others); or the system given, when
        nothing is redundant.

    Raises
    ------
    InputError
        When constraints of a body itself repeat one another.
    """
    redundant = redundant_rows(system, t, z)
    if not redundant:
        return system
    check_determined(system, t, z)
    return keep_constraints(system, np.setdiff1d(np.arange(system.n_constraints + system.n_nonholonomic), redundant))


def check_determined(system, t, z):
    """InputError where a force depends on forces of constraints that others share in any way, at a state.

    Its derivative along the multipliers that hold each other in balance has to vanish, at any multipliers and
    velocities: here at some that are in no special position.
    """
    if not has_reaction_forces(system):
        return
    z = np.asarray(z, float)
    balanced = balanced_multipliers(system, t, z)
    for group in system.groups:
        if not group.part.reactions_of:
            continue
        s, w = Symbols(group.part), ca.SX.sym("w", group.reaction_index.shape[1])
        s.velocity = [ca.SX.sym("v", body.n_q) for body in group.part.bodies]
        q, v = ca.vertcat(*s.q), ca.vertcat(*s.velocity)
        slope = ca.Function("slope", [q, v, s.t, s.parameters, w], [
            ca.densify(ca.jacobian(group.part.multiplier_force(s, w), w))])
        generic = [np.cos(1.0 + np.arange(x.numel())) for x in (v, w)]
        for part, state, seen, numbers in zip(group.members, group.state_index, group.reaction_index, group.parameters,
                                              strict=True):
            matrix = np.array(slope(z[state[:len(state) // 2]], generic[0], t, numbers, generic[1]))
            own = balanced[seen]
            if np.abs(matrix @ own).max() > OPTIONS.dependent * (np.abs(matrix) @ np.abs(own)).max():
                raise InputError(f"{system.label(part)} depends on the force of "
                                 f"{' and '.join(map(system.label, part.reactions_of))}, which redundant constraints "
                                 "leave open: rigid bodies do not tell how they share it; take joints that hold less, "
                                 "such as Spherical ones instead of a Revolute, and Planar ones instead of a "
                                 "Prismatic")


def balanced_multipliers(system, t, z, number=None):
    """Multipliers of constraints, nonholonomic ones last, that hold each other in balance at a state: shape
    (n_constraints + n_nonholonomic, number), columns of unit length where rows of gradients have it; as many as the
    rank tells unless the number is given."""
    gradient = system.derivatives(t, z)[1][:system.n_constraints, :system.n_q].toarray()
    if system.n_nonholonomic:
        gradient = np.concatenate([gradient, nonholonomic_derivatives(system, t, z)[0].toarray()])
    size = np.linalg.norm(gradient, axis=1, keepdims=True)
    size[size == 0] = 1.0
    unit = (gradient / size).T
    balanced = scipy.linalg.null_space(unit, rcond=RANK_TOLERANCE) if number is None else \
        np.linalg.svd(unit)[2][len(gradient) - number:].T
    return np.where(np.abs(balanced) > OPTIONS.noise, balanced, 0.0) / size


def keep_constraints(system, kept):
    """The system with only some of its constraints, which `complete`, `kept` and `dropped` tell about.

    Parameters
    ----------
    system : System
    kept : array_like of int
        Numbers in `system.constraint_names`, then those of `system.nonholonomic_names`, increasing.

    Raises
    ------
    InputError
        When constraints of a body itself are left out.
    """
    parts, first, first_form, kept = [], 0, system.n_constraints, np.array(kept, dtype=int)
    for part in system.parts:
        rows, forms = (kept[(start <= kept) & (kept < start + len(names))] - start for start, names in (
            (first, part.constraint_names), (first_form, part.nonholonomic_names)))
        first, first_form = first + len(part.constraint_names), first_form + len(part.nonholonomic_names)
        if len(rows) == len(part.constraint_names) and len(forms) == len(part.nonholonomic_names):
            parts.append(part)
        elif part.is_body:
            raise InputError(f"the constraints of {system.label(part)} itself repeat one another; remove those that do")
        else:
            parts.append(Selected(part, rows.tolist(), forms.tolist(), system.label(part)))
    reduced = System([_seeing_kept(part, parts) for part in parts])
    reduced.stands_for = system.stands_for
    reduced.complete, reduced.kept = system, kept
    names = system.constraint_names + system.nonholonomic_names
    reduced.dropped = [names[i] for i in np.setdiff1d(np.arange(len(names)), kept)]
    return reduced


def _seeing_kept(part, parts):
    """A part that sees what is kept of the constraints that its force depends on."""
    if not part.reactions_of:
        return part
    rows = {p.part: p.rows for p in parts if isinstance(p, Selected)}
    kept, first = [], 0
    for other in part.reactions_of:
        n = len(other.constraint_names)
        kept += [first + i for i in rows.get(other, range(n))]
        first += n
    return seeing(part, None if len(kept) == first else tuple(kept))


def minimum_norm_multipliers(system, t, z, multipliers):
    """Multipliers of all constraints, the dropped ones too, with the same forces and the smallest sum of squares.

    With redundant constraints the forces of single joints are not determined by rigid-body mechanics; this shares them
    out evenly, in the units of the constraints. Solves `B^T lambda = B_kept^T lambda_kept`, B the gradient of Theta.
    What counts are the multipliers of joints: those by which rigid bodies hold themselves together are what they then
    have to be, so that the result does not depend on the rotation (quaternions or directors).

    Parameters
    ----------
    system : System
        A system made by `drop_redundant`, such as `solution.system`; of any other the multipliers are the only ones.
    t : array_like, shape (...)
        Times [s].
    z : array_like, shape (..., n_z)
        States, `solution(t)`.
    multipliers : array_like, shape (..., n_multipliers) or (..., n_multipliers + n_nonholonomic)
        Those of the kept constraints, `solution.multipliers(t)`; with those of nonholonomic ones, these share as well.

    Returns
    -------
    ndarray, shape (..., complete.n_multipliers) or (..., complete.n_multipliers + complete.n_nonholonomic)
        `(gamma, mu)` in the order of `complete.constraint_names`, then those of `complete.nonholonomic_names`;
        `complete` is `system.complete`, or the system.
    """
    z, multipliers = np.asarray(z, float), np.asarray(multipliers, float)
    complete = system.complete
    if complete is None:
        return multipliers.copy()
    shape, m, rolls = z.shape[:-1], complete.n_constraints, multipliers.shape[-1] > system.n_multipliers
    kept, forms = system.kept[system.kept < m], system.kept[system.kept >= m] + m
    kept = np.concatenate([kept, kept + m, *([forms] if rolls else [])])
    rigid = np.concatenate([np.full(len(p.constraint_names), p.has_orientation) for p in complete.parts])
    every = 2 * m + (complete.n_nonholonomic if rolls else 0)
    own = np.flatnonzero(np.tile(rigid, 2))
    joints = np.setdiff1d(np.arange(every), own)
    scale = np.concatenate([np.ones(complete.n_q), complete.mass_scale])  # velocity level per momentum -> per velocity
    times = np.broadcast_to(np.asarray(t, float), shape).ravel()
    out = np.zeros((len(times), every))
    for i, (state, values) in enumerate(zip(z.reshape(-1, complete.n_z), multipliers.reshape(len(times), len(kept)),
                                            strict=True)):
        jacobian = complete.derivatives(times[i], state)[1].toarray() * scale
        if every > 2 * m:
            form = nonholonomic_derivatives(complete, times[i], state)[0].toarray()
            jacobian = np.concatenate([jacobian, np.hstack([form, np.zeros_like(form)])])
        force = jacobian[kept].T @ values
        free = null_space(jacobian[own])
        # redundant gradients differ by the drift of the state from the constraints, hence the generous cut
        out[i, joints] = np.linalg.lstsq(free.T @ jacobian[joints].T, free.T @ force, rcond=1e-7)[0]
        out[i, own] = np.linalg.lstsq(jacobian[own].T, force - jacobian[joints].T @ out[i, joints], rcond=None)[0]
    return out.reshape(*shape, every)
