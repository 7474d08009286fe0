"""What the commands of `timefem` do about ranks: who speaks, and how all end together."""

import os
import sys
import time

from .. import parallel as communicator
from ..parallel import PATIENCE


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
