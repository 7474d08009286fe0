"""One kernel per kind of part, however many parts there are, and its object code on disk for later processes."""

from .compile import Kernel, compile_kernel, default_backend
from .store import digest

__all__ = ["cached_kernel", "compile_count"]

_kernels = {}


def cached_kernel(key, build, known=None):
    """The kernel of a kind of part, built when it is first asked for.

    Parameters
    ----------
    key : hashable
        Names the kind and the form, and everything else that `build` depends on.
    build : callable
        ``build()`` returns the casadi.Function; called at most once per key and backend.
    known : (str, int, int), optional
        A digest of all that `build` depends on, and the numbers of inputs and outputs of its function, where it was
        built and checked before, perhaps in another process: then it is not built unless it must be. Without it, the
        expressions themselves are the key on disk.

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
        if known is None:
            function = compile_kernel(build(), backend).function
            name = digest(function.serialize()) if backend == "llvm" else None
            known = name, function.nnz_in(0), function.nnz_out(0)
            kernel = Kernel(lambda: function, *known[1:], backend, name)
        else:
            kernel = Kernel(build, *known[1:], backend, known[0])
        _kernels[backend, key] = kernel
    return _kernels[backend, key]


def compile_count():
    """Number of kernels that :func:`cached_kernel` has made in this process."""
    return len(_kernels)
