"""One time element as formulas: spaces and densities; evaluated in `elements.evaluation`."""

from . import schemes
from .bubnov_galerkin import BubnovGalerkin
from .components import components
from .element import Space, TimeElement
from .mixed_galerkin import MixedGalerkin
from .schemes import *  # noqa: F403

__all__ = ["BubnovGalerkin", "MixedGalerkin", "Space", "TimeElement", "components", *schemes.__all__]
