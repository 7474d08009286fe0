"""Fig. 4: angular momentum of case 2 (a load that vanishes, from rest), in space and in body axes.

Claim: while the load acts, both vary from zero. After it, the momenta in space (SAM) oscillate with constant amplitude
and frequency, those in body axes (MAM) are preserved; the third is always zero.
"""

from common import LENGTHS, check_momenta, draw_momenta, remark_of_loads, run

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = run(2, h=LENGTHS[quick][2])
    finding = Finding(data={"solution": sol}, remark=remark_of_loads(2, quick))
    check_momenta(finding, sol, 2)
    return finding


def plot(finding, figure):
    draw_momenta(figure, finding.data["solution"], 2)


if __name__ == "__main__":
    script(__file__)
