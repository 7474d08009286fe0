"""Files that `timefem plot` writes besides figures: films, pages, and data for other programs."""

from ..atomic_write import as_path

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
    if not has_writer(path):
        return False
    getattr(solution, WRITERS[_ending(path)])(path, times=times)
    return True


def has_writer(path):
    """Whether the ending of a name is one of these."""
    return _ending(path) in WRITERS


def _ending(path):
    return as_path(path).suffix.lower()
