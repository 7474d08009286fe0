"""Inverse dynamics of arms: the same torques in all units, and in a world that is turned."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import timefem as tf

UNITS = {"kg, m, s": (1, 1, 1), "g, mm, s": (1e3, 1e3, 1), "mg, mm, ms": (1e6, 1e3, 1e3), "g, um, s": (1e3, 1e6, 1),
         "Gg, km, h": (1e-6, 1e-3, 1 / 3600)}


def arm(n, units, turn, coordinates="bodies"):
    """A system of n links on hinges with random axes, its joints and their motors."""
    mass, length, time = units
    rng = np.random.default_rng(1)
    masses, lengths, parts, joints, last = rng.uniform(0.2, 8, n), rng.uniform(0.08, 0.5, n), [], [], None
    for i in range(n):
        axis = rng.normal(size=3)
        across, half = np.cross(axis, (0.3, 0.5, 0.7)), lengths[i] / 2 * length
        inertia = 1e-3 + masses[i] * lengths[i]**2 / 12
        body = tf.RigidBody(masses[i] * mass, np.array([inertia, inertia, 2e-3]) * mass * length**2, name=f"link {i}")
        world = turn if last is None else Rotation.identity()
        joints.append(tf.Revolute(
            body, last, point_a=(0, 0, -half), point_b=(0, 0, lengths[i - 1] / 2 * length) if i else (0, 0, 0),
            axis_a=axis, axis_b=world.apply(axis), direction_a=across, direction_b=world.apply(across),
            name=f"joint {i}"))
        parts, last = [*parts, body, joints[-1]], body
    motors = [tf.JointControl(joint, name=f"of {joint.name}") for joint in joints]
    gravity = turn.apply((0, 0, -9.81)) * length / time**2
    return tf.System([*parts, *motors], gravity=gravity, coordinates=coordinates), joints, motors


def torques(n, units, turn, coordinates):
    """Of the motors at five times, in kg m^2 / s^2."""
    mass, length, time = units
    system, joints, motors = arm(n, units, turn, coordinates)
    rng = np.random.default_rng(6)
    start, change = rng.uniform(-1.2, 1.2, n), rng.uniform(-0.6, 0.6, n)
    outputs = {tf.JointOutput(joint): tf.Transfer(0, time, a, a + b, smoothness=3)
               for joint, a, b in zip(joints, start, change, strict=True)}
    problem = tf.InverseDynamics(system, outputs, dict(zip(joints, start, strict=True)), t_span=(0, time),
                                 actuators=motors)
    element = tf.MixedGalerkin(3, form="lagrange" if coordinates == "joint" else "hamilton")
    sol = tf.solve(problem, element, 10, progress=False)
    assert sol.success, sol.status.message
    found = [sol.controls(np.linspace(0.1, 0.9, 5) * time, motor).ravel() for motor in motors]
    return np.array(found) * time**2 / (mass * length**2)


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("n", [1, 3, 5, 6])  # from 6 on, constraints of bodies are not combined in symbols
def test_torques(fault, n, coordinates):
    """Rows and unknowns have sizes by the masses: in g and um digits were lost (6e-3), in Gg and km arms refused."""
    right = torques(n, UNITS["kg, m, s"], Rotation.identity(), coordinates)
    for name, units in UNITS.items():
        for where, turn in (("upright", Rotation.identity()), ("turned", Rotation.random(random_state=78))):
            found = torques(n, units, turn, coordinates)
            fault(f"{n} joints, {coordinates}, {name}, {where}", right, found, rtol=0, atol=1e-9 * np.abs(right).max())


@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
def test_mass_matrices_of_arms(fault, units):
    """What is beside the largest entry is round-off, not what is small in SI: off by 1e-4, for links of 1e-9 kg m^2."""
    found = []
    for mass, length, _ in (UNITS["kg, m, s"], units):
        system, _, _ = arm(5, (mass, length, 1), Rotation.identity(), "joint")
        z = np.concatenate([np.linspace(-1, 1, 5), np.zeros(5)])
        found.append(np.array([system.momentum(0.0, z, v) for v in np.eye(5)]) / (mass * length**2))
    fault("mass matrix", *found, rtol=0, atol=1e-13 * np.abs(found[0]).max())
