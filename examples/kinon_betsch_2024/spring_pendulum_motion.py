"""Fig. 3: nonlinear spring pendulum in spherical coordinates by EML, h = 0.01 s: motion and energies.

Claim: the generalized energy is conserved although the mass matrix depends on the coordinates.
"""

import numpy as np
from common import draw_energies, frame, generalized_energy, spring_pendulum

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = spring_pendulum()
    finding, energy = Finding(data={"solution": sol}), generalized_energy(sol)
    change = np.abs(energy - energy[0]).max()
    finding.check("generalized energy at the start [J]", energy[0], "not given", abs(energy[0] - 1.496484375) < 1e-9)
    finding.check("change of the generalized energy [J]", change, "0", change < 1e-12)
    finding.remark = "The left half of the paper's figure is a sketch; here it is the path of the mass."
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    r, polar, azimuth = sol.z[:, :3].T
    x = r * np.array([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)])
    left.plot(*x, label="path of the mass")
    for n, colour in ((0, "C1"), (-1, "C2")):
        left.plot(*np.stack([np.zeros(3), x[:, n]], axis=1), "--", color=colour, linewidth=1)
        left.plot(*x[:, [n]], "o", color=colour, label=f"$t$ = {sol.t[n]:g} s")
    left.view_init(25, -75)
    frame(left, 0.75, (3, 2, 2))
    left.legend(loc="upper left", fontsize="x-small")
    draw_energies(right, sol)


if __name__ == "__main__":
    script(__file__)
