"""Every element on every kind of system by substructuring, against the motion that one process finds.

    python -m tests.parallel.rank_matrix references FOLDER [all]
    mpirun -n 4 python -m tests.parallel.rank_matrix compare FOLDER [all]

Rank 0 prints a line for each: how far it is from one process, and the largest numbers of a rank. "all" takes all
systems and elements, not just some.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import timefem as tf
from tests.example_systems import DATA
from tests.parallel.elements import BY_VELOCITIES, ELEMENTS
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan

BOUND = 1e-9  # of the largest coordinate or momentum


def case(name, **options):
    return lambda t_end: find_case(name).make(t_end=t_end, **options)


def arm(t_end):
    truth = json.loads((DATA / "robots" / "ur5.json").read_text())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ur5.urdf"
        path.write_text(truth["urdf"])
        robot = tf.read_urdf(path)
    q, v = (truth["motion"][name] for name in ("q0", "v0"))
    return robot.problem(dict(zip(truth["joints"], zip(q, v, strict=True), strict=True)), (0, t_end))


SYSTEMS = {  # problem of a time span, length of an element [s], number of elements
    "box": (case("spinning-box"), 0.01, 128),
    "heavy top": (case("heavy-top"), 0.0005, 128),
    "double pendulum": (case("double-pendulum"), 0.005, 128),
    "four-bar": (case("four-bar"), 0.01, 32),
    "chain": (case("closed-chain"), 0.005, 32),
    "arm": (arm, 0.005, 32),
    "beam": (case("flexible-pendulum", elements_space=2), 0.001, 32),
}
SMALL = "box", "heavy top", "double pendulum"
SOME = tf.MixedGalerkin(2), tf.BubnovGalerkin(2), tf.BubnovGalerkin(2, drop="end"), tf.BubnovGalerkin(3)
UNSTABLE = {("beam", tf.BubnovGalerkin(2, drop="end"))}  # errors grow by 1e44 in 31 elements, on one process, too


def rows(every):
    """Name, problem, element, number of elements."""
    for system, (make, h, n) in SYSTEMS.items():
        for number, element in enumerate(ELEMENTS + BY_VELOCITIES):
            if (system, element) not in UNSTABLE and (every or (system in SMALL and element in SOME)):
                yield f"{system}, {element.name} {number}", make(h * n), element, n


def references(folder, every):
    for name, problem, element, n in rows(every):
        try:
            sol = tf.solve(problem, element, n, driver="global", progress=False)
        except tf.InputError:  # an element that does not take such a system
            continue
        assert sol.success, f"{name}: {sol.status.message}"
        np.save(folder / f"{name}.npy", sol.z)


def compare(folder, every):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for name, problem, element, n in rows(every):
        path = folder / f"{name}.npy"
        if not path.exists():
            continue
        expected = np.load(path)
        sol = tf.solve(problem, element, n, driver="global", backend="petsc", method="substructuring", progress=False)
        assert sol.success, f"{name}: {sol.status.message}"
        error = np.abs(sol.z - expected).max() / np.abs(expected).max()
        n_node, statistics = ElementPlan(problem.system, element).columns.n_node, sol.statistics
        facts, n_iterations = statistics.get("per_rank", {}), statistics["newton_iterations"]["max"]
        largest = {fact: max(values) for fact, values in facts.items()}
        if comm.rank == 0:
            print(f"{name}: {error:.1e} from one process, {n_node} unknowns of a node, {n_iterations} iterations, "
                  f"largest {largest}", flush=True)
        assert error <= BOUND and statistics["backward_error"] <= 1e-13, (name, error, statistics["backward_error"])
        if comm.size > 1:
            assert largest["left_over"] <= 4 * n_node, (name, facts)
            assert largest["largest_message"] <= 8 * (4 * n_node)**2, (name, facts)
            # of an iteration, refined once: those of the tree, and what neighbours swap
            assert sum(facts["messages"]) <= 11 * (comm.size - 1) * (n_iterations + 1), (name, facts)
    if comm.rank == 0:
        print("passed", flush=True)


if __name__ == "__main__":
    work = {"references": references, "compare": compare}[sys.argv[1]]
    work(Path(sys.argv[2]), "all" in sys.argv[3:])
