"""Fig. 11: constraints of the physical pendulum by mG(1), h = 0.1 s.

Claim: all constraints hold at the end of each step to machine precision, on both levels.
"""

from common import LEVELS, draw_constraints, pendulum

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    sol = tf.solve(pendulum(), tf.MixedGalerkin(1), n_elements=50)
    finding = Finding(data={"solution": sol})
    for name, level in LEVELS.items():
        largest = sol.errors()[name]
        finding.check(f"largest {level}", largest, "0", largest < 1e-11)
    return finding


def plot(finding, figure):
    draw_constraints(figure, {"mG(1)": finding.data["solution"]}, "{0}, {1}")


if __name__ == "__main__":
    script(__file__)
