"""Fig. 6: error of the rotation of load case (ii), h = 0.05 s.

Claim: the largest errors of Simo and Vu-Quoc are 0.084 (h = 0.05 s) and 0.0035 (0.01 s), those of the present method
0.0022 and 0.000017.
"""

from common import SCHEMES, check_orders, compare, draw_errors, errors, largest, run

from timefem.reproduction import script

PAPER = {"corrected": (0.0022, 0.000017), "Simo and Vu-Quoc": (0.084, 0.0035)}


def main(quick=False):
    finding = compare("ii", 0.05)
    for name, coarse in largest(finding).items():
        turn, angle = errors(run("ii", SCHEMES[name], 0.01), "ii")
        angles = finding.data["errors"][name][2].max(), angle.max()
        for k, (h, value) in enumerate(zip((0.05, 0.01), (coarse, turn.max()), strict=True)):
            if name in PAPER:
                paper = PAPER[name][k]
                finding.check(f"largest difference of the angles, {name}, h = {h} s [rad]", angles[k], f"{paper:g}",
                              paper / 1.2 < angles[k] < paper * 1.2,
                              f"{paper / angles[k]:.1f} times smaller; which angle the paper takes is not known")
                finding.check(f"largest angle between the rotations, {name}, h = {h} s [rad]", value,
                              f"{paper:g}, of the angle", None, "another measure, nearer to the paper's number")
            else:
                finding.check(f"largest angle between the rotations, {name}, h = {h} s [rad]", value,
                              f"{PAPER['corrected'][k]:g} of the angle", value < 1.2 * PAPER["corrected"][k],
                              f"the formulas as printed are {value / PAPER['corrected'][k]:.0f} times less accurate")
    check_orders(finding, "ii", 0.05)
    return finding


def plot(finding, figure):
    draw_errors(finding, figure)


if __name__ == "__main__":
    script(__file__)
