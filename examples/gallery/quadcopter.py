"""A quadcopter carries a load on a rope past an obstacle, from hover to hover, with least effort.

The same problem by another method for inequalities gives the same effort.
"""

import numpy as np

import timefem as tf

MASS, LOAD, ROPE, T = 1.0, 0.3, 0.8, 3.0


def main():
    """Least effort by the own interior-point method, against IPOPT on the same equations."""
    copter = tf.RigidBody(MASS, (0.01, 0.01, 0.02), size=(0.5, 0.5, 0.08), name="copter")
    load = tf.PointMass(LOAD, name="load")
    lift = tf.ControlForce(copter, [(0, 0, 1)], frame="body", name="lift")
    turn = tf.ControlTorque(copter, name="turn")
    rope = tf.RigidDistance(copter, load, length=ROPE, name="rope")
    system = tf.System([copter, load, rope, lift, turn], gravity=(0, 0, -9.81))
    still = (0, 0, 0)
    end = {copter: tf.EndState(position=(3, 0, 0), orientation=(1, 0, 0, 0), velocity=still, angular_velocity=still),
           load: tf.EndState(position=(3, 0, -ROPE), velocity=still)}
    start = {copter: tf.Pose(), load: tf.Pose((0, 0, -ROPE))}

    def clearance(now, u):  # of the load from a post that stands in the way
        place = now.position(load) - np.array([1.5, 0.1, 0])
        return place[0] ** 2 + place[1] ** 2

    problem = tf.OptimalControl(system, start, end, (0, T), [tf.Effort(lift), tf.Effort(turn, 50.0)],
                                limits=[tf.Limit(clearance, lower=0.25, name="post")])
    sol = tf.solve(problem, tf.MixedGalerkin(2), 30)
    other = tf.solve(problem, tf.MixedGalerkin(2), 30, method="ipopt", guess=sol)
    return {"what": "least effort [N^2 s]", "number": sol.objective, "expected": other.objective,
            "tolerance": 1e-5 * other.objective, "solution": sol}


def draw(result):
    """The flight at five times."""
    return result["solution"].plot.snapshots(np.linspace(0, T, 5), view=(35, -75)).figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
