"""How accurate a march that chooses its own steps is to be."""

from __future__ import annotations

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...validate.options import Options, documented, option

# ---- thresholds of marches that choose their own steps

@documented
@frozen
class MarchOptions(Options):
    """Thresholds of a march to a tolerance, see `StepControl`.

    A pilot march finds where elements have to be short; marches on its meshes find how many are needed.
    """

    # ---- the pilot
    first_pair: float = option(1e-3, "first pair of elements, of the time span",
                               "one that is too long is found out soon")
    coarsest: float = option(1e-3, "sum of the local errors of the pilot, at most")
    looser: float = option(1e4, "sum of the local errors of the pilot, over the tolerance asked for, at most")
    in_proportion: float = option(0.1, "error up to which errors are taken to be in proportion")
    early: float = option(1e-2, "share of the time span up to which what moves may be less than round-off")
    first_look: int = option(50, "equal elements that may tell the size of a motion beforehand")
    looks: int = option(3, "numbers of elements that are tried for this, each four times the one before")
    crawl: float = option(1e-8, "mean length of the elements of a chunk, of the time span, below which a march would "
                                "never come to the end")

    # ---- meshes
    aim: float = option(0.4, "share of the tolerance that a mesh aims at")
    most_meshes: int = option(4, "meshes that are tried")
    most_count: float = option(1e7, "elements in place of a pair, at most")
    most_elements: float = option(1e7, "elements of a mesh, at most: where more are needed, the motion is singular")
    stalled: float = option(0.5, "what is left of the difference of two meshes on finer ones, from which on they do "
                                 "not converge")
    abrupt: float = option(1e-3, "share of a difference that is there one pair earlier, at most, where one place is "
                                 "to blame")


DEFAULTS = MarchOptions()


@frozen
class StepControl(NamedArguments):
    """How accurate a solution has to be.

    Parameters
    ----------
    tolerance : float
        Error of coordinates and momenta at any node, relative to the size of the motion. Velocities are measured
        against the largest change v of the velocities, coordinates against the length v^2/a that belongs to it, with a
        the largest acceleration; both for positions and for rotations on their own, weighted with masses and inertia.
        A system that drifts away does not become less accurate. What is light beside others counts by its own motion.
    min_step, max_step : float, optional
        Limits of the length of an element [s]; default 1e-12 and 1/20 of the time span.
    options : MarchOptions
        Thresholds, or a dict of some.
    """

    tolerance: float
    min_step: float | None = None
    max_step: float | None = None
    options: MarchOptions = DEFAULTS

    def __post_init__(self):
        validate.real("tolerance", self.tolerance, positive=True)
        if not 1e-12 <= self.tolerance <= 0.1:
            raise InputError(f"tolerance must lie between 1e-12 and 0.1, not {digits(self.tolerance, 0.1)}")
        for name in ("min_step", "max_step"):
            if getattr(self, name) is not None:
                validate.real(name, getattr(self, name), positive=True)
        if None not in (self.min_step, self.max_step) and self.min_step > self.max_step:
            raise InputError(f"min_step = {digits(self.min_step, self.max_step)} is larger than "
                             f"max_step = {digits(self.max_step, self.min_step)}")
        object.__setattr__(self, "options", MarchOptions.of(self.options))
        if not isinstance(self.options, MarchOptions):
            raise InputError(f"options must be MarchOptions or a dict, not {self.options!r}")
