"""Driver "march": one element at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import InputError
from ...progress import progress
from ...solution.violations import turned_over, turning_drives, violation
from ...solvers.equations.outcome import Outcome, ValuesOfDofs
from ...solvers.march.march import CHUNK, LoopArrays, Run, march, march_halving
from ...validate.options import field, said
from ..task import Driver

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ..task import DriverInput


@dataclass(frozen=True)
class March(Driver):
    """One element after the other, each by Newton's method from the element before.

    Parameters
    ----------
    scaling : {"full", "weights", "reference", "none"}
        Of unknowns and rows (see `timefem.assembly.scaling`).
    keep_mesh : bool
        Fail where Newton's method fails, or comes to half a turn from what a drive prescribes. Otherwise the element is
        halved and tried again, as often as it takes (see `timefem.solvers.march.march`), and the status says so.
    """

    scaling: str = field("scaling")
    keep_mesh: bool = field("keep_mesh")

    name: ClassVar[str] = "march"

    @classmethod
    def takes(cls, element: TimeElement) -> bool:
        return element.can_march

    def check(self, element: TimeElement, guess: Any) -> None:
        if not element.can_march:
            raise InputError(f"{element!r} couples its elements and cannot be marched: use "
                             f"{said('driver', 'windows')} or {said('driver', 'global')}")
        if guess is not None:
            raise InputError("guess is given, but driver='march' does not use it")

    def solve(self, job: DriverInput) -> Outcome:
        plan, mesh, system = job.plan, job.mesh, job.plan.system
        step, n_node = plan.columns.step, plan.columns.n_node
        n_solved, stopped = job.saved.n_solved if job.saved else 0, False
        x = np.zeros(n_node + mesh.n_elements * step)
        if n_solved:
            x[:n_node + n_solved * step] = job.saved.dofs(0, n_solved, n_node)

        def on_mesh(mesh, longer, n):
            nonlocal x, n_solved
            x, bar.total = longer, mesh.n_elements
            bar.advance(n - n_solved)
            n_solved = n
            if job.recorder:
                job.recorder.identity.take(mesh)

        def look(t, z):
            fault = turned_over(system, t, z)
            return fault and (fault[0], violation(*fault[2:4]))

        with progress("march", mesh.n_elements, job.show) as bar:
            def advance(n):
                nonlocal n_solved, stopped
                n_solved += n
                bar.advance(n)
                stopped = job.visit(n, lambda: (n_solved, n_solved, [(0, x[:n_node + n_solved * step])]))
                return stopped

            bar.advance(n_solved)
            start = time.perf_counter()
            chunk = job.recorder.within(CHUNK) if job.recorder else CHUNK
            multipliers = system.consistent_multipliers(mesh.nodes[0], job.z0)
            scale = job.scale
            loop = job.kept.thing("march", plan, lambda: LoopArrays(plan, scale), lambda loop: loop.rescale(scale))
            run = Run(advance, chunk, x, n_solved, loop, look=look if turning_drives(system) else None)
            how = plan, mesh, job.z0, multipliers, scale, job.settings, run
            if self.keep_mesh:
                x, n_solved, status, iterations = march(*how)
            else:
                mesh, x, n_solved, status, iterations = march_halving(*how, on_mesh)
        return Outcome(ValuesOfDofs(plan, x, n_solved), status, iterations, plan.rows.n_interior,
                       {"solve": time.perf_counter() - start}, mesh=mesh, stopped=stopped)
