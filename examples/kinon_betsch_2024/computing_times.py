"""Fig. 9: time of computation of EML, REML and Null-EML for the freely rotating body, 10 s.

Claim: elimination of velocities and momenta (REML) saves nearly half of the time; the null-space method
(Null-EML) again lowers the effort notably.
"""

import time

import numpy as np

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import Finding, script

ELEMENTS = {"EML": tf.EML(), "REML": tf.REML(), "Null-EML": tf.NullEML()}


def measure(lengths, rounds):
    """Times of interleaved runs [s], by scheme, shape (rounds, len(lengths)); a further first round compiles."""
    problem = find_case("free-body").make(t_end=10.0)
    times = {name: np.zeros((rounds + 1, len(lengths))) for name in ELEMENTS}
    for n in range(rounds + 1):
        for i, h in enumerate(lengths):
            for name, element in ELEMENTS.items():
                start = time.perf_counter()
                solution = tf.solve(problem, element, n_elements=round(10 / h))
                times[name][n, i] = time.perf_counter() - start
                assert solution.success, solution.status.message
    return {name: t[1:] for name, t in times.items()}


def main(quick=False):
    lengths = (0.005, 0.0025, 0.00125) if quick else (0.005, 0.0025, 0.00125, 0.000625)
    times = measure(lengths, rounds=15 if quick else 41)
    finding = Finding(data={"lengths": lengths, "times": times})
    reml, null = (np.median(times[name] / times["EML"]) for name in ("REML", "Null-EML"))
    finding.check("time of REML over that of EML", reml, "about 0.5", 0.45 < reml < 0.55,
                  "compiled, the equations of a single body cost little to solve, and the terms are the same")
    finding.check("time of Null-EML over that of EML", null, "below 1", null < 1)
    further = np.median(times["Null-EML"] / times["REML"])
    finding.check("time of Null-EML over that of REML", further, "below 1", further < 1,
                  "the terms of the increments cost more than is saved with 7 unknowns instead of 8")
    finding.remark = ("Medians of interleaved runs on one core. With 0.02 s and longer steps EML does not converge up "
                      "to 10 s.")
    return finding


def plot(finding, figure):
    ax = figure.subplots()
    for (name, values), marker in zip(finding.data["times"].items(), "osD", strict=True):
        ax.semilogx(finding.data["lengths"], 1e3 * np.median(values, axis=0), f"{marker}-", label=name)
    ax.set(xlabel="step $h$ [s]", ylabel="time of computation [ms]", ylim=(0, None),
           title="free body, 10 s, medians of interleaved runs")
    ax.set_xticks(finding.data["lengths"], [f"{h:g}" for h in finding.data["lengths"]])
    ax.minorticks_off()
    ax.legend()


if __name__ == "__main__":
    script(__file__)
