"""Fig. 7: convergence of the global Bubnov-Galerkin method on the spinning box, quaternions and directors.

Claim: all degrees converge; a higher degree does not improve accuracy as it does for mG(k); quaternions and directors
essentially yield the same results.
"""

from common import box, convergence, draw_convergence, slope

import timefem as tf
from timefem.reproduction import Finding, script

ORDERS = {1: 2, 2: 2, 3: 4}


def main(quick=False):
    finding = Finding()
    errors: dict = {}
    n_elements = (400, 800, 1600) if quick else (400, 800, 1600, 3200)
    for rotation in ("quaternion", "directors"):
        problem = box(rotation)
        reference = tf.solve(problem, tf.MixedGalerkin(4), n_elements=1000).z[-1, :problem.system.n_q]
        elements = {f"BG({k}), {multipliers}, {rotation}": tf.BubnovGalerkin(k, multipliers)
                    for k in ORDERS for multipliers in ("discontinuous", "continuous")}
        h, own = convergence(problem, elements, n_elements, reference)
        errors |= own
    orders = {name: slope(h, values) for name, values in errors.items()}
    for name, order in orders.items():
        expected = ORDERS[int(name[3])]
        finding.check(f"order of {name}", order, "converges", abs(order - expected) < 0.35)
    finding.remark = "The orders are 2, 2, 4 for k = 1, 2, 3, with either space of multipliers and either rotation."
    finding.data = {"h": h, "errors": errors, "orders": orders}
    return finding


def plot(finding, figure):
    draw_convergence(figure.subplots(), **finding.data)


if __name__ == "__main__":
    script(__file__)
