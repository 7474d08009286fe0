"""`restart`: a solve goes on from its checkpoint."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..assembly import TimeMesh
from ..errors import InputError
from ..mechanics.bodies.states import CanonicalState
from ..mechanics.describe import build
from ..problems.initial.checkpoint import Checkpoint as CheckpointFile
from ..problems.initial.drivers import Checkpoint
from ..problems.initial.problem import InitialValueProblem
from ..solution.output.save import build_element
from ..types import FilePath
from .solve import solve

if TYPE_CHECKING:
    from ..solution.solution import Solution
    from .keywords import Arguments, Unpack


def restart(path: FilePath, **arguments: Unpack[Arguments]) -> Solution:
    """Continue a solve from its checkpoint, on any number of ranks.

    Parameters
    ----------
    path : str or Path
        Written by `solve(..., checkpoint=path)`.
    **arguments
        Of `solve`, for instance `newton` and `checkpoint`, and of the driver `linear` and `gather`; problem, element,
        mesh, driver, window and scaling are those of the file.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        When the file is not a checkpoint, or its system has parts that no file can hold: then rebuild the problem and
        call `solve(..., checkpoint=Checkpoint(restart=path))`.
    """
    saved = CheckpointFile(path)
    known = {"problem", "element", "n_elements", "mesh", "driver", "window", "scaling", "restart"} & set(arguments)
    if known:
        raise InputError(f"{' and '.join(sorted(known))}: restart takes this from the checkpoint")
    problem, element, mesh, settings = restored(saved)
    if isinstance(arguments.get("checkpoint"), Checkpoint):
        arguments["checkpoint"] = dataclasses.replace(arguments["checkpoint"], restart=path)
    else:
        arguments["restart"] = path
    return solve(problem, element, mesh=mesh, **settings, **arguments)


def restored(saved):
    """Problem, element, mesh and further arguments of `solve`, from a `Checkpoint`."""
    facts, t = saved.facts, saved.arrays["t"]
    if facts.get("system") is None:
        raise InputError(f"{saved.path}: the system has parts that no file can hold; rebuild the problem and call "
                         f"solve(..., restart={str(saved.path)!r})")
    with saved.understood():
        system, element = build(facts["system"]), build_element(facts["element"])
    if len(saved.arrays["z0"]) != system.n_z:
        raise InputError(f"{saved.path}: z0 has {len(saved.arrays['z0'])} numbers, but the system needs {system.n_z}")
    q, p = np.split(saved.arrays["z0"], 2)
    parts = {body: system.coordinates(body) for body in system.bodies}
    state = {body: CanonicalState(q[part], p[part]) for body, part in parts.items()}
    settings = {name: facts[name] for name in ("driver", "window", "scaling") if name in facts}
    return InitialValueProblem(system, state, (t[0], t[-1])), element, TimeMesh(t), settings
