"""Fig. 12: constraints of the physical pendulum by the global Bubnov-Galerkin method, k = 1, continuous multipliers.

Claim: constraints hold in an averaged manner; they are satisfied better as the time step decreases.
"""

from common import LEVELS, draw_constraints, pendulum

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    problem, lengths = pendulum(t_end=2.0), (0.1, 0.05, 0.025)
    element = tf.BubnovGalerkin(1, "continuous")
    solutions = {h: tf.solve(problem, element, n_elements=round(2 / h)) for h in lengths}
    finding = Finding(data={"solutions": solutions})
    for name, level in LEVELS.items():
        values = [sol.errors()[name] for sol in solutions.values()]
        for h, value in zip(lengths, values, strict=True):
            finding.check(f"largest {level}, h = {h} s", value, "not 0, falls with h",
                          value > 1e-6 and value <= values[0])
    return finding


def plot(finding, figure):
    draw_constraints(figure, finding.data["solutions"], "{0} s, {1}")


if __name__ == "__main__":
    script(__file__)
