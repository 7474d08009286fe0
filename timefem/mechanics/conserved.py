"""What stays the same along all motions of a system, whatever its actuators do: momenta of what floats, and of its
centre of mass where it goes evenly."""

import casadi as ca
import numpy as np

from .forces.controllers import Controller
from .forces.gravity import Gravity
from .joints.formula_part import FormulaPart
from .point_functions import evaluate
from .symbols import Symbols
from .values.evaluate import quantities_at
from .values.quantities import formulas_of

__all__ = ["conserved"]

NAMES = [f"{what} along {axis}" for what in ("linear momentum", "angular momentum about the origin",
                                              "angular momentum about the centre of mass", "centre of mass")
         for axis in "xyz"]
PLACES, SAMPLES = 3, 16  # configurations that tell nothing new, and motions with forces in each, by island
TRIES = 20  # of configurations, some of which are not found
AWAY = 0.3  # how far they are apart, scaled
NOTHING = 1e-9  # relative rate of what is constant


def conserved(system, t, z, hold):
    """Combinations of momenta, centre of mass and time that are constant along all motions, and what they are, mainly.

    Momenta are those of rigid motions of bodies that parts join. Their rates are found in a few configurations, with
    random velocities, controls and forces of constraints, and combinations that have none are kept: of what floats
    all, of what falls all but for `g t`, and of what turns on a vertical hinge the angular momentum about that; of
    bodies that nothing joins to others by themselves.

    Parameters
    ----------
    system : System
    t : float
        Of the start [s].
    z : ndarray, shape (n_z,)
        A state that holds the constraints.
    hold : callable
        `hold(z)` -> a state near another one that holds them, or None.

    Returns
    -------
    values : casadi.Function or None
        `values(z, t)`, of sizes about one; None where nothing is known to be constant.
    names : list of str
    """
    if not _may_be(system):
        return None, []
    quantities, rng = _Quantities(system, t), np.random.default_rng(0)
    rates, size = _rates(system, quantities, t, z, rng)
    known, same = _without_rates(rates / size), 0
    for _ in range(TRIES):
        if not known.shape[1] or same == PLACES:
            break
        at = hold(z + AWAY * system.state_scale * rng.standard_normal(len(z)))
        if at is None:  # with open joints much is lost that is kept
            continue
        rates, before = np.vstack([rates, _rates(system, quantities, t, at, rng)[0]]), known.shape[1]
        known = _without_rates(rates / size)
        same = same + 1 if known.shape[1] == before else 0
    if not known.shape[1] or same < PLACES:
        return None, []
    names = [quantities.names[int(np.argmax(np.abs(c[:-2])))] for c in known.T]
    return quantities.combined((known / size[:, None]).T), names


def _without_rates(rates):
    """Combinations of columns that are zero, shape (n, n_kept): as many single ones as there are."""
    alone = np.abs(rates).max(axis=0) <= NOTHING
    _, s, v = np.linalg.svd(rates[:, ~alone])
    others = v[np.count_nonzero(s > NOTHING * np.sqrt(len(rates))):]
    known = np.zeros((np.count_nonzero(alone) + len(others), len(alone)))
    known[:alone.sum(), alone], known[alone.sum():, ~alone] = np.eye(alone.sum()), others
    return known.T


def _may_be(system):
    """Whether trials tell: not of bodies without rigid motions or with momenta that are not their own, and not where
    forces come with the time, or from space and may be zero wherever they are tried, as those of contacts."""
    timed = any(formulas_of(group.part).depends_on_time for group in system.groups)
    moving = all(body.rigid_motion(ca.SX.sym("q", body.n_q)) is not None for body in system.bodies)
    return moving and not (timed or system.couples_inertia or system.n_nonholonomic or any(
        _comes_from_space(part) for part in system.parts))


def _comes_from_space(part):
    """Whether a part other than weight may push bodies from space: one body alone, or by what was written for places
    there, such as a floor under all bodies, with controls besides or not."""
    if part.is_body or isinstance(part, Gravity):
        return False
    sees_places = isinstance(part, FormulaPart | Controller) or not type(part).__module__.startswith("timefem.")
    if len(set(part.carriers)) > 1 and not sees_places:
        return False
    s = Symbols(part)
    forces = [part.force(s), part.potential_energy(s)]
    if part.n_controls and sees_places:
        forces.append(part.control_force(s, ca.SX.sym("u", part.n_controls)))
    return not all(ca.SX(force).is_zero() for force in forces)


def _islands(system):
    """Groups of bodies that no part but weight joins to others, list of lists."""
    groups = {body: [body] for body in system.bodies}
    for part in system.parts:
        if not isinstance(part, Gravity):
            joined = {id(group): group for body in part.carriers if (group := groups.get(body))}
            together = [body for group in joined.values() for body in group]
            groups |= dict.fromkeys(together, together)
    return list({id(group): group for group in groups.values()}.values())


class _Quantities:
    """What combinations are made of: those of `NAMES` of each island that are not zero always, and the time and its
    square, which falling bodies need.

    Attributes
    ----------
    names : list of str
    n_islands : int
    """

    def __init__(self, system, t0):
        self._z, self._t = ca.SX.sym("z", system.n_z), ca.SX.sym("t")
        since, groups = self._t - t0, _islands(system)
        self.n_islands = len(groups)
        rows = ca.vertcat(*(self._of_island(system, bodies, since) for bodies in groups), since, since**2)
        names = [name if len(groups) == 1 else f"{name} of {' and '.join(map(system.label, bodies))}"
                 for bodies in groups for name in NAMES]
        self._gradient = self._gradient_of(rows)
        some = system.state_scale * np.random.default_rng(0).uniform(1, 2, system.n_z)
        size = np.abs(self.gradient(some[None], np.array([t0 + 1.0]))[0]) @ np.append(system.state_scale, 1.0)
        there = np.flatnonzero(size > NOTHING * size.max()).tolist()
        self.names, self._rows, self._gradient = [names[i] for i in there[:-2]], rows[there], \
            self._gradient_of(rows[there])

    def _of_island(self, system, bodies, since):
        """Those of `NAMES` of some bodies."""
        total, mass, moment, n = ca.SX(6, 1), 0.0, ca.SX(3, 1), system.n_q
        for body in bodies:
            q, p = self._z[:n][system.coordinates(body)], self._z[n:][system.coordinates(body)]
            total += body.rigid_motion(q).T @ p
            if body.mass:
                centre = body.centre_of_mass(q, ca.SX(body.own_parameters))
                mass, moment = mass + body.mass, moment + body.mass * ca.vertcat(centre, ca.SX(3 - centre.numel(), 1))
        push, turning = total[:3], total[3:]
        about_centre = turning - ca.cross(moment / max(mass, 1e-300), push)
        return ca.vertcat(push, turning, about_centre, moment - since * push)

    def _gradient_of(self, rows):
        return ca.Function("gradient", [self._z, self._t, ca.SX(0, 1)], [
            ca.vec(ca.densify(ca.jacobian(rows, ca.vertcat(self._z, self._t))))])

    def gradient(self, z, t):
        """By state and time, shape (n_points, n, n_z + 1)."""
        values = evaluate(self._gradient, z[:, None], t, np.zeros((1, 0)))
        return values.reshape(len(z), z.shape[1] + 1, -1).swapaxes(1, 2)

    def combined(self, factors):
        """`f(z, t)` -> combinations, casadi.Function."""
        return ca.Function("conserved", [self._z, self._t], [ca.densify(ca.DM(factors) @ self._rows)])


def _rates(system, quantities, t0, z, rng):
    """Rates of the quantities at one configuration, (n_samples, n), and how large such sums may be, (n,)."""
    n, m, n_controls = system.n_q, system.n_constraints, sum(part.n_controls for part in system.parts)
    samples = SAMPLES * quantities.n_islands
    z, t = np.tile(z, (samples, 1)), t0 + rng.uniform(size=samples)
    z[:, n:] = system.state_scale[n:] * rng.standard_normal((samples, n))
    grad, jacobian = quantities_at(system, t, z, "gradient", "jacobian")
    pushed = system.control_force(t, z, rng.standard_normal((samples, n_controls)))
    pushed -= np.einsum("gm,gmn->gn", rng.standard_normal((samples, m)), jacobian.dense()[:, :m, :n])
    change = np.hstack([grad[:, n:], pushed - grad[:, :n], np.ones((samples, 1))])
    by = quantities.gradient(z, t)
    size = np.einsum("gkn,gn->gk", np.abs(by), np.abs(change) + np.append(system.state_scale, 0.0)).max(axis=0)
    return np.einsum("gkn,gn->gk", by, change), size
