"""Fig. 1: free rigid body: energy and angular momentum by QUAT_EM, step 0.05 s; error of the rotation at 1 s.

Claim: QUAT_EM conserves energy and angular momentum with a fairly large step.
"""

import numpy as np
from common import SCHEMES, draw_errors, run_free_body

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import Finding, script

KNOWN = {"QUAT_EM": 0.0363, "QUAT_VI": 0.1459, "DIR_EM": 0.0728, "ALGO_C1": 0.0279}  # of independent codes, 0.005 s


def main(quick=False):
    sol, lengths = run_free_body("QUAT_EM", 0.05, 5.0), 0.01 / 2.0 ** np.arange(5 if quick else 7)
    reference = tf.solve(find_case("free-body").make(), tf.MixedGalerkin(4), n_elements=1000)
    exact = reference.rotation_matrix("body", 1.0)
    errors = {name: np.array([np.linalg.norm(exact @ run_free_body(name, h).rotation_matrix("body", 1.0).T - np.eye(3))
                              for h in lengths]) for name in SCHEMES}
    orders = {name: np.polyfit(np.log(lengths[1:]), np.log(e[1:]), 1)[0] for name, e in errors.items()}
    finding = Finding(data={"solution": sol, "lengths": lengths, "errors": errors, "orders": orders})
    for values, what in ((sol.energy(), "energy"), (sol.angular_momentum(), "angular momentum")):
        change = np.abs(values - values[0]).max() / np.abs(values[0]).max()
        finding.check(f"relative change of the {what}, QUAT_EM", change, "0", change < 1e-12)
    for name, order in orders.items():
        finding.check(f"order of {name}", order, "not given; second-order schemes", abs(order - 2) < 0.05)
    for name, values in errors.items():
        finding.check(f"error of {name} at a step of 0.005 s", values[1], "not given",
                      abs(values[1] / KNOWN[name] - 1) < 0.05)
    finding.remark = ("The reference is mG(4) with 1000 elements, instead of a step of 1e-6 s; errors are "
                      "compared with those of independent codes.")
    return finding


def plot(finding, figure):
    left, right = figure.subplots(1, 2)
    sol = finding.data["solution"]
    left.plot(sol.t, sol.energy(), "k-", label="energy")
    left.set(xlabel="time [s]", ylabel="energy [J]", xlim=(0, 5), ylim=(0, 3200))
    other = left.twinx()
    other.grid(False)
    for i, style in enumerate(("--", ":", "-.")):
        other.plot(sol.t, sol.angular_momentum()[:, i], style, color=f"C{i}", label=f"$J_{i + 1}$")
    other.set(ylabel="angular momentum [kg m²/s]", ylim=(0, 240))
    lines = [*left.get_lines(), *other.get_lines()]
    other.legend(lines, [line.get_label() for line in lines], ncols=4, loc="upper center", fontsize="x-small",
                 columnspacing=1, handlelength=1.5)
    draw_errors(right, finding.data["lengths"], finding.data["errors"], finding.data["orders"],
                r"$\|R_\mathrm{ref} R^T - I\|$ at 1 s")


if __name__ == "__main__":
    script(__file__)
