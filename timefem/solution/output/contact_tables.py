"""What rigid contacts do along a solution, for tables."""

from __future__ import annotations

import numpy as np

from ..contact_solution import ContactSolution

ALONG = "normal", "slip1", "slip2"  # the axes of a contact: that of the gap, then those along the surface
QUANTITIES = {"gap": ("m", ()), "force": ("N", ALONG), "impulse": ("N s", ALONG), "point": ("m", tuple("xyz")),
              "force_vector": ("N", tuple("xyz"))}  # unit, and components


def contact_fields(solution, times):
    """Name of a contact -> quantity -> (values, unit); as the states of tables at the ends of elements, where times are
    None, before the impacts there, else after them.

    Impulses are the sum of all up to then. Contacts that are not at points of space, such as stops of joints, have
    neither points nor vectors, and the units of what they stop.
    """
    if not isinstance(solution, ContactSolution):
        return {}
    side = "left" if times is None else "right"
    values = {"gap": solution.contact_gaps(times), "force": solution.contact_forces(times, side=side),
              "impulse": np.cumsum(_impulses(solution), axis=0)[n_events(solution, times)],
              "point": solution.contact_points(times),
              "force_vector": solution.contact_force_vectors(times, side=side)}
    found = {}
    for c, name in enumerate(solution.contact_names):
        placed = np.isfinite(values["point"][:, c]).all()
        found[name] = {what: (values[what][:, c], unit if placed else "SI")
                       for what, (unit, axes) in QUANTITIES.items() if placed or axes != tuple("xyz")}
    return found


def n_events(solution, times):
    """How many events there were before the ends of the elements, or up to given times."""
    t, side = (solution.t, "left") if times is None else (times, "right")
    return np.searchsorted([event.t for event in solution.events], t, side=side)


def _impulses(solution):
    """Of the events, after a row of zeros, shape (n_events + 1, n_contacts, 3)."""
    names = solution.contact_names
    found = np.zeros((len(solution.events) + 1, len(names), 3))
    for own, event in zip(found[1:], solution.events, strict=True):
        for name, impulse in zip(event.contacts, event.impulses, strict=False):  # some events have none
            own[names.index(name)] += impulse
    return found


def contact_variables(solution, times):
    """Variables and coordinates of an xarray Dataset, those of events with a dimension of their own."""
    fields = contact_fields(solution, times)
    if not fields:
        return {}, {}
    data, n = {}, len(next(iter(fields.values()))["gap"][0])
    for what, (_, axes) in QUANTITIES.items():
        own = [of.get(what, (np.full((n, 3), np.nan), "SI")) for of in fields.values()]
        units = {unit for _, unit in own}
        axis = () if not axes else ("along",) if axes == ALONG else ("axis",)
        data[f"contact {what}"] = (("time", "contact", *axis), np.stack([values for values, _ in own], axis=1),
                                   {"units": units.pop() if len(units) == 1 else "SI"})
    events = solution.events
    data["event kind"] = ("event", np.array([event.kind for event in events], object))
    data["event energy"] = ("event", np.array([event.energy for event in events]), {"units": "J"})
    data["event impulse"] = (("event", "contact", "along"), _impulses(solution)[1:],
                             data["contact impulse"][2])
    times_of_events = ("event", np.array([event.t for event in events]), {"units": "s"})
    return data, {"contact": list(fields), "along": list(ALONG), "event time": times_of_events}
