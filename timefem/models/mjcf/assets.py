"""Meshes of an MJCF file: their surfaces for pictures, and their masses."""

import os

import numpy as np

from ...errors import InputError
from ...mechanics.bodies import rotations
from ..surfaces import Meshes, hull, surface_mass

INERTIAS = "legacy", "convex", "exact", "shell"


class Assets:
    """Meshes of an MJCF file by name.

    Parameters
    ----------
    file : XmlFile
    root : Element
    defaults : Defaults
    folder : str, path-like or None
        In which the paths of the file are; without it only meshes whose points are in the file are there.
    exact : bool
        Whether the masses of meshes that state nothing are those of what they enclose.
    """

    def __init__(self, file, root, defaults, folder, exact):
        self.file, self.meshes, self._exact = file, None if folder is None else Meshes(folder), exact
        compiler = {k: v for element in root.iterfind("compiler") for k, v in element.attrib.items()}
        self._inner = compiler.get("meshdir", compiler.get("assetdir", ""))
        self._bare = compiler.get("strippath", "false") == "true"
        self._given = {}
        for element in root.iterfind("asset/mesh"):
            given = defaults.complete(element, None, check=False)
            stem = os.path.splitext(os.path.basename(given.get("file", "")))[0]
            self._given[given.get("name", stem)] = element, given
        self._defaults = defaults

    def surface(self, geom, name, values, whole=False):
        """Points and faces of the mesh that a shape names, as it is placed by the shape; None where they are not known.

        `values(given, element, attribute, n, default)` are the numbers of an attribute. With `whole` meshes of many
        faces have them all, and not those of their convex hull.
        """
        if name is None:
            raise self.file.error(geom, "has no attribute 'mesh'")
        if name not in self._given:
            raise self.file.error(geom, f"names the mesh {name!r}, which no <asset> states")
        element, given = self._given[name]
        raw = self._raw(element, given, values, whole)
        if raw is None:
            return None
        self._defaults.check(element, given, name=name)
        scale, origin = values(given, element, "scale", 3, (1, 1, 1)), values(given, element, "refpos", 3, (0, 0, 0))
        turn = values(given, element, "refquat", 4, (1, 0, 0, 0))
        if not np.linalg.norm(turn) > 0:
            raise self.file.error(element, "has a refquat of length zero")
        points = (raw[0] - origin) @ rotations.matrix_from_quaternion(turn / np.linalg.norm(turn)) * scale
        return points, raw[1][:, ::-1] if np.prod(scale) < 0 else raw[1]

    def _raw(self, element, given, values, whole):
        if "vertex" in given:
            points = values(given, element, "vertex", None)
            if len(points) % 3 or len(points) < 12:
                raise self.file.error(element, f"needs four points or more for 'vertex', not {len(points)} numbers")
            points = points.reshape(-1, 3)
            if "face" not in given:
                return points, self._hull(element, points)
            faces = values(given, element, "face", None)
            if len(faces) % 3 or np.any(faces % 1) or faces.min() < 0 or faces.max() >= len(points):
                raise self.file.error(element, f"needs numbers of points, from 0 to {len(points) - 1}, for 'face'")
            return points, faces.astype(int).reshape(-1, 3)
        if "file" not in given or self.meshes is None:
            return None
        path = os.path.basename(given["file"]) if self._bare else given["file"]
        try:
            return self.meshes.surface(os.path.join(self._inner, path), 1.0, whole)
        except InputError as error:
            raise self.file.error(element, str(error)) from None

    def _hull(self, element, points):
        try:
            return hull(points)
        except InputError as error:
            raise self.file.error(element, str(error)) from None

    def mass(self, geom, name, values):
        """Volume, centre (3,) and inertia about it per density (3, 3) of a mesh; with inertia "shell" its area in place
        of the volume. None where the mesh is not known."""
        found = self.surface(geom, name, values, whole=True)
        if found is None:
            return None
        element, given = self._given[name]
        kind = given.get("inertia", "exact" if self._exact else "legacy")
        if kind not in INERTIAS:
            raise self.file.error(element, f"has inertia={kind!r}; known are {', '.join(INERTIAS)}")
        points, faces = found
        if kind == "convex":
            faces = self._hull(element, points)
        volume, centre, inertia = surface_mass(points[faces], kind)
        if not volume > 0:
            raise self.file.error(element, "encloses no volume: check its faces, or state inertia='shell'")
        return volume, centre, inertia
