"""A robot for tests, as a URDF file and, apart from the package, as equations of motion in the axes of space."""

import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np

ARM = """<?xml version="1.0"?>
<robot name="six">
  <material name="grey"><color rgba="1 1 1 1"/></material>
  <link name="world"/>
  <link name="base"><inertial><mass value="4"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.02 -0.01 0.2" rpy="0.3 -0.2 0.5"/><mass value="8.4"/>
    <inertia ixx="0.22" ixy="0.01" ixz="-0.02" iyy="0.21" iyz="0.005" izz="0.03"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/../../etc/passwd"/></geometry></visual></link>
  <link name="fore"><inertial><origin xyz="0.21 0 0.03"/><mass value="2.3"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <link name="tool"><inertial><origin xyz="0 0.05 0.1" rpy="0 1.2 0"/><mass value="0.7"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.002"/></inertial></link>
  <link name="slide"><inertial><origin xyz="0 0 0.06"/><mass value="1.1"/>
    <inertia ixx="0.006" ixy="0" ixz="0" iyy="0.005" iyz="0.001" izz="0.004"/></inertial></link>
  <link name="wrist"><inertial><origin xyz="0.01 0.02 0.03"/><mass value="0.9"/>
    <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.005"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0 0 0.05" rpy="0.1 0.2 0.3"/><mass value="0.6"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.001"/></inertial></link>
  <link name="left"><inertial><origin xyz="0 0.01 0.03"/><mass value="0.2"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 -0.01 0.03"/><mass value="0.25"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="stand" type="fixed"><origin xyz="0.1 0 0.3" rpy="0 0 0.4"/>
    <parent link="world"/><child link="base"/></joint>
  <joint name="shoulder" type="revolute"><origin xyz="0 0.1 0.1" rpy="0.2 1.5707963 0"/><parent link="base"/>
    <child link="upper"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="100" velocity="2"/>
    <dynamics damping="0.8"/></joint>
  <joint name="elbow" type="continuous"><origin xyz="0 -0.1 0.42" rpy="0 0.3 0.2"/><parent link="upper"/>
    <child link="fore"/><axis xyz="0.6 0.8 0.1"/><dynamics damping="0.3"/></joint>
  <joint name="plate" type="fixed"><origin xyz="0.2 0 0.01" rpy="0.5 0 0"/>
    <parent link="fore"/><child link="tool"/></joint>
  <joint name="lift" type="prismatic"><origin xyz="0.3 0 0" rpy="0 -0.4 0.1"/>
    <parent link="fore"/><child link="slide"/>
    <axis xyz="1 0 0.5"/><limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="20"/></joint>
  <joint name="roll" type="continuous"><origin xyz="0 0 0.1" rpy="0 0.7 0"/>
    <parent link="slide"/><child link="wrist"/></joint>
  <joint name="bend" type="continuous"><origin xyz="0 0 0.1" rpy="0.4 0 0"/><parent link="wrist"/><child link="hand"/>
    <axis xyz="0 0 -1"/><dynamics damping="0.05" friction="0.1"/></joint>
  <joint name="grip" type="revolute"><origin xyz="0 0.03 0.1"/><parent link="hand"/><child link="left"/>
    <axis xyz="1 0 0"/><limit effort="1" velocity="1"/><dynamics damping="0.02"/></joint>
  <joint name="follow" type="revolute"><origin xyz="0 -0.03 0.1"/><parent link="hand"/><child link="right"/>
    <axis xyz="1 0 0"/><limit effort="1" velocity="1"/><mimic joint="grip" multiplier="-1.5" offset="0.1"/>
    <dynamics damping="0.03"/></joint>
</robot>
"""
START = {"shoulder": (-0.7, -0.4), "elbow": (0.9, 0.5), "lift": (0.05, 0.2), "roll": (0.3, -1.0), "bend": 0.4,
         "grip": (0.2, 0.6)}
JOINTS = tuple(START)
GRAVITY = np.array([0, 0, -9.81])


@cache
def numbers(element, path, key, default):
    found = element.find(path)
    return np.array([float(x) for x in (found.get(key) if found is not None and found.get(key) else default).split()])


def rotation(axis, angle):
    """Rodrigues' formula."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def rpy(angles):
    roll, pitch, yaw = angles
    return rotation((0, 0, 1), yaw) @ rotation((0, 1, 0), pitch) @ rotation((1, 0, 0), roll)


class SpaceAxes:
    """M(q) and forces by Newton and Euler for every link, with Jacobians in the axes of space: O(n^3), no recursion
    shared with the package. Mimic joints by the projection x = G q + b."""

    def __init__(self, text, names):
        robot = ElementTree.fromstring(text)
        self.links = {e.get("name"): e for e in robot.iter("link")}
        self.joints = list(robot.iterfind("joint"))  # parents stand before children
        moving = [e for e in self.joints if e.get("type") != "fixed"]
        self.place = {e.get("name"): i for i, e in enumerate(moving)}
        self.G, self.b = np.zeros((len(moving), len(names))), np.zeros(len(moving))
        self.damping = np.array([numbers(e, "dynamics", "damping", "0")[0] for e in moving])
        for i, e in enumerate(moving):
            mimic = e.find("mimic")
            name = e.get("name") if mimic is None else mimic.get("joint")
            self.G[i, names.index(name)] = 1.0 if mimic is None else float(mimic.get("multiplier"))
            self.b[i] = 0.0 if mimic is None else float(mimic.get("offset"))

    def links_at(self, x, v):
        """Link -> rotation, place, omega, velocity, and the accelerations at xddot = 0, and the Jacobians."""
        n, zero = len(x), np.zeros(3)
        states = {"world": (np.eye(3), zero, zero, zero, zero, zero, np.zeros((3, n)), np.zeros((3, n)))}
        for e in self.joints:
            R, r, w, u, alpha, a, Jw, Jv = states[e.find("parent").get("link")]
            arm = R @ numbers(e, "origin", "xyz", "0 0 0")
            R, Jw, Jv = R @ rpy(numbers(e, "origin", "rpy", "0 0 0")), Jw.copy(), Jv - skew(arm) @ Jw
            r, u, a = r + arm, u + cross(w, arm), a + cross(alpha, arm) + cross(w, cross(w, arm))
            if e.get("type") != "fixed":
                i, axis = self.place[e.get("name")], numbers(e, "axis", "xyz", "1 0 0")
                axis = axis / np.linalg.norm(axis)
                d = R @ axis
                if e.get("type") == "prismatic":
                    slid = d * x[i]
                    a = a + cross(alpha, slid) + cross(w, cross(w, slid)) + 2 * cross(w, d * v[i])
                    r, u, Jv = r + slid, u + cross(w, slid) + d * v[i], Jv - skew(slid) @ Jw
                    Jv[:, i] += d
                else:
                    alpha, w = alpha + cross(w, d * v[i]), w + d * v[i]
                    R = R @ rotation(axis, x[i])
                    Jw[:, i] += d
            states[e.find("child").get("link")] = R, r, w, u, alpha, a, Jw, Jv
        return states

    def equations(self, q, v):
        """M(q) and the bias h(q, v) with M qddot + h = 0, without damping; and the energy."""
        states = self.links_at(self.G @ q + self.b, self.G @ v)
        M, h, energy = 0, 0, 0
        for name, (R, r, w, u, alpha, a, Jw, Jv) in states.items():
            e = self.links[name].find("inertial")
            if e is None:
                continue
            c = R @ numbers(e, "origin", "xyz", "0 0 0")
            turn, i, m = R @ rpy(numbers(e, "origin", "rpy", "0 0 0")), e.find("inertia").attrib, \
                float(e.find("mass").get("value"))
            xx, xy, xz, yy, yz, zz = (float(i[k]) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
            inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
            Jc, uc = Jv - skew(c) @ Jw, u + cross(w, c)
            ac = a + cross(alpha, c) + cross(w, cross(w, c))
            M = M + m * Jc.T @ Jc + Jw.T @ inertia @ Jw
            h = h + m * Jc.T @ (ac - GRAVITY) + Jw.T @ (inertia @ alpha + cross(w, inertia @ w))
            energy += (m * uc @ uc + w @ inertia @ w) / 2 - m * GRAVITY @ (r + c)
        return self.G.T @ M @ self.G, self.G.T @ h, energy

    def rate(self, t, y):
        q, v = np.split(y, 2)
        M, h, _ = self.equations(q, v)
        return np.concatenate([v, -np.linalg.solve(M, h + self.G.T @ (self.damping * (self.G @ v)))])


def skew(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def cross(x, y):
    """np.cross takes ten times as long."""
    return np.array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])
