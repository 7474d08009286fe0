"""What a file of a solution holds, and how elements are named in it."""

from ... import elements
from ...elements.augmented import constants, controlled, optimality, prescribed_outputs

FORMAT = "timefem solution"
VERSION = 2  # 2: sealed with a checksum, with an audit of the states
FURTHER = {"estimate": "timefem.problems.estimation.estimate.saved"}  # attribute of a file -> what reads the rest of it
MARCHES = "timefem.problems.phases.contact_motion"  # solutions with rigid contact, which offer themselves as phases


def _element_class(name):
    """Class of a time element, those with controls included, by its name."""
    modules = elements, constants, controlled, optimality, prescribed_outputs
    found = (getattr(module, name, None) for module in modules)
    return next((c for c in found if isinstance(c, type) and issubclass(c, elements.TimeElement)), None)
