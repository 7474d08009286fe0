"""One-step schemes of the literature, one per file."""

from .algo_c1 import AlgoC1
from .dir_em import DirEM
from .dla import DLA
from .emh import EMH
from .eml import EML
from .mph import MPH
from .mpl import MPL
from .newmark_so3 import NewmarkSO3
from .nontwisting_em import NonTwistingEM
from .null_emh import NullEMH
from .null_eml import NullEML
from .quat_vi import QuatVI
from .reml import REML
from .symplectic_euler import SymplecticEuler
from .zupan3 import Zupan3, Zupan3Printed

__all__ = ["DLA", "EMH", "EML", "MPH", "MPL", "AlgoC1", "DirEM", "NewmarkSO3", "NonTwistingEM", "NullEMH", "NullEML",
           "QuatVI", "REML", "SCHEMES", "SymplecticEuler", "Zupan3", "Zupan3Printed"]

# by name on the command line
SCHEMES = {cls.name: cls for cls in (EML, REML, NullEML, EMH, NullEMH, MPL, MPH, QuatVI, DirEM, AlgoC1,
                                   Zupan3, Zupan3Printed, NewmarkSO3, NonTwistingEM, DLA, SymplecticEuler)}
ALIASES = {"quat-em": "emh"}
