"""`timefem cache`."""

import json

import pytest

from timefem.cli import main
from timefem.kernels.store import Store, store


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
    monkeypatch.delattr("timefem.cli.compiled.solve")  # it is told before the work
    assert main(["prepare"]) == 2
    assert "TIMEFEM_CACHE_DIR" in capsys.readouterr().err
