"""One-step schemes of the literature, one per file, imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "algo_c1": ["AlgoC1"],
    "dir_em": ["DirEM"],
    "dla": ["DLA"],
    "emh": ["EMH"],
    "eml": ["EML"],
    "mph": ["MPH"],
    "mpl": ["MPL"],
    "newmark_so3": ["NewmarkSO3"],
    "nontwisting_em": ["NonTwistingEM"],
    "null_emh": ["NullEMH"],
    "null_eml": ["NullEML"],
    "quat_vi": ["QuatVI"],
    "reml": ["REML"],
    "symplectic_euler": ["SymplecticEuler"],
    "zupan3": ["Zupan3", "Zupan3Printed"],
})
