"""Unknowns that one row of an element gives as they are: `x = f(the others)`. Newton's method can do without them."""

from typing import NamedTuple

import numpy as np


class Explicit(NamedTuple):
    """Explicit unknowns of an element, `coefficients x + (the row with x = 0) = 0`, and what is left: the core.

    Attributes
    ----------
    rows, columns : ndarray of int
        Row and dof of each explicit unknown.
    coefficients : ndarray
        Without the factor h that all rows have with one point.
    core_rows, core_columns : ndarray of int
        The other rows, and the other unknown dofs.
    """

    rows: np.ndarray
    columns: np.ndarray
    coefficients: np.ndarray
    core_rows: np.ndarray
    core_columns: np.ndarray


def explicit_unknowns(element_plan):
    """The `Explicit` of an `ElementPlan`.

    An unknown is explicit when it enters one row only, in all parts of a kind alike, with a constant coefficient, and
    when that row has no other explicit unknown. Elements with one point and constant tests are looked at; others
    declare them (see `TimeElement.explicit`).
    """
    if len(element_plan.arrays.points) > 1:
        return _declared(element_plan)
    plan, n_node, n_local = element_plan.arrays, element_plan.columns.n_node, element_plan.columns.n_local
    rows, columns = element_plan.tangent_rows, element_plan.tangent_columns
    coefficients = _coefficients(element_plan)
    candidate = np.isfinite(coefficients) & (coefficients != 0) & (columns >= n_node)
    candidate &= np.bincount(columns, minlength=n_local)[columns] == 1
    alone = np.bincount(rows[candidate], minlength=plan.n_rows)[rows] == 1
    explicit = candidate & alone
    changed = explicit.any()
    while changed:  # until all parts of each kind agree
        before = explicit.sum()
        for rows_seen, dofs_seen in _seen(element_plan):
            explicit &= ~np.isin(rows, _in_part(rows_seen, rows[explicit]))
            explicit &= ~np.isin(columns, _in_part(dofs_seen, columns[explicit]))
        changed = explicit.sum() < before
    return Explicit(rows[explicit], columns[explicit], coefficients[explicit],
                    np.setdiff1d(np.arange(plan.n_rows), rows[explicit]),
                    np.setdiff1d(np.arange(n_node, n_local), columns[explicit]))


def _declared(element_plan):
    """The `Explicit` of the momenta that the element names."""
    element, test, trial = element_plan.element, element_plan.rows, element_plan.columns
    of_test, of_trial = (dict(zip(names, numbering.fields, strict=True)) for names, numbering in
                         ((element.test, test), (element.trial, trial)))
    half, none = element_plan.system.n_q, [np.zeros(0, int)]
    rows = np.concatenate(none + [of_test[name][i] for name, i, _, _ in element.explicit])
    columns = np.concatenate(none + [of_trial[name][i][half:] for _, _, name, i in element.explicit])
    return Explicit(rows, columns, np.ones(len(rows)), np.setdiff1d(np.arange(test.n_local), rows),
                    np.setdiff1d(np.arange(trial.n_node, trial.n_local), columns))


def _coefficients(element_plan):
    """Value over h of each tangent entry that is constant and taken at one shape function; NaN of others."""
    plan = element_plan.arrays
    values = np.zeros(len(element_plan.tangent_rows))
    if len(plan.points) != 1 or np.any(plan.tests["n_shapes"] != 1) or np.any(plan.tests["rate"]):
        return np.full_like(values, np.nan)
    slots = plan.slots
    plain = (slots["n_shapes"] == 1) & (slots["rate"] == 0) & (plan.tables[slots["table"]] == 1)
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        for m, ((_, slot, _, _), constant) in enumerate(zip(kernel.entries, kernel.constants[sum(kernel.n_rows):],
                                                            strict=True)):
            blocks = plan.entry_targets[plan.parts["entries"][members] + m]
            for ij in range(slots["n_shapes"][slot]):
                values[blocks + ij] += constant if plain[slot] else np.nan
    return values


def short_tangent(element_plan):
    """Tangent entries of an element as its length goes to zero, as far as they are constant: those of rates."""
    plan, stride = element_plan.arrays, len(element_plan.arrays.points)
    values = np.zeros(len(element_plan.tangent_rows))
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        for m, ((test, slot, _, _), constant) in enumerate(zip(kernel.entries, kernel.constants[sum(kernel.n_rows):],
                                                               strict=True)):
            if not plan.slots["rate"][slot] or plan.tests["rate"][test] or not np.isfinite(constant):
                continue
            n = int(plan.tests["n_shapes"][test] * plan.slots["n_shapes"][slot])
            first = plan.pairs[test, slot]
            weights = plan.pair_tables[first:first + n * stride].reshape(n, stride).sum(axis=1)
            blocks = plan.entry_targets[plan.parts["entries"][members] + m]
            values[blocks[:, None] + np.arange(n)] += constant * weights
    return values


def _seen(element_plan):
    """Per kind of part: rows to which its parts add something, and dofs that they see, shapes (n_parts, n)."""
    plan = element_plan.arrays
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        nonzero = np.flatnonzero(np.array(kernel.constants[:sum(kernel.n_rows)]) != 0)
        n_dofs = int((np.array(kernel.n_inputs, int) * plan.slots["n_shapes"]).sum())
        yield (plan.row_targets[plan.parts["rows"][members][:, None] + nonzero],
               plan.gather[plan.parts["gather"][members][:, None] + np.arange(n_dofs)])


def _in_part(places, chosen):
    """Those of the chosen that stand in a column of `places` with others that are not chosen."""
    there = np.isin(places, chosen)
    partly = there.any(axis=0) & ~there.all(axis=0)
    return places[:, partly][there[:, partly]]
