"""Compare robots' files as timefem reads them with MuJoCo and Pinocchio (docs/reference/robot-files.md).

    PYTHONPATH=. python tools/robot_files.py --mujoco FOLDER ... --pinocchio FOLDER ... [--json FILE]

Wants the wheels mujoco and pin, which the project does not need, and folders with MJCF and URDF files. Of every file:
the mass matrix, and the forces that make it move with random positions, velocities and accelerations, against those of
MuJoCo (constraints, contacts and actuators off) or of Pinocchio (whose forces have no damping); the largest difference
in parts of the largest number; or why the file is refused.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import timefem as tf
from tests.robot_rates import RobotRates

SAMPLES = 3
WIDTH = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}


def by_mujoco(path):
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= bits.mjDSBL_CONSTRAINT | bits.mjDSBL_CONTACT | bits.mjDSBL_ACTUATION
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    kinds = [kind.name[6:].lower() for kind in map(mujoco.mjtJoint, model.jnt_type)]
    names, counts = [], np.bincount(model.jnt_bodyid, minlength=model.nbody)
    seen = Counter()
    for i in range(model.njnt):
        body = model.body(model.jnt_bodyid[i]).name or f"body {model.jnt_bodyid[i]}"
        seen[body] += 1
        several = bool(counts[model.jnt_bodyid[i]] > 1)
        names.append(model.joint(i).name or f"{body} joint" + f" {seen[body]}" * several)

    def values(ours, q, rates, v, a):
        matrix = np.zeros((model.nv, rates.shape[1]))
        for i, (name, kind) in enumerate(zip(names, kinds)):
            position, rows = ours.joint(name, q, rates)
            first = model.jnt_qposadr[i]
            data.qpos[first:first + WIDTH[kind][0]] = position
            matrix[model.jnt_dofadr[i]:model.jnt_dofadr[i] + WIDTH[kind][1]] = rows
        data.qvel[:], data.qacc[:] = matrix @ v, matrix @ a
        mujoco.mj_inverse(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        return matrix.T @ mass @ matrix, matrix.T @ data.qfrc_inverse

    return values, model.nv


def by_pinocchio(path):
    import pinocchio

    model = pinocchio.buildModelFromUrdf(str(path))
    data = model.createData()

    def values(ours, q, rates, v, a):
        position, matrix = np.zeros(model.nq), np.zeros((model.nv, rates.shape[1]))
        for name, joint in zip(list(model.names)[1:], list(model.joints)[1:]):
            x, rows = ours.joint(name, q, rates)
            if len(x) == 3:  # planar: velocities in the axes of the child
                turn = np.array([[np.cos(x[2]), np.sin(x[2])], [-np.sin(x[2]), np.cos(x[2])]])
                x, rows = np.append(x[:2], [np.cos(x[2]), np.sin(x[2])]), np.vstack([turn @ rows[:2], rows[2]])
            elif joint.nq == 2:
                x = np.append(np.cos(x), np.sin(x))
            elif joint.nq == 7:
                x, turn = np.append(x[:3], np.roll(x[3:], -1)), rotation(x[3:])
                rows = np.vstack([turn.T @ rows[:3], rows[3:]])
            position[joint.idx_q:joint.idx_q + joint.nq] = x
            matrix[joint.idx_v:joint.idx_v + joint.nv] = rows
        mass = pinocchio.crba(model, data, position)
        mass = np.triu(mass) + np.triu(mass, 1).T
        return matrix.T @ mass @ matrix, matrix.T @ pinocchio.rnea(model, data, position, matrix @ v, matrix @ a)

    return values, model.nv


def rotation(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def compared(path, simulator):
    """A line of the table: dict."""
    found = {"file": str(path), "by": simulator}
    try:
        values, found["n_v"] = (by_mujoco if simulator == "mujoco" else by_pinocchio)(path)
    except Exception as error:
        found["simulator"] = " ".join(str(error).split())[:200]
    try:
        if path.suffix == ".urdf":
            robot = tf.read_urdf(path)
        else:
            robot = tf.read_mjcf(path, meshes=path.parent)
    except tf.InputError as error:
        return found | {"refused": str(error).replace(str(path), path.name)}
    found |= {"coordinates": robot.tree.n_q, "links": len(robot.tree.links), "notes": list(robot.notes),
              "loops": len(robot.joints)}
    if "simulator" in found:
        return found
    ours, rng, mass_error, force_error = RobotRates(robot), np.random.default_rng(0), 0.0, 0.0
    try:
        for _ in range(SAMPLES):
            q, rates = ours.random(rng)
            v, a = rng.standard_normal((2, rates.shape[1]))
            # accelerations of joints that follow others are theirs, as the relation is linear
            mass, force = values(ours, q, rates, v, a)
            own = rates.T @ robot.tree.mass_matrix(q) @ rates
            push = ours.force(q, rates, v, a, simulator == "mujoco")
            mass_error = max(mass_error, np.abs(own - mass).max() / np.abs(mass).max())
            force_error = max(force_error, np.abs(push - force).max() / np.abs(force).max())
    except KeyError as error:
        return found | {"failed": f"joint {error} is not there"}
    return found | {"mass": mass_error, "force": force_error}


def files(folder, endings):
    return sorted(path for path in Path(folder).rglob("*") if path.suffix in endings and path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mujoco", nargs="*", default=[])
    parser.add_argument("--pinocchio", nargs="*", default=[])
    parser.add_argument("--json")
    options = parser.parse_args()
    for simulator, folders, ending in (("mujoco", options.mujoco, (".xml",)), ("pinocchio", options.pinocchio,
                                                                             (".urdf",))):
        for folder in folders:
            for path in files(folder, ending):
                if ending == (".xml",) and not re.search(r"<mujoco[\s>]", path.read_text(errors="replace")):
                    continue
                line = compared(path, simulator) | {"name": str(path.relative_to(folder))}
                print(told(line), flush=True)
                if options.json:
                    with open(options.json, "a") as file:
                        file.write(json.dumps(line) + "\n")
    return 0


def told(line):
    start = f"{line['name'][-60:]:60s} "
    if "refused" in line:
        return start + ("BOTH " if "simulator" in line else "") + f"refused: {line['refused'][-110:]}"
    if "simulator" in line:
        return start + f"read, but {line['by']} refuses: {line['simulator'][:80]}"
    if "failed" in line:
        return start + line["failed"]
    return start + (f"{line['coordinates']:3d}  mass {line['mass']:.0e}  force {line['force']:.0e}  "
                    f"{len(line['notes'])} notes")


if __name__ == "__main__":
    sys.exit(main())
