"""What a field has values for: places of the components of every part among those of the whole system."""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ..mechanics.symbols import Symbols
from ..polynomials import gauss_legendre


class Components(NamedTuple):
    """Components of one sort.

    Attributes
    ----------
    size : int
        Of the whole system.
    places : list of ndarray of int, shape (n_parts, n_local)
        Per group of parts, where the local components stand.
    """

    size: int
    places: list


def _state(system):
    return Components(system.n_z, [g.state_index for g in system.groups])


def _coordinates(system):
    return Components(system.n_q, [g.state_index[:, :g.state_index.shape[1] // 2] for g in system.groups])


def _multipliers(system):
    """Own ones, then the forces of the constraints of `reactions_of`."""
    every = np.arange(system.n_multipliers)
    return Components(system.n_multipliers, [np.tile(every, (len(g.state_index), 1)) if g.part.sees_multipliers
                                             else np.hstack([g.multiplier_index, g.reaction_index])
                                             for g in system.groups])


def _constraints(system):
    places = [g.multiplier_index[:, :g.multiplier_index.shape[1] // 2] for g in system.groups]
    return Components(system.n_constraints, places)


def _joints(system):
    """Constraints that do not belong to a body alone."""
    every = _constraints(system).places
    places = [p[:, :0] if g.part.is_body else p for g, p in zip(system.groups, every, strict=True)]
    taken = np.sort(np.concatenate([p.ravel() for p in places]))
    return Components(len(taken), [np.searchsorted(taken, p) for p in places])


def _nonholonomic(system):
    return Components(system.n_nonholonomic, [g.nonholonomic_index for g in system.groups])


def _nonholonomic_pairs(system):
    """Those of the nonholonomic constraints, then those of their rates."""
    n = system.n_nonholonomic
    places = [np.concatenate([g.nonholonomic_index, g.nonholonomic_index + n], axis=1) for g in system.groups]
    return Components(2 * n, places)


def _increments(system):
    """Increments of the bodies' coordinates that keep the bodies' own constraints."""
    stops = np.cumsum([b.n_increments for b in system.bodies]).tolist()
    own = {b: np.arange(stop - b.n_increments, stop) for b, stop in zip(system.bodies, stops, strict=True)}
    places = [[np.concatenate([np.zeros(0, int), *(own[f.body] if f.is_body else own[f.body][f.dofs]
                                                   for f in part.frames)])
               for part in group.members] for group in system.groups]
    return Components(stops[-1], [np.array(place) for place in places])


def _controls(system):
    """Controls of the actuators; a part sees those of `part.controls`."""
    actuators = [p for p in system.parts if p.n_controls]
    stops = np.cumsum([a.n_controls for a in actuators]).tolist()
    own = {a: np.arange(stop - a.n_controls, stop) for a, stop in zip(actuators, stops, strict=True)}
    places = [[np.concatenate([np.zeros(0, int), *(own[a] for a in part.controls)]) for part in group.members]
              for group in system.groups]
    return Components(stops[-1] if stops else 0, [np.array(place) for place in places])


def _strains(system):
    """Strains of the parts that state them."""
    sizes = [ca.SX(g.part.strains(Symbols(g.part))).numel() for g in system.groups]
    numbers = [n * len(g.members) for n, g in zip(sizes, system.groups, strict=True)]
    every = np.split(np.arange(sum(numbers)), np.cumsum(numbers)[:-1])
    return Components(sum(numbers), [places.reshape(len(g.members), -1) if n else np.zeros((len(g.members), 0), int)
                                     for n, g, places in zip(sizes, system.groups, every, strict=True)])


COMPONENTS = {"state": _state, "coordinates": _coordinates, "multipliers": _multipliers, "constraints": _constraints,
              "impulses": _constraints, "joints": _joints, "strains": _strains, "increments": _increments,
              "controls": _controls, "nonholonomic": _nonholonomic, "nonholonomic pairs": _nonholonomic_pairs}


def components(system, names):
    """The `Components` of a system, for those in `names`: names, or functions of the system."""
    return {name: COMPONENTS[name](system) if isinstance(name, str) else name(system) for name in dict.fromkeys(names)}


# ---- nonholonomic constraints in time elements

AVERAGE_POINTS = 3  # exact for Pfaffians up to degree 5 in the coordinates; those of quaternions have at most 3


def nonholonomic_values(element, system, times, state):
    """Guess of the multipliers of nonholonomic constraints: consistent at the first state, shape (n_elements, n, m).

    Arguments as for `TimeElement.nodal_values`. Second multipliers, of rates, are zero, and so are all of systems whose
    mass matrix has no inverse in symbols.
    """
    if not system.n_nonholonomic:
        return np.zeros((len(state), 1, 0))
    space = element.trial["nonholonomic"]
    values = np.zeros((len(state), space.basis.n_shapes, components(system, [space.components])[space.components].size))
    if len(state) and system.has_inverse_mass and not any(body.velocity_by_solve for body in system.bodies):
        values[..., :system.n_nonholonomic] = system.consistent_nonholonomic(times[0, 0], state[0, 0])
    return values


def velocity_form(s, q, velocity, t):
    """`A(q, t) velocity + a(q, t)` of a part in one step, SX; `s` are `StepSymbols`."""
    return s._terms("velocity_form", q, velocity, t) if s.part.nonholonomic_names else ca.SX(0, 1)


def averaged(f, q0, q1):
    """Average vector field, Gebhardt & Romero (89), (93): the mean of `f` on the line from q0 to q1."""
    points, weights = gauss_legendre(AVERAGE_POINTS)
    return sum(w * f(q0 + x * (q1 - q0)) for x, w in zip(points.tolist(), weights.tolist(), strict=True))


def transposed_form(s, q, multipliers, t):
    """`A(q, t)^T multipliers` of a part in one step, SX."""
    if not multipliers.numel():
        return ca.SX(q.numel(), 1)
    velocity = ca.SX.sym("v", q.numel())
    return ca.jtimes(velocity_form(s, q, velocity, t), velocity, multipliers, True)
