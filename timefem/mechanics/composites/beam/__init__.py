"""Geometrically exact beams and ropes: sections, strains, and what they are made of."""
