"""Fig. 3: steady precession of the top: energy and 3-component of the angular momentum by QUAT_EM, step 0.01 s; error
of the centre of mass at 1 s.

Claim: QUAT_EM conserves both, independent of the step; DIR_EM is the most accurate scheme for a given step.
"""

import numpy as np
from common import SCHEMES, draw_errors, run_top

from timefem.cases.single_bodies import exact_mass_centre, mass_centre
from timefem.reproduction import Finding, script


def main(quick=False):
    sol, counts = run_top("QUAT_EM", 100), 160 * 2 ** np.arange(5 if quick else 7)
    exact = exact_mass_centre(1.0)
    errors = {name: np.array([np.linalg.norm(mass_centre(run_top(name, n), 1.0) - exact) for n in counts])
              / np.linalg.norm(exact) for name in SCHEMES}
    orders = {name: -np.polyfit(np.log(counts[2:]), np.log(e[2:]), 1)[0] for name, e in errors.items()}
    finding = Finding(data={"solution": sol, "lengths": 1 / counts, "errors": errors, "orders": orders})
    for values, what in ((sol.energy(), "energy"), (sol.angular_momentum()[:, 2], "3-component of angular momentum")):
        change = np.abs(values / values[0] - 1).max()
        finding.check(f"relative change of the {what}, QUAT_EM", change, "0", change < 1e-12)
    for name, order in orders.items():
        finding.check(f"order of {name}", order, "not given; second-order schemes", abs(order - 2) < 0.06)
    for name in ("QUAT_EM", "QUAT_VI", "ALGO_C1"):
        ratio = (errors["DIR_EM"] / errors[name]).max()
        finding.check(f"error of DIR_EM over that of {name}, largest", ratio, "below 1", ratio < 1)
    return finding


def plot(finding, figure):
    left, right = figure.subplots(1, 2)
    sol = finding.data["solution"]
    left.plot(sol.t, sol.energy(), "k-", label="energy")
    left.set(xlabel="time [s]", ylabel="energy [J]", xlim=(0, 1), ylim=(0, 7.5))
    other = left.twinx()
    other.grid(False)
    other.plot(sol.t, sol.angular_momentum()[:, 2], "C0--", label="$J_3$")
    other.set(ylabel="angular momentum [kg m²/s]", ylim=(0, 0.12))
    lines = [*left.get_lines(), *other.get_lines()]
    other.legend(lines, [line.get_label() for line in lines], ncols=2, loc="upper center")
    draw_errors(right, finding.data["lengths"], finding.data["errors"], finding.data["orders"],
                r"relative error of $\varphi$ at 1 s")


if __name__ == "__main__":
    script(__file__)
