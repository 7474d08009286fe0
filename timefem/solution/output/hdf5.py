"""HDF5 files that are sealed with a checksum, survive full disks while they are written, and are read with suspicion.

The library of HDF5 trusts its files: damaged ones make it loop for ever or crash, a write that fails crashes the
process when it ends, and links in a file lead to other files of the machine. Therefore:

- The first 512 bytes (HDF5's user block, which other programs skip) hold the checksum of all others. A damaged file is
  found before the library sees it.
- The library never learns that a disk is full: what the disk does not take goes to memory until the file is closed.
- Only plain datasets are read, whose numbers are in the file itself.

The checksum finds damage, not malice: who writes a file with intent can seal it too. What such a file can do is to keep
the library busy; it cannot run code or reach another file.
"""

import hashlib
import io
import os
import stat
from contextlib import contextmanager, nullcontext

import numpy as np

from ...atomic_write import check_writable, real_path, replacing
from ...display import printable
from ...errors import InputError
from ...memory import Late

h5py = Late("h5py")  # most solves read and write no file

BLOCK = 512  # the smallest user block of HDF5
MAGIC = b"timefem sealed file 1\n"
SIGNATURE = b"\x89HDF\r\n\x1a\n"
PIECE = 2**22  # bytes read at once
FILTERS = {"deflate", "shuffle", "fletcher32"}
LARGEST_CHUNK = 2**26  # bytes
MOST_DENSE = 1100  # deflate cannot make data smaller than by this factor
# what h5py and the parsers of texts raise for files that are not as they should be
DAMAGE = (OSError, LookupError, RuntimeError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError)


class Sink(io.RawIOBase):
    """File for h5py that keeps in memory what the disk does not take.

    Attributes
    ----------
    error : OSError or None
        Of the first write that failed.
    """

    def __init__(self, path, create):
        self.file = open(path, "x+b" if create else "r+b", buffering=0)
        self.place, self.size, self.error, self.refused = 0, self.file.seek(0, os.SEEK_END), None, {}

    def readable(self):
        return True

    writable = seekable = readable

    def seek(self, offset, whence=os.SEEK_SET):
        self.place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.place, os.SEEK_END: self.size}[whence]
        return self.place

    def tell(self):
        return self.place

    def readinto(self, buffer):
        start, n = self.place, len(buffer)
        self.file.seek(start)
        data = bytearray(self.file.read(n))
        data.extend(bytes(n - len(data)))
        for at, piece in self.refused.items():
            first, last = max(at, start), min(at + len(piece), start + n)
            if first < last:
                data[first - start:last - start] = piece[first - at:last - at]
        buffer[:] = data
        self.place += n
        return n

    def write(self, data):
        data, done = bytes(data), 0
        while self.error is None and done < len(data):
            try:
                self.file.seek(self.place + done)
                done += self.file.write(data[done:])
            except OSError as error:
                self.error = error
        if self.error is not None:
            self.refused[self.place] = data
        self.place += len(data)
        self.size = max(self.size, self.place)
        return len(data)

    def truncate(self, size=None):
        self.size = self.place if size is None else size
        if self.error is None:
            try:
                self.file.truncate(self.size)
            except OSError as error:
                self.error = error
        return self.size

    def flush(self):
        pass

    def close(self):
        self.file.close()
        super().close()


@contextmanager
def writing(path, create=True):
    """An h5py file to be written; `seal` it when all is written.

    Raises
    ------
    OSError
        After the file is closed, when the disk did not take all of it.
    """
    sink = Sink(path, create)
    try:
        with h5py.File(sink, "w", userblock_size=BLOCK) if create else h5py.File(sink, "r+") as file:
            yield file
    except Exception:
        if sink.error is not None:
            raise sink.error from None
        raise
    finally:
        sink.close()
    if sink.error is not None:
        raise sink.error


def write_in_turn(path, write, comm=None):
    """Write a sealed file, on all ranks one after the other; it appears when all is written.

    Parameters
    ----------
    path : str or Path
        Of all ranks alike.
    write : callable
        `write(file, rank)`; rank 0 comes first and makes the datasets.
    comm : mpi4py communicator, optional

    Raises
    ------
    InputError, WriteError
        On all ranks alike.
    """
    n_ranks, rank = (comm.size, comm.rank) if comm is not None else (1, 0)

    def shared(error, turn=0):
        error = error if comm is None else comm.bcast(error, turn)
        if error is not None:
            raise error

    try:
        shared(_fault(check_writable, path) if rank == 0 else None)
        with replacing(path) if rank == 0 else nullcontext() as temporary:
            temporary = temporary if comm is None else comm.bcast(temporary)
            for turn in range(n_ranks):
                shared(_fault(_write_part, temporary, write, rank) if turn == rank else None, turn)
            if rank == 0:
                seal(temporary)
        error = None
    except (OSError, InputError) as failure:
        error = failure
    shared(error)  # of rank 0, which may not be able to put the file into its place


def _fault(work, *arguments):
    """The error of a piece of work that other ranks must hear of; None when all is well."""
    try:
        work(*arguments)
    except (OSError, InputError) as error:
        return error
    return None


def _write_part(path, write, rank):
    with writing(path, rank == 0) as file:
        write(file, rank)


def seal(path):
    """Write the checksum of a file into its user block."""
    with open(path, "r+b") as file:
        file.seek(BLOCK)
        header = _header(file)
        file.seek(0)
        file.write(header)


def _header(file):
    """The user block that belongs to the rest of a file, which is at the end of that block."""
    digest, size = hashlib.blake2b(digest_size=32), 0
    while piece := file.read(PIECE):
        digest.update(piece)
        size += len(piece)
    return (MAGIC + f"blake2b {digest.hexdigest()}\nbytes {size}\n".encode()).ljust(BLOCK, b"\0")


@contextmanager
def reading(path, what, version):
    """An h5py file to be read, its checksum, format and version checked.

    Parameters
    ----------
    path : str or Path
    what : str
        Its attribute `format`, which also names it in messages.
    version : int

    Raises
    ------
    InputError
        Also for whatever the block raises on contents that are not as they should be.
    """
    real, shown = real_path(path), printable(path)
    try:
        _check_seal(real, shown, what)
        with h5py.File(real, "r") as file:
            found = attribute(file, "format_version", np.integer)
            if file.attrs.get("format") != what:
                raise InputError(f"{shown} is not a {what}")
            if found != version:
                raise InputError(f"{shown} has format version {found}; this timefem reads version {version}")
            yield file
    except FileNotFoundError:
        root, ending = os.path.splitext(real)
        first = f"{os.path.basename(root)}-1{ending}"
        beside = os.path.exists(os.path.join(os.path.dirname(real), first))
        hint = f"; solutions of phases are in files of their own, the first in {printable(first)}" if beside else ""
        raise InputError(f"there is no file {shown}{hint}") from None
    except InputError as error:
        if shown in str(error):
            raise
        raise InputError(f"{shown} cannot be read as a {what}: {error}") from None
    except DAMAGE as error:
        raise InputError(f"{shown} cannot be read as a {what}: {printable(error) or type(error).__name__}") from None


def _check_seal(path, shown, what):
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):  # a pipe would be waited for
        raise InputError("it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file")
    with open(path, "rb") as file:
        block = file.read(BLOCK)
        if not block.startswith(MAGIC):
            if block.startswith(SIGNATURE):
                raise InputError(f"{shown} is not a {what}: it has no checksum at its start")
            raise InputError("it does not begin like one")
        if _header(file) != block:
            raise InputError("its bytes do not have the checksum that was written with them: the file is damaged, or "
                             "was changed by another program")


def attribute(file, name, kind):
    """An attribute that must be of a type."""
    value = file.attrs[name]
    if not isinstance(value, kind):
        raise InputError(f"the attribute {name!r} is of the wrong type, {type(value).__name__}")
    return value


def dataset(file, name, shape, what=float):
    """A dataset whose numbers are in the file itself, of a type and shape (None: any length), not yet read.

    Raises
    ------
    InputError
        For links to other places, external storage, virtual datasets, other types, shapes and filters, and datasets
        that claim to be larger than their stored bytes can be.
    """
    place = file
    for part in name.split("/"):
        if not isinstance(place, h5py.Group) or part not in place:
            raise InputError(f"{name} is missing")
        if not isinstance(place.get(part, getlink=True), h5py.HardLink):
            raise InputError(f"{name} is a link to another place, which is not followed")
        place = place[part]
    if not isinstance(place, h5py.Dataset) or place.is_virtual or place.external:
        raise InputError(f"{name} is not a dataset with its numbers in this file")
    if place.dtype != np.dtype(what):
        raise InputError(f"{name} is of type {place.dtype}, not {np.dtype(what)}")
    if place.shape is None or len(place.shape) != len(shape) or any(
            n is not None and n != found for n, found in zip(shape, place.shape, strict=True)):
        wanted = tuple("n" if n is None else n for n in shape)
        raise InputError(f"{name} has shape {place.shape}, but the system needs {wanted}".replace("'", ""))
    properties = place.id.get_create_plist()
    filters = {properties.get_filter(i)[3].decode("ascii", "replace") for i in range(properties.get_nfilters())}
    if not filters <= FILTERS:
        raise InputError(f"{name} is stored with an unknown filter")
    if ((place.chunks and np.prod(place.chunks, dtype=float) * place.dtype.itemsize > LARGEST_CHUNK)
            or place.nbytes > MOST_DENSE * place.id.get_storage_size()):
        raise InputError(f"{name} claims to be larger than it can be")
    return place


def group(file, name):
    """A group of the file itself."""
    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(file[name], h5py.Group):
        raise InputError(f"{name} is missing")
    return file[name]


def numbers(file, name, shape):
    """The values of a dataset, which must be finite."""
    values = dataset(file, name, shape)[()]
    if not np.all(np.isfinite(values)):
        raise InputError(f"{name} is not finite")
    return values
