"""Fig. 2: the torque of load case (i), rotation vector (t², 0, t/5).

Claim: the torque grows with time and oscillates with increasing frequency.
"""

import numpy as np
from common import T_END, draw_torque, torque

from timefem.reproduction import script


def main(quick=False):
    finding = torque("i")
    t, values = finding.data["t"], finding.data["torque"]
    thirds = np.minimum(3 * t // T_END, 2)
    sizes = [np.linalg.norm(values[thirds == i], axis=1).max() for i in range(3)]
    turns = [np.count_nonzero(np.diff(np.sign(values[thirds == i, 1]))) for i in range(3)]
    for i, name in enumerate(("first", "second", "last")):
        finding.check(f"largest torque in the {name} third [N m]", sizes[i], "grows", i == 0 or sizes[i] > sizes[i - 1])
        finding.check(f"zeros of M2 in the {name} third", turns[i], "grow", i == 0 or turns[i] > turns[i - 1])
    return finding


def plot(finding, figure):
    draw_torque(finding, figure)


if __name__ == "__main__":
    script(__file__)
