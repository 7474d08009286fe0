"""Names that methods of solutions had in a release: they give the same, and warn of the line that has them."""

from operator import attrgetter

import numpy as np
import pytest

import timefem as tf


@pytest.fixture(scope="module")
def sol():
    body = tf.RigidBody(1.0, (1, 2, 3), name="box")
    pose = tf.Pose(position=(1, 0, 0), velocity=(0, 1, 0), angular_velocity=(1, 2, 3))
    system = tf.System([body, tf.Force(body, (0, 0, 1), name="push")], gravity=(0, 0, -9.81))
    return tf.solve(tf.InitialValueProblem(system, {body: pose}, (0, 1)), tf.MixedGalerkin(2), 10, progress=False)


@pytest.mark.parametrize("earlier, now, arguments", [
    ("energy_balance", "energy.balance", [0.3]), ("work", "energy.work", []), ("power", "energy.power", [0.3]),
    ("energies", "energy.of", ["box"]), ("nodal_state", "nodal.state", None),
    ("nodal_multipliers", "nodal.multipliers", None)])
def test_earlier_names(sol, earlier, now, arguments):
    with pytest.warns(DeprecationWarning, match=rf"Solution\.{earlier} is deprecated .*; use {now}$") as warned:
        was = getattr(sol, earlier)
    assert warned[0].filename == __file__
    is_now = attrgetter(now)(sol)
    if arguments is not None:
        was, is_now = was(*arguments), is_now(*arguments)
    np.testing.assert_equal(was, is_now)
    assert np.size(was)


def test_earlier_names_of_what_the_element_lacks(sol):
    for name, arguments in (("costates", [0.5]), ("generalized_energy", [])):
        with pytest.warns(DeprecationWarning), pytest.raises(tf.InputError, match="has no field"):
            getattr(sol, name)(*arguments)


def test_earlier_drift_of_momenta(sol):
    with pytest.warns(DeprecationWarning, match=r"momentum_drift is deprecated .*; use angular_momentum\(\)"):
        found = sol.momentum_drift(axes=(1,))
    momentum = sol.angular_momentum()[:, 1]
    assert found == np.abs(momentum - momentum[0]).max() > 1


def test_earlier_page(sol, tmp_path):
    sol.save(tmp_path / "motion.html", title="box")
    for arguments in ([tmp_path / "earlier.html"], []):
        with pytest.warns(DeprecationWarning, match=r'save_html is deprecated .*; use save\("page\.html"\) or plot'):
            page = sol.save_html(*arguments, title="box")
    assert page.text == (tmp_path / "earlier.html").read_text() == (tmp_path / "motion.html").read_text()
