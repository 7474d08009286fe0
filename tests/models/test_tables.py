"""Model files: time elements, sensitivities, continuation, several solutions, unknown numbers of optimal control."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.models.test_model_files import write
from tests.models.test_problem_files import data_of
from timefem.elements.element import ELEMENTS
from timefem.errors import InputError
from timefem.models import load_model

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "model-files.md"


def spinning(**solver):
    rotation = "directors" if solver.get("element") == "dir-em" else "quaternion"
    return {"time": {"span": [0, 0.1], "n_elements": 10}, "solver": solver, "gravity": [0, 0, -9.81],
            "bodies": {"box": {"type": "rigid", "mass": 2, "inertia": [4, 5, 6], "rotation": rotation,
                               "angular_velocity": [1, 2, 3]}},
            "forces": {"push": {"type": "force", "body": "box", "value": [1, 0, 0],
                                "time": {"sine": {"amplitude": 3, "frequency": 1}}}}}


@pytest.mark.parametrize("name", ELEMENTS)
def test_schemes_by_name(tmp_path, name):
    model = load_model(write(tmp_path / "m.toml", spinning(element=name)))
    assert type(model.element) is ELEMENTS[name]
    sol = model.solve(progress=False)
    assert sol.success
    wanted = load_model(write(tmp_path / "m.toml", spinning(degree=3))).solve(progress=False)
    np.testing.assert_allclose(sol.angular_velocity("box", 0.1), wanted.angular_velocity("box", 0.1), rtol=0, atol=1e-3)


def test_elements_on_the_command_line(timefem, tmp_path):
    path = write(tmp_path / "m.toml", spinning(element="eml"))
    report = json.loads(timefem("run", path, "--json")[1])
    assert report["element"] == "eml" and report["driver"] == "march"
    assert json.loads(timefem("run", path, "--element", "emh", "--json")[1])["element"] == "emh"
    path = write(tmp_path / "m.toml", spinning(keep="all", degree=2))
    assert load_model(path).element.keep == "all"
    assert json.loads(timefem("run", path, "--json")[1])["status"] == "converged"


@pytest.mark.parametrize("solver, message", [
    ({"element": "em"}, 'solver.element: must be one of "mg", "bg", "eml"'),
    ({"element": "eml", "degree": 2}, 'solver.degree: degree belongs to element = "mg" or element = "bg"'),
    ({"element": "bg", "keep": "all"}, 'solver.keep: keep belongs to element = "mg"'),
    ({"drop": "end"}, 'solver.drop: drop belongs to element = "bg"'),
])
def test_settings_of_other_elements(tmp_path, solver, message):
    with pytest.raises(InputError) as error:
        load_model(write(tmp_path / "m.toml", spinning(**solver)))
    assert message in str(error.value)


# ---- sensitivities

def test_sensitivity_table(timefem, tmp_path):
    table = {"of": ["end:box.position[0]", "end:kinetic"], "parameters": ["box.mass", "push.time.amplitude", "start"]}
    path = write(tmp_path / "m.toml", spinning() | {"sensitivity": table})
    facts = load_model(path).sensitivities()
    assert list(facts["functionals"]) == table["of"] and len(facts["parameters"]) == 14
    at = facts["functionals"]["end:box.position[0]"]
    assert at["derivatives"][0] == pytest.approx(-at["value"] / 2, rel=1e-9)  # x = F t / m from rest
    assert at["derivatives"][1] == pytest.approx(at["value"] / 3, rel=1e-9)
    status, out, err = timefem("sensitivity", path, "--json")
    assert status == 0, err
    told = json.loads(out)
    for name, values in facts["functionals"].items():
        np.testing.assert_allclose(told["functionals"][name]["derivatives"], values["derivatives"], rtol=1e-9,
                                   atol=1e-12)
    told = json.loads(timefem("sensitivity", path, "--of", "end:box.q[2]", "--forward", "--element", "emh",
                              "--json")[1])
    assert (list(told["functionals"]), told["method"], told["element"]) == (["end:box.q[2]"], "forward", "emh")
    for changes in ({"of": ["end:box.weight"]}, {"parameters": ["box.weight"]}):
        with pytest.raises(InputError, match=rf"m\.toml:\d+: sensitivity\.{next(iter(changes))}: .*box has no"):
            load_model(write(path, spinning() | {"sensitivity": table | changes}))


def test_tables_of_the_guide(tmp_path):
    blocks = [block.split("```")[0] for block in GUIDE.read_text().split("```toml\n")[1:]]
    table, = (block for block in blocks if block.startswith("[sensitivity]"))
    (tmp_path / "m.toml").write_text(blocks[0] + table)
    assert len(load_model(tmp_path / "m.toml").sensitivities()["functionals"]) == 3
    table, = (block for block in blocks if block.startswith("[continuation]"))
    text = (EXAMPLES / "pendulum_boundary.toml").read_text()
    (tmp_path / "m.toml").write_text(text + table.replace("problem.end.bar.position[2]", "gravity[2]"))
    assert load_model(tmp_path / "m.toml").solve(progress=False).success


def test_sensitivity_belongs_to_initial_and_boundary_values(tmp_path):
    data = data_of("optimal") | {"sensitivity": {"of": ["end:kinetic"], "parameters": ["start"]}}
    with pytest.raises(InputError, match=r'belongs to .problem. with kind = "initial" or kind = "boundary"'):
        load_model(write(tmp_path / "m.toml", data))


# ---- continuation, several solutions, changes

def test_continuation(timefem, tmp_path):
    text = (EXAMPLES / "pendulum_boundary.toml").read_text()
    path, wanted = tmp_path / "m.toml", load_model(EXAMPLES / "pendulum_boundary.toml").solve(progress=False)
    for key, start in (("time.span[1]", 0.7), ("bodies.pendulum.cuboid.density", 4), ("gravity[2]", -1.0)):
        path.write_text(f'{text}\n[continuation]\nvary = "{key}"\nstart = {start}\nfirst_step = 0.5\n')
        sol = load_model(path).solve(progress=False)
        assert sol.success and sol.statistics["continuation"][0] == start and len(sol.statistics["continuation"]) == 3
        np.testing.assert_allclose(sol.z, wanted.z, rtol=0, atol=1e-9 * np.abs(wanted.z).max())
    report = json.loads(timefem("run", path, "--json")[1])
    assert report["continuation"][0] == -1 and len(report["continuation"]) == 3
    report = json.loads(timefem("run", path, "--follow", "gravity[2]=-5", "--json")[1])
    assert report["continuation"][0] == -5
    for key, message in (("gravity[3]", "there is no 'gravity\\[3\\]'"), ("title", "is not a number"),
                         ("bodies.bar.mass", "known here are pendulum")):
        path.write_text(f'{text}\n[continuation]\nvary = "{key}"\nstart = 1\n')
        with pytest.raises(InputError, match=message):
            load_model(path)


def test_several_solutions(timefem, tmp_path):
    text = (EXAMPLES / "reorientation.toml").read_text().replace('kind = "boundary"', 'kind = "boundary"\nturns = 0')
    (tmp_path / "m.toml").write_text(text)
    found = load_model(tmp_path / "m.toml").solve_all()
    told = json.loads(timefem("solve-all", tmp_path / "m.toml", "--json")[1])
    assert told["turns"] == 0 and len(told["solutions"]) == len(found) == 2


def test_changes():
    path = EXAMPLES / "pendulum_boundary.toml"
    model = load_model(path, changes={"problem.end.pendulum.position[2]": 2.5, "time.span[1]": 1.0})
    assert model.t_span == (0, 1.0) and model.problem.t_span == (0, 1.0)
    assert model.changed({"gravity[0]": 1.5}).document.data["gravity"] == [1.5, 0, -9.81]
    with pytest.raises(InputError, match="must be a finite number"):
        load_model(path, changes={"gravity[0]": np.inf})


# ---- unknown numbers of optimal control

def with_spring(**bounds):
    data = data_of("optimal")
    data["forces"] = {"spring": {"type": "spring", "bodies": ["mass"], "stiffness": 5}}
    data["problem"]["parameters"] = {"k": {"part": "spring", "number": "stiffness", **bounds}}
    if bounds:
        data["solver"] = {"degree": 2}
    return data


def test_unknown_numbers_of_optimal_control(timefem, tmp_path):
    path = write(tmp_path / "m.toml", with_spring())
    sol = load_model(path).solve(progress=False)
    assert sol.success and sol.errors()["energy"] < 1e-9  # with the stiffness that was found
    least = tf.load(_saved(sol, tmp_path / "a.h5"))
    assert least.parameters == sol.parameters and np.array_equal(least.z, sol.z)
    assert least.errors() == sol.errors() and least.objective == sol.objective
    assert next(p for p in least.system.parts if p.name == "spring").stiffness == sol.parameters["k"]
    lower = sol.parameters["k"] + 1
    bounded = load_model(write(path, with_spring(lower=lower, upper=20))).solve(progress=False)
    assert bounded.parameters["k"] == pytest.approx(lower, rel=1e-6) and bounded.objective > sol.objective
    report = json.loads(timefem("run", path, "-o", tmp_path / "b.h5", "--json")[1])
    assert report["parameters"]["k"] == pytest.approx(lower, rel=1e-6)
    data = data_of("boundary")
    data["problem"]["parameters"]["k"]["lower"] = 1
    with pytest.raises(InputError, match=r'parameters.k.lower: belongs to kind = "optimal"'):
        load_model(write(path, data))


def _saved(sol, path):
    sol.save(path)
    return path
