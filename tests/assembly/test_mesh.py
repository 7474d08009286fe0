import numpy as np
import pytest

import timefem as tf


def test_uniform():
    mesh = tf.TimeMesh.uniform((1, 3), 4)
    np.testing.assert_allclose(mesh.nodes, [1, 1.5, 2, 2.5, 3], rtol=0, atol=1e-15)
    np.testing.assert_allclose(mesh.lengths, 0.5, rtol=0, atol=1e-15)


def test_locate():
    mesh = tf.TimeMesh([0, 1, 3])
    e, xi = mesh.locate([0, 0.25, 1, 2, 3])
    assert e.tolist() == [0, 0, 1, 1, 1]
    np.testing.assert_allclose(xi, [0, 0.25, 0, 0.5, 1], rtol=0, atol=1e-15)
    with pytest.raises(tf.InputError, match="outside"):
        mesh.locate(3.1)


@pytest.mark.parametrize("nodes, message", [([0], "two nodes"), ([0, 1, 1], "node 2 at 1 does not come after 1"),
                                            ([0, np.nan], "finite"), ([[0, 1]], "shape"), ("abc", "array of numbers")])
def test_bad_input(nodes, message):
    with pytest.raises(tf.InputError, match=message):
        tf.TimeMesh(nodes)


@pytest.mark.parametrize("n_elements", [0, -1, 2.5, None])
def test_bad_number(n_elements):
    with pytest.raises(tf.InputError, match="n_elements"):
        tf.TimeMesh.uniform((0, 1), n_elements)
