"""Sums and extremes of numbers over ranks, equal to the last bit on all of them."""

import numpy as np


class OverRanks:
    """Over the ranks of an mpi4py communicator; None for this process alone."""

    def __init__(self, comm):
        self.comm = comm

    def every(self, *numbers):
        """The numbers of all ranks, shape (len(numbers), n_ranks), in the same order everywhere."""
        return np.array([numbers] if self.comm is None else self.comm.allgather(numbers), float).T

    def combined(self, sums=(), largest=(), least=()):
        """Sums of numbers over the ranks, the largest and the least of others, in this order, told in one exchange."""
        if self.comm is None:
            return *sums, *largest, *least
        every, n, m = self.every(*sums, *largest, *least), len(sums), len(sums) + len(largest)
        return *every[:n].sum(axis=1).tolist(), *every[n:m].max(axis=1).tolist(), *every[m:].min(axis=1).tolist()

    def total(self, number):
        return float(self.combined(sums=(number,))[0])

    def largest(self, number):
        """NaN where one is."""
        return float(self.combined(largest=(number,))[0])

    def least(self, number):
        return float(self.combined(least=(number,))[0])

    def first_of_largest(self, value, work_out):
        """The largest value, and `work_out()` of the first rank that has it."""
        if self.comm is None:
            return value, work_out()
        values = self.comm.allgather(value)
        rank = int(np.argmax(values))
        return values[rank], self.comm.bcast(work_out() if rank == self.comm.rank else None, rank)
