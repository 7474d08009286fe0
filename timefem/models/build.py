"""From the data of a model file to a `Model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..atomic_write import ending_of
from ..display import digits
from ..errors import named_arguments
from ..mechanics.bodies.first_order import PortSystem, State
from ..mechanics.bodies.mass_properties import MassProperties
from ..mechanics.bodies.point_mass import PointMass, VariableMass
from ..mechanics.bodies.rigid import RigidBody, RigidBodyBase
from ..mechanics.bodies.states import CanonicalState, Pose
from ..mechanics.bodies.tree.links import Link, TreeJoint
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.composites.composite import Composite
from ..mechanics.composites.place import place_named
from ..mechanics.inversion import outputs
from ..mechanics.numbers.records import with_records
from ..mechanics.part import Body
from ..mechanics.parts import replaced_names
from ..mechanics.states.given import canonical_states, given_states, joints_of_trees
from ..mechanics.system import System
from ..memory import Late
from ..problems.initial.problem import uncovered
from ..problems.task import checked_mesh
from ..validate.options import spelt_as
from .document import Document, suggest
from .entries import beside, kind_of_file, naming, state_of_joint, value_of
from .model import Model
from .schema import ACTUATORS, COMPOSITES, FORCES, JOINTS
from .schema_values import OPTIMAL_KEYS, SCHEMAS
from .settings import arguments_of, element_of, inspect

if TYPE_CHECKING:
    from ..types import FilePath

mjcf = Late(f"{__package__}.mjcf.read")
urdf = Late(f"{__package__}.urdf")

SOLIDS = ("cuboid", "cylinder", "cone", "sphere")
LOOKS = {  # shape of a solid, and its edges: parts of its lengths
    "cuboid": ("box", (("length", 1), ("width", 1), ("height", 1))),
    "cylinder": ("cylinder", (("radius", 2), ("radius", 2), ("height", 1))),
    "sphere": ("ellipsoid", (("radius", 2),) * 3)}
STAGES = [(table, types, after) for table, types in (("joints", JOINTS), ("actuators", ACTUATORS), ("forces", FORCES))
          for after in (0, 1, 2) if after < 2 or table == "forces"]
LISTS = {"drives": "drive", "inputs": "measured", "controls": "actuator",
         "reactions": "joint"}  # key -> what of `Names` finds each
RATE = {"rate": "formula", "parameters": "parameters", "controls": "controls"}  # keys of states -> of their rates
STATE = ("position", "orientation", "velocity", "angular_velocity", "frame", "relative_to")


@named_arguments
def load_model(path: FilePath, rotation: str | None = None, inverse_mass: str | None = None,
               t_end: float | None = None, changes: Mapping[str, Any] | None = None,
               data: FilePath | None = None) -> Model:
    """Read a model file and check that it can be solved.

    Parameters
    ----------
    path : str or path-like
        A TOML file; `docs/how-to/model-files.md` states the format and `timefem schema` prints its JSON schema.
    rotation, inverse_mass : str, optional
        Replace those of all rigid bodies.
    t_end : float, optional
        Replaces the end of the time span [s].
    changes : dict, optional
        Key of a number of the file, such as "bodies.bar.inertia[1]" -> number to put in its place.
    data : str, optional
        File of measured values that replaces that of the file, of estimation.

    Returns
    -------
    Model

    Raises
    ------
    InputError
        In one line, with file, line, key and remedy: when the file cannot be read or understood, when the initial state
        violates constraints, or when constraints repeat others there.
    """
    model = read_model(path, rotation, inverse_mass, t_end, changes, data)
    systems = [one.system for one in model.phases or (model,)]
    if not any(isinstance(body, RigidBodyBase) and body.owner is None for system in systems for body in system.bodies):
        for name, value in {"rotation": rotation, "inverse_mass": inverse_mass}.items():
            if value is not None:
                raise model.document.error((), f"there are no rigid bodies in coordinates of their own, and {name} has "
                                               "no use; leave it out")
    facts = inspect(model, element=False)  # another one may take the place of that in the file
    for fault in facts["faults"]:
        raise model.document.error(fault["keys"], fault["message"])
    check_tables(model)
    return model


def check_tables(model):
    """Refuse what is prescribed in tables that only solves and what follows them read: problem, guess, sensitivity,
    continuation."""
    model.problem  # noqa: B018  raises on its own account
    model.with_guess({})  # likewise
    if "sensitivity" in model.document.data:
        model.sensitivity  # noqa: B018  likewise
    if "continuation" in model.document.data:
        start = model.document.data["continuation"]
        with naming(model.document, ("continuation",), start):
            model.changed({start["vary"]: start["start"]})


def read_model(path, rotation=None, inverse_mass=None, t_end=None, changes=None, data=None):
    """As `load_model`, without the checks of the initial state, which `inspect` tells about."""
    changes = ({} if t_end is None else {"time.span[1]": t_end}) | (changes or {})
    document = Document(path, changes)
    if data is not None:
        document.give_data(data)
    kind = kind_of_file(document)

    def changed(more):
        return read_model(path, rotation, inverse_mass, changes=changes | more, data=data)

    if "phases" not in document.data:
        return _model(document, kind, rotation, inverse_mass, changed)
    phases = [_model(own, kind_of_file(own), rotation, inverse_mass, changed) for own in document.phases()]
    first, solver = phases[0], document.data.get("solver", {})
    numbers = [phase.n_elements for phase in phases]
    with naming(document, ("solver",), solver), spelt_as("file"):
        settings = arguments_of(solver, kind, first.element, "the problem")
    return replace(first, document=document, settings=settings, kind=kind.name, phases=phases,
                   n_elements=numbers if len(set(numbers)) > 1 else numbers[0])


def _model(document, kind, rotation, inverse_mass, changed):
    """The `Model` of a document of that `Kind`."""
    data = document.data
    bodies, state, parts, notes = {}, {}, [], []
    hangs = data.get("coordinates") == "joint"  # bodies without a state of their own are where joints at zero put them
    for name, entry in data["bodies"].items():
        with naming(document, ("bodies", name), entry):
            if entry["type"] in SCHEMAS:
                own, state[name], told = tree_of(document, name, entry)
                notes += told
                bodies[name] = own[0]
                parts += own
                continue
            made = _body(name, entry, rotation, inverse_mass)
            parts.append(made)
            for body in made.members:
                if isinstance(body, Body):
                    given = {key: entry[key] for key in STATE if key in entry}
                    bodies[body.name] = body
                    if body.first_order and not body.has_position:
                        state[body.name] = CanonicalState(*body.state(entry.get("x", [0.0] * body.n)))
                    elif given or not (hangs or "state" in data):
                        state[body.name] = Pose(**given) if given else body.reference
                        body.state(state[body.name])  # a point mass may leave its plane
    composites, joints = [part for part in parts if isinstance(part, Composite)], {}
    names = Names(document, bodies, composites, joints)
    for name in data["bodies"]:
        _check_relative(document, names, name)
    for table, types, after in STAGES:
        stated = data.get(table, {}) | (_rates(data["bodies"]) if table == "forces" else {})
        entries = {name: entry for name, entry in stated.items() if _after(entry) == after}
        made = list(_parts(document, table, types, names, entries))
        if table in ("joints", "actuators"):
            getattr(names, table).update({part.name: part for part in made})
        parts += made
        if table == "joints":
            names.outputs.update({name: names.output(("outputs", name), entry, name)
                                  for name, entry in data.get("outputs", {}).items() if after})
    with naming(document, (), data):
        system = System(parts, gravity=data.get("gravity"), **{
            key: data[key] for key in ("redundant", "coordinates") if key in data})
    start, end = data["time"]["span"]
    if "state" in data:
        with naming(document, ("state",), data["state"]):
            stated = state | {(joint := names.joint(("state", name), name)): state_of_joint(
                document, ("state", name), joint, value) for name, value in data["state"].items()}
            found = system.state(stated, t=start, approximate=data.get("assemble", False))
            state = {body.name: value for body, value in found.items() if not body.helper}
    elif replaced_names(system):
        with naming(document, ("bodies",), data["bodies"]):
            found = given_states(system, canonical_states(system, state, start))
            state = {body.name: value for body, (_, value) in found.items() if not body.helper}
    own = {name: system.here(body) for name, body in bodies.items()}
    state = settled(document, state, own | {body.name: body for body in system.bodies})
    stated = stated if "state" in data else state
    if not end > start:
        raise document.error(("time", "span"), f"must go forward: the end {digits(end)} is not after the start "
                                               f"{digits(start)}")
    solver = data.get("solver", {})
    with naming(document, ("solver",), solver), spelt_as("file"):
        element = element_of(solver).fitting(system)
        settings = arguments_of(solver, kind, element, "the problem")
    if "tolerance" in solver and "continuation" in data:
        raise document.error(("solver", "tolerance"), "is not used with a continuation, whose meshes are given; leave "
                                                      "one of them out")
    n_elements, mesh = _elements(document, data["time"], solver, kind)
    model = Model(document, data.get("title", document.path), system, state, (start, end), n_elements,
                  element, settings, data.get("assemble", False), kind.name, changed,
                  names=names.on(system), stated=stated, mesh=mesh, notes=tuple(notes))
    for part in system.parts:
        fault = uncovered(part, model.t_span)
        if fault:
            raise document.error(model.keys(part), fault)
    return model


def _check_relative(document, names, name):
    """Refuse a pose that is relative to a body that there is not, or by way of others to itself."""
    entries, way = document.data["bodies"], [name]
    while "relative_to" in entries.get(way[-1], ()):
        keys = "bodies", way[-1], "relative_to"
        other = entries[way[-1]]["relative_to"]
        names.body(keys, other, whole=False)
        if other in way:
            raise document.error(keys, f"the pose of {other!r} is relative to itself, through {', '.join(way)}; give "
                                       "one of them in space")
        way.append(other)


def _elements(document, table, solver, kind):
    """Number of elements and their ends, one of which is None; or both, where a tolerance is given."""
    keys, mesh, own = ("time", "mesh"), table.get("mesh"), kind.in_files.own_mesh(document)
    if own:
        given = next((key for key in ("n_elements", "mesh") if key in table), None)
        if given:
            raise document.error(("time", given), f"is not used: {own}; leave it out")
        return None, None
    if mesh is None:
        if "n_elements" not in table and "tolerance" not in solver:
            raise document.error(("time",), "the key 'n_elements' is missing: an integer from 1 to 100000000; or a "
                                            "mesh, a list of the ends of elements")
        return table.get("n_elements"), None
    besides = {"n_elements": table, "tolerance": solver, "continuation": document.data, "phases": document.whole}
    for other, place in besides.items():
        if other in place:
            raise document.error(keys, f"is given beside {other}; leave one of them out")
    with naming(document, keys, ()):
        checked_mesh(mesh, table["span"])
    return len(mesh) - 1, mesh


def _after(entry):
    """The stage of an entry: what acts on joints comes after them, and controllers last."""
    return 2 if "drives" in entry else int(not entry.keys().isdisjoint(("joint", "controls", "reactions")))


def _rates(bodies):
    """Entries of the rates that states among the bodies have."""
    return {f"{name} rate": {"type": "state_rate", "bodies": [name, *entry.get("bodies", ())],
                             **{word: entry[key] for key, word in RATE.items() if key in entry}}
            for name, entry in bodies.items() if entry["type"] == "state" and "rate" in entry}


def _n_states(entry):
    """How many states a file states by the rates or the values at the start of all."""
    return max([1, *(len(value) for value in (entry.get("rate"), entry.get("x")) if isinstance(value, list))])


def _body(name, entry, rotation, inverse_mass):
    if entry["type"] == "port_system":
        return PortSystem(**{k: v for k, v in entry.items() if k not in ("type", "x")}, name=name)
    if entry["type"] == "state":
        return State(name, n=entry.get("n", _n_states(entry)))
    if entry["type"] in ("point", "variable_mass"):
        cls = PointMass if entry["type"] == "point" else VariableMass
        return cls(entry["mass"], entry.get("dimension", 3), name)
    if entry["type"] in COMPOSITES:
        return COMPOSITES[entry["type"]](**{k: v for k, v in entry.items() if k != "type"}, name=name)
    options = {key: entry[key] for key in ("rotation", "inverse_mass", "size", "shape") if key in entry}
    options |= {} if rotation is None else {"rotation": rotation}
    options |= {} if inverse_mass is None else {"inverse_mass": inverse_mass}
    solid = next((s for s in SOLIDS if s in entry), None)
    if solid is None:
        return RigidBody(entry["mass"], entry["inertia"], name=name, **options)
    properties = getattr(MassProperties, solid)(**entry[solid])
    if solid in LOOKS:
        options = {"size": [entry[solid][edge] * factor for edge, factor in LOOKS[solid][1]],
                   "shape": LOOKS[solid][0]} | options
    return RigidBody(properties.mass, properties.inertia, name=name, **options)


def _parts(document, table, types, known, entries):
    """Joints, forces or actuators of a file, from their entries; `known` are `Names`."""
    for name, entry in entries.items():
        keys = (table, name)
        key = "bodies" if "bodies" in entry else "body"
        names = entry.get(key, ()) if key == "bodies" else [entry[key]] if key in entry else ()
        on = [known.body((*keys, key), body) for body in names]
        fields = types[entry["type"]].fields
        if any(field.several for field in fields.values()):
            on = [on]
        others = {field.key: field.name for field in fields.values() if field.is_body and field.key}
        joints = [name for name, field in fields.items() if field.is_joint and name in entry]
        own = {k: value_of(document, (*keys, k), value) for k, value in entry.items()
               if k not in ("type", key, *others, *joints, *LISTS, *OPTIMAL_KEYS)}
        for word, found in ((word, getattr(known, LISTS[word])) for word in LISTS if word in entry):
            own[word] = [found((*keys, word, i), given) for i, given in enumerate(entry[word])]
        own |= {word: known.joint((*keys, word), entry[word]) for word in joints}
        own |= {field: known.body((*keys, word), entry[word], whole=False) for word, field in others.items()
                if word in entry}
        with naming(document, keys, entry):
            yield types[entry["type"]](*on, **own, name=name)


# ---- trees in model files: by links and joints, or by a robot's file that lies beside the model file

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
    if ending_of(path) == ".urdf":
        robot = urdf.read_urdf(path, **options)
    else:
        if "base" in entry:
            raise document.error(("bodies", name, "base"), "belongs to URDF files; an MJCF file states its free joints")
        robot = mjcf.read_mjcf(path, **options)
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
        joints = {part.name: part for part in system.parts
                  if part.name and (part.coordinates or part.free_rotation)}
        replaced = replaced_names(system)
        links = {name: own for name, own in replaced.items() if own.has_position}
        # joints that have become those of trees are stated as before
        joints |= {name: joint for name, joint in self.joints.items() if name in replaced}
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
        if name in known:
            return known[name]
        if name in self.bodies:
            at = f"; its state at the start is given in [bodies.{name}]" * (keys[0] == "state")
            raise self.document.error(keys, f"{name!r} is a body, not a joint{at}")
        raise self.document.error(keys, f"there is no joint {name!r}; {suggest(name, [*known, *others])}")

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
