"""Model files: what they state, what is refused and how, and that nothing else ever happens."""

import copy
import datetime
import inspect as signatures
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import timefem as tf
from timefem.cases import CASES
from timefem.cases.single_bodies import box_inertia
from timefem.errors import InputError
from timefem.mechanics.bodies.first_order import PortSystem
from timefem.mechanics.bodies.point_mass import PointMass
from timefem.mechanics.bodies.rigid import DirectorBody, QuaternionBody
from timefem.mechanics.catalogue import catalogue
from timefem.mechanics.describe import TIME_FUNCTIONS, describe
from timefem.models import inspect, load_model, read_model
from timefem.models.build import ACTUATORS, COMPOSITES, FORCES, JOINTS
from timefem.models.document import key_lines
from timefem.models.entries import FUNCTIONS
from timefem.models.schema import schema
from timefem.problems.optimal.files import ACTUATORS as OPTIMAL

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"

ZERO, X, Z = [0, 0, 0], [1, 0, 0], [0, 0, 1]
POINTS = {"point_a": ZERO, "point_b": ZERO}
APART = {"point_a": X, "point_b": [3, 0, 0]}
AXES = {"axis_a": Z, "axis_b": Z}
UNIT = [1, 0, 0, 0]
PULSE = {"triangle": {"t0": 0, "t_peak": 0.1, "t1": 0.2, "peak": 3.0}}
TABLE = {"table": {"times": [0, 0.5, 1], "values": [0, 1.5, 0], "kind": "cubic"}}
# one entry of each type, with all its keys
ENTRIES = {
    "fixed_point": {"point": X, "at": X},
    "spherical": {**POINTS, "invariant": True},
    "revolute": {**POINTS, **AXES, "direction_a": X, "direction_b": X, "invariant": True},
    "universal": {**POINTS, "axis_a": X, "axis_b": Z, "invariant": False},
    "weld": {**POINTS, "orientation": UNIT, "invariant": False},
    "cylindrical": {**POINTS, **AXES, "direction_a": X, "direction_b": X},
    "prismatic": {**POINTS, "axis_b": Z, "orientation": [X, [0, 1, 0], Z]},
    "planar": {**POINTS, **AXES},
    "rigid_distance": {**APART, "length": 2.0},
    "prescribed_position": {"position": [{"table": {"times": [0, 0.5, 1], "values": [0, 0, 0], "kind": "cubic"}}, 0,
                                         {"sine": {"amplitude": 0.1, "frequency": 0}}], "point": ZERO},
    "prescribed_angle": {"angle": {"ramp": {"t0": 0.1, "t1": 0.9, "v0": 0, "v1": 2, "kind": "smooth"}}, "axis_b": Z,
                         "direction_a": X, "direction_b": X},
    "prescribed_joint": {"joint": "axle", "coordinate": "angle",
                         "value": {"ramp": {"t0": 0.1, "t1": 0.9, "v0": 0, "v1": 2, "kind": "smooth"}}},
    "joint_spring": {"joint": "axle", "coordinate": "angle", "stiffness": 2.0, "rest": 0.1, "turns": True},
    "joint_damper": {"joint": "axle", "coordinate": "angle", "damping": 2.0},
    "joint_force": {"joint": "axle", "coordinate": "angle", "value": PULSE},
    "joint_friction": {"joint": "axle", "coordinate": "angle", "friction": 2.0, "friction_width": 0.01,
                       "breakaway": 2.5, "stribeck": 0.1, "damping": 0.3},
    "end_stop": {"joint": "axle", "coordinate": "angle", "lowest": -1, "highest": 1.5, "stiffness": 100.0,
                 "damping": 0.1, "turns": False},
    "pd_control": {"joint": "axle", "coordinate": "angle", "stiffness": 2.0, "damping": 0.3,
                   "reference": {"ramp": {"t0": 0, "t1": 1, "v0": 0, "v1": 2, "kind": "smooth"}}, "feedforward": PULSE,
                   "turns": True},
    "plane_contact": {"normal": Z, "plane_point": [0, 0, -2], "stiffness": 100.0, "damping": 0.1, "points": [X, Z],
                      "radius": 0.1, "friction": 0.3, "friction_width": 0.01},
    "box_contact": {"normal": Z, "plane_point": [0, 0, -5], "stiffness": 100.0, "damping": 0.1, "friction": 0.3,
                    "friction_width": 0.01},
    "tyre": {"normal": Z, "plane_point": [0, 0, -2], "stiffness": 100.0, "damping": 0.1, "radius": 0.5, "axis": X,
             "longitudinal": 10.0, "lateral": 8.0, "slow": 0.1},
    "slack_rope": {**APART, "length": 1.0, "stiffness": 10, "damping": 0.1},
    "drag": {"coefficient": 0.5, "point": X, "wind": X},
    "gravity": {"acceleration": [0, 0, -9.81]},
    "nonlinear_spring": {**APART, "potential": "c[0] * (l - 1)**4", "parameters": [3.0]},
    "constraint": {"formula": "dot(f[0].position - [0, 0, 1], f[0].position) - c[0]", "n": 1, "parameters": [0.0],
                   "names": ["sphere"]},
    "nonholonomic_constraint": {"formula": "f[0].velocity[0]", "n": 1, "parameters": [], "names": ["blade"]},
    "formula_force": {"formula": "[c[0] * f[0].velocity[1], 0, sin(t)]", "parameters": [3.0], "n_controls": 0},
    "controller": {"drives": ["axle"], "inputs": [["axle", "angle"]], "law": "-c[0] * x[0] - v[0]", "parameters": [3.0],
                   "turns": False},
    "sampled_controller": {"drives": ["axle"], "inputs": ["axle"], "law": "-c[0] * x[0]", "parameters": [3.0],
                           "turns": True, "period": 0.1, "delay": 0.01},
    "spring": {**APART, "stiffness": 10, "length": 1.0},
    "torsional_spring": {"axis": Z, "stiffness": 2.5, "rest": 0.1, "orientation": UNIT, "turns": True},
    "rotational_spring": {"stiffness": 2.5, "orientation": UNIT},
    "damper": {**APART, "damping": 0.5},
    "torsional_damper": {"axis": Z, "damping": 0.5},
    "rayleigh_dissipation": {"linear": 0.1, "angular": 0.2},
    "force": {"value": [1, {"sine": {"amplitude": 1, "frequency": 2, "phase": 0.1, "offset": 1}}, TABLE], "point": X,
              "time": PULSE, "frame": "body"},
    "torque": {"value": [{"ramp": {"t0": 0, "t1": 1, "v0": 0, "v1": 2}}, 0, {"step": {"t0": 0.5, "value": 3}}],
               "time": 2.0, "frame": "space"},
}


def stated(kind):
    """A small valid model with one joint or force of that type."""
    properties = schema()["$defs"][kind]["properties"]
    bodies = {"bodies": ["one"]} if "bodies" in properties else {"body": "one"}
    bodies = {} if {"joint", "drives"} & properties.keys() else bodies
    axle = {"joints": {"axle": {"type": "revolute", "bodies": ["one"], **POINTS, **AXES}}} if not bodies else {}
    part = {"part": {"type": kind, **bodies, **ENTRIES[kind]}}
    return axle | {
        "title": kind, "gravity": [0, 0, -9.81], "redundant": "refuse", "assemble": False,
        "time": {"span": [0, 1], "n_elements": 10},
        "solver": {"element": "mg", "degree": 1, "n_points": 2, "nodes": "lobatto", "driver": "windows", "window": 5,
                   "backend": "superlu", "guess": "constant", "scaling": "weights", "tol_residual": 1e-12,
                   "tol_increment": 1e-7, "max_iterations": 30, "line_search": True},
        "bodies": {"one": {"type": "rigid", "mass": 1.5, "inertia": [1, 2, 2], "rotation": "quaternion",
                           "inverse_mass": "exact", "size": [1, 2, 3], "position": ZERO, "orientation": UNIT,
                           "velocity": ZERO, "angular_velocity": ZERO, "frame": "space"},
                   "two": {"type": "rigid", "cylinder": {"radius": 0.1, "height": 1, "density": 100},
                           "rotation": "directors"},
                   "three": {"type": "point", "mass": 2, "dimension": 2, "position": [1, 2, 0], "velocity": X}},
        **({"joints": axle.get("joints", {}) | part} if kind in JOINTS else {"forces": part}),
    }


def toml(value):
    """A value as TOML, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value)
    return value.isoformat() if isinstance(value, datetime.date) else repr(value)


def toml_file(data):
    return "".join(f"{json.dumps(k)} = {toml(v)}\n" for k, v in data.items())


def write(path, data):
    path.write_text(data if isinstance(data, str) else toml_file(data), encoding="utf-8")
    return path


# ---- what files state

def test_every_part_of_the_registry_can_be_stated():
    """Keys of the schema are the names in the Python API; what the constructor needs, the schema needs."""
    defs = schema()["$defs"]
    plain = {cls: [field.argument or name for name, field in cls.fields.items() if field.in_files and not field.is_body]
             for cls in catalogue().values() if cls is not tf.Tree}  # trees have URDF
    types = {cls: name for name, cls in {**JOINTS, **FORCES, **ACTUATORS, **COMPOSITES}.items()}
    types |= {PointMass: "point", PortSystem: "port_system", tf.State: "state", tf.VariableMass: "variable_mass"}
    types |= {QuaternionBody: "rigid", DirectorBody: "rigid"}
    assert set(types) == set(plain)
    for cls, names in plain.items():
        entry, own = defs[types[cls]], set(names) - {"name", "on"}
        if cls in (QuaternionBody, DirectorBody, PointMass, PortSystem, tf.State, tf.VariableMass):
            assert own <= set(entry["properties"])
            continue
        assert own == set(entry["properties"]) - {"type", "body", "bodies", "reaction", "on", *OPTIMAL}
        parameters = signatures.signature(cls).parameters.values()
        needed = {p.name for p in parameters if p.default is p.empty} & own
        assert needed <= set(entry["required"])
    tables = {"joints": JOINTS, "forces": FORCES, "actuators": ACTUATORS,
              "bodies": ("rigid", "point", "port_system", "state", "variable_mass", "tree", "robot", *COMPOSITES)}
    for table, known in tables.items():
        kinds = schema()["properties"][table]["additionalProperties"]
        assert set(kinds["properties"]["type"]["enum"]) == set(known)
        assert {rule["then"]["$ref"].rsplit("/", 1)[1].partition("_of_")[0] for rule in kinds["allOf"]} == set(known)
    assert set(FUNCTIONS.values()) == set(TIME_FUNCTIONS.values()) - {tf.Constant}
    assert set(defs["function"]["then"]["properties"]) == set(FUNCTIONS)


def test_the_schema_is_a_schema():
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema())


def test_the_schema_is_printed_and_written(timefem, tmp_path):
    printed = json.loads(timefem("schema")[1])
    timefem("schema", "-o", str(tmp_path / "schema.json"))
    assert printed == json.loads((tmp_path / "schema.json").read_text()) == json.loads(json.dumps(schema()))
    spring = printed["$defs"]["spring"]["properties"]
    assert spring["stiffness"] == {"$ref": "#/$defs/not_negative", "title": "k [N/m]"}


@pytest.mark.parametrize("kind", ENTRIES)
def test_each_type_gives_its_part(tmp_path, kind):
    """All keys of an entry arrive in the part, as `describe` sees it."""
    data = stated(kind)
    model = load_model(write(tmp_path / "model.toml", data))
    part = next(p for p in model.system.parts if p.name == "part")
    assert type(part) is {**JOINTS, **FORCES}[kind]
    described = next(p for p in describe(model.system)["parts"] if p.get("name") == "part")

    def same(file, seen):
        if isinstance(file, dict):
            (name, arguments), = file.items()
            return seen["function"] == FUNCTIONS[name].__name__ and all(same(v, seen[k]) for k, v in arguments.items())
        if isinstance(seen, dict):
            return seen == {"function": "Constant", "value": file}
        return all(map(same, file, seen)) if isinstance(file, list) else file == seen

    for key, value in ENTRIES[kind].items():
        if key == "joint":
            assert model.system[value] is part.joint
        elif key in ("drives", "inputs"):
            assert [getattr(x, "bound", x).owner.name for x in getattr(part, key)] == ["axle"]
        else:
            assert same(value, described[key]), key
    assert model.element == tf.MixedGalerkin(1, 2, "lobatto")
    assert model.settings["newton"] == tf.Newton(1e-12, 1e-7, 30, True)
    one, two, three = (body for body in model.system.bodies if not body.helper)
    assert (one.rotation, two.rotation, three.dimension) == ("quaternion", "directors", 2)
    assert two.mass == pytest.approx(100 * math.pi * 0.01)


@pytest.mark.parametrize("name", ["heavy_top", "physical_pendulum"])
def test_files_are_the_cases(name):
    model = load_model(EXAMPLES / f"{name}.toml")
    case = CASES[name.replace("_", "-")]
    expected = tf.solve(case.make(), tf.MixedGalerkin(2), case.n_elements, progress=False)
    solution = model.solve(progress=False)
    np.testing.assert_array_equal(solution.t, expected.t)
    np.testing.assert_allclose(solution.z, expected.z, rtol=1e-13, atol=1e-13)


def test_four_bar_against_the_reference():
    with open(Path(__file__).parents[1] / "data" / "closed_loop.json") as file:
        states = json.load(file)["states"]
    model = load_model(EXAMPLES / "four_bar.toml")
    solution = model.solve(progress=False)
    for state in states[1:3]:
        for body, expected in zip(model.system.bodies, state["bodies"], strict=True):
            np.testing.assert_allclose(solution.position(body, state["t"]), expected["phi"], rtol=0, atol=1e-11)
            np.testing.assert_allclose(solution.angular_velocity(body, state["t"]), expected["Omega"], rtol=0,
                                       atol=1e-11)


def test_slider_crank():
    model = load_model(EXAMPLES / "slider_crank.toml")
    facts = inspect(model)
    assert (facts["degrees_of_freedom"], facts["redundant"], facts["faults"]) == (1, [], [])
    solution = model.solve(progress=False)
    # the slider is where the crank angle says: 0.3 cos + sqrt(0.5^2 - (0.3 sin)^2)
    pin = solution.position("crank", solution.t) * 2
    slider = solution.position("slider", solution.t)
    np.testing.assert_allclose(slider[:, 1], pin[:, 1] + np.sqrt(0.25 - pin[:, 2] ** 2), rtol=0, atol=1e-10)
    assert np.ptp(slider[:, 1]) > 0.1


def test_solids(tmp_path):
    solids = {"cuboid": {"length": 1, "width": 2, "height": 3, "density": 2}, "sphere": {"radius": 1, "density": 3},
              "cone": {"radius": 1, "height": 2, "density": 3}, "cylinder": {"radius": 1, "height": 2, "density": 3}}
    model = load_model(write(tmp_path / "m.toml", {
        "time": {"span": [0, 1], "n_elements": 1}, "bodies": {k: {"type": "rigid", k: v} for k, v in solids.items()}}))
    for body in model.system.bodies:
        expected = getattr(tf.MassProperties, body.name)(**solids[body.name])
        assert body.mass == expected.mass
        np.testing.assert_array_equal(body.inertia, expected.inertia)
    np.testing.assert_allclose(np.diag(model.system.bodies[0].inertia), box_inertia(12, (1, 2, 3)))
    assert model.system.bodies[0].size.tolist() == [1, 2, 3]


def test_examples_of_the_guide(tmp_path):
    """The complete example loads, and so do all functions of time."""
    guide = (EXAMPLES.parents[1] / "docs" / "how-to" / "model-files.md").read_text()
    whole, functions = (block.split("```")[0] for block in guide.split("```toml\n")[1:3])
    path = tmp_path / "m.toml"
    path.write_text(whole)
    assert load_model(path).title == "Pendulum pushed by a pulse"
    motor = (EXAMPLES.parents[1] / "docs" / "how-to" / "model-files.md").read_text().split("```toml\n")[3]
    path.write_text("[bodies.crank]\ntype = 'rigid'\nmass = 1\ninertia = [1, 1, 1]\nangular_velocity = [0, 0, 6.28]\n"
                    "[time]\nspan = [0, 5]\nn_elements = 9\n" + motor.split("```")[0])
    assert len(load_model(path).system.constraint_names) == 2
    for line in functions.splitlines():
        path.write_text(whole + line + "\n")
        assert load_model(path).system.parts[-2].time != tf.Constant(1.0)


# ---- what is refused

def changed(kind, **changes):
    """A model with keys replaced, given by their path with __ between; None deletes."""
    data = stated(kind)
    for path, value in changes.items():
        *keys, last = path.split("__")
        table = data
        for key in keys:
            table = table[key]
        if value is None:
            del table[last]
        else:
            table[last] = value
    return data


NAN = math.nan
BAD = {
    "zero axis": (changed("revolute", joints__part__axis_a=ZERO), "joints.part.axis_a", "give a direction"),
    "itself": (changed("spherical", joints__part__bodies=["one", "one"]), "joints.part.bodies", "two different bodies"),
    "coincident": (changed("rigid_distance", joints__part__point_b=X), "joints.part", "set them apart"),
    "coincident spring": (changed("spring", forces__part__point_b=X), "forces.part", "set points apart"),
    "zero length": (changed("rigid_distance", joints__part__length=0), "joints.part.length", "must be a positive"),
    "unknown key": (changed("spring", forces__part__stifness=3), "forces.part.stifness", "did you mean 'stiffness'"),
    "unknown table": (changed("spring", solvers={}), "solvers", "did you mean 'solver'"),
    "missing key": (changed("spring", forces__part__stiffness=None), "forces.part", "'stiffness' is missing"),
    "unit": (changed("spring", bodies__one__mass="1 kg"), "bodies.one.mass", "must be a positive, finite number"),
    "shape": (changed("spring", gravity=[0, -9.81]), "gravity", "must be three numbers"),
    "bool": (changed("spring", bodies__one__mass=True), "bodies.one.mass", "not true"),
    "missing body": (changed("spring", forces__part__bodies=["on"]), "forces.part.bodies", "did you mean 'one'"),
    "unknown type": (changed("spring", forces__part__type="sprung"), "forces.part.type", "must be one of"),
    "a joint among forces": (changed("spring", forces__part__type="revolute"), "forces.part.type", "must be one of"),
    "NaN": (changed("spring", forces__part__stiffness=NAN), "forces.part.stiffness", "finite"),
    "infinite": (changed("spring", time__span=[0, math.inf]), "time.span[1]", "finite"),
    "NaN in table": (changed("force", forces__part__time={"table": {"times": [0, 1], "values": [0, NAN]}}),
                     "forces.part.time.table.values[1]", "finite"),
    "table goes back": (changed("force", forces__part__time={"table": {"times": [0, 0], "values": [0, 1]}}),
                        "forces.part.time.table.times", "times must increase"),
    "two functions": (changed("force", forces__part__time={**PULSE, **TABLE}), "forces.part.time", "one function"),
    "code": (changed("force", forces__part__time="lambda t: t"), "forces.part.time", "functions such as"),
    "span": (changed("spring", time__span=[1, 1]), "time.span", "must go forward"),
    "no bodies": (changed("gravity", bodies={}, forces={}), "bodies", "at least one"),
    "element": (changed("spring", solver__multipliers="continuous"), "solver.multipliers", 'element = "bg"'),
    "points": (changed("spring", solver={"degree": 3, "n_points": 2}), "solver.n_points", "at least 3"),
    "unused": (changed("spring", solver={"window": 3, "driver": "march"}), "solver.window", "not used by driver"),
    "plane": (changed("spring", bodies__three__position=Z), "bodies.three.position", "leaves the first 2 axes"),
    "point mass": (changed("revolute", joints__part__bodies=["three"]), "joints.part", "a point mass has no axes"),
    "inertia": (changed("spring", bodies__one__inertia=[1, 1, 3]), "bodies.one.inertia", "triangle inequality"),
    "two solids": (changed("spring", bodies__two__mass=3), "bodies.two", "mass and inertia, or with one of"),
    "violated": (changed("fixed_point", joints__part__at=Z), "joints.part", "violates the constraint"),
    "moving": (changed("fixed_point", bodies__one__velocity=Z), "joints.part", "on velocity level"),
    "redundant": (changed("spring", redundant="ignore"), "redundant", "must be one of \"refuse\", \"drop\""),
    "assemble": (changed("spring", assemble=1), "assemble", "must be true or false"),
    "jump": (changed("prescribed_angle", joints__part__angle={"step": {"t0": 0.5, "value": 1}}), "joints.part.angle",
             "kind='smooth'"),
    "corner": (changed("prescribed_position", joints__part__position=[PULSE, 0, 0]), "joints.part.position", "cubic"),
    "short table": (changed("prescribed_angle", joints__part__angle=TABLE, time__span=[0, 2]), "joints.part",
                    "extend its table"),
    "no angle": (changed("prescribed_angle", joints__part__angle=None), "joints.part", "'angle' is missing"),
    "code for a motion": (changed("prescribed_position", joints__part__position="lambda t: t"), "joints.part.position",
                          "three components"),
    "large": (changed("spring", gravity=[0, 0, 10**400]), "gravity[2]", "1e100"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_file_key_and_remedy(tmp_path, name):
    data, key, remedy = BAD[name]
    path = write(tmp_path / "model.toml", data)
    with pytest.raises(InputError) as error:
        load_model(path)
    message = str(error.value)
    line = list(data).index(key.split(".")[0].split("[")[0]) + 1
    assert message.startswith(f"{path}:{line}: {key}: "), message
    assert remedy in message
    assert "\n" not in message


def test_lines(tmp_path):
    text = '''# a = 1
title = """
[bodies.a]
mass = 3
"""
"quoted = key".x = 1   # comment = [
[ bodies . top ] # table
mass = 1; '''.replace("; ", "\n") + '''inertia = [
  1, 1,    # ]
  1,
]
a.b.c = {d = "e = ["}
[joints."odd ]name"]
x = 1'''
    lines = key_lines(text)
    assert lines[("title",)] == 2
    assert lines[("quoted = key", "x")] == 6
    assert lines["bodies",] == lines["bodies", "top"] == 7
    assert [lines["bodies", "top", k] for k in ("mass", "inertia", "a")] == [8, 9, 13]
    assert lines["bodies", "top", "a", "b", "c"] == 13
    assert lines["joints", "odd ]name", "x"] == 15
    assert ("bodies", "a") not in lines


def test_lines_of_long_tables_take_one_pass(monkeypatch):
    parsed = []
    monkeypatch.setattr("timefem.models.document.tomllib.loads", lambda text: parsed.append(text) or {"k": 0})
    rows = "".join(f"[{i}, {i}],\n" for i in range(2000))
    assert key_lines(f"k = [\n{rows}]\nk.k = 1")["k",] == 1
    assert sum(map(len, parsed)) < 100  # the keys only: whoever misspells one does not wait for the table


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding, tmp_path):
    path = tmp_path / "m.toml"
    path.write_bytes((EXAMPLES / "heavy_top.toml").read_text(encoding="utf-8").encode(encoding))
    assert load_model(path).title == load_model(EXAMPLES / "heavy_top.toml").title


@pytest.mark.parametrize("name, make, message", [
    ("m.toml", lambda path: path.write_bytes(b'#\ntitle = "\xe4"'), "not UTF-8 text in line 2"),
    ("m.toml", os.mkfifo, "not a regular file"), ("m.urdf", os.mkfifo, "not a regular file"),
    ("m.xml", os.mkfifo, "not a regular file"), ("m.toml", Path.mkdir, "directory"),
    ("m.toml", lambda path: os.truncate(path.touch() or path, 10**9), "larger")])
def test_what_is_no_text(name, make, message, tmp_path):
    read = {".toml": load_model, ".urdf": tf.read_urdf, ".xml": tf.read_mjcf}[Path(name).suffix]
    make(tmp_path / name)
    with pytest.raises(InputError, match=f"{name}:? cannot be read: .*{message}"):
        read(tmp_path / name)


def test_the_line_is_that_of_the_key(tmp_path):
    text = (EXAMPLES / "heavy_top.toml").read_text()
    path = write(tmp_path / "m.toml", text.replace("[0.649519052838329, 0, 0]", "[0.6, 0, '0']"))
    line = next(i for i, row in enumerate(text.splitlines(), 1) if row.startswith("velocity"))
    with pytest.raises(InputError, match=rf"m.toml:{line}: bodies.top.velocity\[2\]: must be a finite number"):
        load_model(path)
    path = write(tmp_path / "m.toml", text.replace("degree = 2", "degree = = 2"))
    with pytest.raises(InputError, match=r"m.toml:11: is not a TOML file"):
        load_model(path)
    with pytest.raises(InputError, match=r"none.toml: cannot be read: No such file"):
        load_model(tmp_path / "none.toml")


# ---- redundant constraints, assembly, prescribed motion

DOOR = {"time": {"span": [0, 1], "n_elements": 10},
        "bodies": {"door": {"type": "rigid", "mass": 1, "inertia": [1, 1, 1]}},
        "joints": {name: {"type": "revolute", "bodies": ["door"], "point_a": [0, 0, z], "point_b": [0, 0, z], **AXES}
                   for name, z in (("upper", 1), ("lower", -1))}}


def test_over_constrained_mechanism(tmp_path):
    """A door on two hinges: five of the ten constraints repeat others, and one degree of freedom is left."""
    path = write(tmp_path / "door.toml", DOOR)
    with pytest.raises(InputError, match=r"door.toml:3: joints.lower: over-constrained: .*5 redundant.*remove it"):
        load_model(path)
    model = read_model(path)
    facts = inspect(model)
    assert (facts["n_q"], facts["n_constraints"], facts["rank"], facts["degrees_of_freedom"]) == (7, 11, 6, 1)
    assert len(facts["redundant"]) == 5 and all(name.startswith("lower: ") for name in facts["redundant"])
    jacobian = model.system.derivatives(0, model.z0)[1].toarray()[:11, :7]
    assert np.linalg.matrix_rank(jacobian) == facts["rank"]
    mended = copy.deepcopy(DOOR)
    del mended["joints"]["lower"]
    assert inspect(load_model(write(path, mended)))["degrees_of_freedom"] == 1


def test_redundant_constraints_are_dropped(timefem, tmp_path):
    path = write(tmp_path / "door.toml", {"redundant": "drop", "gravity": [0, 0, -9.81], **DOOR})
    model = load_model(path)
    facts = inspect(model)
    assert (facts["faults"], len(facts["redundant"]), facts["degrees_of_freedom"]) == ([], 5, 1)
    solution = model.solve(progress=False)
    assert solution.success and solution.system.dropped == facts["redundant"]
    forces = solution.multipliers(0.5, minimum_norm=True)[1:11].reshape(2, 5)  # after the length of the quaternion
    np.testing.assert_allclose(forces, [[0, 0, 9.81 / 2, 0, 0]] * 2, rtol=0, atol=1e-9)
    status, out, _ = timefem("check", path, "--json")
    assert (status, json.loads(out)["redundant"]) == (0, facts["redundant"])
    status, out, _ = timefem("run", path, "--json", "-o", tmp_path / "door.h5")
    assert status == 0
    assert tf.load(tmp_path / "door.h5").system.dropped == facts["redundant"]


def test_assembly(timefem, tmp_path):
    """The slider-crank from positions that are a few centimetres off."""
    data = {"assemble": True, **copy.deepcopy(load_model(EXAMPLES / "slider_crank.toml").document.data)}
    for name in ("rod", "slider"):
        data["bodies"][name]["position"] = [0, 0.3, 0.1]
    path = write(tmp_path / "m.toml", data)
    exact, model = load_model(EXAMPLES / "slider_crank.toml"), load_model(path)
    assert inspect(model)["faults"] == []
    assert max(v["configuration"] for v in inspect(model)["violations"].values()) < 1e-11
    places = [m.solve(progress=False).position("slider", [0, 0.5])[:, 1] for m in (model, exact)]
    assert abs(places[0][0] - places[1][0]) < 0.1
    assert timefem("check", path)[0] == 0
    data["bodies"]["rod"]["cylinder"]["height"] = 0.5
    data["joints"]["guide"]["point_b"] = [0, 0, 5]  # out of reach
    status, _, err = timefem("check", write(path, data))
    assert status == 2 and err.count("\n") == 1
    assert "joints." in err and "the mechanism cannot be assembled from these poses: the constraint" in err
    status, _, err = timefem("run", write(path, data))
    assert status == 2 and "give poses that are closer" in err


@pytest.mark.parametrize("function, angle", [
    ({"ramp": {"t0": 0.2, "t1": 0.8, "v0": 0, "v1": 6, "kind": "smooth"}}, [0, 0, 3, 6]),
    ({"sine": {"amplitude": 1, "frequency": 0.5}}, [0, math.sin(0.1 * math.pi), 1, 0]),
    ({"table": {"times": [0, 1], "values": [0, 2], "kind": "cubic"}}, [0, 0.2, 1, 2]), (0, [0, 0, 0, 0])])
def test_prescribed_angle(tmp_path, function, angle):
    """A crank that is driven: it turns as the file says, and assembly finds its speed at the start."""
    data = stated("prescribed_angle")
    data["joints"] = {"shaft": {"type": "revolute", "bodies": ["one"], **POINTS, **AXES},
                      "drive": {**data["joints"]["part"], "angle": function}}
    model = load_model(write(tmp_path / "m.toml", {**data, "assemble": True, "solver": {"degree": 2},
                                                   "time": {"span": [0, 1], "n_elements": 40}}))
    solution = model.solve(progress=False)
    seen = solution.rotation_matrix("one", [0, 0.1, 0.5, 1])[:, :2, 0]
    np.testing.assert_allclose(seen, np.column_stack([np.cos(angle), np.sin(angle)]), rtol=0, atol=1e-6)
    if isinstance(function, dict) and "ramp" in function:
        assert {0.2, 0.8} <= set(solution.t)


def test_planar_four_bar_is_over_constrained(tmp_path):
    """Bennett's remark: four parallel hinges in space have one degree of freedom and three redundant constraints."""
    bodies = {name: {"type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": place}
              for name, place in (("crank", [0, 0.5, 0]), ("coupler", [1, 1, 0]), ("rocker", [2, 0.5, 0]))}
    hinge = lambda names, a, b: {"type": "revolute", "bodies": names, "point_a": a, "point_b": b, **AXES}
    data = {"time": {"span": [0, 1], "n_elements": 1}, "bodies": bodies, "joints": {
        "a": hinge(["crank"], [0, -0.5, 0], ZERO), "b": hinge(["crank", "coupler"], [0, 0.5, 0], [-1, 0, 0]),
        "c": hinge(["coupler", "rocker"], X, [0, 0.5, 0]), "d": hinge(["rocker"], [0, -0.5, 0], [2, 0, 0])}}
    facts = inspect(read_model(write(tmp_path / "m.toml", data)))
    assert facts["degrees_of_freedom"] == 1
    assert len(facts["redundant"]) == 3


# ---- the command line

def test_check_command(timefem, tmp_path):
    status, out, err = timefem("check", EXAMPLES / "four_bar.toml", "--json")
    facts = json.loads(out)
    assert (status, err, facts["degrees_of_freedom"], facts["status"]) == (0, "", 12, "fine")
    assert set(facts["bodies"]) == {"bar1", "bar2", "bar3", "bar4"}
    assert max(v["configuration"] for v in facts["violations"].values()) < 1e-14
    assert "at the start" not in timefem("check", EXAMPLES / "bryson_denham.toml")[1]  # without constraints
    out = timefem("check", EXAMPLES / "four_bar.toml")[1]
    assert "constraints at the start off by" in out and "violated" not in out
    status, out, _ = timefem("check", write(tmp_path / "door.toml", DOOR))
    assert status == 2
    assert "door.toml:3: joints.lower: over-constrained" in out and "lower: gap, x" in out
    status, out, _ = timefem("check", write(tmp_path / "m.toml", BAD["violated"][0]), "--json")
    assert status == 2
    assert json.loads(out)["violations"]["part: fixed point, z"] == {"configuration": 1.0, "velocity": 0.0}
    sledge = {"time": {"span": [0, 1], "n_elements": 10},
              "bodies": {"sledge": {"type": "rigid", "mass": 1, "inertia": [1, 1, 1], "velocity": [1, 0.25, 0]}},
              "joints": {"edge": {"type": "knife_edge", "body": "sledge", "across": [0, 1, 0]}}}
    status, out, _ = timefem("check", write(tmp_path / "sledge.toml", sledge))
    assert status == 2 and "edge: velocity across the edge" in out and "2.5e-01" in out
    assert "joints.edge: the initial state violates the nonholonomic constraint" in out
    sledge["bodies"]["sledge"]["velocity"] = [1, 0, 0]
    status, out, _ = timefem("check", write(tmp_path / "sledge.toml", sledge), "--json")
    assert status == 0 and json.loads(out)["nonholonomic"] == {"edge: velocity across the edge": 0.0}
    status, out, err = timefem("check", write(tmp_path / "m.toml", BAD["unit"][0]), "--json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "m.toml:7: bodies.one.mass" in err


def test_run_command(timefem, tmp_path):
    def report(*options):
        status, out, err = timefem("run", EXAMPLES / "physical_pendulum.toml", "--json", *options)
        assert status == 0, err
        return json.loads(out)

    r = report()
    assert (r["n_elements"], r["t_end"], r["degree"], r["driver"]) == (100, 5.0, 2, "march")
    status, out, _ = timefem("run", "physical-pendulum", "--json")
    assert json.loads(out)["final"] == r["final"]
    r = report("--element", "bg", "--t-end", "0.5", "--n-elements", "4", "--rotation", "directors")
    assert (r["element"], r["degree"], r["driver"], r["t_end"], r["rotation"]) == ("bg", 3, "global", 0.5, "directors")
    # a file with other settings; options replace them
    path = write(tmp_path / "m.toml", stated("force"))
    status, out, _ = timefem("run", path, "--json", "-o", tmp_path / "s.h5")
    r = json.loads(out)
    assert (status, r["driver"], r["backend"], r["degree"], r["n_points"]) == (0, "windows", "superlu", 1, 2)
    assert r["rotation"] == "directors and quaternion" and set(r["final"]["three"]) == {"position", "velocity"}
    assert tf.load(tmp_path / "s.h5").success
    status, out, _ = timefem("run", path, "--json", "--degree", "2", "--points", "3", "--backend", "chain")
    r = json.loads(out)
    assert (status, r["driver"], r["backend"], r["degree"], r["n_points"]) == (0, "windows", "chain", 2, 3)
    assert timefem("run", path)[0] == 0


def test_run_of_point_masses(timefem, tmp_path):
    data = stated("gravity")
    data["bodies"] = {"one": data["bodies"]["three"]}
    status, out, _ = timefem("run", write(tmp_path / "m.toml", data), "--json")
    assert status == 0 and json.loads(out)["rotation"] is None
    assert timefem("run", tmp_path / "m.toml")[0] == 0


# ---- whatever is in the file

JUNK = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, -1, 0, 1, -0.0, 1e308, 1e99, 1e-320, 10**400, 2.0, True, False, "",
                     "one", "two", "three", "text", "1", "nan", "a\nb", [], {}, [[]], [{}], [1, 2], [0, 0, 0],
                     [1, 2, 3, 4], ["one", "two"], ["one", "three"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], {"sine": {}},
                     {"type": "rigid"},
                     {"ramp": {"t0": 1, "t1": 1, "v0": 0, "v1": 0}}, {"table": {"times": [0, 1], "values": [1]}},
                     {"__import__": "os"}, "lambda t: t", datetime.date(2020, 1, 1), [math.nan] * 3, [1e99] * 3,
                     [1e-300] * 3]),
    st.floats(), st.integers(), st.text(max_size=5), st.lists(st.floats(), max_size=4))


def places(data, keys=()):
    """Keys of everything in nested tables and arrays."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*keys, key)
        yield from places(value, (*keys, key))


@st.composite
def mutants(draw):
    """A valid model with one to three changes anywhere."""
    data = json.loads(json.dumps(stated(draw(st.sampled_from(sorted(ENTRIES))))))  # without shared lists
    data |= {"redundant": draw(st.sampled_from(["refuse", "drop"])), "assemble": draw(st.booleans())}
    for _ in range(draw(st.integers(1, 3))):
        known = list(places(data))
        if not known:
            break
        *keys, last = draw(st.sampled_from(known))
        table = data
        for key in keys:
            table = table[key]
        change = draw(st.sampled_from(["replace"] * 3 + ["delete", "wrap", "unknown", "rename", "repeat"]))
        if change == "delete":
            del table[last]
        elif change == "wrap":
            table[last] = [table[last]]
        elif change == "repeat" and isinstance(table, list):
            table.append(copy.deepcopy(table[last]))
        elif change == "rename" and isinstance(table, dict):
            table[draw(st.text(max_size=4))] = table.pop(last)
        elif change == "unknown" and isinstance(table, dict):
            table[draw(st.text(max_size=6))] = copy.deepcopy(draw(JUNK))
        else:
            table[last] = copy.deepcopy(draw(JUNK))
    return toml_file(data).encode("utf-8", "surrogatepass")


@st.composite
def garbled(draw):
    """The bytes of a valid file, cut off, overwritten, or with lines left out or doubled; or any bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    if draw(st.booleans()):
        name = draw(st.sampled_from(["heavy_top", "four_bar", "slider_crank", "physical_pendulum"]))
        text = (EXAMPLES / f"{name}.toml").read_bytes()
    else:
        text = toml_file(stated(draw(st.sampled_from(sorted(ENTRIES))))).encode()
    change, at = draw(st.sampled_from(["cut", "overwrite", "remove", "lines", "double", "nest"])), \
        draw(st.integers(0, len(text) - 1))
    lines = text.split(b"\n")
    row = at % len(lines)
    if change == "cut":
        return text[:at]
    if change == "overwrite":
        return text[:at] + draw(st.binary(min_size=1, max_size=4)) + text[at + draw(st.integers(0, 4)):]
    if change == "remove":
        return text[:at] + text[at + draw(st.integers(1, 30)):]
    if change == "lines":
        return b"\n".join(lines[:row] + lines[row + 1:])
    if change == "double":
        return b"\n".join(lines[:row] + lines[row:row + 1] * 2 + lines[row + 1:])
    return text + b"\nx = " + b"[" * at


def load_or_refuse(folder, content):
    """Whether the model loads; anything but an InputError of one line that begins with the file's name fails."""
    path = folder / "model.toml"
    path.write_bytes(content)
    try:
        load_model(path)
    except InputError as error:
        message = str(error)
        assert message.startswith(str(path)) and len(message.splitlines()) == 1 and len(message) > len(str(path)) + 10
        assert len(message) < len(str(path)) + 800
        return False
    return True


MANY = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Folder for the files, and how many were refused and loaded."""
    return tmp_path_factory.mktemp("models"), {True: 0, False: 0}


@settings(MANY, max_examples=1600)
@given(content=mutants())
def test_mutants_load_or_are_refused(counted, content):
    folder, count = counted
    count[load_or_refuse(folder, content)] += 1


@settings(MANY, max_examples=1200)
@given(content=garbled())
def test_garbled_files_load_or_are_refused(counted, content):
    folder, count = counted
    count[load_or_refuse(folder, content)] += 1


def test_enough_were_malformed(counted):
    _, count = counted
    if sum(count.values()) >= 2800:  # not when a worker ran only some of the tests
        assert count[False] >= 2000
