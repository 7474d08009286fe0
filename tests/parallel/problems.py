"""Under mpirun: boundary values, inverse dynamics and optimal control shared among ranks, against one process."""

import sys

import numpy as np
from mpi4py import MPI

import timefem as tf
from timefem.cases import find_case

comm = MPI.COMM_WORLD


def free_time():
    """A slider pushed from rest to rest, at a price for effort and time."""
    body = tf.PointMass(2.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    end = {body: tf.EndState(position=[3, None, None], velocity=[0, None, None])}
    cost = [tf.Effort(push), tf.Cost(lambda u, q, v, t: 5.0, name="time")]
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 3.0), actuators=push, free_time=True,
                             cost=cost)


PROBLEMS = [  # problem, element, number of elements
    (find_case("pendulum-boundary").make, tf.MixedGalerkin(2), 21),
    (find_case("pendulum-boundary").make, tf.BubnovGalerkin(1), 21),
    (find_case("reorientation").make, tf.BubnovGalerkin(2, "continuous"), 17),
    (find_case("pendulum-periodic").make, tf.MixedGalerkin(2), 22),
    (find_case("four-bar-boundary").make, tf.EML(), 40),
    (find_case("elastic-arm").make, tf.MixedGalerkin(2), 13),
    (find_case("trolley-crane").make, tf.MixedGalerkin(1), 40),
    (find_case("reorientation-effort").make, tf.MixedGalerkin(1), 101),
    (free_time, tf.MixedGalerkin(2), 70),
]


def main():
    for i, (make, element, n) in enumerate(PROBLEMS):
        problem = make()
        here = tf.solve(problem, element, n)
        shared = tf.solve(problem, element, n, backend="petsc", method=("mumps", "chain")[i % 2])
        name = f"{make.__name__}, {element}, {comm.size} ranks"
        assert here.success and shared.success, f"{name}: {here.status.message}, {shared.status.message}"
        assert shared.statistics["n_ranks"] == comm.size
        for which, values in {"state": here.nodal.state, **here.fields}.items():
            other = shared.nodal.state if which == "state" else shared.fields[which]
            difference = np.abs(other - values).max() / max(1.0, np.abs(values).max())
            assert difference < 1e-8, f"{name}: {which}: {difference:.1e}"
        if "objective" in here.statistics:
            assert abs(shared.objective / here.objective - 1) < 1e-10, name
    if comm.rank == 0:
        print(f"{len(PROBLEMS)} agree")


if __name__ == "__main__":
    sys.exit(main())
