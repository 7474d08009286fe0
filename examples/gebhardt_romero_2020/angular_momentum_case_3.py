"""Fig. 7: angular momentum of case 3 (initial velocity and a load that vanishes), in space and in body axes.

Claim: while the load acts, both vary. After it, the momenta in space (SAM) oscillate with constant amplitude and
frequency, those in body axes (MAM) are preserved; the third is always zero.
"""

from common import LENGTHS, check_momenta, draw_momenta, remark_of_loads, run

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = run(3, h=LENGTHS[quick][3])
    finding = Finding(data={"solution": sol}, remark=remark_of_loads(3, quick))
    check_momenta(finding, sol, 3)
    return finding


def plot(finding, figure):
    draw_momenta(figure, finding.data["solution"], 3)


if __name__ == "__main__":
    script(__file__)
