"""Names that options choose from, and where each is defined. Another one is a file in that folder and an entry here."""

from ..late import LateTable

FORMS = LateTable("timefem.elements.forms", {  # of the equations of motion
    "hamilton": ".hamilton.HamiltonForm", "lagrange": ".lagrange.LagrangeForm", "impulse": ".impulse.ImpulseForm",
    "energy": ".energy.EnergyForm"})

METHODS = LateTable("timefem.solvers", {  # of optimal control with inequalities
    "interior-point": ".interior_point.algorithm.InteriorPoint", "ipopt": ".nonlinear.engines.ipopt.Ipopt",
    "fatrop": ".nonlinear.engines.fatrop.Fatrop"})

LINEAR_SOLVERS = LateTable("timefem.solvers.linear", {  # options; each says what packages it needs, how to install them
    "chain": ".time_chain.solver.TimeChain", "superlu": ".superlu.SuperLU", "petsc": ".petsc.solver.PETSc",
    "sksparse": ".cholmod.Cholmod"})

KRYLOV = {"ksp_type": "gmres", "ksp_rtol": 1e-10, "ksp_gmres_restart": 200, "ksp_max_it": 1000, "ksp_pc_side": "right"}
PETSC_METHODS = {  # names for options of PETSc
    "mumps": {"pc_type": "lu", "pc_factor_mat_solver_type": "mumps"},
    "substructuring": {"pc_type": "python"},
    "block-jacobi": KRYLOV | {"pc_type": "fieldsplit", "pc_fieldsplit_sets": "slabs", "pc_fieldsplit_type": "additive"},
    "gauss-seidel": KRYLOV | {"pc_type": "fieldsplit", "pc_fieldsplit_sets": "slabs",
                              "pc_fieldsplit_type": "multiplicative"},
    # with less overlap the pieces of BG(2) and BG(3) may be singular
    "schwarz": KRYLOV | {"pc_type": "asm", "pc_asm_sets": "slabs", "pc_asm_overlap": 4},
    "schur": KRYLOV | {"pc_type": "fieldsplit", "pc_fieldsplit_sets": "states", "pc_fieldsplit_type": "schur"}}
SHORTHANDS = {"chain": "substructuring"}  # of them
