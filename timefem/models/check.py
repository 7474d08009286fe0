"""What `timefem check` tells of a model: counts, redundant constraints, violations of the initial state."""

import numpy as np

from ..errors import InputError
from ..mechanics.redundancy.redundancy import redundant_rows
from ..mechanics.summary import idle_coordinates
from ..mechanics.values.at_start import constraint_sizes, constraints_at
from ..mechanics.values.of_parts import nonholonomic_off, not_finite
from ..problems.initial.options import OPTIONS
from ..problems.kinds import KINDS


def inspect(model, element=True):
    """Facts of a model at its initial state, as plain data.

    Parameters
    ----------
    model : Model
    element : bool
        Whether the time element of the file counts, too.

    Returns
    -------
    dict
        `bodies` (name -> class, n_q), `n_q`, `n_constraints`, `rank`, `degrees_of_freedom` (n_q - rank), `redundant`
        (names of constraints), `violations` (name of the constraint -> configuration, velocity), `nonholonomic` (name
        -> velocity) and `faults`: what keeps the model from being solved, each with the `keys` of its table and a
        `message`. Besides `kind`, and without faults: of boundary-value problems and optimal control `conditions` and
        `unknown` (names), of inverse dynamics `relative_degrees` (by output), `internal` and `unstable` (dimensions of
        the internal dynamics). Of optimal control in phases: `phases`, what there is of each, with its `links` and the
        `couplings` of both ends.
    """
    if model.phases:
        return _of_phases(model, element)
    system, z = model.system, model.z0
    t, n, m = model.t_span[0], system.n_q, system.n_constraints
    with np.errstate(all="ignore"):  # points that coincide give NaN, which is reported below
        theta, jacobian, _ = constraints_at(system, t, z)
    size = constraint_sizes(system, t, z)
    names = system.constraint_names
    owners = [part for part in system.parts for _ in part.constraint_names]
    faults = [{"keys": model.keys(part), "message": "its force is not finite at the initial state; set points apart "
               "that coincide"} for part in not_finite(system, t, z) if not part.is_body]
    scaled = np.abs(theta) / size
    # the gradient of a distance vanishes where its points meet; what no coordinate can violate may be dropped
    rows = abs(jacobian[:m, :n]).sum(axis=1)
    for i in np.flatnonzero((rows == 0) & ((system.redundant == "refuse") | ~(scaled[:m] <= OPTIONS.held))):
        faults.append({"keys": model.keys(owners[i]), "message": f"the constraint '{names[i]}' has no direction at the "
                       "initial state, where its points coincide; set them apart, or use a spherical joint"})
    for i in np.flatnonzero(~(scaled <= OPTIONS.held)):
        level, what = ("configuration", "position and orientation") if i < m else ("velocity", "velocities")
        faults.append({"keys": model.keys(owners[i % m]), "message": f"the initial state violates the constraint "
                       f"'{names[i % m]}' on {level} level by {abs(theta[i]):.3g}; give {what} that satisfy "
                       "it, or assemble = true"})
    slips, bound = nonholonomic_off(system, t, z)
    sliding = [part for part in system.parts for _ in part.nonholonomic_names]
    for i in np.flatnonzero(~(slips <= OPTIONS.held * bound)):
        faults.append({"keys": model.keys(sliding[i]), "message": "the initial state violates the nonholonomic "
                       f"constraint '{system.nonholonomic_names[i]}' by {slips[i]:.3g}; give velocities that satisfy "
                       "it, or assemble = true"})
    finite = np.isfinite(jacobian.sum())
    redundant = sorted(redundant_rows(system, t, z)) if finite else []
    every, rank = names + system.nonholonomic_names, m - sum(i < m for i in redundant)
    for i in redundant if system.redundant == "refuse" else ():
        faults.append({"keys": model.keys((owners + sliding)[i]), "message": f"over-constrained: '{every[i]}' repeats "
                       f"other constraints at the initial state ({len(redundant)} redundant in all); remove it, use a "
                       'joint that holds less, or give redundant = "drop"'})
    if element and not faults:
        faults = faults_of_element(model, model.element)
    return {
        "bodies": {b.name: {"class": type(b).__name__, "n_q": b.n_q} for b in system.bodies
                   if not b.helper},
        "n_q": n, "n_constraints": m, "rank": rank, "degrees_of_freedom": n - idle_coordinates(system) - rank,
        "redundant": [every[i] for i in redundant],
        "violations": {name: {"configuration": float(abs(theta[i])), "velocity": float(abs(theta[m + i]))}
                       for i, name in enumerate(names)},
        "nonholonomic": dict(zip(system.nonholonomic_names, map(float, slips), strict=True)),
        "faults": [{**fault, "keys": model.document.full(fault["keys"])} for fault in faults], "kind": model.kind,
        **({} if faults else KINDS[model.kind].in_files.facts(model.problem)),
    }


def faults_of_element(model, element):
    """What keeps an element from solving the problem of a model, as a fault of the element, or of the limit that it is
    about."""
    problem = model.problem  # whose own errors have their places
    try:
        KINDS[model.kind].check_element(problem, element)
    except InputError as error:
        name, solver = str(error).partition(":")[0], model.document.data.get("solver", {})
        limits = [one.document.full(("limits", name)) for one in model.phases or (model,)
                  if name in one.document.data.get("limits", {})]
        keys = ("solver", "element") if "element" in solver else next(iter(limits), ("problem",))
        return [{"keys": keys, "message": str(error)}]
    return []


def refuse_element(model, element):
    """InputError for an element that cannot solve the problem of a model, with the place in the file."""
    for fault in faults_of_element(model, element):
        raise model.document.error(**fault)


def _of_phases(model, element):
    found = [inspect(phase, element=False) for phase in model.phases]
    faults = [fault for one in found for fault in one["faults"]]
    if element and not faults:
        faults = faults_of_element(model, model.element)
    for one in found:
        del one["faults"]
    return {"phases": found, "faults": faults, "kind": model.kind,
            **({} if faults else KINDS[model.kind].in_files.facts(model.problem))}
