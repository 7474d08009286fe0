"""Memory that can be had, asked before work starts."""

import math
import os
import sys
from pathlib import Path

from ..errors import InputError

try:
    import resource
except ImportError:  # not on Windows
    resource = None
UNKNOWN = 2**32  # bytes that any machine has
# limits of containers (control groups, of version 2 and 1): of what, what is used, and what of that can be dropped
GROUP = Path("/sys/fs/cgroup")
GROUP_FILES = (("memory.max", "memory.current", "memory.stat", "inactive_file"),
               ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat",
                "total_inactive_file"))
LITTLE = 2**22  # bytes that are not worth the question


def free_memory(unknown=UNKNOWN):
    """Bytes of memory that can be had, by the machine, its container, and the limits of the process.

    Where nobody tells how much of it is free, all that the machine has, and where nobody tells that, `unknown`.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * (resource.getpagesize() if resource else 4096)
    except (OSError, StopIteration):
        return _installed() or unknown
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    return max(0, min([free, *_free_in_group(), *([limit - used] if limit >= 0 else [])]))


def _installed():
    """Bytes of memory that the machine has; None where nobody tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def peak_memory():
    """Bytes of memory that this process has held at most; 0 where nobody tells."""
    if resource is None:
        return 0
    return (1 if sys.platform == "darwin" else 1024) * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _free_in_group():
    """Bytes that the container of this process has left, where it has a limit."""
    for limit, used, facts, name in GROUP_FILES:
        try:
            left = int((GROUP / limit).read_bytes()) - int((GROUP / used).read_bytes())
            lines = (line.split() for line in (GROUP / facts).read_text(encoding="ascii").splitlines())
            yield left + next((int(n) for key, n in lines if key == name), 0)
        except (OSError, ValueError):  # none of that version, or "max"
            continue


def check_memory(what, n_bytes):
    """Raise InputError when so many bytes are more than can be had; `what` needs them, in words."""
    if n_bytes < LITTLE:
        return
    free = free_memory(math.inf)
    if n_bytes > free:
        raise InputError(f"{what} needs {n_bytes / 2**30:.3g} GiB of memory, and {free / 2**30:.3g} GiB are free; take "
                         "fewer elements, or a shorter time span")
