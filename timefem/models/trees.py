"""Trees in model files: by links and joints, or by a robot's file that lies beside the model file."""

from ..mechanics.bodies.states import CanonicalState
from ..mechanics.bodies.tree.links import Link, TreeJoint
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.composites.beam.place import place_named
from ..mechanics.inversion import outputs
from ..mechanics.numbers.records import with_records
from ..mechanics.states.in_trees import joints_of_trees
from .document import suggest
from .entries import beside, naming, state_of_joint
from .mjcf.read import read_mjcf
from .urdf import read_urdf

BODIES = "body", "other"  # keys of outputs and quantities that name one


def tree_of(document, name, entry):
    """The parts of an entry "tree" or "robot", the tree first, the state at the start by joint, and notes of the file.

    Raises
    ------
    InputError
        For what makes no tree, and files that are not in the folder of the model file, or below.
    """
    options = {key: entry[key] for key in ("base", "friction_width") if key in entry}
    if entry["type"] == "tree":
        links, joints = ([cls(**given) for given in entry[key]] for key, cls in
                         (("links", Link), ("joints", TreeJoint)))
        return (Tree(links, joints, name=name, **options),), dict(entry.get("state", {})), ()
    path = beside(document, ("bodies", name, "file"), entry["file"])
    if path.endswith(".urdf"):
        robot = read_urdf(path, **options)
    else:
        if "base" in entry:
            raise document.error(("bodies", name, "base"), "belongs to URDF files; an MJCF file states its free joints")
        robot = read_mjcf(path, **options)
    own = robot.tree
    tree = Tree(own.links, own.joints, own.friction_width, name, own.base)
    further = (*robot.joints, *robot.forces)
    moved = with_records(further, {own: tree}, made=True)
    notes = [f"{name}: {note}" for note in robot.notes]
    if "gravity" not in document.data:
        notes.append(f"{name}: no gravity is stated here, and that of the robot's file does not count")
    return (tree, *(moved.get(part, part) for part in further)), {**robot.start, **entry.get("state", {})}, tuple(notes)


def settled(document, state, bodies):
    """States with those of trees as `CanonicalState`, so that joints which are wrong are reported by their key."""
    found = dict(state)
    for name, value in state.items():
        if isinstance(value, dict):
            tree, own = bodies[name], {}
            for joint, given in value.items():
                keys = "bodies", name, "state", joint
                with naming(document, keys, ()):
                    own[joint] = state_of_joint(document, keys, tree.joint(joint), given)
            found[name] = CanonicalState(*tree.state(own))
    return found


class Names:
    """What names in a file stand for: bodies, points of beams, and links and joints of trees."""

    def __init__(self, document, bodies, composites, joints):
        self.document, self.bodies, self.composites, self.joints = document, bodies, composites, joints
        self.actuators, self.outputs = {}, {}
        self._trees = [body for body in bodies.values() if isinstance(body, Tree)]

    def on(self, system):
        """The same for what a system has, in which other parts may stand for those of the file."""
        joints = {part.name: part for part in system.parts if part.name and (
            getattr(part, "coordinates", ()) or getattr(part, "free_rotation", False))}
        links = {name: own for name, own in system.replaced.items() if own.has_position}
        # joints that have become those of trees are stated as before
        joints |= {name: joint for name, joint in self.joints.items() if name in system.replaced}
        found = Names(self.document, {body.name: body for body in system.bodies} | links, system.composites, joints)
        found.actuators = {part.name: part for part in system.parts if part.n_controls}
        found.outputs = {name: output.on(system) for name, output in self.outputs.items()}
        return found

    def body(self, keys, name, whole=True, others=()):
        """The body, the point, or the link of that name; `others` are reported where there is none."""
        known = self.bodies | ({composite.name: composite for composite in self.composites} if whole else {})
        if name in known:
            return known[name]
        links = {f"{tree.name}.{link.name}": (tree, link.name) for tree in self._trees for link in tree.links}
        if name in links:
            tree, link = links[name]
            return tree.link(link)
        with naming(self.document, keys, {}):
            place = place_named(self.composites, name)
        if place is not None:
            return place
        what = "body or joint" if others else "body"
        raise self.document.error(keys, f"there is no {what} {name!r}; {suggest(name, [*known, *links, *others])}")

    def drive(self, keys, given):
        """What a controller moves: a joint, a pair of joint and coordinate, or an actuator."""
        return self._joint_or(keys, given, self.actuators)

    def actuator(self, keys, given):
        """An actuator whose controls a formula sees."""
        if given not in self.actuators:
            raise self.document.error(keys, f"there is no actuator {given!r}; {suggest(given, self.actuators)}")
        return self.actuators[given]

    def measured(self, keys, given):
        """What a controller measures: a joint, a pair of joint and coordinate, or an output."""
        return self._joint_or(keys, given, self.outputs)

    def _joint_or(self, keys, given, known):
        if isinstance(given, list):
            return self.joint(keys, given[0]), given[1]
        return known[given] if given in known else self.joint(keys, given, known)

    def output(self, keys, entry, name):
        """The output of an entry, whose trajectory is left out."""
        own = self.resolved(keys, {key: value for key, value in entry.items() if key not in ("type", "trajectory")})
        with naming(self.document, keys, entry):
            return outputs.TYPES[entry["type"]](**own, name=name)

    def resolved(self, keys, entry, whole=True):
        """An entry with the bodies and joints themselves where it names them."""
        found = dict(entry)
        for key in BODIES:
            if key in entry:
                found[key] = self.body((*keys, key), entry[key], whole)
        if "joint" in entry:
            found["joint"] = self.joint((*keys, "joint"), entry["joint"])
        if "bodies" in entry:
            found["bodies"] = [self.body((*keys, "bodies"), name, whole) for name in entry["bodies"]]
        return found

    def joint(self, keys, name, others=()):
        """The joint, or joint of a tree, of that name."""
        known = self.known_joints()
        if name not in known:
            raise self.document.error(keys, f"there is no joint {name!r}; {suggest(name, [*known, *others])}")
        return known[name]

    def known_joints(self):
        """Name -> joint, or joint of a tree."""
        of_trees = joints_of_trees(_Bodies(self._trees))
        full = {f"{joint.body.name}.{joint.address[1]}": joint for joint in of_trees.values()}
        return full | of_trees | self.joints

    def body_or_joint(self, keys, name):
        """What states are given of: a body, a link or a point, or a joint."""
        joints = self.known_joints()
        if name in joints and name not in self.bodies:
            return joints[name]
        return self.body(keys, name, whole=False, others=joints)


class _Bodies:
    """What `joints_of_trees` sees of a system that is not there yet."""

    def __init__(self, bodies):
        self.bodies = self.parts = tuple(bodies)

    def label(self, part):
        return part.name
