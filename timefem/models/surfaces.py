"""Masses of what surfaces enclose, and convex hulls."""

import numpy as np
import scipy

from ..errors import InputError


def surface_mass(triangles, kind="exact"):
    """Volume, centre and inertia about it for a density of one.

    As MuJoCo has them: sums over tetrahedra between the triangles and a point, the centre of the faces for the centre,
    and that for the inertia.

    Parameters
    ----------
    triangles : ndarray, shape (n, 3, 3)
        Corners, turning to the left as seen from outside.
    kind : {"exact", "convex", "legacy", "shell"}
        "legacy" counts every tetrahedron as positive, so that surfaces which are not star-shaped come out too heavy;
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
