"""A five-link chain walks: two steps in a cycle, with the impact of the foot between them, by least effort.

Shanks, thighs and a trunk, as stated in timefem/cases/walking.py. Both steps are alike, though none was asked to.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from timefem.cases.walking import LENGTH
from timefem.reproduction import load_script

WALKING = load_script(Path(__file__).parents[1] / "walking.py")


def main():
    """Effort of the first step over that of the second."""
    walk = WALKING.main()["solution"]
    return {"what": "effort of the steps, first over second", "number": walk[0].objective / walk[1].objective,
            "expected": 1.0, "tolerance": 1e-4, "solution": walk}


def draw(result):
    """Sticks at nine times of a step."""
    step = result["solution"][0]
    figure, ax = plt.subplots(layout="constrained")
    for k, t in enumerate(np.linspace(step.t[0], step.t[-1], 9)):
        angles = step(t)[:5]
        along = np.stack([-np.sin(angles), np.cos(angles)], axis=1) * LENGTH[:, None]
        knee = along[0]
        hip = knee + along[1]
        swing_knee = hip - along[3]
        legs = np.array([[0, 0], knee, hip, hip + along[2], hip, swing_knee, swing_knee - along[4]])
        ax.plot(*legs.T, color=str(0.75 - 0.09 * k), linewidth=1.5)
    ax.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="one step")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
