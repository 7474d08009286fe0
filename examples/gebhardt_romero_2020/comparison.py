"""Figures 10 to 12: the third director of case 1 by the energy-momentum scheme and by discrete Lagrange-d'Alembert."""

import numpy as np
from common import RATES, run, third_director, turning

import timefem as tf
from timefem.reproduction import Finding

AXIS = np.array([6, -18, 0]) / np.linalg.norm([6, -18, 0])


def compare(component):
    """Finding about one component of d3, counted from 0."""
    solutions = {"EM": run(1), "DLA": run(1, tf.DLA())}
    directors = {name: third_director(sol) for name, sol in solutions.items()}
    t = solutions["EM"].t
    angle = RATES[1] * t[:, None]
    exact = np.cos(angle) * [0, 0, 1] + np.sin(angle) * np.cross(AXIS, [0, 0, 1])
    finding = Finding(data={"t": t, "curves": {n: d[:, component] for n, d in directors.items()},
                            "exact": exact[:, component], "component": component, "solutions": solutions})
    apart = np.abs(directors["EM"][:, component] - directors["DLA"][:, component])
    size = np.abs(exact[:, component]).max()
    early, late = apart[t <= 1].max() / size, apart[t >= 4].max() / size
    finding.check("largest difference in [0, 1] s, of the amplitude", early, "similar", early < 0.05)
    finding.check("largest difference in [4, 5] s, of the amplitude", late, "can be distinguished", late > 0.1)
    rates = {name: turning(d)[1][-1] / t[-1] for name, d in directors.items()}
    finding.check("rate of EM [rad/s]", rates["EM"], "slower than DLA", rates["EM"] < rates["DLA"])
    finding.check("rate of DLA [rad/s]", rates["DLA"], "faster than EM", rates["DLA"] > rates["EM"])
    late, early = (abs(rates[name] - RATES[1]) * t[-1] for name in ("EM", "DLA"))
    finding.remark = (f"The exact rate is {RATES[1]:.4f} rad/s, between the two: after 5 s EM is {late:.3f} rad late "
                      f"and DLA {early:.3f} rad early.")
    return finding


def draw(finding, figure):
    """The component over the whole time (left) and the last second (right)."""
    t, axes = finding.data["t"], figure.subplots(1, 2)
    for ax, span in zip(axes, ((0, 5), (4, 5)), strict=True):
        seen = (t >= span[0]) & (t <= span[1])
        for (name, values), style in zip(finding.data["curves"].items(), ("-", "--"), strict=True):
            ax.plot(t[seen], values[seen], style, linewidth=1, label=name)
        ax.set(xlabel="time [s]", xlim=span, title=f"interval [{span[0]}, {span[1]}] s")
    i = finding.data["component"] + 1
    axes[0].set_ylabel(f"component {i} of $d_3$")
    seen = t >= 4
    axes[1].plot(t[seen], finding.data["exact"][seen], "k:", linewidth=0.8, label="exact")
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncol=3)
