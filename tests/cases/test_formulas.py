"""Cases given by formulas reach their reference motions; options that they have no use for are refused."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import reference
from timefem.cases import CASES


@pytest.mark.parametrize("name, n_elements", [("mass-spring", 200), ("spring-pendulum", 100)])
def test_reference_motion_is_reached(name, n_elements):
    problem = CASES[name].make()
    data = reference(name.replace("-", "_"))
    states = [s for s in data["states"] if s["t"] <= problem.t_span[1]]
    assert len(states) > 4
    sol = tf.solve(problem, tf.MixedGalerkin(4), n_elements)
    t = [s["t"] for s in states]
    np.testing.assert_allclose(sol.coordinates(None, t), [s["q"] for s in states], rtol=0, atol=1e-10)
    np.testing.assert_allclose(sol.velocity(None, t), [s["v"] for s in states], rtol=0, atol=1e-10)
    np.testing.assert_allclose(sol.energy(), data["invariants"]["E"], rtol=0, atol=1e-12)
    assert max(sol.errors().values()) < 1e-12


@pytest.mark.parametrize("option", [{"rotation": "directors"}, {"inverse_mass": "exact"}])
def test_options_without_use_are_refused(option):
    for name, case in CASES.items():
        if not case.has_rotation:
            with pytest.raises(tf.InputError, match=f"case {name} has no rigid .* no use for {next(iter(option))}"):
                case.make(**option)


def test_options_are_passed_on():
    for rotation in ("quaternion", "directors"):
        bodies = CASES["bricard"].make(rotation=rotation).system.bodies
        assert {body.rotation for body in bodies} == {rotation}
    body, = CASES["free-body"].make(inverse_mass="exact").system.bodies
    assert body.inverse_mass == "exact"
