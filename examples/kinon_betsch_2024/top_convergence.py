"""Fig. 13: heavy top: relative error of the centre of mass at t = 0.1 s over the step, by EML, EMH, MPL and MPH.

Claim: all converge with order two; the Livens-based schemes have lower errors than the Hamiltonian ones, and MPL the
lowest.
"""

import numpy as np
from common import COLOURS, SCHEMES, run_top

from timefem.cases.single_bodies import exact_mass_centre, mass_centre
from timefem.reproduction import Finding, script


def main(quick=False):
    lengths = 0.01 / 2.0 ** np.arange(5 if quick else 7)
    exact = exact_mass_centre(0.1)
    errors = {name: np.array([np.linalg.norm(mass_centre(run_top(name, h, 0.1), 0.1) - exact) for h in lengths])
              / np.linalg.norm(exact) for name in SCHEMES}
    orders = {name: np.polyfit(np.log(lengths[2:]), np.log(e[2:]), 1)[0] for name, e in errors.items()}
    finding = Finding(data={"lengths": lengths, "errors": errors, "orders": orders})
    for name, order in orders.items():
        finding.check(f"order of {name}", order, "2", abs(order - 2) < 0.05)
    livens, hamilton = (np.maximum(errors[f"EM{i}"], errors[f"MP{i}"]) if i == "L" else
                        np.minimum(errors[f"EM{i}"], errors[f"MP{i}"]) for i in "LH")
    finding.check("largest ratio of a Livens-based to a Hamiltonian error", (livens / hamilton).max(), "below 1",
                  (livens / hamilton).max() < 1)
    lowest = (errors["MPL"] / errors["EML"]).max()
    finding.check("largest ratio of the errors of MPL and EML", lowest, "below 1", lowest < 1)
    finding.remark = ("The ranking depends on the time: at t = 1 s, h = 0.00125 s, EML is better than MPL (7.0e-3 "
                      "against 1.1e-2). MPH with the exact inverse of M4, instead of (139), is MPL.")
    return finding


def plot(finding, figure):
    ax, h = figure.subplots(), finding.data["lengths"]
    for (name, values), marker in zip(finding.data["errors"].items(), "osDv", strict=True):
        ax.loglog(h, values, f"{marker}-", color=COLOURS[name], markersize=4,
                  label=f"{name}: order {finding.data['orders'][name]:.2f}")
    ax.loglog(h, 0.4 * finding.data["errors"]["MPL"][-1] * (h / h[-1]) ** 2, "k--", linewidth=1, label="$h^2$")
    ax.set(xlabel="step $h$ [s]", ylabel="relative error $e$ at 0.1 s")
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.legend()


if __name__ == "__main__":
    script(__file__)
