"""Geometrically exact beams: sections, strains, and the composite part that they make."""

from .beam import Beam
from .section import Section

__all__ = ["Beam", "Section"]
