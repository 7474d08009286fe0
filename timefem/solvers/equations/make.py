"""The system with ends, serial or distributed."""

from .distributed import DistributedChainSystem
from .system_with_ends import BoundarySystem


def make_boundary_system(plan, mesh, scaling, free, kept, blocks, linear="chain", comm=None):
    """A `BoundarySystem`, shared among the ranks of `comm` where there is an element for each."""
    if comm is None or comm.size > mesh.n_elements:
        return BoundarySystem(plan, mesh, scaling, free, kept, *blocks, linear)

    return DistributedChainSystem(plan, mesh, scaling, comm, linear, free, kept, blocks)
