"""Under mpirun: phases that share their factorisation, against one process."""

import numpy as np
from mpi4py import MPI

import timefem as tf
from timefem.cases import find_case

comm = MPI.COMM_WORLD
SIZES = {"hopping-by-phases": 40, "bounce-by-phases": 35}  # elements of each phase


def main():
    for name, n in SIZES.items():
        problem = find_case(name).make()
        element = tf.MixedGalerkin(2, n_points=2)
        here = tf.solve(problem, element, n, progress=False)
        shared = tf.solve(problem, element, n, backend="petsc", progress=False)
        assert here.success and shared.success, f"{name}: {here.status}, {shared.status}"
        assert shared.statistics["n_ranks"] == comm.size and here.statistics["n_ranks"] == 1
        assert abs(shared.objective - here.objective) <= 1e-8 * max(1.0, abs(here.objective)), name
        for one, other in zip(here.phases, shared.phases, strict=True):
            difference = np.abs(one.z - other.z).max() / max(1.0, np.abs(one.z).max())
            assert difference < 1e-8, f"{name}: {difference:.1e}"
    if comm.rank == 0:
        print(f"{len(SIZES)} agree")


if __name__ == "__main__":
    main()
