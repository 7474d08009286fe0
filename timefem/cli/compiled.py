"""`timefem prepare` and `timefem cache`: what is compiled, and kept on disk."""

import time
from typing import Annotated

import numpy as np
import typer

from ..cases import find_case
from ..elements.mixed_galerkin import MixedGalerkin
from ..errors import InputError
from ..kernels.loops import for_common_processors, nothing_interpreted
from ..kernels.store import FOLDER_VARIABLE, SIZE_VARIABLE, Store, store
from ..mechanics.bodies.rigid import RigidBody
from ..mechanics.bodies.states import Pose
from ..mechanics.contacts.solids import PlaneContact
from ..mechanics.joints.pairs import Revolute
from ..mechanics.system import System
from ..mechanics.values.evaluate import compile_loop
from ..problems.estimation.problem import Estimation
from ..problems.estimation.sensors import Marker
from ..problems.initial.problem import InitialValueProblem
from ..solving.solve import prepare as prepared_solver
from ..solving.solve import solve
from .options import JSON
from .report import make_console, print_json

# Short solves that call every loop in every form: elements with one point and with several, dense and sparse, steps of
# their own, everything at once. The cases take a moment each once the loops are there.
SOLVES = (
    ("spinning-box", MixedGalerkin(2), {"n_elements": 6}),
    ("spinning-box", MixedGalerkin(1, 1), {"n_elements": 6}),
    ("spinning-box", MixedGalerkin(2), {"n_elements": 6, "driver": "global"}),
    ("spinning-box", MixedGalerkin(2), {"tolerance": 1e-3}),
    ("spinning-box", MixedGalerkin(1, 1), {"tolerance": 1e-2}),
    ("closed-chain-10", MixedGalerkin(2), {"n_elements": 6}),
    ("closed-chain-10", MixedGalerkin(1, 1), {"n_elements": 6}),
)
SHORT = 0.05  # seconds of motion
ENSEMBLES = MixedGalerkin(2), MixedGalerkin(1, 1)
OTHERS = ("pendulum-boundary", 10), ("bryson-denham", 10)  # conditions at both ends; inequalities


def prepare(
    portable: Annotated[bool, typer.Option("--portable", help="For all usual processors of this kind, not for this one "
                                                              "alone: for wheels, and for folders shared by machines."
                                           )] = False,
    as_json: JSON = False,
):
    """Compile the loops ahead, for all later runs of this user: what is there already is left alone."""
    begin = time.perf_counter()
    if portable:
        for_common_processors()
    if store().folder is None:
        raise InputError(f"there is no folder to keep compiled loops in; name one by the variable {FOLDER_VARIABLE}")
    if not store().can_write():  # not after a minute of work
        raise _nothing_kept()
    before, lost = len(store().entries()), Store.lost
    with nothing_interpreted():
        _solve_all()
    facts = _facts() | {"new": len(store().entries()) - before, "seconds": round(time.perf_counter() - begin, 1),
                       "lost": Store.lost - lost}
    if as_json:
        print_json(facts)
        return int(facts["lost"] > 0)
    if not facts["entries"] + facts["prepared"]:
        raise _nothing_kept()
    text = f"prepared in {facts['seconds']} s: {facts['new']} new entries in {facts['folder']}"
    if facts["lost"]:
        text += (f"; {facts['lost']} could not be kept: there is no room on the disk, or in the {facts['limit_MB']:g} "
                 f"MB of {SIZE_VARIABLE}")
    make_console().print(text + _packaged(facts), soft_wrap=True)
    return int(facts["lost"] > 0)


def _solve_all():
    compile_loop()
    for name, element, options in SOLVES:
        problem = find_case(name).make(t_end=SHORT)
        solve(problem, element, progress=False, **options)
    for element in ENSEMBLES:
        prepared_solver(problem, element, 6).solve_many(np.array([problem.z0]), n_workers=1, progress=False)
    for name, n_elements in OTHERS:
        solver = prepared_solver(find_case(name).make(), MixedGalerkin(1), n_elements, progress=False)
        solver.solve(end={})  # what is prescribed there is looked at again
    _estimate()
    for element in ENSEMBLES:
        _bounce(element)


def _bounce(element):
    """A ball that falls on a floor."""
    ball = RigidBody(1.0, (0.1, 0.1, 0.1), name="ball")
    floor = PlaneContact(ball, radius=0.1, restitution=1.0)
    system = System([ball, floor], gravity=(0, 0, -9.81))
    start = {ball: Pose((0, 0, 0.101), velocity=(0, 0, -0.1))}
    solve(InitialValueProblem(system, start, (0, SHORT)), element, 6, progress=False)


def _estimate():
    """A swinging bar whose end is seen at a few times, without dynamics."""
    bar = RigidBody(1.0, (0.1, 0.1, 0.1), name="bar")
    t = np.linspace(0, SHORT, 12)
    places = np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    origin = 0.0, 0.0, 0.0
    hinge = Revolute(bar, point_a=origin, point_b=origin, axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    marker = Marker(bar, (1, 0, 0), times=t, values=places, sigma=0.01)
    problem = Estimation(System([bar, hinge]), marker, noise=1.0, dynamics="none")
    solve(problem, MixedGalerkin(2), progress=False).std("bar")


def _nothing_kept():
    return InputError(f"nothing could be written to {store().folder}; name another folder by {FOLDER_VARIABLE}")


def cache(
    info: Annotated[bool, typer.Option("--info", help="Folder, number of entries, size and limit (default).")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries; they are rebuilt when needed.")] = False,
    as_json: JSON = False,
):
    """Compiled code kept on disk, so that a model that was solved before starts at once.

    What was not used for longest is removed beyond 256 MB, or the megabytes that the variable TIMEFEM_CACHE_MB names.
    The folder is timefem in ~/.cache, or that of the variable TIMEFEM_CACHE_DIR; "off": nothing is kept.
    """
    if info and clear:
        raise InputError("--info and --clear exclude each other")
    removed = store().clear() if clear else None
    facts = _facts()
    if clear:
        facts |= {"removed": removed[0], "removed_MB": round(removed[1] / 1e6, 2)}
    if as_json:
        return print_json(facts)
    text = f"nothing is kept, for {FOLDER_VARIABLE} names no folder" if facts["folder"] is None else \
        f"{facts['entries']} entries, {facts['MB']} of {facts['limit_MB']:g} MB, in {facts['folder']}" + \
        ", where nothing can be written" * (not store().can_write())
    if clear:
        text = f"removed {facts['removed']} entries, {facts['removed_MB']} MB; {text}"
    make_console().print(text + _packaged(facts), soft_wrap=True)
    if clear and facts["entries"] and not store().can_write():
        raise InputError(f"entries of {store().folder} cannot be removed by this user")


def _packaged(facts):
    return f"; {facts['prepared']} came with the package" if facts["prepared"] else ""


def _facts():
    own = store()
    entries = own.entries()
    return {"folder": str(own.folder) if own.folder else None, "entries": len(entries),
            "MB": round(sum(size for _, size, _ in entries) / 1e6, 2), "limit_MB": own.limit / 1e6,
            "prepared": len(Store(own.prepared, 0).entries())}
