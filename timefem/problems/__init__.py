"""Problems: data only. The names here are imported when they are first used: a solve needs one of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "boundary.problem": ["BoundaryValueProblem"],
    "initial.problem": ["InitialValueProblem"],
    "inverse.problem": ["InverseDynamics"],
    "optimal.problem": ["OptimalControl"],
    "optimal.statement.complementarity": ["Complementary", "CoulombFriction", "SpringContact"],
    "optimal.statement.couplings": ["Coupling"],
    "optimal.statement.limits": ["Limit"],
    "phases.problem": ["Phases"],
})
