"""What reports of several kinds of problems tell."""

import numpy as np


def worst(names, values):
    """Largest value by name."""
    found = {}
    for name, value in zip(names, values, strict=True):
        found[name] = max(found.get(name, 0.0), float(value))
    return found


def largest_controls(sol):
    """Largest size of each control inside of the elements, by actuator."""
    values, found, first = np.abs(sol.fields["controls"]).max(axis=(0, 1)), {}, 0
    for part in sol.system.parts:
        if part.n_controls:
            found[sol.system.label(part)] = values[first:first + part.n_controls].tolist()
            first += part.n_controls
    return found
