"""Global solves in parallel: time-chain substructuring on 2 ranks against 1 and against MUMPS, and cost per element.

BG(1) on the spinning box. All candidates of a comparison take turns in one run on 2 ranks, in which those on 1 rank run
on rank 0 while the other sleeps; the table has ratios of medians. A Newton iteration is assembly, factorisation, solve
and the check of its backward error. Start it without mpirun. On a machine that does other work too, --real-time lets
nothing else run on the core of a rank while it iterates (as root, on Linux).

    python benchmarks/bench_parallel.py [--elements 200000] [--mumps-elements 20000] [--cost-elements 1000 ... 1000000]
        [--repeats 5] [--real-time] [--json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

H = 0.0125
SETTINGS = {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm": "isolated"}
CHAIN = {"pc_type": "python"}
OTHERS = {  # on 2 ranks
    "MUMPS": {},
    "SuperLU_DIST, GMRES": {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_factor_mat_solver_type": "superlu_dist",
                            "mat_superlu_dist_replacetinypivot": True},
    "GMRES, block Jacobi, MUMPS": {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "bjacobi", "sub_pc_type": "lu",
                                   "sub_pc_factor_mat_solver_type": "mumps"},
    "GMRES, ASM, overlap 4, MUMPS": {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "asm", "pc_asm_overlap": 4,
                                     "sub_pc_type": "lu", "sub_pc_factor_mat_solver_type": "mumps"},
    "GMRES, chain, lag 3": {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "python", "pc_chain_lag": 3},
}


def prepared(n_elements, comm=None, options=None):
    """A chain at its guess: `iterate()` is one Newton iteration and returns seconds of assembly and solution."""
    return one_iteration(*chain_and_guess(n_elements, comm, options))


def prepared_chain(n_elements, comm=None, options=None):
    """A chain, and `iterate()`, one Newton iteration from its guess, which returns its seconds."""
    chain, x = chain_and_guess(n_elements, comm, options)
    iterate = one_iteration(chain, x)
    return chain, lambda: iterate()[-1]


def chain_and_guess(n_elements, comm=None, options=None):
    """The equations of the spinning box, and the unknowns to begin with."""
    import timefem as tf
    from timefem.elements.evaluation.plan import ElementPlan
    from timefem.problems.initial.global_driver import equations_on
    from timefem.problems.initial.guess import first_iterate
    from timefem.problems.task import DriverInput

    element, mesh = tf.BubnovGalerkin(1), tf.TimeMesh.uniform((0, H * n_elements), n_elements)
    box = tf.RigidBody(12, [5, 26, 29])
    problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=[0, 5, 1])}, mesh.nodes[[0, -1]])
    driver = tf.Global("chain" if options is None else tf.PETSc(options))
    job = DriverInput(ElementPlan(problem.system, element), mesh, problem.z0, driver, show=False, comm=comm)
    chain = equations_on(job, mesh)
    return chain, first_iterate(job, chain, mesh, problem.z0)[0]


def prepared_boundary(n_elements, comm=None, options=None):
    """As `prepared`, for the boundary-value problem of a body between two orientations, from its guess by mG(1)."""
    import timefem as tf
    from timefem.cases import find_case
    from timefem.problems.boundary.solver import BoundarySolver

    problem = find_case("reorientation").make()
    mesh = tf.TimeMesh.uniform(problem.t_span, n_elements)
    solver = BoundarySolver(problem, tf.MixedGalerkin(1), tf.Global(tf.PETSc(options)))
    x = solver.from_guess(mesh, "interpolation")
    chain = solver.form.equations(mesh, x, linear=tf.PETSc(options), comm=comm)
    return one_iteration(chain, chain.take(x))


def one_iteration(chain, x):
    def iterate():
        start = time.perf_counter()
        residual = chain.evaluate(x)
        assembled = time.perf_counter()
        chain.linear_step(residual)
        end = time.perf_counter()
        return assembled - start, end - assembled, end - start

    iterate()  # PETSc reads options here, before those of the next candidate replace them
    return iterate


def real_time(on):
    """Whether nothing else is to run on the core of this process, so that it never waits for other work."""
    os.sched_setscheduler(0, os.SCHED_RR if on else os.SCHED_OTHER, os.sched_param(1 if on else 0))


def take_turns(candidates, repeats, undisturbed=False):
    """Median seconds (assembly, solution, both) of the slowest rank; candidates are (iterate, whether on all ranks)."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    seconds = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, (iterate, on_all) in candidates.items():
            _rest(comm)
            taken = (0.0, 0.0, 0.0)
            if on_all or comm.rank == 0:
                if undisturbed:
                    real_time(True)
                taken = iterate()
                if undisturbed:
                    real_time(False)
            _rest(comm)
            seconds[name].append([max(t) for t in zip(*comm.allgather(taken), strict=True)])
    return {name: [statistics.median(t) for t in zip(*s, strict=True)] for name, s in seconds.items()}


def _rest(comm):
    """A barrier at which ranks sleep: one that spins would take the core, or its power, from the others."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(1e-3)


def measure(args):
    """Everything, on 2 ranks; rank 0 returns it."""
    from mpi4py import MPI

    from timefem import SolveError

    comm = MPI.COMM_WORLD
    on_one = comm.rank == 0
    results = {"elements": args.elements, "mumps_elements": args.mumps_elements, "repeats": args.repeats}

    def alone(n, options=None):
        return (prepared(n, None, options) if on_one else None), False

    n = args.elements
    results["newton"] = take_turns({"2 ranks": (prepared(n, comm, CHAIN), True), "1 rank": alone(n, CHAIN),
                                    "embedded": alone(n)}, args.repeats, args.real_time)
    results["boundary"] = take_turns(
        {"2 ranks": (prepared_boundary(n, comm, CHAIN), True),
         "1 rank": (prepared_boundary(n, None, CHAIN) if on_one else None, False)},
        args.repeats, args.real_time)
    n = args.mumps_elements
    candidates = {"chain": (prepared(n, comm, CHAIN), True), "chain, 1 rank": alone(n, CHAIN),
                  "MUMPS, 1 rank": alone(n, {})}
    results["failed"] = {}
    for name, options in OTHERS.items():
        try:
            candidates[name] = prepared(n, comm, options), True
        except SolveError as error:
            results["failed"][name] = str(error)
    results["solvers"] = take_turns(candidates, args.repeats, args.real_time)
    results["cost"] = {}
    if on_one:
        for n in args.cost_elements:
            iterate = prepared(n)
            times = [iterate()[2] for _ in range(max(args.repeats, min(20, 10**5 // n)))]
            results["cost"][n] = statistics.median(times)
    _rest(comm)
    return results


def report(r):
    """Print ratios beside the claims."""
    newton, solvers = r["newton"], r["solvers"]
    total = {name: t[2] for name, t in newton.items()}
    print(f"one Newton iteration, {r['elements']} elements: seconds of assembly, solution, and both")
    for name, times in newton.items():
        print(f"  {name:30} " + " ".join(f"{t:8.3f}" for t in times))
    print(f"  2 ranks over 1: {total['1 rank'] / total['2 ranks']:.2f} times faster (claim: at least 1.6), over the "
          f"embedded solver {total['embedded'] / total['2 ranks']:.2f}")
    print(f"  efficiency of assembly: {newton['1 rank'][0] / newton['2 ranks'][0] / 2:.2f} (claim: at least 0.9)")
    boundary = {name: t[2] for name, t in r["boundary"].items()}
    print(f"  boundary-value problem by mG(1), {r['elements']} elements: 1 rank {boundary['1 rank']:.3f} s, 2 ranks "
          f"{boundary['1 rank'] / boundary['2 ranks']:.2f} times faster")
    print(f"factorisation and solution, {r['mumps_elements']} elements: seconds, times slower than the chain")
    for name, (_, solution, _) in solvers.items():
        chain = solvers["chain, 1 rank" if "1 rank" in name else "chain"][1]
        print(f"  {name:30} {solution:8.3f} {solution / chain:6.1f}" + " (claim: at least 4)" * ("MUMPS" in name[:5]))
    for name, error in r["failed"].items():
        print(f"  {name:30} no solution: {error}")
    if len(r["cost"]) > 1:
        n, t = np.array([[int(n), t] for n, t in r["cost"].items()]).T
        print("microseconds per element and Newton iteration: "
              + ", ".join(f"{m:.0f}: {1e6 * s / m:.2f}" for m, s in zip(n, t, strict=True)))
        print(f"  exponent {np.polyfit(np.log(n), np.log(t), 1)[0]:.3f} (claim: at most 1.05)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=200_000)
    parser.add_argument("--mumps-elements", type=int, default=20_000)
    parser.add_argument("--cost-elements", type=int, nargs="*", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--real-time", action="store_true", help="nothing else runs on the cores of ranks that iterate")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--on-ranks", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.on_ranks:
        command = ["mpirun", "-n", "2", "--oversubscribe", sys.executable, *sys.argv, "--on-ranks"]
        raise SystemExit(subprocess.run(command, env={**os.environ, **SETTINGS}, check=False).returncode)
    results = measure(args)
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(results, indent=1)) if args.json else report(results)


if __name__ == "__main__":
    main()
