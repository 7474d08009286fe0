"""The residual density of one kind of part at a quadrature point, as a compiled kernel."""

from typing import NamedTuple

from ..kernels import cached_kernel


class PointKernel(NamedTuple):
    """Point kernel of one kind of part for one weak form: inputs `[slots, t, h, parameters]` (a slot that does not
    enter is left out), outputs `[rows per test slot, Jacobian entries]`.

    `step` is the same for stepping: derivatives by values at the left end, which is known then, are zero.
    """

    kernel: object
    step: object
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
        slots = [v if ca.depends_on(ca.vertcat(*rows), v) else ca.SX(0, 1) for v in variables]
        outputs, entries = list(rows), []
        for test, row in enumerate(rows):
            for slot, variable in enumerate(slots):
                if element.has_tangent and row.numel() and variable.numel():
                    jacobian = ca.sparsify(ca.jacobian(row, variable))
                    outputs += jacobian.nonzeros()
                    entries += [(test, slot, r, c) for r, c in zip(*jacobian.sparsity().get_triplet(), strict=True)]
        inputs = ca.vertcat(*slots, s.t, s.h, s.parameters)
        n_rows = sum(r.numel() for r in rows)
        left = [element.slots[slot][1] == "left" for _, slot, _, _ in entries]
        unknown = [0 if known else entry for known, entry in zip(left, ca.vertsplit(ca.vertcat(*outputs))[n_rows:],
                                                                 strict=True)]
        functions = [ca.Function("point", [inputs], [ca.cse(ca.densify(ca.vertcat(*values)))])
                     for values in [outputs, *[[*rows, *unknown]] * any(left)]]
        numbers = tuple(v.numel() for v in slots), tuple(r.numel() for r in rows)
        _POINT_FUNCTIONS[key] = functions, *numbers, entries
    functions, *description = _POINT_FUNCTIONS[key]
    kernels = [cached_kernel((*key, "step")[:2 + i], lambda i=i: functions[i]) for i in range(len(functions))]
    return PointKernel(kernels[0], kernels[-1], *description)


_POINT_FUNCTIONS = {}
