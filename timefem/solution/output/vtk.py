"""Trajectories for ParaView: a `.pvd` collection with one VTK file per time."""

import base64
import os
from html import escape

import numpy as np

from ...atomic_write import as_path, check_writable, ending_of, folder_beside, replacing
from ...errors import InputError
from ..drawing.plots import sides
from ..drawing.scene import make_scene

VERTEX, LINE, POLYLINE, POLYGON, QUAD, HEXAHEDRON = 1, 3, 4, 7, 9, 12
ORDER = [0, 4, 6, 2, 1, 5, 7, 3]  # corners of a box in the order of VTK's hexahedron
KINDS = {"body": 0, "joint": 1, "rod": 2, "spring": 3, "damper": 4, "rope": 5, "beam": 6, "force": 7}
TYPES = {np.dtype("float64"): "Float64", np.dtype("int64"): "Int64", np.dtype("uint8"): "UInt8"}


def to_vtk(solution, path, times=None):
    """Write the motion for ParaView: `path` (.pvd), and one `.vtu` file per time in a folder of the same name.

    Bodies with a `size` are hexahedra or polygons, other rigid bodies three lines along their axes, point masses and
    joints vertices; rods, springs, dampers and forces of contacts are lines, ropes polylines, beams quadrilaterals.
    Point data: `velocity` [m/s] of the material point. Cell data: `number`, of the body or link among those drawn, and
    `kind`: 0 body, 1 joint, 2 rod, 3 spring, 4 damper, 5 rope, 6 beam, 7 force.

    Parameters
    ----------
    solution : Solution
    path : str or Path
        Must end in .pvd.
    times : array_like, shape (n_times,), optional
        Increasing, inside the solution [s]; default: 200 at equal distances.

    Raises
    ------
    InputError
        When the path cannot be written; see also `make_scene`.
    """
    path = as_path(path)
    if ending_of(path) != ".pvd":
        raise InputError(f"cannot write {path}: the name of a collection for ParaView must end in .pvd")
    check_writable(path)
    scene = make_scene(solution, times)
    folder = path.with_suffix("")
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"cannot write {path}: {folder} is not a folder; remove it, or choose another name")
    digits = len(str(len(scene.times) - 1))
    entries, grids = [], {}
    for n, t in enumerate(scene.times):
        name = f"{folder.name}_{n:0{digits}d}.vtu"
        grids[name] = n
        entries.append(f'<DataSet timestep="{float(t)!r}" file="{escape(folder.name)}/{name}"/>')
    with replacing(path) as temporary, folder_beside(path) as made:
        for name, n in grids.items():
            (made / name).write_text(_grid(*_cells(scene, n)), encoding="ascii")
        temporary.write_text(_file("Collection", "<Collection>\n" + "\n".join(entries) + "\n</Collection>\n"),
                             encoding="utf-8")
        folder.mkdir(exist_ok=True)
        for name in grids:  # all of them are on the disk
            os.replace(made / name, folder / name)


def _cells(scene, n):
    """Points, velocities, and cells (type, number of points, number, kind) at the time number n."""
    points, velocities, cells = [], [], []

    def add(x, v, shape, number, kind):
        points.append(x)
        velocities.append(v)
        cells.append((shape, len(x), number, KINDS[kind]))

    for number, body in enumerate(scene.bodies):
        x, omega = body.position[n], body.angular_velocity[n]
        for shape, corners in _shapes(body, n):
            add(corners, body.velocity[n] + np.cross(omega, corners - x), shape, number, "body")
    for number, link in enumerate(scene.links):
        x = link.points[n]
        add(x, link.velocities[n], {1: VERTEX, 2: LINE}.get(len(x), POLYLINE), number, link.kind)
    for number, curve in enumerate(scene.curves):
        x, v = curve.surface(n), curve.velocity_of_surface(n)
        for corners, velocity in zip(sides(x), sides(v), strict=True):
            add(corners, velocity, QUAD, number, "beam")
    return np.concatenate(points), np.concatenate(velocities), np.array(cells)


def _shapes(body, n):
    x, r = body.position[n], body.rotation[n]
    if body.shape == "box":
        return [(HEXAHEDRON, body.corners(n)[ORDER])]
    if body.faces:
        corners = body.corners(n)
        return [(POLYGON, corners[list(face)]) for face in body.faces]
    if body.shape == "sphere":
        return [(VERTEX, x[None])]
    return [(LINE, np.stack([x, x + size / 2 * axis])) for axis, size in zip(r.T, body.size, strict=True)]


def _grid(points, velocities, cells):
    """One unstructured grid as XML with numbers in base64."""
    shapes, sizes, numbers, kinds = cells.T
    arrays = (("PointData", {"velocity": velocities}), ("CellData", {"number": numbers, "kind": kinds}),
              ("Points", {"Points": points}),
              ("Cells", {"connectivity": np.arange(len(points)), "offsets": np.cumsum(sizes),
                         "types": shapes.astype(np.uint8)}))
    body = "".join(f"<{place}>\n" + "".join(_array(name, values) for name, values in data.items()) + f"</{place}>\n"
                   for place, data in arrays)
    return _file("UnstructuredGrid", f'<UnstructuredGrid>\n<Piece NumberOfPoints="{len(points)}" '
                                     f'NumberOfCells="{len(cells)}">\n{body}</Piece>\n</UnstructuredGrid>\n')


def _array(name, values):
    values = np.ascontiguousarray(values)
    data = values.astype(values.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(np.array([len(data)], "<u8").tobytes() + data).decode()
    width = values.shape[1] if values.ndim == 2 else 1
    return (f'<DataArray type="{TYPES[values.dtype]}" Name="{name}" NumberOfComponents="{width}" format="binary">'
            f"{text}</DataArray>\n")


def _file(kind, content):
    return (f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" '
            f'header_type="UInt64">\n{content}</VTKFile>\n')
