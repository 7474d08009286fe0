"""Systems with other numbers have the parts of these numbers in the places of the system that they are made of."""

import numpy as np
import pytest

from timefem.cases import find_case
from timefem.mechanics.numbers.names import names_of_numbers
from timefem.mechanics.part_groups import grouped


@pytest.mark.parametrize("case", ["spinning-box", "four-bar", "closed-chain-10", "crane-inverse"])
def test_places_of_parts(case):
    system = find_case(case).make().system
    masses = [name for name in names_of_numbers(system) if name.endswith((".mass", ".inertia", ".stiffness"))]
    name = masses[-1]
    part = system[name.rpartition(".")[0]]
    value = 1.1 * np.asarray(getattr(part, name.rpartition(".")[2]))
    other = system.with_numbers({name: value if value.ndim else float(value)})
    assert other.structure is system.structure and other.parts == system.parts
    assert any(own is not before for own, before in zip(other.parts, system.parts, strict=True))
    assert (other.n_z, other.n_multipliers, other.n_nonholonomic) == (
        system.n_z, system.n_multipliers, system.n_nonholonomic)
    for own, made, before in zip(other.groups, grouped(other), system.groups, strict=True):
        assert all(a is b for a, b in zip(own.members, made.members, strict=True))
        for array in ("state_index", "multiplier_index", "nonholonomic_index", "parameters"):
            np.testing.assert_array_equal(getattr(own, array), getattr(made, array))
        assert (own is before) == all(a is b for a, b in zip(own.members, before.members, strict=True))
    assert any(own is not before for own, before in zip(other.groups, system.groups, strict=True))
    again = system.with_numbers({name: 1.0 * np.asarray(getattr(part, name.rpartition(".")[2]))})
    for own, before in zip(again.groups, system.groups, strict=True):
        np.testing.assert_array_equal(own.parameters, before.parameters)
