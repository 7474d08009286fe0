"""The structure of the package, read from its code: imports run one way, in no circle, and each count of
`tools/counts.py` is at its target, or no higher than it was."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import timefem
from timefem.kernels import loops
from tools import counts
from tools.counts import circles, imports, modules, running_imports, targets

PACKAGE = Path(timefem.__file__).parent
FLOORS = (  # each imports from those before it, and from its own
    counts.SMALL,
    {"polynomials"}, {"kernels"}, {"sparse"}, {"mechanics"}, {"elements"}, {"assembly"}, {"solvers"}, {"solution"},
    {"problems"}, {"solving"}, {"sensitivity"}, {"analysis"}, {"studies"}, {"models"}, {"cases"}, {"reproduction"},
    {"verification"}, {"cli"}, {"__main__"},
)
MOST_INNER_IMPORTS = 60  # MPI, PETSc, matplotlib and other packages that need not be there


def test_no_circles():
    assert circles(running_imports) == []


def test_imports_run_one_way():
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    climbing = [(name, target) for name in modules() if name for target in (*targets(name), *targets(name, True))
                if target and floor[target.split(".")[0]] > floor[name.split(".")[0]]]
    assert climbing == []


def test_evidence_comes_through_the_door():
    """Cases, studies, verification and reproduction import `timefem` as users do, and nothing else does so; what they
    import besides is among the counts."""
    through = {name.split(".")[0] for name in modules() if "" in targets(name) | targets(name, True)}
    assert through == set(counts.EVIDENCE)
    assert counts.users_of_evidence() == []


def test_every_room_has_a_floor():
    assert {name.split(".")[0] for name in modules()} - {""} == set().union(*FLOORS)


def test_picture_has_the_floors():
    """Of docs/theory/architecture.md, drawn by tools/architecture.py."""
    drawn = re.findall('"bold">(.*?)<', (PACKAGE.parent / "docs" / "images" / "architecture.svg").read_text())
    assert drawn[::-1] == ["small things", *(room for rooms in FLOORS[1:-1] for room in rooms)]


def test_imports_stand_at_the_top():
    inner = [f"{name}:{node.lineno}" for name, (_, tree) in modules().items() for node in imports(name)
             if node not in tree.body]
    assert len(inner) <= MOST_INNER_IMPORTS, inner


def test_import_is_light():
    heavy = "numba", "casadi", "llvmlite", "scipy", "matplotlib", "h5py", "petsc4py", "mpi4py", "rich", "typer"
    code = f"import sys, timefem; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_first_solves_import_what_they_need():
    """Of problems, methods and linear solvers one of each, and nothing that draws or writes."""
    others = ("problems.inverse.kind", "problems.phases.kind", "elements.energy_momentum",
              "solvers.linear.petsc", "solvers.nonlinear.fatrop", "solvers.nonlinear.ipopt",
              "solution.drawing.scene", "solution.output.vtk", "solving.many_solutions", "solving.many_runs",
              "problems.initial.march_driver", "problems.optimal.files",
              "mechanics.bodies.tree.tree", "mechanics.composites.beam", "mechanics.bodies.tree.compile")
    code = f"""
import sys, timefem as tf
mass = tf.PointMass(1.0, name="mass")
push = tf.ControlForce(mass, directions=[(1, 0, 0)])
problem = tf.OptimalControl(tf.System([mass]), {{mass: tf.Pose()}}, {{mass: tf.Pose((1, 0, 0))}}, (0, 1),
                            [tf.Effort(push)], bounds={{push: (-9, 9)}})
assert tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False).success
print([m for m in {others!r} if f"timefem.{{m}}" in sys.modules])"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_warnings_point_at_the_line_of_the_user():
    """By `errors.warn`, which looks for it: levels that are counted hold for one way to a place only."""
    assert [name for name, (path, _) in modules().items() if name != "errors" and "warnings.warn(" in path.read_text()
            ] == []


def test_loops_are_compiled_in_one_way():
    """By `kernels.loops`, which needs no place to keep them, and knows the sources of all of them."""
    assert [name for name in modules() if name.split(".")[0] != "kernels" for node in imports(name)
            if (getattr(node, "module", None) or node.names[0].name).split(".")[0] == "numba"] == []
    known = {place.removesuffix(".py").replace("/", ".") for place in loops._SOURCES}
    users = [name for name in modules() if "kernels.loops" in targets(name) and name != "cli.compiled"]  # has none
    assert users and [name for name in users if not any(f"{name}.".startswith(f"{k}.") for k in known)] == []


@pytest.mark.parametrize("name", timefem.__all__)
def test_public_names_exist(name):
    assert getattr(timefem, name) is not None


KINDS = {"InitialValueProblem", "BoundaryValueProblem", "InverseDynamics", "OptimalControl", "MixedGalerkin",
         "BubnovGalerkin"}


@pytest.mark.parametrize("name", counts.COUNTS)
def test_counts_do_not_rise(name):
    """`python tools/architecture.py --counts` prints all, with a name the places of one. Lower today's number with the
    count; who adds one finds another way."""
    places, target, today = counts.COUNTS[name]
    found = places()
    assert len(found) <= max(target, today), "\n".join(found)


def test_kinds_are_looked_up_in_their_table():
    """No `isinstance` on kinds of problems or of elements: they offer capabilities. Evidence asks as users do."""
    found = [f"{module}:{node.lineno}" for module, node in counts.nodes(ast.Call, but=counts.EVIDENCE)
             if counts.is_call_of(node, "isinstance")
             and KINDS & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}]
    assert all(place.startswith("analysis.tangents:") for place in found) and len(found) <= 1, found


@pytest.mark.parametrize(("code", "texts"), [
    ("kind == 'energy'", {"energy"}), ("kind in ('energy', 'x')", {"energy", "x"}), ("'energy' not in table", set()),
    ("kind.name != 'energy'", {"energy"})])
def test_keys_that_are_looked_for_are_no_comparisons(code, texts):
    """As of docs/how-to/add-a-kind-of-problem.md, where a key of files is called as the kind."""
    assert counts.texts_compared(ast.parse(code).body[0].value) == texts
