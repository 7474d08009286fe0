"""Figures 5 and 8: energy and quotient of precision under a load that vanishes."""

import numpy as np
from common import LENGTHS, RATES, remark_of_loads, run

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import Finding
from timefem.studies import quotient_of_precision


def energy_and_quotient(number, quick):
    """Finding with a solution over 5 s and a study over 1.5 s (quick) or 5 s."""
    h, t_end = LENGTHS[quick][number], 1.5 if quick else 5.0
    study = quotient_of_precision(find_case(f"nontwisting-{number}").make(t_end=t_end), tf.NonTwistingEM(),
                                  round(t_end / h))
    return Finding(data={"sol": run(number, h=h), "study": study}, remark=remark_of_loads(number, quick))


def check_quotients(finding, number):
    """About 4 with short steps, and not with the paper's."""
    study = finding.data["study"]
    loaded = study.quotients[study.t <= 1]
    for what, values in (("under the load", loaded), ("of all times", study.quotients)):
        worst = values[np.abs(values - 4).argmax()]
        finding.check(f"quotient farthest from 4, {what}, h = {study.h:g} s", worst, "about 4", abs(worst - 4) < 0.1)
    printed = np.median(quotient_of_precision(find_case(f"nontwisting-{number}").make(), tf.NonTwistingEM(),
                                              1000).quotients)
    finding.check("median quotient, h = 0.005 s as printed", printed,
                  f"cannot be 4 at {RATES[number] * 0.005:.1f} rad a step; the paper says it is", abs(printed - 4) > 1)
    finding.remark += f" As printed (loads and step), the median of the quotient is {printed:.2f} and not 4."
