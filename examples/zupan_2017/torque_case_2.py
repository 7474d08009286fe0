"""Fig. 5: the torque of load case (ii), rotation vector (t + sin t, 0, cos t).

Claim: the magnitude of the torque does not increase.
"""

import numpy as np
from common import draw_torque, torque

from timefem.reproduction import script


def main(quick=False):
    finding = torque("ii")
    sizes = np.linalg.norm(finding.data["torque"], axis=1)
    turn = np.minimum(finding.data["t"] // (2 * np.pi), 2)
    for i, name in enumerate(("first period of 2π s", "second period", "half period after")):
        largest = sizes[turn == i].max()
        finding.check(f"largest torque in the {name} [N m]", largest, "does not increase",
                      i == 0 or largest <= sizes[turn == 0].max())
    return finding


def plot(finding, figure):
    draw_torque(finding, figure)


if __name__ == "__main__":
    script(__file__)
