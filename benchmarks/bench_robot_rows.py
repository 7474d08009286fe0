"""What a new user tries with a robot: each with its lines of code, its seconds, and its number beside the truth.

    python benchmarks/bench_robot_rows.py [--quick] [--json]

The arm is a UR5 from its URDF file. Lines and seconds as in `bench_first_hour.py`.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
from _common import quick_or_json
from bench_first_hour import main as run_rows

import timefem as tf

G = (0, 0, -9.81)
TRUTH = json.loads((Path(__file__).parents[1] / "tests" / "data" / "robots" / "ur5.json").read_text())
FOLDER = Path(tempfile.mkdtemp())
URDF = FOLDER / "ur5.urdf"
URDF.write_text(TRUTH["urdf"])
LAGRANGE = tf.MixedGalerkin(2, form="lagrange")
Q0 = {"shoulder_pan_joint": 0.2, "shoulder_lift_joint": -1.2, "elbow_joint": 1.4, "wrist_1_joint": -0.6,
      "wrist_2_joint": 0.5, "wrist_3_joint": 0.1}
END_STATE = tf.Coordinates((1.2, -0.8, 1.0, -0.5, 0.7, 0.4))


def gravity(quick):
    """UR5 under gravity for 1 s from given angles and rates: elbow [rad]; truth: ABA and DOP853 at 1e-12."""
    robot = tf.read_urdf(URDF)
    start = dict(zip(TRUTH["joints"], zip(TRUTH["motion"]["q0"], TRUTH["motion"]["v0"], strict=True), strict=True))
    sol = tf.solve(robot.problem(start, (0, 1)), tf.MixedGalerkin(4, form="lagrange"), 100, progress=False)
    return sol.joint("elbow_joint").angle(1.0), TRUTH["motion"]["q1"][TRUTH["joints"].index("elbow_joint")], 1e-9


def along_joint_angles(quick):
    """Torques along given joint angles, 6 joints: shoulder lift at 0.5 s [N m]; truth: the recursion of the tree."""
    robot = tf.read_urdf(URDF)
    path = {tf.JointOutput(robot.tree.joint(name)): tf.Transfer(0, 1, x, x + 0.5, 3) for name, x in Q0.items()}
    problem = tf.InverseDynamics(robot.system(parts=list(robot.motors().values())), path, {}, t_span=(0, 1))
    sol = tf.solve(problem, LAGRANGE, 10, progress=False)
    rate, q = 0.5 * 35 / 16 * np.ones(6), np.array(list(Q0.values())) + 0.25
    torques = robot.tree.inverse_dynamics(q, rate, np.zeros(6), G)
    return float(sol.joint("shoulder_lift_joint").drive(0.5)), float(torques[1]), 1e-8


def least_effort(quick):
    """Rest to rest in 1.5 s with least effort, 20 elements, cold start: cost [N^2 m^2 s]; truth: 40 elements."""
    robot = tf.read_urdf(URDF)
    motors = list(robot.motors().values())
    problem = tf.OptimalControl(robot.system(parts=motors), {robot.tree: {}}, {robot.tree: END_STATE}, (0, 1.5),
                                cost=[tf.Effort(motor) for motor in motors])
    sol = tf.solve(problem, LAGRANGE, 20, progress=False)
    return sol.objective, lambda: tf.solve(problem, LAGRANGE, 40, guess=sol, progress=False).objective, 2e-2


def least_time(quick):
    """Least time with limits of torques, rates and an angle, 40 elements, cold start: [s]; truth: by IPOPT."""
    robot = tf.read_urdf(URDF)
    motors = robot.motors()
    effort = {motors[j.name]: (-j.limits["effort"], j.limits["effort"]) for j in robot.tree.joints if j.name in motors}
    limits = [tf.Limit(lambda now, u: now.rates(robot.tree), [-3.0] * 6, [3.0] * 6),
              tf.Limit(robot.tree.joint("elbow_joint"), -2.0, 2.0)]
    problem = tf.OptimalControl(robot.system(parts=list(motors.values())), {robot.tree: {}}, {robot.tree: END_STATE},
                                (0, 1.0), free_time=True, bounds=effort | {"duration": (0.2, 5)}, limits=limits,
                                end_cost=lambda end, numbers: numbers["duration"])
    element = tf.MixedGalerkin(2, n_points=2, form="lagrange")
    sol = tf.solve(problem, element, 40, progress=False)
    return sol.objective, lambda: tf.solve(problem, element, 40, method="ipopt", progress=False).objective, 1e-5


def states_and_limits(quick):
    """States by joint angles, angles and the tool's place out: elbow, held for 0.1 s by stiff drives [rad]; start."""
    robot = tf.read_urdf(URDF)
    system = robot.system(parts=[tf.PDControl(robot.tree.joint(n), stiffness=1e5, damping=1e3, reference=x)
                                 for n, x in Q0.items()])
    sol = tf.solve(tf.InitialValueProblem(system, Q0, (0, 0.1)), LAGRANGE, 200, progress=False)
    print(sol.position("ur5.tool0", 0.1), [sol.joint(name).angle(0.1) for name in Q0])
    return float(sol.joint("elbow_joint").angle(0.1)), Q0["elbow_joint"], 1e-3


def reactions(quick):
    """Force in the first joint of a falling arm: vertical, at 0.3 s [N]; rate of its momentum and its weight."""
    robot = tf.read_urdf(URDF)
    sol = tf.solve(robot.problem(Q0, (0, 0.5)), tf.MixedGalerkin(4, form="lagrange"), 100, progress=False)
    force = sol.joint("shoulder_pan_joint").force(0.3)[2]
    h = 1e-3
    p = {k: sol.linear_momentum(0.3 + k * h)[2] for k in (-2, -1, 1, 2)}
    return float(force), float((8 * (p[1] - p[-1]) - (p[2] - p[-2])) / (12 * h) + 9.81 * robot.tree.mass), 1e-7


def rotor(quick):
    """A rotor with yaw torque proportional to its thrust: rate of yaw after 1 s at 5 N [rad/s]; drag u t / J."""
    body = tf.RigidBody(1.0, (0.02, 0.02, 0.04), name="body")
    height = tf.PositionOutput(body, (0, 0, 1))
    thrust = tf.Controller([tf.Thruster(body, drag=0.016)], lambda x, v, t, c: 5.0, inputs=[height])
    sol = tf.solve(tf.InitialValueProblem(tf.System([body, thrust]), {body: tf.Pose()}, (0, 1)), tf.MixedGalerkin(3),
                   20, progress=False)
    return float(sol.angular_velocity(body, 1.0)[2]), 0.016 * 5 / 0.04, 1e-8


def gripper(quick):
    """A gripper of two fingers, one mimics the other, closes on a soft box: force [N]; that of the motor."""
    links = [tf.Link("palm"), *(tf.Link(n, mass=0.05, inertia=[1e-5] * 3) for n in ("left", "right"))]
    slide = dict(kind="prismatic", damping=5.0)
    joints = [tf.TreeJoint("grip", "palm", "left", position=(0, 0.04, 0), axis=(0, -1, 0), **slide),
              tf.TreeJoint("follow", "palm", "right", position=(0, -0.04, 0), axis=(0, 1, 0), mimic=("grip", 1, 0),
                           **slide)]
    hand = tf.Tree(links, joints, name="hand")
    stop = tf.EndStop(hand.joint("grip"), highest=0.03, stiffness=1e4, damping=1.0)  # the box is 20 mm wide
    close = tf.Motor(hand.joint("grip"), gear=100, rotor_inertia=1e-6, torque=0.2)
    sol = tf.solve(tf.InitialValueProblem(tf.System([hand, stop, close]), {hand: {}}, (0, 1)), LAGRANGE, 400,
                   progress=False)
    return 1e4 * (float(sol.joint("grip").displacement(1.0)) - 0.03), 20.0, 1e-6


def motor(quick):
    """A motor with gear and rotor on the elbow, 0.3 N m for 0.2 s: rate [rad/s]; the same by an armature."""
    robot = tf.read_urdf(URDF)
    drive = tf.Motor(robot.tree.joint("elbow_joint"), gear=100, rotor_inertia=1e-4, torque=0.3)
    sol = tf.solve(tf.InitialValueProblem(tf.System([robot.tree, drive]), Q0, (0, 0.2)), LAGRANGE, 40, progress=False)
    joints = [replace(j, armature=1.0) if j.name == "elbow_joint" else j for j in robot.tree.joints]
    arm = tf.Tree(robot.tree.links, joints)
    force = tf.JointForce(arm.joint("elbow_joint"), value=30)
    same = tf.solve(tf.InitialValueProblem(tf.System([arm, force]), Q0, (0, 0.2)), LAGRANGE, 40, progress=False)
    return (float(sol.joint("elbow_joint").rate(0.2)), float(same.joint("elbow_joint").rate(0.2)), 1e-10)


def pd_control(quick):
    """PD control of six joints, torques at rest fed forward: largest error of angles after 3 s [rad]; bound."""
    robot = tf.read_urdf(URDF)
    hold = robot.tree.inverse_dynamics(np.array(list(Q0.values())), np.zeros(6), np.zeros(6), G)
    drives = [tf.PDControl(robot.tree.joint(name), stiffness=500, damping=50, reference=x, feedforward=float(u))
              for (name, x), u in zip(Q0.items(), hold, strict=True)]
    sol = tf.solve(tf.InitialValueProblem(robot.system(parts=drives), {n: x + 0.1 for n, x in Q0.items()}, (0, 3)),
                   LAGRANGE, 300, progress=False)
    return max(abs(float(sol.joint(name).angle(3.0)) - x) for name, x in Q0.items()), 1e-3, "at most"


def friction(quick):
    """A wheel of 1 kg m^2 at 1 rad/s with Coulomb friction of 0.5 N m: turned until it rests [rad]; J v^2 / (2 f)."""
    links = [tf.Link("base"), tf.Link("wheel", mass=1, inertia=(1, 1, 1))]
    wheel = tf.Tree(links, [tf.TreeJoint("axle", "base", "wheel")])
    rub = tf.JointFriction(wheel.joint("axle"), friction=0.5, friction_width=1e-4)
    sol = tf.solve(tf.InitialValueProblem(tf.System([wheel, rub]), {"axle": (0.0, 1.0)}, (0, 3)), LAGRANGE, 300,
                   progress=False)
    return float(sol.joint("axle").angle(3.0)), 1.0, 2e-3


def end_stop(quick):
    """An elbow that runs into an end stop at 3 rad/s: rate after [rad/s]; the momentum that the stop gives back."""
    rod = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))],
                  [tf.TreeJoint("elbow", "base", "rod")])
    stop = tf.EndStop(rod.joint("elbow"), highest=0.3, stiffness=1e4)
    sol = tf.solve(tf.InitialValueProblem(tf.System([rod, stop]), {"elbow": (0.0, 3.0)}, (0, 0.3)), LAGRANGE, 600,
                   progress=False)
    return float(sol.joint("elbow").rate(0.3)), -3.0, 1e-3


def crane(quick):
    """A crane's load in wind, by a formula of its velocity: angle of the rope at rest [rad]; that of the two forces."""
    links = [tf.Link("rail"), tf.Link("trolley", mass=20),
             tf.Link("load", mass=5, centre=(0, 0, -3), inertia=[0.1] * 3)]
    joints = [tf.TreeJoint("drive", "rail", "trolley", "prismatic", axis=(1, 0, 0)),
              tf.TreeJoint("rope", "trolley", "load", axis=(0, 1, 0), damping=40.0)]
    crane = tf.Tree(links, joints, name="crane")
    blown = lambda f, t, c: c[0] * (ca.vertcat(c[1], 0, 0) - f[0].velocity)
    wind = tf.FormulaForce(crane.link("load", (0, 0, -3)), blown, parameters=[4.0, 5.0])
    hold = tf.PDControl(crane.joint("drive"), stiffness=2e3, damping=400)
    sol = tf.solve(tf.InitialValueProblem(tf.System([crane, wind, hold], gravity=G), {crane: {}}, (0, 60)), LAGRANGE,
                   600, progress=False)
    return -float(sol.joint("rope").angle(60.0)), float(np.arctan2(20, 5 * 9.81)), 1e-6


ROWS = [gravity, along_joint_angles, least_effort, least_time, states_and_limits, reactions, rotor, gripper, motor,
        pd_control, friction, end_stop, crane]


if __name__ == "__main__":
    quick_or_json(__doc__, lambda quick: run_rows(quick, ROWS), lambda results: None)
