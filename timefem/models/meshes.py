"""Surfaces of links from files of meshes, read by trimesh (the extra `meshes`)."""

import io
import os

import numpy as np

from ..errors import InputError
from .read_file import read_file

LARGEST = 200_000_000  # bytes of a file
MOST_FACES = 4000  # of a mesh that is drawn as it is; of a larger one its convex hull is drawn
PACKAGE = "package://", "model://", "file://"


class Meshes:
    """The meshes that a robot's file names, of one folder and no other.

    Parameters
    ----------
    folder : str or path-like
        In which `package://NAME/meshes/link.stl` is NAME/meshes/link.stl, or meshes/link.stl; other names are paths.

    Raises
    ------
    InputError
        When there is no such folder, or trimesh is not installed.
    """

    def __init__(self, folder):
        self.folder = os.path.realpath(os.fspath(folder))
        if not os.path.isdir(self.folder):
            raise InputError(f"meshes must be a folder, and {os.fspath(folder)!r} is none")
        try:
            import trimesh
        except ImportError:
            raise InputError("meshes are read by trimesh, which is not installed: pip install timefem[meshes]") \
                from None
        self._trimesh, self._known = trimesh, {}

    def path(self, name):
        """Path of a file that is named so, in the folder; None where there is none."""
        start = next((start for start in PACKAGE if name.startswith(start)), "")
        inner = name[len(start):]
        for tried in (inner, inner.partition("/")[2]) if start else (inner,):
            path = os.path.realpath(os.path.join(self.folder, tried.lstrip("/") if start else tried))
            if os.path.commonpath([self.folder, path]) == self.folder and os.path.isfile(path):
                return path
        return None

    def surface(self, name, scale, whole=False):
        """Points (n, 3) [m] and triangles (m, 3) of a mesh; of one with many faces those of its hull, unless `whole`.

        Raises
        ------
        InputError
            For a file that is not in the folder, too large, or no mesh.
        """
        path = self.path(name)
        if path is None:
            raise InputError(f"there is no file {name!r} in the folder {self.folder!r}")
        if (path, whole) not in self._known:
            self._known[path, whole] = self._read(path, whole)
        points, faces = self._known[path, whole]
        return points * scale, faces[:, ::-1] if np.prod(scale) < 0 else faces

    def _read(self, path, whole):
        kind = os.path.splitext(path)[1][1:].lower()
        try:
            mesh = self._trimesh.load(io.BytesIO(read_file(path, LARGEST)), file_type=kind, force="mesh")
            if len(mesh.faces) > MOST_FACES and not whole:
                mesh = mesh.convex_hull
            points, faces = np.array(mesh.vertices, float), np.array(mesh.faces, int)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except Exception as error:  # whatever a reader of some format meets in a damaged file
            raise InputError(f"{path} cannot be read as a mesh: {error or type(error).__name__}") from None
        if not len(faces) or not np.isfinite(points).all():
            raise InputError(f"{path} has no faces, or points that are not finite")
        return points, faces
