"""Many elements: mesh, numbering in time order, pattern, scaling, assembled residual and tangent."""

from .assembler import Assembler, ChainPattern
from .mesh import TimeMesh
from .scaling import SCALINGS, Scaling

__all__ = ["SCALINGS", "Assembler", "ChainPattern", "Scaling", "TimeMesh"]
