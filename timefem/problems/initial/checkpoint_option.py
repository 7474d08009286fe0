"""Option `checkpoint` of `solve`: where a solve is written now and then, and where it goes on from."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...assembly import TimeMesh
from ...atomic_write import check_writable
from ...errors import InputError, NamedArguments
from ...memory import Late
from ...records import frozen

checkpoint = Late(f"{__package__}.checkpoint")


@frozen
class Checkpoint(NamedArguments):
    """Checkpoints of a solve of an initial-value problem.

    Parameters
    ----------
    path : str or Path, optional
        File that is written from time to time, complete at any moment, and on SIGTERM, which then ends the solve
        ("stopped"). It holds the solved elements and the Newton iterate of all that are being solved.
    every : str or int
        "60s", or "5it", or a number of iterations: Newton's, or elements of a march.
    restart : str or Path, optional
        Checkpoint to continue from, of the same problem, element, mesh, driver, window and scaling, on any number of
        ranks. See also `timefem.restart`, which takes all of these from the file.
    """

    path: str | os.PathLike | None = None
    every: str | int = "60s"
    restart: str | os.PathLike | None = None

    def __post_init__(self):
        if self.path is None and self.restart is None:
            raise InputError("a Checkpoint needs a path to write to, or restart, one to continue from")
        checkpoint.parse_every(self.every)

    def check(self) -> None:
        """InputError when the file cannot be written, before work starts."""
        if self.path is not None:
            check_writable(self.path)

    def open(self, plan: Any, mesh: TimeMesh, z0: np.ndarray, settings: dict[str, Any],
             comm: Any = None) -> tuple[Any, Any, TimeMesh]:
        """The checkpoint to go on from, the recorder of a solve, each of which may be None, and the mesh.

        That is the one of the checkpoint where a march has halved elements of the given one.
        """
        saved, recorder = None, None
        if self.restart is not None:
            saved = checkpoint.Checkpoint(self.restart)
            t = saved.arrays["t"]
            if settings["driver"] == "march" and mesh.nodes[-1] == t[-1] and np.isin(mesh.nodes, t).all():
                mesh = TimeMesh(t)
        own = checkpoint.Identity(plan, mesh, z0, settings)
        if saved is not None:
            saved.check(own)
        if self.path is not None:
            recorder = checkpoint.Recorder(self.path, self.every, own, comm)
        return saved, recorder, mesh


def checkpoint_of(choice):
    """The `Checkpoint` of a path; None where there is none."""
    return choice if choice is None or isinstance(choice, Checkpoint) else Checkpoint(choice)
