"""Each example runs, and its number is right."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from timefem.reproduction import about, find_machines, run_machine

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def no_windows():
    import matplotlib

    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_demo(tmp_path, capsys):
    demo = example("demo")
    result = demo.main(n_elements=100)
    bg, mg = result["errors"]["Bubnov-Galerkin, k = 3"], result["errors"]["mG(2)"]
    assert bg < 1e-4 and mg < 1e-3
    demo.print_table(result)
    assert "error of the rotation" in capsys.readouterr().out
    demo.plot(result, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").stat().st_size > 10000


def test_spinning_box(tmp_path):
    module = example("spinning_box")
    result = module.main(degrees=(1, 2, 3), n_elements=(50, 100, 200))
    for degree, order in result["orders"].items():
        assert order == pytest.approx(2 * degree, abs=0.3)
    module.plot(result, tmp_path / "box.png")
    assert (tmp_path / "box.png").stat().st_size > 10000


def test_physical_pendulum(tmp_path):
    module = example("physical_pendulum")
    result = module.main()
    assert result["force"][0] == pytest.approx([0, 0, 247.0847880299252], abs=1e-3)
    assert result["force"][-1] == pytest.approx([0, -1073.1964000910773, 1593.254259333553], rel=1e-4, abs=1e-6)
    module.plot(result, tmp_path / "pendulum.png")
    assert (tmp_path / "pendulum.png").stat().st_size > 10000


def test_double_pendulum_basins(tmp_path):
    module = example("double_pendulum_basins")
    result = module.main(n=9, t_end=2.0, n_elements=80)
    flip, c = result["flip"], np.cos(result["angles"])
    assert result["failed"] == 0 and np.isfinite(flip).sum() >= 8
    assert np.all(np.isnan(flip[2 * c[:, None] + c[None] > 1]))  # too little energy
    np.testing.assert_array_equal(flip, flip[::-1, ::-1])  # mirrored starts
    module.plot(result, tmp_path / "basins.png")
    assert (tmp_path / "basins.png").stat().st_size > 10000


def test_as_a_script(tmp_path):
    run = subprocess.run([sys.executable, EXAMPLES / "physical_pendulum.py", "--output", tmp_path / "new" / "folder"],
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "force at the start: 247.08" in run.stdout
    assert (tmp_path / "new" / "folder" / "physical_pendulum.png").exists()


def test_reorientation(tmp_path):
    module = example("reorientation")
    result = module.main(degree=3, n_elements=60)
    assert result["objective"] == pytest.approx(module.KNOWN, rel=1e-9)
    module.plot(result, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_swing_up(tmp_path):
    module = example("swing_up")
    result = module.main(n_elements=40)
    assert abs(result["bounded"]["torque"]).max() <= module.BOUND * (1 + 1e-6) < abs(result["free"]["torque"]).max()
    assert max(abs(result[name]["height"][-1] - 0.5) for name in ("free", "bounded")) < 1e-8
    module.plot(result, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_receding_horizon(tmp_path):
    module = example("receding_horizon")
    result = module.main(steps=50, iterations=3)
    assert np.abs(result["force"]).max() <= module.BOUND and result["iterations"].max() <= 3
    assert abs(result["angle"][-1]) < 0.05 and np.ptp(result["position"]) < 1.0
    module.plot(result, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_motor(tmp_path):
    module = example("motor")
    result = module.main(n_elements=100)
    works, change = result["works"], np.ptp(result["energy"][[0, -1]])
    assert result["balance"] < 1e-12 * works["battery"][-1] and np.abs(works["motor"]).max() < 1e-12
    assert works["battery"][-1] == pytest.approx(1145.0, rel=2e-3)
    assert sum(work[-1] for work in works.values()) == pytest.approx(change, rel=1e-12)
    ways = result["ways"].values()
    np.testing.assert_allclose(sum(ways), works["battery"], rtol=0, atol=1e-12 * works["battery"][-1])
    assert min(way.min() for way in ways) > -1e-12
    module.plot(result, tmp_path / "motor.png")
    assert (tmp_path / "motor.png").stat().st_size > 10000


# ---- the example of motion capture runs: the loop closes, the outliers are named, and the torque is that of the
# motion

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


# ---- the machines of the gallery give their numbers, are short, and have pictures

MACHINES = find_machines()
MOST_LINES = 60


@pytest.mark.parametrize("name", MACHINES)
def test_machine(name, tmp_path):
    facts = run_machine(MACHINES[name], tmp_path)
    assert facts["agrees"], facts
    assert (tmp_path / f"{MACHINES[name].stem}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", MACHINES)
def test_scripts_are_short_and_say_what_they_show(name):
    assert len(MACHINES[name].read_text().splitlines()) < MOST_LINES
    assert 30 < len(about(MACHINES[name])) < 250


def test_command_line(timefem, tmp_path):
    status, out, _ = timefem("gallery", "--json")
    assert status == 0 and list(json.loads(out)) == list(MACHINES)
    status, out, _ = timefem("gallery", "rope", "-o", tmp_path, "--json")
    facts = json.loads(out)["rope"]
    assert status == 0 and facts["agrees"] and abs(facts["number"] - facts["expected"]) <= facts["tolerance"]
    status, _, err = timefem("gallery", "rop")
    assert status and "did you mean 'rope'?" in err
