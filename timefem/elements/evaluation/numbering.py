"""Places of the dofs of one element, and of a chain of elements, in time order."""

from typing import NamedTuple

import numpy as np


class Numbering(NamedTuple):
    """Places of fields among the dofs of one element: `[left node | interior | right node]`."""

    n_node: int
    n_interior: int
    fields: list  # per field: ndarray of int, shape (n_shapes, n_components)
    spaces: list  # per field: Space

    @property
    def n_local(self):
        return 2 * self.n_node + self.n_interior

    @property
    def first(self):
        """Places of the first field: among trial fields the state, shape (n_shapes, n_components)."""
        return self.fields[0]

    @property
    def step(self):
        """Dofs from one element to the next."""
        return self.n_node + self.n_interior

    @property
    def states(self):
        """Which dofs of one element are coordinates, momenta or velocities, or tests of motion, shape (n_local,)."""
        mask = np.zeros(self.n_local, bool)
        for field, space in zip(self.fields, self.spaces, strict=True):
            mask[field] = space.components in ("state", "coordinates") and not space.dual
        return mask

    def unpack(self, x):
        """Nodal values per field, shape (n_elements, n_shapes, n_components), of all dofs of a chain of elements."""
        elements = self.elements(x)
        return tuple([elements.take(field, axis=1) if field.size else np.zeros((len(elements), *field.shape))
                      for field in self.fields])

    def elements(self, x):
        """Dofs of each element, a view of shape (n_elements, n_local)."""
        x = np.ascontiguousarray(x)
        return np.ndarray(((len(x) - self.n_node) // self.step, self.n_local), float, x, 0, (8 * self.step, 8))

    def pack(self, *values):
        """All dofs of a chain of elements from nodal values per field; where elements meet, the later one counts.

        Fields without components may be left out at the end.
        """
        if any(field.size for field in self.fields[len(values):]):
            raise ValueError(f"{len(self.fields)} fields have dofs, but there are values of {len(values)}")
        n_elements = len(values[0])
        x = np.zeros(self.n_node + n_elements * self.step)
        first = self.step * np.arange(n_elements)[:, None, None]
        for field, value in zip(self.fields, values, strict=False):
            if field.size:
                x[first + field] = value
        return x


def number(spaces, sizes):
    """Number the dofs of fields in time order: node by node, components innermost, discontinuous fields last."""
    n_node = sum(size for space, size in zip(spaces, sizes, strict=True) if space.continuous)
    fields = [np.zeros((space.basis.n_shapes, size), int) for space, size in zip(spaces, sizes, strict=True)]
    shared = [f for f, space in zip(fields, spaces, strict=True) if space.continuous]
    owned = [f for f, space in zip(fields, spaces, strict=True) if not space.continuous]
    following = 0

    def place(field, shape):
        nonlocal following
        field[shape] = np.arange(following, following + field.shape[1])
        following += field.shape[1]

    for level in range(max((field.shape[0] for field in shared), default=0) - 1):
        for field in shared:
            if level < max(1, field.shape[0] - 1):
                place(field, level)
    for field in owned:
        for shape in range(field.shape[0]):
            place(field, shape)
    n_interior = following - n_node
    for field in shared:
        place(field, -1)
    return Numbering(n_node, n_interior, fields, list(spaces))
