"""The schemes by their names on the command line."""

from . import (
    DLA,
    EMH,
    EML,
    MPH,
    MPL,
    REML,
    AlgoC1,
    DirEM,
    NewmarkSO3,
    NonTwistingEM,
    NullEMH,
    NullEML,
    QuatVI,
    SymplecticEuler,
    Zupan3,
    Zupan3Printed,
)

SCHEMES = {cls.name: cls for cls in (EML, REML, NullEML, EMH, NullEMH, MPL, MPH, QuatVI, DirEM, AlgoC1,
                                     Zupan3, Zupan3Printed, NewmarkSO3, NonTwistingEM, DLA, SymplecticEuler)}
ALIASES = {"quat-em": "emh"}
