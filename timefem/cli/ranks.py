"""What the commands of `timefem` do about ranks: who speaks, and how all end together."""

import ctypes
import os
import sys
import time
from contextlib import contextmanager

from .. import parallel as communicator
from ..errors import InputError
from ..parallel import PATIENCE
from ..solution.output.atomic_write import check_writable


def world():
    return communicator.world() if communicator.launched_ranks() > 1 else None


def rank():
    """Rank of this process; from the launcher's word, which needs no mpi4py."""
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    return next((int(os.environ[n]) for n in names if os.environ.get(n, "").isdigit()), 0)


def meet(comm, status, patience=PATIENCE):
    """Wait until all ranks have failed alike; when they have not, end them, since they may wait for this one."""
    request, start = comm.Ibarrier(), time.monotonic()
    while not request.Test():
        if time.monotonic() - start > patience:
            comm.Abort(status)
        time.sleep(0.01)


def note(text):
    if rank() == 0:
        print("timefem: note:", text, file=sys.stderr, flush=True)


def check_output(path):
    """Raise InputError on all ranks when rank 0 cannot write there."""
    comm, message = world(), None
    if rank() == 0:
        try:
            check_writable(path)
        except InputError as error:
            message = str(error)
    message = comm.bcast(message) if comm is not None else message
    if message:
        raise InputError(message)


@contextmanager
def stdout_to_stderr():
    """Send to standard error what libraries print, also from C (PETSc's views, MUMPS)."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        if os.name == "posix":
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)
