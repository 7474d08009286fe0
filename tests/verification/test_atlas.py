"""Each entry of the atlas is a test; and what compares them can fail."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import timefem as tf
from timefem.cli import app, main
from timefem.verification import ENTRIES, Entry, find_entries, newton_euler, run_entry, write_page
from timefem.verification.newton_euler import (
    COUNT,
    KINDS,
    T_END,
    Mechanism,
    State,
    compare,
    compare_with_newton_euler,
    drawn,
)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if e.minutes else ())
                                  for name, e in ENTRIES.items()])
def test_entry(name):
    outcome = run_entry(ENTRIES[name])
    assert outcome.agrees, outcome
    assert outcome.n_numbers and outcome.worst and np.isfinite(outcome.difference)


@pytest.mark.parametrize("theirs, ours, difference", [
    ([1.0, 2.0], [1.0, 2.5], 0.25), ([0.0], [0.5], 0.5), ([1.0], [np.nan], np.nan), ([1.0, 1.0], [1.0, 1.0], 0.0)])
def test_comparison(theirs, ours, difference):
    outcome = run_entry(Entry("own", "", "", 1e-3, lambda: {"same": (1.0, 1.0), "a": (theirs, ours)}))
    np.testing.assert_equal(outcome.difference, difference)
    assert outcome.agrees == (difference == 0.0)
    if outcome.agrees:
        assert outcome.n_numbers == 3
    else:
        assert (outcome.worst, outcome.n_numbers) == ("a", 1 + len(theirs))


def test_names():
    assert [e.name for e in find_entries("random")] == [f"random-{i}" for i in range(0, COUNT, 5)]
    assert len(find_entries("all")) == len(ENTRIES) >= 23
    with pytest.raises(tf.InputError, match="did you mean 'test-set-andrews'"):
        find_entries("test-set-andrew")


def test_command(tmp_path, capsys):
    assert main(["verify", "library-free-body", "--json", "--page", str(tmp_path / "a.md")]) == 0
    facts = json.loads(capsys.readouterr().out)["library-free-body"]
    assert facts["agrees"] and facts["difference"] < 1e-9
    page = (tmp_path / "a.md").read_text()
    assert "1 of 1 entries agree" in page and "timefem verify library-free-body" in page
    wrong = run_entry(Entry("own", "wrong", "nobody", 1e-3, lambda: {"a": (1.0, 2.0)}))
    write_page([wrong], tmp_path / "b.md")
    assert "**does not agree**" in (tmp_path / "b.md").read_text()


def test_a_difference_fails_the_command(monkeypatch, capsys):
    monkeypatch.setitem(ENTRIES, "own", Entry("own", "wrong", "nobody", 1e-3, lambda: {"a": (1.0, 2.0)}))
    assert main(["verify", "own"]) == 1
    assert "1 of 1 entries do not agree: own" in capsys.readouterr().err


# ---- the equations of their own

def test_newton_euler_of_a_pendulum_in_closed_form():
    """A rod on a hinge, released from the horizontal: the rate at a later angle by the energy."""
    length, mass, inertia = 1.0, 2.0, np.array([0.01, 2.0 / 12, 2.0 / 12])
    hinge = ([((0, [-0.5, 0, 0]), (None, [0, 0, 0]))], [(("direction", 0, [0, 1, 0]), ("direction", None, u))
                                                       for u in ([1, 0, 0], [0, 0, 1])], [])
    y = np.zeros((1, 13))
    y[0, 0], y[0, 3] = length / 2, 1.0
    end = Mechanism([mass], [inertia], [hinge], [], [0, 0, -9.81]).solve(y, 0.4)[0]
    drop = -end[2]
    assert drop > 0.3
    about_hinge = inertia[1] + mass * length**2 / 4
    assert abs(about_hinge * end[11] ** 2 / 2 - mass * 9.81 * drop) < 1e-9
    assert abs(np.hypot(end[0], end[2]) - 0.5) < 1e-10


def test_newton_euler_derivatives_against_differences():
    """`J v` is the rate of what `J a + c` is the second derivative of, for all joints at once."""
    _, _, mechanism, y = drawn(3)
    step = 1e-5

    def moved(t):
        y1 = mechanism.solve(y, t) if t > 0 else y
        s = State(y1.ravel())
        return mechanism.constraints(s)[0] @ s.velocity

    assert np.abs(moved(0.0)).max() < 1e-12
    assert np.abs(moved(step)).max() < 1e-11  # velocities keep to the constraints, as accelerations do


@pytest.mark.long
@pytest.mark.parametrize("compared, number", [(compare, 2), (compare, 14), (compare_with_newton_euler, 2)])
def test_a_random_mechanism(compared, number):
    for quantity, (theirs, ours) in compared(number).items():
        assert np.abs(theirs - ours).max() < 1e-9, quantity


def test_numbers_of_pinocchio_belong_to_the_mechanisms_drawn():
    """Rods and joints hold at the ends that are kept, and the file has all mechanisms at the time that is asked."""
    kept = json.loads((Path(newton_euler.__file__).parent / "pinocchio.json").read_text())
    assert kept["t"] == T_END and len(kept["ends"]) == COUNT
    for number in range(0, COUNT, 5):
        _, _, mechanism, y = drawn(number)
        end = kept["ends"][number]
        turned = np.roll(Rotation.from_matrix(end["rotations"]).as_quat(), 1, axis=1)
        z = np.hstack([end["places"], turned, end["velocities"], end["angular velocities"]])
        jacobian, _ = mechanism.constraints(State(z.ravel()))
        assert np.abs(jacobian @ z[:, 7:].ravel()).max() < 1e-9
        assert not np.allclose(z[:, :3], y[:, :3], rtol=0, atol=1e-3)


def test_all_joints_occur():
    found = set()
    for number in range(12):
        system, *_ = drawn(number)
        found |= {type(part).__name__ for part in system.parts}
    assert {"Spherical", "Revolute", "Universal", "Cylindrical", "Prismatic", "Planar", "Weld", "RigidDistance",
            "Spring", "Damper"} <= found
    assert len(KINDS) == 8


def test_help():
    assert "verify" in CliRunner().invoke(app, ["--help"]).output
