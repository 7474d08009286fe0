"""Fig. 3: path of the third director on the unit sphere in case 1 (free, from an initial angular velocity).

Claim: the path lies in a plane that cuts the sphere into halves, and is a geodesic.
"""

import numpy as np
from common import LENGTHS, draw_sphere, plane, run, third_director

from timefem.reproduction import Finding, script


def main(quick=False):
    d3 = third_director(run(1, h=LENGTHS[quick][1]))
    finding = Finding(data={"path": d3})
    apart = np.abs(d3 @ plane(d3)).max()
    finding.check("largest distance from a plane through the centre", apart, "0", apart < 1e-12)
    return finding


def plot(finding, figure):
    draw_sphere(figure, {"$d_3$": finding.data["path"]})


if __name__ == "__main__":
    script(__file__)
