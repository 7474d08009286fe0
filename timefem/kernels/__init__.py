"""Point functions as machine code: CasADi expressions in, addresses out.

:func:`timefem.kernels.lanes.call_kernel` calls them from Numba code. The names here are imported when they are first
used, because CasADi and LLVM are slow to import.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "compile": ["LANES", "Kernel", "cached_kernel", "compile_count", "compile_kernel"],
    "emit": ["emit_ir"],
    "operations": ["UnsupportedOperation"],
})
