"""Compiled kernels: a CasADi function as machine code behind an address, one per kind of part however many parts there
are; and CasADi functions called as they are, through buffers."""

import ctypes
import functools
import importlib.util
import os
import threading
import weakref

import casadi as ca
import numpy as np

from ..errors import InputError, MissingBackend
from ..memory import Recent, uncollected
from .emit import emit_ir
from .machine import address_of, fingerprint, has_assembly, link, load_objects, object_code, registers, vector_width
from .operations import check_function
from .store import digest, sources, store

__all__ = ["LANES", "Buffered", "Kernel", "cached_kernel", "compile_count", "compile_kernel", "default_backend"]


LANES = 8  # evaluations at once in the batched form: one 512-bit register of doubles
BACKENDS = ("llvm", "vm")
VARIABLE = "TIMEFEM_KERNELS"
SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def default_backend():
    """The backend that the variable TIMEFEM_KERNELS names; unset: "llvm", or "vm" where llvmlite is missing.

    Raises
    ------
    InputError
        If the variable names no backend.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return "llvm" if importlib.util.find_spec("llvmlite") else "vm"
    return _checked_backend(name, f"environment variable {VARIABLE}")


def compile_kernel(function, backend=None):
    """Make a kernel of a CasADi function.

    Either form is compiled when its address is first asked for; errors in the function are raised here.

    Parameters
    ----------
    function : casadi.Function
        One dense vector input of length n_in, one dense vector output of length n_out, and for
        "llvm" built of SX.
    backend : {"llvm", "vm"}, optional
        Machine code, or CasADi's virtual machine behind the same addresses: for operations without a template
        and for machines without LLVM, some tens of times slower. Default: :func:`default_backend`.

    Returns
    -------
    Kernel

    Raises
    ------
    InputError
        If the function has another signature or free variables, or there is no such backend.
    UnsupportedOperation
        If "llvm" has no template for one of its operations.
    MissingBackend
        If "llvm" is asked for and llvmlite is not installed.
    """
    backend = default_backend() if backend is None else _checked_backend(backend, "backend")
    if backend == "llvm" and not importlib.util.find_spec("llvmlite"):
        raise MissingBackend(f"kernels need llvmlite: python -m pip install llvmlite, or set {VARIABLE}=vm")
    check_function(function, native=backend == "llvm")
    return Kernel(lambda: function, function.nnz_in(0), function.nnz_out(0), backend)


class Kernel:
    """A point function, n_in doubles to n_out doubles, to be called by address from compiled code.

    Both addresses have the C signature ``void(double *in, double *out)`` and are valid as long as the kernel
    is referenced. `in` and `out` must not overlap.

    Parameters
    ----------
    build : callable
        Returns the checked casadi.Function; called when object code is not at hand, and again where the function is
        asked for after many others.
    n_in, n_out : int
    backend : str
        "llvm" or "vm".
    name : str, optional
        Digest of all that the function depends on, by which object code is kept on disk.

    Attributes
    ----------
    function : casadi.Function
    n_in, n_out, backend
    n_instructions : int
        Length of CasADi's instruction list, loads and stores included.
    """

    def __init__(self, build, n_in, n_out, backend, name=None):
        self._build, self._name = build, name
        self.n_in, self.n_out, self.backend = n_in, n_out, backend
        self._alive = []  # what owns the code behind the addresses

    def __repr__(self):
        return f"<Kernel: {self.n_in} -> {self.n_out}, {self.backend}>"

    @property
    def function(self):
        return _FUNCTIONS.of(self, self._build)

    @property
    def n_instructions(self):
        return self.function.n_instructions()

    @functools.cached_property
    def address(self):
        """int: the scalar form, ``in[i]`` and ``out[i]``."""
        return self._compile(1)[0]

    @functools.cached_property
    def address_lanes(self):
        """int: the 8-lane form, ``in[i * LANES + lane]`` and ``out[i * LANES + lane]``."""
        return self._lanes[0]

    @property
    def address_first(self):
        """int: the 8-lane form where only the first 4 lanes are wanted; the others may be worked on or not."""
        return self._lanes[1]

    @functools.cached_property
    def _lanes(self):
        return self._compile(LANES)

    def _compile(self, lanes):
        """Addresses of a form, and of what works on as few of its lanes as a register holds, but 4 at least."""
        if self.backend == "vm":
            (owner, address), first = _callback(self.function, lanes), 0
        elif self._name is None:
            owner, address, first = link(_object_code(self.function, lanes))
        else:
            entry = digest(self._name, lanes, fingerprint(), sources("kernels"))
            symbol = f"kernel_{entry}"
            code = store().once(entry, lambda: _object_code(self.function, lanes, symbol))
            if not address_of(symbol):
                load_objects(code)
            return address_of(symbol), address_of(f"{symbol}_first") or address_of(symbol)
        self._alive.append(owner)
        return address, first or address

    def __call__(self, x, lanes=False):
        """Evaluate at many points, one call each; for tests and post-processing.

        Parameters
        ----------
        x : array, shape (..., n_in)
        lanes : bool
            Use the 8-lane form. It may differ from the scalar form by rounding.

        Returns
        -------
        array, shape (..., n_out)

        Raises
        ------
        InputError
            If the last axis of `x` has another length.
        """
        x = np.asarray(x, dtype=float)
        if x.ndim == 0 or x.shape[-1] != self.n_in:
            raise InputError(f"the kernel takes shape (..., {self.n_in}), not {x.shape}")
        points = x.reshape(int(np.prod(x.shape[:-1])), self.n_in)
        out = self.packed(points, lanes)
        out = out.swapaxes(1, 2).reshape(out.shape[0] * out.shape[2], self.n_out)
        return out[:len(points)].reshape(*x.shape[:-1], self.n_out)

    def packed(self, points, lanes=True):
        """Values at points, shape (n, n_in), as the lanes give them: entry i of point k is [k // width, i, k % width].

        Shape (n_calls, n_out, width).
        """
        width, address = (LANES, self.address_lanes) if lanes else (1, self.address)
        n_calls = -(-len(points) // width)
        packed = np.ones((n_calls * width, self.n_in))  # the last block is filled up with ones
        packed[:len(points)] = points
        packed = np.ascontiguousarray(packed.reshape(n_calls, width, self.n_in).swapaxes(1, 2))
        out = np.empty((n_calls, self.n_out, width))
        call = SIGNATURE(address)
        for i in range(n_calls):
            call(packed.ctypes.data + i * packed.strides[0], out.ctypes.data + i * out.strides[0])
        return out


_FUNCTIONS = Recent(50)  # a function takes ten times the memory of its code


def _checked_backend(name, what):
    if name not in BACKENDS:
        raise InputError(f"{what} must be one of {', '.join(map(repr, BACKENDS))}, not {name!r}")
    return name


def _object_code(function, lanes, name="kernel"):
    """Object code of one form."""
    with uncollected():
        return object_code(emit_ir(function, name, lanes, min(lanes, vector_width()), registers(), has_assembly()))


def _callback(function, lanes):
    """Wrap CasADi's virtual machine in a C function; returns the callback, and its address."""
    if function.is_a("SXFunction"):
        symbol = ca.SX.sym("x", function.nnz_in(0))
        function = ca.Function(function.name(), [symbol], [ca.cse(function(symbol))])
    x, y = np.zeros(function.nnz_in(0)), np.zeros(function.nnz_out(0))
    buffer, evaluate = function.buffer()
    buffer.set_arg(0, memoryview(x))
    buffer.set_res(0, memoryview(y))
    lock = threading.Lock()  # one pair of buffers, and Python may switch threads between two lines below

    def view(address, n):
        return np.frombuffer((ctypes.c_double * (n * lanes)).from_address(address)).reshape(n, lanes)

    def run(in_address, out_address):
        # a length of zero has no buffer to view, nor an address that could be trusted
        given = view(in_address, len(x)) if len(x) else np.zeros((0, lanes))
        result = view(out_address, len(y)) if len(y) else np.zeros((0, lanes))
        with lock:
            for lane in range(lanes):
                x[:] = given[:, lane]
                evaluate()
                result[:, lane] = y

    callback = SIGNATURE(run)
    return (callback, buffer), ctypes.cast(callback, ctypes.c_void_p).value


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


class Buffered:
    """A CasADi function of dense arguments and results, evaluated in memory of its own.

    CasADi's matrices take ten times as long as a small function.

    Parameters
    ----------
    function : casadi.Function
    """

    def __init__(self, function):
        self.function = function
        self._buffer, self._run = function.buffer()
        self._arguments = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        self._results = [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
        for place, arrays in ((self._buffer.set_arg, self._arguments), (self._buffer.set_res, self._results)):
            for i, array in enumerate(arrays):
                if array.size:
                    place(i, memoryview(array))

    def __reduce__(self):
        return Buffered, (self.function,)  # with memory of its own

    def __call__(self, *arguments):
        """Results, flat and column by column, which the next call overwrites; arguments alike."""
        for own, given in zip(self._arguments, arguments, strict=True):
            own[:] = given.ravel()
        self._run()
        return self._results
