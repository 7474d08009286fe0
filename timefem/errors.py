"""Errors that timefem raises on purpose: each names the offending thing and the remedy."""

import os
import sys
import warnings
from importlib import import_module
from pathlib import Path

PACKAGE = str(Path(__file__).parent) + os.sep  # not folders whose names begin alike


class InputError(ValueError):
    """A value that cannot be used; the message names it and says what would be right."""


class MissingBackend(RuntimeError):
    """A named backend that is not installed; the message says how to install it."""


class SolveError(RuntimeError):
    """A solve that cannot go on; the message says where."""


class SingularMatrix(SolveError):
    """A matrix without an inverse to working precision; the message says where."""


class RankError(RuntimeError):
    """An error on one rank of a parallel run, raised on all of them; the message names the rank and its elements."""


class IllConditioned(UserWarning):
    """A solve that may lose more digits than it should; the message says how many, where, and what would help."""


class NotSolved(UserWarning):
    """Numbers of a solve that failed are read."""


class UnderResolved(UserWarning):
    """A mesh that is too coarse for the motion; the message names the body and how many elements would do.

    In optimal control also a limit that the motion passes between the points where it is to hold, and a contact whose
    force drives the motion; in inverse dynamics a singular position that it passes.
    """


class Unstable(UserWarning):
    """An equilibrium that the least push leaves; the message says in how many directions, and what falls."""


class ActiveSetChange(UserWarning):
    """A limit is just reached, without a multiplier, where derivatives of an optimum jump; the message names it."""


class StartFollows(UserWarning):
    """A state at the start that holds constraints with the present numbers only, in derivatives by these."""


class SuspectUnits(UserWarning):
    """Numbers that would fit each other with a factor of 1000; the message says which."""


class OpenJoint(UserWarning):
    """Curves of a beam or rope that nearly meet, but do not; the message says which, and how far apart."""


class OtherSide(UserWarning):
    """A joint that stands half a turn away from where it is meant to be, which its constraints allow; the message names
    it."""


class NotAsked(UserWarning):
    """What is given although the problem does not use it; the message says what, and how to have it used."""


class NotDifferentiable(UserWarning):
    """Derivatives of a motion near or at events where it has none: grazing, changes of status, simultaneous impacts.

    The message says where, and how far away. In optimal control also costs with kinks by controls, such as `abs(u)`:
    the message says what to write instead; and costs that jump along the motion.
    """


class WriteError(OSError):
    """A file that could not be written, for instance to a full disk; the message says why and what is kept."""


def needed(package, who):
    """A package that is not always installed.

    Raises
    ------
    MissingBackend
        Says who needs it, and how to get it.
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingBackend(f"{who} needs {package}, which is not installed: pip install {package}") from None


def warn(text, category=UserWarning):
    """Warn of the line of the user: the innermost one outside of the package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def deprecated(what: str, since: str, instead: str) -> None:
    """Warn of the line of the user that a name, an argument or a value goes with the next minor version.

    Called where it is still taken, for as long as `since` is the version at hand; a test fails from the next minor
    version on until both are gone.

    Parameters
    ----------
    what : str
        As the user writes it, such as ``"MixedGalerkin(points=)"``.
    since : str
        Version that warns first, such as ``"0.2"``.
    instead : str
        What to write, such as ``"n_points="``.
    """
    major, minor = map(int, since.split(".")[:2])
    warn(f"{what} is deprecated since timefem {major}.{minor} and will be removed in {major}.{minor + 1}; use "
         f"{instead}",
         DeprecationWarning)
