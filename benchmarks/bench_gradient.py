"""A gradient in 1000 parameters against one Newton iteration of the same global system, interleaved in one run.

    python benchmarks/bench_gradient.py [--quick] [--json]
"""

import numpy as np
from _common import interleaved, quick_or_json

import timefem as tf

CLAIM = 3.0


def chain(n=100):
    """Bodies on springs and dampers in a row, with ten parameters each."""
    bodies = [tf.RigidBody(1 + 0.01 * i, (0.3, 0.4, 0.5)) for i in range(n)]
    parts, parameters = [*bodies], []
    for i, body in enumerate(bodies):
        to = {"body_b": bodies[i - 1], "point_b": (0.1, 0, 0)} if i else {"point_b": (-0.9, 0, 0)}
        spring = tf.Spring(body, point_a=(-0.1, 0, 0), stiffness=100, length=0.7, **to)
        damper = tf.Damper(body, point_a=(-0.1, 0, 0), damping=0.5, **to)
        parts += [spring, damper]
        parameters += [tf.Parameter(body, "mass"), tf.Parameter(body, "inertia"), tf.Parameter(spring, "stiffness"),
                       tf.Parameter(spring, "length"), tf.Parameter(spring, "point_a"),
                       tf.Parameter(damper, "damping")]
    system = tf.System(parts, gravity=(0, 0, -9.81))
    state = {body: tf.Pose((i, 0, 0)) for i, body in enumerate(bodies)}
    return tf.InitialValueProblem(system, state, (0, 0.5)), parameters, lambda: tf.EndValue(
        lambda b, t: b[0].position[2], bodies=[bodies[-1]])


def table(n=1000):
    """A body under a force given by a table; its entries are the parameters."""
    body = tf.RigidBody(2.0, (0.3, 0.4, 0.5))
    times = np.linspace(0, 5, n)
    force = tf.Force(body, (0, 0, 1), point=(0.1, 0, 0), time=tf.Table(times, np.sin(times)))
    problem = tf.InitialValueProblem(tf.System([body, force]), {body: tf.Pose()}, (0, 5))
    return problem, [tf.Parameter(force, "time.values")], lambda: tf.Integral(lambda b, t: b[0].position[2]**2)


def bench(what, problem, parameters, functional, n_elements, repeats):
    solution = tf.solve(problem, tf.MixedGalerkin(1), n_elements, driver="global")
    at = tf.Linearization(solution)

    def iteration():
        at.equations.linear_step(at.equations.evaluate(at.x))

    def gradient():
        return tf.gradient(at, functional(), parameters)  # a new one each time: at keeps those it has evaluated

    def from_scratch():
        return tf.gradient(solution, functional(), parameters)

    n = len(gradient())
    seconds = interleaved(iteration, gradient, from_scratch, repeats=repeats)
    ratios = seconds[1] / seconds[0], seconds[2] / seconds[0]
    return [{"what": f"{what}, {n} parameters, {n_elements} elements: {how}", "newton": seconds[0], "seconds": s,
             "ratio": ratio, "claim": claim, "holds": ratio < CLAIM or claim == "none"}
            for how, s, ratio, claim in zip(("factors at hand", "from the solution, all set-up included"), seconds[1:],
                                            ratios, (f"< {CLAIM:g}", "none"), strict=True)]


def main(quick=False):
    return [*bench("table load", *table(), 5000, 5 if quick else 15),
            *bench("chain of 100 bodies", *chain(), 10 if quick else 40, 3 if quick else 5)]


def show(results):
    for r in results:
        print(f"{r['what']}: {r['seconds']:.4f} s, Newton iteration {r['newton']:.4f} s, ratio {r['ratio']:.2f} "
              f"(claim {r['claim']}, {'holds' if r['holds'] else 'MISSED'})")


if __name__ == "__main__":
    quick_or_json(__doc__, main, show)
