"""Point functions as machine code: CasADi expressions in, addresses out.

:func:`timefem.kernels.call.call_kernel` calls them from Numba code; not imported here, because Numba is
slow to import.
"""

from .cache import cached_kernel, compile_count
from .compile import LANES, Kernel, compile_kernel
from .emit import UnsupportedOperation, emit_ir

__all__ = [
    "LANES", "Kernel", "UnsupportedOperation", "cached_kernel", "compile_count", "compile_kernel", "emit_ir",
]
