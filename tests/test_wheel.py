"""Wheels: with compiled loops for this kind of machine and this Python, right on others, built also without Numba."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BUILT_FROM = ("timefem", "setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE",
              "tools/build_backend.py")
RUN = """
import sys
from timefem.cli import main
status = main(sys.argv[1:])
print(int("numba" in sys.modules))
sys.exit(status)
"""


def python(*arguments, **environment):
    return subprocess.run([sys.executable, *map(str, arguments)], env=os.environ | environment, check=True, text=True,
                          stdout=subprocess.PIPE, cwd="/").stdout


def build(folder, **environment):
    """The wheel that pip builds of a copy of the source, by the packages of this environment."""
    for name in BUILT_FROM:
        source, copy = ROOT / name, folder / "source" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "prepared"))
        else:
            shutil.copy(source, copy)
    python("-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, folder / "source",
           **{"PYTHONPATH": "", "TIMEFEM_CACHE_DIR": "", **environment})
    wheel, = folder.glob("*.whl")
    return wheel


def prepared(wheel):
    return [name for name in zipfile.ZipFile(wheel).namelist() if "/prepared/" in name]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Python of an environment with the wheel in it, beside the packages of this one."""
    place = tmp_path_factory.mktemp("environment")
    python("-m", "venv", "--without-pip", place)
    own, = place.glob("lib/python*/site-packages")
    (own / "others.pth").write_text(sysconfig.get_path("purelib"))  # pth files in there do not count
    found = place / "bin" / "python"
    python("-m", "pip", "-q", "--python", found, "install", "--no-deps", "--no-index", wheel,
           PYTHONPATH="")  # where another copy may stand, which pip would take for this one
    return found


@pytest.fixture
def first_run(installed, tmp_path):
    def first_run(*arguments, **environment):
        """Result of a run with an empty cache, and whether it needed Numba, which compiles loops."""
        own = {"TIMEFEM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ""} | environment
        run = subprocess.run([installed, "-c", RUN, "run", "spinning-box", "--json", *arguments], cwd=tmp_path,
                             env=os.environ | own, check=True, text=True, stdout=subprocess.PIPE)
        result, end = json.JSONDecoder().raw_decode(run.stdout)
        return result, bool(int(run.stdout[end:]))

    return first_run


@pytest.mark.parametrize("arguments", [(), ("--element", "bg", "--degree", "1")], ids=["march", "global"])
@pytest.mark.parametrize("cache", ["fresh", "/dev/null/cache"])
def test_the_first_run_compiles_nothing(first_run, arguments, cache):
    result, compiles = first_run(*arguments, **({} if cache == "fresh" else {"TIMEFEM_CACHE_DIR": cache}))
    assert result["status"] == "converged" and not compiles


def test_other_processors_compile_their_own(first_run):
    """Loops for another processor might end the process: they are not taken."""
    own, _ = first_run()
    other, compiles = first_run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert compiles
    assert own["energy_error_max"] < 1e-11 and other["energy_error_max"] < 1e-11


def test_what_is_in_a_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{version}-{version}-" in wheel.name and "linux_" not in wheel.name.replace("manylinux_", "")
    assert len(prepared(wheel)) > 50
    assert not [name for name in names if "lock-" in name or name.endswith((".part", ".pyc"))]
    assert not [name for name in names if name.split("/")[0] not in ("timefem", names[-1].split("/")[0])]


@pytest.mark.parametrize("why", ["off", "no Numba"])
def test_nothing_has_to_be_prepared(tmp_path, why):
    if why == "off":
        wheel = build(tmp_path, TIMEFEM_CACHE_DIR="off")
    else:
        (tmp_path / "numba.py").write_text("raise ImportError('none here')")
        wheel = build(tmp_path, PYTHONPATH=str(tmp_path))
    names = zipfile.ZipFile(wheel).namelist()
    assert prepared(wheel) == [] and "timefem/kernels/loops.py" in names
    assert wheel.name.endswith("-py3-none-any.whl")


def test_uninstalled_without_a_trace(installed, first_run):
    first_run()
    python("-m", "pip", "-q", "--python", installed, "uninstall", "-y", "timefem")
    assert [path for path in installed.parents[1].rglob("*timefem*")] == []
