"""Motions with rigid contact, which can be handed over to phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import validate
from ...memory import Late
from ...solution.contact_solution import ContactSolution

if TYPE_CHECKING:
    from ...mechanics.states.given import GivenStates
    from .problem import Phases

contact_sequence = Late(f"{__package__}.contact_sequence")


class ContactMotion(ContactSolution):
    """A `ContactSolution` of a march."""

    def phases(self, *, start: GivenStates | None = None, end: GivenStates | None = None, duration: str = "same",
               periodic: bool = False, cost: Any = None, actuators: Any = (), bounds: Any = None,
               limits: Any = ()) -> Phases:
        """The motion as `Phases` between its events, which `solve` finds all at once, with this motion as the guess.

        Phases have the systems of their modes, with closed contacts as constraints, and lengths that are free; links
        are what vanishes at events, and the laws of impact with the statuses that were found. What is to hold besides,
        open gaps, forces that push, friction in its cone, is looked at afterwards: a `NotSolved` warning names what is
        violated.

        Parameters
        ----------
        start : dict, optional
            Body -> state or `EndState` at the start; what is left out is free. Default: that of this motion.
        end : dict, optional
            Of the end, as in `OptimalControl`.
        duration : {"same", "free"}
            Of the whole motion.
        periodic : bool
            Whether the state at the end is that at the start.
        cost, actuators, bounds, limits
            Of each phase, as in `OptimalControl`. What moved these actuators in the march, a `Controller`, is left out;
            one by the time alone is the guess of their controls.

        Returns
        -------
        Phases

        Raises
        ------
        InputError
            For sequences that are not phases between single events; says why.
        """
        given = {"start": start, "end": end, "duration": validate.choice("duration", duration, ("same", "free")),
                 "periodic": validate.flag("periodic", periodic), "cost": cost, "actuators": actuators,
                 "bounds": bounds, "limits": limits}
        return contact_sequence.ContactSequence(self, given).problem()
