"""A folder of what was compiled, for later processes: bounded, checked when read, and never needed.

Entries are files named by a digest of all that they depend on, so that they are never changed, only written and
removed. Nothing here raises an OSError: where there is no room, or no right to write, nothing is kept.
What was compiled when the package was installed stands in a second folder, which is only read.
"""

import contextlib
import functools
import hashlib
import os
import tempfile
import time
from pathlib import Path

from ..errors import InputError
from ..parallel import compiling

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["FOLDER_VARIABLE", "PREPARED", "SIZE_VARIABLE", "Store", "digest", "sources", "store"]

PREPARED = Path(__file__).with_name("prepared")  # made by setup.py; a checkout has none
FOLDER_VARIABLE, SIZE_VARIABLE = "TIMEFEM_CACHE_DIR", "TIMEFEM_CACHE_MB"
DEFAULT_MB = 256
PATIENCE = 120.0  # seconds that one process waits for what another is compiling, before it does so itself
_USED_AGAIN = 60.0  # seconds after which a use is noted: a file's time of change is the time of its last use
_CHECK = 32  # bytes of the checksum
_room = {}  # bytes that this process may write before it looks at the size of a folder again, by folder and limit


def digest(*things):
    """Hexadecimal digest of texts and bytes."""
    h = hashlib.sha256()  # processors have instructions for it: a third of the time of BLAKE2
    for thing in things:
        data = thing if isinstance(thing, bytes) else str(thing).encode()
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()[:40]


@functools.cache
def sources(*places):
    """Digest of the code in folders and files of the package.

    Files that are as they were, by their size, inode and times of change, are not read again: to read them all takes
    longer than most of a set-up.
    """
    root, files = str(Path(__file__).parents[1]), set()
    for path in (os.path.join(root, place) for place in places):  # pathlib takes as long as all reading
        if os.path.isdir(path):
            files.update(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
                         if name.endswith(".py"))
        else:
            files.add(path if path.endswith(".py") else f"{path}.py")
    files = sorted(files)
    facts = [(path, s.st_size, s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for path, s in zip(files, map(os.stat, files))]
    name, parts = digest("sources", facts), []
    found = store().read(name)
    if found is None:
        for path in files:
            with open(path, "rb", buffering=0) as file:
                parts += [path[len(root):], file.read()]
        found = digest(*parts).encode()
        store().keep(name, found)
    return found.decode()


class Store:
    """Entries in one folder.

    Parameters
    ----------
    folder : Path or None
        Made when something is written; None keeps nothing.
    limit : int
        Bytes; the entries not used for longest are removed beyond that.
    prepared : Path, optional
        Folder of further entries, which are read only.

    Attributes
    ----------
    lost : int
        Entries that this process could not keep anywhere.
    """

    lost = 0

    def __init__(self, folder, limit, prepared=None):
        self.folder, self.limit, self.prepared = folder, limit, prepared

    def _places(self, name):
        return [folder / name for folder in (self.folder, self.prepared) if folder is not None]

    def has(self, name):
        """Whether there is an entry, as far as can be known without reading it."""
        return any(map(os.path.exists, self._places(name)))

    def read(self, name):
        """Bytes of an entry; None if there is none, or a damaged one, which is removed."""
        for path in self._places(name):
            with contextlib.suppress(OSError):
                with open(path, "rb", buffering=0) as file:  # into memory once: some entries are megabytes
                    check, data = file.read(_CHECK), file.read()
                own = path.parent == self.folder
                if hashlib.sha256(data).digest() == check:
                    if own and time.time() - path.stat().st_mtime > _USED_AGAIN:
                        with contextlib.suppress(OSError):  # a folder of somebody else
                            os.utime(path)
                    return data
                if own:
                    path.unlink()
        return None

    def write(self, name, data):
        """Keep an entry, if that is possible: whole or not at all; those that are not are counted as `lost`."""
        Store.lost += not self.keep(name, data)

    def keep(self, name, data):
        """`write`, of what nobody misses; whether that was possible."""
        if self.folder is None or len(data) > self.limit:
            return False
        temporary = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(temporary, self.folder / name)
            self._bound(len(data))
            return os.path.exists(self.folder / name)  # where it is larger than the limit leaves room for, it is gone
        except OSError:  # no right to write, or no room
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False

    def can_write(self):
        """Whether entries can be kept, as far as that is known beforehand."""
        if self.folder is None:
            return False
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.folder.is_dir() and os.access(self.folder, os.W_OK | os.X_OK)

    def once(self, name, make):
        """The entry `name`, made by ``make()`` and kept if it is not there; other processes wait for it meanwhile."""
        data = self.read(name)
        if data is None:
            with self.lock(name[:1]):
                data = self.read(name)
                if data is None:
                    data = make()
                    self.write(name, data)
        return data

    @contextlib.contextmanager
    def lock(self, name):
        """Held by one process at a time, or by nobody where locks do not work; at most `PATIENCE` is waited for it."""
        with compiling():
            handle = self._locked(name)
            try:
                yield
            finally:
                if handle is not None:
                    os.close(handle)  # and so unlocked, as by the end of a process

    def _locked(self, name):
        if fcntl is None or self.folder is None:
            return None
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.folder / f"lock-{name}", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        end = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:
                if time.monotonic() > end:
                    os.close(handle)
                    return None
                time.sleep(0.01)
            except OSError:  # a file system without locks
                os.close(handle)
                return None

    def entries(self):
        """(time of last use, size, path) of each entry, leftovers of ended processes included."""
        found = []
        if self.folder is not None:
            with contextlib.suppress(OSError), os.scandir(self.folder) as files:
                for file in files:
                    with contextlib.suppress(OSError):
                        if file.is_file(follow_symlinks=False) and not file.name.startswith("lock-"):
                            status = file.stat()
                            found.append((status.st_mtime, status.st_size, file.path))
        return sorted(found)

    def clear(self):
        """Remove all entries; returns how many, and their bytes."""
        return self._remove(self.entries())

    def _bound(self, written):
        left = _room.get((self.folder, self.limit), 0) - written
        if left <= 0:  # looking at all entries takes a tenth of a second where there are 20 000
            left = (self.limit - self._shrink()) / 8  # others write there, too
        _room[self.folder, self.limit] = left

    def _shrink(self):
        """Remove what is too much; returns the bytes that stay."""
        entries = self.entries()
        total = sum(size for _, size, _ in entries)
        if total > self.limit:  # to three quarters, so that this is rare
            out = []
            for entry in entries:
                if total <= 0.75 * self.limit:
                    break
                out.append(entry)
                total -= entry[1]
            self._remove(out)
        return total

    def _remove(self, entries):
        removed = size = 0
        for _, bytes_, path in entries:
            with contextlib.suppress(OSError):
                os.unlink(path)
                removed, size = removed + 1, size + bytes_
        return removed, size


def store():
    """The `Store` of this user, with what came with the package.

    The variable TIMEFEM_CACHE_DIR names its folder ("off": nothing is read or kept); otherwise it is ``timefem`` in the
    user's folder for caches. TIMEFEM_CACHE_MB bounds its size.

    Raises
    ------
    InputError
        When TIMEFEM_CACHE_MB is no number of megabytes.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if named == "off":
        return Store(None, 0)
    if named:
        folder = Path(named)
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = Path(home, "timefem") if os.path.isabs(home) else None  # no home at all: "~/.cache"
    return Store(folder, _limit(os.environ.get(SIZE_VARIABLE, "")), PREPARED)


def _limit(given):
    """Bytes, from a number of megabytes as text."""
    with contextlib.suppress(ValueError):
        megabytes = float(given or DEFAULT_MB)
        if 0 <= megabytes < 1e9:
            return int(megabytes * 1e6)
    raise InputError(f"{SIZE_VARIABLE} must be a number of megabytes, such as {DEFAULT_MB}, not {given!r}")
