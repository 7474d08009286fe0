"""Fig. 9: snapshots of the physical pendulum, mG(1), h = 0.1 s."""

from common import pendulum

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    sol = tf.solve(pendulum(), tf.MixedGalerkin(1), n_elements=50)
    finding = Finding(data={"solution": sol}, remark="The paper names no numbers; the fixed point is checked instead.")
    error = abs(sol.constraints()[0]).max()
    finding.check("largest violation of the constraints [m]", error, "0", error < 1e-11)
    return finding


def plot(finding, figure):
    finding.data["solution"].plot.snapshots([0, 0.5, 1, 1.5, 2], ax=figure)


if __name__ == "__main__":
    script(__file__)
