"""A six-axis arm in joint coordinates in least time, with limits of torques, rates and angles."""

import numpy as np
import pytest

from timefem.cases import find_case
from timefem.models import load_model

TORQUES, RATE, ANGLE = np.array([60, 80, 50, 15, 10, 5.0]), 3.0, 2.5


@pytest.mark.long
def test_least_time_with_torque_rate_and_joint_limits():
    model = load_model(find_case("six-axis-arm").path)
    own = model.solve(progress=False)
    assert own.success
    share = np.abs(own.controls(own.t)) / TORQUES
    assert share.max() == pytest.approx(1, abs=1e-6)
    assert (share.max(axis=1) > 0.999).mean() > 0.8  # nearly always one motor is at its limit
    assert np.abs(own.z[:, :6]).max() <= ANGLE + 1e-6
    rates = np.stack([own.joint(f"joint {i}").rate(own.t) for i in range(6)])
    assert np.abs(rates).max() <= RATE + 1e-6
