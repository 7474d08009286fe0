"""Words that public signatures share for what they take and return.

Constructors of parts are written in them too: `tools/stubs.py` makes their signatures from the declared arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    import casadi as ca

Number: TypeAlias = float | np.floating | np.integer
Vector: TypeAlias = Sequence[Number] | np.ndarray  # numbers in a row
Matrix: TypeAlias = Sequence[Sequence[Number] | np.ndarray] | np.ndarray
Floats: TypeAlias = Number | Sequence[Any] | np.ndarray  # a number, or numbers in any shape
Expression: TypeAlias = "ca.SX | ca.DM | float"  # in CasADi symbols, or a number
UserFunction: TypeAlias = Callable[..., Any]  # a function given by the user
UserFormula: TypeAlias = UserFunction | str | Sequence[Any]  # or as text, or a list of texts
States: TypeAlias = Mapping[Any, Any]  # body, or its name -> its state; composite parts have one state per node
FilePath: TypeAlias = str | os.PathLike[str]

Given = TypeVar("Given")
Kept = TypeVar("Kept")


class Converted(Generic[Given, Kept]):
    """Type of a field of a dataclass that the constructor takes as one type and keeps as another, see `tools/stubs.py`.
    """
