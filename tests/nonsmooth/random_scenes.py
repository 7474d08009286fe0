"""Random scenes of rigid contact, and what must hold of their motions."""

from dataclasses import dataclass

import numpy as np

import timefem as tf
from timefem.errors import InputError

G = 9.81


@dataclass
class Outcome:
    """What came of a scene: `fault` is empty, or says what is wrong; `named` is why the march stopped."""

    seed: int
    fault: str
    named: str
    n_events: int
    reached: float


def scene(seed, most_bodies=20):
    """Bodies above a floor, some of them joined, some touching each other: parts, state, duration and elements."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most_bodies + 1))
    flat = bool(rng.random() < 0.3)  # point masses in a plane

    def law():
        return {"restitution": float(rng.choice([0.0, 0.3, 0.7, 1.0])), "friction": float(rng.choice([0.0, 0.2, 0.6]))}

    side = int(np.ceil(np.sqrt(n)))
    bodies, state, contacts, joints, radii = [], {}, [], [], []
    for i in range(n):
        radius = float(rng.uniform(0.05, 0.1))
        place = np.array([0.5 * (i % side), 0.5 * (i // side), 0.0])
        if flat:
            body = tf.PointMass(float(rng.uniform(0.5, 2)), 2, name=f"disc {i}")
            place = np.array([0.25 * i, radius + rng.uniform(0.02, 0.3), 0])
            pose = tf.Pose(place, velocity=(*rng.uniform(-1, 1, 2), 0))
            contacts.append(tf.PlaneContact(body, normal=(0, 1, 0), radius=radius, **law(), name=f"floor {i}"))
        else:
            mass = float(rng.uniform(0.5, 2))
            box = rng.random() < 0.4
            inertia = mass * 0.4 * radius**2 * rng.uniform(0.8, 1.2, 3)
            size = 2 * radius * rng.uniform(0.5, 1, 3) / np.sqrt(3) * 1.7
            rotation = str(rng.choice(["quaternion", "directors"]))
            body = tf.RigidBody(mass, inertia, rotation, name=f"body {i}", size=size)
            q = rng.normal(size=4)
            pose = tf.Pose(place + (0, 0, radius * 1.8 + rng.uniform(0.02, 0.2)), q / np.linalg.norm(q),
                           velocity=rng.uniform(-0.5, 0.5, 3), angular_velocity=rng.uniform(-3, 3, 3))
            contacts.append(tf.BoxContact(body, **law(), name=f"floor {i}") if box else
                            tf.PlaneContact(body, radius=radius, **law(), name=f"floor {i}"))
        bodies.append(body)
        radii.append(radius)
        state[body] = pose
    for i in range(n - 1):
        a, b = bodies[i], bodies[i + 1]
        what = rng.random()
        if what < 0.3:
            gap = float(np.linalg.norm(state[a].position - state[b].position))
            if gap > radii[i] + radii[i + 1] + 0.01:
                contacts.append(tf.SphereContact(a, b, radius_a=radii[i], radius_b=radii[i + 1], **law(),
                                                 name=f"pair {i}"))
        elif what < 0.45:
            length = float(np.linalg.norm(state[a].position - state[b].position))
            contacts.append(tf.Tether(a, b, length=1.05 * length, restitution=float(rng.uniform(0, 1)),
                                      name=f"tether {i}"))
        elif what < 0.6:
            joints.append(tf.RigidDistance(a, b, length=float(np.linalg.norm(state[a].position - state[b].position)),
                                           **({} if flat else {"point_a": (0, 0, 0), "point_b": (0, 0, 0)}),
                                           name=f"rod {i}"))
    down = (0, -G, 0) if flat else (0, 0, -G)
    return tf.System([*bodies, *joints, *contacts], gravity=down), state, 0.4, 40


def outcome(seed, most_bodies=20):
    """March a scene and judge it."""
    system, state, t_end, n = scene(seed, most_bodies)
    try:
        problem = tf.InitialValueProblem(system, state, (0, t_end), assemble=True)
        sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    except (InputError, tf.SolveError) as error:
        if "time mesh" in str(error):
            return Outcome(seed, str(error), "", 0, 0.0)
        return Outcome(seed, "", f"{type(error).__name__}: {error}", 0, 0.0)
    except Exception as error:  # anything else has no name
        return Outcome(seed, f"{type(error).__name__}: {error}", "", 0, 0.0)
    faults = []
    gaps, energy = sol.contact_gaps(), sol.energy()
    size = max(np.ptp(energy), abs(energy[0]))
    if gaps.size and gaps.min() < -1e-9:
        faults.append(f"penetration {gaps.min():.1e} of {sol.contact_names[int(gaps.min(axis=0).argmin())]}")
    if not np.isfinite(sol.z).all():
        faults.append("not finite")
    gained = [event.energy for event in sol.events if event.energy > 1e-9 * size]
    if gained:
        faults.append(f"impacts gain {max(gained):.1e} J")
    balance = np.abs(sol.energy.balance()).max()
    if balance > 1e-4 * size:
        faults.append(f"energy balance {balance / size:.1e}")
    named = "" if sol.success else sol.status.message
    if not sol.success and not named:
        faults.append("stopped silently")
    return Outcome(seed, "; ".join(faults), named, len(sol.events), float(sol.t[-1]))
