"""Fig. 2: kinetic energy and second quotient of precision of case 1 (free, from an initial angular velocity).

Claim: the kinetic energy is identically preserved; the second quotient of precision is about 4.
"""

from common import check_energy, draw_energy, run

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import Finding, script
from timefem.studies import quotient_of_precision


def main(quick=False):
    sol = run(1)
    study = quotient_of_precision(find_case("nontwisting-1").make(), tf.NonTwistingEM(), 1000)
    finding = Finding(data={"sol": sol, "study": study})
    check_energy(finding, sol, 1)
    for what, value in (("smallest", study.quotients.min()), ("largest", study.quotients.max())):
        finding.check(f"{what} second quotient of precision", value, "about 4", abs(value - 4) < 0.05)
    return finding


def plot(finding, figure):
    draw_energy(figure, **finding.data)


if __name__ == "__main__":
    script(__file__)
