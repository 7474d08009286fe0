"""Fig. 5: angular momentum and energy of the spinning box by Bubnov-Galerkin, k = 3, discontinuous multipliers.

Claim: neither is conserved, but conservation improves as the time step decreases.
"""

from common import box, draw_drifts, drift

import timefem as tf
from timefem.reproduction import Finding, script

LENGTHS = 0.1, 0.05, 0.025  # of the elements [s]


def main(quick=False):
    problem = box()
    solutions = {h: tf.solve(problem, tf.BubnovGalerkin(3), n_elements=round(5 / h)) for h in LENGTHS}
    finding = Finding(data={"solutions": solutions})
    last = None
    for h, sol in solutions.items():
        now = drift(sol.energy()), drift(sol.angular_momentum()[:, 1])
        for value, name in zip(now, ("energy [J]", "L2 [kg m²/s]"), strict=True):
            finding.check(f"change of the {name}, h = {h} s", value, "not 0, falls with h",
                          value > 1e-9 and (last is None or value < last[now.index(value)] / 8))
        last = now
    return finding


def plot(finding, figure):
    draw_drifts(figure, finding.data["solutions"], "{} s", "length of an element")


if __name__ == "__main__":
    script(__file__)
