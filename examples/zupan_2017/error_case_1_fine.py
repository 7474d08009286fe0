"""Fig. 4: error of the rotation of load case (i), h = 0.01 s.

Claim: the method is of third order; its errors are much smaller than those of Simo and Vu-Quoc, and grow with time.
"""

from common import T_END, check_gain, check_orders, compare, draw_errors

from timefem.reproduction import script


def main(quick=False):
    finding = compare("i", 0.01)
    check_gain(finding, 100)
    check_orders(finding, "i", 0.01, until=T_END / 2)
    t, turn, _ = finding.data["errors"]["corrected"]
    growth = turn[t > 10].max() / turn[t < 5].max()
    finding.check("largest error after 10 s / before 5 s, corrected", growth, "above 1", growth > 1)
    return finding


def plot(finding, figure):
    draw_errors(finding, figure)


if __name__ == "__main__":
    script(__file__)
