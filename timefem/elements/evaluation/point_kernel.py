"""The residual density of one kind of part at a quadrature point, as a compiled kernel."""

import json
from typing import NamedTuple

import casadi as ca

from ...errors import InputError
from ...kernels import cached_kernel, compile_kernel
from ...kernels.store import digest, store
from ...mechanics.parts import lasting_name
from ...mechanics.symbols import for_formulas, refuse_numbers
from ...memory import Recent
from .whole_element import whole_element


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
