"""Fig. 6: convergence of mG(k) on the spinning box, quaternions and directors.

Claim: the local error decreases as h to the power 2k for both formulations.
"""

from common import box, convergence, draw_convergence, slope

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    finding = Finding()
    errors: dict = {}
    n_elements = (100, 200, 400) if quick else (100, 200, 400, 800)
    for rotation in ("quaternion", "directors"):
        problem = box(rotation)
        reference = tf.solve(problem, tf.MixedGalerkin(4), n_elements=1000).z[-1, :problem.system.n_q]
        elements = {f"mG({k}), {rotation}": tf.MixedGalerkin(k) for k in (1, 2, 3)}
        h, own = convergence(problem, elements, n_elements, reference)
        errors |= own
    orders = {name: slope(h, values) for name, values in errors.items()}
    for name, order in orders.items():
        k = int(name[3])
        finding.check(f"order of {name}", order, str(2 * k), abs(order - 2 * k) < 0.2)
    finding.data = {"h": h, "errors": errors, "orders": orders}
    return finding


def plot(finding, figure):
    draw_convergence(figure.subplots(), **finding.data)


if __name__ == "__main__":
    script(__file__)
