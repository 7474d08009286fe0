"""One time element: bases, quadrature, spaces, and its residual and tangent."""

from .basis import LagrangeBasis
from .batch import ElementBatch
from .bubnov_galerkin import BubnovGalerkin
from .element import Space, TimeElement
from .mixed_galerkin import MixedGalerkin
from .plan import ElementPlan
from .quadrature import gauss_legendre

__all__ = ["BubnovGalerkin", "ElementBatch", "ElementPlan", "LagrangeBasis", "MixedGalerkin", "Space", "TimeElement",
           "gauss_legendre"]
