"""Under mpirun: sensitivities and condition numbers on all ranks are those of one process."""

import numpy as np

import timefem as tf
from timefem.studies import conditioning

FUNCTIONALS = [tf.EndValue(lambda bodies, t: bodies[0].position[1]),
               tf.Integral(lambda bodies, t: bodies[0].position[2] ** 2)]
SUPERLU_DIST = {"pc_factor_mat_solver_type": "superlu_dist", "mat_superlu_dist_replacetinypivot": True}
PETSC_OPTIONS = {"-timefem_ksp_type": "gmres", "-timefem_ksp_rtol": 1e-13, "-timefem_pc_type": "python"}


def hinged():
    """A crate on a spherical joint and a spring, pushed aside."""
    crate = tf.RigidBody(2.0, [0.3, 0.4, 0.5], name="crate")
    parts = [crate, tf.Spherical(crate, point_a=(0, 0, 0.5), point_b=(0, 0, 0)),
             tf.Spring(crate, point_a=(0, 0, -0.5), point_b=(1, 0, -1), stiffness=20, length=0.5, name="spring"),
             tf.Force(crate, (0.3, 1, 0), time=tf.Sine(2.0, 1.0), name="force")]
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {crate: tf.Pose(position=(0, 0, -0.5))},
                                  (0, 0.6))


def parameters(problem):
    return [tf.Parameter("crate", "mass"), tf.Parameter("crate", "inertia", 0), tf.Parameter("spring", "stiffness"),
            tf.Parameter("force", "time.amplitude"), tf.Initial("crate", "angular_velocity", 0)]


def main():
    from mpi4py import MPI

    comm, n, problem = MPI.COMM_WORLD, 0, hinged()
    solution = tf.solve(problem, tf.MixedGalerkin(2), 15, progress=False)
    chosen = parameters(problem)
    here = tf.Linearization(solution)
    gradient, every = tf.gradient(here, FUNCTIONALS[0], chosen), tf.sensitivities(here, FUNCTIONALS, chosen)
    condition = {norm: conditioning(problem, tf.BubnovGalerkin(2), 15, scaling="full", norm=norm).condition
                 for norm in (1, 2)}
    for linear in (tf.PETSc(), tf.PETSc(method="substructuring"), tf.PETSc(PETSC_OPTIONS)):
        at = tf.Linearization(solution, linear)
        assert at.equations.comm.size == comm.size
        np.testing.assert_allclose(tf.gradient(at, FUNCTIONALS[0], chosen), gradient, rtol=1e-8, atol=0)
        np.testing.assert_allclose(tf.sensitivities(at, FUNCTIONALS, chosen), every, rtol=1e-8,
                                   atol=1e-12 * np.abs(every).max())
        n += 2
        if linear.method or not linear.options:
            for norm, expected in condition.items():
                found = conditioning(problem, tf.BubnovGalerkin(2), 15, scaling="full", norm=norm, linear=linear)
                np.testing.assert_allclose(found.condition, expected, rtol=1e-8, atol=0)
            n += 1
    at = tf.Linearization(solution, tf.PETSc(SUPERLU_DIST))
    try:
        tf.gradient(at, FUNCTIONALS[0], chosen)
    except tf.InputError as error:
        assert "superlu_dist has no transposed solves" in str(error), error
        n += 1
    assert len(set(comm.allgather(gradient.tobytes()))) == 1
    if comm.rank == 0:
        print(f"{n} agree")


if __name__ == "__main__":
    main()
