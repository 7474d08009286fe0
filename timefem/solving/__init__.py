"""`solve` for all kinds of problems: problem, element, mesh, solver and solution tied together."""
