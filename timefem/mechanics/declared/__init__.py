"""What the constructor of a part takes, declared once.

A part declares its arguments as class attributes: `stiffness = Real("k", "N/m", None, above=0)`. From them come its
constructor, the checks of values, what enters its formulas, saved files, model files and their schema, and the
documentation.
"""

from .declared import Formula, SeveralBodies, Texts
from .values import (
    Choice,
    CoordinateName,
    Direction,
    Field,
    Flag,
    Function,
    Integer,
    Name,
    Numbers,
    On,
    OnJoint,
    Orientation,
    Point,
    Real,
    Rows,
    Term,
    Vector,
    VectorFunction,
)

__all__ = ["Choice", "CoordinateName", "Direction", "Field", "Flag", "Formula", "Function", "Integer", "Name",
           "Numbers", "On", "OnJoint", "Orientation", "Point", "Real", "Rows", "SeveralBodies", "Term", "Texts",
           "Vector", "VectorFunction"]
