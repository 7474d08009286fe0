"""`timefem cache`."""

import json
import os

import pytest

from timefem.cli import main
from timefem.kernels.loops import compiled
from timefem.kernels.store import Store, store

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path / "cache"))


def test_info_and_clear(capsys):
    store().write("entry", b"data")
    assert main(["cache", "--info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 1
    assert main(["cache", "--clear", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["removed"] == 1 and facts["entries"] == 0 and store().entries() == []


def test_what_came_with_the_package_stays(capsys, tmp_path, monkeypatch):
    Store(tmp_path / "prepared", 1000).write("entry", b"data")
    monkeypatch.setattr("timefem.kernels.store.PREPARED", tmp_path / "prepared")
    assert main(["cache", "--clear", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["prepared"] == 1 and facts["removed"] == 0
    assert main(["cache"]) == 0
    assert "1 came with the package" in capsys.readouterr().out


def test_both_are_refused(capsys):
    assert main(["cache", "--info", "--clear"]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["off", "/proc/cache"])
def test_nowhere_to_prepare(place, capsys, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", place)
    monkeypatch.delattr("timefem.cli.compiled.solve")  # it is reported before the work
    assert main(["prepare"]) == 2
    assert "TIMEFEM_CACHE_DIR" in capsys.readouterr().err


def test_places_where_nothing_is_kept_are_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", "off")
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith("nothing is kept, for TIMEFEM_CACHE_DIR names no folder")
    (tmp_path / "file").touch(0o755)
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path / "file"))
    assert main(["cache"]) == 0
    assert "file, where nothing can be written" in capsys.readouterr().out


def test_what_finds_no_room_is_told(capsys, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_MB", "0.5")
    monkeypatch.setattr("timefem.cli.compiled._solve_all", lambda: [store().write(*entry) for entry in (
        ("small", b"data"), ("large", bytes(10**6)))])
    assert main(["prepare"]) == 1
    out = capsys.readouterr().out
    assert "1 new entries" in out and "1 could not be kept" in out and "TIMEFEM_CACHE_MB" in out


def test_lines_say_where_nothing_can_be_kept(capsys, monkeypatch):
    @compiled()
    def twice(x):
        return 2 * x

    monkeypatch.setenv("TIMEFEM_CACHE_DIR", "/proc/cache")
    assert twice(2.0) == 4.0
    assert "which cannot be kept in /proc/cache" in capsys.readouterr().err
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", "off")
    assert twice(2) == 4
    assert "which is kept nowhere" in capsys.readouterr().err


def test_a_folder_of_somebody_else_is_not_cleared(capsys, monkeypatch):
    store().write("entry", b"data")
    monkeypatch.setattr(os, "unlink", lambda *a: (_ for _ in ()).throw(PermissionError()))
    monkeypatch.setattr(Store, "can_write", lambda self: False)
    assert main(["cache", "--clear"]) == 2
    assert "cannot be removed by this user" in capsys.readouterr().err
