"""Fig. 15: snapshots of the closed loop by EML, h = 0.1 s."""

import numpy as np
from common import closed_loop, draw_loop, frame

from timefem.reproduction import Finding, script

TIMES = 0.0, 1.0, 2.0, 3.0, 4.0


def main(quick=False):
    sol = closed_loop()
    finding = Finding(data={"solution": sol}, remark="The paper names no numbers, and the times of its snapshots are "
                      "lost; the constraints are checked instead.")
    error = np.abs(sol.constraints()[0]).max()
    finding.check("largest violation of joints [m] and unit lengths", error, "0", error < 1e-11)
    return finding


def plot(finding, figure):
    ax = figure.add_subplot(projection="3d")
    for n, t in enumerate(TIMES):
        sol = finding.data["solution"]
        draw_loop(ax, sol, t, "_{}" if n else "{}")
        centre = np.mean([sol.position(body, t) for body in sol.system.bodies], axis=0)
        ax.text(*(centre + (0, 0, 8)), f"{t:g} s", ha="center")
    ax.view_init(25, -75)
    frame(ax, 1.1, (6, 3, 3))
    ax.legend(ncols=4, loc="upper center")


if __name__ == "__main__":
    script(__file__)
