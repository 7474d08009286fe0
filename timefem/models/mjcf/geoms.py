"""Shapes of MJCF bodies: their masses, and what pictures show of them."""

import numpy as np

from ...errors import InputError
from ..surfaces import NO_MASS, from_z, inertia_of, shell_of

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3, "plane": 0, "hfield": 0, "mesh": 0,
         "sdf": 0}
LONG = "capsule", "cylinder", "box", "ellipsoid"  # that two points place
MOST_GROUP = 2  # MuJoCo's viewer shows groups 0 to 2; shapes for contacts alone are in higher ones


class Geoms:
    """Shapes of a file.

    Parameters
    ----------
    reader : BodyReader
    assets : Assets
    """

    def __init__(self, reader, assets):
        self.reader, self.assets, self.file = reader, assets, reader.file

    def given(self, element, where, name):
        """Attributes of a shape with those of its class, and its type."""
        given = self.reader.defaults.complete(element, where.inherited, name=name)
        kind = given.get("type", "sphere")  # also where a mesh is named: then the sphere fits it
        if kind not in SIZES:
            raise self.file.error(element, f"is of type {kind!r}; known are {', '.join(SIZES)}")
        return given, kind

    def mass(self, element, where, name):
        """(mass, centre, inertia about it) in the body; None where it is not known."""
        given, kind = self.given(element, where, name)
        values, settings = self.reader.values, self.reader.settings
        group = values(given, element, "group", None, (0,))[0]
        mass = None if "mass" not in given else float(values(given, element, "mass", 1)[0])
        density = float(values(given, element, "density", 1, (1000.0,))[0])
        low, high = settings.groups
        if kind in NO_MASS or not low <= group <= high or mass == 0 or (mass is None and density == 0):
            return 0.0, np.zeros(3), np.zeros((3, 3))
        if kind in ("mesh", "sdf"):
            found = self.assets.mass(element, given.get("mesh"), values) if kind == "mesh" else None
            if found is None:
                return None
            volume, centre, inertia = found
            x, r = self.reader.frame(given, element)
        else:
            solid = self.solid(element, given, kind)
            if solid is None:
                return None
            x, r, size = solid
            shell = given.get("shellinertia", "false") == "true"
            if shell and kind == "ellipsoid":
                raise self.file.error(element, "has shellinertia, which ellipsoids do not have here")
            volume, diagonal = (shell_of if shell else inertia_of)(kind, size)
            centre, inertia = np.zeros(3), volume * np.diag(diagonal)
        mass = density * volume if mass is None else mass
        r = where.turn @ r
        return mass, where.place + where.turn @ x + r @ centre, mass / volume * r @ inertia @ r.T

    def solid(self, element, given, kind):
        """Place, rotation matrix, and radii and half lengths of a shape; None of unknown meshes."""
        if "mesh" in given:
            return self._fitted(element, given, kind)
        x, r = self.reader.frame({k: v for k, v in given.items() if k != "fromto"}, element)
        size = self.reader.values(given, element, "size", None)
        if "fromto" in given and kind in LONG:
            a, b = np.split(self.reader.values(given, element, "fromto", 6), 2)
            if not np.linalg.norm(b - a) > 0:
                raise self.file.error(element, "has a fromto of length zero")
            x, r, half = (a + b) / 2, from_z(b - a), np.linalg.norm(b - a) / 2
            size = np.append(size[:SIZES[kind] - 1] if SIZES[kind] == 2 else np.repeat(size[:1], 2), half)
        if len(size) < SIZES[kind] or np.any(size[:SIZES[kind]] <= 0):
            raise self.file.error(element, f"needs {SIZES[kind]} positive numbers for 'size', not "
                                           f"{given.get('size')!r}")
        return x, r, size

    def _fitted(self, element, given, kind):
        """A shape that takes its size from a mesh: from the box of the same inertia, or from that around it."""
        found = self.assets.mass(element, given["mesh"], self.reader.values)
        if found is None:
            return None
        volume, centre, inertia = found
        moments, axes = np.linalg.eigh(inertia)
        moments, axes = moments[::-1], axes[:, ::-1] * np.sign(np.linalg.det(axes[:, ::-1]))  # the longest side is z
        scale = float(self.reader.values(given, element, "fitscale", 1, (1.0,))[0])
        if self.reader.settings.fit_boxes:
            points, _ = self.assets.surface(element, given["mesh"], self.reader.values, whole=True)
            local = (points - centre) @ axes
            half, centre = np.ptp(local, axis=0) / 2, centre + axes @ (local.max(axis=0) + local.min(axis=0)) / 2
            round_size = half[:2].max(), half[2] - half[:2].max() * (kind == "capsule")
            ball = half.max()
        else:
            half = np.sqrt(1.5 * (moments.sum() - 2 * moments) / volume)
            width = half[:2].mean()
            round_size = width, max(0.0, half[2] - width / 2) if kind == "capsule" else half[2]
            ball = half.mean()
        size = {"sphere": (ball,), "capsule": round_size, "cylinder": round_size}.get(kind, half)
        x, r = self.reader.frame(given, element)
        return x + r @ centre, r @ axes, scale * np.array(size, float)

    def drawn(self, element, where, name):
        """What pictures show of a shape, list of dict; what cannot be drawn makes a note."""
        try:
            return self._drawn(element, where, name)
        except InputError as error:
            self.reader.notes.add(f"not drawn: {error}")
            return []

    def _drawn(self, element, where, name):
        given, kind = self.given(element, where, name)
        group = given.get("group", "0").strip()
        if kind in (*NO_MASS, "sdf") or not group.lstrip("-").isdigit() or int(group) > MOST_GROUP:
            return []
        if kind == "mesh":
            surface = self.assets.surface(element, given.get("mesh"), self.reader.values)
            if surface is None:
                return []
            x, r = self.reader.frame(given, element)
            x, r = where.place + where.turn @ x, where.turn @ r
            return [{"shape": "surface", "points": surface[0] @ r.T + x, "faces": surface[1].tolist()}]
        solid = self.solid(element, given, kind)
        if solid is None:
            return []
        x, turn, size = solid
        return shown(kind, size, where.place + where.turn @ x, where.turn @ turn)


def shown(kind, size, place, turn):
    """A shape that is not a mesh as shapes of a `Link`, list of dict."""
    frame = {"position": place, "orientation": turn}
    if kind == "box":
        return [{"shape": "box", "size": 2 * size[:3], **frame}]
    if kind in ("sphere", "ellipsoid"):
        return [{"shape": "ellipsoid", "size": 2 * (np.repeat(size[0], 3) if kind == "sphere" else size[:3]), **frame}]
    width, half = 2 * size[0], size[1]
    shapes = [{"shape": "cylinder", "size": np.array([width, width, 2 * half]), **frame}] if half > 0 else []
    ends = (-half, half) if kind == "capsule" else ()
    return shapes + [{"shape": "ellipsoid", "size": np.repeat(width, 3), "position": place + turn[:, 2] * end,
                      "orientation": turn} for end in ends]
