"""The equations of elements, serial or distributed."""

from ..linear import linear_options
from .distributed import DistributedEquations
from .elements import ElementEquations
from .grouped import GroupedEquations, worth_groups


def make_equations(plan, mesh, scaling, ends=None, linear=None, comm=None):
    """`ElementEquations`, shared among the ranks of `comm` where there is an element for each."""
    if comm is None or comm.size > mesh.n_elements:
        own = GroupedEquations if worth_groups(plan, mesh, ends, linear_options(linear)) else ElementEquations
        return own(plan, mesh, scaling, ends, linear)
    return DistributedEquations(plan, mesh, scaling, ends, linear, comm=comm)
