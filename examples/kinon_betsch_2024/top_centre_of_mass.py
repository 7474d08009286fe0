"""Fig. 12: heavy top, h = 0.01 s: vertical and horizontal component of the centre of mass by EML and EMH.

Claim: both are alike in the vertical component; EML is more accurate in the horizontal one.
"""

import numpy as np
from common import COLOURS, run_top

from timefem.cases.single_bodies import exact_mass_centre, mass_centre
from timefem.reproduction import Finding, script


def main(quick=False):
    solutions = {name: run_top(name) for name in ("EML", "EMH")}
    errors = {name: np.abs(mass_centre(sol) - exact_mass_centre(sol.t)).max(axis=0) for name, sol in solutions.items()}
    finding = Finding(data={"solutions": solutions})
    vertical = errors["EML"][2] / errors["EMH"][2]
    finding.check("largest vertical error of EML over that of EMH", vertical, "about 1", 0.7 < vertical < 1.4)
    for name, error in errors.items():
        finding.check(f"largest horizontal error of {name} [m]", error[0], "EML smaller",
                      errors["EML"][0] < 0.9 * errors["EMH"][0])
    return finding


def plot(finding, figure):
    for ax, i, name in zip(figure.subplots(1, 2), (2, 0), "zx", strict=True):
        t = np.linspace(0, 2, 400)
        ax.plot(t, exact_mass_centre(t)[:, i], "k-", linewidth=1, label="analytic")
        for (label, sol), style in zip(finding.data["solutions"].items(), ("--", ":"), strict=True):
            ax.plot(sol.t, mass_centre(sol)[:, i], style, color=COLOURS[label], label=label)
        low, high = ax.get_ylim()
        ax.set(xlabel="time [s]", ylabel=f"${name}$ of the centre of mass [m]", xlim=(0, 2),
               ylim=(low, high + 0.15 * (high - low)))
        ax.legend(ncols=3, loc="upper center", fontsize="x-small")


if __name__ == "__main__":
    script(__file__)
