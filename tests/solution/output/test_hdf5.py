"""HDF5 files: damage is found before the library sees it, nothing but plain numbers is read, full disks do no harm."""

import os
import resource
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import spinning_box
from timefem.problems.initial.checkpoint import Checkpoint
from timefem.solution.output import hdf5

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A solution and a checkpoint."""
    folder, problem = tmp_path_factory.mktemp("kept"), spinning_box(t_end=0.5)
    tf.solve(problem, tf.MixedGalerkin(2), 10).save(folder / "solution.h5")
    tf.solve(problem, tf.MixedGalerkin(2), 10, checkpoint=folder / "checkpoint.h5", checkpoint_every="3it")
    return folder


@pytest.fixture(params=["solution", "checkpoint"])
def target(request, kept, tmp_path):
    """A file to be spoilt, and what reads it."""
    path = shutil.copy(kept / f"{request.param}.h5", tmp_path / "a.h5")
    return path, tf.load if request.param == "solution" else tf.restart


def test_every_damaged_byte_is_found(target):
    path, read = target
    read(path)
    content, rng = path.read_bytes(), np.random.default_rng(3)
    for _ in range(60):
        spoilt, at = bytearray(content), rng.integers(len(content))
        spoilt[at] ^= 1 << rng.integers(8)
        path.write_bytes(spoilt)
        # the rest of the user block must be zero as well
        with pytest.raises(tf.InputError, match=r"a\.h5 cannot be read as a timefem"):
            read(path)


def change(path, name, value=None, **options):
    """Replace a dataset, or an attribute, and seal the file again, as one who means it would."""
    with h5py.File(path, "r+") as file:
        if name in file.attrs:
            del file.attrs[name]
            file.attrs.create(name, value) if value is not None else None
        else:
            if name in file:
                del file[name]
            if callable(value):
                value(file)
            elif value is not None or options:
                file.create_dataset(name, **options) if options else file.create_dataset(name, data=value)
    hdf5.seal(path)


def virtual(file):
    layout = h5py.VirtualLayout((11,), float)
    layout[:] = h5py.VirtualSource("other.h5", "t", (11,))
    file.create_virtual_dataset("t", layout)


SPOILT = {
    "external link": ("t", lambda f: f.__setitem__("t", h5py.ExternalLink("other.h5", "/t")), "link to another place"),
    "soft link": ("t", lambda f: f.__setitem__("t", h5py.SoftLink("/z0")), "link to another place"),
    "external storage": ("t", {"shape": (11,), "dtype": float, "external": [("/etc/passwd", 0, 88)]}, "this file"),
    "virtual": ("t", virtual, "this file"),
    "a group": ("t", lambda f: f.create_group("t"), "not a dataset"),
    "missing": ("z0", None, "z0 is missing"),
    "integers": ("t", np.arange(11), "type int64"),
    "text": ("t", "later", "type object"),
    "empty": ("t", h5py.Empty(float), "shape None"),
    "a scalar": ("t", 1.0, "shape"),
    "NaN": ("t", np.full(11, np.nan), "t is not finite"),
    "short z0": ("z0", np.ones(3), "z0|initial state"),
    "version": ("format_version", "2", "format_version.* wrong type"),
    "no version": ("format_version", None, "cannot be read"),
    "too large to be there": ("t", {"shape": (10**12,), "dtype": float, "chunks": (1024,)}, "larger than it can be"),
}


@pytest.mark.parametrize("name, value, message", SPOILT.values(), ids=SPOILT)
def test_only_plain_numbers_are_read(target, name, value, message):
    path, read = target
    change(path, name, **value) if isinstance(value, dict) else change(path, name, value)
    with pytest.raises(tf.InputError, match=message) as error:
        read(path)
    assert "a.h5" in str(error.value)


@pytest.mark.parametrize("name, value, message", [
    ("n_solved", -1, "-1 elements are solved"), ("n_solved", 10**6, "1000000 elements are solved"),
    ("n_solved", 10, "10 elements are solved, holds 9"), ("n_solved", "many", "wrong type"),
    ("facts", "[1]", "not a table"), ("facts", "{", "cannot be read"), ("window", -3, "window")])
def test_counts_of_a_checkpoint(kept, tmp_path, name, value, message):
    path = shutil.copy(kept / "checkpoint.h5", tmp_path / "a.h5")
    assert Checkpoint(path).n_solved == Checkpoint(path).n_stored == 9
    change(path, name, value)
    with pytest.raises(tf.InputError, match=message):
        tf.restart(path)


@pytest.mark.parametrize("spoil, message", [
    (lambda dofs: dofs[:, :-1], "unknowns per element"), (lambda dofs: dofs[:4], r"audit has shape|holds 4"),
    (lambda dofs: np.where(np.arange(9)[:, None] == 8, np.nan, dofs), "dofs is not finite"),
    (lambda dofs: dofs + 1e-3, "energy or the constraint residuals")])
def test_states_of_a_checkpoint(kept, tmp_path, spoil, message):
    """Also where someone has made the checksum anew."""
    path = shutil.copy(kept / "checkpoint.h5", tmp_path / "a.h5")
    with h5py.File(path) as file:
        dofs = file["dofs"][:]
    change(path, "dofs", spoil(dofs))
    with pytest.raises(tf.InputError, match=message):
        tf.restart(path)


@pytest.mark.parametrize("name, value", [("nodal_state", 1e-3), ("z0", 1e-2)])
def test_states_of_a_solution(kept, tmp_path, name, value):
    path = shutil.copy(kept / "solution.h5", tmp_path / "a.h5")
    with h5py.File(path) as file:
        values = file[name][:]
    change(path, name, values + value)
    with pytest.raises(tf.InputError, match=r"energy or the constraint residuals .* t = 0"):
        tf.load(path)


@pytest.mark.parametrize("name, text, message", [
    ("status", "[]", "status"), ("status", '{"success": 1}', "status"), ("statistics", "3", "statistics"),
    ("statistics", '{"newton_iterations": "many"}', "no driver"),
    ("statistics", '{"driver": "march"}', "no backend"), ("element", "[1]", "element is damaged"),
    ("element", '{"class": "MixedGalerkin", "power": 3}', "element is damaged"), ("system", "7", "damaged"),
    ("system", '{"parts": [{"class": "PointMass", "mass": "heavy", "dimension": 3, "name": "a"}]}', "mass"),
    ("system", "[" * 100_000, "cannot be read"), ("system", np.arange(3), "wrong type")])
def test_texts_of_a_solution(kept, tmp_path, name, text, message):
    path = shutil.copy(kept / "solution.h5", tmp_path / "a.h5")
    change(path, name, text)
    with pytest.raises(tf.InputError, match=message):
        tf.load(path)


@pytest.mark.parametrize("read", [tf.load, tf.restart])
def test_what_is_no_file(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, message in ((tmp_path / "pipe", "not a regular file"), ("/dev/zero", "not a regular file"),
                          (5, "must be a text"), ("a\0b", "must be a text")):
        with pytest.raises(tf.InputError, match=message):
            read(path)


FULL = """
import resource, sys
import numpy as np
import timefem as tf
from tests.example_systems import spinning_box
sol = tf.solve(spinning_box(t_end=20), tf.MixedGalerkin(2), 4000)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    sol.save(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [100, 600, 5000, 200_000])
def test_a_full_disk_does_not_crash_the_process(limit, tmp_path):
    """HDF5 that sees a write fail ends the process with a segmentation fault when it is left."""
    assert hasattr(resource, "RLIMIT_FSIZE")
    run = subprocess.run([sys.executable, "-c", FULL, tmp_path / "a.h5", str(limit)], capture_output=True, text=True)
    told = [line for line in run.stderr.splitlines() if not line.startswith("timefem: ")]  # progress on a busy machine
    assert (run.returncode, told) == (0, [])
    assert run.stdout == f"could not write {tmp_path / 'a.h5'}: File too large; no file of that name is left\n"
    assert os.listdir(tmp_path) == []
