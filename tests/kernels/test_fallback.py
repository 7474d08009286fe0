"""Everything runs on CasADi's virtual machine too, with the same numbers to rounding."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum


@pytest.mark.parametrize("element, driver", [(tf.MixedGalerkin(2), "march"), (tf.BubnovGalerkin(2), "global")], ids=str)
def test_solves_on_the_virtual_machine(element, driver, monkeypatch):
    native = tf.solve(pendulum(t_end=0.5), element, 10, driver=driver)
    monkeypatch.setenv("TIMEFEM_KERNELS", "vm")
    slow = tf.solve(pendulum(t_end=0.5), element, 10, driver=driver)
    np.testing.assert_allclose(slow.z, native.z, rtol=0, atol=1e-11 * np.abs(native.z).max())
