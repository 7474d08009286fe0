"""Fig. 3: error of the rotation of load case (i), h = 0.05 s.

Claim: the higher order of accuracy of the present method is evident.
"""

from common import check_gain, compare, draw_errors

from timefem.reproduction import script


def main(quick=False):
    finding = compare("i", 0.05)
    check_gain(finding, 10)
    return finding


def plot(finding, figure):
    draw_errors(finding, figure)


if __name__ == "__main__":
    script(__file__)
