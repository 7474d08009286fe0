"""Linear solvers: options beside solvers, one per file, and the table of them; imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "base": ["LinearOptions", "LinearSolver"],
    "cholmod": ["Cholmod"],
    "petsc.solver": ["PETSc"],
    "superlu": ["SuperLU"],
    "table": ["LINEAR_SOLVERS", "linear_options"],
    "time_chain.solver": ["TimeChain"],
})
