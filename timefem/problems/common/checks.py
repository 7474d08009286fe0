"""Checks of arguments that all kinds of problems take."""

from ...assembly import TimeMesh
from ...errors import InputError

CLOSE = 1e-12


def checked_mesh(mesh, t_span):
    """The mesh as a `TimeMesh`; InputError when it does not cover the time span."""
    mesh = mesh if isinstance(mesh, TimeMesh) else TimeMesh(mesh)
    (a, b), (t0, t1) = mesh.nodes[[0, -1]].tolist(), t_span
    if abs(a - t0) > CLOSE * (1 + abs(t0)) or abs(b - t1) > CLOSE * (1 + abs(t1)):
        raise InputError(f"mesh covers [{mesh.nodes[0]:g}, {mesh.nodes[-1]:g}], but the time span of the problem is "
                         f"[{t_span[0]:g}, {t_span[1]:g}]")
    return mesh
