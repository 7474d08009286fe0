"""Random impacts of bodies with contacts and joints, for tests of the law."""

import numpy as np


def cross(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def impact_case(rng):
    """Compliance, velocities before, restitution, friction and inverse mass of a random impact.

    1 to 6 bodies of 1e-3 to 1e3 kg, 1 to 12 contacts between them or with the ground, in half of the cases with
    spherical joints, of which redundant ones do no harm; most contacts approach.
    """
    bodies, contacts = rng.integers(1, 7), rng.integers(1, 13)
    mass = 10 ** rng.uniform(-3, 3, bodies)
    root = np.zeros((6 * bodies, 6 * bodies))
    for i, m in enumerate(mass):
        a = rng.normal(size=(3, 3))
        inertia = m * (a @ a.T + 0.1 * np.eye(3))
        root[6 * i:6 * i + 3, 6 * i:6 * i + 3] = np.eye(3) / np.sqrt(m)
        root[6 * i + 3:6 * i + 6, 6 * i + 3:6 * i + 6] = np.linalg.cholesky(np.linalg.inv(inertia))

    def row(pair, directions):
        w = np.zeros((6 * bodies, directions.shape[1]))
        for sign, i in zip((1, -1), pair):
            if i >= 0:
                w[6 * i:6 * i + 3] += sign * directions
                w[6 * i + 3:6 * i + 6] += sign * cross(rng.uniform(-1, 1, 3)) @ directions
        return w

    def pair():
        a = rng.integers(bodies)
        b = rng.integers(-1, bodies)
        return a, (-1 if b == a else b)

    w = np.hstack([row(pair(), np.linalg.qr(rng.normal(size=(3, 3)))[0]) for _ in range(contacts)])
    g = np.zeros((0, 6 * bodies))
    if rng.random() < 0.5 and bodies > 1:
        g = np.vstack([row((i, i + 1), np.eye(3)).T for i in range(rng.integers(1, bodies))])
    _, s, vt = np.linalg.svd(g @ root)
    null = vt[(s > 1e-10 * s.max(initial=0.0)).sum():]
    r = root @ null.T
    v = r @ rng.normal(size=r.shape[1]) * rng.uniform(0.5, 2)
    gamma = (w.T @ v).reshape(-1, 3)
    away = (gamma[:, 0] > 0) & (rng.random(contacts) < 0.8)
    w = w.reshape(6 * bodies, contacts, 3)
    w[:, away, 0] *= -1
    gamma[away, 0] *= -1
    w = w.reshape(6 * bodies, -1)
    friction = np.where(rng.random(contacts) < 0.15, 0.0, rng.uniform(0, 2, contacts))
    restitution = np.where(rng.random(contacts) < 0.25, 0.0, rng.uniform(0, 1, contacts))
    reduced = r.T @ w
    return reduced.T @ reduced, gamma, restitution, friction
