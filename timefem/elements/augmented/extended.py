"""An element that has what another one has, and more."""

from dataclasses import dataclass

from ..element import TimeElement


@dataclass(frozen=True)
class Extended(TimeElement):
    """An element that has what another one has, and more.

    Attributes
    ----------
    element : TimeElement
    """

    element: TimeElement

    @property
    def density_key(self):
        return type(self), self.element.density_key

    @property
    def trial(self):
        return self.element.trial

    @property
    def test(self):
        return self.element.test

    @property
    def slots(self):
        return self.element.slots

    @property
    def test_slots(self):
        return self.element.test_slots

    @property
    def constraint_row_power(self):
        return self.element.constraint_row_power

    @property
    def lifted(self):
        return self.element.lifted

    @property
    def elements_per_block(self):
        return self.element.elements_per_block

    @property
    def needs_inverse_mass(self):
        return self.element.needs_inverse_mass

    @property
    def takes_coupled_inertia(self):
        return self.element.takes_coupled_inertia

    def symbols(self, part, element, sizes):
        return self.element.symbols(part, element, sizes)

    def check(self, system):
        self.element.check(system)

    def kept_multipliers(self, system):
        return self.element.kept_multipliers(system)

    def density(self, s):
        return self.element.density(s)

    def nodal_values(self, system, times, state, multipliers):
        return self.element.nodal_values(system, times, state, multipliers)

    def __getattr__(self, name):
        if name.startswith("__") or name == "element":
            raise AttributeError(name)
        return getattr(self.element, name)  # degree, n_points, order, drop
