"""A distributed solve that is stopped goes on, with the same answer, on another number of ranks."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import spinning_box
from tests.parallel.launch import mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.long]


@pytest.mark.parametrize("driver", ["global", "windows"])
def test_restart_on_other_numbers_of_ranks(driver, tmp_path):
    path = tmp_path / "run.h5"
    for n_ranks, action in ((3, "stop"), (2, "restart")):
        run = mpirun(n_ranks, "-m", "tests.parallel.stopping", driver, path, action)
        assert (run.returncode, run.stdout) == (0, f"{action} done\n"), run.stderr
    window = {"window": 7} if driver == "windows" else {}
    whole = tf.solve(spinning_box(t_end=1), tf.BubnovGalerkin(2, "continuous"), 31, driver=driver, **window)
    alone = tf.restart(path)
    size = np.abs(whole.nodal_state).max()
    np.testing.assert_allclose(alone.nodal_state, whole.nodal_state, rtol=0, atol=1e-9 * size)
