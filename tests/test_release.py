"""What is said of a release in several places agrees, and what is deprecated goes in time."""

import ast
import configparser
import re
from pathlib import Path

import pytest

import timefem
from timefem.errors import deprecated

ROOT = Path(__file__).parents[1]
CFG = configparser.ConfigParser()
CFG.read(ROOT / "setup.cfg", encoding="utf-8")
PYTHONS = re.findall(r"Python :: (3\.\d+)", CFG["metadata"]["classifiers"])


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_versions_agree():
    version = timefem.__version__
    assert re.search(r"^version: (.*)$", text("CITATION.cff"), re.M)[1] == version
    assert re.search(r'  version: "(.*)"', text("recipe/recipe.yaml"))[1] == version
    headings = re.findall(r"^## \[(.*?)\]", text("CHANGELOG.md"), re.M)
    assert headings[:2] == ["Unreleased", version]


def test_pythons_agree():
    """Of the classifiers, of continuous integration, and of the package."""
    for name in (".github/workflows/ci.yml", ".gitlab-ci.yml"):
        lists = re.findall(r"(?:python|PYTHON): \[(.*)\]", text(name))
        assert lists and all(re.findall(r"[\d.]+", found) == PYTHONS for found in lists), name
    assert CFG["options"]["python_requires"] == f">={PYTHONS[0]}"


def test_the_recipe_needs_what_the_package_needs():
    needed = [line.split(";")[0].strip() for line in CFG["options"]["install_requires"].splitlines()
              if line and "Windows" not in line and "python_version" not in line]
    run = re.search(r"  run:\n(.*?)\n\n", text("recipe/recipe.yaml"), re.S)[1]
    recipe = {re.sub(r"matplotlib-base", "matplotlib", line.strip("- ")).replace(" ", "") for line in run.splitlines()}
    assert set(needed) <= recipe


def test_every_direct_requirement_has_a_least_version():
    assert [line for line in CFG["options"]["install_requires"].splitlines() if line and ">=" not in line] == []


def test_deprecated_names_warn_of_the_line_of_the_user():
    says = r"^old\(\) is deprecated since timefem 0\.2 and will be removed in 0\.3; use new\(\)$"
    with pytest.warns(DeprecationWarning, match=says) as w:
        deprecated("old()", since="0.2", instead="new()")
    assert w[0].filename == __file__


def test_what_is_deprecated_goes_with_the_next_minor_version():
    now = tuple(map(int, timefem.__version__.split(".")[:2]))
    overdue = []
    for path in Path(timefem.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "deprecated(" in source and path.name != "errors.py":
            overdue += [f"{path.name}:{node.lineno}" for node in ast.walk(ast.parse(source)) if is_overdue(node, now)]
    assert overdue == []


def is_overdue(node, now):
    """Whether this is a call of `deprecated` that warned through the whole of an earlier minor version."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "deprecated":
        return False
    since = next(k.value.value for k in node.keywords if k.arg == "since")
    return tuple(map(int, since.split(".")[:2])) < now


@pytest.mark.parametrize("since, now, overdue", [("0.2", (0, 2), False), ("0.2", (0, 3), True), ("0.9", (0, 10), True)])
def test_overdue(since, now, overdue):
    call = ast.parse(f"deprecated('x', since='{since}', instead='y')").body[0].value
    assert is_overdue(call, now) == overdue
