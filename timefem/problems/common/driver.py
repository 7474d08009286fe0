"""What a driver offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...argument_names import NamedArguments
from ...errors import InputError
from ...solvers.linear.table import linear_options
from ...validate.options import check_fields

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ...solvers.equations.outcome import Outcome
    from ..initial.driver_input import DriverInput


@dataclass(frozen=True)
class Driver(NamedArguments, ABC):
    """How a chain of elements is solved; a frozen dataclass whose fields are its options.

    Attributes
    ----------
    name : str
        Its shorthand.
    """

    name: ClassVar[str]

    def __post_init__(self):
        check_fields(self)

    @classmethod
    def takes(cls, element: TimeElement) -> bool:
        """Whether it can solve an element of that kind."""
        return True

    def check(self, element: TimeElement, guess: Any) -> None:
        """InputError for an element, or a guess, that it cannot take."""

    def identity(self) -> dict[str, Any]:
        """Options that a checkpoint must share, by name."""
        return {"driver": self.name, "scaling": self.scaling}

    linear = None  # solver of systems of more than one element

    @property
    def distributed(self) -> bool:
        """Whether ranks share the work."""
        return self.linear is not None and self.linear.distributed

    @abstractmethod
    def solve(self, job: DriverInput) -> Outcome:
        """Solve the elements of a `DriverInput`; returns an `Outcome`."""


def check_linear(driver):
    """Put the linear solver of a driver in place of its shorthand, and check `gather`."""
    object.__setattr__(driver, "linear", linear_options(driver.linear))
    if driver.gather is not None and not driver.linear.distributed:
        raise InputError("gather is given, but only windows and global solves with linear=tf.PETSc() are distributed")
