"""A page follows a solve, on this machine only."""

import json
import urllib.error
import urllib.request
from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum
from timefem.cli import viewing
from timefem.problems.statistics import watching

pytestmark = pytest.mark.long


@pytest.mark.parametrize("driver", ["march", tf.Windows(7), "global"])
def test_solves_can_be_looked_at(driver):
    seen = []
    problem = pendulum(t_end=1.0)
    with watching(lambda look: seen.append(look())):
        sol = tf.solve(problem, tf.MixedGalerkin(2), 20, driver=driver, progress=False)
    seen = [s for s in seen if s is not None]
    assert seen and all(len(a.t) <= len(b.t) for a, b in pairwise(seen))
    last = seen[-1]
    assert np.array_equal(last.t, sol.t[:len(last.t)])
    np.testing.assert_allclose(last.z, sol.z[:len(last.t)], rtol=0, atol=1e-6 * np.abs(sol.z).max())
    before = len(seen)
    tf.solve(problem, tf.MixedGalerkin(2), 20, driver=driver, progress=False)
    assert len(seen) == before  # nobody looks any more


def fetched(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read().decode()


def test_page(monkeypatch, capfd):
    monkeypatch.setattr(viewing, "EVERY", 0.0)
    monkeypatch.setattr(viewing, "LAST_LOOK", 0.0)
    with viewing.watched() as watcher:
        assert watcher.address in capfd.readouterr().err and watcher.address.startswith("http://127.0.0.1:")
        assert "not solved yet" in fetched(watcher.address)
        sol = tf.solve(pendulum(t_end=1.0), tf.MixedGalerkin(1), 20, progress=False)
        watcher.take(sol)
        page, scene = fetched(watcher.address), json.loads(fetched(watcher.address + "scene"))
        assert 'fetch("scene")' in page and "let scene" in page
        assert scene["t"][-1] == 1.0 and scene["bodies"][0]["name"] == "pendulum"
        for path, headers, code in (("etc/passwd", {}, 404), ("", {"Host": "elsewhere.example"}, 403)):
            with pytest.raises(urllib.error.HTTPError) as error:
                fetched(watcher.address + path, **headers)
            assert error.value.code == code
    with pytest.raises(urllib.error.URLError):
        fetched(watcher.address)


def test_command_line(timefem):
    status, out, err = timefem("run", "physical-pendulum", "--t-end", "0.2", "--n-elements", "10", "--watch", "--json")
    assert status == 0 and json.loads(out)["status"] == "converged" and "http://127.0.0.1:" in err


def test_what_is_solved_at_once_says_so(monkeypatch, capfd):
    """Optimal control has no motion before its end: neither the page nor the terminal lets one wait for it."""
    monkeypatch.setattr(viewing, "LAST_LOOK", 0.0)
    with viewing.watched(at_once=True) as watcher:
        assert "shown when all of it is solved" in capfd.readouterr().err
        assert "shown when all of it is solved" in fetched(watcher.address)
