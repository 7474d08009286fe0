"""A whole boundary-value problem of a beam in space and time: iterations, seconds of the processor, memory.

Both ends of a flight of a flexible beam are given, from its march; Newton's method starts 2 % off. Goal: 100 nodes and
1000 elements within 16 GB.
"""

import argparse
import json
import resource
import time

import numpy as np

import timefem as tf
from timefem.cases import find_case


def measured(n_nodes, n_elements, t_end=1.0):
    """Figures of one solve."""
    flight = find_case("flying-beam").make(t_end=t_end, elements_space=n_nodes - 1, degree_space=1)
    system = flight.system
    z = tf.solve(flight, tf.MixedGalerkin(1), n_elements).z
    poses = z[:, :system.n_q].reshape(len(z), -1, 7)
    ends = [{body: tf.Pose(q[:3], q[3:]) for body, q in zip(system.bodies, poses[i], strict=True)} for i in (0, -1)]
    share = np.linspace(0, 1, len(z))[:, None]
    off = 0.02 * np.sin(np.pi * share)
    guess = (1 - off) * z + off * ((1 - share) * z[0] + share * z[-1])
    before = time.process_time()
    sol = tf.solve(tf.BoundaryValueProblem(system, (0.0, t_end), *ends), tf.MixedGalerkin(1), n_elements, guess=guess)
    return {"nodes": n_nodes, "elements": n_elements, "unknowns": sol.statistics["n_unknowns"],
            "iterations": sol.statistics["newton_iterations"]["max"], "seconds": time.process_time() - before,
            "peak_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-9, "how": sol.status.message,
            "off_the_march": float(np.abs(sol.z - z)[:, :system.n_q].max())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", default="30x100", help="nodes x elements")
    print(json.dumps(measured(*map(int, parser.parse_args().grid.split("x"))), indent=1))
