"""Compiled loops on disk: never needed, checked, and made by one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import timefem

CODE = """
from timefem.kernels.loops import compiled

@compiled()
def inner(n):
    return n * n

@compiled()
def outer(n):
    return inner(n) + 1

print(outer(3))
"""


@pytest.fixture
def run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(CODE)

    def run(cache=tmp_path / "cache"):
        return subprocess.Popen([sys.executable, str(script)], env=os.environ | {
            "TIMEFEM_CACHE_DIR": str(cache), "PYTHONPATH": str(Path(timefem.__file__).parents[1])},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)

    return run


def outcome(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def test_compiled_once(run):
    out, err = outcome(run())
    assert out == "10" and "timefem: compiling outer, once for this machine ..." in err and err.count("\n") == 1
    assert outcome(run()) == ("10", "")


def test_damage_is_mended(run, tmp_path):
    outcome(run())
    for path in (tmp_path / "cache").iterdir():
        if not path.name.startswith("lock-"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 4
            path.write_bytes(data)
    assert outcome(run())[0] == "10"
    assert outcome(run()) == ("10", "")


@pytest.mark.parametrize("cache", ["off", "/dev/null/cache"])
def test_nothing_has_to_be_writable(run, cache):
    out, err = outcome(run(cache))
    assert out == "10" and "Traceback" not in err


def test_one_of_several_processes_compiles(run):
    outcomes = [outcome(process) for process in [run() for _ in range(3)]]
    assert [out for out, _ in outcomes] == ["10"] * 3
    assert "".join(err for _, err in outcomes).count("compiling") == 1
