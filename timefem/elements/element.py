"""The time element: trial and test spaces, quadrature, and the residual density."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .. import validate
from .basis import NODES, LagrangeBasis


@dataclass(frozen=True)
class Space:
    """A field over one time element: its basis, and whether it is continuous across elements."""

    basis: LagrangeBasis
    continuous: bool


class TimeElement(ABC):
    """A time finite element.

    A subclass is a frozen dataclass that declares its spaces and one method, `density`, which reads like the weak form.
    The rows of the element residual are `sum_g w_g h phi_i(xi_g) density(xi_g)`.

    Attributes
    ----------
    degree : int
        Polynomial degree of the state.
    n_points : int
        Gauss points.
    state, multiplier : Space
        Trial spaces of `z = (q, p)` and `lambda = (gamma, mu)`.
    state_test, multiplier_test : Space
        Test spaces.
    constraint_row_power : int
        Rows of the constraints are multiplied with `h` to this power by scaling.
    name : str
        Short name on the command line.
    """

    constraint_row_power = 0

    @property
    def can_march(self):
        """Whether each element can be solved on its own, given its left node: no tests are shared."""
        return not (self.state_test.continuous or self.multiplier_test.continuous)

    def _validate(self, minimum_points):
        """Checks common to the Galerkin elements; called when the value object is made."""
        validate.integer("degree", self.degree, minimum=1)
        validate.choice("nodes", self.nodes, NODES)
        if self.n_points is None:
            object.__setattr__(self, "n_points", 2 * self.degree)
        validate.integer("n_points", self.n_points, minimum=1)
        if self.n_points < minimum_points:
            raise validate.InputError(
                f"n_points = {self.n_points} makes the tangent of {type(self).__name__}(degree={self.degree}) "
                f"singular; at least {minimum_points} are needed")

    @property
    @abstractmethod
    def state(self):
        """Trial space of the state."""

    @property
    @abstractmethod
    def multiplier(self):
        """Trial space of the multipliers."""

    @property
    @abstractmethod
    def state_test(self):
        """Test space of the equations of motion."""

    @property
    @abstractmethod
    def multiplier_test(self):
        """Test space of the constraints."""

    @abstractmethod
    def density(self, s):
        """Residual density of one part in the symbols `s` (`PointSymbols`): rows of the state, rows of the constraints.

        Returns
        -------
        (SX, SX)
            Shapes (n_z,) and (n_multipliers,) of the part.
        """
