"""Fig. 6: freely rotating body by EML, h = 0.05 s: generalized energy and its increments.

Claim: the generalized energy is conserved.
"""

from common import draw_constant, draw_increments, free_body, generalized_energy, largest_step

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = free_body()
    finding, energy = Finding(data={"solution": sol}), generalized_energy(sol)
    finding.check("generalized energy at the start [J]", energy[0], "not given", abs(energy[0] - 2500) < 1e-9)
    step = largest_step(energy)
    finding.check("largest increment [J]", step, "0", step < 2500 * 1e-13)
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    draw_constant(left, sol, generalized_energy(sol), "generalized energy $E$ [J]")
    draw_increments(right, sol, generalized_energy(sol))
    right.set_ylabel("$E^{n+1} - E^n$ [J]")


if __name__ == "__main__":
    script(__file__)
