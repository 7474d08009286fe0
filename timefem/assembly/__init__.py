"""Many elements: mesh, numbering in time order, pattern, scaling, assembled residual and tangent."""

from .assembler import Assembler
from .mesh import TimeMesh
from .pattern import ChainPattern
from .scaling import SCALINGS, Scaling

__all__ = ["SCALINGS", "Assembler", "ChainPattern", "Scaling", "TimeMesh"]
