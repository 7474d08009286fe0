"""Motion capture of a cyclist's leg: angles, and the torque at the crank, with their uncertainty, from markers alone.

Thigh, shank and crank are a loop, which closes at every frame. Accelerations are not measured: their rates are noise.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf

HIP, BRACKET = np.array([0.0, 0.0, 0.0]), np.array([0.15, -0.68, 0.0])
LENGTHS = {"thigh": 0.42, "shank": 0.45, "crank": 0.17}
MASSES = {"thigh": 7.5, "shank": 3.5, "crank": 0.5}
MARKERS = {"KNEE": ("thigh", (0.20, 0.01, 0.05)), "THIGH": ("thigh", (0.0, 0.06, 0.07)),
           "SHANK": ("shank", (-0.05, 0.04, 0.06)), "ANKLE": ("shank", (0.21, 0.0, 0.05))}
SIGMA = 0.004  # m


def leg():
    """Three bars along their x axes; hinges at hip, knee, pedal and bottom bracket."""
    bars = {name: tf.RigidBody(MASSES[name], MASSES[name] * size**2 / 12 * np.array([0.1, 1, 1]), name=name)
            for name, size in LENGTHS.items()}

    def hinge(name, a, b, at_a, at_b):
        return tf.Revolute(bars[a], *([bars[b]] if b else []), point_a=at_a, point_b=at_b, axis_a=(0, 0, 1),
                           axis_b=(0, 0, 1), name=name)

    def end(name, side):
        return side * LENGTHS[name] / 2 * np.array([1.0, 0, 0])

    joints = [hinge("hip", "thigh", None, end("thigh", -1), HIP),
              hinge("knee", "shank", "thigh", end("shank", -1), end("thigh", 1)),
              hinge("bracket", "crank", None, end("crank", -1), BRACKET),
              hinge("pedal", "crank", "shank", end("crank", 1), end("shank", 1))]
    return tf.System([*bars.values(), *joints], gravity=(0, -9.81, 0), redundant="drop")


def poses(angle):
    """Poses of the bars at an angle of the crank."""
    pedal = BRACKET + LENGTHS["crank"] * np.array([np.cos(angle), np.sin(angle), 0])
    d, a, b = np.linalg.norm(pedal), LENGTHS["thigh"], LENGTHS["shank"]
    inner = np.arccos((a**2 + d**2 - b**2) / (2 * a * d))
    thigh = np.arctan2(pedal[1], pedal[0]) + inner  # the knee is in front
    knee = a * np.array([np.cos(thigh), np.sin(thigh), 0])
    ends = {"thigh": (HIP, knee), "shank": (knee, pedal), "crank": (BRACKET, pedal)}
    found = {}
    for name, (first, last) in ends.items():
        turn = np.arctan2(*(last - first)[1::-1]) / 2
        found[name] = tf.Pose(position=(first + last) / 2, orientation=(np.cos(turn), 0, 0, np.sin(turn)))
    return found


def recorded(times, seed=1):
    """What cameras see of a leg that pedals at 75 turns a minute: noise, a gap, and a marker that jumps twice."""
    rng = np.random.default_rng(seed)
    places: dict[str, list[np.ndarray]] = {name: [] for name in MARKERS}
    for angle in -7.85 * times + 0.2 * np.sin(7.85 * times):
        at = poses(angle)
        for name, (bar, point) in MARKERS.items():
            w, _, _, z = at[bar].orientation
            turn = np.array([[w * w - z * z, -2 * w * z, 0], [2 * w * z, w * w - z * z, 0], [0, 0, 1]])
            places[name].append(at[bar].position + turn @ point)
    seen = np.stack(list(places.values()), axis=1)
    seen = seen + SIGMA * rng.standard_normal(seen.shape)
    seen[40:55, 0] = np.nan
    seen[[90, 91], 3] += (0.08, -0.05, 0.02)
    return tf.MarkerData("leg.trc", times, tuple(MARKERS), seen)


def main():
    """Solve, and return the data, the solution, and the torque at the crank with its standard deviation."""
    data, system = recorded(np.arange(0, 1.6, 0.01)), leg()
    problem = tf.Estimation(system, data.sensors(MARKERS, SIGMA, loss="huber"), dynamics="none",
                            noise={"all": (500.0, 1e5)}, prior=poses(0.0))
    sol = tf.solve(problem, tf.MixedGalerkin(3))
    bracket = next(part for part in system.parts if part.name == "bracket")
    return data, sol, sol.inverse_dynamics(tf.JointControl(bracket, name="crank")).of("crank")


def draw(sol, data, torque, std, path):
    """Angle of the knee, its standard deviation, and the torque at the crank with its 95 % interval."""
    import matplotlib.pyplot as plt

    figure, (above, middle, below) = plt.subplots(3, 1, sharex=True, figsize=(7, 6.5))
    above.plot(sol.t, np.degrees(sol.value("knee")[:, 0]))
    gap = data.times[np.isnan(data.place("KNEE")).any(axis=1)]
    for ax in (above, middle):
        ax.axvspan(gap[0], gap[-1], color="0.9", label="KNEE not seen")
    for name, time, _ in sol.fit.outliers:
        above.axvline(time, color="tab:red", linewidth=0.8, label=f"outlier of {name}")
    middle.plot(sol.t, np.degrees(sol.std("knee")[:, 0]))
    below.plot(sol.t, torque)
    below.fill_between(sol.t, torque - 1.96 * std, torque + 1.96 * std, alpha=0.4)
    above.set_ylabel("knee [deg]")
    middle.set_ylabel("its standard\ndeviation [deg]")
    below.set(xlabel="t [s]", ylabel="torque at the\ncrank [N m]")
    entries = dict(zip(*above.get_legend_handles_labels()[::-1], strict=True))
    above.legend(entries.values(), entries.keys(), loc="upper right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    data, sol, (torque, std) = main()
    print(data, sol.fit, sep="\n")
    gaps = sol.system.constraints(sol.t, sol.z)[:, :sol.system.n_constraints]
    print(f"the loop closes to {np.abs(gaps).max():.1e} m")
    draw(sol, data, torque, std, folder / "motion_capture.png")
    print(folder / "motion_capture.png")
