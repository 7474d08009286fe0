"""The schemes by their names on the command line, imported when they are asked for."""

from ...late import LateTable

SCHEMES = LateTable(__package__, {
    "eml": ".eml.EML", "reml": ".eml.REML", "null-eml": ".eml.NullEML", "emh": ".emh.EMH",
    "null-emh": ".emh.NullEMH", "mpl": ".eml.MPL", "mph": ".mph.MPH", "quat-vi": ".quat_vi.QuatVI",
    "dir-em": ".emh.DirEM", "algo-c1": ".algo_c1.AlgoC1", "zupan3": ".zupan3.Zupan3",
    "zupan3-printed": ".zupan3.Zupan3Printed", "newmark-so3": ".algo_c1.NewmarkSO3",
    "nontwisting-em": ".emh.NonTwistingEM", "dla": ".quat_vi.DLA",
    "symplectic-euler": ".mph.SymplecticEuler",
})
ALIASES = {"quat-em": "emh"}
