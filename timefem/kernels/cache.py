"""One kernel per kind of part, however many parts there are."""

from .compile import compile_kernel, default_backend

__all__ = ["cached_kernel", "compile_count"]

_kernels = {}


def cached_kernel(key, build):
    """The kernel of a kind of part, built when it is first asked for.

    Parameters
    ----------
    key : hashable
        Names the kind and the form, and everything else that `build` depends on.
    build : callable
        ``build()`` returns the casadi.Function; called at most once per key and backend.

    Returns
    -------
    Kernel
        Kept for the life of the process, and so are its addresses.

    Raises
    ------
    InputError, UnsupportedOperation
        As :func:`compile_kernel`.
    """
    backend = default_backend()
    if (backend, key) not in _kernels:
        _kernels[backend, key] = compile_kernel(build(), backend)
    return _kernels[backend, key]


def compile_count():
    """Number of kernels that :func:`cached_kernel` has made in this process."""
    return len(_kernels)
