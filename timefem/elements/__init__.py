"""One time element: bases, quadrature, spaces, and its residual and tangent."""

from . import schemes
from .basis import LagrangeBasis
from .batch import ElementBatch
from .bubnov_galerkin import BubnovGalerkin
from .components import components
from .element import Space, TimeElement
from .mixed_galerkin import MixedGalerkin
from .plan import ElementPlan
from .quadrature import gauss_legendre
from .schemes import *  # noqa: F403

__all__ = ["BubnovGalerkin", "ElementBatch", "ElementPlan", "LagrangeBasis", "MixedGalerkin", "Space", "TimeElement",
           "components", "gauss_legendre", *schemes.__all__]
