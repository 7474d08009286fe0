"""Under mpirun: a fault on rank 1 alone. Arguments: the fault, the driver."""

import sys

from mpi4py import MPI

import timefem as tf
from timefem.assembly import Assembler
from timefem.solvers.equations.distributed import DistributedEquations
from timefem.solvers.linear.petsc import PETScSolver

FAULTS = {"raise": (Assembler, "evaluate", ValueError("boom")),
          "meet": (DistributedEquations, "norm", ValueError("boom")),
          "factor": (PETScSolver, "factor", tf.SolveError("no pivot"))}


def main(fault, driver):
    body = tf.RigidBody(2, [2, 3, 4], name="body")
    # not a number from t = 0.52 on, in element 10 of 20
    load = tf.Formula(lambda t: (0.52 - t) ** 0.5 if fault == "nan" else t)
    torque = tf.Torque(body, [1, 0, 0], time=load)
    problem = tf.InitialValueProblem(tf.System([body, torque]), {body: tf.Pose(angular_velocity=[0, 1, 0.3])}, (0, 1))
    if fault in FAULTS:
        cls, name, error = FAULTS[fault]
        method = getattr(cls, name)

        def spoilt(self, *arguments):
            if MPI.COMM_WORLD.rank == 1:
                raise error
            return method(self, *arguments)

        setattr(cls, name, spoilt)
    guess = "constant" if fault == "nan" else "march"
    solution = tf.solve(problem, tf.BubnovGalerkin(1), 20, driver=driver, backend="petsc", guess=guess,
                        window=20 if driver == "windows" else None)
    assert not solution.success
    if MPI.COMM_WORLD.rank == 0:
        print(solution.status.message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
