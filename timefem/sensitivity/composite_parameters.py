"""Arguments of parts with several nodes as parameters: numbers of beams, of their sections, of loads along them."""

from dataclasses import fields, is_dataclass, replace

import numpy as np

from ..argument_names import did_you_mean
from ..errors import InputError
from ..mechanics.catalogue import made, stored
from ..mechanics.declared import Real
from ..mechanics.forces.gravity import Gravity
from .attribute_derivatives import differentiated


def number_changes(system, composite, name, index):
    """How the numbers of all that a composite part is made of, and its weight, change with an argument of it.

    Parameters
    ----------
    system : System
    composite : Composite
    name : str
        Of a number, or of one of a section as "section.EI".
    index : int, optional
        Of a pair or vector; without it all entries.

    Returns
    -------
    changes : list of (Part, ndarray of shape (n_own, n))
    names : list of str

    Raises
    ------
    InputError
        For unknown names (names those there are), and numbers that change the formulas, such as a damping of zero.
    """
    label, given = system.label(composite), {key: getattr(composite, key) for key in stored(composite)}
    known = _numbers(given, composite.fields)
    if name not in known or (index is not None and (np.ndim(known[name]) == 0 or not 0 <= index < len(known[name]))):
        sizes = [key + (f"[0 to {len(value) - 1}]" if np.ndim(value) else "") for key, value in known.items()]
        near = "" if name in known else did_you_mean(name, known)
        raise InputError(f"{label} has no parameter {name!r}{f', index {index}' * (index is not None)}; it has "
                         f"{', '.join(sizes) or 'none'}{near}")
    value = known[name]
    entries = [None] if np.ndim(value) == 0 else range(len(value)) if index is None else [int(index)]
    weights = [p for p in system.parts if isinstance(p, Gravity) and p.bodies[0].owner is composite]

    def numbers(entry, x):
        new = x if entry is None else [x if i == entry else v for i, v in enumerate(value)]
        try:
            other = made(type(composite), getattr(composite, "bodies", ()), given | _with(given, name, new))
        except InputError as error:
            raise InputError(f"{label}: {name} cannot be varied at {x:g}: {error}") from None
        if [m.kind for m in other.members] != [m.kind for m in composite.members]:
            raise InputError(f"{label}: the formulas change where {name} passes {x:g}; start from another value")
        nodes = dict(zip(composite.nodes, other.nodes, strict=True))
        return np.concatenate([*(m.own_parameters for m in other.members),
                               *(nodes[p.bodies[0]].mass * p.acceleration for p in weights)])

    columns = np.stack([differentiated(lambda x, e=e: numbers(e, x), value if e is None else value[e])
                        for e in entries], axis=1)
    stops = np.cumsum([len(part.own_parameters) for part in (*composite.members, *weights)]).tolist()
    changes = [(part, columns[stop - len(part.own_parameters):stop])
               for part, stop in zip((*composite.members, *weights), stops, strict=True)]
    return changes, [f"{label}.{name}" + (f"[{e}]" if e is not None else "") for e in entries]


def _numbers(given, declared):
    """Name -> number, pair or vector, of the arguments and of sections among them."""
    found = {key: given[key] for key, field in declared.items() if isinstance(field, Real)}
    for key, value in given.items():
        if is_dataclass(value):
            found |= {f"{key}.{f.name}": getattr(value, f.name) for f in fields(value)
                      if f.name != "shape" and np.asarray(getattr(value, f.name)).dtype == float}
    return found


def _with(given, name, value):
    """The changed argument."""
    key, _, inner = name.partition(".")
    return {key: replace(given[key], **{inner: tuple(value) if np.ndim(value) else value}) if inner else value}
