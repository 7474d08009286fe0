"""What is asked: data only. The names here are imported when they are first used: a solve needs one of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "boundary.problem": ["BoundaryValueProblem"],
    "initial.problem": ["InitialValueProblem"],
    "inverse.problem": ["InverseDynamics"],
    "optimal.complementarity": ["Complementary", "CoulombFriction"],
    "optimal.couplings": ["Coupling"],
    "optimal.limits": ["Limit"],
    "optimal.problem": ["OptimalControl"],
    "optimal.spring_contact": ["SpringContact"],
    "phases.problem": ["Phases"],
})
