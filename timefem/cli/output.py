"""Where the commands of `timefem` write: files that can be written, films, pages, data, and a standard output."""

import ctypes
import errno
import os
import sys
from contextlib import contextmanager, suppress

from ..atomic_write import WRITERS, as_path, check_writable, real_path
from ..display import printable
from ..errors import InputError
from .process import rank, world

EXPORTS = {ending: writer for ending, writer in WRITERS.items() if writer != "save"}


def export(solution, path, times=None):
    """Write a film, a page, or data, by the ending of the name; returns whether it was one of these.

    Parameters
    ----------
    solution : Solution
    path : str or Path
    times : ndarray, optional
        Default: that of the method.
    """
    if not has_writer(path):
        return False
    getattr(solution, EXPORTS[_ending(path)])(path, times=times)
    return True


def has_writer(path):
    """Whether the ending of a name is one of these."""
    return _ending(path) in EXPORTS


def _ending(path):
    return as_path(path).suffix.lower()


# ---- Where the commands of `timefem` write: files that can be written, and a standard output for results only

UNWRITTEN = errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE


def give_up_stdout():
    """Drop what standard output has not taken: the end of the process would try again, and fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(path, *others):
    """Raise InputError on all ranks when rank 0 cannot write there, or when it is one of the other files of a command,
    or None, which would be lost."""
    comm, message = world(), None
    if rank() == 0:
        try:
            target = check_writable(path)
            if target in [real_path(other) for other in others if other is not None]:
                raise InputError(f"cannot write {printable(path)}: the command has another use for that file; give "
                                 "another name")
        except InputError as error:
            message = str(error)
    message = comm.bcast(message) if comm is not None else message
    if message:
        raise InputError(message)


def check_solution(path, *others):
    """`check_output` of a file for a solution, whose name is not that of what `timefem plot` makes of it."""
    if has_writer(path):
        name = printable(path)
        raise InputError(f"cannot write {name}: a solution is saved as .h5, of which `timefem plot FILE.h5 -o {name}` "
                         "makes what that ending says")
    check_output(path, *others)


@contextmanager
def stdout_to_stderr():
    """Send to standard error what libraries print, also from C (PETSc's views, MUMPS)."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        if sys.platform != "win32":
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)
