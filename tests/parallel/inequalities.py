"""Under mpirun: optimal control with inequalities, each rank with a slab of elements, against one process.

Argument: kinds or cases.
"""

import re
import sys

import numpy as np
from mpi4py import MPI

import timefem as tf
from tests.problems.optimal.test_ends_rates_integrals import slider, state
from timefem.cases import CASES

comm = MPI.COMM_WORLD
MG = tf.MixedGalerkin(2, n_points=2)


def integrals_and_free_time():
    limits = [tf.Limit(lambda now, u: now.q("slider")[0], 0.7, 0.7, at="integral", name="area"),
              tf.Limit(lambda now, u: [u[0]**2, now.t], [-1, None], [20.0, None], at="integral", name="others")]
    return slider(end=state(1, 0), free_time=True, limits=limits, bounds=(-20, 20), longest=1.5)


def rates():
    return slider(end=state(1, 0), t_end=2.3, bounds=(-1, 1), rates=(-4, 4), free_time=True, cost=(),
                  end_cost=lambda end, parameters: parameters["duration"])


def free_start_and_both_ends():
    ends = [tf.Coupling(lambda a, b: [b.q("slider")[0] - a.q("slider")[0] - 1, b.rates("slider") - a.rates("slider")]),
            tf.Coupling(lambda a, b: b.q("slider")[0] + a.q("slider")[0], 3.0, None)]
    return slider(state(), couplings=ends, end_cost=lambda end, parameters: end.q("slider")[0]**2 / 100)


def pair():
    """Push and brake, of which one is zero at any time."""
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0), (-1, 0, 0)], name="push")
    limit = tf.Complementary(lambda now, u: u[0], lambda now, u: u[1], name="one or the other", eps=1e-6)
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: state(1, 0)}, (0, 1.0), tf.Effort(push),
                             limits=limit)


def too_far():
    return slider(end=state(1, 0), bounds=(-3, 3))


def cases(**sizes):
    return [(CASES[name.replace("_", "-")].make, MG, n) for name, n in sizes.items()]


PROBLEMS = {  # problem, element, number of elements
    "kinds": [*cases(cart_pole_limited=80, bryson_denham=65),
              (CASES["cart-pole-limited"].make, tf.BubnovGalerkin(2), 65),
              (CASES["speed-limit"].make, tf.BubnovGalerkin(3), 65),  # in pairs, of which the last one lacks one
              (CASES["speed-limit"].make, tf.BubnovGalerkin(1, drop="end"), 66), (integrals_and_free_time, MG, 70),
              (rates, MG, 66), (free_start_and_both_ends, MG, 67), (free_start_and_both_ends, tf.BubnovGalerkin(3), 67),
              (too_far, MG, 65)],
    "cases": [*cases(robot_arm_time=100, container_crane=100, speed_limit=300, reorientation_time=70),
              (rates, tf.BubnovGalerkin(1), 67), (rates, tf.MixedGalerkin(1), 66), (pair, tf.MixedGalerkin(1), 65)],
    "many": cases(cart_pole_limited=10000),
}


def main(which):
    for make, element, n in PROBLEMS[which]:
        problem = make()
        here = tf.solve(problem, element, n, progress=False)
        shared = tf.solve(problem, element, n, backend="petsc", progress=False)
        name = f"{make}, {element}, {comm.size} ranks"
        assert here.success == shared.success == (make is not too_far), f"{name}: {here.status}, {shared.status}"
        told = [re.sub(r" \(residuals [^)]*\)", "", sol.status.message) for sol in (here, shared)]
        assert told[0] == told[1], f"{name}: {told}"
        iterations = [sol.statistics["newton_iterations"]["max"] for sol in (here, shared)]
        assert iterations[0] == iterations[1], f"{name}: {iterations} iterations"
        assert shared.statistics["n_unknowns"] == here.statistics["n_unknowns"]
        n_ranks = 1 if getattr(element, "drop", "") == "end" else comm.size
        assert shared.statistics["n_ranks"] == n_ranks and shared.statistics["backend"] == "interior-point"
        objectives = [sol.statistics["objective"] for sol in (here, shared)]
        assert abs(objectives[1] / objectives[0] - 1) <= 1e-10, f"{name}: {objectives}"
        for field, values in {"state": here.nodal.state, **here.fields}.items():
            other = shared.nodal.state if field == "state" else shared.fields[field]
            difference = np.abs(other - values).max(initial=0.0) / max(1.0, np.abs(values).max(initial=0.0))
            assert difference < 1e-8, f"{name}: {field}: {difference:.1e}"
    if comm.rank == 0:
        print(f"{len(PROBLEMS[which])} agree")


if __name__ == "__main__":
    main(sys.argv[1])
