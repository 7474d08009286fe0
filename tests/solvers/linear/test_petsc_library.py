"""A NumPy that petsc4py was not compiled for is reported in one line, with what to do."""

import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import timefem as tf
from timefem.cli import main
from timefem.solvers.linear.petsc.library import check_numpy

ROOT = Path(__file__).parents[3]


@pytest.fixture
def newer_numpy(monkeypatch, tmp_path):
    """`newer_numpy(content)`: NumPy 2 beside a petsc4py whose library has that content."""
    def make(content):
        (tmp_path / "PETSc.so").write_bytes(content)
        find_spec = util.find_spec
        monkeypatch.setattr(np, "__version__", "2.1.0")
        monkeypatch.setattr(util, "find_spec", lambda name, *more: SimpleNamespace(
            submodule_search_locations=[str(tmp_path)]) if name == "petsc4py" else find_spec(name, *more))

    return make


def test_compiled_for_numpy_1(newer_numpy):
    newer_numpy(b"...numpy.core._multiarray_umath...")
    with pytest.raises(tf.MissingBackend, match=r"compiled for NumPy 1 and does not load with NumPy 2\.1\.0: pip"):
        check_numpy()


def test_compiled_for_numpy_2(newer_numpy):
    newer_numpy(b"...numpy._core._multiarray_umath...numpy.core...")
    assert check_numpy() is None


def test_info_and_run(newer_numpy, capsys):
    newer_numpy(b"numpy.core")
    assert main(["info"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "compiled for NumPy 1" in shown
    assert main(["run", "spinning-box", "--n-elements", "4", "--driver", "global", "--backend", "petsc"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "numpy<2" in error


@pytest.mark.long
def test_a_library_that_does_not_load(tmp_path):
    package = tmp_path / "petsc4py"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "PETSc.py").write_text("raise ValueError('numpy.dtype size changed, Expected 96 from C header')")
    run = subprocess.run([sys.executable, "-m", "timefem", "run", "spinning-box", "--n-elements", "4", "--driver",
                          "global", "--backend", "petsc"], text=True, capture_output=True, cwd=ROOT,
                         env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}, timeout=120)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert "petsc4py does not load with NumPy" in run.stderr and "numpy<2" in run.stderr
