"""From where a motion is looked at."""

from typing import NamedTuple

import numpy as np

from ... import validate
from ...errors import InputError
from .options import OPTIONS

AXES = "xyz"


class View(NamedTuple):
    """A direction of looking.

    Attributes
    ----------
    up : int
        The axis of space that points up or down on the page: 0, 1, 2.
    sign : {1, -1}
        Whether it points up.
    elevation, azimuth : float
        Of the viewer along that axis over the plane of the other two, and in it [degrees].
    """

    up: int
    sign: int
    elevation: float
    azimuth: float

    @classmethod
    def of(cls, system, points, view=None, up=None):
        """The view that is asked for, or one that suits a motion.

        Parameters
        ----------
        system : System
            Up is against its gravity unless given; z without gravity.
        points : ndarray, shape (n, 3)
            Centres of bodies, joints and ends of springs [m]. Where they lie in a plane through the axis that points
            up, it is looked at from its normal.
        view : str or (float, float), optional
            "xy", "xz", "yz" or another pair of axes, to the right and up; or elevation and azimuth [degrees].
        up : str, optional
            "x", "y", "z", "-x", "-y" or "-z".
        """
        if isinstance(view, str):
            if len(view) != 2 or set(view) - set(AXES) or len(set(view)) != 2:
                raise InputError("view must be a pair of axes as 'xz', or (elevation, azimuth) [degrees], not "
                                 f"{view!r}")
            if up is not None and up != view[1]:
                raise InputError(f"view={view!r} has {view[1]} up; leave out up={up!r}")
            return cls.along(*map(AXES.index, view))
        if up is None:
            up, sign = _against_gravity(system)
        else:
            validate.choice("up", up, [s + a for s in ("", "-") for a in AXES])
            up, sign = AXES.index(up[-1]), -1 if up[0] == "-" else 1
        if view is not None:
            elevation, azimuth = validate.array("view", view, (2,))
            return cls(up, sign, float(elevation), float(azimuth))
        extent = np.ptp(points, axis=0)
        flat = np.flatnonzero(extent <= OPTIONS.flat * extent.max())
        if extent.max() and len(flat) == 1 and flat[0] != up:
            right = 3 - up - flat[0]
            view = cls.along(right, up)
            return view if sign > 0 else view._replace(sign=-1, azimuth=view.azimuth + 180)  # right stays right
        return cls(up, sign, sign * OPTIONS.elevation, OPTIONS.azimuth)

    @classmethod
    def along(cls, right, up):
        """The view with one axis to the right and another one up."""
        return cls(up, 1, 0.0, -90.0 if right == (up + 1) % 3 else 0.0)

    @property
    def flat(self):
        """Whether one axis cannot be seen."""
        return self.elevation == 0 and self.azimuth % 90 == 0

    @property
    def camera(self):
        """Unit vectors on the page in space: right, up, and towards the viewer, shape (3, 3)."""
        e, a = np.radians([self.elevation, self.azimuth])
        order = [(self.up + 1) % 3, (self.up + 2) % 3, self.up]
        front, right, up = np.zeros((3, 3))
        front[order] = np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)
        right[order] = -np.sin(a), np.cos(a), 0
        up[order] = -np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)
        return np.stack([self.sign * right, self.sign * up, front])


def _against_gravity(system):
    gravity = next((part.acceleration for part in system.parts if hasattr(part, "acceleration")), None)
    if gravity is None or not np.any(gravity):
        return 2, 1
    up = int(np.argmax(np.abs(gravity)))
    return up, -1 if np.ravel(gravity)[up] > 0 else 1
