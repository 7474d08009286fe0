"""The example of motion capture runs: the loop closes, the outliers are named, and the torque is that of the motion."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.long


def test_motion_capture(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    path = Path(__file__).parents[2] / "examples" / "motion_capture.py"
    spec = importlib.util.spec_from_file_location("motion_capture", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data, sol, (torque, std) = module.main()
    assert np.abs(sol.system.constraints(sol.t, sol.z)[:, :sol.system.n_constraints]).max() < 1e-13
    assert {(name, round(time, 2)) for name, time, _ in sol.fit.outliers} == {("ANKLE", 0.90), ("ANKLE", 0.91)}
    exact = [module.poses(-7.85 * t + 0.2 * np.sin(7.85 * t))["crank"].orientation for t in sol.t]
    angle = np.unwrap([2 * np.arctan2(q[3], q[0]) for q in exact])
    assert np.abs(np.diff(np.unwrap(sol.value("bracket")[:, 0])) - np.diff(angle)).max() < 0.01
    # the work of the torque is the change of energy, here over the second turn
    rate = sol.value(lambda now: now.joint_rate("bracket"))[:, 0]
    turn = slice(10, -10)
    power = (torque * rate)[turn]
    work = float((np.diff(sol.t[turn]) * (power[1:] + power[:-1]) / 2).sum())
    energy = sol.system.hamiltonian(sol.t, sol.z)[turn]
    assert abs(work - (energy[-1] - energy[0])) < 0.05 * np.ptp(energy)
    assert np.all(std > 0)
    module.draw(sol, data, torque, std, tmp_path / "leg.png")
    assert (tmp_path / "leg.png").stat().st_size > 10000
