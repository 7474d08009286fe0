"""Fig. 11: heavy top by EML, h = 0.01 s: angular momentum, and increments of its component about the vertical.

Claim: the component about the 3-axis is conserved, the others are not.
"""

import numpy as np
from common import draw_increments, largest_step, run_top

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = run_top("EML")
    finding, momentum = Finding(data={"solution": sol}), sol.angular_momentum()
    step = largest_step(momentum[:, 2])
    finding.check("largest increment of L3 [kg m²/s]", step, "0", step < 1e-14)
    for i in range(2):
        finding.check(f"range of L{i + 1} [kg m²/s]", np.ptp(momentum[:, i]), "not 0", np.ptp(momentum[:, i]) > 0.01)
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    for i, style in enumerate(("-", "--", ":")):
        left.plot(sol.t, sol.angular_momentum()[:, i], style, label=f"$L_{i + 1}$")
    left.set(xlabel="time [s]", ylabel="angular momentum [kg m²/s]", xlim=(0, 2), ylim=(None, 0.1))
    left.legend(ncols=3, loc="upper center")
    draw_increments(right, sol, sol.angular_momentum()[:, 2])
    right.set_ylabel("$L_3^{n+1} - L_3^n$ [kg m²/s]")


if __name__ == "__main__":
    script(__file__)
