"""What the studies of accuracy share: their input and names of methods."""

from __future__ import annotations

import dataclasses

from timefem import InitialValueProblem, InputError, March, Pose, RigidBody, System, TimeElement, solve

from ..argument_names import named_arguments


def initial_value_problem(problem):
    """The problem of a case, or a problem of initial values as it is."""
    problem = problem.make() if hasattr(problem, "make") else problem
    if not isinstance(problem, InitialValueProblem):
        raise InputError(f"problem must be an InitialValueProblem or a Case, not {problem!r}")
    return problem


def solve_on(problem, element, n_elements=None, *, driver=None, **arguments):
    """`timefem.solve` on the mesh that is asked for: a march does not halve elements, which would be another mesh."""
    if (driver is None and element.can_march) or driver == "march":
        driver = March(keep_mesh=True)
    elif isinstance(driver, March):
        driver = dataclasses.replace(driver, keep_mesh=True)
    return solve(problem, element, n_elements, driver=driver, **arguments)


def element_list(elements):
    """One element or several, as a list without repetitions."""
    elements = [elements] if isinstance(elements, TimeElement) else elements
    if not isinstance(elements, list | tuple) or not elements:
        raise InputError(f"elements must be a time element, or a list of them, not {elements!r}")
    for element in elements:
        if not isinstance(element, TimeElement):
            raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    return list(dict.fromkeys(elements))


def element_label(element):
    """Short name of a method, such as mG(2), BG(3, continuous) or EML, for tables and figures."""
    short = {"mg": "mG", "bg": "BG"}.get(element.name)
    if short is None:
        return type(element).__name__
    facts = [str(element.degree)]
    usual = dataclasses.replace(element, n_points=None).n_points
    facts += [] if element.n_points == usual else [f"{element.n_points} points"]
    facts += [value for name, usual in (("multipliers", "discontinuous"), ("drop", "start"), ("nodes", "equidistant"),
                                        ("form", "hamilton"))
              if (value := vars(element).get(name, usual)) != usual]
    facts += ["keeps all"] if element.lifted else []
    return f"{short}({', '.join(facts)})"


# ---- A body in units of its own

@named_arguments
def unit_body(rotation: str = "quaternion", inverse_mass: str = "polynomial",
              t_end: float = 5.0) -> InitialValueProblem:
    """A free body of unit mass and inertia that turns at about 1 rad/s: every number in the tangent is O(1).

    Slopes of condition numbers show on coarse meshes here, while a body in SI units hides some behind its inertia.
    """
    body = RigidBody(1, [1, 1, 1], rotation, inverse_mass, name="body")
    return InitialValueProblem(System([body]), {body: Pose(angular_velocity=(0, 0.7, 0.7))}, (0, t_end))
