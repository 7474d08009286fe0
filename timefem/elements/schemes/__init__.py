"""One-step schemes of the literature, a family in a file, imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "algo_c1": ["AlgoC1"],
    "emh": ["EMH", "DirEM", "NonTwistingEM", "NullEMH"],
    "eml": ["EML", "REML", "NullEML"],
    "mph": ["MPH"],
    "mpl": ["MPL"],
    "newmark_so3": ["NewmarkSO3"],
    "quat_vi": ["DLA", "QuatVI"],
    "symplectic_euler": ["SymplecticEuler"],
    "zupan3": ["Zupan3", "Zupan3Printed"],
})
