"""Under mpirun: ranks that do not have the same problem. Argument: "compare", or how rank 1 goes astray."""

import sys

import casadi as ca
from mpi4py import MPI

import timefem as tf

comm = MPI.COMM_WORLD


def problem(mass=12.0, t_end=1.0, load=None, rotation="quaternion", speed=1.0):
    body = tf.RigidBody(mass, [3, 4, 5], rotation, name="box")
    force = tf.Force(body, [1, 0, 0], time=tf.Formula(load or (lambda t: ca.sin(t))))
    return tf.InitialValueProblem(tf.System([body, force]), {body: tf.Pose(angular_velocity=[speed, 2, 3])}, (0, t_end))


SAME = {"problem": {}, "element": tf.MixedGalerkin(1), "n_elements": 20,
        "arguments": {"driver": "global", "backend": "petsc"}}
DIFFERENT = {  # of rank 1
    "mass is 12 on rank 0 and 13 on rank 1": {"problem": {"mass": 13.0}},
    "t_span": {"problem": {"t_end": 1.1}},
    "forces": {"problem": {"load": lambda t: ca.sin(1.01 * t)}},
    "'box'.class is 'QuaternionBody' on rank 0 and 'DirectorBody'": {"problem": {"rotation": "directors"}},
    "z0": {"problem": {"speed": 1.001}},
    "n_elements is 20 on rank 0 and 21 on rank 1": {"n_elements": 21},
    "element.degree": {"element": tf.MixedGalerkin(2)},
    "element.class": {"element": tf.BubnovGalerkin(1)},
    "driver.class is 'Global' on rank 0 and 'Windows'": {"arguments": {"driver": "windows", "backend": "petsc"}},
    "newton": {"arguments": {**SAME["arguments"], "newton": tf.Newton(max_iterations=7)}},
    "scaling": {"arguments": {**SAME["arguments"], "scaling": "none"}},
    "gather": {"arguments": {**SAME["arguments"], "gather": False}},
}


def solve(**changes):
    found = SAME | changes
    return tf.solve(problem(**found["problem"]), found["element"], found["n_elements"], **found["arguments"])


def main(action):
    if action == "compare":
        assert solve().success
        for message, changes in DIFFERENT.items():
            try:
                solve(**(changes if comm.rank else {}))
            except tf.InputError as error:
                told = comm.allgather(str(error))
                assert len(set(told)) == 1 and message in told[0], told
            else:
                raise AssertionError(message)
        assert solve().success  # nothing is left of the others
        if comm.rank == 0:
            print(f"{len(DIFFERENT)} refused")
    elif comm.rank == 1:
        if action == "raise":
            raise ValueError("before the solve")
        if action == "serial":
            solve(arguments={})
    else:
        solve()


if __name__ == "__main__":
    main(*sys.argv[1:])
