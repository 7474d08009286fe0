"""One-step schemes of the literature, imported when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "energy_momentum": ["EML", "EMH", "MPH", "MPL", "REML", "DirEM", "NonTwistingEM", "NullEMH", "NullEML",
                        "SymplecticEuler"],
    "rotations": ["AlgoC1", "DLA", "NewmarkSO3", "QuatVI", "Zupan3", "Zupan3Printed"],
})
