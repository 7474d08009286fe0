"""Numbers of composite parts, such as stiffnesses of a beam's section, as symbols in all that they are made of."""

import numpy as np

from ...errors import InputError
from ..catalogue import made, stored
from ..traced import inside, put

STEP = 2.0**-10  # relative, of a number; what is affine in it has no error of it


def affine_members(label, composite, given):
    """Masses and inertias of nodes, and parameters of elements, by numbers of the part, in which they are affine.

    Parameters
    ----------
    label : str
        For messages.
    composite : Composite
    given : dict
        Attribute, and steps into it -> `Traced` number.

    Returns
    -------
    nodes : dict
        Node -> its attributes, as `in_symbols` takes them.
    elements : dict
        Element -> its `own_parameters`.

    Raises
    ------
    InputError
        For numbers that change the formulas.
    """
    arguments = {name: getattr(composite, name) for name in stored(composite)}
    present, found = _primitives(composite), _primitives(composite)
    for (attribute, *steps), x in given.items():
        value = float(inside(arguments[attribute], steps))
        for change in (STEP, -STEP):  # an inertia of a plane section cannot grow on its own
            try:
                new = put(arguments[attribute], steps, value * (1 + change) if value else change)
                other = made(type(composite), getattr(composite, "bodies", ()), arguments | {attribute: new})
                break
            except InputError as error:
                fault = error
        else:
            raise fault
        # kinds are compared where all numbers change together: a plane section has no other inertia than that
        if [len(m.own_parameters) for m in other.elements] != [len(m.own_parameters) for m in composite.elements]:
            raise InputError(f"{label}: {attribute} shapes the formulas where it is {value:g}; start from another "
                             "value")
        step = value * change if value else change
        for key, changed in zip(present, _primitives(other).values(), strict=True):
            slope = (changed - present[key]) / step
            if np.any(slope):
                more = np.array([s * (x - value) if s else 0.0 for s in slope.ravel()], object).reshape(slope.shape)
                found[key] = np.asarray(found[key] + more, object)
    nodes, elements = {}, {}
    for (member, name), value in found.items():
        if value.dtype != object:
            continue
        if name == "own_parameters":
            elements[member] = value
        else:
            nodes.setdefault(member, {})[name] = value[()] if value.ndim == 0 else value
    return nodes, elements


def _primitives(composite):
    """(member, attribute) -> value of what is affine in the numbers of the part."""
    nodes = {(node, name): np.array(getattr(node, name), float) for node in composite.nodes
             for name in ("mass", "inertia") if name in node.fields}
    return nodes | {(element, "own_parameters"): element.own_parameters for element in composite.elements}
