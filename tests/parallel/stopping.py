"""Under mpirun: a solve that SIGTERM stops, or its restart. Arguments: driver, file, "stop" or "restart"."""

import os
import signal
import sys

import numpy as np
from mpi4py import MPI

import timefem as tf
from tests.example_systems import spinning_box
from timefem.problems.initial.checkpoint import Checkpoint, Recorder

comm = MPI.COMM_WORLD


def main(driver, path, action):
    problem, element, n = spinning_box(t_end=1), tf.BubnovGalerkin(2, "continuous"), 31
    arguments = {"driver": driver, "window": 7 if driver == "windows" else None}
    shared = {**arguments, "backend": "petsc", "gather": driver == "global"}
    whole = tf.solve(problem, element, n, **arguments)
    if action == "stop":
        visit, visits = Recorder.visit, []

        def counted(self, *arguments):
            visits.append(1)
            if len(visits) == (2 if driver == "global" else 8) and comm.rank == comm.size - 1:
                os.kill(os.getpid(), signal.SIGTERM)  # of one rank alone
            return visit(self, *arguments)

        Recorder.visit = counted
        solution = tf.solve(problem, element, n, **shared, checkpoint=path)
        assert solution.status.reason == "stopped", solution.status
        n_solved = comm.bcast(Checkpoint(path).n_solved if comm.rank == 0 else None)
        assert n_solved == (0 if driver == "global" else 14)
    else:
        for solution in (tf.restart(path, backend="petsc"), tf.solve(problem, element, n, **shared, restart=path)):
            assert solution.success
            if hasattr(solution, "gather"):
                solution = solution.gather()
            assert np.abs(solution.nodal.state - whole.nodal.state).max() < 1e-9 * np.abs(whole.nodal.state).max()
    if comm.rank == 0:
        print(action, "done")


if __name__ == "__main__":
    main(*sys.argv[1:])
