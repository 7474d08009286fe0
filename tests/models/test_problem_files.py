"""Model files of boundary-value problems, inverse dynamics and optimal control."""

import copy
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import timefem as tf
from tests.models.test_model_files import JUNK, places, toml_file, write
from timefem.cases import find_case
from timefem.errors import InputError
from timefem.models import inspect, load_model
from timefem.problems.kinds import KINDS

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
ANSWERS = {"pendulum_boundary": {"kind": "boundary", "degrees_of_freedom": 1, "unknown": []},
           "reorientation": {"kind": "boundary", "degrees_of_freedom": 6},
           "crane_inverse": {"kind": "inverse", "relative_degrees": {"across": 2, "up": 2}, "internal": 0},
           "reorientation_effort": {"kind": "optimal", "unknown": []}}


@pytest.mark.parametrize("name", ANSWERS)
def test_examples_equal_the_problem_made_in_python(name):
    model, case = load_model(EXAMPLES / f"{name}.toml"), find_case(name.replace("_", "-"))
    facts = inspect(model)
    assert facts["faults"] == [] and {key: facts[key] for key in ANSWERS[name]} == ANSWERS[name]
    assert (model.t_span[1], model.n_elements) == (case.t_end, case.n_elements)
    sol, expected = model.solve(progress=False), tf.solve(case.make(), model.element, case.n_elements, progress=False)
    assert sol.success
    np.testing.assert_allclose(sol.z, expected.z, rtol=0, atol=1e-9 * np.abs(expected.z).max())
    for field, values in expected.fields.items():
        np.testing.assert_allclose(sol.fields[field], values, rtol=0, atol=1e-9 * max(1, np.abs(values).max()))


# ---- small models with all keys

def point(**more):
    return {"type": "point", "mass": 2, "dimension": 1, **more}


def data_of(kind):
    """A small model of that kind that uses the keys it has."""
    base = {"time": {"span": [0, 1.5], "n_elements": 8}, "assemble": False,
            "solver": {"degree": 2, "scaling": "weights", "max_iterations": 60, "driver": "global"}}
    if kind == "boundary":
        return {**base, "bodies": {"mass": point(position=[0.5, 0, 0])},
                "forces": {"spring": {"type": "spring", "bodies": ["mass"], "stiffness": 5}},
                "problem": {"kind": kind, "periodic": False, "free_time": False,
                            "start": {"mass": {"position": [1, "free", 0], "velocity": [0, 0, "free"]}},
                            "end": {"mass": {"position": [0.2, 0, 0]}},
                            "parameters": {"k": {"part": "spring", "number": "stiffness"}}}}
    actuators = {"push": {"type": "control_force", "body": "mass", "directions": [[1, 0, 0]], "point": [0, 0, 0],
                          "frame": "space"}}
    if kind == "inverse":
        return {**base, "bodies": {"mass": point()}, "actuators": actuators,
                "outputs": {"place": {"type": "position", "body": "mass", "axis": [1, 0, 0], "point": [0, 0, 0],
                                      "trajectory": {"polynomial": {"coefficients": [0, 0, 3, 1], "t0": 0}}}},
                "problem": {"kind": kind, "end": {"mass": {"position": [10.125, 0, 0], "velocity": [15.75, 0, 0]}}}}
    actuators["push"]["effort"] = [1]
    end = {"mass": {"position": [3, "free", "free"], "velocity": [0, "free", "free"]}}
    if kind == "time":
        actuators["push"] = {**actuators["push"], "lower": [-4], "upper": 4}
        del actuators["push"]["effort"]
        base["solver"] = {"degree": 1, "max_iterations": 500}
        return {**base, "bodies": {"mass": point()}, "actuators": actuators,
                "problem": {"kind": "optimal", "free_time": True, "end_cost": "2 * end.t", "duration": [0.5, 9],
                            "end": end}}
    return {**base, "bodies": {"mass": point()}, "actuators": actuators, "problem": {"kind": "optimal", "end": end}}


def solved(tmp_path, data):
    sol = load_model(write(tmp_path / "m.toml", data)).solve(progress=False)
    assert sol.success, sol.status.message
    return sol


@pytest.mark.parametrize("kind", ["boundary", "inverse", "optimal", "time"])
def test_tolerance(tmp_path, kind):
    data = data_of(kind)
    data["solver"]["tolerance"] = 1e-5
    sol = solved(tmp_path, data)
    assert sol.statistics["estimated_error"] <= sol.statistics["tolerance"] == 1e-5
    fixed = load_model(tmp_path / "m.toml").solve(n_elements=8)
    assert fixed.statistics["n_elements"] == 8 and "tolerance" not in fixed.statistics


def test_boundary_with_an_unknown_stiffness(tmp_path):
    sol = solved(tmp_path, data_of("boundary"))
    assert np.cos(np.sqrt(sol.parameters["k"] / 2) * 1.5) == pytest.approx(0.2, rel=0, abs=1e-5)
    data = data_of("boundary")
    data["problem"] = {"kind": "boundary", "periodic": True, "free_time": True, "start": data["problem"]["start"],
                       "parameters": {"damping": {"part": "air", "number": "linear"}}}
    data["forces"]["air"] = {"type": "rayleigh_dissipation", "body": "mass", "linear": 0.0}
    data["time"] = {"span": [0, 3.5], "n_elements": 40}
    sol = solved(tmp_path, data)
    assert sol.parameters["duration"] == pytest.approx(2 * np.pi * np.sqrt(2 / 5), rel=1e-5)


def test_inverse_of_each_output_and_trajectory(tmp_path):
    data = data_of("inverse")
    data["solver"]["degree"] = 3  # which holds the cubic path
    sol = solved(tmp_path, data)
    np.testing.assert_allclose(sol.controls([0, 1.0, 1.4])[:, 0], [12, 24, 28.8], rtol=0, atol=1e-8)  # 2 (6 + 6 t)
    data["outputs"]["place"] = {"type": "coordinate", "body": "mass", "index": 0,
                                "trajectory": {"spline": {"times": [0, 0.5, 1, 1.5], "values": [0, 0.875, 4, 10.125],
                                                          "degree": 3, "ends": "not-a-knot"}}}
    np.testing.assert_allclose(solved(tmp_path, data).z, sol.z, rtol=0, atol=1e-8)
    data["outputs"]["place"]["trajectory"] = {"table": {"times": [0, 0.5, 1, 1.5], "values": [0, 0.875, 4, 10.125],
                                                        "kind": "cubic"}}
    np.testing.assert_allclose(solved(tmp_path, data).z, sol.z, rtol=0, atol=1e-8)
    data["actuators"]["push"] = {"type": "generalized_control", "body": "mass", "matrix": [[2]]}
    np.testing.assert_allclose(solved(tmp_path, data).controls(1.0), [12], rtol=0, atol=1e-8)


@pytest.mark.parametrize("reaction", [False, True])
def test_inverse_of_an_angle(tmp_path, reaction):
    def hinged(name, others):
        return {"type": "revolute", "bodies": [name], "point_a": [0, 0, 0], "point_b": [0, 0, 0], "axis_a": [0, 0, 1],
                "axis_b": [0, 0, 1], **others}
    names = ("wheel", "rim") if reaction else ("wheel",)
    turn = {"transfer": {"t0": 0, "t1": 1, "v0": 0, "v1": 1.5, "smoothness": 3}}
    data = {"assemble": True, "time": {"span": [0, 1], "n_elements": 20}, "solver": {"degree": 3},
            "bodies": {name: {"type": "rigid", "mass": 1, "inertia": [2, 2, 3]} for name in names},
            "joints": {f"hinge of {name}": hinged(name, {}) for name in names},
            "actuators": {"motor": {"type": "control_torque", "body": "wheel", "axes": [[0, 0, 1]], "frame": "space"}},
            "outputs": {"angle": {"type": "angle", "body": "wheel", "axis": "z", "direction": [1, 0, 0],
                                  "reference": [1, 0, 0], "trajectory": turn}},
            "problem": {"kind": "inverse"}}
    if reaction:
        data["actuators"]["motor"]["reaction"] = "rim"
    sol = solved(tmp_path, data)
    for name, sign in zip(names, (1, -1), strict=False):
        matrix = sol.rotation_matrix(name, 1.0)
        assert np.arctan2(matrix[1, 0], matrix[0, 0]) == pytest.approx(sign * 1.5, rel=0, abs=1e-6)
    sol.save(tmp_path / "s.h5")
    assert np.array_equal(tf.load(tmp_path / "s.h5").controls([0.3]), sol.controls([0.3]))
    assert [len(p.bodies) for p in tf.load(tmp_path / "s.h5").system.parts if p.name == "motor"] == [len(names)]


def test_optimal(tmp_path):
    assert solved(tmp_path, data_of("optimal")).objective == pytest.approx(6 * 4 * 9 / 1.5**3, rel=1e-9)
    data = data_of("optimal")
    data["actuators"]["push"]["effort"] = 2.0
    assert solved(tmp_path, data).objective == pytest.approx(2 * 6 * 4 * 9 / 1.5**3, rel=1e-9)
    data = data_of("time")
    data["time"]["n_elements"] = 40
    sol = solved(tmp_path, data)
    assert sol.parameters["duration"] == pytest.approx(2 * np.sqrt(2 * 3 / 4), rel=1e-3)
    assert sol.objective == pytest.approx(2 * sol.parameters["duration"], rel=1e-9)
    data["problem"]["duration"] = [3, 9]
    assert solved(tmp_path, data).parameters["duration"] == pytest.approx(3, rel=1e-5)


def test_optimal_with_redundant_hinges_is_saved(tmp_path):
    hinge = {"type": "revolute", "bodies": ["door"], "axis_a": [0, 0, 1], "axis_b": [0, 0, 1]}
    joints = {name: {**hinge, "point_a": [0, 0, z], "point_b": [0, 0, z]} for name, z in (("upper", 1), ("lower", -1))}
    data = {**data_of("time"), "redundant": "drop", "joints": joints, "time": {"span": [0, 2], "n_elements": 20},
            "bodies": {"door": {"type": "rigid", "mass": 1, "inertia": [1, 2, 2]}},
            "actuators": {"push": {"type": "control_torque", "body": "door", "axes": [[0, 0, 1]], "lower": -4,
                                   "upper": 4}}}
    turned = [np.cos(0.5), 0, 0, np.sin(0.5)]
    data["problem"]["end"] = {"door": {"orientation": turned, "angular_velocity": ["free", "free", 0]}}
    sol = solved(tmp_path, data)
    assert sol.parameters["duration"] == pytest.approx(np.sqrt(2), rel=1e-3) and len(sol.system.dropped) == 5
    sol.save(tmp_path / "s.h5")
    again = tf.load(tmp_path / "s.h5")
    assert again.system.dropped == sol.system.dropped and np.array_equal(again.controls([0.3]), sol.controls([0.3]))


# ---- what is refused

def changed(kind, **changes):
    data = data_of(kind)
    for path, value in changes.items():
        *keys, last = path.split("__")
        table = data
        for key in keys:
            table = table.setdefault(key, {})
        if value is None:
            del table[last]
        else:
            table[last] = value
    return data


BAD = {
    "kind": (changed("boundary", problem__kind="shooting"), "problem.kind", "must be one of"),
    "no kind": (changed("boundary", problem__kind=None), "problem", "'kind' is missing"),
    "end of initial": (changed("boundary", problem={"kind": "initial", "end": {}}), "problem.end",
                       'kind = "boundary" or "inverse" or "optimal"'),
    "periodic inverse": (changed("inverse", problem__periodic=True), "problem.periodic", 'kind = "boundary"'),
    "actuators": (changed("boundary", actuators={"a": {"type": "control_force", "body": "mass"}}), "actuators",
                  'kind = "inverse" or kind = "optimal"'),
    "outputs": (changed("optimal", outputs=data_of("inverse")["outputs"]), "outputs", 'kind = "inverse"'),
    "no outputs": (changed("inverse", outputs={}), "problem.kind", "needs a table of outputs"),
    "no actuators": (changed("optimal", actuators=None), "problem.kind", "needs a table of actuators"),
    "effort": (changed("inverse", actuators__push__effort=1), "actuators.push.effort", 'kind = "optimal"'),
    "velocity": (changed("boundary", bodies__mass__velocity=[1, 0, 0]), "bodies.mass.velocity", "problem.start.mass"),
    "body": (changed("boundary", problem__end={"mas": {}}), "problem.end.mas", "did you mean 'mass'"),
    "free": (changed("boundary", problem__end__mass__position=[1, "fre", 0]), "problem.end.mass.position[1]", '"free"'),
    "unknown key": (changed("boundary", problem__end__mass__place=[1, 0, 0]), "problem.end.mass.place", "unknown key"),
    "too few": (changed("boundary", problem__end={}), "problem", "independent conditions are needed"),
    "orientation": (changed("boundary", problem__end__mass__orientation=[1, 0, 0, 0]), "problem", "has no orientation"),
    "quaternion": (changed("boundary", problem__end__mass__orientation=[0, 0, 0, 0]), "problem.end.mass.orientation",
                   "quaternion"),
    "no part": (changed("boundary", problem__parameters__k__part="sprin"), "problem.parameters.k.part",
                "did you mean 'spring'"),
    "no number": (changed("boundary", problem__parameters__k__number="damping"), "problem", "has no number 'damping'"),
    "march": (changed("boundary", solver__driver="march"), "solver.driver", 'must be "global"'),
    "window": (changed("boundary", solver__window=3), "solver.window", "not used"),
    "line search": (changed("boundary", solver__line_search=True), "solver.line_search", "not used"),
    "guess": (changed("boundary", solver__guess="constant"), "solver.guess", '"interpolation" or "march"'),
    "guess of inverse": (changed("inverse", solver__guess="march"), "solver.guess", "leave it out"),
    "bg": (changed("inverse", solver={"element": "bg"}), "solver.element", 'must be "mg"'),
    "output of no body": (changed("inverse", outputs__place__body="mas"), "outputs.place.body", "did you mean 'mass'"),
    "axis": (changed("inverse", outputs__place__axis=[0, 0, 0]), "outputs.place.axis", "direction"),
    "kinky": (changed("inverse", outputs__place__trajectory={"triangle": {"t0": 0, "t_peak": 0.5, "t1": 1, "peak": 1}}),
              "outputs", "jump in its first derivative"),
    "spline": (changed("inverse", outputs__place__trajectory={"spline": {"times": [0, 1], "values": [0, 1]}}),
               "outputs.place.trajectory.spline", "needs 6 times"),
    "two controls": (changed("inverse", actuators__more={"type": "control_force", "body": "mass"}), "outputs",
                     "1 outputs are prescribed, but there are 2 controls"),
    "reaction": (changed("inverse", actuators__push={"type": "control_torque", "body": "mass", "reaction": "ground"}),
                 "actuators.push.reaction", "there is no body 'ground'"),
    "reaction of a force": (changed("inverse", actuators__push__reaction="mass"), "actuators.push",
                            "two different bodies"),
    "actuator": (changed("inverse", actuators__push__body="mas"), "actuators.push.body", "did you mean 'mass'"),
    "no cost": (changed("optimal", actuators__push__effort=None), "problem", "the cost is missing"),
    "weights": (changed("optimal", actuators__push__effort=[1, 2]), "actuators.push.effort", "must have 1 numbers"),
    "no weight": (changed("optimal", actuators__push__effort=0), "actuators.push.effort", "must be a positive weight"),
    "bounds": (changed("time", actuators__push__lower=[5]), "actuators.push.lower", "lower one must be below"),
    "fixed time": (changed("time", problem__free_time=False), "problem.duration", "needs free_time = true"),
    "durations": (changed("time", problem__duration=[3, 2]), "problem.duration", "lower one must be below"),
    "tolerance with bg": (changed("optimal", solver={"element": "bg", "tolerance": 1e-6}), "solver.tolerance",
                          'element = "mg"'),
    "tolerance": (changed("inverse", solver__tolerance=0), "solver.tolerance", "positive"),
    "IPOPT": (changed("time", solver__tol_residual=1e-9), "solver.tol_residual", "interior-point"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_file_key_and_remedy(tmp_path, name):
    data, key, remedy = BAD[name]
    path = write(tmp_path / "model.toml", data)
    with pytest.raises(InputError) as error:
        load_model(path)
    message = str(error.value)
    line = list(data).index(key.split(".")[0].split("[")[0]) + 1
    assert message.startswith(f"{path}:{line}: {key}"), message
    assert remedy in message and "\n" not in message


def test_commands(timefem, tmp_path):
    status, out, _ = timefem("check", EXAMPLES / "crane_inverse.toml", "--json")
    assert status == 0 and json.loads(out)["relative_degrees"] == {"across": 2, "up": 2}
    assert "relative degree 2" in timefem("check", EXAMPLES / "crane_inverse.toml")[1]
    assert "orientation of body at the end" in timefem("check", EXAMPLES / "reorientation.toml")[1]
    path = write(tmp_path / "m.toml", data_of("time"))
    status, out, _ = timefem("run", path, "--n-elements", "20", "--json")
    r = json.loads(out)
    assert (status, r["kind"], r["n_elements"], r["backend"]) == (0, "optimal", 20, "interior-point")
    status, out, err = timefem("run", path, "--driver", "march")
    assert (status, out, err.count("\n")) == (2, "", 1) and "--driver march is not possible" in err
    status, out, err = timefem("check", write(path, BAD["too few"][0]))
    assert (status, out, err.count("\n")) == (2, "", 1) and f"{path}:" in err


# ---- whatever is in the file

@st.composite
def mutants(draw):
    """A valid model with one to three changes in its new tables."""
    data = json.loads(json.dumps(data_of(draw(st.sampled_from(["boundary", "inverse", "optimal", "time"])))))
    for _ in range(draw(st.integers(1, 3))):
        known = [keys for keys in places(data) if keys[0] in ("problem", "actuators", "outputs", "solver", "forces")]
        if not known:
            break
        *keys, last = draw(st.sampled_from(known))
        table = data
        for key in keys:
            table = table[key]
        change = draw(st.sampled_from(["replace"] * 3 + ["delete", "wrap", "unknown", "rename"]))
        if change == "delete":
            del table[last]
        elif change == "wrap":
            table[last] = [table[last]]
        elif change == "rename" and isinstance(table, dict):
            table[draw(st.text(max_size=4))] = table.pop(last)
        elif change == "unknown" and isinstance(table, dict):
            table[draw(st.sampled_from(["end", "start", "effort", "lower", "kind", "periodic", "x"]))] = \
                copy.deepcopy(draw(JUNK))
        else:
            table[last] = copy.deepcopy(draw(JUNK))
    return toml_file(data).encode("utf-8", "surrogatepass")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(mutants())
def test_malformed_files_give_one_line_errors(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "problem.toml"
    path.write_bytes(content)
    try:
        model = load_model(path)
    except InputError as error:
        message = str(error)
        assert message.startswith(str(path)) and "\n" not in message
    else:
        assert model.problem.t_span[1] == model.t_span[1]


def test_examples_of_the_guide(tmp_path):
    """The blocks on the kinds of problems are what the files take."""
    guide = (EXAMPLES.parents[1] / "docs" / "how-to" / "model-files.md").read_text()
    bar = "[bodies.bar]\ntype = 'rigid'\nmass = 1\ninertia = [1, 1, 1]\n"
    hinge = ("[joints.hinge]\ntype = 'revolute'\nbodies = ['bar']\npoint_a = [0, -5, 0]\npoint_b = [0, 0, 0]\n"
             "axis_a = [1, 0, 0]\naxis_b = [1, 0, 0]\n")
    crank = bar.replace("bar", "crank") + hinge.replace("bar", "crank").replace("-5", "0") + bar.replace("bar", "frame")
    crank += bar.replace("bar", "load").replace("1]", "1]\nposition = [0, 1, 0]")
    crank += "[joints.weld]\ntype = 'weld'\nbodies = ['crank', 'load']\npoint_a = [0, 1, 0]\npoint_b = [0, 0, 0]\n"
    models = {"boundary": bar + hinge, "inverse": crank, "optimal": bar.replace("bar", "body")}
    for kind, bodies in models.items():
        blocks = [b.split("```")[0] for b in guide.split("```toml\n")[1:] if f'kind = "{kind}"' in b.split("```")[0]]
        assert len(blocks) == 1 + (kind == "boundary")
        for block in blocks:
            path = tmp_path / f"{kind}.toml"
            path.write_text(bodies + "[time]\nspan = [0, 2]\nn_elements = 10\n" + block)
            assert load_model(path).kind == kind


def test_a_further_kind_need_not_be_one_of_files(tmp_path, monkeypatch):
    """Files load beside it, and do not know its name; they ended in an AttributeError."""
    monkeypatch.setitem(KINDS, "further", dataclasses.replace(KINDS["initial"], name="further", files=None))
    path = tmp_path / "model.toml"
    text = "[time]\nspan = [0, 1]\nn_elements = 5\n[bodies.a]\ntype = \"point\"\nmass = 1\n"
    path.write_text(text)
    assert load_model(path).kind == "initial"
    path.write_text(f'{text}[problem]\nkind = "further"\n')
    with pytest.raises(InputError, match="further"):
        load_model(path)
