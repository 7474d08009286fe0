"""Under mpirun: every way to share a solve gives the numbers of one process. Arguments: rotations."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.solution.slab_solution import SlabSolution

ELEMENTS = [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3), tf.BubnovGalerkin(1), tf.BubnovGalerkin(2),
            tf.BubnovGalerkin(3), tf.BubnovGalerkin(2, "continuous"), tf.BubnovGalerkin(1, drop="end")]
METHODS = {"mumps": {}, "chain": {"pc_type": "python"},
           "gmres": {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "python", "pc_chain_lag": 2}}
WAYS = [("mumps", "global", None, True), ("chain", "global", None, False), ("gmres", "global", None, True),
        ("chain", "windows", 5, True), ("mumps", "windows", "auto", False)]
comm = MPI.COMM_WORLD


def uneven(n, t_end):
    nodes = np.linspace(0, t_end, n + 1)
    nodes[1:-1] += np.random.default_rng(n).uniform(-0.3, 0.3, n - 1) * t_end / n
    return nodes


def check(problem, element, mesh, method, driver, window, gather):
    arguments = {"mesh": mesh, "driver": driver, "window": window}
    here = tf.solve(problem, element, **arguments)
    shared = tf.solve(problem, element, **arguments, backend="petsc", petsc_options=METHODS[method], gather=gather)
    name = f"{element}, {len(mesh) - 1} elements, {method}, {driver}, {comm.size} ranks"
    assert here.success and shared.success, f"{name}: {here.status.message}, {shared.status.message}"
    if comm.size > 1:
        assert shared.statistics["n_ranks"] == comm.size
        assert isinstance(shared, SlabSolution) is not gather
    if isinstance(shared, SlabSolution):
        assert len(shared.nodal.state) == np.diff(shared.elements)[0] < len(mesh) - 1 or driver == "windows", name
        errors, shared = shared.errors(), shared.gather()
        for key, value in shared.errors().items():
            assert abs(errors[key] - value) <= 1e-12 * (1 + value), f"{name}: error of {key}"
    size = np.abs(here.nodal.state).max()
    difference = np.abs(shared.nodal.state - here.nodal.state).max() / size
    assert difference < 1e-9, f"{name}: {difference:.1e}"
    forces = np.abs(here.nodal.multipliers).max() + 1
    assert np.abs(shared.nodal.multipliers - here.nodal.multipliers).max() < 1e-6 * forces, name
    iterations = [s.statistics["newton_iterations"]["max"] for s in (here, shared)]
    assert iterations[1] <= iterations[0] + 1, f"{name}: {iterations} iterations"


def check_tables():
    """A table that all ranks write has all elements."""
    shared = tf.solve(spinning_box(t_end=0.4), ELEMENTS[0], 11, backend="petsc", driver="global", gather=False)
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{comm.bcast(folder)}/{name}.csv" for name in ("shared", "whole")]
        shared.save(paths[0])
        if isinstance(shared, SlabSolution):
            shared = shared.gather()
        if comm.rank == 0:
            shared.save(paths[1])
            assert Path(paths[0]).read_bytes() == Path(paths[1]).read_bytes()
        comm.Barrier()


def main(rotations):
    n = 0
    check_tables()
    for rotation in rotations:
        for i, element in enumerate(ELEMENTS):
            model = (spinning_box, pendulum)[i % 2]
            problem, short = model(rotation, t_end=0.4), model(rotation, t_end=0.05 * comm.size)
            for way in WAYS:
                check(problem, element, uneven(11, 0.4), *way)
                n += 1
            check(short, element, uneven(comm.size, 0.05 * comm.size), *WAYS[i % 3])  # slabs of one element
            n += 1
    if comm.rank == 0:
        print(f"{n} agree")


if __name__ == "__main__":
    main(sys.argv[1:])
