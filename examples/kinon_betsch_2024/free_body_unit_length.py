"""Fig. 7: freely rotating body by EML, h = 0.05 s: unit length of the quaternion, and the total energy (80).

Claim: the unity constraint is preserved; the discrete total energy is not, since the mass matrix depends on the
quaternion.
"""

import numpy as np
from common import free_body, total_energy

from timefem.reproduction import Finding, script


def unity(sol):
    """g of (30) at the nodes."""
    return ((sol.quaternion("body", sol.t) ** 2).sum(axis=1) - 1) / 2


def main(quick=False):
    sol = free_body()
    finding = Finding(data={"solution": sol})
    largest, change = np.abs(unity(sol)).max(), np.ptp(total_energy(sol))
    finding.check("largest violation of unity", largest, "0", largest < 1e-14)
    finding.check("range of the total energy [J], 2500 J at the start", change, "not 0", change > 1)
    finding.remark = ("The step is large, 1.5 rad. The part of v along the quaternion alternates in sign from step to "
                      "step, which is most of what is seen on the right.")
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    left.plot(sol.t, unity(sol), linewidth=1)
    left.set(xlabel="time [s]", ylabel="unity constraint $g$ [-]", xlim=(0, 2))
    right.plot(sol.t, total_energy(sol))
    right.set(xlabel="time [s]", ylabel=r"total energy $E_\mathrm{tot}$ [J]", xlim=(0, 2))


if __name__ == "__main__":
    script(__file__)
