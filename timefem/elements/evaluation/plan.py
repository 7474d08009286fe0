"""The residual density of one kind of part at a quadrature point, as a compiled kernel."""

import functools
import itertools
import json
import operator
from typing import NamedTuple

import casadi as ca
import numpy as np

from ...errors import InputError
from ...kernels import LANES, cached_kernel, compile_kernel
from ...kernels.store import digest, sources, store
from ...mechanics.parts import lasting_name
from ...mechanics.symbols import for_formulas, refuse_numbers
from ...memory import Recent
from ...polynomials import gauss_legendre
from ...progress import counted
from ..components import components
from .arrays import PART, SECTION, Plan, Side, products, take_joined
from .single_point import explicit_unknowns
from .whole_element import single_shapes, whole_element


class PointKernel(NamedTuple):
    """Point kernel of one kind of part for one weak form: inputs `[slots, t, h, xi, parameters]` (a slot that does
    not enter is left out), outputs `[rows per test slot, Jacobian entries]`. Of elements with `one_kernel` it is that
    of a `whole_element`."""

    key: tuple
    kernel: object
    name: str  # see `lasting_name`; None if there is none
    n_inputs: tuple  # components per slot
    n_rows: tuple  # rows per test slot
    entries: list  # (test slot, slot, row, column) per Jacobian entry
    constants: list  # per output: its value if that never changes, else NaN

    def shortened(self, outputs, zero=()):
        """Kernel of the chosen outputs alone, with the inputs in `zero` set to zero."""
        outputs, zero = tuple(map(int, outputs)), tuple(map(int, zero))

        def build():
            x = ca.SX.sym("x", self.kernel.n_in)
            given = ca.SX(x)
            given[list(zero)] = 0
            values = self.kernel.function(given)[list(outputs)]
            return ca.Function("point", [x], [ca.densify(values)])

        known = None
        if self.name:
            known = digest("shortened", self.name, outputs, zero), self.kernel.n_in, len(outputs)
        return cached_kernel((*self.key, outputs, zero), build, known)


def point_kernel(part, element, sizes):
    """Point kernel of a part for a time element, compiled once per kind of part and density.

    `sizes` are the numbers of local components by name, see `components`.
    """
    what = f"{element.n_points} points" if element.one_kernel else "density"
    key = (part.kind, element.density_key, what)

    def built():
        return _FUNCTIONS.of(key, lambda: _density(part, element, sizes))

    def described():
        name = lasting_name(what, part, element)
        found = _described(store().read(name)) if name else None
        if not found:
            function, *description = built()
            compile_kernel(function)  # raises where no kernel can be made of it
            found = function.nnz_in(0), function.nnz_out(0), *description
            if name:
                store().write(name, json.dumps(found).encode())
        return name, *found

    def build():
        return built()[0]

    name, n_in, n_out, *description = _DENSITIES.of(key, described)

    return PointKernel(key, cached_kernel(key, build, (name, n_in, n_out) if name else None), name, *description)


def _described(data):
    """Numbers of inputs and outputs, and what `_density` returns beside the function, as kept on disk; None without."""
    if data is None:
        return None
    n_in, n_out, n_inputs, n_rows, entries, constants = json.loads(data)
    return n_in, n_out, tuple(n_inputs), tuple(n_rows), list(map(tuple, entries)), constants


def _density(part, element, sizes):
    """The density and its derivatives as a casadi.Function, and the fields of `PointKernel` from `n_inputs` on."""
    part = for_formulas(part)
    found = _at_point(part, element, sizes)
    refuse_numbers(part, found[0])
    function, *description = whole_element(element, *found) if element.one_kernel else found
    values = function(ca.SX.sym("x", function.nnz_in(0)))
    constants = [float(v) if v.is_constant() else float("nan") for v in ca.vertsplit(values)]
    return function, *description, constants


def _at_point(part, element, sizes):
    """As `_density`, without the constants."""
    s = element.symbols(part, element, sizes)
    rows = [ca.densify(ca.SX(r)) for r in element.density(s)]
    _check_rows(part, element, sizes, rows)
    variables, closed = list(s.slots.values()), ca.vertcat(*s.closed(rows))
    slots = [v if ca.depends_on(closed, v) else ca.SX(0, 1) for v in variables]
    outputs, entries = list(rows), []
    for test, row in enumerate(rows):
        if not (element.has_tangent and row.numel()):
            continue
        for slot, jacobian in enumerate(_jacobians(s, element, row, dict(zip(s.slots, slots, strict=True)))):
            outputs += jacobian.nonzeros()
            entries += [(test, slot, r, c) for r, c in zip(*jacobian.sparsity().get_triplet(), strict=True)]
    inputs = ca.vertcat(*slots, s.t, s.h, s.xi, s.parameters)
    values = ca.densify(s.closed([ca.vertcat(*outputs)])[0])
    return (ca.Function("point", [inputs], [values]), tuple(v.numel() for v in slots),
            tuple(r.numel() for r in rows), entries)


def _check_rows(part, element, sizes, rows):
    """InputError where a density has not the rows of its tests; those of a body are known beforehand."""
    title, tests = f"density of {element!r}", element.test_slots
    if len(rows) != len(tests):
        raise InputError(f"{title} gives {len(rows)} blocks of rows, {len(tests)} expected: one for each of "
                         f"{', '.join(name for name, _ in tests)}")
    for (name, _), row in zip(tests, rows, strict=True):
        expected = sizes[element.test[name].components] if part.is_body else row.numel()
        if row.numel() not in (0, expected) and element.test[name].components in ("state", "coordinates"):
            raise InputError(f"{title} gives {row.numel()} rows for {name} of {part!r}, {expected} expected")


def _jacobians(s, element, row, slots):
    """Derivatives of a row by each slot, sparse SX.

    Of rows that see the nodes of the state through inner symbols, by the nodes alone: of each pair of shape
    functions there is one sum over the points instead of three.
    """
    found = {name: ca.jacobian(row, variable) + sum(i.derivative(row, variable) for i in s.inner)
             for name, variable in slots.items()}
    through = [blocks for i in s.inner if (blocks := i.by_nodes(row, s.slots["state", 0].numel())) is not None]
    if through:
        nodes = [("state", j) for j in range(element.state.basis.n_shapes)]
        by_nodes = [sum(blocks) for blocks in zip(*through, strict=True)]
        for where, weights in ("value", s.shapes), ("rate", [slope / s.h for slope in s.slopes]):
            matrix, found["state", where] = found["state", where], ca.SX(row.numel(), slots["state", where].numel())
            if matrix.nnz():
                by_nodes = [block + weight * matrix for block, weight in zip(by_nodes, weights, strict=True)]
        found |= {node: found[node] + block for node, block in zip(nodes, by_nodes, strict=True)}
    return list(map(ca.sparsify, found.values()))


_DENSITIES, _FUNCTIONS = Recent(1000), Recent(50)  # by kind of part and density


NONE = np.zeros(0)
MANY = 10_000  # entries of all parts, from which on where they go is kept on disk


class ElementPlan:
    """Everything that is known before numbers come in: kernels, index maps and the pattern of one element.

    Attributes
    ----------
    columns, rows : Numbering
        Trial dofs `[left node | interior | right node]` and test rows of one element.
    tangent_rows, tangent_columns : ndarray of int, shape (n_tangent,)
        Pattern of the element tangent, without repetition.
    arrays : Plan
    point_kernels : list of PointKernel
        Per group of parts.
    """

    def __init__(self, system, element):
        self.system, self.element = system, element
        spaces = {**element.trial, **{("test", name): space for name, space in element.test.items()}}
        self.components = components(system, [space.components for space in spaces.values()])
        self.columns, self.rows = (number(list(s.values()), [self.components[x.components].size for x in s.values()])
                                   for s in (element.trial, element.test))
        n_points = 1 if element.one_kernel else element.n_points
        xi, weights = (np.zeros(1), np.ones(1)) if element.one_kernel else _points(n_points)
        slots, test_slots = (single_shapes(element.trial), single_shapes(element.test)) if element.one_kernel else (
            element.slots, element.test_slots)
        trial = Side(element.trial, slots, self.columns, self.components, xi)
        test = Side(element.test, test_slots, self.rows, self.components, xi, weights)
        parts = _Parts(trial, test)
        for number_of_group, group in enumerate(counted("set-up", system.groups)):
            sizes = {name: c.places[number_of_group].shape[1] for name, c in self.components.items()}
            parts.add(number_of_group, group, point_kernel(group.part, element, sizes))
        self.point_kernels = parts.kernels
        entry_targets, self.tangent_rows, self.tangent_columns = _known_blocks(
            parts.all_of("entries"), trial.n_components, test.by_component(), trial.by_component())
        pair_tables, pairs = products(test, trial)
        self.arrays = Plan(
            points=xi.astype(float), n_points=n_points, slots=trial.records, tables=trial.tables,
            tests=test.records, test_tables=test.tables, pairs=pairs, pair_tables=pair_tables,
            parts=np.concatenate(parts.records), n_seen=_counts(parts, "n_inputs"), n_tested=_counts(parts, "n_rows"),
            gather=parts.all_of("gather"), row_targets=parts.all_of("rows"),
            sections=np.array(list(map(tuple, parts.sections)), SECTION), entry_targets=entry_targets,
            parameters=parts.all_of("parameters"), n_columns=self.columns.n_local, n_rows=self.rows.n_local,
            n_tangent=len(self.tangent_rows), n_in=max(k.kernel.n_in for k in self.point_kernels),
            n_out=max(k.kernel.n_out for k in self.point_kernels))

    @functools.cached_property
    def explicit(self):
        """`Explicit` unknowns."""
        return explicit_unknowns(self)

    def take(self, system):
        """Take the numbers of another system; False where its structure is another one, and nothing is taken."""
        if system is self.system:
            return True
        if system.structure is not self.system.structure and not _alike(system, self.system):
            return False
        self.system = system
        self.arrays.parameters[:] = np.concatenate([group.parameters.ravel() for group in system.groups])
        return True

    # ---- nodal values of all fields

    def pack(self, mesh, state, multipliers):
        """All dofs of a mesh from nodal values of the state and of the multipliers `(gamma, mu)`.

        Parameters
        ----------
        mesh : TimeMesh
        state, multipliers : ndarray, shapes (n_elements, n_shapes, n_z), (n_elements, n, n_multipliers)
        """
        times = mesh.points(self.element.state.basis)
        return self.columns.pack(*self.element.nodal_values(self.system, times, state, multipliers))

    def first_element(self, mesh, z, multipliers):
        """All dofs of the first element of a mesh where states and multipliers stay as they are at the start.

        Shapes (n, n_z), (n, n_multipliers) -> (n, n_local); or without n.
        """
        sources, further = self._constant
        if z.ndim == 1:
            x = np.empty(len(sources))
            take_joined(sources, z, multipliers, NONE, NONE, x)
        else:
            x = np.concatenate((z, multipliers), axis=-1).take(sources, axis=-1)
        if further:
            basis, others, n = self.element.state.basis, self.element.multiplier.basis, z.size // z.shape[-1]
            times = (mesh.nodes[0] + mesh.lengths[0] * basis.points)[None].repeat(n, axis=0)
            state = z.reshape(n, 1, -1).repeat(basis.n_shapes, axis=1)
            every = multipliers.reshape(n, 1, multipliers.shape[-1]).repeat(others.n_shapes, axis=1)
            values = self.element.nodal_values(self.system, times, state, every)
            for i in further:
                x[..., self.columns.fields[i]] = values[i].reshape(*z.shape[:-1], *values[i].shape[1:]) if \
                    i < len(values) else 0.0
        return x

    @functools.cached_property
    def _constant(self):
        """Where the dofs of an element come from in (z, multipliers) that stay as they are, and the fields that follow
        from these."""
        state, multipliers, *others = self.columns.fields
        sources, n_z = np.zeros(self.columns.n_local, int), self.system.n_z
        kept = np.arange(self.system.n_multipliers)
        if multipliers.shape[1] < len(kept):
            kept = kept[self.element.kept_multipliers(self.system)]
        sources[state], sources[multipliers] = np.arange(n_z), n_z + kept
        return sources, [i for i, field in enumerate(others, 2) if field.size]

    def unpack(self, x):
        """Nodal values of the state and of the multipliers `(gamma, mu)`, and a dict of those of all other fields, as
        far as the system has components of them."""
        state, every, *others = self.columns.unpack(x)
        if every.shape[2] < self.system.n_multipliers:
            every, multipliers = np.zeros((*every.shape[:2], self.system.n_multipliers)), every
            every[..., self.element.kept_multipliers(self.system)] = multipliers
        names = list(self.element.trial)[2:] if others else ()
        return state, every, {name: v for name, v in zip(names, others, strict=True) if v.shape[2]}


def _alike(a, b):
    """Whether two systems have parts of the same kinds in the same places."""
    if len(a.parts) != len(b.parts) or any(p.kind != q.kind for p, q in zip(a.parts, b.parts, strict=True)):
        return False
    indices = "state_index", "multiplier_index", "nonholonomic_index", "reaction_index"
    return all(np.array_equal(getattr(g, i), getattr(h, i)) for g, h in zip(a.groups, b.groups, strict=True)
               for i in indices)


def _points(n):
    """Gauss points and weights in [0, 1]; of two or more with weightless copies of the last, up to whole vectors."""
    xi, weights = gauss_legendre(n, np.longdouble)
    padding = -n % LANES if n > 1 else 0
    return np.append(xi, [xi[-1]] * padding), np.append(weights, [0.0] * padding).astype(float)


class _Parts:
    """Numbers and indices of all parts, group after group, each a row of its group's table.

    Attributes
    ----------
    kernels : list of PointKernel
        Per group.
    records : list of ndarray
        PART (n_parts,), per group.
    sections : list
        What makes SECTION.
    """

    def __init__(self, trial, test):
        self._trial, self._test, self.kernels, self.records, self.sections = trial, test, [], [], []
        self._tables = {name: [] for name in ("parameters", "gather", "rows", "entries")}

    def add(self, number, group, kernel):
        """Add the parts of a group."""
        self.kernels.append(kernel)
        seen, tested = self._trial.seen(number, kernel.n_inputs), self._test.seen(number, kernel.n_rows)
        gather = self._trial.dofs(seen)
        tables = {"parameters": group.parameters, "gather": gather, "rows": self._test.dofs(tested),
                  "entries": self._pairs(kernel, seen, tested)}
        records, member = np.zeros(len(gather), PART), np.arange(len(gather))
        records["address"], records["group"] = kernel.kernel.address_lanes, number
        records["n_in"], records["n_out"] = kernel.kernel.n_in, kernel.kernel.n_out
        records["n_parameters"] = group.parameters.shape[1]
        records["section"], records["n_sections"] = len(self.sections), self._add_sections(kernel)
        for name, table in tables.items():
            records[name] = sum(t.size for t in self._tables[name]) + member * table.shape[1]
            self._tables[name].append(table)
        self.records.append(records)

    def _pairs(self, kernel, seen, tested):
        """The pairs of components of the entries of the Jacobian: (n_parts, n_entries)."""
        pairs = [np.zeros((len(seen[0]), 0), np.int64)]
        for (test, slot), entries in itertools.groupby(kernel.entries, operator.itemgetter(0, 1)):
            _, _, rows, columns = map(list, zip(*entries, strict=True))
            pairs.append(self._test.component(test, tested[test][:, rows]) * self._trial.n_components
                         + self._trial.component(slot, seen[slot][:, columns]))
        return np.concatenate(pairs, axis=1)

    def _add_sections(self, kernel):
        """Add the runs of entries with the same pair of slots; returns how many there are."""
        before, first = len(self.sections), sum(kernel.n_rows)
        for start, (test, slot, _, _) in enumerate(kernel.entries):
            if len(self.sections) == before or self.sections[-1][:2] != [test, slot]:
                self.sections.append([test, slot, first + start, 0])
            self.sections[-1][3] += 1
        return len(self.sections) - before

    def all_of(self, name):
        """The tables of all groups, flat."""
        return np.concatenate([table.ravel() for table in self._tables[name]])


def _counts(parts, name):
    """How many components or rows each part has per slot."""
    return np.concatenate([np.tile(np.array(getattr(kernel, name), np.int64), (len(records), 1))
                           for kernel, records in zip(parts.kernels, parts.records, strict=True)])


def _known_blocks(keys, n_trial, rows_of, columns_of):
    """`_blocks`, kept on disk for large models, of which they are a fifth of the set-up once kernels are known."""
    if len(keys) < MANY:
        return _blocks(keys, n_trial, rows_of, columns_of)
    name = digest("blocks", n_trial, *(a.tobytes() for a in (keys, rows_of, columns_of)),
                  sources("elements/evaluation/plan.py"))
    found = store().once(name, lambda: np.concatenate(_blocks(keys, n_trial, rows_of, columns_of)).astype(
        np.int32).tobytes())
    starts, entries = np.split(np.frombuffer(found, np.int32).astype(np.int64), [len(keys)])
    return starts, *np.split(entries, 2)


def _blocks(keys, n_trial, rows_of, columns_of):
    """First tangent entry of the block of each key, and rows and columns of all tangent entries."""
    _, first, block = np.unique(keys, return_index=True, return_inverse=True)
    is_first = np.zeros(len(keys), bool)  # blocks in the order of the parts, so that memory is walked through in order
    is_first[first] = True
    test, trial = np.divmod(keys[is_first], n_trial)
    has_row, has_column = rows_of >= 0, columns_of >= 0
    there = has_row[test][:, :, None] & has_column[trial][:, None, :]
    size = has_row.sum(axis=1)[test] * has_column.sum(axis=1)[trial]
    starts, number = np.cumsum(size) - size, np.cumsum(is_first) - 1
    i, j = np.broadcast_arrays(rows_of[test][:, :, None], columns_of[trial][:, None, :])
    return starts[number[first]][block.ravel()], i[there], j[there]


# ---- places of the dofs of one element, and of a chain of elements, in time order

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
