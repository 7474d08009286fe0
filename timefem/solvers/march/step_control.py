"""How accurate a march that chooses its own steps is to be."""

from dataclasses import dataclass

from ... import validate
from ...argument_names import NamedArguments
from ...display import digits
from ...errors import InputError
from .options import MarchOptions

DEFAULTS = MarchOptions()


@dataclass(frozen=True)
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
