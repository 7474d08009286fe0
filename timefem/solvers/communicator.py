"""The MPI communicator, imported only where something runs in parallel."""

import importlib.util
import os

from ..errors import MissingBackend

LAUNCHER_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")


def launched_ranks():
    """Number of ranks that an MPI launcher says it started; 1 without a launcher."""
    return max((int(os.environ[v]) for v in LAUNCHER_SIZES if os.environ.get(v, "").isdigit()), default=1)


def world():
    """`MPI.COMM_WORLD` under an MPI launcher, else None.

    Raises
    ------
    MissingBackend
        Under a launcher without mpi4py, or when launcher and MPI library do not belong together.
    """
    n_ranks = launched_ranks()
    if n_ranks == 1:
        return None
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingBackend("running under mpirun needs mpi4py: make env, or pip install 'timefem[parallel]'")
    from mpi4py import MPI

    if MPI.COMM_WORLD.size == 1:
        raise MissingBackend(f"mpirun started {n_ranks} ranks, but mpi4py sees one: launcher and MPI library do not "
                             "belong together (is MPICH installed beside Open MPI?)")
    return MPI.COMM_WORLD


def rank():
    """Rank of this process, 0 without a launcher."""
    comm = world()
    return comm.rank if comm else 0
