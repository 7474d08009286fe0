"""Fields in time, invariants, files and plots; the names here are imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "output.save": ["load", "save"],
    "solution": ["Solution"],
})
