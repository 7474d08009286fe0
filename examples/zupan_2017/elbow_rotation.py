"""Fig. 9: right-angle cantilever, error of the elbow's rotation over the step.

Claim: the third-order method is more accurate than that of Simo and Vu-Quoc; rotations are treated with the same
accuracy as displacements.
"""

from elbow import compare, draw

from timefem.reproduction import script


def main(quick=False):
    return compare("rotation", quick)


def plot(finding, figure):
    draw(finding, figure)


if __name__ == "__main__":
    script(__file__)
