"""Elements for which Newton's method fails are halved and tried again."""

import casadi
import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.problems.initial import march_driver

pytestmark = pytest.mark.long


@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
@pytest.mark.parametrize("degree, n, most", [(2, 16, 1.0), (2, 32, 1.0), (3, 16, 0.02), (3, 24, 0.1), (3, 32, 0.02)])
def test_the_heavy_top_with_few_elements(degree, n, most):
    """23 turns in a second: too many for Newton's method in 16 to 32 elements."""
    top, element = find_case("heavy-top").make(), tf.MixedGalerkin(degree)
    assert not tf.solve(top, element, n, driver=tf.March(keep_mesh=True)).success
    found = tf.solve(top, element, n)
    assert found.success and f"of {n} elements were halved" in found.status.message
    assert set(np.linspace(0, 1, n + 1)) <= set(found.t) and found.statistics["n_elements"] == len(found.t) - 1 > n
    fine = tf.solve(top, tf.MixedGalerkin(3), 2000)
    assert np.abs(found.z[-1] - fine.z[-1]).max() < most
    # the same elements from the outset; what Newton's method does in a long one may depend on rounding
    same = tf.solve(top, element, mesh=found.t, newton=tf.Newton(line_search=True))
    np.testing.assert_allclose(found.z, same.z, rtol=0, atol=1e-9)


def test_nothing_changes_where_none_fails():
    top = find_case("heavy-top").make()
    a, b = (tf.solve(top, tf.MixedGalerkin(2), 200, driver=tf.March(keep_mesh=keep)) for keep in (False, True))
    np.testing.assert_array_equal(a.nodal.state, b.nodal.state)
    assert a.status.message == "converged"


def test_what_no_halving_mends():
    """The load is not real after t = 0.5, where nothing helps: the march ends before that element, as without."""
    bead = tf.PointMass(1.0, name="bead")
    push = tf.Force(bead, lambda t: (casadi.sqrt(0.5 - t), 0, 0), name="push")
    problem = tf.InitialValueProblem(tf.System([bead, push]), {}, (0, 1))
    a, b = (tf.solve(problem, tf.MixedGalerkin(1), 7, driver=tf.March(keep_mesh=keep)) for keep in (False, True))
    assert not a.success and a.status.element == b.status.element == 3 and len(a.t) == len(b.t) == 4
    assert "its halves fail as well" in a.status.message
    np.testing.assert_array_equal(a.z, b.z)


def test_a_checkpoint_of_a_halved_march(tmp_path):
    top, element = find_case("heavy-top").make(), tf.MixedGalerkin(3)
    path = tmp_path / "top.h5"
    whole = tf.solve(top, element, 16, checkpoint=tf.Checkpoint(path, every=5))
    assert whole.success and path.exists()
    again = tf.solve(top, element, 16, checkpoint=tf.Checkpoint(restart=path))
    np.testing.assert_allclose(again.z[-1], whole.z[-1], rtol=0, atol=1e-8)


@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
def test_progress_counts_the_elements_that_there_are(monkeypatch):
    bars, own = [], march_driver.progress
    monkeypatch.setattr(march_driver, "progress", lambda *a: bars.append(own(a[0], a[1], True)) or bars[-1])
    found = tf.solve(find_case("heavy-top").make(), tf.MixedGalerkin(3), 24)
    assert bars[0].done == bars[0].total == len(found.t) - 1


def test_a_stop_where_an_element_fails(monkeypatch):
    """Each chunk of this march ends with an element that fails: a signal must end it all the same."""
    asked = []
    monkeypatch.setattr("timefem.problems.task.interrupts.asked", lambda: asked.append(1) or (
        15 if len(asked) > 2 else None))
    found = tf.solve(find_case("heavy-top").make(), tf.MixedGalerkin(2), 16)
    assert found.status.reason == "stopped" and 0 < len(found.t) - 1 < 16 and len(asked) == 3


@pytest.mark.parametrize("rate, strength, end, n, element", [
    (8.0, 20.0, 4.0, 20, tf.MixedGalerkin(1)), (11.0, 0.05, 4.0, 20, tf.MixedGalerkin(1)),
    (5.0, 1.0, 8.0, 20, tf.MixedGalerkin(1)), (9.0, 20.0, 8.0, 20, tf.MixedGalerkin(1))])
def test_an_element_that_ends_deep_in_a_wall(rate, strength, end, n, element):
    """From so far in the wall no element goes on, however short: the one before it is halved."""
    arm = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1, centre=(0.5, 0, 0), inertia=(0, 0.1, 0.1))],
                  [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0))], name="arm")
    wall = tf.FormulaEnergy(arm, lambda f, t, c: c[0] * casadi.exp(60 * (f[0].q[0] - 1)) / 60, parameters=[strength])
    problem = tf.InitialValueProblem(tf.System([arm, wall]), {arm: {"hinge": (0.0, rate)}}, (0, end))
    with pytest.warns(tf.UnderResolved, match="gained or lost"):
        found = tf.solve(problem, element, n)
    assert found.success and "elements were halved" in found.status.message, found.status.message
    assert set(np.linspace(0, end, n + 1)) <= set(found.t) and found.statistics["n_elements"] == len(found.t) - 1 > n
    same = tf.solve(problem, element, mesh=found.t, driver=tf.March(keep_mesh=True))
    assert same.success
    np.testing.assert_allclose(found.z, same.z, rtol=0, atol=1e-6)
