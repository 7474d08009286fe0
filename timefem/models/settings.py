"""Settings of the solver in a model file: the time element, the driver, Newton's method."""

from ..elements import BubnovGalerkin, MixedGalerkin
from ..elements.schemes import SCHEMES
from ..errors import InputError
from ..problems.optimal.mesh_sequence import ITERATIONS
from ..solvers.nonlinear.newton import Newton

ELEMENT = ("degree", "n_points", "nodes", "multipliers", "drop", "constraints")
OWN = {"mg": ("constraints",), "bg": ("multipliers", "drop")}  # settings of one element only
NEWTON = ("tol_residual", "tol_increment", "max_iterations", "line_search")
GUESSES = {"initial": ("mg1", "constant"), "boundary": ("interpolation", "march"), "inverse": (), "optimal": ()}


def element_of(solver):
    own, name = {key: solver[key] for key in ELEMENT if key in solver}, solver.get("element", "mg")
    for key in own:
        users = [user for user, keys in OWN.items() if key in keys] or list(OWN)
        if name not in users:
            owners = " or ".join(f'element = "{user}"' for user in users)
            raise InputError(f"{key} belongs to {owners}")
    if name == "mg":
        return MixedGalerkin(**{"degree": 2, **own})
    return BubnovGalerkin(**{"degree": 3, **own}) if name == "bg" else SCHEMES[name]()


def settings_of(solver, element, kind):
    settings = {key: value for key, value in solver.items() if key not in ("element", *ELEMENT, *NEWTON)}
    if settings.get("guess", GUESSES[kind]) not in (*GUESSES[kind], GUESSES[kind]):
        known = " or ".join(f'"{guess}"' for guess in GUESSES[kind])
        raise InputError(f'guess of a problem of kind "{kind}" must be {known}' if known else
                         f'guess is not used by problems of kind "{kind}"; leave it out')
    newton = {key: solver[key] for key in NEWTON if key in solver}
    if kind != "initial":
        return {**settings, **_global_settings(solver, element, kind, newton)}
    driver = settings.setdefault("driver", "windows" if "window" in settings else
                                 "march" if element.can_march else "global")
    if driver == "march" and not element.can_march:
        raise InputError('driver "march" needs an element that can be marched, and "bg" cannot; leave driver out')
    for key, users in (("window", ("windows",)), ("backend", ("windows", "global")), ("guess", ("windows", "global"))):
        if key in settings and driver not in users:
            raise InputError(f"{key} is not used by driver {driver!r}; it belongs to {' and '.join(users)}")
    if "tolerance" in settings and driver == "windows":
        raise InputError("tolerance is not used by driver 'windows'; it belongs to march and global")
    return {**settings, "newton": Newton(**newton)}


def _global_settings(solver, element, kind, newton):
    """Of problems that tie all elements together, whose Newton iterations always have a line search."""
    if solver.get("driver", "global") != "global":
        raise InputError(f'driver of a problem of kind "{kind}" must be "global", or left out')
    for key in ("window", "line_search"):
        if key in solver:
            raise InputError(f'{key} is not used by problems of kind "{kind}"; leave it out')
    if kind == "inverse" and not isinstance(element, MixedGalerkin):
        raise InputError('element of a problem of kind "inverse" must be "mg"')
    if kind == "optimal" and "tolerance" in solver and not isinstance(element, MixedGalerkin):
        raise InputError('tolerance of a problem of kind "optimal" belongs to element = "mg"')
    return {"newton": newton_of(kind, newton)} if newton else {}


def newton_of(kind, given):
    """Newton's settings of problems that always have a line search, with the defaults of that kind."""
    return Newton(**({"max_iterations": ITERATIONS} if kind == "optimal" else {}) | given, line_search=True)
