"""Robots with the rates of joints of a simulator as velocities: angular ones of balls and free bodies in their axes.

Rates of the coordinates are `T(q) v`, with independent v.
"""

import numpy as np

import timefem as tf


class RobotRates:
    """The robot as timefem reads it, with the rates of joints of a simulator as velocities."""

    def __init__(self, robot):
        self.robot, self.tree = robot, robot.tree
        self.system = tf.System([self.tree, *robot.forces], gravity=robot.gravity)
        self.moving = {body.joint.name: body for body in self.tree.moving}

    def random(self, rng):
        """Coordinates, and a matrix from independent rates to their rates."""
        start, _ = self.tree.state(self.robot.start)
        q = start + rng.uniform(-0.7, 0.7, self.tree.n_q)
        for place in self.tree.quaternions:
            q[list(place)] /= np.linalg.norm(q[list(place)])
        return q, self.rates(q)

    def rates(self, q):
        columns = []
        for body in self.tree._first.values():
            places = list(body.places)
            unit = np.eye(self.tree.n_q)[:, places]
            if not body.motion.turns:
                columns.append(unit)
                continue
            w, x, y, z = q[places[-4:]]
            if len(places) == 7:
                columns.append(unit[:, :3])
            columns.append(unit[:, -4:] @ np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2)
        return np.hstack(columns)

    def force(self, q, rates, v, a, damped=True):
        """Of independent rates v and their rates a."""
        h, speed = 1e-6, rates @ v
        turning = (self.rates(q + h * speed) - self.rates(q - h * speed)) / (2 * h) @ v
        if damped:
            z = np.append(q, self.tree.momenta(q, speed))
            held = self.system.derivatives(0.0, z)[0][:len(q)]
            return rates.T @ (self.tree.momentum_rate(q, speed, rates @ a + turning) + held)
        return rates.T @ self.tree.inverse_dynamics(q, speed, rates @ a + turning, self.robot.gravity)

    def joint(self, name, q, rates):
        """Position of a joint, and a matrix (n, n_rates) from the independent rates to its own."""
        body = self.moving[name]
        places = list(body.places)
        if not body.motion.turns:
            return body.factor * q[places] + body.offset, body.factor * rates[places]
        w, x, y, z = q[places[-4:]]
        spin = 2 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]) @ rates[places[-4:]]
        return q[places], np.vstack([rates[places[:-4]], spin])
