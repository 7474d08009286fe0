"""Sums and extremes of numbers over ranks, equal to the last bit on all of them."""

import numpy as np


class OverRanks:
    """Over the ranks of an mpi4py communicator; None for this process alone."""

    def __init__(self, comm):
        self.comm = comm

    def every(self, *numbers):
        """The numbers of all ranks, shape (len(numbers), n_ranks), in the same order everywhere."""
        return np.array([numbers] if self.comm is None else self.comm.allgather(numbers), float).T

    def total(self, *numbers):
        """Sum of each number over the ranks; of one number the sum itself."""
        out = self.every(*numbers).sum(axis=1)
        return float(out[0]) if len(numbers) == 1 else out

    def largest(self, number):
        """NaN where one is."""
        return float(self.every(number).max())

    def least(self, number):
        return float(self.every(number).min())

    def first_of_largest(self, value, work_out):
        """The largest value, and `work_out()` of the first rank that has it."""
        if self.comm is None:
            return value, work_out()
        values = self.comm.allgather(value)
        rank = int(np.argmax(values))
        return values[rank], self.comm.bcast(work_out() if rank == self.comm.rank else None, rank)
