"""PETSc's Python module, or one line that says why it does not load."""

import importlib.util
from pathlib import Path

import numpy as np

from ....errors import MissingBackend

REMEDY = ("pip install 'numpy<2' in this environment (in that of `make env` pip keeps to it by itself), or a petsc4py "
          "that was compiled for this NumPy")


def check_numpy():
    """Refuse a petsc4py that was compiled for NumPy 1 beside NumPy 2, without loading it, which would start MPI.

    Raises
    ------
    MissingBackend
        Says what to install.
    """
    found = importlib.util.find_spec("petsc4py")
    if int(np.__version__.split(".")[0]) < 2 or found is None or not found.submodule_search_locations:
        return
    files = [f for folder in found.submodule_search_locations for f in Path(folder).glob("**/PETSc.*so")]
    # what is compiled for NumPy 2 looks for its new modules, and then for the old ones
    if files and not any(b"numpy._core" in file.read_bytes() for file in files):
        raise MissingBackend("petsc4py was compiled for NumPy 1 and does not load with NumPy "
                             f"{np.__version__}: {REMEDY}")


def petsc():
    """The module `petsc4py.PETSc`.

    Raises
    ------
    MissingBackend
        When it does not fit the NumPy that is installed.
    """
    try:
        from petsc4py import PETSc
    except (ImportError, ValueError, AttributeError) as error:
        if "numpy" not in str(error).lower():
            raise
        raise MissingBackend(f"petsc4py does not load with NumPy {np.__version__} ({error}): "
                             f"{REMEDY}") from None
    return PETSc
