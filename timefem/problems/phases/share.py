"""What each rank has of phases in a row: the elements of a slab of all blocks, and those of its neighbours."""

import numpy as np

from ...parallel import own_world
from ...solvers.equations.distributed import slab_ends
from ...solvers.nonlinear.slab_program import SlabProgram
from ..optimal.options import OPTIONS
from ..optimal.transcription.equations_over_ranks import OptimalitySlab


class Share:
    """All of the phases, on one process.

    Parameters
    ----------
    equations : list of OptimalityEquations
        Of each phase.
    """

    comm, n_ranks = None, 1

    def __init__(self, equations):
        self._equations = equations

    @staticmethod
    def of(driver, equations, whole=False):
        """The share of this process: all where there is nothing to share, or each needs the `whole`."""
        comm = own_world() if driver.distributed and not whole else None
        n_blocks = sum(one.mesh.n_elements for one in equations)
        if comm is None or n_blocks <= max(OPTIONS.coarse, comm.size):
            return Share(equations)
        return SharedPhases(equations, comm)

    def chains(self):
        """Number of a phase -> its equations, as far as this process has them."""
        return dict(enumerate(self._equations))

    def program(self, whole):
        """The program that is solved, of that of the `chains`."""
        return whole

    def all_unknowns(self, whole, program, answer):
        """Of each phase, by the answer of a method."""
        return whole.placed(answer.v, answer.multipliers)

    def n_unknowns(self, program):
        return program.n

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class SharedPhases(Share):
    """The share of one rank.

    Parameters
    ----------
    equations : list of OptimalityEquations
    comm : mpi4py communicator
    """

    def __init__(self, equations, comm):
        super().__init__(equations)
        self.comm, self.n_ranks = comm, comm.size
        self._starts = np.cumsum([0, *(one.mesh.n_elements for one in equations)]).tolist()
        self._own = slab_ends(self._starts[-1], comm.size)[comm.rank:comm.rank + 2]
        first, last = self._own[0] - 1, self._own[1] + 1  # with a block of each neighbour
        here = [max(first, start) < min(last, start + one.mesh.n_elements)
                for one, start in zip(equations, self._starts, strict=False)]
        self._comms = [comm.Split(int(has), comm.rank) for has in here]  # those that have some of a phase, and others
        self._chains = {k: self._slab(k) for k in np.flatnonzero(here).tolist()}

    def _slab(self, k):
        whole = self._equations[k]
        own = tuple(np.clip(np.subtract(self._own, self._starts[k]), 0, whole.mesh.n_elements).tolist())
        return OptimalitySlab((whole.problem, whole.plan, whole.mesh, whole.assembler.scaling), self._comms[k], own)

    def chains(self):
        return self._chains

    def program(self, whole):
        k = min(self._chains)
        before = max(self._own[0] - 1, self._starts[k])
        own = self._own[0] - before, self._own[1] - before
        return SlabProgram(whole, own, whole.outside, self._own[0], self.comm)

    def all_unknowns(self, whole, program, answer):
        found = whole.placed(*program.placed(answer.v, answer.multipliers))
        own = {k: chain.own_unknowns(x) for (k, chain), x in zip(self._chains.items(), found, strict=True)}
        return [np.concatenate(self.comm.allgather(own.get(k, np.zeros(0)))) for k in range(len(self._equations))]

    def n_unknowns(self, program):
        return sum(self.comm.allgather(program.n))

    def __exit__(self, *error):
        for comm in self._comms if error[0] is None else ():  # all ranks have to come here
            comm.Free()
