"""One solve of a problem with inequalities by timefem: what `bench_inequalities.py` times, here in a process of its own
as `shooting.py` for CasADi's way.

    python benchmarks/inequalities_once.py container-crane 2 20
"""

import sys
import time

import numpy as np
from shooting import T_TURN, turning

import timefem as tf
from timefem.cases import CASES


def element(degree):
    return tf.MixedGalerkin(degree, n_points=degree)


def case(name):
    """A problem, and the guess that shooting has, where it is not the default one."""
    problem = CASES[name].make()
    if name != "reorientation-time":
        return problem, None
    body = problem.system.bodies[0]

    def motion(t):  # about another axis than x: that way leads to a saddle point
        states = turning(np.asarray(t) / T_TURN).T
        states[:, 4:] /= T_TURN
        return np.array([np.concatenate(body.state(tf.Pose(orientation=x[:4], angular_velocity=x[4:])))
                         for x in states])

    return problem, tf.Guess(motion, controls="zero")


def by_timefem(problem, degree, n, guess=None, method=None):
    """Objective (None where it fails), seconds of the processor, iterations."""
    start = time.process_time()
    sol = tf.solve(problem, element(degree), n, method=method, guess=guess, progress=False)
    seconds = time.process_time() - start
    return sol.objective if sol.success else None, seconds, sol.statistics["newton_iterations"]["max"]


if __name__ == "__main__":
    name, degree, n = sys.argv[1:]
    problem, guess = case(name)
    sys.exit(by_timefem(problem, int(degree), int(n), guess)[0] is None)
