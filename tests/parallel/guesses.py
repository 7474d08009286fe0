"""Under mpirun: guesses do not show how many ranks there are, nor do the ways that lead from them."""

import numpy as np
from mpi4py import MPI

import timefem as tf
from timefem.cases import find_case
from timefem.problems.boundary.solver import BoundarySolver
from timefem.problems.initial import guess

comm = MPI.COMM_WORLD
seen = []


def falling(stiffness, dimension):
    """A body, or a particle, that falls on an elastic floor and slides, of which a coarse mesh sees little."""
    body = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="body") if dimension == 6 else tf.PointMass(1.0, dimension)
    floor = tf.PlaneContact(body, normal=(0, 0, 1), stiffness=stiffness, radius=0.1)
    motion = {"angular_velocity": (3, 2, 1)} if dimension == 6 else {}
    return tf.InitialValueProblem(tf.System([body, floor], gravity=(0, 0, -9.81)),
                                  {body: tf.Pose((0, 0, 1), velocity=(1, 0, 0), **motion)}, (0, 1.5))


def watched(module, name):
    """Note what a guess or a Newton iteration begins from."""
    original = getattr(module, name)

    def watch(*arguments):
        found = original(*arguments)
        if name == "initial_guess":
            found = list(found)
            seen.extend((e + i, *values) for e, *chunk in found for i, values in enumerate(zip(*chunk, strict=True)))
        else:
            seen.append((arguments[1].n_elements, arguments[2].copy()))
        return found

    setattr(module, name, watch)


def both(problem, element, n, **options):
    """Solved by one process and by all, and the guesses of both."""
    found = []
    for others in ({}, {"backend": "petsc"}):
        seen.clear()
        sol = tf.solve(problem, element, n, progress=False, **options, **others)
        found.append((sol, list(seen)))
    assert found[1][0].statistics["n_ranks"] == comm.size
    return found


def alike(here, shared, name):
    """The same guesses, iterations and solution."""
    (a, guesses), (b, others) = here, shared
    known = {key: values for key, *values in guesses}
    assert others, name
    for key, *values in others:
        for one, other in zip(values, known[key], strict=True):
            assert np.array_equal(one, other), f"{name}: {key}, {np.abs(one - other).max():.1e}"
    assert a.success and b.success, f"{name}: {a.status.message}, {b.status.message}"
    iterations = [sol.statistics["newton_iterations"]["max"] for sol in (a, b)]
    assert iterations[0] == iterations[1], f"{name}: {iterations}"
    assert np.abs(a.z - b.z).max() <= 1e-9 * np.abs(a.z).max(), name


def main():
    watched(guess, "initial_guess")
    n_done = 0
    for stiffness in (1e3, 1e4):
        for dimension in (3, 6):
            for n in (20, 80, 200):
                alike(*both(falling(stiffness, dimension), tf.MixedGalerkin(2), n, driver="global"),
                      f"{stiffness:g}, {dimension}, {n}")
                n_done += 1
    watched(BoundarySolver, "newton")
    for name in ("pendulum-boundary", "reorientation", "four-bar-boundary"):
        first, second = both(find_case(name).make(), tf.MixedGalerkin(2), 150)
        # from the coarse solution on, that of one process
        assert [key for key, _ in first[1]] == [key for key, _ in second[1]]
        alike(first, second, name)
        n_done += 1
    if comm.rank == 0:
        print(f"{n_done} alike")


if __name__ == "__main__":
    main()
