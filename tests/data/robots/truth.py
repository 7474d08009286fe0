"""Write the truths of robots, with Pinocchio and SciPy: `python truth.py`, with the wheels pin and example-robot-data.

For each robot a JSON file: its URDF without shapes, and for some states the mass matrix, and the forces of joints that
inverse dynamics finds; and the motion over one second from equations of motion by Pinocchio, by DOP853 with a
tolerance of 1e-12. Rates are those of Pinocchio: velocity and angular velocity in body axes of a free base, then rates
of joints; quaternions are stored with the scalar first. Mimic joints are projected, x = G q + g, outside of Pinocchio.
"""

import json
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio
import scipy

GRAVITY = np.array([0.0, 0.0, -9.81])
ROBOTS = {"ur5": ("ur_description/urdf/ur5_robot.urdf", "fixed"),
          "panda": ("panda_description/urdf/panda.urdf", "fixed"),
          "kinova": ("kinova_description/robots/kinova.urdf", "fixed"),
          "go2": ("go2_description/urdf/go2.urdf", "free"),
          "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
          "double_pendulum": ("double_pendulum_description/urdf/double_pendulum.urdf", "free")}
LOOPED = "ur5", ("upper_arm_link", (0.1, 0.05, 0.2)), ("wrist_3_link", (0.0, 0.1, 0.0))  # a rod between two points


def trimmed(path):
    """The file without shapes, transmissions and friction."""
    root = ElementTree.parse(path).getroot()
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
    keep = {"link": ("inertial",), "joint": ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics")}
    for element in root:
        for child in list(element):
            if child.tag not in keep[element.tag]:
                element.remove(child)
            elif child.tag == "dynamics":
                child.attrib.pop("friction", None)
    return " ".join(ElementTree.tostring(root, encoding="unicode").split())


class Robot:
    """Equations of motion of a URDF text in the independent coordinates."""

    def __init__(self, text, base):
        with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
            file.write(text)
            file.flush()
            root = [pinocchio.JointModelFreeFlyer()] if base == "free" else []
            self.model = pinocchio.buildModelFromUrdf(file.name, *root)
        self.data, self.free = self.model.createData(), base == "free"
        joints = {j.get("name"): j for j in ElementTree.fromstring(text).iterfind("joint")}
        self.names = list(self.model.names)[1 + self.free:]
        mimic = {n: joints[n].find("mimic") for n in self.names}
        self.own = [n for n in self.names if mimic[n] is None]
        first = 6 * self.free
        self.G, self.g = np.zeros((self.model.nv, first + len(self.own))), np.zeros(len(self.names))
        self.G[:first, :first] = np.eye(first)
        for i, name in enumerate(self.names):
            m = mimic[name]
            self.G[first + i, first + self.own.index(m.get("joint") if m is not None else name)] = \
                float(m.get("multiplier", 1)) if m is not None else 1.0
            self.g[i] = float(m.get("offset", 0)) if m is not None else 0.0
        dynamics = {n: joints[n].find("dynamics") for n in self.names}
        self.damping = np.array([0.0] * first + [float(d.get("damping", 0)) if (d := dynamics[n]) is not None else 0.0
                                                 for n in self.names])

    def coordinates(self, q):
        """Those of Pinocchio: continuous joints are (cos, sin), quaternions have their scalar last."""
        whole = pinocchio.neutral(self.model)
        base, own = q[:7 * self.free], q[7 * self.free:]
        if self.free:
            whole[:3], whole[3:7] = base[:3], np.roll(base[3:] / np.linalg.norm(base[3:]), -1)
        angles = self.G[6 * self.free:, 6 * self.free:] @ own + self.g
        for name, x in zip(self.names, angles, strict=True):
            joint = self.model.joints[self.model.getJointId(name)]
            whole[joint.idx_q:joint.idx_q + joint.nq] = (np.cos(x), np.sin(x)) if joint.nq == 2 else x
        return whole

    def mass(self, q):
        m = np.triu(pinocchio.crba(self.model, self.data, self.coordinates(q)))
        return self.G.T @ (m + np.triu(m, 1).T) @ self.G

    def torque(self, q, v, a):
        """Of the joints, without those of dampers."""
        return self.G.T @ pinocchio.rnea(self.model, self.data, self.coordinates(q), self.G @ v, self.G @ a)

    def acceleration(self, q, v):
        resisted = self.G.T @ (self.damping * (self.G @ v))
        return np.linalg.solve(self.mass(q), -self.torque(q, v, np.zeros(len(v))) - resisted)

    def rate(self, q, v):
        if not self.free:
            return v
        (a, x), w = (q[3], q[4:7]), v[3:6]
        turn = np.eye(3) + 2 * (a * hat(x) + hat(x) @ hat(x)) / (q[3:7] @ q[3:7])
        spin = np.append(-x @ w, a * w + np.cross(x, w)) / 2
        return np.concatenate([turn @ v[:3], spin, v[6:]])

    def motion(self, q, v, t_end, constraint=None):
        n = len(q)

        def f(t, y):
            q, v = y[:n], y[n:]
            a = self.acceleration(q, v) if constraint is None else self.held(q, v, *constraint)
            return np.concatenate([self.rate(q, v), a])

        y = scipy.integrate.solve_ivp(f, (0, t_end), np.concatenate([q, v]), method="DOP853", rtol=1e-12,
                                      atol=1e-13).y[:, -1]
        return y[:n], y[n:]

    # ---- a rod between two points

    def points(self, q, v, a, b):
        """Difference of two points, its Jacobian, and its acceleration without that of the joints."""
        model, data, whole, rates = self.model, self.data, self.coordinates(q), self.G @ v
        pinocchio.forwardKinematics(model, data, whole, rates, np.zeros(model.nv))
        pinocchio.computeJointJacobians(model, data, whole)
        places, jacobians, drifts = [], [], []
        for link, point in (a, b):
            frame = model.frames[model.getFrameId(link)]
            at = frame.placement * pinocchio.SE3(np.eye(3), np.array(point))
            place = data.oMi[frame.parentJoint] * at
            j = pinocchio.getFrameJacobian(model, data, frame.parentJoint, at, pinocchio.LOCAL_WORLD_ALIGNED)
            drift = pinocchio.getFrameClassicalAcceleration(model, data, frame.parentJoint, at,
                                                            pinocchio.LOCAL_WORLD_ALIGNED).linear
            places.append(place.translation)
            jacobians.append(j[:3] @ self.G)
            drifts.append(drift)
        return (y - x for x, y in (places, jacobians, drifts))

    def held(self, q, v, a, b):
        d, j, drift = self.points(q, v, a, b)
        row, right = d @ j, -(j @ v) @ (j @ v) - d @ drift
        free = self.acceleration(q, v)
        column = np.linalg.solve(self.mass(q), row)
        return free + column * (right - row @ free) / (row @ column)


def hat(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def state(robot, rng):
    n = len(robot.own)
    q, v = rng.uniform(-0.8, 0.8, n), rng.uniform(-1, 1, n)
    if robot.free:
        turn = rng.standard_normal(4)
        q, v = np.concatenate([rng.uniform(-1, 1, 3), turn / np.linalg.norm(turn), q]), np.append(
            rng.uniform(-1, 1, 6), v)
    return q, v


def main(folder):
    here = Path(__file__).parent
    for name, (path, base) in ROBOTS.items():
        if (here / f"{name}.json").exists():
            continue
        text = trimmed(folder / path)
        robot, rng = Robot(text, base), np.random.default_rng(7)
        samples = []
        for _ in range(3):
            (q, v), a = state(robot, rng), rng.uniform(-1, 1, robot.G.shape[1])
            samples.append({"q": q, "v": v, "a": a, "mass": robot.mass(q), "torque": robot.torque(q, v, a)})
        q, v = state(robot, rng)
        q1, v1 = robot.motion(q, v, 1.0)
        data = {"made": f"Pinocchio {pinocchio.__version__}, SciPy {scipy.__version__}, from example-robot-data "
                        f"6.0.0, {path}", "urdf": text, "base": base, "joints": robot.own, "samples": samples,
                "motion": {"q0": q, "v0": v, "t_end": 1.0, "q1": q1, "v1": v1}}
        if name == LOOPED[0]:
            q, _ = state(robot, rng)
            d, _, _ = robot.points(q, np.zeros(robot.G.shape[1]), *LOOPED[1:])
            q1, v1 = robot.motion(q, np.zeros(robot.G.shape[1]), 1.0, LOOPED[1:])
            data["looped"] = {"points": LOOPED[1:], "length": np.linalg.norm(d), "q0": q, "q1": q1, "v1": v1}
        (here / f"{name}.json").write_text(json.dumps(data, default=lambda x: x.tolist()) + "\n")
        print(name, len(robot.own), file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
