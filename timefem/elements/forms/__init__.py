"""The forms in which a Galerkin element takes the equations of motion."""

from .bubnov import BubnovImpulseForm
from .energy import EnergyForm
from .hamilton import HamiltonForm
from .impulse import ImpulseForm
from .lagrange import LagrangeForm

FORMS = {form.name: form for form in (HamiltonForm(), LagrangeForm(), ImpulseForm(), EnergyForm())}

__all__ = ["FORMS", "BubnovImpulseForm", "EnergyForm", "HamiltonForm", "ImpulseForm", "LagrangeForm"]
