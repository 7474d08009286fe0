"""Fig. 8: right-angle cantilever, error of the elbow's displacement over the step.

Claim: the third-order method is more accurate than that of Simo and Vu-Quoc; the difference is evident, but not as
high as for the rigid body.
"""

from elbow import compare, draw

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import script


def main(quick=False):
    finding = compare("displacement", quick)
    problem = find_case("right-angle-cantilever").make(t_end=0.05)
    corrected, printed = (tf.solve(problem, element, 100, progress=False).energy()[-1]
                          for element in (tf.Zupan3(), tf.Zupan3Printed()))
    finding.check("energy after 0.05 s with h = 5e-4 s, velocities of order 3 [J]", corrected,
                  f"{printed:.2g} as printed; unstable", corrected > 1e3 * printed)
    return finding


def plot(finding, figure):
    draw(finding, figure)


if __name__ == "__main__":
    script(__file__)
