"""Fig. 1: mass-spring system in redundant coordinates by EML, h = 0.1 s: motion and energies.

Claim: energy goes from kinetic to potential and back; the generalized energy is conserved although the mass matrix is
singular.
"""

import numpy as np
from common import draw_energies, generalized_energy, mass_spring

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = mass_spring()
    finding, energy = Finding(data={"solution": sol}), generalized_energy(sol)
    potential = sol.system.potential(sol.t, sol.z)
    change = np.abs(energy - energy[0]).max()
    finding.check("change of the generalized energy [J]", change, "0", change < 1e-12)
    finding.check("largest potential energy over the total", potential.max() / energy[0], "not given",
                  0.5 < potential.max() / energy[0] < 1 + 1e-12)
    finding.remark = ("The left half of the paper's figure is a sketch; here it is the motion of the two masses. V has "
                      "1/4 k as printed in (109); the authors' public code has 1/2 k, so their energies are larger.")
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    x1, q2, x2 = sol.z[:, :3].T
    left.plot(sol.t, x1, label="mass 1: $x_1$")
    left.plot(sol.t, q2 + x2, "--", label="mass 2: $q_2 + x_2$")
    left.plot(sol.t, x2, ":", label="second spring: $x_2$")
    left.set(xlabel="time [s]", ylabel="position, elongation [m]", xlim=(0, 10), ylim=(None, 3.6))
    left.legend(loc="upper right", fontsize="x-small")
    draw_energies(right, sol)


if __name__ == "__main__":
    script(__file__)
