"""Fig. 10: Hamiltonian of the physical pendulum by mG(1), quaternions, four Gauss points, h = 0.1 s.

Claim: the Hamiltonian of the constrained system is conserved.
"""

from common import drift, pendulum

import timefem as tf
from timefem.reproduction import Finding, script


def main(quick=False):
    sol = tf.solve(pendulum(), tf.MixedGalerkin(1, n_points=4), n_elements=50)
    finding, change = Finding(data={"solution": sol}), drift(sol.energy())
    finding.check("change of the Hamiltonian [J]", change, "0", change < 1e-11)
    return finding


def plot(finding, figure):
    finding.data["solution"].plot.energy(figure.subplots())


if __name__ == "__main__":
    script(__file__)
