"""Fig. 7: convergence of the global Bubnov-Galerkin method on the spinning box, quaternions and directors.

Claim: all degrees converge; a higher degree does not improve accuracy as it does for mG(k); quaternions and directors
essentially yield the same results.
"""

from common import convergence, draw_convergence

import timefem as tf
from timefem.reproduction import Finding, script

ORDERS = {1: 2, 2: 2, 3: 4}


def main(quick=False):
    elements = {f"BG({k}), {multipliers}": tf.BubnovGalerkin(k, multipliers)
                for k in ORDERS for multipliers in ("discontinuous", "continuous")}
    finding = Finding(data=convergence(elements, (400, 800, 1600) if quick else (400, 800, 1600, 3200)))
    for name, order in finding.data["orders"].items():
        expected = ORDERS[int(name[3])]
        finding.check(f"order of {name}", order, "converges", abs(order - expected) < 0.35)
    finding.remark = "The orders are 2, 2, 4 for k = 1, 2, 3, with either space of multipliers and either rotation."
    return finding


def plot(finding, figure):
    draw_convergence(figure.subplots(), **finding.data)


if __name__ == "__main__":
    script(__file__)
