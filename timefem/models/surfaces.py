"""Masses of shapes and of what surfaces enclose, convex hulls, meshes from files (the extra `robots`)."""

import io
import os

import numpy as np
import scipy

from ..errors import InputError
from ..mechanics.bodies import rotations
from .document import read_file

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
            raise InputError("meshes are read by trimesh, which is not installed: pip install timefem[robots]") \
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


# ---- Masses and inertias of shapes, and orientations as files state them

NO_MASS = "plane", "hfield"


def inertia_of(kind, size):
    """Volume, and inertia about the centre for a mass of one, shape (3,); the long axis is z.

    `size`: radius; radius and half length; half edges or half axes.
    """
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * np.pi * r**3, np.full(3, 0.4 * r**2)
    if kind == "box":
        x, y, z = np.square(size[:3])
        return 8 * np.prod(size[:3]), np.array([y + z, x + z, x + y]) / 3
    if kind == "ellipsoid":
        x, y, z = np.square(size[:3])
        return 4 / 3 * np.pi * np.prod(size[:3]), np.array([y + z, x + z, x + y]) / 5
    r, half = size[:2]
    middle = 2 * np.pi * r**2 * half
    along, across = r**2 / 2, r**2 / 4 + half**2 / 3
    if kind == "cylinder":
        return middle, np.array([across, across, along])
    ends = 4 / 3 * np.pi * r**3  # of a capsule: two half spheres, whose centres are 3/8 r from their planes
    share = ends / (ends + middle)
    of_ends = 0.4 * r**2 + half**2 + 0.75 * half * r
    across, along = (1 - share) * across + share * of_ends, (1 - share) * along + share * 0.4 * r**2
    return ends + middle, np.array([across, across, along])


def shell_of(kind, size):
    """Area of a thin shell, and inertia about the centre for a mass of one, shape (3,); as `inertia_of`."""
    if kind == "sphere":
        r = size[0]
        return 4 * np.pi * r**2, np.full(3, 2 / 3 * r**2)
    if kind == "box":
        areas = 8 * np.prod(size[:3]) / size[:3]  # of the pairs of faces across x, y, z
        squares = areas.sum() * np.square(size[:3]) / 3 + 2 / 3 * areas * np.square(size[:3])  # integrals of x^2, ...
        return areas.sum(), (squares.sum() - squares) / areas.sum()
    r, half = size[:2]
    side, ends = 4 * np.pi * r * half, (4 if kind == "capsule" else 2) * np.pi * r**2
    along, across = side * r**2, side * (r**2 / 2 + half**2 / 3)
    if kind == "cylinder":
        along, across = along + ends * r**2 / 2, across + ends * (r**2 / 4 + half**2)
    else:  # half spheres, whose centres are r/2 from their planes
        along, across = along + ends * 2 / 3 * r**2, across + ends * (2 / 3 * r**2 + half**2 + half * r)
    return side + ends, np.array([across, across, along]) / (side + ends)


def joined(masses):
    """Mass, centre and inertia about it of bodies (mass, centre, inertia about their centres), as a triple."""
    mass = sum(m for m, _, _ in masses)
    centre = sum((m * c for m, c, _ in masses), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for m, c, j in masses:
        d = c - centre
        inertia += j + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, centre, inertia


def about(axis, angle):
    """Rotation matrix about an axis, of any length."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return rotations.matrix_from_quaternion(np.append(np.cos(angle / 2), np.sin(angle / 2) * axis))


def from_z(direction):
    """The smallest rotation that brings z to a direction."""
    z, axis = direction / np.linalg.norm(direction), np.array([-direction[1], direction[0], 0.0])
    if np.linalg.norm(axis) < 1e-14 * np.linalg.norm(direction):
        return np.diag([1.0, 1.0, 1.0]) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return about(axis, np.arctan2(np.hypot(z[0], z[1]), z[2]))


def from_euler(angles, sequence):
    """Rotation matrix of Euler angles: x, y, z about moving axes, X, Y, Z about fixed ones."""
    turn = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        one = about(np.eye(3)["xyz".index(letter.lower())], angle)
        turn = turn @ one if letter.islower() else one @ turn
    return turn


# ---- Masses of what surfaces enclose, and convex hulls

def surface_mass(triangles, kind="exact"):
    """Volume, centre and inertia about it for a density of one.

    As MuJoCo has them: sums over tetrahedra between the triangles and a point, the centre of the faces for the centre,
    and that for the inertia.

    Parameters
    ----------
    triangles : ndarray, shape (n, 3, 3)
        Corners, turning to the left as seen from outside.
    kind : {"exact", "convex", "legacy", "shell"}
        "legacy" counts every tetrahedron as positive, so that surfaces which are not star-shaped are too heavy;
        "shell" has the mass on the surface, and its area in place of the volume.

    Returns
    -------
    float, ndarray (3,), ndarray (3, 3)
    """
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2  # times areas
    middles, areas = triangles.mean(axis=1), np.linalg.norm(normals, axis=1)

    def shares(origin):
        """Volumes, or areas."""
        if kind == "shell":
            return areas
        volumes = np.einsum("ij,ij->i", middles - origin, normals) / 3
        return np.abs(volumes) if kind == "legacy" else volumes

    if not areas.sum() > 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    inner = areas @ middles / areas.sum()
    weights = shares(inner)
    if not weights.sum() > 0:
        return float(weights.sum()), np.zeros(3), np.zeros((3, 3))
    centre = weights @ (0.75 * middles + 0.25 * inner) / weights.sum()
    corners, weights = triangles - centre, shares(centre)
    total = corners.sum(axis=1)
    products = np.einsum("i,ia,ib->ab", weights, total, total) + np.einsum("i,ica,icb->ab", weights, corners, corners)
    products /= 12 if kind == "shell" else 20
    return float(weights.sum()), centre, np.trace(products) * np.eye(3) - products


def hull(points):
    """Faces of a convex hull, shape (n, 3), which turn to the left as seen from outside.

    Raises
    ------
    InputError
        For points in a plane.
    """
    try:
        found = scipy.spatial.ConvexHull(points)
    except scipy.spatial.QhullError:
        raise InputError("has points in a plane, which have no convex hull") from None
    faces, corners = found.simplices, points[found.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, found.equations[:, :3]) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)
