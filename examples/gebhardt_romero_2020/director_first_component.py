"""Fig. 10: first component of the third director in case 1, by the energy-momentum scheme and by DLA.

Claim: the responses are similar over 5 s, and can be distinguished in the last second, where EM oscillates more slowly.
Angular momenta in body axes and Hamiltonian are equal, the energy of DLA differs a little; both quotients are about 4.
"""

import numpy as np
from common import ENERGIES, body_momentum
from comparison import compare, draw

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import script
from timefem.studies import quotient_of_precision


def main(quick=False):
    finding = compare(0)
    em, dla = finding.data["solutions"].values()
    apart = np.abs(body_momentum(em) - body_momentum(dla)).max()
    finding.check("largest difference of the MAM [kg m²/s]", apart, "0", apart < 1e-10)
    apart = np.abs(em.energy() - dla.energy()).max()
    finding.check("largest difference of the Hamiltonians [J]", apart, "0", apart < 1e-9)
    energy = middle_energy(dla)
    finding.check("energy of DLA between the nodes [J]", energy.mean(), f"a little off {ENERGIES[1]:.3f}",
                  np.ptp(energy) < 1e-8 and 1e-4 < abs(energy.mean() / ENERGIES[1] - 1) < 1e-2)
    for element in (tf.NonTwistingEM(), tf.DLA()):
        study = quotient_of_precision(find_case("nontwisting-1").make(), element, 1000)
        finding.check(f"second quotient of precision, {element.name}", study.quotient, "about 4",
                      abs(study.quotient - 4) < 0.05)
    return finding


def middle_energy(sol):
    """Kinetic energy of the mean velocity of each step [J]."""
    frame, = sol.system.bodies
    rate = np.diff(sol.coordinates(frame, sol.t)[:, 3:], axis=0) / np.diff(sol.t)[:, None]
    directors = rate.reshape(-1, 3, 3)
    return np.einsum("ij,nia,nja->n", frame.euler_tensor, directors, directors) / 2


def plot(finding, figure):
    draw(finding, figure)


if __name__ == "__main__":
    script(__file__)
