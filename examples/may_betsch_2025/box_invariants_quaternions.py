"""Fig. 4: angular momentum and energy of the spinning box by mG(1), quaternions, for several numbers of Gauss points.

Claim: one Gauss point keeps the angular momentum; the energy needs four; no number keeps both.
"""

from common import box, draw_drifts, drift, runs

from timefem.reproduction import Finding, script


def main(quick=False):
    solutions = runs(box(inverse_mass="exact"), (1, 2, 3, 4))
    polynomial = runs(box(), (1, 2))
    finding = Finding(data={"solutions": solutions})
    for g, sol in solutions.items():
        momentum, energy = drift(sol.angular_momentum()[:, 1]), drift(sol.energy())
        kept = g == 1
        finding.check(f"change of L2, {g} points [kg m²/s]", momentum, "0" if kept else "not 0",
                      (momentum < 1e-11) == kept)
        finding.check(f"change of the energy, {g} points [J]", energy, "0" if g == 4 else "not 0",
                      energy < 1e-6 if g == 4 else energy > 1e-6)
    for g, sol in polynomial.items():
        energy = drift(sol.energy())
        finding.check(f"change of the energy, polynomial inverse, {g} points [J]", energy, "not given",
                      (energy < 1e-11) == (g == 2))
    finding.remark = ("The figure is that of the exact inverse of M4, whose energy error with four points is 3e-8 J, "
                      "small but not zero. With the polynomial inverse (70), the default here, two points suffice.")
    return finding


def plot(finding, figure):
    draw_drifts(figure, finding.data["solutions"], "{}", "Gauss points")


if __name__ == "__main__":
    script(__file__)
