"""Which elements take trees in joint coordinates, with which order; the others say why not, and what would do."""

import numpy as np
import pytest

import timefem as tf
from timefem.elements.element import ELEMENTS

TAKEN = {"eml": (tf.EML(), 2), "reml": (tf.REML(), 2), "null-eml": (tf.NullEML(), 2), "mpl": (tf.MPL(), 2),
         "lagrange": (tf.MixedGalerkin(2, form="lagrange"), 4), "energy": (tf.MixedGalerkin(2, form="energy"), 4),
         "impulse": (tf.MixedGalerkin(2, form="impulse"), 4), "bg": (tf.BubnovGalerkin(2, form="impulse"), 2)}
REFUSED = sorted(ELEMENTS.keys() - TAKEN.keys() - {"mg"})
LINKS = [tf.Link("base"), tf.Link("a", mass=2.0, centre=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)),
         tf.Link("b", mass=1.0, centre=(0, 0.02, 0.2), inertia=(0.02, 0.02, 0.015))]
JOINTS = [tf.TreeJoint("s", "base", "a", axis=(0, 1, 0)), tf.TreeJoint("e", "a", "b", position=(0, 0, 0.6),
                                                                       axis=(0.6, 0.8, 0))]


def problem(loop):
    arm = tf.Tree(LINKS, JOINTS, name="arm")
    rod = [tf.RigidDistance(arm.link("b"), None, point_a=(0, 0, 0.3), point_b=(0.6, 0, 0.1), length=0.5)] * loop
    return tf.InitialValueProblem(tf.System([arm, *rod], gravity=(0, 0, -9.81)), {arm: {"s": (0.3, 1.0), "e": 0.9}},
                                  (0, 0.2), assemble=loop)


@pytest.mark.long
@pytest.mark.parametrize("loop", [False, True], ids=["open", "loop"])
@pytest.mark.parametrize("name", TAKEN)
def test_order(name, loop):
    element, order = TAKEN[name]
    if loop and name == "lagrange":
        with pytest.raises(tf.InputError, match=r"takes no constraints .*use form='impulse' or form='energy'"):
            tf.solve(problem(loop), element, 10, progress=False)
        return
    exact = tf.solve(problem(loop), tf.MixedGalerkin(3, form="energy"), 40, progress=False).z[-1][:2]
    driver = "global" if name == "bg" else "march"
    meshes, errors = np.array([10, 20, 40]), []
    for n in meshes:
        sol = tf.solve(problem(loop), element, int(n), driver=driver, progress=False)
        assert sol.success
        errors.append(np.abs(sol.z[-1][:2] - exact).max())
    slope = -np.polyfit(np.log(meshes), np.log(errors), 1)[0]
    assert order - 0.2 < slope < order + 0.3 and errors[-1] < {2: 1e-3, 4: 1e-7}[order]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(tf.InputError, match=r"arm.*varies with its joints.*use MixedGalerkin\(k, form='lagrange'\)"):
        tf.solve(problem(False), ELEMENTS[name](), 10, progress=False)


def test_a_form_that_is_given_is_not_replaced():
    """Without a form trees get the one that fits; Hamilton's, asked for, is refused."""
    assert tf.solve(problem(False), tf.MixedGalerkin(2), 4, progress=False).element.form == "lagrange"
    with pytest.raises(tf.InputError, match="form='lagrange'"):
        tf.solve(problem(False), tf.MixedGalerkin(2, form="hamilton"), 4, progress=False)


@pytest.mark.parametrize("kind, inertia", [("prismatic", 0.5), ("revolute", 0.1)])
@pytest.mark.parametrize("element", [tf.EML(), tf.REML(), tf.NullEML(), tf.MPL()], ids=repr)
def test_springs_of_joints_are_seen(element, kind, inertia):
    """A link from rest at zero, with its spring at ease at 0.1."""
    tree = tf.Tree([tf.Link("base"), tf.Link("link", 0.5, (0, 0, 0), (0.1, 0.12, 0.15))],
                   [tf.TreeJoint("joint", "base", "link", kind, axis=(1, 0, 0), stiffness=4.0, rest=0.1)])
    sol = tf.solve(tf.InitialValueProblem(tf.System([tree]), {tree: {}}, (0, 0.25)), element, 40, progress=False)
    right = 0.1 * (1 - np.cos(0.25 * np.sqrt(4.0 / inertia)))
    np.testing.assert_allclose(sol.z[-1][0], right, rtol=2e-3)
