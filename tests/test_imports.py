"""Imports run one way, and `import timefem` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import timefem

ROOT = Path(timefem.__file__).parent
ORDER = ["mechanics", "kernels", "elements", "assembly", "solvers", "solution"]


def imported(path):
    """Subpackages of timefem that a module imports, at any depth."""
    package = path.relative_to(ROOT.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            target = [*package[:len(package) - node.level + 1], *(node.module or "").split(".")]
            names = [a.name for a in node.names] if len(target) <= 2 and not node.module else [target[1]] \
                if len(target) > 1 else []
            yield from names
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("timefem."):
            yield node.module.split(".")[1]


@pytest.mark.parametrize("package", [*ORDER, "problems"])
def test_imports_point_one_way(package):
    later = set(ORDER[ORDER.index(package) + 1:]) if package in ORDER else set(ORDER[1:])
    forbidden = later | {"problems", "studies", "cases", "models", "cli", "solving"} - {package}
    for path in (ROOT / package).rglob("*.py"):
        assert not forbidden & set(imported(path)), f"{path.name} imports up the list"


def test_sensitivities_stand_on_solving():
    for path in (ROOT / "sensitivity").rglob("*.py"):
        assert not {"cases", "models", "cli", "studies"} & set(imported(path)), f"{path.name} imports up the list"
    for package in (*ORDER, "problems", "solving"):
        for path in (ROOT / package).rglob("*.py"):
            assert "sensitivity" not in set(imported(path)), f"{path.name} imports up the list"


def test_studies_stand_on_solving():
    for path in (ROOT / "studies").rglob("*.py"):
        assert not {"cases", "models", "cli"} & set(imported(path)), f"{path.name} imports up the list"
    for path in (ROOT / "solving").rglob("*.py"):
        assert "studies" not in set(imported(path)), f"{path.name} imports up the list"


def test_import_is_light():
    heavy = "numba", "casadi", "llvmlite", "scipy", "matplotlib", "h5py", "petsc4py", "mpi4py", "rich", "typer"
    code = f"import sys, timefem; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_public_names_exist():
    for name in timefem.__all__:
        assert hasattr(timefem, name)
