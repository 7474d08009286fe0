"""Numbers: Tables 7 to 9: steady invariants by the energy-momentum scheme and by discrete Lagrange-d'Alembert.

Claim: in case 1 all but the energy of DLA are equal; in cases 2 and 3 the invariants of DLA differ from those of EM, in
excellent agreement. Both take 3 to 4 iterations on average; the costs are practically the same.
"""

import time

import numpy as np
from common import ENERGIES, LENGTHS, MOMENTA, body_momentum, remark_of_loads, run, steady

import timefem as tf
from timefem.reproduction import Finding, script

ELEMENTS = {"EM": tf.NonTwistingEM(), "DLA": tf.DLA()}


def main(quick=False):
    finding, errors = Finding(), {}
    for number, h in LENGTHS[quick].items():
        found: dict[str, tf.Solution] = {}
        times: dict[str, list[float]] = {name: [] for name in ELEMENTS}
        for _ in range(2 if quick else 6):  # the first one compiles
            for name, element in ELEMENTS.items():
                start = time.process_time()
                found[name] = run(number, element, h=h)
                times[name].append(time.process_time() - start)
        momenta = {name: body_momentum(sol)[steady(sol, number)] for name, sol in found.items()}
        energies = {name: sol.energy()[-1] for name, sol in found.items()}
        for i, exact in enumerate(MOMENTA[number]):
            for name, values in momenta.items():
                finding.check(f"case {number}: MAM {i + 1} by {name} [kg m²/s]", values[-1, i],
                              f"not given here; {exact:.4f}, exact", None, "the tables are images")
        apart = np.abs(momenta["EM"][-1] - momenta["DLA"][-1]).max() / np.abs(MOMENTA[number]).max()
        of_energy = abs(energies["EM"] - energies["DLA"]) / ENERGIES[number]
        for what, value in (("MAM", apart), ("Hamiltonians", of_energy)):
            equal, claim = value < 1e-11, "0" if number == 1 else "differ, in excellent agreement"
            finding.check(f"case {number}: relative difference of the {what}", value, claim,
                          equal if number == 1 else not equal and value < 1e-3)
        for name, values in momenta.items():
            change = np.ptp(values, axis=0).max() / np.abs(MOMENTA[number]).max()
            finding.check(f"case {number}: relative change of the MAM, {name}", change, "0", change < 1e-11)
            errors[number, name] = np.abs(values[-1, :2] - MOMENTA[number]).max() / np.abs(MOMENTA[number]).max()
        for name, sol in found.items():
            mean = sol.statistics["newton_iterations"]["mean"]
            finding.check(f"case {number}: iterations of {name}, mean", mean, "3 to 4", 2.95 < mean < 4.05,
                          f"the step here is {h:g} s and not 0.005 s, so that the guess is better")
        more = np.divide(*(found[name].statistics["newton_iterations"]["mean"] for name in ("DLA", "EM")))
        ratio = np.median(np.array(times["DLA"][1:]) / times["EM"][1:])
        finding.check(f"case {number}: time of DLA over that of EM", ratio, "practically the same", 0.8 < ratio < 1.25,
                      f"DLA takes {more:.2f} times the iterations, {ratio / more:.2f} times as long each")
    finding.data["errors"] = errors
    finding.remark = remark_of_loads(2, quick)
    return finding


def plot(finding, figure):
    ax = figure.subplots()
    for name, marker, size in (("EM", "o", 12), ("DLA", "s", 6)):
        values = [finding.data["errors"][number, name] for number in (1, 2, 3)]
        ax.semilogy((1, 2, 3), values, marker, markersize=size, fillstyle="none", label=name)
    ax.set(xlabel="case", ylabel="relative error of the steady momenta", xticks=(1, 2, 3))
    ax.legend()


if __name__ == "__main__":
    script(__file__)
