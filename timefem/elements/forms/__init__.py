"""The forms in which a Galerkin element takes the equations of motion. Another form is a file and an entry here."""

from ...late import LateTable

FORMS = LateTable(__name__, {"hamilton": ".hamilton.HamiltonForm", "lagrange": ".lagrange.LagrangeForm",
                             "impulse": ".impulse.ImpulseForm", "energy": ".energy.EnergyForm"})

__all__ = ["FORMS"]
