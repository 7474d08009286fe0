"""Fig. 10: heavy top: the system, and increments of the generalized energy by EML, EMH, MPL and MPH, h = 0.01 s.

Claim: the energy-momentum schemes EML and EMH conserve the energy, the midpoint rules MPL and MPH do not.
"""

import numpy as np
from common import COLOURS, SCHEMES, frame, generalized_energy, largest_step, run_top

from timefem.cases.single_bodies import cone, exact_mass_centre, mass_centre
from timefem.reproduction import Finding, script


def main(quick=False):
    solutions = {name: run_top(name, t_end=0.5 if quick else 2.0) for name in SCHEMES}
    finding = Finding(data={"solutions": solutions})
    for name, sol in solutions.items():
        step, kept = largest_step(generalized_energy(sol)), name.startswith("EM")
        finding.check(f"largest increment of E, {name} [J]", step if sol.success else np.nan, "0" if kept else "not 0",
                      sol.success and (step < 5e-13 if kept else step > 1e-6))
    finding.remark = ("The inertia is that of Betsch & Siebert; (114) prints the parallel-axis term with the wrong "
                      "moment. E of MPL contains the part of v along the quaternion, which the scheme leaves to "
                      "alternate; its Hamiltonian changes by "
                      f"{largest_step(solutions['MPL'].energy()):.0e} J per step at most.")
    return finding


def plot(finding, figure):
    solutions = finding.data["solutions"]
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    first = solutions["EML"]
    left.plot_surface(*cone(first.rotation_matrix("top", 0.0)), color="C0", alpha=0.5, linewidth=0)
    left.plot(*exact_mass_centre(np.linspace(0, 0.63, 80)).T, "k--", linewidth=1, label="path of the centre of mass")
    left.plot(*mass_centre(first, 0.0)[:, None], "ko", markersize=4)
    left.set(xlim=(-0.1, 0.1), ylim=(-0.13, 0.07), zlim=(0, 0.1))
    left.view_init(15, 15)
    frame(left, 0.72, (2, 2, 3))
    left.legend(loc="upper center", fontsize="x-small")
    for name, sol in solutions.items():
        steps = np.abs(np.diff(generalized_energy(sol)))
        right.semilogy(sol.t[1:], np.maximum(steps, 1e-16), linewidth=1, color=COLOURS[name], label=name)
    right.set(xlabel="time [s]", ylabel="$|E^{n+1} - E^n|$ [J], zeros at 1e-16", xlim=(0, first.t[-1]),
              ylim=(3e-17, 1e3))
    right.legend(ncols=4, loc="upper center", fontsize="x-small", columnspacing=1, handlelength=1.4)


if __name__ == "__main__":
    script(__file__)
