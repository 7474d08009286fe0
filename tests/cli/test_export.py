"""`timefem plot` writes the motion by the ending of the name."""

import json

import pytest

import timefem as tf
from tests.example_systems import pendulum
from timefem.cli import main

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("solution") / "swing.h5"
    tf.solve(pendulum(t_end=0.5), tf.MixedGalerkin(1), 5, progress=False).save(path)
    return path


def test_motion(path, tmp_path, capsys):
    for name in ("swing.html", "swing.gif", "swing.pvd", "swing.csv", "swing.json"):
        assert main(["plot", str(path), "-o", str(tmp_path / name), "--times", "0,0.25,0.5"]) == 0
        assert capsys.readouterr().out == f"{tmp_path / name}\n"
    assert "let scene" in (tmp_path / "swing.html").read_text()
    assert (tmp_path / "swing.gif").read_bytes().startswith(b"GIF8")
    assert len(list((tmp_path / "swing").glob("*.vtu"))) == 3
    assert len((tmp_path / "swing.csv").read_text().splitlines()) == 4
    assert json.loads((tmp_path / "swing.json").read_text())["t"] == [0, 0.25, 0.5]


def test_default_times(path, tmp_path):
    assert main(["plot", str(path), "-o", str(tmp_path / "swing.pvd")]) == 0
    assert len(list((tmp_path / "swing").glob("*.vtu"))) == 200


def test_refusals(path, tmp_path, capsys):
    assert main(["plot", str(path), "-o", str(tmp_path / "swing.html"), "--times", "0.2,0.1"]) == 2
    assert "increase" in capsys.readouterr().err and not list(tmp_path.iterdir())
