"""The structure of the package, read from its code: imports run one way, in no circle, and functions stay small."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import timefem

PACKAGE = Path(timefem.__file__).parent
FLOORS = (  # each imports from those before it, and from its own
    {"errors", "status", "version", "validate", "display", "progress", "parallel", "interrupts"},
    {"polynomials"}, {"kernels"}, {"mechanics"}, {"elements"}, {"assembly"}, {"solvers"}, {"solution"}, {"problems"},
    {"solving"}, {"sensitivity"}, {"studies"}, {"cases"}, {"models"}, {"reproduction"}, {"cli"},
)
MOST_INNER_IMPORTS = 60  # MPI, PETSc, matplotlib and other packages that need not be there


@cache
def modules():
    """Name without `timefem.` -> (path, syntax tree); the package itself is the empty name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path, ast.parse(path.read_text())
    return found


def imports(name):
    """Nodes of the relative and absolute imports of a module, at any depth."""
    return [node for node in ast.walk(modules()[name][1]) if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def targets(name):
    """Modules of timefem that a module imports, at any depth."""
    path, _ = modules()[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in imports(name):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[:len(package) - node.level + 1] + (node.module or "").split(".")
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "timefem":
            base = node.module.split(".")[1:]
        else:
            continue
        base = ".".join(part for part in base if part)
        for alias in node.names:
            inner = f"{base}.{alias.name}".lstrip(".")
            found.add(inner if inner in modules() else base)
    return found - {name}


def circles():
    """Sets of modules that import each other (strongly connected components, Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in targets(v):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            component = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(component) > 1:
                found.append(sorted(component))

    for name in modules():
        if name not in index:
            visit(name)
    return found


def test_no_circles():
    assert circles() == []


def test_imports_run_one_way():
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    climbing = [(name, target) for name in modules() if name for target in targets(name)
                if floor[target.split(".")[0]] > floor[name.split(".")[0]]]
    assert climbing == []


def test_every_room_has_a_floor():
    assert {name.split(".")[0] for name in modules()} - {""} == set().union(*FLOORS)


def test_imports_stand_at_the_top():
    inner = [f"{name}:{node.lineno}" for name, (_, tree) in modules().items() for node in imports(name)
             if node not in tree.body]
    assert len(inner) <= MOST_INNER_IMPORTS, inner


def test_import_is_light():
    heavy = "numba", "casadi", "llvmlite", "scipy", "matplotlib", "h5py", "petsc4py", "mpi4py", "rich", "typer"
    code = f"import sys, timefem; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", timefem.__all__)
def test_public_names_exist(name):
    assert getattr(timefem, name) is not None
