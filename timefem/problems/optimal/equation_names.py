"""What equations of the motion are called where they stay violated, and which of them reports tell of."""

import numpy as np

from ...mechanics.part_names import body_of
from ...solvers.nonlinear.program import CARRIER, CONDITION, MOTION


def roles_of_equations(chain):
    """Roles of `OptimalityEquations`, in the order of their costates, see `NonlinearProgram`."""
    dual = np.flatnonzero(chain.dual)
    roles = np.full(len(dual), MOTION)
    roles[len(dual) - chain.blocks[1].n_unknowns:] = CONDITION
    if "costate of constants" in chain.plan.element.trial:
        roles[np.isin(dual, chain.columns_of("costate of constants"))] = CARRIER
    return roles


def name_of_equation(system, field, components, component):
    """Name of an equation, by its place.

    Parameters
    ----------
    system : System
    field : str
        Of the tests.
    components : str or callable
        What the field has values for, see `timefem.elements.components`.
    component : int
    """
    if field in ("state", "motion"):
        return f"an equation of motion of {system.label(body_of(system, component))}"
    if components in ("multipliers", "constraints", "joints"):
        return constraint_names(system, components == "joints")[component]
    if field == "nonholonomic":
        names = system.nonholonomic_names  # some elements have a second multiplier of each, of its rate
        return f"the constraint '{names[component % len(names)]}'" + " in its rate" * (component >= len(names))
    return "an equation"


def constraint_names(system, of_joints=False):
    """The constraints by name, on positions, then on velocities; those of joints, or of bodies as well."""
    names = [f"{system.label(part)}: {name}" for part in system.parts if not part.is_body
             for name in part.constraint_names] if of_joints else system.constraint_names
    return [f"the constraint '{name}'{level}" for level in ("", " on velocities") for name in names]


def names_at_start(system):
    """The constraints of a state, in the order of `End.constraints`."""
    return [*constraint_names(system), *(f"the constraint '{name}'" for name in system.nonholonomic_names)]
