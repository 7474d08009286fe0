"""What constraints and forces given by a formula share, holonomic or not."""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca

from ...errors import InputError
from ..body_frame import BodyFrame
from ..declared import Formula, Integer, Numbers, SeveralBodies, Texts
from ..formulas.formula import call
from ..part import Part
from ..symbols import Symbols
from .frame import Frame


class FormulaPart(Part, abstract=True):
    """Equations or forces of one or more bodies, by `formula(frames, t, c)` with the parameters c."""

    bodies = SeveralBodies()

    def _checked_bodies(self, bodies):
        given, = bodies
        found = (given,) if isinstance(given, BodyFrame) else tuple(given) if isinstance(given, list | tuple) else ()
        if not found or not all(isinstance(b, BodyFrame) for b in found):
            raise InputError(f"{self._title}: bodies must be a body or a list of bodies, not {given!r}")
        if len({id(b) for b in found}) < len(found):
            raise InputError(f"{self._title}: a body is given twice in bodies; give each one once")
        return found

    @property
    def _formula_title(self):
        return f"{self._title}: the formula"

    def __repr__(self):
        return f"{self._title} of {' and '.join(map(repr, self.bodies))}"

    def _symbols(self):
        """Symbols before the numbers are settled."""
        self.own_parameters = self.declared_numbers()
        s = Symbols(self)
        s.velocity = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        return s

    def _traced_frames(self, kind):
        """Frames of their own symbols, and these by the names of a text."""
        symbols, frames = {}, []
        for i, body in enumerate(self.bodies):
            shapes = {"position": (3, 1), "velocity": (3, 1), "rotation": (3, 3), "angular_velocity": (3, 1)}
            own = {name: ca.SX.sym(name, *shape) for name, shape in shapes.items() if name in kind._fields and
                   body.has_position and (name != "angular_velocity" or body.has_orientation)}
            own |= {name: ca.SX.sym(name, body.n_q) for name in ("q", "rate") if name in kind._fields}
            frames.append(kind(**{name: own.get(name) for name in kind._fields}))
            symbols |= {f"f[{i}].{name}": x for name, x in own.items()}
        return frames, symbols

    def _traced(self, kind):
        """The same with time and parameters: frames, t, c, and all symbols by the names of a text."""
        frames, symbols = self._traced_frames(kind)
        t, c = ca.SX.sym("t"), ca.SX.sym("c", len(self.formula_parameters))
        return frames, t, c, symbols | {"t": t, "c": c}


class FormulaEquations(FormulaPart, abstract=True):
    """`n` equations, which the formula states in what `frame` shows of a body."""

    table = "joints"
    frame: ClassVar[type] = Frame
    formula = Formula("see above", "f", "t", "c")
    n = Integer("how many constraints", least=1, most=1000)
    formula_parameters = Numbers("c of the formula", (), argument="parameters")
    names = Texts("one per constraint, for messages")

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the formula returns, and its symbols by their names in a text."""
        *arguments, symbols = self._traced(self.frame)
        return ca.vertsplit(self._values(*arguments)), symbols

    def _values(self, frames, t, c):
        return call(self._formula_title, self.formula, self.n, frames, t, c)
