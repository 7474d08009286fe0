"""What the figures of the right-angle cantilever share: motions of its elbow, errors over the step, orders."""

import numpy as np

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import Finding

SCHEMES = {"Zupan and Zupan": tf.Zupan3Printed(), "Simo and Vu-Quoc": tf.NewmarkSO3()}
LENGTHS = 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005
SHORT = 0.02, 0.01, 0.005, 0.002
ORDERS = 0.001, 0.02  # [s] steps from which orders are taken: above, waves are not resolved; below is round-off
UNIT = {"displacement": "m", "rotation": "rad"}
REMARK = ("Five cubic elements per leg with nodes in quaternions, error: largest of {n} times up to {t_end:g} s "
          "against the same scheme with h = {h:g} s. The scheme of Zupan and Zupan is taken as printed, with strains "
          "that follow the velocities (the paper leaves them to its reference [14]): the last update, of order 3, "
          "moves positions and rotations only, and what moves the beam stays of order 2. So does the error; it is "
          "smaller by a constant factor. "
          "Where velocities take the last update too the scheme is of order 3, but vibrations of frequency w grow by "
          "(h w)^4/77 in each step, and the axial ones of these elements (4300/s) leave it of no use above some "
          "h = 1e-4 s.")


def motion(element, h, t_end):
    """Positions and quaternions of the elbow at each 0.1 s, of a run with the step h."""
    sol = tf.solve(find_case("right-angle-cantilever").make(t_end=t_end), element, round(t_end / h), progress=False)
    if not sol.success:
        raise tf.SolveError(f"{element.name}, h = {h:g} s: {sol.status.message}")
    t = np.arange(1, round(t_end / 0.1) + 1) * 0.1
    return sol.position("elbow", t), sol.quaternion("elbow", t)


def difference(quantity, one, other):
    """Largest distance [m], or angle of the rotation between them [rad], of two motions."""
    if quantity == "displacement":
        return np.linalg.norm(one[0] - other[0], axis=1).max()
    chord = np.minimum(*(np.linalg.norm(one[1] - sign * other[1], axis=1) for sign in (1, -1)))
    return (4 * np.arcsin(chord / 2)).max()


def compare(quantity, quick):
    """Finding with the errors of both schemes over h, and their orders."""
    lengths, finest, t_end = (SHORT, 0.0005, 1.0) if quick else (LENGTHS, 0.00025, 4.0)
    remark = REMARK.format(n=round(t_end / 0.1), t_end=t_end, h=finest)
    finding = Finding(data={"quantity": quantity, "h": np.array(lengths), "errors": {}}, remark=remark)
    last = {}
    for name, element in SCHEMES.items():
        last[name] = motion(element, finest, t_end)
        finding.data["errors"][name] = np.array([difference(quantity, motion(element, h, t_end), last[name])
                                                 for h in lengths])
    h = finding.data["h"]
    used = (h >= ORDERS[0]) & (h <= ORDERS[1])
    for (name, errors), claimed in zip(finding.data["errors"].items(), ("2; the paper says 3", "2"), strict=True):
        order = np.polyfit(np.log(h[used]), np.log(errors[used]), 1)[0]
        finding.check(f"order of the {quantity}, {name}, h = {h[used][-1]:g} to {h[used][0]:g} s", order, claimed,
                      abs(order - 2) < 0.15)
    for name, errors in finding.data["errors"].items():
        error = errors[h == 0.01][0]
        finding.check(f"error of the {quantity}, {name}, h = 0.01 s [{UNIT[quantity]}]", error,
                      "within the axis of the figure, 1e-7 to 1", 1e-7 < error < 1)
    gains = finding.data["errors"]["Simo and Vu-Quoc"][used] / finding.data["errors"]["Zupan and Zupan"][used]
    finding.check("error of Simo and Vu-Quoc / Zupan and Zupan, smallest", gains.min(), "above 1", gains.min() > 1)
    between = difference(quantity, *last.values())
    finding.check(f"between the finest runs of the schemes [{UNIT[quantity]}]", between, "0", between < 1e-4)
    return finding


def draw(finding, figure):
    """Errors over the step."""
    ax, h = figure.subplots(), finding.data["h"]
    for (name, errors), marker in zip(finding.data["errors"].items(), "os", strict=True):
        ax.loglog(h, errors, f"{marker}-", markersize=4, label=name)
    for power, style in ((2, "k--"), (3, "k:")):
        ax.loglog(h, 3 * errors[h == 0.01] * (h / 0.01)**power, style, linewidth=1, label=f"$h^{power}$")
    quantity = finding.data["quantity"]
    ax.set(xlabel="h [s]", ylabel=f"error of the elbow's {quantity} [{UNIT[quantity]}]")
    ax.legend(loc="upper left")
