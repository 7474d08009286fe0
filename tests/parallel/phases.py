"""Under mpirun: phases whose elements the ranks share, against one process."""

import numpy as np
from mpi4py import MPI

import timefem as tf
from timefem.cases import find_case
from timefem.problems.phases.kind import SharedPhases

comm = MPI.COMM_WORLD
ELEMENT = tf.MixedGalerkin(2, n_points=2)
SPLITS = [24, 24, 24], [70, 1, 2], [1, 35, 36], [36, 1, 36]  # with cuts inside of phases, between them, and near both


def ball(start, end):
    """Pushed at a cost, with limits of the rate of the force and of its integral."""
    body = tf.PointMass(1.0, dimension=1, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    return tf.OptimalControl(tf.System([body, tf.Force(body, (-9.81, 0, 0))]), {body: start}, {body: end}, (0, 0.5),
                             tf.Effort(push), free_time=True, bounds={"duration": (0.01, 5)}, rates={push: (-20, 20)},
                             limits=tf.Limit("now.control('push')**2", upper=30, at="integral", name="fuel"))


def state(x=None, v=None):
    return tf.EndState(position=[x, None, None], velocity=[v, None, None])


def cycle():
    """A bounce to above 1 m and back to the same height, the way up in two phases."""
    bounce = tf.Coupling("after.rates('ball') + 0.8 * before.rates('ball')", name="bounce")
    ties = [tf.Coupling("end.q('ball') - start.q('ball')"), tf.Coupling("start.q('ball')", 1.0, None)]
    return tf.Phases([ball(state(v=0), state(0)), ball(state(0), state(0.3)), ball(tf.EndState(), state(v=0))],
                     [bounce, None], ties)


def problems():
    for name, n in {"hopping-by-phases": 40, "bounce-by-phases": 35}.items():  # elements of each phase
        yield name, find_case(name).make(), n
    for split in SPLITS:
        yield f"a cycle on {split} elements", cycle(), split


def main():
    evaluated, chains = [], SharedPhases.chains
    SharedPhases.chains = lambda self: evaluated.append(chains(self)) or chains(self)
    for name, problem, n in problems():
        here = tf.solve(problem, ELEMENT, n, progress=False)
        shared = tf.solve(problem, ELEMENT, n, backend="petsc", progress=False)
        assert here.success and shared.success, f"{name}: {here.status}, {shared.status}"
        assert shared.statistics["n_ranks"] == comm.size and here.statistics["n_ranks"] == 1
        assert shared.statistics["n_unknowns"] == here.statistics["n_unknowns"], name
        assert abs(shared.objective - here.objective) <= 1e-8 * max(1.0, abs(here.objective)), name
        for one, other in zip(here.phases, shared.phases, strict=True):
            difference = np.abs(one.z - other.z).max() / max(1.0, np.abs(one.z).max())
            # though rows of a slab in flight depend on each other once the state at its left end is given
            assert difference < 1e-8, f"{name}: {difference:.1e}"
            np.testing.assert_allclose(one.t, other.t, rtol=0, atol=1e-8)
        own, total = sum(chain.mesh.n_elements for chain in evaluated[-1].values()), here.statistics["n_elements"]
        assert own <= 1.25 * total / comm.size + 3, f"{name}: rank {comm.rank} evaluates {own} of {total} elements"
    if comm.rank == 0:
        print(f"{len(evaluated)} agree")


if __name__ == "__main__":
    main()
