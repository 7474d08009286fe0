"""One kernel per kind of part, however many parts there are, and its object code on disk for later processes."""

import weakref

from ..uncollected import Recent
from .compile import Kernel, compile_kernel, default_backend
from .store import digest

__all__ = ["cached_kernel", "compile_count"]

_kernels = weakref.WeakValueDictionary()  # of this process, by backend and key
_recent = Recent(500)  # which live on, though nobody has them
_n_made = 0


def cached_kernel(key, build, known=None):
    """The kernel of a kind of part, built when it is first asked for.

    Parameters
    ----------
    key : hashable
        Names the kind and the form, and everything else that `build` depends on.
    build : callable
        ``build()`` returns the casadi.Function, the same each time.
    known : (str, int, int), optional
        A digest of all that `build` depends on, and the numbers of inputs and outputs of its function, where it was
        built and checked before, perhaps in another process: then it is not built unless it must be. Without it, the
        expressions themselves are the key on disk.

    Returns
    -------
    Kernel
        Whose addresses are good as long as it is referred to.

    Raises
    ------
    InputError, UnsupportedOperation
        As :func:`compile_kernel`.
    """
    global _n_made
    backend = default_backend()
    kernel = _kernels.get((backend, key))
    if kernel is None:
        if known is None:
            function = compile_kernel(build(), backend).function
            name = digest(function.serialize()) if backend == "llvm" else None
            known = name, function.nnz_in(0), function.nnz_out(0)
        kernel = _kernels[backend, key] = Kernel(build, *known[1:], backend, known[0])
        _n_made += 1
    _recent[backend, key] = kernel
    return kernel


def compile_count():
    """Number of kernels that :func:`cached_kernel` has made in this process."""
    return _n_made
