"""Limits, contacts and couplings that a model file states."""

from ...mechanics.formula_text import as_formula
from .complementarity import Complementary, CoulombFriction
from .couplings import BOTH_ENDS, LINK, Coupling
from .limits import Limit
from .spring_contact import SpringContact

LIMITS = {"limit": Limit} | {cls.type: cls for cls in (Complementary, CoulombFriction, SpringContact)}  # by `type`
BOUNDS = "lower", "upper"


def limit_from_file(model, name, entry):
    """The `Limit`, or `Soft` one, of a table `[limits.NAME]`."""
    keys, kind = ("limits", name), entry.get("type", "limit")
    own = {key: model.bounds_of((*keys, key), value) if key in BOUNDS else value
           for key, value in entry.items() if key != "type"}
    if kind == "limit" and ("formula" in own) == ("output" in own):
        raise model.document.error(keys, "needs either a formula, or the name of an output")
    if "output" in own:
        own["formula"] = model.find((*keys, "output"), own.pop("output"), model.names.outputs, "output")
    with model.naming(keys, entry):
        return LIMITS[kind](**own, name=name)


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
    if entry.get("type") == "same":
        return _same(before, after, keys, entry["bodies"], same)
    own = {key: value for key, value in entry.items() if key != "type"}
    if set(BOUNDS) & set(entry):
        own |= {key: after.bounds_of((*keys, key), entry.get(key)) for key in BOUNDS}
    with after.naming(keys, entry):
        as_formula(f"{keys[-1]}: formula", own["formula"], LINK if keys[0] == "link" else BOTH_ENDS)  # of no others
        return Coupling(**own, name=keys[-1])


def _same(before, after, keys, bodies, same):
    if same is None:
        raise after.document.error((*keys, "type"), 'is for phases; both ends of one motion take "periodic = true" in '
                                                    "[problem]")
    for model in (before, after):
        for body in bodies:
            after.find((*keys, "bodies"), body, model.names.bodies)
    return same(keys, bodies)
