"""The part of a solution that one rank of a distributed solve holds."""

import numpy as np

from ..memory import Late
from .shown import WRITERS, checked_ending
from .solution import Solution

hdf5 = Late(f"{__package__}.output.hdf5")
saving = Late(f"{__package__}.output.save")


class SlabSolution(Solution):
    """Motion over the elements of this rank; all methods of `Solution` refer to these.

    These must be called on all ranks together: `save` writes one file of all elements, `gather` returns the
    whole `Solution`, `errors` and `end` refer to all elements, and `energy.work` and `energy.balance` count from the
    start of the motion.

    Parameters
    ----------
    system, element, t, z0, state, multipliers, status, statistics
        As in `Solution`, of this rank's elements; `z0` is the state at their start.
    fields : dict, optional
        As in `Solution`.
    comm : mpi4py communicator
    origin : (float, ndarray)
        Time and state at the start of the motion.

    Attributes
    ----------
    elements : (int, int)
        This rank has the elements start, ..., stop - 1.
    """

    def __init__(self, *arguments, comm, origin, fields=None):
        super().__init__(*arguments, fields)
        self.comm, self.origin = comm, origin
        n = len(self.t) - 1
        self.counts = comm.allgather(n)
        start = sum(self.counts[:comm.rank])
        self.elements = start, start + n

    def gather(self):
        """The whole `Solution`, on every rank."""
        t = self._gathered(self.t[1:])
        return Solution(self.system, self.element, np.append(self.origin[0], t), self.origin[1],
                        self._gathered(self.nodal.state), self._gathered(self.nodal.multipliers), self.status,
                        self.statistics, {name: self._gathered(values) for name, values in self.fields.items()})

    def _gathered(self, values):
        size = int(np.prod(values.shape[1:]))
        whole = np.empty((sum(self.counts), *values.shape[1:]))
        self.comm.Allgatherv(np.ascontiguousarray(values, float), (whole, [n * size for n in self.counts]))
        return whole

    def _work(self, t):
        before = self.comm.exscan(float(super()._work(None)[-1]))
        return super()._work(t) + (before or 0.0)

    @property
    def _energy_at_start(self):
        return self.system.hamiltonian(*self.origin)

    @property
    def end(self):
        last = max((rank for rank, n in enumerate(self.counts) if n), default=0)
        return self.comm.bcast(super().end, last)

    def errors(self):
        here = {"energy": float(np.abs(self.energy.balance()).max()), **self._constraint_errors()}
        return {name: self._largest(value) for name, value in here.items()} | self._momentum_errors()

    def _change(self, values):
        t, z = self.origin
        start = Solution(self.system, self.element, np.array([t]), z, self.nodal.state[:0], self.nodal.multipliers[:0],
                         self.status, self.statistics)
        return self._largest(float(np.abs(values(self) - values(start)).max()))

    def _largest(self, value):
        from mpi4py import MPI

        return self.comm.allreduce(value, op=MPI.MAX)

    def save(self, path, times=None, **options):
        if checked_ending(path) in WRITERS:
            whole = self.gather()
            return whole.save(path, times, **options) if self.comm.rank == 0 else None

        def write(file, rank):
            if rank == 0:
                saving.create(file, self, sum(self.counts), *self.origin)
            saving.fill(file, self, self.elements[0])

        hdf5.write_in_turn(path, write, self.comm)
