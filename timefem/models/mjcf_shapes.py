"""What pictures show of an MJCF file: its shapes of groups 0 to 2, and meshes where their folder is given."""

import os

import numpy as np

from ..errors import InputError
from ..mechanics.bodies import rotations
from .meshes import Meshes

MOST_GROUP = 2  # MuJoCo's viewer shows groups 0 to 2; shapes for contacts alone are in higher ones


class Assets:
    """Meshes of an MJCF file by name.

    Parameters
    ----------
    file : XmlFile
    root : Element
    defaults : Defaults
    folder : str, path-like or None
        In which the paths of the file are; without it meshes are not drawn.
    """

    def __init__(self, file, root, defaults, folder):
        self.file, self.meshes = file, None if folder is None else Meshes(folder)
        compiler = {k: v for element in root.iterfind("compiler") for k, v in element.attrib.items()}
        self._inner = compiler.get("meshdir", compiler.get("assetdir", ""))
        self._bare = compiler.get("strippath", "false") == "true"
        self._given = {}
        for element in root.iterfind("asset/mesh"):
            given = defaults.complete(element, None)
            stem = os.path.splitext(os.path.basename(given.get("file", "")))[0]
            self._given[given.get("name", stem)] = element, given

    def surface(self, geom, name, values):
        """Points and faces of the mesh that a shape names, with its scale and frame; None where it is not drawn.

        `values(given, element, attribute, n, default)` are the numbers of an attribute.
        """
        if self.meshes is None:
            return None
        if name not in self._given:
            raise self.file.error(geom, f"names the mesh {name!r}, which no <asset> states")
        element, given = self._given[name]
        if "file" not in given:
            return None  # points in the file itself
        path = os.path.basename(given["file"]) if self._bare else given["file"]
        scale, origin = values(given, element, "scale", 3, (1, 1, 1)), values(given, element, "refpos", 3, (0, 0, 0))
        turn = values(given, element, "refquat", 4, (1, 0, 0, 0))
        if not np.linalg.norm(turn) > 0:
            raise self.file.error(element, "has a refquat of length zero")
        try:
            points, faces = self.meshes.surface(os.path.join(self._inner, path), scale)
        except InputError as error:
            raise self.file.error(element, str(error)) from None
        return (points - origin) @ rotations.matrix_from_quaternion(turn / np.linalg.norm(turn)), faces


def drawn(kind, given, size, place, turn, surface):
    """Shapes of a `Link` that show a geom in a frame of the link, list of dict; `surface` is of meshes."""
    if not given.get("group", "0").strip().lstrip("-").isdigit() or int(given.get("group", "0")) > MOST_GROUP:
        return []
    if kind == "mesh":
        return [] if surface is None else [{"shape": "surface", "points": surface[0] @ turn.T + place,
                                            "faces": surface[1].tolist()}]
    frame = {"position": place, "orientation": turn}
    if kind == "box":
        return [{"shape": "box", "size": 2 * size[:3], **frame}]
    if kind in ("sphere", "ellipsoid"):
        return [{"shape": "ellipsoid", "size": 2 * (np.repeat(size[0], 3) if kind == "sphere" else size[:3]), **frame}]
    width, half = 2 * size[0], size[1]
    shapes = [{"shape": "cylinder", "size": np.array([width, width, 2 * half]), **frame}]
    ends = (-half, half) if kind == "capsule" else ()
    return shapes + [{"shape": "ellipsoid", "size": np.repeat(width, 3), "position": place + turn[:, 2] * end,
                      "orientation": turn} for end in ends]
