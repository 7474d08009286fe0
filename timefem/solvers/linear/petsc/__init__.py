"""Linear solvers of PETSc, and substructuring over ranks."""
