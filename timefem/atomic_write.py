"""Files that are written whole or not at all: every file that timefem writes goes through `replacing`."""

import errno
import os
import platform
import shutil
import stat
import sys
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path

from .display import printable
from .errors import InputError, WriteError

LONGEST = 255  # bytes of a name, where the file system does not tell
ADDED = 64  # bytes of the longest name of a temporary file


def check_writable(path):
    """Check, before any work is done, that a file can be written to `path`; the file is not touched.

    Returns
    -------
    Path
        The path, with symbolic links followed.

    Raises
    ------
    InputError
        When the path is none, or a folder, a device, a pipe or a socket, its name is too long, its folder does not
        exist, or there is no permission.
    """
    target = real_path(path)
    shown = printable(path)
    try:
        mode = os.stat(target).st_mode
    except OSError as error:
        mode = None
        # a file to be made, or a name that is too long, which is reported below
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            folder = isinstance(error, NotADirectoryError)
            fault = f"there is no folder {printable(target.parent)}" if folder else error.strerror
            raise InputError(f"cannot write {shown}: {fault}") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise InputError(f"cannot write {shown}: it is a folder")
    if mode is not None and not stat.S_ISREG(mode):
        raise InputError(f"cannot write {shown}: it is not a regular file but a device, a pipe or a socket, and would "
                         "be replaced; give the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {shown}: there is no folder {printable(target.parent)}")
    size, most = max(len(os.fsencode(target.name)), ADDED), _longest_name(target.parent)
    if size > most:
        raise InputError(f"cannot write {shown}: its name has {size} bytes, and {most} are allowed there")
    if not os.access(target.parent, os.W_OK | os.X_OK) or (mode is not None and not os.access(target, os.W_OK)):
        raise InputError(f"cannot write {shown}: no permission")
    return target


def as_path(path):
    """`path` as a Path; InputError when it is none."""
    return _made(path, str)


def ending_of(path):
    """The ending of a name in small letters, with its point; "" without one."""
    return as_path(path).suffix.lower()


def real_path(path):
    """`path` with symbolic links followed; InputError when it is not a path."""
    return _made(path, os.path.realpath)


def _made(path, make):
    try:
        if not os.fspath(path):
            raise ValueError("it is empty")
        return Path(make(os.fsdecode(os.fspath(path))))
    except (TypeError, ValueError, OSError) as error:  # a number, a zero byte, links in a circle
        raise InputError(f"the name of a file must be a text, not {path!r} ({error})") from None


def _longest_name(folder):
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError, AttributeError):
        return LONGEST


@contextmanager
def replacing(path):
    """Path of a temporary file in the folder of `path`; it takes the place of `path` when the block succeeds.

    Whatever ends the block, the temporary file does not stay.

    Raises
    ------
    WriteError
        When the disk is full or fails; the message says what is kept.
    """
    target = check_writable(path)
    temporary = _temporary(target)
    try:
        yield temporary
        with open(temporary, "r+b") as file:  # Windows has no fsync of files that are only read
            with suppress(OSError):  # those who may read the older file may read this one
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.fsync(file.fileno())  # the rename must not reach the disk before the data
        os.replace(temporary, target)
    except OSError as error:  # for instance a full disk
        raise WriteError(f"could not write {printable(path)}: {error.strerror or error}; {kept(target)}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_beside(path):
    """A temporary folder in that of `path`, which does not stay."""
    folder = _temporary(real_path(path))
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _temporary(target):
    """A name for what is temporary of this process; what killed processes of this machine left is removed."""
    machine, name = zlib.crc32(platform.node().encode()), zlib.crc32(os.fsencode(target.name))
    start = f".timefem-{machine:08x}-{name:08x}-"
    for old in target.parent.glob(f"{start}*.part"):
        process = old.name.removeprefix(start).partition("-")[0]
        if process.isdigit() and not _alive(int(process)):
            shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    return target.with_name(f"{start}{os.getpid()}-{os.urandom(4).hex()}.part")


def _alive(process):
    """Whether a process runs, or may run: Windows would take the question for Ctrl-C."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def kept(target):
    """In words, what is left after a file could not be written."""
    return "the older file of that name is kept" if os.path.exists(target) else "no file of that name is left"


def save_figure(figure, path, **options):
    """Write a figure of matplotlib; the ending of the name is the format."""
    ending = ending_of(path).removeprefix(".") or "png"
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise InputError(f"cannot write {printable(path)}: figures can end in {', '.join(sorted(known))}")
    with replacing(path) as temporary:
        figure.savefig(temporary, format=ending, **options)


def write_text(path, text, encoding="utf-8"):
    """Write a file of text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding=encoding)
