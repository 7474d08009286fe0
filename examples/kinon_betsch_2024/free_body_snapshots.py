"""Fig. 5: snapshots of the freely rotating body by EML, h = 0.05 s."""

import numpy as np
from common import free_body

from timefem.reproduction import Finding, script

TIMES = 0, 0.25, 0.75, 1.25, 1.75, 2


def main(quick=False):
    sol = free_body()
    finding = Finding(data={"solution": sol}, remark="The paper names no numbers; the rotation is checked instead. The "
                      "box drawn is the cuboid with the inertia of the body, 1 kg.")
    r = sol.rotation_matrix("body", sol.t)
    error = np.abs(np.swapaxes(r, 1, 2) @ r - np.eye(3)).max()
    finding.check("largest |R^T R - I|", error, "0", error < 1e-13)
    return finding


def plot(finding, figure):
    finding.data["solution"].plot.snapshots(TIMES, ax=figure)


if __name__ == "__main__":
    script(__file__)
