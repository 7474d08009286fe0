"""One-step schemes of the literature, a family in a file, imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "algo_c1": ["AlgoC1", "NewmarkSO3"],
    "emh": ["EMH", "DirEM", "NonTwistingEM", "NullEMH"],
    "eml": ["EML", "MPL", "REML", "NullEML"],
    "mph": ["MPH", "SymplecticEuler"],
    "quat_vi": ["DLA", "QuatVI"],
    "zupan3": ["Zupan3", "Zupan3Printed"],
})
