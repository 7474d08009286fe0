"""A part with several nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...display import digits
from ...errors import InputError
from ..bodies.point_mass import PointMass
from ..bodies.states import Pose
from ..declared import Integer, Real, Term, Vector
from ..declared.declared import Declared
from ..forces.springs import Damper, Spring

if TYPE_CHECKING:
    from ..bodies.states import Pose
    from ..part import Body, Part
    from ..shapes import Stroke


class Composite(Declared, ABC, abstract=True):
    """A part that brings nodes (bodies) and what acts on them (elements: springs, joints, potentials) under one name.

    A subclass declares its arguments, and makes its nodes and elements once. In a `System` they are parts like any
    others, called `rope.node[3]` and `rope.element[2]`: joints, forces, outputs, controls, plots and files take nodes
    wherever they take bodies. Elements of one kind share a kernel, so that cost grows with their number only.

    Attributes
    ----------
    nodes : tuple of Body
    elements : tuple of Part
    places : ndarray, shape (n_nodes,)
        Of the nodes along the part, from 0 to 1.
    """

    table = "composites"
    owner, helper = None, False
    is_body = has_position = has_orientation = False  # its nodes are and have

    def _complete(self):
        self.nodes, self.elements = self._owned("node", self.make_nodes()), ()
        try:
            self.elements = self._owned("element", self.make_elements())
        except IndexError:
            if self.nodes:
                raise
        if not self.members:
            raise InputError(f"{self._title}: make_nodes gave no bodies and make_elements nothing that acts on others; "
                             "let numbers of nodes begin at 1")
        self.places = np.linspace(0, 1, len(self.nodes))
        for i, node in enumerate(self.nodes):
            node.reference = self.reference(i)

    def _owned(self, what, members):
        members = tuple(members)
        for i, member in enumerate(members):
            member.owner, member.place = self, f"{what}[{i}]"
            member.key = self.key, member.place
            member.name = f"{self.name}.{member.place}" if self.name else None
        return members

    @abstractmethod
    def make_nodes(self) -> Iterable[Body]:
        """The bodies, in order."""

    @abstractmethod
    def make_elements(self) -> Iterable[Part]:
        """What acts on `self.nodes`: parts, any number of them."""

    @abstractmethod
    def reference(self, i: int) -> Pose:
        """`Pose` of a node where no state is given: the undeformed shape."""

    def drawn_lines(self) -> list[Stroke]:
        """What pictures show in place of its nodes and elements, list of `Stroke`; empty: show these."""
        return []

    @property
    def members(self) -> tuple[Part, ...]:
        """Nodes, then elements."""
        return self.nodes + self.elements

    def node(self, i: int) -> Body:
        """A node by its number, from the end when negative."""
        return self._member("node", self.nodes, i)

    def element(self, i: int) -> Part:
        """An element by its number, from the end when negative."""
        return self._member("element", self.elements, i)

    def at(self, s: float) -> Body:
        """The node at the place `s`, from 0 (the first) to 1 (the last).

        Raises
        ------
        InputError
            When there is no node; names the nearest place.
        """
        i = int(np.argmin(np.abs(self.places - s)))
        if not abs(self.places[i] - s) <= 1e-9:
            raise InputError(f"{self._title} has no node at {digits(s)}; the nearest is at {digits(self.places[i])}, "
                             f"node({i})")
        return self.nodes[i]

    def states(self, given: Sequence[Any] | Callable[[float], Any]) -> dict[Body, Any]:
        """State of each node, from a list of them or a function of the place: dict from node to state."""
        values = [given(float(s)) for s in self.places] if callable(given) else given
        if not isinstance(values, list | tuple) or len(values) != len(self.nodes):
            raise InputError(f"state of {self._title} must be a list of {len(self.nodes)} states, one for each node, "
                             f"or a function of the place from 0 to 1, not {given!r}")
        return dict(zip(self.nodes, values, strict=True))

    def numbers(self, c: Any) -> dict[str, Any]:
        return {}  # its members have them

    def made_of(self, values: Mapping[str, Any]) -> tuple[Part, ...]:
        """Members by other values of arguments, or expressions, as they are: with them as arguments, for formulas."""
        other = copy(self)
        vars(other).update(values)
        other.nodes = tuple(other.make_nodes())
        other.elements = tuple(other.make_elements())
        return other.members

    def _member(self, what, members, i):
        n = len(members)
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not -n <= i < n:
            raise InputError(f"{self._title} has no {what} {i!r}; they are counted from 0 to {n - 1}")
        return members[i]

    def __repr__(self):
        name = f", name={self.name!r}" if self.name else ""
        return f"{type(self).__name__}({len(self.nodes)} nodes, {len(self.elements)} elements{name})"


class RestPlace(Vector):
    """A place that states at the start are made of, and formulas are not."""

    varies = False


class MassSpringChain(Composite):
    """A chain or rope as n equal point masses in a row, with equal springs between neighbours.

    `V = sum_i 1/2 k (|x_{i+1} - x_i| - l0)^2` with masses m/n each. At rest it is straight from `start` to `end`; a
    rope of length L, cross-section stiffness EA has k = (n - 1) EA/L.

    Raises
    ------
    InputError
        For numbers out of range.
    """

    n = Integer("number of masses", least=2, most=10**6)
    mass = Real("of all of it", "kg", above=0)
    stiffness = Real("k of each spring", "N/m", above=0)
    end = RestPlace("place of the last mass where no state is given", "m")
    start = RestPlace("place of the first mass where no state is given", "m", (0.0, 0.0, 0.0))
    length = Term("l0 of each spring", "m", 0.0, least=0, vanishes=False)
    damping = Term("c of a damper beside each spring; none where zero", "N s/m", 0.0, least=0, vanishes=False)

    def make_nodes(self) -> Iterable[Body]:
        return [PointMass(self.mass / self.n) for _ in range(self.n)]

    def make_elements(self) -> Iterable[Part]:
        pairs = list(pairwise(self.nodes))
        springs = [Spring(a, b, stiffness=self.stiffness, length=self.length) for a, b in pairs]
        return springs + [Damper(a, b, damping=self.damping) for a, b in pairs if self._damped]

    def _complete(self):
        self._damped = bool(self.damping)
        super()._complete()

    def reference(self, i: int) -> Pose:
        return Pose(self.start + i / (self.n - 1) * (self.end - self.start))
