"""Fig. 12: third component of the third director in case 1, by the energy-momentum scheme and by DLA.

Claim: the responses are similar over 5 s, and can be distinguished in the last second, where EM oscillates more slowly.
"""

from comparison import compare, draw

from timefem.reproduction import script


def main(quick=False):
    return compare(2)


def plot(finding, figure):
    draw(finding, figure)


if __name__ == "__main__":
    script(__file__)
