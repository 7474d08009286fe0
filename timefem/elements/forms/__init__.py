"""The forms in which a Galerkin element takes the equations of motion."""

from ...validate.options import FORMS

__all__ = ["FORMS"]
