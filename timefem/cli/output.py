"""Where the commands of `timefem` write: files that can be written, and a standard output for results only."""

import ctypes
import errno
import os
import sys
from contextlib import contextmanager, suppress

from ..atomic_write import check_writable
from ..errors import InputError
from .ranks import rank, world

UNWRITTEN = errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE


def give_up_stdout():
    """Drop what standard output has not taken: the end of the process would try again, and fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
