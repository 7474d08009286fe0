"""The optimality system of an optimal control problem over ranks: as shared equations, and as slabs of a program."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from ....errors import InputError
from ....parallel import OverRanks
from ....solvers.equations.distributed import DistributedEquations, slab_ends
from ....solvers.equations.nonlinear import SaddleEquations
from .equations import OptimalityEquations, OptimalityRows


class DistributedOptimalityEquations(OptimalityRows, DistributedEquations, SaddleEquations):
    """`OptimalityEquations` over the ranks of a communicator; `dual` tells of the unknowns that this rank owns."""


class OptimalitySlab(OptimalityEquations):
    """`OptimalityEquations` on part of a mesh, for the program of a rank; nothing is factored here.

    Unknowns `x` are those of this part; `take` and `gather` turn all unknowns of the mesh into them and back.

    Parameters
    ----------
    whole : tuple
        Problem, plan, mesh and scaling of the whole mesh, as in `OptimalityEquations`.
    comm : mpi4py communicator
        Of the ranks that have parts of the mesh.
    own : (int, int), optional
        Elements that this rank answers for: first, and the one after the last; of phases there may be none besides
        those of the neighbours.

    Attributes
    ----------
    slab : (int, int)
        The elements of the part that this rank answers for: first, and the one after the last.
    first_own : int
        The first of them in the whole mesh.
    """

    def __init__(self, whole, comm, own=None):
        *asked, mesh, scaling = whole
        n, together = mesh.n_elements, asked[1].element.elements_per_block
        if own is None:
            if comm.size * together > n:
                raise InputError(f"{comm.size} ranks cannot share {n} elements: use fewer ranks or more elements")
            own = [min(together * end, n) for end in slab_ends(-(-n // together), comm.size)[comm.rank:comm.rank + 2]]
        self.first_own, last = own
        self._is_last = self.first_own < last == n
        self._part = max(0, self.first_own - 1), min(n, last + 1)
        self._slab = self.first_own - self._part[0], last - self._part[0]
        self.reaches, self._whole = (self._part[0] == 0, self._part[1] == n), mesh
        super().__init__(*asked, mesh.part(*self._part), scaling, "chain")
        self.comm = comm

    def _share(self, ends, linear):
        super()._share(ends, linear)  # how many unknowns the whole mesh has at its ends
        self.slab = self._slab
        inside = ends.inside(self.plan, *self.reaches)
        return replace(inside, kept=inside.free)  # rows of the outermost nodes are there, without what neighbours add

    def _surroundings(self, mesh):
        (first, last), n = self._part, self._whole.n_elements
        before, after = min(first, 1), min(n - last, 1)
        return self._whole.part(first - before, last + after), before, after

    def _make_linear(self, linear):
        return SimpleNamespace(ordering="time order", direct=False, facts={})

    def take(self, x):
        step, (a, b) = self.plan.columns.step, self._part
        dofs, end = np.split(x, [len(x) - self.n_after])
        return np.concatenate([dofs[a * step:b * step + self.plan.columns.n_node], end[:self.blocks[1].n_unknowns]])

    @property
    def joined(self):
        first, together = self._part[0], self.plan.element.elements_per_block
        return np.arange(first, self._part[1]) // together - first // together

    def own_unknowns(self, x):
        """Those of `x` that this rank answers for; of all ranks one behind the other they are all of the mesh."""
        _, dofs, end = self.split(x)
        own = self.own_part(dofs)[self.plan.columns.n_node * (self.first_own > 0 or self.slab[0] == self.slab[1]):]
        return np.concatenate([own, end[:len(end) * self._is_last]])

    def gather(self, x, root=None):
        return np.concatenate(self.comm.allgather(self.own_unknowns(x)))

    def running_sums(self, values):
        own = self.slab
        before = sum(self.comm.allgather(values[own[0]:own[1]].sum(axis=0))[:self.comm.rank])
        return np.cumsum(values, axis=0) - values[:own[0]].sum(axis=0) + before

    def own_objective(self, x):
        return self.integrals(x).sum() + (self.end_cost(x) if self._is_last else 0.0)

    def objective(self, x):
        return OverRanks(self.comm).total(self.own_objective(x))

    @property
    def n_unknowns_of_all(self):
        starts, (a, b) = self.pattern.column_starts, self.slab
        return int(OverRanks(self.comm).total(starts[b + 1] - starts[a + 1 if self.comm.rank else 0]))
