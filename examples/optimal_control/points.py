"""Points and bodies that move freely: least time, least effort, places that are forbidden."""

import casadi as ca
import numpy as np
from cases import case

import timefem as tf


def point(dimension: int = 1, mass: float = 1.0) -> tf.PointMass:
    return tf.PointMass(mass, dimension=dimension, name="point")


@case(6.0, "exact: 6 d^2 / T^3 (OptimTraj, simplest example)")
def block_move() -> tf.OptimalControl:
    block = point()
    force = tf.ControlForce(block, [(1, 0, 0)], name="u")
    return tf.OptimalControl(tf.System([block, force]), {block: tf.Pose()}, {block: tf.Pose((1, 0, 0))}, (0, 1),
                             tf.Effort(force))


@case(2.0, "exact: 2 sqrt(d / a) (dymos, double_integrator)", n=20)
def block_in_least_time() -> tf.OptimalControl:
    block = point()
    force = tf.ControlForce(block, [(1, 0, 0)], name="u")
    return tf.OptimalControl(tf.System([block, force]), {block: tf.Pose()}, {block: tf.Pose((1, 0, 0))}, (0, 1.5),
                             end_cost="end.t", free_time=True, bounds={force: (-1, 1), "duration": (0.5, 5)})


@case(4.0, "exact: 4 / (9 l) with l = 1/9 (Bryson and Ho; PSOPT, bryson_denham)", n=60)
def bryson_denham() -> tf.OptimalControl:
    block = point()
    force = tf.ControlForce(block, [(1, 0, 0)], name="u")
    return tf.OptimalControl(
        tf.System([block, force]), {block: tf.Pose(velocity=(1, 0, 0))}, {block: tf.Pose(velocity=(-1, 0, 0))}, (0, 1),
        tf.Effort(force), limits=[tf.Limit("now.position('point')[0]", None, 1 / 9, name="farthest")])


@case(1.8016031, "exact, by the cycloid (dymos, brachistochrone: 1.8016)")
def brachistochrone() -> tf.OptimalControl:
    bead = point(2)
    wire = tf.FormulaForce(bead, "u[0] * cross([0, 0, 1], f[0].velocity)", n_controls=1, name="wire")
    return tf.OptimalControl(
        tf.System([bead, wire], gravity=(0, -9.80665, 0)), {bead: tf.Pose((0, 10, 0))},
        {bead: tf.EndState(position=(10, 5, None))}, (0, 2), end_cost="end.t", free_time=True, actuators=wire,
        bounds={"duration": (0.5, 10)})


@case(0.554570879, "Betts, linear tangent steering; COPS 3, particle steering; dymos, ssto", n=20)
def tangent_steering() -> tf.OptimalControl:
    vessel = point(2)
    thrust = tf.FormulaForce(vessel, "[100 * cos(u[0]), 100 * sin(u[0]), 0]", n_controls=1, name="thrust")
    return tf.OptimalControl(
        tf.System([vessel, thrust]), {vessel: tf.Pose()}, {vessel: tf.EndState(position=(None, 5, None),
                                                                               velocity=(45, 0, None))},
        (0, 1), end_cost="end.t", free_time=True, bounds={thrust: (-np.pi / 2, np.pi / 2), "duration": (0.1, 3)})


@case(1.15568, "transcription (OptimTraj, minimumWork)", n=120, within=3e-4)
def least_work() -> tf.OptimalControl:
    block, shares = point(), tf.Control(2, name="shares")
    force = tf.ControlForce(block, [(1, 0, 0)], name="u")
    power = tf.Limit("now.control('u')[0] * now.velocity('point')[0] - u[1] + u[2]", 0, 0, name="power")
    return tf.OptimalControl(
        tf.System([block, force, shares]), {block: tf.Pose()}, {block: tf.Pose((1, 0, 0))}, (0, 1),
        "u[1] + u[2] + 1e-3 * u[0]**2", bounds={force: (-20, 20), shares: (0, None)}, limits=[power])


@case(102.36763, "transcription; 102.479 in dymos, mountain_car, on a coarse grid", n=240, finer=4)
def mountain_car() -> tf.OptimalControl:
    car = point()
    engine = tf.FormulaForce(car, "[1e-3 * u[0] - 2.5e-3 * cos(3 * f[0].position[0]), 0, 0]", n_controls=1,
                             name="engine")
    return tf.OptimalControl(
        tf.System([car, engine]), {car: tf.Pose((-0.5, 0, 0))}, {car: tf.EndState(position=(0.5, None, None))}, (0,
                                                                                                                 100),
        end_cost="end.t", free_time=True, bounds={engine: (-1, 1), "duration": (20, 500)},
        limits=[tf.Limit("now.velocity('point')[0]", 0, None, at="end", name="speed")])


@case(7.68862, "transcription from this minimum, on 960 elements; from a straight line it ends in the 7.9101 of Betts "
      "(Sakawa)", n=240, finer=4)
def free_flying_robot() -> tf.OptimalControl:
    robot = tf.GeneralizedBody(3, lambda q, v, c: ca.sumsqr(v) / 2, name="robot")
    jets = tf.FormulaForce(robot, lambda f, t, c, u: ca.vertcat(
        (u[0] - u[1] + u[2] - u[3]) * ca.cos(f[0].q[2]), (u[0] - u[1] + u[2] - u[3]) * ca.sin(f[0].q[2]),
        0.2 * (u[0] - u[1]) - 0.2 * (u[2] - u[3])), n_controls=4, name="jets")
    return tf.OptimalControl(
        tf.System([robot,
                   jets]), {robot: tf.Coordinates([-10, -10, np.pi / 2])}, {robot: tf.Coordinates([0, 0, 0])}, (0, 12),
        "u[0] + u[1] + u[2] + u[3]", bounds={jets: (0, 1)})


@case(1.8166311, "transcription (Bryson and Ho, brachistochrone above a line)", n=60)
def brachistochrone_above_a_line() -> tf.OptimalControl:
    bead = point(2)
    wire = tf.FormulaForce(bead, "u[0] * cross([0, 0, 1], f[0].velocity)", n_controls=1, name="wire")
    line = tf.Limit("now.position('point')[1] + now.position('point')[0] / 2", 8.5, None, name="line")
    return tf.OptimalControl(
        tf.System([bead, wire], gravity=(0, -9.80665, 0)), {bead: tf.Pose((0, 10, 0))},
        {bead: tf.EndState(position=(10, None, None))}, (0, 2), end_cost="end.t", free_time=True, actuators=wire,
        limits=[line], bounds={"duration": (0.5, 10)})


@case(0.45855692, "transcription (a load on three ropes that only pull, in least time; cable robots)", n=60, finer=8)
def cable_robot() -> tf.OptimalControl:
    load = tf.PointMass(1.0, dimension=2, name="load")
    ropes = [tf.LengthControl(load, point_a=(0, 0, 0), point_b=point, name=f"rope {i}")
             for i, point in enumerate([(0, 2, 0), (2, 2, 0), (1, 0, 0)])]
    return tf.OptimalControl(
        tf.System([load, *ropes], gravity=(0, -9.81, 0)), {load: tf.Pose((0.5, 0.7, 0))},
        {load: tf.EndState(position=(1.5, 1.2, None), velocity=(0, 0, None))}, (0, 1), end_cost="end.t",
        free_time=True, bounds=dict.fromkeys(ropes, (-20, -1)) | {"duration": (0.1, 5)})
