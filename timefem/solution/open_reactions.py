"""Reactions of joints that rigid bodies leave open, because constraints repeat others."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .. import validate
from ..display import digits
from ..errors import Undetermined, warn
from ..mechanics.redundancy.redundancy import OPTIONS, balanced_multipliers
from ..mechanics.states.in_trees import names_of_joints
from ..memory import Late
from .invariants import AXES, all_multipliers

scipy = Late("scipy")

_LAST = WeakKeyDictionary()  # solution -> times, multipliers, and `Shared`, there: joints are asked for one by one


class Shared(NamedTuple):
    """What holds itself in balance at times, apart from other such sets.

    Attributes
    ----------
    multipliers : ndarray, shape (..., n, k)
        Of the complete system, nonholonomic ones last; columns are combinations in balance, or zero.
    size : float
        Of what each of them adds in `others`.
    others : list of tuple
        `all_multipliers` with a combination added.
    presses : dict
        "force", "torque" -> whether some joint has some of it along what is open.
    """

    multipliers: np.ndarray
    size: float
    others: list[tuple]
    presses: dict[str, bool]


def determined(motion, t, axes, which):
    """The "force" or "torque" of a joint; `Undetermined` where constraints that repeat others leave some of it open.

    A force is linear in the multipliers: what those add that hold each other in balance is open. Where none of the
    forces of the joints lie along that, nothing presses on what they share: they are zero for each way to share it.

    Parameters
    ----------
    motion : JointMotion or TreeJointMotion
    t : array_like or None
    axes : {"space", "a", "b"}
    which : {"force", "torque"}
    """
    validate.choice("axes", axes, AXES)
    solution = motion.solution
    if solution.system.complete is None:
        return motion._reaction(t, axes)[("force", "torque").index(which)]
    t = solution.t if t is None else np.asarray(t, float)
    found, opened = _opened(motion, t, axes, which)
    for number, (open_part, pressed) in opened.items():
        if pressed or _presses(solution, t, number, which):
            amount = np.linalg.norm(open_part, axis=-1)
            at = np.unravel_index(amount.argmax(), amount.shape)
            _warn(motion, which, t[at], open_part[at], axes, _shared(solution, t)[1][number])
            break
    return found


def _opened(motion, t, axes, which):
    """The force or torque of a joint; and number of a `Shared` -> the part of it that this leaves open, (..., 3), and
    whether that is more than rounding; of those that leave some open."""
    i, opened = ("force", "torque").index(which), {}
    values, shared = _shared(motion.solution, t)
    found = motion._reaction(t, axes, values)[i]
    for number, one in enumerate(shared):
        free = np.stack([(motion._reaction(t, axes, other)[i] - found) / one.size for other in one.others], axis=-1)
        vectors, sizes, _ = np.linalg.svd(free, full_matrices=False)
        seen = sizes > OPTIONS.dependent * np.abs(one.multipliers).max(axis=(-2, -1))[..., None]
        if seen.any():
            spans = vectors * seen[..., None, :]
            open_part = np.einsum("...ik,...jk,...j->...i", spans, spans, found)
            opened[number] = open_part, np.abs(open_part).max() > OPTIONS.dependent * max(one.size, np.abs(found).max())
    return found, opened


def _presses(solution, t, number, which):
    """Whether loads press on what a set shares: whether some joint has a force along what it leaves open."""
    presses = _shared(solution, t)[1][number].presses
    if which not in presses:
        joints = map(solution.joint, names_of_joints(solution.system))
        found = (_opened(motion, t, "space", which)[1].get(number) for motion in joints)
        presses[which] = any(one is not None and one[1] for one in found)
    return presses[which]


def _shared(solution, t):
    """`all_multipliers` at times of any shape, and list of `Shared` there."""
    last = _LAST.get(solution)
    if last is None or not np.array_equal(last[0], t):
        system, number, values = solution.system.complete, len(solution.system.dropped), all_multipliers(solution, t)
        states, first = solution(t).reshape(-1, system.n_z), values[0].shape[-1]
        size = max(np.abs(x).max(initial=0.0) for x in values[:2]) or 1.0
        balanced = np.array([balanced_multipliers(system, *at, number) for at in zip(t.ravel(), states, strict=True)])
        linked = np.zeros((balanced.shape[1],) * 2)
        for one in balanced:
            both = np.abs(one @ one.T)
            own = np.sqrt(np.diag(both))
            linked = np.maximum(linked, both / np.maximum(np.outer(own, own), np.finfo(float).tiny))
        labels = scipy.sparse.csgraph.connected_components(linked > OPTIONS.dependent, directed=False)[1]
        sets = []
        for label in np.unique(labels[balanced.any(axis=(0, 2))]):
            own = np.where((labels == label)[:, None], balanced, 0.0).reshape(*t.shape, *balanced.shape[1:])
            others = [(values[0] + size * more[..., :first], values[1] + size * more[..., first:], *values[2:])
                      for more in np.moveaxis(own, -1, 0)]
            sets.append(Shared(own, size, others, {}))
        last = _LAST[solution] = t, values, sets
    return last[1:]


def _warn(motion, which, t, open_part, axes, shared):
    system, first, names = motion.solution.system.complete, 0, []
    used = np.abs(shared.multipliers).reshape(-1, *shared.multipliers.shape[-2:]).max(axis=(0, 2))
    held = [(part, part.constraint_names) for part in system.parts]
    held += [(part, part.nonholonomic_names) for part in system.parts]
    for part, own in held:
        if used[first:first + len(own)].any() and not part.is_body:
            names.append(system.label(part))
        first += len(own)
    unit, amount = {"force": "N", "torque": "N m"}[which], np.linalg.norm(open_part)
    along = f", along {digits(np.round(open_part / amount, 3) + 0.0)}" if amount else ""
    frame = f" of body {axes}" if amount and axes != "space" else ""
    warn(f"the {which} of the joint {motion.name!r} is not determined: constraints of "
         f"{', '.join(dict.fromkeys(names))} repeat others, and rigid bodies leave open how joints share forces; "
         f"{amount:.4g} {unit} of it{along}{frame}, at t = {t:.6g}, are what the least sum of squares of multipliers "
         "gives, which depends on the coordinates; joints that hold less, or springs in place of a joint, determine it",
         Undetermined)
