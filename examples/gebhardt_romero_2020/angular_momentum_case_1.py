"""Fig. 1: angular momentum of case 1 (free, from an initial angular velocity), in space and in body axes.

Claim: the momenta in space (SAM) oscillate with constant amplitude and frequency; those in body axes (MAM) are
identically preserved, the third is zero.
"""

from common import LENGTHS, check_momenta, draw_momenta, run

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = run(1, h=LENGTHS[quick][1])
    finding = Finding(data={"solution": sol})
    check_momenta(finding, sol, 1)
    return finding


def plot(finding, figure):
    draw_momenta(figure, finding.data["solution"], 1)


if __name__ == "__main__":
    script(__file__)
