"""Fig. 2: mass-spring system by EML, h = 0.1 s: constraint on the positions, increments of the generalized energy.

Claim: the constraint holds exactly in each step, and the increments of the generalized energy are close to computer
precision.
"""

import numpy as np
from common import draw_increments, generalized_energy, largest_step, mass_spring

from timefem.reproduction import Finding, script


def constraint(sol):
    """g of (107) at the nodes [m²]."""
    x1, q2, _ = sol.z[:, :3].T
    return ((q2 - x1) ** 2 - 1.1**2) / 2


def main(quick=False):
    sol = mass_spring()
    finding = Finding(data={"solution": sol})
    largest, step = np.abs(constraint(sol)).max(), largest_step(generalized_energy(sol))
    finding.check("largest constraint (107) [m²]", largest, "0", largest < 1e-14)
    finding.check("largest increment of E [J]", step, "0", step < 1e-14)
    finding.remark = ("The model states the constraint in its linear form, q2 - x1 - 1.1 m = 0. The step is the same, "
                      "with another multiplier.")
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    left.plot(sol.t, constraint(sol), linewidth=1)
    left.set(xlabel="time [s]", ylabel="constraint $g$ [m²]", xlim=(0, 10))
    draw_increments(right, sol, generalized_energy(sol))
    right.set_ylabel("$E^{n+1} - E^n$ [J]")


if __name__ == "__main__":
    script(__file__)
