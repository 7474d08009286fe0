"""Cases of optimal control: with bounds and limits and published values, and without."""

import casadi as ca
import numpy as np

from timefem import (
    ControlForce,
    ControlTorque,
    Coordinates,
    Cost,
    Effort,
    EndState,
    GeneralizedControl,
    GeneralizedSystem,
    Limit,
    OptimalControl,
    PointMass,
    Pose,
    Revolute,
    RigidBody,
    System,
)

from .table import define_problem


def _least_time(system, start, end, t_end, actuators, bounds, **options):
    return OptimalControl(system, start, end, (0.0, t_end), actuators=actuators, free_time=True,
                          end_cost=lambda end, parameters: parameters["duration"], bounds=bounds, **options)


def cart_pole(t_end, force):
    """Kelly (SIAM Review 59 (2017)): cart of 1 kg, bob of 0.3 kg on a pole of 0.5 m, to be swung up 1 m away."""
    cart, bob, length = 1.0, 0.3, 0.5

    def kinetic(q, v, c):
        swing = ca.vertcat(v[0] + length * ca.cos(q[1]) * v[1], length * ca.sin(q[1]) * v[1])
        return (cart * v[0]**2 + bob * ca.sumsqr(swing)) / 2

    system = GeneralizedSystem(2, kinetic, lambda q, c: -bob * 9.81 * length * ca.cos(q[1]), name="cart_pole")
    body = system.bodies[0]
    drive = GeneralizedControl(body, [[1.0], [0.0]], name="drive")
    return OptimalControl(system, {body: Coordinates([0, 0])}, {body: EndState(q=(1, np.pi), v=(0, 0))}, (0.0, t_end),
                          cost=Effort(drive, 2.0), bounds={drive: (-force, force)},
                          limits=Limit(lambda now, u: now.q(body)[0], -2, 2, name="distance"))


@define_problem("cart-pole", "Swing-up of a cart-pole, 20 N", "optimal", t_end=2.0, n_elements=80)
def cart_pole_20(t_end):
    """The pole of a cart is swung up in 2 s with the least integral of the squared force, within 20 N, which is more
    than it takes; 58.80766746 N^2 s."""
    return cart_pole(t_end, 20.0)


@define_problem("cart-pole-limited", "Swing-up of a cart-pole, 12 N", "optimal", t_end=2.0, n_elements=80)
def cart_pole_12(t_end):
    """The pole of a cart is swung up in 2 s with the least integral of the squared force, within 12 N."""
    return cart_pole(t_end, 12.0)


@define_problem("reorientation-time", "Reorientation in least time", "optimal", t_end=30.0, n_elements=30)
def reorientation_time(t_end, **rotation):
    """A free body with the principal inertias 5621, 4547, 2364 kg m^2 turns by 150 degrees about x, from rest to rest,
    with torques of 50 N m at most, in the least time (Betts, Practical Methods for Optimal Control, 2010). 34.3112 s
    about x alone is a saddle point; the best known time is 28.6304077 s, and there are many local minima."""
    body = RigidBody(1.0, (5621, 4547, 2364), name="body", **rotation)
    torque = ControlTorque(body, name="torque")
    half = np.radians(75)
    end = EndState(orientation=(np.cos(half), np.sin(half), 0, 0), angular_velocity=(0, 0, 0))
    return _least_time(System([body]), {body: Pose()}, {body: end}, t_end, torque,
                       {torque: (-50, 50), "duration": (1, 100)})


def _mass_on_a_line():
    body = PointMass(1.0, dimension=1, name="mass")
    return body, ControlForce(body, [(1, 0, 0)], name="push")


def _held_below(limit, t_end):
    body, push = _mass_on_a_line()
    end = EndState(position=[0, None, None], velocity=[-1, None, None])
    return OptimalControl(System([body]), {body: Pose(velocity=(1, 0, 0))}, {body: end}, (0.0, t_end),
                          cost=Effort(push), limits=Limit(lambda now, u: now.q(body)[0], upper=limit, name="position"))


@define_problem("bryson-denham", "Bryson-Denham problem", "optimal", t_end=1.0, n_elements=60)
def bryson_denham(t_end):
    """A mass of 1 kg comes back to where it was with the opposite velocity of 1 m/s, after 1 s and no farther away than
    1/9 m, with the least effort; 4 N^2 s."""
    return _held_below(1 / 9, t_end)


@define_problem("breakwell", "Breakwell's problem", "optimal", t_end=1.0, n_elements=60)
def breakwell(t_end):
    """As the Bryson-Denham problem, but no farther away than 0.1 m; 4/9/0.1 N^2 s."""
    return _held_below(0.1, t_end)


@define_problem("speed-limit", "Least time with a limited speed", "optimal", t_end=2.0, n_elements=41)
def speed_limit(t_end):
    """A mass of 1 kg is moved by 1 m, from rest to rest, in the least time, with a force of 1 N and a speed of 0.8 m/s
    at most; 2.05 s."""
    body, push = _mass_on_a_line()
    end = EndState(position=[1, None, None], velocity=[0, None, None])
    return _least_time(System([body]), {body: Pose()}, {body: end}, t_end, push, {push: (-1, 1)},
                       limits=Limit(lambda now, u: now.rates(body)[0], upper=0.8, name="speed"))


@define_problem("container-crane", "Transfer of a container", "optimal", t_end=9.0, n_elements=60)
def container_crane(t_end):
    """A container on a rope is moved in 9 s with the least swing, by trolley and hoist with limits of both (Sakawa &
    Shindo, Automatica 18 (1982)). The controls here are the accelerations of the trolley and, up to terms of the swing,
    of the hoist; limits are on those of the source. Cost: half the integral of swing squared and its rate squared;
    5.1504e-3 s."""
    def kinetic(q, v, c):
        return (v[0]**2 + v[1]**2 + (q[1] * v[2])**2) / 2

    system = GeneralizedSystem(3, kinetic, lambda q, c: 9.81 * q[1] * q[2]**2 / 2, name="crane")
    body = system.bodies[0]
    drives = GeneralizedControl(body, lambda q: ca.vertcat(ca.horzcat(1, 0), ca.horzcat(0, 1), ca.horzcat(-q[1], 0)), 2,
                                name="drives")

    def controls_of_the_source(now, u):
        q, v = now.q(body), now.rates(body)
        return [u[0] - 17.2656 * q[2], u[1] + q[1] * v[2]**2 - 9.81 * q[2]**2 / 2]

    swing = Cost(lambda u, q, v, t: (q[2]**2 + v[2]**2) / 2, actuators=[drives], bodies=[body])
    limits = [Limit(controls_of_the_source, [-2.83374, -0.80865], [2.83374, 0.71265], name="drives"),
              Limit(lambda now, u: now.rates(body)[:2], [-2.5, -1.0], [2.5, 1.0], name="speeds")]
    return OptimalControl(system, {body: Coordinates([0, 22, 0], [0, -1, 0])},
                          {body: EndState(q=(10, 14, 0), v=(2.5, 0, 0))}, (0.0, t_end), cost=swing, limits=limits)


@define_problem("robot-arm-time", "Robot arm in least time", "optimal", t_end=9.0, n_elements=100)
def robot_arm_time(t_end):
    """An arm of length 5 that slides through a turning hinge turns by 120 degrees, from rest to rest, in the least time
    with the controls within 1 (COPS, Dolan, More & Munson 2004); 9.14094. As in the source, inertias are those of the
    place, without their rates."""
    system = GeneralizedSystem(3, lambda q, v, c: ca.sumsqr(v) / 2, name="arm")
    body = system.bodies[0]

    def accelerations(q):
        inertia = ((5 - q[0])**3 + q[0]**3) / 3
        return ca.diag(ca.vertcat(1 / 5, 1 / (inertia * ca.sin(q[2])**2), 1 / inertia))

    motors = GeneralizedControl(body, accelerations, 3, name="motors")
    quarter = np.pi / 4
    limits = Limit(lambda now, u: now.q(body), [0, -np.pi, 0], [5, np.pi, np.pi], name="coordinates")
    return _least_time(system, {body: Coordinates([4.5, 0, quarter])},
                       {body: EndState(q=(4.5, 2 * np.pi / 3, quarter), v=(0, 0, 0))}, t_end, motors,
                       {motors: (-1, 1), "duration": (1, 100)}, limits=limits)


@define_problem("two-link-arm-time", "Two-link arm in least time", "optimal", t_end=2.0, n_elements=60)
def two_link_arm_time(t_end):
    """An arm of two links with motors at shoulder and elbow, torques within 1, turns by 0.522 rad as a whole, from rest
    to rest, in the least time (Luus, Iterative Dynamic Programming, 2000). 2.98227994 s by torques at their bounds and
    exact integration between the switches; 2.988662 is printed for a coarse mesh, and 3.20834535 is a local minimum, to
    which guesses of 3 s lead on half of the meshes."""
    def kinetic(q, v, c):
        return (7 / 3 * v[0]**2 + 3 * ca.cos(q[1] - q[0]) * v[0] * v[1] + 4 / 3 * v[1]**2) / 2

    system = GeneralizedSystem(2, kinetic, name="arm")
    body = system.bodies[0]
    motors = GeneralizedControl(body, [[1.0, -1.0], [0.0, 1.0]], name="motors")
    return _least_time(system, {body: Coordinates([0, 0.5])}, {body: EndState(q=(0.522, 1.022), v=(0, 0))}, t_end,
                       motors, {motors: (-1, 1), "duration": (0.1, 20)})


def r3_kinetic(q, v, c):
    """Kinetic energy of the three links and rotors [J]."""
    s, w = ca.sin(q[1]), ca.cos(q[1])
    arm = ca.vertcat(v[1], s * v[0], w * v[0])  # angular velocities in the axes of the second link
    fore = arm + ca.vertcat(v[2], 0, 0)
    turn = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, ca.cos(q[2]), -ca.sin(q[2])),
                      ca.horzcat(0, ca.sin(q[2]), ca.cos(q[2])))
    # about the joint of the second link, and about the centre of mass of the third one, in its axes [kg m^2]
    of_arm = ca.DM([[4.9544125, 0, -2.45219], [0, 6.7759085, 0], [-2.45219, 0, 2.311496]])
    of_fore = ca.DM([[5.41, 0, 0.33], [0, 5.60, 0], [0.33, 0, 0.39]])
    speed = ca.cross(arm, ca.DM([0, 0, 0.5])) + ca.cross(fore, turn @ ca.DM([0.028, 0, 0.202]))
    own = turn.T @ fore
    rotors = (14.3325 + 1.16) * v[0]**2 + 57.33 * v[1]**2 + 4.68 * v[2]**2 + 2 * 0.078 * v[1] * v[2]
    return (ca.dot(arm, of_arm @ arm) + ca.dot(own, of_fore @ own) + 60.3 * ca.sumsqr(speed) + rotors) / 2


@define_problem("manutec", "Manutec r3 with the least energy", "optimal", t_end=0.53, n_elements=60)
def manutec(t_end):
    """The first three joints of the robot Manutec r3 (Otter & Tuerk, DFVLR model 2, 1988), without load, go from rest
    to rest in 0.53 s with the least integral of the squared voltages, within limits of voltages, angles and speeds;
    20.404248 V^2 s (20.40610 is printed for a coarse mesh)."""
    def potential(q, c):
        return 9.81 * ((56.5 * 0.205 + 60.3 * 0.5) * ca.cos(q[1]) + 60.3 * 0.202 * ca.cos(q[1] + q[2]))

    system = GeneralizedSystem(3, r3_kinetic, potential, name="r3")
    body = system.bodies[0]
    motors = GeneralizedControl(body, np.diag([-126.0, 252.0, 72.0]), name="motors")
    angles, speeds = np.array([2.97, 2.01, 2.86]), np.array([3.0, 1.5, 5.2])
    limits = [Limit(lambda now, u: now.q(body), -angles, angles, name="angles"),
              Limit(lambda now, u: now.rates(body), -speeds, speeds, name="speeds")]
    return OptimalControl(system, {body: Coordinates([0, -1.5, 0])}, {body: EndState(q=(1, -1.95, 1), v=(0, 0, 0))},
                          (0.0, t_end), cost=Effort(motors, 2.0), bounds={motors: (-7.5, 7.5)}, limits=limits)


@define_problem("reorientation-effort", "Reorientation with least effort", "optimal", t_end=2.0, n_elements=100)
def reorientation_effort(t_end, **rotation):
    """A free body with the principal inertias 5, 26, 29 kg m^2 turns by 2.5 rad about (1, 2, 2)/3, from rest to rest,
    by the torques with the least integral of their squares."""
    body = RigidBody(12, (5, 26, 29), size=(5, 2, 1), name="body", **rotation)
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)
    end = EndState(orientation=turned, angular_velocity=(0, 0, 0))
    wheels = ControlTorque(body, name="wheels")
    return OptimalControl(System([body]), {body: Pose()}, {body: end}, (0.0, t_end), cost=Effort(wheels))


@define_problem("slew-time", "Slew in least time", "optimal", t_end=2.0, n_elements=50)
def slew_time(t_end, **rotation):
    """A body on a hinge, of 2 kg m^2 about it, turns by 1 rad, from rest to rest, in the least time, with a torque of
    4 N m at most; the time is sqrt(2) s, of which t_end is a guess."""
    body = RigidBody(1, (1, 2, 2), name="body", **rotation)
    end = EndState(orientation=(np.cos(0.5), 0, 0, np.sin(0.5)), angular_velocity=(0, 0, 0))
    motor = ControlTorque(body, [(0, 0, 1)], name="motor")
    hinge = Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    return OptimalControl(System([body, hinge]), {body: Pose()}, {body: end}, (0.0, t_end), actuators=motor,
                          free_time=True, end_cost=lambda end, parameters: parameters["duration"],
                          bounds={motor: (-4, 4), "duration": (0.1, 10)})
