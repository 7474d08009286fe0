"""`coordinates = "joint"` of a model file: the same motions, in the coordinates of joints."""

from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

MODELS = Path(__file__).parents[2] / "examples" / "models"


def in_joints(tmp_path, name, *replaced):
    text = (MODELS / f"{name}.toml").read_text()
    for before, after in replaced:
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / f"{name}.toml"
    path.write_text('coordinates = "joint"\n' + text)
    return load_model(path)


@pytest.mark.parametrize(("name", "n_q", "n_constraints", "apart"), [
    ("double_pendulum", 2, 0, 5e-5), ("heavy_top", 7, 3, 2e-9), ("slider_crank", 9, 7, 5e-5),
    ("four_bar", 19, 3, 1e-12), ("andrews_squeezer", 7, 15, 5e-9), ("pendulum_boundary", 1, 0, 5e-7),
    ("crane_inverse", 5, 3, 2e-6), ("reorientation_effort", 7, 0, 1e-12)])
def test_the_same_motion(tmp_path, name, n_q, n_constraints, apart):
    small, whole = in_joints(tmp_path, name), load_model(MODELS / f"{name}.toml")
    assert (small.system.n_q, small.system.n_constraints) == (n_q, n_constraints)
    a, b = whole.solve(progress=False), small.solve(progress=False)
    assert a.success and b.success
    t = np.linspace(*whole.t_span, 21)
    for body in (body for body in whole.system.bodies if not body.helper):
        np.testing.assert_allclose(b.position(body.name, t), a.position(body, t), rtol=0, atol=apart)


def test_poses_that_joints_do_not_allow_are_told_by_their_line(tmp_path):
    with pytest.raises(tf.InputError, match=r"double_pendulum.toml.*tree.bar2: its position is 0.1 off what its joint "
                                            "'elbow' allows"):
        in_joints(tmp_path, "double_pendulum", ("position = [0, 1.5, 0]", "position = [0, 1.6, 0]"))
