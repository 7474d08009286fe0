"""Optimal control in phases in the table of kinds."""

from ...errors import InputError
from ..common.kind import Kind
from ..initial.global_driver import Global
from ..optimal.solve import UNUSED
from ..optimal.transcription.sizes import has_contacts
from .problem import Phases
from .solve import solve_phases


def no_estimate(problem, element):
    raise InputError("errors of given phases are not estimated; solve them with tolerance=")


PHASES = Kind("phases", Phases, "optimal control in phases", drivers=(Global,), solve=solve_phases,
              estimate=no_estimate, files=f"{__package__}.files", fits=Phases.check_element,
              unused=lambda problem: (UNUSED, "where phases are solved by an interior-point method"),
              smooth=lambda problem: not any(map(has_contacts, problem.phases)), one_motion=False)
