"""Fig. 6: path of the third director on the unit sphere in case 2 (a load that vanishes, from rest).

Claim: the path lies in a plane that cuts the sphere into halves, and is a geodesic.
"""

import numpy as np
from common import LENGTHS, draw_sphere, plane, remark_of_loads, run, third_director

from timefem.reproduction import Finding, script


def main(quick=False):
    d3 = third_director(run(2, h=LENGTHS[quick][2]))
    finding = Finding(data={"path": d3}, remark=remark_of_loads(2, quick))
    apart = np.abs(d3 @ plane(d3)).max()
    finding.check("largest distance from a plane through the centre", apart, "0", apart < 1e-6)
    return finding


def plot(finding, figure):
    draw_sphere(figure, {"$d_3$": finding.data["path"]})


if __name__ == "__main__":
    script(__file__)
