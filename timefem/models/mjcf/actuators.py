"""Motors and fixed tendons of an MJCF file."""

import numpy as np

from ...mechanics.forces.actuators import GeneralizedControl
from .attributes import replicated
from .defaults import SERVO

PURE = (("biastype", "none"), ("gaintype", "fixed"), ("dyntype", "none"))


def fixed_tendons(file, root, reader):
    """Name -> joint -> its arm, of tendons whose length is `sum_i coef_i q_i`; notes on what others do."""
    found = {}
    for element in (e for table in root.iterfind("tendon") for e in table):
        if element.tag not in ("fixed", "spatial"):
            raise file.error(element, "is not supported; fixed and spatial tendons are")
        given = reader.defaults.complete(element, None)
        name = given.get("name")
        if element.tag == "fixed" and name:
            found[name] = {}
            for child in element.iterfind("joint"):
                found[name][file.text(child, "joint")] = file.number(child, "coef")
    return found


def read_actuators(file, root, reader, tree, tendons):
    """Actuators by name, and the ranges of their controls: two dicts."""
    found, ranges, kinds = {}, {}, {joint.name: joint.kind for joint in tree.joints}
    for n, element in enumerate(e for table in root.iterfind("actuator") for e in table):
        if "actuation" in reader.settings.off:
            continue
        whole = reader.defaults.complete(element, None, check=False)
        for given in replicated(whole, reader.copies):
            given["name"] = given.get("name") or f"actuator {n + 1}"
            joint = given.get("joint", given.get("jointinparent"))
            pulled = tendons.get(given.get("tendon"), {joint: 1.0})
            if not _pure(element, given) or any(kinds.get(name) not in ("revolute", "prismatic") for name in pulled):
                if joint is not None and joint not in kinds:
                    raise file.error(element, f"names the joint {joint!r}, which does not exist")
                of_tendon = f" of the tendon {given['tendon']}" if "tendon" in given else ""
                reader.notes.append_named(f"<{element.tag}> {{}} is left out: only motors of hinges, slides and fixed "
                                          "tendons of these act here", given["name"] + of_tendon)
                continue
            reader.defaults.check(element, given)
            gear = reader.values(given, element, "gear", None, (1,))[0]
            gain = reader.values(given, element, "gainprm", None, (1,))[0] if element.tag == "general" else 1.0
            found[given["name"]] = _motor(tree, joint, pulled, gear * gain, given["name"])
            limits = _ranges(element, given, reader, gain)
            if limits is not None:
                ranges[given["name"]] = limits
                reader.notes.append_named("the ranges of the controls {} are data (robot.control_ranges) and bound "
                                          "nothing: give them as bounds", given["name"])
    return found, ranges


def _pure(element, given):
    """Whether the force is a factor times the control."""
    if element.tag == "motor":
        return True
    return element.tag == "general" and given.get(SERVO, "motor") == "motor" and \
        all(given.get(key, none) == none for key, none in PURE)


def _motor(tree, joint, pulled, factor, name):
    moving = {body.joint.name: body for body in tree.moving}
    if joint is not None:
        return GeneralizedControl(tree.joint(joint), [[factor * moving[joint].factor]], name=name)
    column = np.zeros((tree.n_q, 1))
    for pulls, arm in pulled.items():
        column[moving[pulls].first] += factor * arm * moving[pulls].factor
    return GeneralizedControl(tree, column, name=name)


def _ranges(element, given, reader, gain):
    """Least and greatest control, of its own range and that of its force; None where there is neither."""
    low, high = -np.inf, np.inf
    for key, limited, factor in (("ctrlrange", "ctrllimited", 1.0), ("forcerange", "forcelimited", gain)):
        state = given.get(limited, "auto")
        if key not in given or state == "false" or (state == "auto" and not reader.settings.autolimits) or not factor:
            continue
        ends = np.sort(reader.values(given, element, key, 2) / factor)
        if np.any(ends):
            low, high = max(low, ends[0]), min(high, ends[1])
    return None if np.isinf([low, high]).all() else (float(low), float(high))
