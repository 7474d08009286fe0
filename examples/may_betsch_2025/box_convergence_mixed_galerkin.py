"""Fig. 6: convergence of mG(k) on the spinning box, quaternions and directors.

Claim: the local error decreases as h to the power 2k for both formulations.
"""

from common import convergence, draw_convergence

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    elements = {f"mG({k})": tf.MixedGalerkin(k) for k in (1, 2, 3)}
    finding = Finding(data=convergence(elements, (100, 200, 400) if quick else (100, 200, 400, 800)))
    for name, order in finding.data["orders"].items():
        k = int(name[3])
        finding.check(f"order of {name}", order, str(2 * k), abs(order - 2 * k) < 0.2)
    return finding


def plot(finding, figure):
    draw_convergence(figure.subplots(), **finding.data)


if __name__ == "__main__":
    script(__file__)
