"""Files that `timefem plot` writes besides figures: films, pages, and data for other programs."""

from pathlib import Path

WRITERS = {".html": "save_html", ".gif": "animate", ".mp4": "animate", ".pvd": "to_vtk", ".csv": "to_csv",
           ".json": "to_json"}


def export(solution, path, times=None):
    """Write a film, a page, or data, by the ending of the name; returns whether it was one of these.

    Parameters
    ----------
    solution : Solution
    path : str or Path
    times : ndarray, optional
        Default: that of the method.
    """
    writer = WRITERS.get(Path(path).suffix)
    if writer is None:
        return False
    getattr(solution, writer)(path, times=times)
    return True
