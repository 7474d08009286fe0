"""Fig. 3: angular momentum and energy of the spinning box by mG(1), directors, for several numbers of Gauss points.

Claim: in directors mG(k) preserves both angular momentum and energy.
"""

from common import box, draw_drifts, drift, runs

from timefem.reproduction import Finding, script


def main(quick=False):
    solutions = runs(box("directors"), (1, 2, 4))
    finding = Finding(data={"solutions": solutions})
    for g, sol in solutions.items():
        momentum, energy = drift(sol.angular_momentum()[:, 1]), drift(sol.energy())
        finding.check(f"change of L2, {g} points [kg m²/s]", momentum, "0", momentum < 1e-11)
        finding.check(f"change of the energy, {g} points [J]", energy, "0", energy < 1e-11)
    return finding


def plot(finding, figure):
    draw_drifts(figure, finding.data["solutions"], "{}", "Gauss points")


if __name__ == "__main__":
    script(__file__)
