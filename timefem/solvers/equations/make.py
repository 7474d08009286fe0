"""The equations of elements, serial or distributed."""

from .distributed import DistributedEquations
from .elements import ElementEquations


def make_equations(plan, mesh, scaling, ends=None, linear=None, comm=None):
    """`ElementEquations`, shared among the ranks of `comm` where there is an element for each."""
    if comm is None or comm.size > mesh.n_elements:
        return ElementEquations(plan, mesh, scaling, ends, linear)
    return DistributedEquations(plan, mesh, scaling, ends, linear, comm=comm)
