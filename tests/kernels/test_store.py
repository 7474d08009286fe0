"""Entries on disk: whole or not at all, bounded, and never in the way."""

import os
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from timefem.errors import InputError
from timefem.kernels import cached_kernel
from timefem.kernels import compile as compile_module
from timefem.kernels import store as stores
from timefem.kernels.store import Store, store

NAME = "0123456789abcdef"
AT_ONCE = """
import random, sys
from pathlib import Path
from timefem.kernels.store import Store

own, rng = Store(Path(sys.argv[1]), 40_000), random.Random(int(sys.argv[2]))
for k in range(400):
    name = f"{rng.randrange(16):016x}"
    wanted = name.encode() * (64 + int(name, 16) * 20)
    assert own.once(name, lambda: wanted) == wanted
    if k % 40 == 0:
        own.clear()
    if k % 7 == 0:
        (own.folder / name).write_bytes(wanted[:50])
print("sound")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for the cache, and a process that knows nothing."""
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TIMEFEM_KERNELS", "llvm")
    monkeypatch.setattr("timefem.kernels.compile._kernels", {})
    return tmp_path / "cache"


def build():
    x = ca.SX.sym("x", 2)
    return ca.Function("f", [x], [ca.sin(x) * x[0]])


def forget(monkeypatch):
    monkeypatch.setattr("timefem.kernels.compile._kernels", {})


def count_compilations(monkeypatch):
    made, own = [], compile_module._object_code
    monkeypatch.setattr(compile_module, "_object_code", lambda *a: made.append(a) or own(*a))
    return made


def test_a_second_process_compiles_nothing(folder, monkeypatch):
    made, points = count_compilations(monkeypatch), np.random.default_rng(0).normal(size=(20, 2))
    first = cached_kernel("sine", build)
    wanted = first(points), first(points, lanes=True)
    assert len(made) == 2
    forget(monkeypatch)
    again = cached_kernel("sine", build)
    np.testing.assert_array_equal(again(points), wanted[0])
    np.testing.assert_array_equal(again(points, lanes=True), wanted[1])
    np.testing.assert_allclose(wanted[0], np.sin(points) * points[:, :1], rtol=1e-15)
    assert len(made) == 2


def test_a_known_kernel_is_not_even_built(folder, monkeypatch):
    cached_kernel("sine", build, ("name of sine", 2, 2))([1.0, 2.0])
    forget(monkeypatch)
    kernel = cached_kernel("sine", lambda: pytest.fail("built again"), ("name of sine", 2, 2))
    np.testing.assert_allclose(kernel([1.0, 2.0]), np.sin([1.0, 2.0]), rtol=1e-15)


def test_other_expressions_have_other_names(folder, monkeypatch):
    cached_kernel("one", build)([1.0, 2.0])
    forget(monkeypatch)
    x = ca.SX.sym("x", 2)
    other = cached_kernel("one", lambda: ca.Function("f", [x], [ca.sin(x) * x[1]]))
    np.testing.assert_allclose(other([1.0, 2.0]), 2 * np.sin([1.0, 2.0]), rtol=1e-15)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: bytes(len(data)),
                                    lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:]],
                         ids=["cut", "empty", "zeros", "one bit"])
def test_damaged_entries_are_made_anew(folder, monkeypatch, damage):
    cached_kernel("sine", build)([1.0, 2.0])
    entry, = (path for path in folder.iterdir() if not path.name.startswith("lock-"))
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    forget(monkeypatch)
    made = count_compilations(monkeypatch)
    np.testing.assert_allclose(cached_kernel("sine", build)([1.0, 2.0]), np.sin([1.0, 2.0]), rtol=1e-15)
    assert len(made) == 1 and entry.read_bytes() == whole


@pytest.mark.parametrize("place", ["off", "/dev/null/cache", "/proc/cache"])
def test_nothing_has_to_be_writable(monkeypatch, folder, place):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", place)
    np.testing.assert_allclose(cached_kernel("sine", build)([1.0, 2.0]), np.sin([1.0, 2.0]), rtol=1e-15)
    assert store().entries() == [] and store().clear() == (0, 0)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*a):
        raise OSError(28, "No space left on device")

    own = Store(tmp_path, 10**6)
    monkeypatch.setattr(os, "replace", full)
    lost = Store.lost
    own.write(NAME, b"data")
    assert list(tmp_path.iterdir()) == [] and own.read(NAME) is None
    assert Store.lost == lost + 1


@pytest.mark.parametrize("limit", ["abc", "nan", "inf", "-1"])
def test_limits_that_are_none_are_refused(monkeypatch, folder, limit):
    monkeypatch.setenv("TIMEFEM_CACHE_MB", limit)
    with pytest.raises(InputError, match="TIMEFEM_CACHE_MB must be a number of megabytes"):
        store()


def test_size_is_bounded_and_the_oldest_goes_first(tmp_path):
    own = Store(tmp_path, 1000)
    for i in range(8):
        own.write(f"entry{i}", bytes(168))  # 200 with the checksum
        os.utime(tmp_path / f"entry{i}", (1e9 + i, 1e9 + i))
        if i == 3:
            assert own.read("entry0") is not None  # used again
    kept = {Path(path).name for _, _, path in own.entries()}
    assert "entry0" in kept and "entry7" in kept and "entry1" not in kept
    assert sum(size for _, size, _ in own.entries()) <= 1000
    own.write("large", bytes(2000))
    assert own.read("large") is None
    assert own.clear()[0] == len(kept) and own.entries() == []


def test_a_write_rarely_looks_at_all_entries(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(Store, "entries", lambda self: looked.append(self) or [])
    for i in range(100):
        Store(tmp_path, 10**6).write(f"entry{i}", bytes(1000))
    assert len(looked) == 1


def test_processes_wait_for_the_one_that_makes_an_entry(tmp_path):
    code = ("import sys, time; from pathlib import Path; from timefem.kernels.store import Store\n"
            "def make():\n    print('made', flush=True); time.sleep(0.5); return b'data'\n"
            f"assert Store(Path({str(tmp_path)!r}), 10**6).once({NAME!r}, make) == b'data'")
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [run.communicate(timeout=60)[0] for run in runs]
    assert all(run.returncode == 0 for run in runs) and "".join(printed).split() == ["made"]


@pytest.mark.long
def test_processes_that_write_and_clear_at_once(tmp_path):
    """Entries are whole or missing while others are written, removed for want of room, damaged, and cleared."""
    runs = [subprocess.Popen([sys.executable, "-c", AT_ONCE, str(tmp_path), str(seed)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for seed in range(3)]
    assert [run.communicate(timeout=60)[0].strip() for run in runs] == ["sound"] * 3


def test_prepared_entries_are_read_only(tmp_path):
    """They are found second, and neither copied, counted nor removed; damaged ones are as if they were not there."""
    packaged = Store(tmp_path / "packaged", 10**6)
    packaged.write(NAME, b"prepared")
    os.utime(packaged.folder / NAME, (1e9, 1e9))
    own = Store(tmp_path / "own", 10**6, packaged.folder)
    assert own.has(NAME) and own.once(NAME, lambda: pytest.fail("made again")) == b"prepared"
    assert own.entries() == [] and own.clear() == (0, 0) and (packaged.folder / NAME).stat().st_mtime == 1e9
    own.write(NAME, b"own")
    assert own.read(NAME) == b"own" and packaged.read(NAME) == b"prepared"
    own.clear()
    damaged = (packaged.folder / NAME).read_bytes()[:-1]
    (packaged.folder / NAME).write_bytes(damaged)
    assert own.once(NAME, lambda: b"made") == b"made" == own.read(NAME)
    assert (packaged.folder / NAME).read_bytes() == damaged
    assert Store(None, 0, packaged.folder).read(NAME) is None and not own.has("f" + NAME)


def test_a_maker_that_fails_leaves_the_lock(tmp_path):
    own = Store(tmp_path, 10**6)
    with pytest.raises(ZeroDivisionError):
        own.once(NAME, lambda: 1 / 0)
    assert own.once(NAME, lambda: b"data") == b"data"


def test_sources_are_named_by_their_content(tmp_path, folder, monkeypatch):
    """Whether it is read, or known from an earlier process by size, inode and times."""
    code = tmp_path / "package" / "kernels" / "a.py"
    code.parent.mkdir(parents=True)
    monkeypatch.setattr(stores, "__file__", str(code.parent / "store.py"))
    found = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        code.write_text(text)
        found += [stores.sources.__wrapped__("kernels"), stores.sources.__wrapped__("kernels")]
    assert found[0] == found[1] == found[4] == found[5] != found[2] == found[3]
    before = code.stat()
    code.write_text("x = 3\n")  # as long, and as old
    os.utime(code, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert stores.sources.__wrapped__("kernels") not in found
