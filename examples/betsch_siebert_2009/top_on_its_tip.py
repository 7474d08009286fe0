"""Fig. 2: symmetrical top on its tip, drawn at the start, with the path of its centre of mass by QUAT_EM.

The paper's figure is a sketch without numbers; the closed form of the steady precession is checked instead.
"""

import numpy as np
from common import run_top

import timefem as tf
from timefem.cases.single_bodies import HEIGHT, cone, exact_mass_centre, mass_centre, top_on_tip
from timefem.reproduction import Finding, script


def main(quick=False):
    finding = Finding(data={"solution": run_top("QUAT_EM", 1000)})
    fine = tf.solve(top_on_tip(), tf.MixedGalerkin(4), n_elements=400)
    error = np.abs(mass_centre(fine) - exact_mass_centre(fine.t)).max()
    finding.check("distance of the centre of mass to the closed form, mG(4) [m]", error, "0", error < 1e-10)
    return finding


def plot(finding, figure):
    sol, ax = finding.data["solution"], figure.add_subplot(projection="3d")
    rotation = sol.rotation_matrix("top", 0.0)
    ax.plot_surface(*cone(rotation), color="C0", alpha=0.5, linewidth=0)
    for i in range(3):
        axis = np.eye(3)[i]
        ax.quiver(0, 0, 0, *(0.06 * axis), color="k", linewidth=1, arrow_length_ratio=0.15)
        ax.text(*(0.074 * axis), f"$e_{i + 1}$", ha="center", va="center")
    ax.plot(*np.stack([np.zeros(3), 1.4 * HEIGHT * rotation[:, 2]], axis=1), "C3-.", linewidth=1)
    ax.text(*(1.45 * HEIGHT * rotation[:, 2]), "$d_3$", color="C3")
    ax.plot(*mass_centre(sol).T, "k--", linewidth=1, label="path of the centre of mass, QUAT_EM")
    ax.plot(*mass_centre(sol, 0.0)[:, None], "ko", markersize=4)
    ax.set(xlabel="$x$ [m]", ylabel="$y$ [m]", zlabel="$z$ [m]", xlim=(-0.1, 0.1), ylim=(-0.13, 0.07), zlim=(0, 0.1))
    ax.locator_params(nbins=4)
    ax.set_aspect("equal")
    ax.view_init(20, 40)
    ax.zaxis.set_rotate_label(False)
    ax.zaxis.label.set_rotation(90)
    ax.legend(loc="upper left")


if __name__ == "__main__":
    script(__file__)
