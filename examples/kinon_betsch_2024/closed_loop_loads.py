"""Fig. 14: closed loop of four bars: the system, and the function of time of its loads.

The paper names no numbers in the figure; the impulse of the load is checked instead.
"""

import numpy as np
from common import closed_loop, draw_loop, frame

import timefem as tf
from timefem.reproduction import Finding, script

PULSE = tf.TrianglePulse(0.0, 0.5, 1.0, 100.0)


def main(quick=False):
    sol = closed_loop()
    finding = Finding(data={"solution": sol})
    momentum = sol.linear_momentum(1.0)[0]
    finding.check("linear momentum after the force 8 f(t) [kg m/s]", momentum, "400, by (127)",
                  abs(momentum - 400) < 1e-9)
    finding.remark = "Table 5 is lost; the largest value 100 of f is that of the authors' public code."
    return finding


def plot(finding, figure):
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    draw_loop(left, finding.data["solution"], 0.0)
    left.quiver(5, 0, 0, 5, 0, 0, color="k", arrow_length_ratio=0.2)
    left.text(9, 0, 1.2, r"$f$, $\tau$")
    left.set(xlim=(-6, 10), ylim=(-7, 7), zlim=(-3, 3))
    left.legend(ncols=2, loc="upper center", title="start, with spherical joints")
    frame(left, 0.68, (4, 4, 2))
    t = np.linspace(0, 2, 201)
    right.plot(t, [PULSE(x) for x in t])
    right.set(xlabel="time [s]", ylabel="$f(t)$", xlim=(0, 2),
              title=r"force $8\,f(t)\,e_1$ [N], torque $6\,f(t)\,e_1$ [N m]")


if __name__ == "__main__":
    script(__file__)
