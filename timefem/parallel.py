"""The MPI communicator, imported only where something runs in parallel."""

import atexit
import contextlib
import importlib.util
import os
import sys
import time
import traceback
from functools import cache

import numpy as np

from . import interrupts
from .errors import InputError, MissingBackend, RankError, SolveError

FAREWELL = 32_001  # tag of the message of a rank that ends
COMPILING = 32_002  # of a rank that begins or ends to compile, or to wait for a process that does
PATIENCE = 5  # seconds that a failed rank waits for the others while none compiles, before it ends them all
_busy, _nested = set(), []  # ranks that have told so far that they compile; contexts in which this one does
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


@cache
def own_world():
    """A communicator of the same ranks as `world()`, for solves: what a failed solve leaves open disturbs no other."""
    comm = world()
    return comm.Dup() if comm else None


@cache
def _meeting_place():
    return world().Dup()


def gathered_world():
    """`own_world()` when all ranks have come here, which they are waited for; None on one rank.

    Raises
    ------
    RankError
        When a rank has ended meanwhile, which would be waited for in vain.
    """
    comm = world()
    if comm is None:
        return None
    arrived = (_meeting_place() if own_world.cache_info().currsize else comm).Ibarrier()
    while not arrived.Test():
        status = _left(comm)
        if status is not None:
            raise RankError(f"rank {status} has ended without taking part in this solve; all ranks must call it, with "
                            "the same backend and driver")
        if interrupts.asked():
            raise interrupts.Interrupted(interrupts.asked())
        time.sleep(0.001)
    _meeting_place()
    return own_world()


def _left(comm):
    """Rank that has ended, or None."""
    from mpi4py import MPI

    status = MPI.Status()
    return status.source if comm.Iprobe(MPI.ANY_SOURCE, FAREWELL, status) else None


def tell_others_at_the_end():
    """Under an MPI launcher: have a rank that ends say so, since others may wait for it in `gathered_world`."""
    if launched_ranks() > 1:
        atexit.register(_say, FAREWELL)


@contextlib.contextmanager
def compiling():
    """Context of what is compiled, or waited for until another process has: a failed rank has patience with it."""
    _nested.append(None)
    try:
        if len(_nested) == 1:
            _say(COMPILING)
        yield
    finally:
        _nested.pop()
        if not _nested:
            _say(COMPILING)


def _say(tag):
    module = sys.modules.get("mpi4py.MPI")
    if module is None or not module.Is_initialized() or module.Is_finalized():
        return
    comm = module.COMM_WORLD
    for other in range(comm.size):
        if other != comm.rank:
            comm.Isend([None, 0, module.BYTE], other, tag)


class Counted:
    """A communicator, of which the messages between two ranks are counted where they are sent."""

    def __init__(self, comm):
        self._comm, self.messages, self.bytes, self.largest = comm, 0, 0, 0

    def __getattr__(self, name):
        return getattr(self._comm, name)

    def send(self, thing, dest):
        self._count(thing)
        self._comm.send(thing, dest=dest)

    def sendrecv(self, thing, dest, source):
        if dest >= 0:  # there is a neighbour
            self._count(thing)
        return self._comm.sendrecv(thing, dest=dest, source=source)

    def _count(self, thing):
        n = _bytes(thing)
        self.messages, self.bytes, self.largest = self.messages + 1, self.bytes + n, max(self.largest, n)


def _bytes(thing):
    """Size of arrays, numbers, and tuples of them."""
    if isinstance(thing, tuple):
        return sum(map(_bytes, thing))
    return getattr(thing, "nbytes", 8)


def swap(comm, to_left, to_right):
    """Send objects to both neighbours; return theirs, None where there is no neighbour."""
    if comm.size == 1:
        return None, None
    from mpi4py import MPI

    left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    right = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    from_right = comm.sendrecv(to_left, dest=left, source=right)
    return comm.sendrecv(to_right, dest=right, source=left), from_right


def agree(comm, error, where):
    """Raise on all ranks when one brings an error; every rank calls this after work of its own.

    Parameters
    ----------
    comm : mpi4py communicator or None
    error : Exception or None
    where : str
        What this rank worked on, for the message.

    Raises
    ------
    SolveError
        Or the subclass of it, or InputError, that the first rank in need brings.
    RankError
        For any other exception; with its traceback.
    """
    if comm is None:
        if error is not None:
            raise error
        return
    from mpi4py import MPI

    if error is not None:
        _meet(error, where)
    else:
        _meeting_place().Ibarrier().Wait()
    if not comm.allreduce(error is not None, op=MPI.LOR):
        return
    expected = isinstance(error, SolveError | InputError)
    told = comm.allgather(error and (type(error) if expected else RankError, str(error) if expected else _trace(error),
                                     where))
    if all(t and t[:2] == told[0][:2] for t in told):  # it belongs to no rank
        raise told[0][0](told[0][1]) from error
    rank, (kind, message, place) = next((r, t) for r, t in enumerate(told) if t)
    _one_traceback(comm)
    raise kind(f"rank {rank} ({place}): {message}") from None


def end_together(error, where=""):
    """For an exception that `agree` has not seen: return when all ranks have one, end all ranks when they have not."""
    if world() is not None and not isinstance(error, RankError):
        _meet(error, where)


def _meet(error, where):
    """Wait for the other ranks; when they do not come, they wait for this one elsewhere, and are ended."""
    from mpi4py import MPI

    if not all_come(_meeting_place().Ibarrier()):
        print(f"timefem: error: rank {MPI.COMM_WORLD.rank}{f' ({where})' if where else ''}: {_trace(error)}",
              file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


def all_come(arrived, patience=None):
    """Whether all ranks come to a barrier within `patience` seconds, without those in which one compiles."""
    left, before = PATIENCE if patience is None else patience, time.monotonic()
    while not arrived.Test():
        if left < 0:
            return False
        time.sleep(0.001)
        now = time.monotonic()
        if not _some_compile():
            left -= now - before
        before = now
    return True


def _some_compile():
    from mpi4py import MPI

    comm, status = MPI.COMM_WORLD, MPI.Status()
    while comm.Iprobe(MPI.ANY_SOURCE, COMPILING, status):
        comm.Recv([None, 0, MPI.BYTE], status.source, COMPILING)
        _busy.symmetric_difference_update({status.source})
    return bool(_busy)


def _trace(error):
    """The error in one line, then where it comes from."""
    return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"


def _one_traceback(comm):
    """Let rank 0 alone print an exception that all ranks raise alike and nobody catches."""
    if comm.rank:
        others = sys.excepthook

        def quiet(kind, *rest):
            if not issubclass(kind, RankError | SolveError):
                others(kind, *rest)

        sys.excepthook = quiet


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
