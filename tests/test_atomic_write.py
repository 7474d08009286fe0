"""The one writer of files: whole or not at all, onto regular files only, and nothing is left behind."""

import csv
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import timefem as tf
from tests.example_systems import pendulum
from timefem.atomic_write import check_writable, replacing, save_figure, write_text
from timefem.cli.report import make_console, make_table
from timefem.display import Card, printable
from timefem.errors import WriteError

NAMES = "a.h5", "a.csv", "a.json", "a.pvd", "a.html", "a.gif"


def times_of(name, *times):
    """Few of them where each makes a picture or a file."""
    return times if name.endswith((".pvd", ".gif")) else None


@pytest.fixture(scope="module")
def sol():
    body = tf.RigidBody(1, [1, 2, 3], name="=cmd|' /C calc'!A0", size=(1, 1, 1))
    other = tf.PointMass(1, name="evil\x1b[31m")
    problem = tf.InitialValueProblem(tf.System([body, other]), {body: tf.Pose(angular_velocity=[1, 2, 3])}, (0, 0.2))
    return tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)


def test_what_cannot_be_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, message in (("/dev/null", "not a regular file"), (tmp_path / "pipe", "not a regular file"),
                          (tmp_path / ("x" * 256), "its name has 256 bytes, and 255 are allowed"),
                          (tmp_path / ("ä" * 128), "its name has 256 bytes"), (5, "must be a text"),
                          (None, "must be a text"), ("a\0b", "must be a text"), (tmp_path / "loop", "cannot write"),
                          (tmp_path / "x\x1b[2J" / "a", r"x\\x1b\[2J")):
        with pytest.raises(tf.InputError, match=message):
            check_writable(path)
    assert check_writable(tmp_path / ("x" * 255)).name == "x" * 255
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("path", ["x" * 300 + ".h5", 5, *(f"null{Path(name).suffix}" for name in NAMES)])
def test_no_writer_replaces_a_device(sol, path, tmp_path):
    if str(path).startswith("null"):
        path = tmp_path / path
        path.symlink_to("/dev/null")
    with pytest.raises(tf.InputError):
        sol.save(path)
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", NAMES)
def test_full_disk(sol, name, tmp_path, monkeypatch):
    """The older file stays, the temporary one does not."""
    path = tmp_path / name
    sol.save(path, times_of(name, 0.0, 0.1))
    before = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        with pytest.raises(WriteError, match=rf"could not write .*{name}: .*; the older file of that name is kept"):
            sol.save(path, times_of(name, 0.0, 0.2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert sorted(os.listdir(tmp_path)) == (["a", name] if name == "a.pvd" else [name])


def test_figures(tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    figure = plt.figure()
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(tf.InputError, match=r"figures can end in .*png"):
        save_figure(figure, tmp_path / "a.doc")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", full)
    with pytest.raises(WriteError, match=r"could not write .*No space left on device; the older file"):
        save_figure(figure, tmp_path / "a.png")
    assert os.listdir(tmp_path) == ["a.png"]
    plt.close(figure)


KILLED = """
import os, signal, sys
from timefem.atomic_write import replacing
with replacing(sys.argv[1]) as path:
    path.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_leaves_is_removed(tmp_path):
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert len(os.listdir(tmp_path)) == 1 and not path.exists()
    with replacing(tmp_path / "b.txt") as other:  # another file's are left alone, and those of living processes
        other.write_text("b")
        with replacing(path) as temporary:
            temporary.write_text("whole")
            assert other.exists()
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"] and path.read_text() == "whole"


def test_what_a_killed_writer_of_many_files_leaves_is_removed(sol, tmp_path):
    code = KILLED.replace("replacing(", "folder_beside(").replace('path.write_text("half")', '(path / "a").touch()')
    subprocess.run([sys.executable, "-c", code.replace("import replacing", "import folder_beside"), tmp_path / "a.pvd"],
                   check=False)
    assert len(list(tmp_path.iterdir())) == 1
    sol.save(tmp_path / "a.pvd", times=[0.0, 0.1])
    assert sorted(os.listdir(tmp_path)) == ["a", "a.pvd"]


def test_permissions_of_the_older_file_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.touch(mode=0o600)
    write_text(path, "secret")
    assert path.read_text() == "secret" and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", [*NAMES, "checkpoint.h5"])
def test_names_in_bytes(sol, name, tmp_path):
    if name == "checkpoint.h5":
        problem = pendulum(t_end=0.1)
        tf.solve(problem, tf.MixedGalerkin(1), 3, checkpoint=os.fsencode(tmp_path / name), checkpoint_every=1)
    else:
        sol.save(os.fsencode(tmp_path / name), times_of(name, 0.0, 0.1))
    assert (tmp_path / name).is_file()


def test_names_cannot_steer_spreadsheets_or_terminals(sol, tmp_path):
    sol.save(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert "'=cmd|' /C calc'!A0.x [m]" in header and r"evil\x1b[31m.x [m]" in header
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in header)
    assert all(float(cell) == float(cell) for row in rows for cell in row)  # negative numbers stay numbers
    assert printable("a\x1b[2J\x07ü\n") == "a\\x1b[2J\\x07ü\\n"
    assert "\x1b" not in repr(sol.summary()) and "\x1b" not in repr(Card("\x1b", {"\x1b": "\x1b"}))
    table, console = make_table("\x1b[1m", "name"), make_console()
    table.add_row("\x1b[31m")
    with console.capture() as capture:
        console.print(table)
    assert "\x1b" not in capture.get()


def test_pendulum_is_written_in_every_way(tmp_path):
    motion = tf.solve(pendulum(t_end=0.2), tf.MixedGalerkin(1), 4, progress=False)
    for name in NAMES:
        motion.save(tmp_path / name, times_of(name, 0.0, 0.2))
        assert (tmp_path / name).stat().st_size > 100
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["a_0.vtu", "a_1.vtu"]
