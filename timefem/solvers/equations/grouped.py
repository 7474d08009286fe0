"""The equations of very many elements, whose tangent is evaluated in groups and never there as a whole."""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np

from ...assembly import ChainPattern
from ..linear.condensation.grouped import Group, GroupedLU, GroupLU, Groups
from ..linear.time_chain.solver import WIDE, TimeChain
from .elements import ElementEquations
from .joined_pattern import JoinedPattern


@dataclass(frozen=True)
class Limits:
    """From where on elements are taken in groups."""

    entries: int = 10_000_000  # numbers of the tangent; fewer fit, with their factors, in the memory of any machine
    elements: int = 512  # of a group: fewer take longer in Python, more leave the caches


LIMITS = Limits()


def worth_groups(plan, mesh, ends, linear):
    """Whether elements are to be taken in groups: where they are many, with rows of their own, and narrow."""
    return (ends is not None and any(ends.blocks) and not plan.rows.n_node and plan.columns.step < WIDE
            and type(linear) is TimeChain and linear.order != "dissection"
            and mesh.n_elements * len(plan.tangent_rows) >= LIMITS.entries and mesh.n_elements >= 2 * LIMITS.elements)


class GroupedEquations(ElementEquations):
    """`ElementEquations` whose `data` are the unknowns at which the tangent is evaluated when it is needed."""

    def _join(self, ends):
        return _ElementGroups(self, ends)

    def _make_linear(self, linear):
        return GroupedLU(self.pattern)

    def _evaluate(self, x):
        elements = self.assembler.residual(self.split(x)[1])
        (first, _), (last, _) = self._block_values(x)
        return np.concatenate([first, elements, last]), x

    def linear_step(self, residual):
        self.linear.expect(residual)
        return super().linear_step(residual)


class _ElementGroups(Groups):
    """The tangent of `GroupedEquations` in groups of elements, the last one larger than others."""

    def __init__(self, equations, ends):
        self._equations, plan, n = equations, equations.plan, equations.mesh.n_elements
        size = LIMITS.elements
        self._bounds = [*range(0, n - size + 1, size), n]
        every, none = np.ones(plan.columns.n_node, bool), SimpleNamespace(n_unknowns=0, n_rows=0, n_node_rows=0)
        start, end = ends.blocks
        n_carried = start.n_rows - start.n_unknowns - int(ends.free[0].sum()) + plan.columns.n_node
        carried = SimpleNamespace(n_unknowns=0, n_rows=n_carried, n_node_rows=0)
        count = len(self._bounds) - 1

        @cache
        def shape(n_elements, first, last):
            own = SimpleNamespace(free=(ends.free[0] if first else every, ends.free[1] if last else every),
                                  kept=ends.kept, blocks=(start if first else carried, end if last else none))
            elements = ChainPattern(plan, n_elements, own.free, own.kept)
            joined = JoinedPattern(elements, own)
            return elements, joined, GroupLU(joined, 0 if last else plan.columns.n_node)

        self.groups, self._elements, row, column = [], [], 0, 0
        for number in range(count):
            first, last = number == 0, number == count - 1
            elements, joined, lu = shape(self._bounds[number + 1] - self._bounds[number], first, last)
            group = Group(joined, lu, (self._bounds[number], row, column), 0 if first else n_carried,
                          0 if last else plan.columns.n_node)
            self.groups.append(group)
            self._elements.append(elements)
            row, column = group.rows.stop, group.columns.stop - group.n_kept
        self.n_rows, self.n_columns = row, column

    def entries(self, number, tangent, carried):
        equations, elements, joined = self._equations, self._elements[number], self.groups[number].pattern
        data = joined.of_elements
        equations.assembler.add_elements(equations.split(tangent)[1], *self._bounds[number:number + 2], elements, data)
        nothing = np.zeros(0), np.zeros(0)
        at_start, at_end = equations._block_values(tangent) if number in (0, len(self.groups) - 1) else (nothing,) * 2
        if number > 0:
            at_start = np.zeros(len(carried)), carried.ravel()
        if number < len(self.groups) - 1:
            at_end = nothing
        return joined.join(np.zeros(elements.n_rows), data, at_start, at_end)[1]
