"""One time element as formulas: bases, quadrature, spaces, densities; evaluated in `elements.evaluation`."""

from . import schemes
from .basis import LagrangeBasis
from .bubnov_galerkin import BubnovGalerkin
from .components import components
from .element import Space, TimeElement
from .mixed_galerkin import MixedGalerkin
from .quadrature import gauss_legendre
from .schemes import *  # noqa: F403

__all__ = ["BubnovGalerkin", "LagrangeBasis", "MixedGalerkin", "Space", "TimeElement", "components", "gauss_legendre",
           *schemes.__all__]
