"""Linear solvers: options beside solvers, and the table of them; imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "base": ["LINEAR_SOLVERS", "Cholmod", "LinearOptions", "LinearSolver", "SuperLU", "linear_options"],
    "petsc": ["PETSc"],
    "time_chain.solver": ["TimeChain"],
})
