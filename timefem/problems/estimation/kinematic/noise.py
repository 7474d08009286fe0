"""Spectral densities of accelerations, or of their rates, as users state them."""

from collections.abc import Mapping

import numpy as np

from ....display import digits
from ....errors import InputError
from ....mechanics.inversion.direct import coordinate_names
from ....mechanics.states.in_trees import tree_joint
from ..prior import numbers_of

REMEDY = ("noise says how much accelerations change: a spectral density [rad^2/s^3, m^2/s^3], or a dict from joints "
          "and bodies to these, such as {'all': 50.0}")


def densities(geometry, noise):
    """Spectral densities of coordinates, shape (n_q,), and of turns about the axes of bodies, shape (n_turns, 3).

    Parameters
    ----------
    geometry : Geometry
    noise : float or dict
        Of all coordinates, or of joints, bodies, trees, or their names, or "all": a number, one of each coordinate, or,
        of bodies that turn, a pair (of the place, of the turn).

    Raises
    ------
    InputError
        For densities that are not positive, for what is not in the system, and for what is left out.
    """
    if not isinstance(noise, Mapping):
        noise = {"all": noise}
    system = geometry.system
    of_coordinates, of_turns = np.full(geometry.n, np.nan), np.full((len(geometry.turns), 3), np.nan)
    named = [key for key in noise if not (isinstance(key, str) and key == "all")]
    for key in [*(["all"] if "all" in noise else []), *named]:
        value = noise[key]
        for body in _own(system) if isinstance(key, str) and key == "all" else (_found(system, key),):
            title = f"noise of {system.label(body)}"
            _take(geometry, body, value, title, of_coordinates, of_turns)
    free = np.concatenate([of_coordinates, of_turns.ravel()])
    of_coordinates[geometry.followers] = 1e8 * np.nanmax(free, initial=1.0)  # so that what they follow counts once
    _check_all(geometry, of_coordinates, of_turns)
    return of_coordinates, of_turns


def check_noise(system, noise):
    """InputError for what `densities` refuses of the names and signs of a problem's noise."""
    if noise is None:
        raise InputError("dynamics='none' needs noise, a spectral density of accelerations [rad^2/s^3, m^2/s^3]: the "
                         "square of how much velocities change in a second, such as noise=50.0")
    for key, value in noise.items() if isinstance(noise, Mapping) else [("all", noise)]:
        title = "noise"
        if not (isinstance(key, str) and key == "all"):
            title = f"noise of {system.label(_found(system, key))}"
        for one in value if isinstance(value, tuple) else (value,):
            _positive(title, one, np.size(one))


def _own(system):
    return [body for body in system.bodies if not body.helper]


def _found(system, key):
    """A body, or a joint of a tree."""
    try:
        joint = tree_joint(system, key)
        return system.find(key) if joint is None else joint
    except InputError as error:
        raise InputError(f"noise: {error}") from None


def _take(geometry, body, value, title, of_coordinates, of_turns):
    places = np.arange(geometry.n)[geometry.system.coordinates(body)]
    turning = [i for i, (_, local) in enumerate(geometry.turns) if np.isin(geometry.touched[local], places).all()]
    straight = np.setdiff1d(places, geometry.touched[np.concatenate(
        [np.zeros(0, int), *(geometry.turns[i][1] for i in turning)])])
    pair = value if isinstance(value, tuple) and len(value) == 2 and turning else (value, value)
    if len(straight):
        of_coordinates[straight] = _positive(title, pair[0], len(straight))
    for i in turning:
        of_turns[i] = _positive(title, pair[1], 3)


def _positive(title, value, n):
    """One number, or one of each of n."""
    values = numbers_of(title, value, n)
    if not np.all(values > 0):
        raise InputError(f"{title}: spectral densities must be positive, not {digits(values.min())}")
    return values


def _check_all(geometry, of_coordinates, of_turns):
    turning = geometry.touched[np.concatenate([np.zeros(0, int), *(local for _, local in geometry.turns)])]
    lacking = np.setdiff1d(np.flatnonzero(np.isnan(of_coordinates)), turning)
    known = coordinate_names(geometry.system)
    names = [known[i] for i in lacking]
    names += [known[geometry.touched[local][0]] for (_, local), own in zip(geometry.turns, of_turns, strict=True)
              if np.isnan(own).any()]
    if names:
        raise InputError(f"noise: none is given for {names[0]}" + (f" and {len(names) - 1} more" * (len(names) > 1)) +
                         f"; {REMEDY}")
