"""One time element as formulas: spaces and densities; evaluated in `elements.evaluation`.

The names here are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "bubnov_galerkin": ["BubnovGalerkin"],
    "element": ["Space", "TimeElement"],
    "mixed_galerkin": ["MixedGalerkin"],
})
