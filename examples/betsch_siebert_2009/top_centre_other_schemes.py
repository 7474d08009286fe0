"""Fig. 5: steady precession of the top: x(t) and z(t) of the centre of mass by QUAT_VI and ALGO_C1, step 0.007 s.

Claim: the step had to be reduced from 0.01 s to 0.007 s for the iterations of QUAT_VI to converge.
"""

import numpy as np
from common import draw_mass_centre, run_top

from timefem.cases.single_bodies import exact_mass_centre, mass_centre
from timefem.reproduction import Finding, script


def main(quick=False):
    h, n = 0.007, 143
    solutions = {name: run_top(name, n, n * h) for name in ("QUAT_VI", "ALGO_C1")}
    finding = Finding(data={"solutions": solutions})
    too_long = run_top("QUAT_VI", 100)
    finding.check("steps of 0.01 s solved by QUAT_VI, of 100", len(too_long.t) - 1, "no convergence",
                  not too_long.success)
    finding.check("steps of 0.007 s solved by QUAT_VI, of 143", len(solutions["QUAT_VI"].t) - 1, "converges",
                  solutions["QUAT_VI"].success)
    directors = run_top("DIR_EM", n, n * h)
    best = np.abs(mass_centre(directors) - exact_mass_centre(directors.t)).max()
    for name, sol in solutions.items():
        error = np.abs(mass_centre(sol) - exact_mass_centre(sol.t)).max()
        finding.check(f"largest error of {name} [m]", error, "more than DIR_EM", error > best)
    return finding


def plot(finding, figure):
    draw_mass_centre(figure, finding.data["solutions"], exact_mass_centre, mass_centre)


if __name__ == "__main__":
    script(__file__)
