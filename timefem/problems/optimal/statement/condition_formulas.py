"""Conditions at an end of an optimal control problem as formulas, which take as numbers what is prescribed."""

import casadi as ca
import numpy as np

from ....kernels.compile import Buffered
from ....mechanics.formulas.formula import call_vector, check_symbols
from ....mechanics.formulas.text import as_formula, refuse_comparison
from ....mechanics.values.conserved import conserved, values_at_rest, with_unit_lengths
from ...targets import expressions


class ConditionFormulas:
    """Conditions c(z, numbers, wanted) = 0 of all that is asked of bodies, and of a formula.

    Parameters
    ----------
    key : tuple
        Of `key_of`: conditions with the same key differ in what is wanted only.
    system : System
    asked : list
        Of `Prescribed`.
    formula, at_end : callable or str or None, callable
        As in `EndConditions`.

    Attributes
    ----------
    names : list of str
        What each of the conditions asks for.
    function : casadi.Function
        `function(z, numbers, wanted)` -> c, dense.
    n_wanted : int
    lengths : casadi.Function or None
        `lengths(z)` -> lengths of quaternions that rest, and their Jacobian, dense.
    conserved : casadi.Function or None
        `conserved(z, numbers)` -> what nothing changes, and its Jacobian by both, dense, once looked for.
    names_of_conserved : list of str
    """

    conserved, names_of_conserved, _conserved = None, (), None

    def __init__(self, key, system, asked, formula, at_end):
        z, c = ca.SX.sym("z", system.n_z), ca.SX.sym("numbers", key[-1])
        self.key, self.names, self._at_end, rows, wanted = key, [], at_end, [], []
        (end, unknowns), unit = at_end(z, c), with_unit_lengths(system, z)
        wanted = [ca.SX.sym("wanted", len(one.given)) for one in asked]
        momenta = _by_momenta(end, asked, wanted)
        for one, symbols in zip(asked, wanted, strict=True):
            whole, dofs = _whole(one.body)
            if one.what == "velocities" and whole in momenta:
                rows.append(momenta[whole][dofs])
            else:
                rows.append(expressions(end, one) - symbols)
            if one.what in ("coordinates", "orientation"):
                rows[-1] = ca.substitute(rows[-1], z, unit)
            self.names += [f"{one.what} of {system.label(one.body)}"] * rows[-1].numel()
        if formula is not None:
            formula = as_formula("end_conditions", formula, ["end", "parameters"])
            refuse_comparison("end_conditions", formula, "zero, the difference of both sides")
            values = call_vector("end_conditions", formula, end, unknowns)
            check_symbols("end_conditions", values, z, c)
            rows.append(values)
            self.names += [f"end_conditions[{i}]" for i in range(values.numel())]
        rows, wanted = ca.densify(ca.vertcat(ca.SX(0, 1), *rows)), ca.vertcat(ca.SX(0, 1), *wanted)
        self.n_wanted, given = wanted.numel(), [z, c, wanted]
        self.function = ca.Function("end_conditions", given, [rows])
        self._gradient = Buffered(ca.Function("gradient", given, [rows, ca.densify(
            ca.jacobian(rows, ca.vertcat(z, c)).T)]))
        at_rest = values_at_rest(system, z)
        self.lengths = ca.Function("lengths", [z], [at_rest, ca.densify(ca.jacobian(at_rest, z))]) \
            if at_rest.numel() else None

    def conserved_since(self, t, z):
        """What nothing changes, at the start, (n,); see `timefem.mechanics.values.conserved`, and for its formulas
        `conserved`."""
        if self._conserved is None:
            self._conserved = found, self.names_of_conserved = conserved(self.key[0], t)
            if found is not None:
                place, c = ca.SX.sym("z", len(z)), ca.SX.sym("numbers", self.key[-1])
                rows = found(place, self._at_end(place, c)[0].t)
                self.conserved = ca.Function("conserved", [place, c], [rows, ca.densify(
                    ca.jacobian(rows, ca.vertcat(place, c)))])
        return np.zeros(0) if self.conserved is None else np.array(self._conserved[0](z, t)).ravel()

    @staticmethod
    def key_of(system, asked, formula, n_numbers):
        """What formulas depend on besides the time span: the system, which components are asked for, the formula."""
        return system, tuple(one.form for one in asked), formula, n_numbers

    def with_gradient(self, z, numbers, wanted):
        """The conditions, (n,), and their gradients by states and unknown numbers, (n, n_z + n_numbers)."""
        values, gradient = self._gradient(z, np.asarray(numbers, float), wanted)
        return values.copy(), gradient.reshape(-1, len(z) + len(numbers)).copy()


def filled_in(system, asked, z):
    """The state `z`, with coordinates and momenta that are asked for."""
    z, n = z.copy(), system.n_q
    for one in asked:
        places = np.arange(n)[system.coordinates(one.body)]
        if not one.body.is_body and one.what != "coordinates":
            continue
        if one.what in ("position", "coordinates"):
            z[places[list(one.given)]] = one.values
        elif one.what == "orientation":
            z[places[3:]] = one.values
        elif one.what == "momenta":
            z[n + places] = one.values
    return z


def _by_momenta(end, asked, wanted):
    """Body or tree of which all velocities are asked for, also joint by joint -> momenta less those by these, SX: so no
    inverse of a mass matrix stands in the conditions."""
    found = {}
    for one, symbols in zip(asked, wanted, strict=True):
        whole, dofs = _whole(one.body)
        if one.what == "velocities" and whole and len(one.given) == one.n and not whole.has_inverse_mass:
            found.setdefault(whole, ca.SX.nan(whole.n_q))[dofs] = symbols
    return {whole: end.p(whole) - whole.momenta_of_velocity(end.q(whole), v, end.own_parameters(whole))
            for whole, v in found.items() if not any(x.is_constant() for x in ca.vertsplit(v))}


def _whole(body):
    """A body, or the tree of a joint or link, and which of its dofs are meant."""
    return (body, slice(None)) if body.is_body else (body.body, body.dofs)


def constraints_by_numbers(system, at_end, n):
    """Constraints and their Jacobian by states and unknown numbers, casadi.Function; None where no number enters them.
    """
    if not n:
        return None
    z, c = ca.SX.sym("z", system.n_z), ca.SX.sym("numbers", n)
    end = at_end(z, c)[0]
    if not any(part.constraint_names or part.nonholonomic_names for part in end.with_unknown_numbers):
        return None
    rows = ca.vertcat(end.constraints(), values_at_rest(system, z))
    return ca.Function("constraints", [z, c], [rows, ca.densify(ca.jacobian(rows, ca.vertcat(z, c)))])
