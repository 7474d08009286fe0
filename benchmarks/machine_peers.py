"""Peers of bench_machines.py: Pinocchio with DOP853, MuJoCo and Exudyn, each in a process of its own.

A process reads a machine as a line of JSON, and then settings, one a line; it answers each with seconds and the end of
the motion: place and quaternion of a free base, then joints. Machines are lists of moving bodies with joints about or
along their own z axes, as trees of timefem have them, with dampers and springs, and tyres.

    python machine_peers.py pinocchio | mujoco | exudyn
"""

import json
import os
import sys
import time

import numpy as np
import scipy
from scipy.spatial.transform import Rotation

G = 9.81


class Machine:
    """What a line tells; subclasses have `make()` and `run(setting)` -> coordinates at the end."""

    def __init__(self, given):
        vars(self).update(given)
        self.n = len(self.bodies)
        self.joints = self.bodies[self.free:]  # without the free base
        for body in self.bodies:
            for key in ("turn", "place", "com", "inertia"):
                body[key] = np.array(body[key])
        self.damping, self.stiffness, self.rest = (np.array([b[key] for b in self.joints])
                                                   for key in ("damping", "stiffness", "rest"))
        self.resists = bool(np.any(self.damping) or np.any(self.stiffness))
        self.q0, self.v0 = np.array(self.q0), np.array(self.v0)  # of a base in its own axes


class WithPinocchio(Machine):
    """ABA, called from Python for each stage of DOP853; with mimic joints the projected mass matrix and NumPy."""

    def make(self):
        import pinocchio as pin

        self.pin, self.model, numbers = pin, pin.Model(), []
        self.model.gravity.linear = np.array([0, 0, -G])
        for i, body in enumerate(self.bodies):
            kind = pin.JointModelFreeFlyer() if i == 0 and self.free else \
                pin.JointModelPZ() if body["kind"] == "prismatic" else pin.JointModelRZ()
            parent = numbers[body["parent"]] if body["parent"] >= 0 else 0
            numbers.append(self.model.addJoint(parent, kind, pin.SE3(body["turn"], body["place"]), f"joint{i}"))
            self.model.appendBodyToJoint(numbers[-1], pin.Inertia(body["mass"], body["com"], body["inertia"]),
                                         pin.SE3.Identity())
        self.data, self.numbers, k = self.model.createData(), numbers, 6 * self.free
        own = sorted({b["own"] for b in self.joints})
        self.project = np.zeros((self.model.nv, k + len(own)))
        self.project[:k, :k] = np.eye(k)
        for i, b in enumerate(self.joints):
            self.project[k + i, k + own.index(b["own"])] = b["factor"]
        self.offset = np.array([b["offset"] for b in self.joints])
        self.mimics = self.project.shape[0] > self.project.shape[1]

    def coordinates(self, q):
        if not self.free:
            return self.project @ q + self.offset if self.mimics else q
        return np.concatenate([q[:3], np.roll(q[3:7] / np.linalg.norm(q[3:7]), -1), q[7:]])

    def rate(self, q, v):
        if not self.free:
            return v
        a, x, y, z = q[3:7]
        w1, w2, w3 = v[3:6]
        n = q[3:7] @ q[3:7]
        turn = np.array([[a * a + x * x - y * y - z * z, 2 * (x * y - a * z), 2 * (x * z + a * y)],
                         [2 * (x * y + a * z), a * a - x * x + y * y - z * z, 2 * (y * z - a * x)],
                         [2 * (x * z - a * y), 2 * (y * z + a * x), a * a - x * x - y * y + z * z]]) / n
        out = np.empty(len(q))
        out[:3] = turn @ v[:3]
        out[3:7] = (-x * w1 - y * w2 - z * w3) / 2, (a * w1 + y * w3 - z * w2) / 2, (a * w2 + z * w1 - x * w3) / 2, \
            (a * w3 + x * w2 - y * w1) / 2
        out[7:] = v[6:]
        return out

    def acceleration(self, q, v):
        pin, x, k = self.pin, self.coordinates(q), 6 * self.free
        rates = self.project @ v if self.mimics else v
        tau = np.zeros(self.model.nv)
        if self.resists:
            angles = x[7 * self.free:]
            tau[k:] = -self.damping * rates[k:] - self.stiffness * (angles - self.rest)
        if self.tyres:
            tau += self.of_tyres(x, rates)
        if not self.mimics:
            return pin.aba(self.model, self.data, x, rates, tau)
        mass = np.triu(pin.crba(self.model, self.data, x))
        mass = self.project.T @ (mass + np.triu(mass, 1).T) @ self.project
        bias = pin.rnea(self.model, self.data, x, rates, np.zeros(self.model.nv))
        return np.linalg.solve(mass, self.project.T @ (tau - bias))

    def of_tyres(self, x, v):
        """Generalized forces of tyres on the plane z = 0, as `timefem.Tyre` has them."""
        pin, up, total = self.pin, np.array([0, 0, 1.0]), 0
        pin.computeJointJacobians(self.model, self.data, x)
        for tyre in self.tyres:
            number = self.numbers[tyre["body"]]
            place, turn = self.data.oMi[number].translation, self.data.oMi[number].rotation
            jacobian = pin.getJointJacobian(self.model, self.data, number, pin.LOCAL_WORLD_ALIGNED)
            velocity, spin = np.split(jacobian @ v, 2)
            axis = turn[:, 2]
            down = (up @ axis) * axis - up
            arm = tyre["radius"] * down / np.sqrt(down @ down)
            depth = max(-(up @ (place + arm)), 0.0)
            pressed = tyre["stiffness"] * depth * max(1 - tyre["damping"] * (up @ velocity), 0.0)
            ahead = np.cross(axis, up)
            ahead /= np.sqrt(ahead @ ahead)
            across = np.cross(up, ahead)
            contact = velocity + np.cross(spin, arm)
            slip = tyre["longitudinal"] * (contact @ ahead) * ahead + tyre["lateral"] * (contact @ across) * across
            force = pressed * up - pressed / np.sqrt((velocity @ ahead)**2 + tyre["slow"]**2) * slip
            total = total + jacobian[:3].T @ force + jacobian[3:].T @ np.cross(arm, force)
        return total

    def run(self, tolerance):
        n = len(self.q0)
        end = scipy.integrate.solve_ivp(
            lambda t, y: np.concatenate([self.rate(y[:n], y[n:]), self.acceleration(y[:n], y[n:])]), (0, self.t_end),
            np.concatenate([self.q0, self.v0]), method="DOP853", rtol=tolerance, atol=tolerance * 0.1)
        return end.y[:n, -1] if end.success else np.full(n, np.nan)


class WithMujoco(Machine):
    """Its Runge-Kutta method of order 4, in C."""

    def make(self):
        import mujoco

        if self.tyres or any(b["own"] != i for i, b in enumerate(self.joints)):
            raise SystemExit("no mimic joints without softness, no tyres")
        inner = ["" for _ in self.bodies]
        for i in reversed(range(self.n)):
            b = self.bodies[i]
            x, y, z, w = Rotation.from_matrix(b["turn"]).as_quat()
            m = b["inertia"]
            full = " ".join(repr(float(v)) for v in (m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]))
            joint = "<freejoint/>" if i == 0 and self.free else \
                f'<joint type="{"slide" if b["kind"] == "prismatic" else "hinge"}" axis="0 0 1" ' \
                f'damping="{b["damping"]!r}" stiffness="{b["stiffness"]!r}" springref="{b["rest"]!r}"/>'
            numbers = [" ".join(repr(float(v)) for v in vector) for vector in (b["place"], (w, x, y, z), b["com"])]
            text = f'<body pos="{numbers[0]}" quat="{numbers[1]}">{joint}<inertial pos="{numbers[2]}" ' \
                   f'mass="{b["mass"]!r}" fullinertia="{full}"/>{inner[i]}</body>'
            if b["parent"] >= 0:
                inner[b["parent"]] = text + inner[b["parent"]]
            else:
                inner[i] = text
        root = "".join(text for text, b in zip(inner, self.bodies, strict=True) if b["parent"] < 0)
        text = f'<mujoco><compiler angle="radian" balanceinertia="false" boundmass="0"/>' \
               f'<option integrator="RK4" gravity="0 0 {-G}"/><worldbody>{root}</worldbody></mujoco>'
        self.mujoco, self.model = mujoco, mujoco.MjModel.from_xml_string(text)

    def run(self, n):
        mujoco, data = self.mujoco, self.mujoco.MjData(self.model)
        self.model.opt.timestep = self.t_end / n
        data.qpos[:], data.qvel[:] = self.q0, self.v0
        if self.free:
            turn = Rotation.from_quat(np.roll(self.q0[3:7], -1)).as_matrix()
            data.qvel[:3] = turn @ self.v0[:3]
        mujoco.mj_step(self.model, data, n)
        return data.qpos.copy()


class WithExudyn(Machine):
    """Its kinematic tree with its explicit method DOPRI5 and steps by tolerance; a free base by three angles."""

    def make(self):
        sys.exudynFast = True
        import exudyn as exu
        from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree

        if self.tyres or any(b["own"] != i for i, b in enumerate(self.joints)):
            raise SystemExit("no mimic joints, and tyres in Python only")
        self.exu, self.container = exu, exu.SystemContainer()
        self.mbs = mbs = self.container.AddSystem()
        kinds, parents, frames, masses, centres, inertias, more = [], [], [], [], [], [], 5 * self.free
        if self.free:
            for i, kind in enumerate(("PrismaticX", "PrismaticY", "PrismaticZ", "RevoluteX", "RevoluteY")):
                kinds.append(getattr(exu.JointType, kind))
                parents.append(i - 1)
                frames.append(np.eye(4))
                masses.append(0.0)
                centres.append(np.zeros(3))
                inertias.append(np.zeros((3, 3)))
        for i, b in enumerate(self.bodies):
            frame = np.eye(4)
            frame[:3, :3], frame[:3, 3] = b["turn"], b["place"]
            kinds.append(exu.JointType.PrismaticZ if b["kind"] == "prismatic" else exu.JointType.RevoluteZ)
            parents.append(more + b["parent"] if b["parent"] >= 0 or i == 0 else -1)
            frames.append(frame)
            masses.append(b["mass"])
            centres.append(b["com"])
            inertias.append(b["inertia"])
        q, v = self.q0, self.v0
        if self.free:
            turn = Rotation.from_quat(np.roll(q[3:7], -1))
            _, y, z = angles = turn.as_euler("XYZ")
            spin = np.array([[np.cos(y) * np.cos(z), np.sin(z), 0], [-np.cos(y) * np.sin(z), np.cos(z), 0],
                             [np.sin(y), 0, 1]])
            q = np.concatenate([q[:3], angles, q[7:]])
            v = np.concatenate([turn.as_matrix() @ v[:3], np.linalg.solve(spin, v[3:6]), v[6:]])
        n = len(q)
        self.node = mbs.AddNode(NodeGenericODE2(referenceCoordinates=[0.0] * n, initialCoordinates=list(q),
                                                initialCoordinates_t=list(v), numberOfODE2Coordinates=n))
        none = [0.0] * (n - len(self.joints))
        mbs.AddObject(ObjectKinematicTree(
            nodeNumber=self.node, jointTypes=kinds, linkParents=parents, gravity=[0, 0, -G],
            jointTransformations=exu.Matrix3DList([f[:3, :3] for f in frames]),
            jointOffsets=exu.Vector3DList([f[:3, 3] for f in frames]), linkMasses=masses,
            linkInertiasCOM=exu.Matrix3DList(inertias), linkCOMs=exu.Vector3DList(centres),
            jointPControlVector=[*none, *self.stiffness], jointPositionOffsetVector=[*none, *self.rest],
            jointDControlVector=[*none, *self.damping], jointVelocityOffsetVector=[0.0] * n))
        mbs.Assemble()

    def run(self, tolerance):
        exu, settings = self.exu, self.exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = 10, self.t_end
        settings.timeIntegration.adaptiveStep = True
        settings.timeIntegration.relativeTolerance = settings.timeIntegration.absoluteTolerance = tolerance
        settings.timeIntegration.explicitIntegration.computeEndOfStepAccelerations = False
        settings.timeIntegration.minimumStepSize = 1e-9
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = settings.solutionSettings.solutionWritePeriod = 10.0
        settings.displayStatistics = False
        self.mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.DOPRI5)
        q = np.array(self.mbs.GetNodeOutput(self.node, exu.OutputVariableType.Coordinates))
        if self.free:
            turn = Rotation.from_euler("XYZ", q[3:6]).as_quat()
            q = np.concatenate([q[:3], np.roll(turn, 1), q[6:]])
        return q


PEERS = {"pinocchio": WithPinocchio, "mujoco": WithMujoco, "exudyn": WithExudyn}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print by themselves
    machine = PEERS[sys.argv[1]](json.loads(sys.stdin.readline()))
    start = time.process_time()
    machine.make()
    print(json.dumps(time.process_time() - start), file=answers, flush=True)
    for line in sys.stdin:
        start = time.process_time()
        end = machine.run(json.loads(line))
        print(json.dumps([time.process_time() - start, end.tolist()]), file=answers, flush=True)


if __name__ == "__main__":
    main()
