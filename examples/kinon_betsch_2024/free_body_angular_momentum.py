"""Fig. 8: freely rotating body by EML, h = 0.05 s: angular momentum and its increments.

Claim: all components of the spatial angular momentum are conserved.
"""

from common import draw_increments, free_body, largest_step

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = free_body()
    finding, momentum = Finding(data={"solution": sol}), sol.angular_momentum()
    for i in range(3):
        step = largest_step(momentum[:, i])
        finding.check(f"largest increment of L{i + 1} [kg m²/s]", step, "0", step < 180 * 1e-13)
    return finding


def plot(finding, figure):
    sol = finding.data["solution"]
    left, right = figure.subplots(1, 2)
    momentum = sol.angular_momentum()
    for i, style in enumerate(("-", "--", ":")):
        left.plot(sol.t, momentum[:, i], style, label=f"$L_{i + 1}$")
        draw_increments(right, sol, momentum[:, i], linestyle=style, label=f"$L_{i + 1}$")
    left.set(xlabel="time [s]", ylabel="angular momentum [kg m²/s]", xlim=(0, 2), ylim=(0, 200))
    left.legend(loc="lower left")
    low, high = right.get_ylim()
    right.set(ylabel="$L_i^{n+1} - L_i^n$ [kg m²/s]", ylim=(low, high + 0.15 * (high - low)))
    right.legend(ncols=3, loc="upper center")


if __name__ == "__main__":
    script(__file__)
