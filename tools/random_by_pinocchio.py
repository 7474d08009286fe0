"""The random mechanisms of `timefem verify` by Pinocchio: their ends, for `timefem/verification/pinocchio.json`.

Pinocchio's wheel needs another NumPy than timefem, so there are two steps, the second in an environment of its own
with pin and scipy:

    python tools/random_by_pinocchio.py draw drawn.json
    python tools/random_by_pinocchio.py solve drawn.json timefem/verification/pinocchio.json

Trees are Pinocchio's joints; bodies that hang on a rod only are free, and rods are constraints on accelerations. Mass
matrix, bias forces, Jacobians and accelerations of points are Pinocchio's; SciPy's DOP853 integrates at 1e-12.
"""

import json
import sys
from pathlib import Path

import numpy as np

TOLERANCE, GRAVITY, T_END = 1e-12, (0.0, 0.0, -9.81), 0.3


class Model:
    """A mechanism as a tree of Pinocchio's; every joint has a frame with the axes of space at the start."""

    def __init__(self, drawn):
        import pinocchio as pin

        self.pin, self.model = pin, pin.Model()
        self.model.gravity.linear = np.array(GRAVITY)
        self.start = np.array(drawn["states"])
        n = len(self.start)
        self.joint_of, self.placements, self.kinds = [None] * n, [None] * n, []
        self.origins, self.rods, self.springs = [np.zeros(3)], [], []
        tree = drawn["joints"][:n]

        def add_all_on(parent):  # in depth, as the composite-rigid-body algorithm takes subtrees to be in one piece
            for i, (kind, _, j, places) in enumerate(tree):
                if j == parent:
                    self.add(i, kind, j, np.array(places), drawn)
                    add_all_on(i)

        add_all_on(None)
        self.data = self.model.createData()
        for kind, i, j, (p, q, _) in drawn["joints"]:
            if kind == "distance":
                self.rods.append((self.end(i, p), self.end(j, q)))
        for i, j, p, q, stiffness, rest, damping in drawn["springs"]:
            self.springs.append((self.end(i, p), self.end(j, q), stiffness, rest, damping))

    def add(self, i, kind, j, places, drawn):
        pin, (at, axis, across) = self.pin, places
        third, parent = np.cross(axis, across), 0 if j is None else self.joint_of[j]
        place, rotation = self.start[i, :3], quaternion_matrix(self.start[i, 3:7])
        if kind == "weld":
            joint = parent
        else:
            origin = place if kind == "distance" else at
            joint, offset = parent, origin - self.origins[parent]
            for n, part in enumerate(self.make(kind, axis, across, third)):
                joint = self.model.addJoint(joint, part, pin.SE3(np.eye(3), offset), f"joint {i}.{n}")
                offset = np.zeros(3)
                self.origins.append(origin)
                self.kinds.append((kind, joint))
        placement = pin.SE3(rotation, place - self.origins[joint])
        self.joint_of[i], self.placements[i] = joint, placement
        inertia = pin.Inertia(drawn["masses"][i], np.zeros(3), np.diag(drawn["inertias"][i]))
        self.model.appendBodyToJoint(joint, inertia, placement)

    def make(self, kind, axis, across, third):
        """Pinocchio's joints in a row that make up one."""
        pin = self.pin
        turn, slide = pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned
        return {"distance": lambda: [pin.JointModelFreeFlyer()], "spherical": lambda: [pin.JointModelSpherical()],
                "revolute": lambda: [turn(axis)], "universal": lambda: [turn(across), turn(axis)],
                "cylindrical": lambda: [slide(axis), turn(axis)], "prismatic": lambda: [slide(axis)],
                "planar": lambda: [slide(across), slide(third), turn(axis)]}[kind]()

    def end(self, i, place):
        """A point of a body by its joint, in the axes of that."""
        joint = 0 if i is None else self.joint_of[i]
        return joint, np.array(place) - self.origins[joint]

    def update(self, q, v):
        self.pin.computeJointJacobians(self.model, self.data, q)
        self.pin.forwardKinematics(self.model, self.data, q, v, np.zeros_like(v))

    def point(self, end):
        """Place, Jacobian and acceleration without those of the joints."""
        joint, r = end
        if joint == 0:
            return r, np.zeros((3, self.model.nv)), np.zeros(3)
        frame, placed = self.pin.LOCAL_WORLD_ALIGNED, self.data.oMi[joint]
        arm = placed.rotation @ r
        jacobian = self.pin.getJointJacobian(self.model, self.data, joint, frame)
        bias = self.pin.getClassicalAcceleration(self.model, self.data, joint, frame)
        turning = self.pin.getVelocity(self.model, self.data, joint, frame).angular
        return (placed.translation + arm, jacobian[:3] - hat(arm) @ jacobian[3:],
                bias.linear + np.cross(bias.angular, arm) + np.cross(turning, np.cross(turning, arm)))

    def acceleration(self, q, v):
        pin, model, data = self.pin, self.model, self.data
        force = -pin.nonLinearEffects(model, data, q, v)
        mass = pin.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        self.update(q, v)
        for a, b, stiffness, rest, damping in self.springs:
            (x, jx, _), (y, jy, _) = self.point(a), self.point(b)
            length = np.linalg.norm(x - y)
            along = (x - y) / length @ (jx - jy)
            force -= (stiffness * (length - rest) + damping * along @ v) * along
        free = np.linalg.solve(mass, force)
        if not self.rods:
            return free
        rows, biases = [], []
        for a, b in self.rods:
            (x, jx, ax), (y, jy, ay) = self.point(a), self.point(b)
            rate, row = (jx - jy) @ v, (x - y) @ (jx - jy)
            if np.abs(row).max() > 1e-10:  # the ends are not on the same body
                rows.append(row)
                biases.append((x - y) @ (ax - ay) + rate @ rate)
        if not rows:
            return free
        rows, biases = np.array(rows), np.array(biases)
        lifted = np.linalg.solve(mass, rows.T)
        return free - lifted @ np.linalg.lstsq(rows @ lifted, rows @ free + biases, rcond=1e-10)[0]

    def rate(self, _, y):
        """Rates of coordinates and velocities: those of quaternions from angular velocities in axes of the body."""
        q, v = y[:self.model.nq].copy(), y[self.model.nq:]
        dq = np.empty_like(q)
        for kind, number in self.kinds:
            joint = self.model.joints[number]
            own_q, own_v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
            if kind not in ("spherical", "distance"):
                dq[own_q] = v[own_v]
                continue
            turned = slice(own_q.stop - 4, own_q.stop)  # vector first
            e, w = q[turned], v[own_v.stop - 3:own_v.stop]
            dq[turned] = np.append(e[3] * w + np.cross(e[:3], w), -w @ e[:3]) / 2
            q[turned] = e / np.linalg.norm(e)
            if kind == "distance":
                linear = v[own_v.start:own_v.start + 3]
                dq[own_q.start:own_q.start + 3] = quaternion_matrix(np.roll(q[turned], 1)) @ linear
        return np.concatenate([dq, self.acceleration(q, v)])

    def velocities(self, q):
        """Jacobians of the velocities and angular velocities in body axes of all bodies, shape (6 n, n_v)."""
        self.update(q, np.zeros(self.model.nv))
        out = []
        for joint, placement in zip(self.joint_of, self.placements, strict=True):
            jacobian = np.zeros((3, self.model.nv))
            if joint:
                jacobian = self.pin.getJointJacobian(self.model, self.data, joint, self.pin.LOCAL_WORLD_ALIGNED)[3:]
            rotation = self.data.oMi[joint].rotation @ placement.rotation
            out += [self.point((joint, placement.translation))[1], rotation.T @ jacobian]
        return np.concatenate(out)

    def solve(self):
        """Places, rotations, velocities and angular velocities at the end."""
        from scipy.integrate import solve_ivp

        q = self.pin.neutral(self.model)
        jacobian, given = self.velocities(q), self.start[:, 7:].ravel()
        v = np.linalg.lstsq(jacobian, given, rcond=None)[0]
        if np.abs(jacobian @ v - given).max() > 1e-10:
            raise ArithmeticError("the velocities do not fit the joints")
        y = solve_ivp(self.rate, (0, T_END), np.concatenate([q, v]), method="DOP853", rtol=TOLERANCE,
                      atol=TOLERANCE).y[:, -1]
        q, v = y[:self.model.nq].copy(), y[self.model.nq:]
        for kind, number in self.kinds:
            if kind in ("spherical", "distance"):
                stop = self.model.joints[number].idx_q + self.model.joints[number].nq
                q[stop - 4:stop] /= np.linalg.norm(q[stop - 4:stop])
        moving = (self.velocities(q) @ v).reshape(-1, 6)
        placed = [self.data.oMi[joint] * placement for joint, placement in zip(self.joint_of, self.placements,
                                                                               strict=True)]
        return {"places": [p.translation.tolist() for p in placed], "rotations": [p.rotation.tolist() for p in placed],
                "velocities": moving[:, :3].tolist(), "angular velocities": moving[:, 3:].tolist()}


def hat(w):
    """Matrix of the cross product."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def quaternion_matrix(e):
    """Rotation matrix of a quaternion, scalar first."""
    return ((e[0]**2 - e[1:] @ e[1:]) * np.eye(3) + 2 * np.outer(e[1:], e[1:]) + 2 * e[0] * hat(e[1:])) / (e @ e)


def draw(target):
    """Write all mechanisms; in the environment of timefem."""
    from timefem.verification.newton_euler import COUNT, standing

    Path(target).write_text(json.dumps([standing(number) for number in range(COUNT)]))


def solve(source, target):
    """Write the ends of all mechanisms; in an environment with Pinocchio."""
    import pinocchio

    ends = []
    for number, drawn in enumerate(json.loads(Path(source).read_text())):
        ends.append(Model(drawn).solve())
        print(number, len(drawn["masses"]), flush=True)
    Path(target).write_text(json.dumps({"by": f"Pinocchio {pinocchio.__version__}", "t": T_END, "ends": ends}) + "\n")


if __name__ == "__main__":
    {"draw": draw, "solve": solve}[sys.argv[1]](*sys.argv[2:])
