"""Checkpoints of marches with rigid contact: their motion so far, and what a march is to know to go on."""

import json
from collections import Counter
from functools import partial

import numpy as np

from ...errors import InputError
from ...memory import Late
from ...solution.output import hdf5, save
from ...status import Status
from .checkpoint import CHECKED

contact_march = Late("timefem.solvers.nonsmooth.contact_march")
sharing = Late("timefem.solvers.nonsmooth.sharing")

MOTION, MEMORY = "motion", "march"  # group of a checkpoint with the solution, dataset with the rest


def opened(task, mesh, march):
    """Of a `Task` with a checkpoint the motion to go on from, or None, taken by its march, and the `Recorder` or None.
    """
    problem, option, before = task.problem, task.checkpoint, None
    plan = task.kept.plan(problem.system, task.element)
    saved, recorder, found = option.open(plan, mesh, problem.z0, task.driver.identity())
    try:
        if found.n_elements != mesh.n_elements:  # halved elements of a march without contacts are nodes of its mesh
            raise InputError(f"{option.restart} belongs to another solve: the mesh has {found.n_elements} elements "
                             f"there, {mesh.n_elements} here")
        before = None if saved is None else _resume(march, task.element, saved)
    except InputError:
        if recorder is not None:
            recorder.close()
        raise
    return before, recorder


def contents(motion, march):
    """Arguments of `Recorder.write`."""
    return 0, 0, [], None, partial(_write, motion=motion, march=march)


def _write(file, motion, march):
    """Write a `ContactMotion` so far, and what its march is to know besides, into a checkpoint."""
    group = file.create_group(MOTION)
    save.make_room(group, motion, len(motion.t) - 1, motion.t[0], motion.z[0])
    save.fill(group, motion, 0)
    own = march.mode.sharing
    known = {"t": float(march.t), "z": march.z.tolist(), "modes": march.modes.tolist(),
             "signs": list(march.mode.signs), "directions": march.directions.tolist(),
             "sharing": [own.rows.tolist(), own.n_normal, own.own.tolist(), own.matrix.tolist()],
             "zero": sorted([kind, int(c)] for kind, c in march.zero), "sizes": march.law.sizes.tolist(),
             "pace": vars(march.pace)}
    file.create_dataset(MEMORY, data=np.frombuffer(json.dumps(known).encode(), np.uint8), **CHECKED)


def _resume(march, element, saved):
    """Let a march go on from a `Checkpoint`; returns the motion before.

    Raises
    ------
    InputError
        When the file holds something else than such a march.
    """
    system, n = march.contacts.system, march.contacts.n
    with saved.opened() as file:
        motion = save.read_arrays(hdf5.group(file, MOTION), system, element, Status(True), {})
        known = json.loads(bytes(hdf5.dataset(file, MEMORY, (None,), np.uint8)[()]))
        rows, n_normal, kept, matrix = known["sharing"]
        rows, kept = np.array(rows, int), np.array(kept, int)
        shared = sharing.Sharing(rows, n_normal, kept, np.array(matrix, float).reshape(len(rows), len(kept)))
        march.t, march.z = float(known["t"]), np.array(known["z"], float).reshape(system.n_z)
        march.n_elements = len(motion.t) - 1
        march.modes = np.array(known["modes"], int).reshape(n)
        march.mode = contact_march.Mode(tuple(known["modes"]), tuple(known["signs"]), shared)
        march.directions = np.array(known["directions"], float).reshape(n, 2)
        march.zero = {(kind, c) for kind, c in known["zero"]}
        march.law.take_sizes(np.array(known["sizes"], float).reshape(6, n))
        march.pace = contact_march.Pace(**known["pace"] | {"here": Counter(known["pace"]["here"])})
        march.events, march.located = list(motion.events), list(motion.located)
        if march.t != motion.t[-1]:
            raise InputError("its march is not where its elements end")
    return motion
