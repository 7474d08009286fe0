"""What an element with lifted gradients keeps of a system, decided from its formulas before anything is solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import scipy

from ..display import Card, Summarized
from ..mechanics.formulas.formula import polynomial_degree
from ..mechanics.symbols import Symbols
from ..records import frozen

if TYPE_CHECKING:
    from ..mechanics.system import System

AXES = ("linear momentum along x", "linear momentum along y", "linear momentum along z",
        "angular momentum about x", "angular momentum about y", "angular momentum about z")
ROUNDING = 1e-12  # of coefficients, by the largest of theirs


@frozen
class Kept(Summarized):
    """What an element keeps of a system to round-off.

    Attributes
    ----------
    energy : bool
        Whether energy is kept; else it changes by the work of `working`, in each element to round-off, and with the
        order where parts are `drifting`.
    working : tuple of str
        Parts that do work: forces, controls, what depends on the time.
    momenta : ndarray, shape (n, 6)
        Basis of the momenta that are kept, in those along and about the axes of space.
    reasons : dict
        Part -> why momenta are not all kept by it.
    order : int
        With which those are kept that the motion keeps and the element does not.
    drifting : tuple of str
        Bodies whose mass matrix varies with their coordinates, of Livens' forms: no lift makes their kinetic energy a
        function of what is quadratic, so that energy is kept with the order.
    """

    energy: bool
    working: tuple[str, ...]
    momenta: np.ndarray
    reasons: dict[str, str]
    order: int
    drifting: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The momenta that are kept, in words."""
        return tuple(map(_named, self.momenta))

    def summary(self) -> Card:
        """As a table: text where it is printed, HTML in a notebook."""
        energy = []
        if self.drifting:
            energy.append(f"to h^{self.order}: the mass matrix varies of {', '.join(self.drifting)}")
        if self.working:
            energy.append("changes by the work of " + ", ".join(self.working))
        facts = {"energy": "; ".join(energy) or "to round-off",
                 "constraints": "as without lifts" if self.drifting else "at the nodes to round-off, with their rates",
                 "momenta to round-off": ", ".join(self.names) or "none"}
        return Card("kept", facts, {"momenta not kept by": [("part", "why"), *self.reasons.items()]} if self.reasons
                    else {})


def kept(element, system: System) -> Kept:
    """See `MixedGalerkin.kept`."""
    lost, reasons, working, drifting = [np.zeros((1, 6))], {}, [], []
    for part in system.parts:
        label = system.label(part)
        if _works(part):
            working.append(label)
        if element.form != "hamilton" and part.is_body and _mass_varies(part):
            drifting.append(label)
            lost.append(np.eye(6))
            reasons[label] = (
                f"its mass matrix varies with its coordinates: they are kept to h^{2 * element.degree}; bodies with "
                "constraints, in Hamilton's form, keep more")
            continue
        lost.append(_lost(part))
        if lost[-1].any():
            reasons[label] = _why(part, element)
    # of all at once: of what is left, round-off would count
    free = scipy.linalg.null_space(np.concatenate(lost), rcond=ROUNDING)
    return Kept(not (working or drifting), tuple(working), _reduced(free.T), reasons, 2 * element.degree,
                tuple(drifting))


def _why(part, element):
    """Why momenta are not all kept by a part."""
    lift, over = part.lift(Symbols(part)), part.constraint_lift(Symbols(part))
    if len(part.bodies) == 1 and not part.is_body and over is None:
        return "it acts from space"
    kept = f"what it leaves to the motion is kept to h^{2 * element.degree}"
    if lift is None and over is None:
        return f"it has no lift that turns of space leave unchanged: {kept}"
    return f"its lift turns with space: {kept}; bodies in directors keep it"


def _mass_varies(body):
    s = Symbols(body)
    v = [ca.SX.sym("v", body.n_q)]
    return ca.depends_on(ca.hessian(ca.SX(body.kinetic(s, v)), v[0])[0], s.q[0])


def _works(part):
    s = Symbols(part)
    s.velocity = [ca.SX.sym("v", b.n_q) for b in part.bodies]
    force = ca.SX(part.force(s))
    if part.reactions_of:
        return True
    timed = ca.vertcat(ca.SX(part.potential_energy(s)), part.constraints(s))
    working = force.nnz() and not force.is_zero() and not part.lossless
    return bool(part.controls or working or ca.depends_on(timed, s.t))


def _lost(part):
    """Coefficients that have to vanish for the momenta to be kept by a part, shape (n, 6)."""
    bodies, s = part.bodies, Symbols(part)
    z = ca.vertcat(*s.q, *s.p)
    motions = [body.rigid_motion(q) for body, q in zip(bodies, s.q, strict=True)]
    if not bodies:
        return np.zeros((0, 6))
    if any(m is None for m in motions):
        return np.eye(6)
    momenta = sum(m.T @ p for m, p in zip(motions, s.p, strict=True))
    n = z.numel() // 2
    slopes = ca.jacobian(momenta, z)
    turn = ca.horzcat(slopes[:, n:], -slopes[:, :n]).T  # J grad L, one column per momentum
    numbers = np.concatenate([[0.0], part.parameters])
    symbols = z, ca.vertcat(s.t, s.parameters)
    lift = part.lift(s)
    lift, over = part.lift(s), part.constraint_lift(s)

    def energy(e):
        return part.energy(_at(s, e)) if lift is None else part.lifted_energy(s, e)

    def constraints(e):
        if over is not None:
            return part.lifted_constraints(s, e, s.t)
        return ca.vertcat(part.constraints(_at(s, e)), part.velocity_constraints(_at(s, e)))

    lost = [_of_function(z if lift is None else ca.SX(lift), energy, turn, symbols, numbers)]
    if part.constraint_names:
        lost.append(_of_function(z if over is None else over, constraints, turn, symbols, numbers))
    return np.concatenate(lost)


def _at(s, z):
    sizes = np.cumsum([0, *(x.numel() for x in (*s.q, *s.p))]).tolist()
    pieces, n = ca.vertsplit(z, sizes), len(s.q)
    return s.at(pieces[:n], pieces[n:])


def _of_function(e, function, turn, symbols, numbers):
    """Coefficients of `W_e(e~) {e, L}` for functions W(e), as polynomials of z and of e~ where e is not linear in z.

    Where W is not a polynomial of second degree, those of the brackets of all that it depends on.
    """
    z, parameters = symbols
    y = ca.SX.sym("e", e.numel())
    w = ca.densify(ca.SX(function(y)))
    fields = ca.jtimes(e, z, turn)  # {e, L}, (n_e, 6)
    at = ca.Function("at", [y, parameters], [ca.densify(ca.jacobian(w, y))])
    curved = [ca.Function("h", [y, parameters], [ca.densify(ca.hessian(w[i], y)[0])]) if polynomial_degree(w[i], y) <= 2
              else None for i in range(w.numel())]
    zero = np.zeros(y.numel())
    slopes = np.array(at(zero, numbers)) if any(curved) else None
    brackets = _coefficients(fields, z, parameters, numbers)  # 1, (n_e, 6); z; z z
    own = _coefficients(e, z, parameters, numbers)
    turns = ca.Function("turns", [z, parameters], [turn, ca.jacobian(ca.vec(turn), z)])(0, numbers)  # linear in z
    size = _largest(own[1:]) * max(np.abs(np.array(x)).max() for x in turns)  # of brackets, as if no terms cancelled
    straight = np.array([not second.any() for second in own[2][..., 0].transpose(2, 0, 1)])
    lost, linear = [np.zeros((0, 6))], []
    for i, hessian in enumerate(curved):
        if hessian is None:
            seen = sorted(set(ca.jacobian(w[i], y).sparsity().get_triplet()[1]))
            gone = [k for k in range(6) if (ca.jacobian(w[i], y) @ fields[:, k]).is_zero()]
            found = np.concatenate([b[..., seen, :].reshape(-1, 6) for b in brackets])
            found[:, gone] = 0.0
            lost.append(_cleaned(found, size[seen].max()))
            continue
        h = np.array(hessian(zero, numbers))
        lead = slopes[i] + h[:, straight] @ own[0][straight, 0]
        rest = np.einsum("ej,aj->ea", h[:, straight], own[1][:, straight, 0])  # e~ of what is linear in z
        terms = [np.einsum("e,...ek->...k", lead, b) for b in brackets]
        terms[1] = terms[1] + np.einsum("ea,ek->ak", rest, brackets[0])
        terms[2] = terms[2] + _symmetric(np.einsum("ea,bek->abk", rest, brackets[1]))
        third = np.einsum("ea,bcek->abck", rest, brackets[2]) if brackets[2].any() and rest.any() else np.zeros((1, 6))
        if third.ndim == 4:
            third = sum(np.moveaxis(third, (0, 1, 2), order) for order in ((0, 1, 2), (1, 0, 2), (2, 0, 1)))
        found = np.concatenate([x.reshape(-1, 6) for x in (*terms, third)])
        if not h.any() and straight[np.flatnonzero(slopes[i])].all():
            linear.append((len(lost), i))
        largest = np.abs(slopes[i]) + np.abs(h[:, straight]) @ np.abs(own[0][straight, 0])
        largest = np.maximum(largest, np.abs(rest).max(axis=1))
        lost.append(_cleaned(found, (largest * size).max()))
        lost.append(_cleaned(np.concatenate([np.einsum("ej,...ek->...jk", h[:, ~straight], b).reshape(-1, 6)
                                             for b in brackets]), (np.abs(h).max(axis=1) * size).max()))
    if linear:  # rows that hold inside of the elements, too: brackets that are combinations of them
        rows = np.array([slopes[i] for _, i in linear])
        affine = np.concatenate([rows @ own[0][:, :1], rows @ own[1][..., 0].T], axis=1)
        affine[:, 0] += [float(ca.Function("w", [y, parameters], [w[i]])(zero, numbers)) for _, i in linear]
        for place, _ in linear:
            found = lost[place][:affine.shape[1]]
            if len(found) and not lost[place][affine.shape[1]:].any():
                outside = found - affine.T @ np.linalg.lstsq(affine.T, found, rcond=None)[0]
                lost[place] = _cleaned(outside, np.abs(found).max())
    lost = np.concatenate(lost)
    return np.linalg.qr(lost[lost.any(axis=1)], mode="r")


def _coefficients(values, z, parameters, numbers):
    """Taylor coefficients at zero of polynomials of z that are at most quadratic: shapes `(*v)`, `(n_z, *v)`,
    `(n_z, n_z, *v)` of values of shape `v`."""
    shape, flat = values.shape, ca.densify(ca.vec(values))
    first = ca.jacobian(flat, z)
    second = [ca.jacobian(first[:, a], z) for a in range(z.numel())]
    at = ca.Function("at", [z, parameters], [flat, ca.densify(first), *map(ca.densify, second)])
    zeroth, first, *second = (np.array(x) for x in at(np.zeros(z.numel()), numbers))

    def shaped(x):
        return x.reshape(*x.shape[:-1], *shape[::-1]).swapaxes(-1, -2)

    return shaped(zeroth.ravel()), shaped(first.T), shaped(np.array(second).transpose(0, 2, 1)) / 2


def _symmetric(x):
    return (x + np.swapaxes(x, 0, 1)) / 2


def _largest(coefficients):
    """The largest ones, shape `v` without its last axis."""
    return np.max([np.abs(c).reshape(-1, *c.shape[-2:]).max(axis=(0, -1)) for c in coefficients], axis=0)


def _cleaned(rows, size):
    """Without what is round-off of terms of this size, by the largest entry; (n, 6)."""
    rows = np.where(np.abs(rows) > ROUNDING * size, rows, 0.0)
    return rows / (np.abs(rows).max(initial=0.0) or 1.0)


def _reduced(basis):
    """Reduced echelon form of rows that are a basis."""
    rows, pivot = basis.copy(), 0
    for column in range(rows.shape[1]):
        if pivot == len(rows):
            break
        best = pivot + int(np.abs(rows[pivot:, column]).argmax())
        if abs(rows[best, column]) < 1e-9:
            continue
        rows[[pivot, best]] = rows[[best, pivot]]
        rows[pivot] /= rows[pivot, column]
        others = np.arange(len(rows)) != pivot
        rows[others] -= np.outer(rows[others, column], rows[pivot])
        pivot += 1
    return np.where(np.abs(rows) < 1e-12, 0.0, rows)


def _named(row):
    parts = [name if c == 1 else f"{c:.6g} times {name}" for c, name in zip(row, AXES, strict=True) if c]
    return " + ".join(parts)
