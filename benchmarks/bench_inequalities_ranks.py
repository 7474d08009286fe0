"""Optimal control with bounds on several ranks: seconds of work of each rank, waiting left out, and of the wall.

On a machine that does other work too, ranks wait for each other whenever one of them does not run; the processor time
outside of communication tells what they would need if none did. Medians over some solves in one process, of whole
solves and of one iteration on the finest mesh; the first solve is not counted. With --real-time nothing else runs on
the cores of the ranks while they solve (as root, on Linux), so that the wall tells something on such a machine, too.

    mpirun -n 1 python benchmarks/bench_inequalities_ranks.py cart-pole-limited 10000 [--real-time]
    mpirun -n 2 python benchmarks/bench_inequalities_ranks.py cart-pole-limited 10000 [--real-time]
"""

import argparse
import resource
import time

import numpy as np
from bench_parallel import real_time
from mpi4py import MPI

import timefem as tf
from timefem.cases import CASES
from timefem.problems.optimal.strategies import mesh_sequence

ELEMENT = tf.MixedGalerkin(2, n_points=2)


class Timed:
    """A communicator that counts its calls and the processor time in them."""

    def __init__(self, comm):
        self.comm, self.rank, self.size, self.seconds, self.calls = comm, comm.rank, comm.size, 0.0, 0

    def __getattr__(self, name):
        function = getattr(self.comm, name)

        def timed(*arguments, **options):
            start = time.process_time()
            out = function(*arguments, **options)
            self.seconds, self.calls = self.seconds + time.process_time() - start, self.calls + 1
            return out
        return timed


def main(name, n, undisturbed=False, repeats=5):
    world = MPI.COMM_WORLD
    comm = Timed(world.Dup())
    if world.size > 1:
        mesh_sequence.own_world = lambda: comm
    options = {"backend": "petsc"} if world.size > 1 else {}

    def work():
        return time.process_time() - comm.seconds

    in_turn, last, runs = mesh_sequence.solve_in_stages, [], []

    def timed(*arguments):
        start = work()
        answer = in_turn(*arguments)
        last[:] = [(work() - start) / answer.iterations]
        return answer

    mesh_sequence.solve_in_stages = timed
    for _ in range(repeats + 1):
        problem, comm.calls = CASES[name].make(), 0
        world.Barrier()
        if undisturbed:
            real_time(True)
        wall, start = time.perf_counter(), work()
        sol = tf.solve(problem, ELEMENT, n, progress=False, **options)
        runs.append((work() - start, *last, time.perf_counter() - wall))
        if undisturbed:
            real_time(False)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    for rank, row in enumerate(world.allgather((*np.median(runs[1:], axis=0), comm.calls, memory))):
        if world.rank == 0:
            print("rank {}: {:.3f} s of work, {:.4f} s in one iteration on the finest mesh, {:.2f} s of wall, "
                  "{} messages, {:.2f} GB".format(rank, *row))
    if world.rank == 0:
        print(f"{sol.status.message}, objective {sol.objective!r}, "
              f"{sol.statistics['newton_iterations']['max']} iterations, {sol.statistics['n_unknowns']} unknowns")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", default="cart-pole-limited")
    parser.add_argument("n_elements", nargs="?", type=int, default=10000)
    parser.add_argument("--real-time", action="store_true")
    given = parser.parse_args()
    main(given.case, given.n_elements, given.real_time)
