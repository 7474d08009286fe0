"""What a solve of elements gives: nodal values by field, and how it went."""

from dataclasses import dataclass, field

import numpy as np

from ...status import Status

NAMES = "state", "multipliers", "others"


class NodalValues:
    """Nodal values of the state, of the multipliers `(gamma, mu)` and of the further fields of an element.

    Parameters
    ----------
    state, multipliers : array_like, shapes (n_elements, n_shapes, n_z), (n_elements, n, n_multipliers)
    others : dict, optional
        Name -> values, shape (n_elements, n_shapes, n_components); those without components are left out.
    """

    def __init__(self, state, multipliers, others=None):
        # in rows, as in files: sums over other layouts would differ by rounding
        self.state, self.multipliers = map(np.ascontiguousarray, (state, multipliers))
        self.others = {name: np.ascontiguousarray(values) for name, values in (others or {}).items()
                       if values.shape[-1]}

    def __len__(self):
        return len(self.state)

    def dofs(self, plan):
        """All dofs by a plan in time order, where they are at hand; else None."""
        return None

    @property
    def arrays(self):
        """State, multipliers and further fields."""
        return self.state, self.multipliers, self.others

    def nodes(self, z0):
        """States at the ends of the elements, from `z0` at the start on, shape (n_elements + 1, n_z)."""
        return np.concatenate([[z0], self.state[:, -1]])

    def chain(self):
        """States in time order without repetition: an array, and the places of the state of the first element in it,
        (n_shapes, n_z), at least one element being there."""
        n_shapes, n_z = self.state.shape[1:]
        x = np.concatenate([self.state[:, :-1].ravel(), self.state[-1, -1]])
        return x, np.arange(n_shapes * n_z).reshape(n_shapes, n_z)


class ValuesOfDofs(NodalValues):
    """Those of the first n elements of a chain, taken out of all dofs when they are first asked for.

    Parameters
    ----------
    plan : ElementPlan
    x : ndarray
        All dofs in time order, which nobody changes any more.
    n : int
    """

    def __init__(self, plan, x, n):
        self._plan, self._x, self._n = plan, x, n

    def __getattr__(self, name):
        if name not in NAMES:
            raise AttributeError(name)
        plan, n = self._plan, self._n
        state, multipliers, others = plan.unpack(self._x[:plan.columns.n_node + n * plan.columns.step])
        super().__init__(state, multipliers, others)
        self._plan = self._x = None
        return self.__dict__[name]

    def __len__(self):
        return self._n

    def dofs(self, plan):
        """All dofs, which are not to be changed, as long as nobody asked for values and where the plan is theirs."""
        return self._x if self._plan is plan else None

    def __reduce__(self):
        return NodalValues, self.arrays

    def nodes(self, z0):
        if self._plan is None:
            return super().nodes(z0)
        columns = self._plan.columns  # the state comes first at each node
        return np.ndarray((self._n + 1, len(z0)), float, self._x, 0, (8 * columns.step, 8)).copy()

    def chain(self):
        return super().chain() if self._plan is None else (self._x, self._plan.columns.first)


# ---- nodal values on another mesh

def transferred(values, element, mesh, other_element, sizes, other_mesh):
    """Nodal values by field on another mesh of the same span, for an element that may have another degree.

    `sizes` are the numbers of components of its fields. Fields that the first element does not have are zero. Costates
    of tests that are not polynomials through nodes are taken from the element that was there, as they are: near enough
    for a guess.
    """
    out = {}
    span, other = mesh.nodes[[0, -1]], other_mesh.nodes[[0, -1]]
    same_mesh = np.array_equal(mesh.nodes, other_mesh.nodes)
    for name, space in other_element.trial.items():
        if not hasattr(space.basis, "points"):
            middles = (other_mesh.nodes[1:] + other_mesh.nodes[:-1]) / 2
            e, _ = mesh.locate(span[0] + (middles - other[0]) * ((span[1] - span[0]) / (other[1] - other[0])))
            same = name in values and values[name].shape[1] == space.basis.n_shapes
            out[name] = values[name][e] if same else np.zeros((len(e), space.basis.n_shapes, sizes[name]))
            continue
        if same_mesh and name in values and element.trial[name].basis == space.basis:
            out[name] = values[name]
            continue
        points = other_mesh.points(space.basis)
        if name not in values:
            out[name] = np.zeros((*points.shape, sizes[name]))
            continue
        basis = element.trial[name].basis
        # of a node at an end, the element that it belongs to counts
        inside = other_mesh.nodes[:-1, None] + other_mesh.lengths[:, None] * np.clip(space.basis.points, 1e-9, 1 - 1e-9)
        t, at = (span[0] + (v - other[0]) * ((span[1] - span[0]) / (other[1] - other[0])) for v in (points, inside))
        e, _ = mesh.locate(np.clip(at, *span))
        xi = (t - mesh.nodes[e]) / mesh.lengths[e]
        out[name] = np.einsum("eni,enia->ena", basis.values(xi.ravel()).reshape(*xi.shape, -1), values[name][e])
    return out


@dataclass
class Outcome:
    """What a driver returns.

    Attributes
    ----------
    values : NodalValues
        Of the solved elements.
    status : Status
    iterations : ndarray of int
        Newton iterations per element (march), window or solve.
    n_unknowns : int
        Of one nonlinear system.
    seconds : dict
        "setup", "assemble", "solve", "total".
    n_ranks : int
    backward_error : float
        Largest of all linear solves; NaN where it is not looked at (march).
    ordering : str
        In which order the linear solver eliminates, where it has a choice.
    per_rank : dict
        Numbers of all ranks by name, where ranks share one system.
    first : int or None
        First of the elements that this rank has the values of; None: it has all.
    mesh : TimeMesh or None
        Where it is another one than was given.
    attempts : list of dict
        Fields of each `Attempt`, of optimal control.
    stopped : bool
        Whether it was asked to stop, perhaps at its end.
    """

    values: NodalValues
    status: Status
    iterations: np.ndarray
    n_unknowns: int
    seconds: dict = field(default_factory=dict)
    n_ranks: int = 1
    backward_error: float = float("nan")
    ordering: str = ""
    per_rank: dict = field(default_factory=dict)
    first: int | None = None
    mesh: object = None
    attempts: list = field(default_factory=list)
    stopped: bool = False

    @property
    def n_solved(self) -> int:
        """Number of elements."""
        return len(self.values)

    @property
    def state(self) -> np.ndarray:
        """Nodal values of `(q, p)`, shape (n_solved, n_shapes, n_z)."""
        return self.values.state


def joined(values):
    """`NodalValues` of several sequences of elements one after the other."""
    state, multipliers, others = zip(*(v.arrays for v in values), strict=True)
    return NodalValues(np.concatenate(state), np.concatenate(multipliers),
                       {name: np.concatenate([o[name] for o in others]) for name in others[0]})
