"""Fig. 4: steady precession of the top: x(t) and z(t) of the centre of mass by QUAT_EM and DIR_EM, step 0.01 s.

Claim: DIR_EM performs best for a given step.
"""

import numpy as np
from common import draw_mass_centre, run_top

from timefem.cases.single_bodies import exact_mass_centre, mass_centre
from timefem.reproduction import Finding, script


def main(quick=False):
    solutions = {name: run_top(name, 100) for name in ("QUAT_EM", "DIR_EM")}
    finding = Finding(data={"solutions": solutions})
    errors = {name: np.abs(mass_centre(sol) - exact_mass_centre(sol.t)).max(axis=0) for name, sol in solutions.items()}
    for i, letter in ((0, "x"), (2, "z")):
        for name, error in errors.items():
            finding.check(f"largest error of {letter}, {name} [m]", error[i], "DIR_EM smaller",
                          errors["DIR_EM"][i] < errors["QUAT_EM"][i])
    return finding


def plot(finding, figure):
    draw_mass_centre(figure, finding.data["solutions"], exact_mass_centre, mass_centre)


if __name__ == "__main__":
    script(__file__)
