"""Nodal values on another mesh."""

import numpy as np


def transferred(values, element, mesh, other_element, sizes, other_mesh):
    """Nodal values by field on another mesh of the same span, for an element that may have another degree.

    `sizes` are the numbers of components of its fields. Fields that the first element does not have are zero. Costates
    of tests that are not polynomials through nodes are taken from the element that was there, as they are: near enough
    for a guess.
    """
    out = {}
    span, other = mesh.nodes[[0, -1]], other_mesh.nodes[[0, -1]]
    same_mesh = np.array_equal(mesh.nodes, other_mesh.nodes)
    for name, space in other_element.trial.items():
        if not hasattr(space.basis, "points"):
            middles = (other_mesh.nodes[1:] + other_mesh.nodes[:-1]) / 2
            e, _ = mesh.locate(span[0] + (middles - other[0]) * ((span[1] - span[0]) / (other[1] - other[0])))
            same = name in values and values[name].shape[1] == space.basis.n_shapes
            out[name] = values[name][e] if same else np.zeros((len(e), space.basis.n_shapes, sizes[name]))
            continue
        if same_mesh and name in values and element.trial[name].basis == space.basis:
            out[name] = values[name]
            continue
        points = other_mesh.points(space.basis)
        if name not in values:
            out[name] = np.zeros((*points.shape, sizes[name]))
            continue
        basis = element.trial[name].basis
        # of a node at an end, the element that it belongs to counts
        inside = other_mesh.nodes[:-1, None] + other_mesh.lengths[:, None] * np.clip(space.basis.points, 1e-9, 1 - 1e-9)
        t, at = (span[0] + (v - other[0]) * ((span[1] - span[0]) / (other[1] - other[0])) for v in (points, inside))
        e, _ = mesh.locate(np.clip(at, *span))
        xi = (t - mesh.nodes[e]) / mesh.lengths[e]
        out[name] = np.einsum("eni,enia->ena", basis.values(xi.ravel()).reshape(*xi.shape, -1), values[name][e])
    return out
