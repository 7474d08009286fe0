"""Fig. 2: snapshots of the rotating cuboid, mG(3), h = 0.05 s."""

import numpy as np
from common import box

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    sol = tf.solve(box(), tf.MixedGalerkin(3), n_elements=100)
    finding = Finding(data={"solution": sol}, remark="The paper names no numbers; the rotation is checked instead.")
    r = sol.rotation_matrix(sol.system.bodies[0], sol.t)
    error = np.abs(np.swapaxes(r, 1, 2) @ r - np.eye(3)).max()
    finding.check("largest |R^T R - I|", error, "0", error < 1e-12)
    return finding


def plot(finding, figure):
    finding.data["solution"].plot.snapshots([0, 0.5, 1, 1.5, 2, 2.5], ax=figure, spacing=6)


if __name__ == "__main__":
    script(__file__)
