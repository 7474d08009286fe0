"""Write the truths of MJCF files, with MuJoCo: `python truth.py`, with the wheel mujoco.

Per model: some states, the mass matrix, passive forces (springs and dampers), bias forces, and accelerations, without
contacts and limits; masses of bodies. Velocities are MuJoCo's: those of a free joint in space, angular
ones in the body.
"""

import json
from pathlib import Path

import mujoco
import numpy as np

OFF = '<option><flag contact="disable" constraint="disable"/></option>'
ARM = """<mujoco model="arm"><compiler angle="degree" autolimits="true"/>
  <default><joint damping="0.3" armature="0.02"/><geom density="800"/>
    <default class="light"><geom density="200" rgba="1 0 0 1"/><joint stiffness="2" springref="20"/>
      <default class="lighter"><geom density="100"/></default></default></default>
  <worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 1"/>
    <body name="base" pos="0.1 0 0.3" euler="0 20 30">
      <joint name="yaw" axis="0 0 1" range="-90 90"/><geom type="cylinder" size="0.1 0.15" pos="0 0.02 0.1"/>
      <body name="upper" pos="0 0.1 0.3" quat="0.9 0.1 -0.2 0.3" childclass="light">
        <joint name="pitch" axis="0 1 0.2" pos="0.01 0.02 -0.05" ref="15"/>
        <joint name="slide" type="slide" axis="1 0 0.5" pos="0.2 0 0" ref="0.1" class="main"/>
        <geom type="capsule" fromto="0 0 0 0.1 0.05 0.5" size="0.04"/>
        <geom type="box" size="0.05 0.03 0.02" pos="0 0 0.5" axisangle="1 0 1 40" class="lighter"/>
        <body name="wrist" pos="0.1 0.05 0.55" xyaxes="1 0.2 0 0 1 0.3">
          <joint name="ball" type="ball" damping="0.1" stiffness="0"/>
          <geom type="ellipsoid" size="0.04 0.06 0.1" zaxis="0 1 1" mass="0.7"/>
          <frame pos="0 0 0.1" euler="10 0 0"><geom type="sphere" size="0.05" pos="0.05 0 0"/>
            <body name="tip" pos="0 0 0.1"><inertial pos="0 0 0.02" mass="0.3"
              fullinertia="2e-3 3e-3 4e-3 1e-4 2e-4 -1e-4"/>
              <joint name="twist" axis="0 0 1"/></body></frame>
        </body></body></body></worldbody></mujoco>"""
FLYER = """<mujoco model="flyer"><compiler angle="radian" eulerseq="ZYX" inertiafromgeom="true"/>
  <option gravity="0 1 -3"/>
  <worldbody><body name="hull" pos="0 0 1" euler="0.1 0.2 0.3"><freejoint name="root"/>
      <inertial pos="0 0 0" mass="99" diaginertia="1 1 1"/><geom type="box" size="0.2 0.1 0.05"/>
      <body name="left" pos="0.2 0.1 0"><joint name="l1" axis="0 1 0"/><joint name="l2" axis="1 0 0"/>
        <geom type="capsule" size="0.02 0.2" pos="0 0 -0.2"/></body>
      <body name="right" pos="0.2 -0.1 0"><joint name="r1" axis="0 1 0" armature="0.01"/>
        <geom type="capsule" size="0.02 0.2" pos="0 0 -0.2"/></body></body>
    <body name="stone" pos="1 1 1"><joint type="free" name="fall"/><geom size="0.1"/></body></worldbody></mujoco>"""
MODELS = {"arm": ARM, "flyer": FLYER}


def main():
    here = Path(__file__).parent
    for name, text in MODELS.items():
        model = mujoco.MjModel.from_xml_string(text.replace("<worldbody>", OFF + "<worldbody>", 1))
        data, rng, samples = mujoco.MjData(model), np.random.default_rng(3), []
        for _ in range(3):
            mujoco.mj_integratePos(model, data.qpos, rng.uniform(-0.7, 0.7, model.nv), 1.0)
            data.qvel = rng.uniform(-1, 1, model.nv)
            mujoco.mj_forward(model, data)
            mass = np.zeros((model.nv, model.nv))
            for i in range(model.nv):
                mujoco.mj_mulM(model, data, mass[i], np.eye(model.nv)[i])
            samples.append({key: np.array(value).tolist() for key, value in (
                ("q", data.qpos), ("v", data.qvel), ("mass", mass), ("passive", data.qfrc_passive),
                ("bias", data.qfrc_bias), ("a", data.qacc))})
        joints = [model.joint(i).name for i in range(model.njnt)]
        kinds = [["free", "ball", "slide", "hinge"][t] for t in model.jnt_type]
        start = mujoco.MjData(model).qpos.tolist()
        (here / f"{name}.json").write_text(json.dumps({
            "made": f"MuJoCo {mujoco.__version__}", "xml": text, "joints": joints, "kinds": kinds, "start": start,
            "masses": {model.body(i).name: float(model.body_mass[i]) for i in range(1, model.nbody)},
            "samples": samples}) + "\n")


if __name__ == "__main__":
    main()
