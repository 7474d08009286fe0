"""Fig. 5: kinetic energy and second quotient of precision of case 2 (a load that vanishes, from rest).

Claim: the kinetic energy is preserved after the load; the second quotient of precision is about 4, under the load too.
"""

from common import check_energy, draw_energy
from loaded import check_quotients, energy_and_quotient

from timefem.reproduction import script


def main(quick=False):
    finding = energy_and_quotient(2, quick)
    check_energy(finding, finding.data["sol"], 2)
    check_quotients(finding, 2)
    return finding


def plot(finding, figure):
    draw_energy(figure, **finding.data)


if __name__ == "__main__":
    script(__file__)
