"""A direct-current motor drives a slider-crank: energy goes from the battery to motion and heat.

The circuit is a port-Hamiltonian system beside the bodies, joined to the shaft by a port; the energy of the whole
changes in each element by the works of its parts, to round-off.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf
from timefem.cases import find_case


def machine(voltage=60.0, resistance=1.5, inductance=0.2, constant=1.2):
    """The slider-crank of the cases, with a motor and friction in place of its torque."""
    bodies = find_case("slider-crank").make().system
    crank, shaft = bodies["crank"], bodies["shaft"]
    parts = [part for part in bodies.parts if part.is_body or part.table == "joints"]
    circuit = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "0 * w[0]", parameters=[inductance], name="circuit")
    motor = tf.connect(tf.Port(shaft), tf.Port(circuit), gain=constant, name="motor")
    battery = tf.FormulaForce(circuit, "[c[0]]", parameters=[voltage], name="battery")
    resistor = tf.FormulaForce(circuit, "[-c[0] * f[0].rate[0]]", parameters=[resistance], name="resistance")
    friction = tf.JointDamper(shaft, damping=0.05, name="bearing")
    system = tf.System([*parts, circuit, motor, battery, resistor, friction], gravity=(0, 0, -9.81))
    start = {body: tf.CanonicalState(*body_state(body)) for body in bodies.bodies}
    return tf.InitialValueProblem(system, start | {circuit: [0.0]}, (0, 1.0)), crank, circuit


def body_state(body):
    """Where the case starts, at rest."""
    problem = find_case("slider-crank").make()
    return problem.system.local_state(problem.system[body.name], problem.z0)


def main(n_elements=200):
    problem, crank, circuit = machine()
    sol = tf.solve(problem, tf.MixedGalerkin(2, keep="all"), n_elements)
    works, energy = sol.energy.work(by_part=True), sol.energy()
    balance = np.abs(np.diff(energy) - np.diff(sum(works.values()))).max()
    coil, fine = sol.energy.of(circuit).potential, np.linspace(0, 1, 1001)
    ways = {"heat in the resistance": -works["resistance"], "heat in the bearing": -works["bearing"],
            "energy of the coil": coil - coil[0], "energy of the bodies": (energy - coil) - (energy - coil)[0]}
    print(f"battery {works['battery'][-1]:.2f} J; resistance {works['resistance'][-1]:.2f} J, bearing "
          f"{works['bearing'][-1]:.2f} J; crank {sol.angular_velocity(crank, 1.0)[0]:.3f} rad/s at the end; balance of "
          f"an element within {balance:.1e} J")
    return {"t": sol.t, "works": works, "ways": ways, "energy": energy, "balance": balance, "fine": fine,
            "speed": sol.angular_velocity(crank, fine)[:, 0]}


def plot(result, path):
    """Where the work of the battery has gone, and the speed of the crank, over time."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    left.stackplot(result["t"], *result["ways"].values(), labels=list(result["ways"]), alpha=0.7)
    left.plot(result["t"], result["works"]["battery"], "k", label="work of the battery")
    left.set(xlabel="t [s]", ylabel="since the start [J]", title="where the energy goes")
    right.plot(result["fine"], result["speed"])
    right.set(xlabel="t [s]", ylabel="rate of the crank [rad/s]", title="slider-crank driven by a motor")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend(loc="upper left")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    plot(main(), folder / "motor.png")
    print(folder / "motor.png")
