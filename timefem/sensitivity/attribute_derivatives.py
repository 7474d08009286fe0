"""How the numbers that enter the formulas of a part change with its attributes."""

from itertools import pairwise

import casadi as ca
import numpy as np
import scipy

from ..argument_names import did_you_mean, known_names
from ..errors import InputError
from ..mechanics.bodies.generalized_body import GeneralizedBody
from ..mechanics.bodies.rigid import DirectorBody
from ..mechanics.bodies.tree.entries import derivative, named_numbers, spelt_out
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.catalogue import stored
from ..mechanics.forces.controllers import Controller
from ..mechanics.forces.gravity import Gravity
from ..mechanics.forces.springs import NonlinearSpring
from ..mechanics.functions.elementary import Constant
from ..mechanics.joints.formula_part import FormulaPart
from ..mechanics.unknown_numbers import with_number
from .function_derivatives import ARRAYS, LEAVES, derivative_of_leaf, function_names, functions_of, has_functions

LEVELS = 5  # of Richardson extrapolation
FIRST_STEP = 0.02  # relative


def derivative_of_own(part, name, index, label):
    """Derivative of `own_parameters` by an attribute.

    Parameters
    ----------
    part : Part
    name, index
        As in `Parameter`.
    label : str
        Of the part, for messages.

    Returns
    -------
    derivative : ndarray or sparse array, shape (n_own, n)
    names : list of str
        Of the n entries.

    Raises
    ------
    InputError
        When there is no such attribute; names those there are.
    """
    n = len(part.own_parameters)
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if not 0 <= name < n or index is not None:
            raise InputError(f"{label} has own_parameters 0 to {n - 1}; there is no number {name}, index {index}")
        return np.eye(n)[:, [name]], [f"own_parameters[{name}]"]
    if isinstance(part, Tree):
        return _of_tree(part, name, index, label)[:2]
    root, _, leaf = str(name).partition(".")  # "time.amplitude"
    rules = _rules(part)
    if root in rules and not leaf:
        matrix, keys = rules[root]()
    elif has_functions(part, root.partition("[")[0]):
        return _of_function(part, root, leaf, index, label)
    elif name in _attributes(part) and not leaf:
        matrix, keys = _by_differences(part, name, index, label)
    else:
        raise InputError(f"{label} has no parameter {name!r}{known_names(name, _known(part))}")
    if index is not None:
        if index not in keys:
            raise InputError(f"{label}: {name} has no entry {index!r}; it has {_shown(keys)}")
        matrix, keys = matrix[:, [keys.index(index)]], [index]
    return matrix, [str(name) if key is None else f"{name}[{key}]".replace("(", "").replace(")", "") for key in keys]


def _of_tree(tree, name, index, label):
    """Derivative of its parameters by a number of a link or joint, names of the entries, and derivative of its mass."""
    if spelt_out(tree, name) == name:
        raise InputError(f"{label} has no parameter {name!r}; name a link or joint and what of it is meant, such as "
                         f"{', '.join(named_numbers(tree)[:3])}{did_you_mean(name, named_numbers(tree))}")
    matrix, mass, keys = derivative(tree, name, index, label)
    return matrix, [name if key is None else f"{name}[{key}]".replace("(", "").replace(")", "") for key in keys], mass


def mass_of_tree(tree, name, index, label):
    """Derivative of the mass of a tree by a number of a link, shape (n,)."""
    return _of_tree(tree, name, index, label)[2]


def _known(part):
    return list(dict.fromkeys([*_rules(part), *_attributes(part), *function_names(part)]))


def _shown(keys):
    if keys == [None]:
        return "none, being a single number: leave index out"
    return ", ".join(map(str, keys[:8])) + f", ..., {keys[-1]}" * (len(keys) > 8)


# ---- exact rules

def _rules(part):
    """Attribute -> function that gives the derivative and the keys of its entries."""
    if part.is_body and part.has_position:
        rules = {"mass": lambda: (_column(part, 0, -1 / part.mass**2), [None])}
        return rules | ({"inertia": lambda: _of_inertia(part)} if part.has_orientation else {})
    if isinstance(part, GeneralizedBody):
        return {"parameters": lambda: _of_formula(part)}
    if isinstance(part, Gravity):
        return {"acceleration": lambda: (part.bodies[0].mass * np.eye(3), list(range(3)))}
    if isinstance(part, FormulaPart):
        n = len(part.own_parameters)
        return {"parameters": lambda: (np.eye(n), list(range(n)))}
    if isinstance(part, Controller):
        n = len(part.law_parameters)
        return {"parameters": lambda: (np.eye(len(part.own_parameters))[:, :n], list(range(n)))} if n else {}
    if isinstance(part, NonlinearSpring):
        n = len(part.own_parameters) - 6
        return {"parameters": lambda: (np.eye(n + 6)[:, 6:], list(range(n)))}
    return {}


def _column(part, place, value):
    column = np.zeros((len(part.own_parameters), 1))
    column[place] = value
    return column


def _of_inertia(body):
    """By principal values, or by the entries of the upper triangle."""
    diagonal, directors = body._diagonal, isinstance(body, DirectorBody)
    keys = [0, 1, 2] if diagonal else [(i, j) for i in range(3) for j in range(i, 3)]
    inverse = np.linalg.inv(body.euler_tensor if directors else body.inertia)
    columns = []
    for key in keys:
        change = np.zeros((3, 3))
        i, j = (key, key) if diagonal else key
        change[i, j] = change[j, i] = 1
        trace = np.trace(change)
        by_inverse = -inverse @ (trace / 2 * np.eye(3) - change if directors else change) @ inverse
        packed = np.diag(by_inverse) if diagonal else by_inverse[np.triu_indices(3)]
        head = [0.0] if directors else [0.0, -2 * trace / np.trace(body.inertia)**2]
        columns.append([*head, *packed])
    return np.array(columns).T, keys


def _of_formula(body):
    """By the parameters of a `GeneralizedBody`; the weight of `regularize` does not count."""
    n = len(body.formula_parameters)
    matrix = np.zeros((len(body.own_parameters), n))
    matrix[:n] = np.eye(n)
    if body.constant_mass and n:
        c = ca.SX.sym("c", n + 1)
        mass = ca.densify(body._mass(ca.SX.zeros(body.n_q), c))
        value, by_c = (np.array(x) for x in ca.Function("mass", [c], [mass, ca.densify(ca.jacobian(mass, c[:n]))])(
            body.own_parameters[:n + 1]))
        inverse = np.linalg.inv(value)
        for k in range(n):
            change = -inverse @ by_c[:, k].reshape(value.shape, order="F") @ inverse
            matrix[n + 1:, k] = ((change + change.T) / 2)[body._pattern]
    return matrix, list(range(n))


# ---- functions of time among the arguments

def _of_function(part, root, leaf, index, label):
    name, _, number = root.partition("[")
    functions, starts = functions_of(part, name)
    several = len(functions) > 1
    chosen = [int(number[:-1])] if number[:-1].isdigit() else list(range(len(functions)))
    if several and not number and index is not None and not leaf:
        chosen, index = [index], None
    if any(i not in range(len(functions)) for i in chosen) or not chosen:
        raise InputError(f"{label} has no parameter {root!r}{known_names(root, _known(part))}")
    matrices, names = [], []
    for i in chosen:
        function, start = functions[i], starts[i]
        which = leaf or ("value" if isinstance(function, Constant) else "")
        if which not in LEAVES.get(type(function), ()):
            whole = f"{root}.{leaf}" if leaf else root
            raise InputError(f"{label} has no parameter {whole!r}{known_names(whole, _known(part))}")
        matrix = derivative_of_leaf(function, which)
        n = matrix.shape[1]
        keys = list(range(n)) if which in ARRAYS else [None]
        if index is not None:
            if index not in keys:
                raise InputError(f"{label}: {root}.{which} has no entry {index!r}; it has {_shown(keys)}")
            matrix, keys = matrix[:, [keys.index(index)]], [index]

        before, after = start, len(part.own_parameters) - start - matrix.shape[0]
        blocks = [np.zeros((before, len(keys))), matrix, np.zeros((after, len(keys)))]
        matrices.append(scipy.sparse.vstack([scipy.sparse.csr_array(block) for block in blocks], format="csc"))
        shown = f"{name}[{i}]" if several else name
        shown += "" if isinstance(function, Constant) else f".{which}"
        names += [shown if key is None else f"{shown}[{key}]" for key in keys]
    return scipy.sparse.hstack(matrices, format="csc"), names


# ---- everything else: a small smooth map, differentiated by differences

def _attributes(part):
    """Numeric attributes that the constructor takes."""
    if isinstance(part, Controller | FormulaPart):
        return []
    skip = {"name", "size", "frame", "dimension", "invariant", "inverse_mass", "value", "time", "position", "angle",
            "potential", "inertia", "mass"}
    return [a for a in stored(part) if a not in skip and _numeric(getattr(part, a))]


def _numeric(value):
    try:
        return np.asarray(value).dtype.kind in "fi" and not isinstance(value, bool)
    except (TypeError, ValueError):
        return False


def _by_differences(part, name, index, label):
    value = np.asarray(getattr(part, name), float)
    if value.ndim == 2:
        raise InputError(f"{label}: {name} is a matrix; give it as a quaternion to vary its entries")
    keys = [None] if value.ndim == 0 else list(range(len(value)))
    columns = [_difference(part, name, key, label) if index is None or key == index else np.zeros(
        len(part.own_parameters)) for key in keys]
    return np.array(columns).T, keys


def _difference(part, name, key, label):
    attribute = name if key is None else f"{name}[{key}]"
    at = float(getattr(part, name) if key is None else getattr(part, name)[key])

    def own(value):
        other = with_number(part, attribute, value)
        if other.kind != part.kind:
            raise InputError("its formula changes there")
        return other.own_parameters

    try:
        return differentiated(own, at)
    except InputError as error:
        raise InputError(f"{label}: {attribute} = {at:g} cannot be varied on its own: {error}") from None


def differentiated(f, at):
    """Derivative of a smooth function of one number by central differences, extrapolated; one-sided ones where the
    function refuses (`InputError`) the other side."""
    steps = FIRST_STEP * (abs(at) or 1.0) * 0.5 ** np.arange(LEVELS)
    failure = None
    for sides, power in (((1, -1), 2), ((1, 0), 1), ((-1, 0), 1)):
        try:
            table = [(f(at + sides[0] * h) - f(at + sides[1] * h)) / ((sides[0] - sides[1]) * h) for h in steps]
        except InputError as error:
            failure = failure or error
            continue
        for level in range(1, LEVELS):
            factor = 2.0 ** (power * level)
            table = [(factor * b - a) / (factor - 1) for a, b in pairwise(table)]
        return table[0]
    raise failure
