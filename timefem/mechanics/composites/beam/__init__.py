"""Geometrically exact beams and ropes: sections, strains, and what they are made of."""

from .beam import Beam
from .curve import Curve, Line
from .line_loads import LineForce, LineTorque
from .rope import Rope
from .section import RopeSection, Section

__all__ = ["Beam", "Curve", "Line", "LineForce", "LineTorque", "Rope", "RopeSection", "Section"]
