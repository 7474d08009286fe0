"""Memory that can be had, asked before work starts."""

from ..errors import InputError

try:
    import resource
except ImportError:  # not on Windows
    resource = None
UNKNOWN = 2**32
LITTLE = 2**22  # bytes that are not worth the question


def free_memory():
    """Bytes of memory that can be had, by the machine and by the limits of the process; 4 GiB where nobody tells."""
    try:
        with open("/proc/meminfo") as file:
            free = next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * (resource.getpagesize() if resource else 4096)
    except (OSError, StopIteration):
        return UNKNOWN
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    return free if limit < 0 else max(0, min(free, limit - used))


def check_memory(what, n_bytes):
    """Raise InputError when so many bytes are more than can be had; `what` needs them, in words."""
    if n_bytes < LITTLE:
        return
    free = free_memory()
    if n_bytes > free:
        raise InputError(f"{what} needs {n_bytes / 2**30:.3g} GiB of memory, and {free / 2**30:.3g} GiB are free; take "
                         "fewer elements, or a shorter time span")
