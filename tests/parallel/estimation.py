"""Under mpirun: estimation, each rank with a slab of elements or frames, against one process."""

import sys

import numpy as np
from mpi4py import MPI

import timefem as tf
from tests.problems.estimation import references, test_kinematic

comm = MPI.COMM_WORLD


def robust_pendulum():
    """A rod in space with a damper that is not known, markers with outliers, and a clock that is off."""
    rng = np.random.default_rng(4)
    rod = tf.RigidBody(0.8, (0.001, 0.02, 0.02), name="rod")
    hinge = tf.Revolute(rod, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    system = tf.System([rod, hinge, tf.JointDamper(hinge, damping=0.03, name="friction")], gravity=(0, 0, -9.81))
    truth = tf.solve(tf.InitialValueProblem(system, {"hinge": (0.4, 0.0)}, (0, 1)), tf.MixedGalerkin(3), 30,
                     progress=False)
    times = np.arange(1, 26) / 26
    tip = truth.position("rod", times) + truth.rotation_matrix("rod", times) @ (0.3, 0, 0)
    seen = tip[:, [0, 2]] + 0.005 * rng.standard_normal((25, 2))
    seen[[4, 17]] += 0.1
    camera = tf.Marker("rod", (0.3, 0, 0), axes="xz", times=times, values=seen, sigma=0.005, loss="huber",
                       name="camera")
    rate = truth.angular_velocity("rod", np.minimum(times + 0.013, 1.0), frame="body")[:, [1]]
    gyro = tf.Gyroscope("rod", axes="y", times=times, values=rate, sigma=0.02, time_offset=tf.Prior(0, 0.02))
    return tf.Estimation(system, [camera, gyro], noise={"hinge": 1e-4}, t_span=(0, 1.05),
                         prior={"hinge": tf.StatePrior((0.3, 0.0), q=0.3, v=1.0)},
                         numbers={"damping": ("friction.damping", tf.Prior(0.01, 0.05))})


def arm_of_four(held=False, **others):
    """Four links in the plane, open or with the tip held, seen by markers with outliers and a gyroscope with a bias."""
    rng = np.random.default_rng(6)
    tree, system, t, q = test_kinematic.closed_chain(90)
    places = test_kinematic.points(tree, q)
    places = places + 0.01 * rng.standard_normal(places.shape)
    places[1, [7, 40]] += 0.3
    gyro = tf.Gyroscope(tree.link("link1"), axes="z", times=t, values=0.2 + 0.1 * rng.standard_normal((len(t), 1)),
                        sigma=0.1, bias=tf.Prior(0, 1.0), name="gyro")
    return tf.Estimation(system if held else tf.System([tree]),
                         [*test_kinematic.markers(tree, t, places, loss="huber"), gyro], noise=50.0, dynamics="none",
                         prior={tree: dict(zip(tree.joint_names, q[0], strict=True))}, **others)


def arm_with_limits():
    return arm_of_four(limits={"joint3": (None, -0.5)})


def held_arm():
    return arm_of_four(held=True)


def arm_with_a_clock():
    """An encoder that is late besides."""
    problem = arm_of_four(held=True)
    _, _, t, q = test_kinematic.closed_chain(90)
    late, rng = t[2:-4], np.random.default_rng(8)
    values = np.interp(late + 0.013, t, q[:, 3]) + 0.01 * rng.standard_normal(len(late))
    encoder = tf.JointSensor("joint3", times=late, values=values, sigma=0.01, name="encoder",
                             time_offset=tf.Prior(0, 0.05))
    return tf.Estimation(problem.system, [*problem.measurements, encoder], noise=50.0, dynamics="none",
                         prior=problem.prior)


def windows():
    """Frames that come in: each rank goes on by itself after the first ones."""
    problem, found = arm_of_four(), []
    first = [sensor.of_times(np.arange(90) < 60) for sensor in problem.measurements]
    for shared in ({}, {"backend": "petsc"}):
        begun = tf.Estimation(problem.system, first, noise=50.0, dynamics="none", prior=problem.prior)
        solver = tf.prepare(begun, tf.MixedGalerkin(2), **shared)
        for i in range(60, 64):
            sol = solver.update(*(s.of_times(np.arange(90) == i) for s in problem.measurements), window=0.4)
        found.append(sol)
    for what in ("joint2", "joint0"):
        compare("windows", what, found[1].value(what), found[0].value(what))
        compare("windows", what, found[1].std(what), found[0].std(what))


PROBLEMS = [  # problem, element, number of elements, what is prescribed
    (references.oscillator, tf.MixedGalerkin(2), 16, "mass"),
    (references.four_bar, tf.MixedGalerkin(2), 60, "motor"),
    (references.three_stars, tf.MixedGalerkin(2), 24, "body"),
    (robust_pendulum, tf.MixedGalerkin(2), 40, "hinge"),
    (arm_of_four, tf.MixedGalerkin(3), None, "joint2"),
    (arm_with_limits, tf.MixedGalerkin(2), None, "joint3"),
    (arm_with_a_clock, tf.MixedGalerkin(2), None, "joint3"),
    (held_arm, tf.MixedGalerkin(2), None, "joint2"),
]


def main():
    for make, element, n, what in PROBLEMS:
        name = f"{make.__name__}, {comm.size} ranks"
        here = tf.solve(make(), element, n, progress=False)
        shared = tf.solve(make(), element, n, backend="petsc", progress=False)
        assert here.success and shared.success, f"{name}: {here.status.message}, {shared.status.message}"
        assert (here.statistics["n_ranks"], shared.statistics["n_ranks"]) == (1, comm.size), name
        assert here.statistics["newton_iterations"] == shared.statistics["newton_iterations"], name
        if comm.rank:  # each rank may be asked by itself
            continue
        compare(name, "state", shared.nodal.state, here.nodal.state)
        t = np.linspace(*here.problem.t_span, 7) if n else here.t[::9]
        compare(name, "values", shared.value(what, t), here.value(what, t))
        compare(name, "std", shared.std(what, t), here.std(what, t))
        compare(name, "numbers", shared.number_covariance if shared.numbers.size else 0.0,
                here.number_covariance if here.numbers.size else 0.0)
        if n:
            compare(name, "evidence", shared.log_evidence, here.log_evidence)
        compare(name, "draws", shared.draws(2, 3), here.draws(2, 3))
        assert shared.fit.verdict == here.fit.verdict, f"{name}: {shared.fit.verdict}"
    windows()
    if comm.rank == 0:
        print(f"{len(PROBLEMS)} agree")


def compare(name, what, found, expected):
    difference = np.abs(np.subtract(found, expected)).max() / max(1.0, np.abs(expected).max())
    assert difference < 1e-9, f"{name}: {what}: {difference:.1e}"


if __name__ == "__main__":
    sys.exit(main())
