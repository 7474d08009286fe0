"""Checks of arguments that all kinds of problems take."""

import numpy as np

from ...assembly import TimeMesh
from ...errors import InputError


def checked_mesh(mesh, t_span):
    """The mesh as a `TimeMesh`; InputError when it does not cover the time span."""
    mesh = mesh if isinstance(mesh, TimeMesh) else TimeMesh(mesh)
    if not np.allclose(mesh.nodes[[0, -1]], t_span, rtol=1e-12, atol=1e-12):
        raise InputError(f"mesh covers [{mesh.nodes[0]:g}, {mesh.nodes[-1]:g}], but the time span of the problem is "
                         f"[{t_span[0]:g}, {t_span[1]:g}]")
    return mesh
