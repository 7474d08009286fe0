"""Small MJCF files, each about one attribute, and what MuJoCo makes of them: writes attributes.json beside this file.

Wants the wheel mujoco (4.0), which the project does not need. At the start, with velocities and accelerations of all
degrees of freedom that are written there: the mass matrix, and the forces `qfrc_inverse` without constraints, contacts
and actuators; and where equality constraints hold bodies together nothing of them.
"""

import json
from pathlib import Path

I = '<inertial pos="0.1 0 -0.5" mass="1" diaginertia="0.1 0.12 0.03"/>'
J = '<joint name="j" axis="0 1 0"{}/>'
ROD = '<geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.03"/>'
MESH = '<asset><mesh name="m" vertex="0 0 0  0.3 0 0  0 0.2 0  0 0 0.4  0.2 0.2 0.2" {}/></asset>'
BENT = ('<asset><mesh name="m" vertex="0 0 0  0.3 0 0  0.3 0.1 0  0.1 0.1 0  0.1 0.3 0  0 0.3 0  0 0 0.2  0.3 0 0.2  '
        '0.3 0.1 0.2  0.1 0.1 0.2  0.1 0.3 0.2  0 0.3 0.2" face="0 2 1  0 3 2  0 4 3  0 5 4  6 7 8  6 8 9  6 9 10  '
        '6 10 11  0 1 7  0 7 6  1 2 8  1 8 7  2 3 9  2 9 8  3 4 10  3 10 9  4 5 11  4 11 10  5 0 6  5 6 11" {}/>'
        '</asset>')


def body(inside=I, joint=J.format(""), own=""):
    return f'<body name="a" pos="0 0 1" {own}>{joint}{inside}</body>'


TWO = body() + f'<body name="b" pos="0 1 0"><joint name="k" type="ball"{{}}/>{I}</body>'
CASES = {  # what is in <worldbody>, before it, after it
    "plain": (body(),),
    "flag gravity": (body(), '<option><flag gravity="disable"/></option>'),
    "flag spring": (body(joint=J.format(' stiffness="3" springref="40" damping="2"')),
                    '<option><flag spring="disable"/></option>'),
    "flag damper": (body(joint=J.format(' stiffness="3" springref="40" damping="2"')),
                    '<option><flag damper="disable"/></option>'),
    "flags of all passive forces": (body(joint=J.format(' stiffness="3" springref="40"'), own='gravcomp="0.7"'),
                                    '<option><flag spring="disable" damper="disable"/></option>'),
    "gravcomp": (body(own='gravcomp="0.7"'),),
    "gravcomp of two in a chain": (body(I + f'<body name="c" pos="0 0 -1" gravcomp="1.5">{I}<joint name="l" '
                                        'axis="1 0 0"/></body>', own='gravcomp="-0.5"'),),
    "joint in a frame": (body(f'{I}<frame pos="0 0.1 0.2" euler="20 30 0">{J.format("")}</frame>', joint=""),),
    "inertial in a frame": (body(f'<frame pos="0 0.1 0.2" euler="20 30 0">{I}</frame>'),),
    "free joint": (body(ROD, '<joint name="j" type="free" damping="0.3" armature="0.2" stiffness="4"/>'),),
    "free joint of a class": (body(ROD, '<joint name="j" type="free"/>'),
                              '<default><joint damping="0.3" armature="0.2"/></default>'),
    "freejoint without class": (body(ROD, '<freejoint name="j"/>'),
                                '<default><joint damping="0.3" armature="0.2"/></default>'),
    "ball with a spring": (body(joint='<joint name="j" type="ball" stiffness="3" damping="0.4" armature="0.2"/>'),),
    "ball on a link that turns": (body(I + '<body name="b" pos="0 0.2 0" euler="20 30 40"><joint name="k" type="ball" '
                                       f'stiffness="3"/>{I}</body>', own='euler="0 30 0"'),),
    "slide after a hinge": (body(joint=J.format("") + '<joint name="k" type="slide" pos="0 0.1 0" axis="1 1 0" '
                                 'stiffness="3" ref="0.2" springref="0.1"/>', own='euler="0 30 0"'),),
    "springdamper": (body(joint=J.format(' springdamper="0.5 0.7" springref="30"')),),
    "springdamper over stiffness": (body(joint=J.format(' springdamper="0.5 0.7" stiffness="9" armature="0.1"')),),
    "reference and spring": (body(joint=J.format(' ref="25" springref="60" stiffness="3"')),),
    "settotalmass": (body() + f'<body name="b" pos="1 0 0"><joint name="k"/>{I}</body>',
                     '<compiler settotalmass="0.5"/>'),
    "boundmass": (body(), '<compiler boundmass="1.4"/>'),
    "boundinertia": (body(), '<compiler boundinertia="0.11"/>'),
    "balanceinertia": (body(I.replace("0.12", "0.5")), '<compiler balanceinertia="true"/>'),
    "inertiagrouprange": (body('<geom size="0.1" group="4"/><geom size="0.2" pos="0 0 1" group="1"/>'),
                          '<compiler inertiagrouprange="0 3"/>'),
    "inertiafromgeom": (body(I + ROD), '<compiler inertiafromgeom="true"/>'),
    "shell of a sphere": (body('<geom size="0.1" pos="0 0 1" shellinertia="true"/>'),),
    "shell of a box": (body('<geom type="box" size="0.1 0.2 0.3" euler="0 30 0" shellinertia="true"/>'),),
    "shell of a capsule": (body('<geom type="capsule" size="0.1 0.2" euler="0 30 0" shellinertia="true"/>'),),
    "shell of a cylinder": (body('<geom type="cylinder" size="0.1 0.2" euler="0 30 0" shellinertia="true"/>'),),
    "capsule fitted to a mesh": (body('<geom type="capsule" mesh="m" pos="0 0 0.1" euler="0 20 0"/>'), MESH.format("")),
    "sphere fitted to a mesh": (body('<geom type="sphere" mesh="m" fitscale="1.2"/>'), MESH.format("")),
    "box around a mesh": (body('<geom type="box" mesh="m" pos="0 0 0.1" euler="0 20 0"/>'),
                          '<compiler fitaabb="true"/>' + MESH.format("")),
    "capsule around a mesh": (body('<geom type="capsule" mesh="m" pos="0 0 0.1"/>'),
                              '<compiler fitaabb="true"/>' + MESH.format("")),
    "mesh": (body('<geom type="mesh" mesh="m" pos="0 0 0.1" euler="0 20 0"/>'), MESH.format("")),
    "mesh with scale and frame": (body('<geom type="mesh" mesh="m" mass="2"/>'),
                                  MESH.format('scale="1 2 -3" refpos="0.1 0 0.2" refquat="1 1 0 0"')),
    "mesh, legacy": (body('<geom type="mesh" mesh="m"/>'), BENT.format('inertia="legacy"')),
    "mesh, exact": (body('<geom type="mesh" mesh="m"/>'), BENT.format('inertia="exact"')),
    "mesh, convex": (body('<geom type="mesh" mesh="m"/>'), BENT.format('inertia="convex"')),
    "mesh, shell": (body('<geom type="mesh" mesh="m"/>'), BENT.format('inertia="shell"')),
    "sphere that fits a mesh of a class": (
        body('<geom class="seen" mesh="m"/>'), '<default><default class="seen"><mesh scale="2 2 2"/><geom '
        'density="700"/></default></default>' + MESH.format('class="seen"')),
    "mesh of a class": (body('<geom class="seen" mesh="m"/>'), '<default><default class="seen"><mesh scale="2 2 2"/>'
                        '<geom density="700" type="mesh"/></default></default>' + MESH.format('class="seen"')),
    "orientation over that of the class": (body('<geom euler="0 90 0" size="0.1 0.2" pos="0.1 0 0"/>'),
                                           '<default><geom type="capsule" quat="1 1 0 0"/></default>'),
    "quaternion over angles of the class": (body('<geom quat="1 1 0 0" size="0.1 0.2" pos="0.1 0 0"/>'),
                                            '<default><geom type="capsule" euler="0 90 0"/></default>'),
    "class of a frame": (f'<frame childclass="x">{body()}</frame>',
                         '<default><default class="x"><joint damping="3" armature="0.4"/></default></default>'),
    "class within a class": (body(joint=J.format(' class="y"'), own='childclass="x"'),
                             '<default><joint stiffness="5"/><default class="x"><joint damping="3" armature="0.4"/>'
                             '<default class="y"><joint damping="1" springref="10"/></default></default></default>'),
    "replicate": ('<replicate count="3" offset="1 0 0" euler="0 0 40" sep="-"><body name="a" pos="0 2 0">'
                  f'{J.format("")}{I}</body></replicate>',),
    "replicate in a body": (body('<replicate count="3" offset="0.1 0 0" euler="0 30 0"><geom pos="0 0 0.2" size="0.1" '
                                 'name="g"/></replicate>'),),
    "replicate in replicate": ('<replicate count="2" offset="0 1 0" euler="90 0 0"><replicate count="2" sep="-" '
                               'offset="1 0 0" euler="0 90 0"><body name="a">' + J.format("") + I +
                               '</body></replicate></replicate>',),
    "radians of a second compiler": (body(joint=J.format(' springref="0.4" stiffness="3"')),
                                     '<compiler angle="degree"/><compiler angle="radian"/>'),
    "limits of infinite size": (body(joint=J.format(' range="-inf inf"')),),
}


def text(world, head="", tail=""):
    return f"<mujoco>{head}<worldbody>{world}</worldbody>{tail}</mujoco>"


def main():
    import mujoco
    import numpy as np

    found = {}
    for name, case in CASES.items():
        model = mujoco.MjModel.from_xml_string(text(*case))
        data = mujoco.MjData(model)
        bits = mujoco.mjtDisableBit
        model.opt.disableflags |= bits.mjDSBL_CONSTRAINT | bits.mjDSBL_CONTACT | bits.mjDSBL_ACTUATION
        for i in range(model.njnt):  # turned from where springs of balls are at rest
            if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE:
                data.qpos[model.jnt_qposadr[i]:][:7] += [0.1, -0.2, 0.3, 0, 0.3, -0.2, 0.5]
            elif model.jnt_type[i] == mujoco.mjtJoint.mjJNT_BALL:
                data.qpos[model.jnt_qposadr[i]:][:4] += [0, 0.3, -0.2, 0.5]
        mujoco.mj_normalizeQuat(model, data.qpos)
        data.qvel[:], data.qacc[:] = np.linspace(-0.7, 1.1, model.nv), np.linspace(1.3, -0.4, model.nv)
        mujoco.mj_inverse(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        found[name] = {"joints": [model.joint(i).name for i in range(model.njnt)], "q": data.qpos.tolist(),
                       "v": data.qvel.tolist(), "a": data.qacc.tolist(), "mass": mass.tolist(),
                       "force": data.qfrc_inverse.tolist()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=0))


if __name__ == "__main__":
    main()
