"""Fig. 4: spring pendulum by EML, h = 0.01 s: increments of the total energy (80) and of the generalized energy (74).

Claim: the discrete total energy is conserved only down to an order of 1e-4, the generalized energy exactly.
"""

import numpy as np
from common import draw_increments, generalized_energy, largest_step, spring_pendulum, total_energy

from timefem.reproduction import Finding, script


def main(quick=False):
    sol, fine = spring_pendulum(), spring_pendulum(0.005)
    finding, total = Finding(data={"solution": sol}), total_energy(sol)
    change, finer = np.ptp(total), np.ptp(total_energy(fine))
    finding.check("largest increment of the total energy [J]", largest_step(total), "order of 1e-4",
                  1e-5 < largest_step(total) < 1e-3)
    finding.check("change of the total energy [J]", change, "order of 1e-4", 1e-5 < change < 1e-3)
    finding.check("the same with half the step, ratio", change / finer, "not given", abs(change / finer - 4) < 0.2)
    step = largest_step(generalized_energy(sol))
    finding.check("largest increment of the generalized energy [J]", step, "0", step < 1e-13)
    finding.remark = "The total energy is second-order accurate, as the scheme."
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    draw_increments(left, sol, total_energy(sol))
    left.set_ylabel(r"$E_\mathrm{tot}^{n+1} - E_\mathrm{tot}^n$ [J]")
    draw_increments(right, sol, generalized_energy(sol))
    right.set_ylabel("$E^{n+1} - E^n$ [J]")


if __name__ == "__main__":
    script(__file__)
