"""Limits, contacts and couplings that a model file states."""

from ...errors import InputError
from .complementarity import Complementary, CoulombFriction
from .couplings import Coupling
from .limits import Limit
from .quantities_in_files import actuator_from_file, control_of, quantity_from_file

BOUNDS = "lower", "upper"
OF_LIMITS = *BOUNDS, "at", "points"
OF_COUPLINGS = *BOUNDS, "before", "factor", "offset"


def limit_from_file(model, name, entry):
    """The `Limit`, `Complementary` or `CoulombFriction` of a table `[limits.NAME]`."""
    keys = "limits", name
    if entry["type"] in CONTACTS:
        with model.naming(keys, entry):
            return CONTACTS[entry["type"]](model, keys, entry)
    formula = quantity_from_file(model, keys, entry, OF_LIMITS)
    with model.naming(keys, entry):
        lower, upper = (model.value_of((*keys, key), entry.get(key)) for key in BOUNDS)
        return Limit(formula, lower, upper, at=entry.get("at", "path"), points=entry.get("points", 0), name=name)


def _control(model, keys, entry, key):
    return control_of(actuator_from_file(model, (*keys, key), entry[key]), key)


def _contact(model, keys, entry):
    """A gap and the force that acts where it is closed; of a spring that only pushes where there is a stiffness."""
    gap, force = quantity_from_file(model, (*keys, "gap"), entry["gap"]), _control(model, keys, entry, "force")
    own, stiffness = {key: entry[key] for key in ("eps", "first") if key in entry}, entry.get("stiffness")
    at = entry.get("at", "element-end" if stiffness is None else "controls")
    if stiffness is None:
        return Complementary(gap, force, at=at, name=keys[-1], **own)
    return Complementary(lambda now, u: gap(now, u) + force(now, u) / stiffness,
                         lambda now, u: force(now, u) / stiffness, at=at, name=keys[-1], **own)


def _friction(model, keys, entry):
    velocity = quantity_from_file(model, (*keys, "velocity"), entry["velocity"])
    force, bound = _control(model, keys, entry, "force"), entry.get("bound")
    if ("bound" in entry) == ("normal" in entry) or ("normal" in entry) != ("coefficient" in entry):
        raise InputError("give either bound, or coefficient and normal, the actuator of the normal force")
    if bound is None:
        normal, coefficient = _control(model, keys, entry, "normal"), entry["coefficient"]

        def bound(now, u):
            return coefficient * normal(now, u)
    own = {key: entry[key] for key in ("eps", "first") if key in entry}
    return CoulombFriction(velocity, force, bound, name=keys[-1], **own)


CONTACTS = {"contact": _contact, "friction": _friction}


def couplings_from_file(before, after, keys, table, same=None):
    """The couplings of a table of two ends, in the order of time.

    Parameters
    ----------
    before, after : Model
        Of the earlier end and of the later one; the same for both ends of one motion.
    keys : tuple
        Of the table, in the file of `after`.
    table : dict
    same : callable, optional
        `same(keys, bodies)` -> the coupling of equal states of bodies of these names.

    Returns
    -------
    list of Coupling
    """
    return [_coupling(before, after, (*keys, name), entry, same) for name, entry in table.items()]


def _coupling(before, after, keys, entry, same):
    """`after - factor before - offset` of a quantity, or of one at the later end and another one at the earlier end."""
    if entry["type"] == "same":
        return _same(before, after, keys, entry["bodies"], same)
    later = quantity_from_file(after, keys, entry, OF_COUPLINGS)
    stated = entry.get("before", {key: value for key, value in entry.items() if key not in OF_COUPLINGS})
    earlier = quantity_from_file(before, (*keys, "before"), stated)
    factor, offset = entry.get("factor", 1.0), entry.get("offset", 0.0)
    with after.naming(keys, entry):
        lower, upper = (entry.get(key) for key in BOUNDS) if set(BOUNDS) & set(entry) else (0.0, 0.0)
        return Coupling(lambda one, two: later(two, None) - factor * earlier(one, None) - offset, lower, upper,
                        name=keys[-1])


def _same(before, after, keys, bodies, same):
    if same is None:
        raise after.document.error((*keys, "type"), 'is for phases; both ends of one motion take "periodic = true" in '
                                                    "[problem]")
    for model in (before, after):
        for body in bodies:
            after.find((*keys, "bodies"), body, model.names.bodies)
    return same(keys, bodies)
