"""Geometrically exact beams and ropes: sections, strains, and what they are made of."""

from .beam import Beam
from .curve import Curve, Line
from .rope import Rope
from .section import RopeSection, Section

__all__ = ["Beam", "Curve", "Line", "Rope", "RopeSection", "Section"]
