"""Fig. 9: path of the third director on the unit sphere in case 3 (initial velocity and a load that vanishes).

Claim: in the first second the path is not the shortest; after the load it is a circle of radius 1.
"""

import numpy as np
from common import LENGTHS, draw_sphere, plane, remark_of_loads, run, steady, third_director

from timefem.reproduction import Finding, script


def main(quick=False):
    sol = run(3, h=LENGTHS[quick][3])
    d3, after = third_director(sol), steady(sol, 3)
    finding = Finding(data={"path": d3, "after": after}, remark=remark_of_loads(3, quick))
    for what, path, flat in (("under the load", d3[~after], False), ("after it", d3[after], True)):
        apart = np.abs(path @ plane(path)).max()
        finding.check(f"largest distance from a plane through the centre, {what}", apart, "0" if flat else "not 0",
                      (apart < 1e-11) == flat)
    return finding


def plot(finding, figure):
    d3, after = finding.data["path"], finding.data["after"]
    draw_sphere(figure, {"$d_3$ under the load": d3[~after], "$d_3$ after it": d3[after]})


if __name__ == "__main__":
    script(__file__)
