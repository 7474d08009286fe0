"""The residual density of one kind of part at a quadrature point, as a compiled kernel."""

from typing import NamedTuple

from ..kernels import cached_kernel


class PointKernel(NamedTuple):
    """Point kernel of one kind of part for one weak form: inputs `[slots, t, h, parameters]` (a slot that does not
    enter is left out), outputs `[rows per test slot, Jacobian entries]`."""

    kernel: object
    n_inputs: tuple  # components per slot
    n_rows: tuple  # rows per test slot
    entries: list  # (test slot, slot, row, column) per Jacobian entry


def point_kernel(part, element, sizes):
    """Point kernel of a part for a time element, compiled once per kind of part and form of the density.

    `sizes` are the numbers of local components by name, see `components`.
    """
    import casadi as ca

    key = (part.kind, element.form)
    if key not in _POINT_FUNCTIONS:
        s = element.symbols(part, element, sizes)
        rows = [ca.densify(ca.SX(r)) for r in element.density(s)]
        variables = list(s.slots.values())
        slots = [v if ca.depends_on(ca.vertcat(*rows), v) else v[:0] for v in variables]
        outputs, entries = list(rows), []
        for test, row in enumerate(rows):
            for slot, variable in enumerate(slots):
                if row.numel() and variable.numel():
                    jacobian = ca.sparsify(ca.jacobian(row, variable))
                    outputs += jacobian.nonzeros()
                    entries += [(test, slot, r, c) for r, c in zip(*jacobian.sparsity().get_triplet(), strict=True)]
        inputs = ca.vertcat(*slots, s.t, s.h, s.parameters)
        function = ca.Function("point", [inputs], [ca.cse(ca.vertcat(*outputs))])
        numbers = tuple(v.numel() for v in slots), tuple(r.numel() for r in rows)
        _POINT_FUNCTIONS[key] = function, *numbers, entries
    function, *description = _POINT_FUNCTIONS[key]
    return PointKernel(cached_kernel(key, lambda: function), *description)


_POINT_FUNCTIONS = {}
