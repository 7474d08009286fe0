"""Schemes of users in model files: by their name in the table of elements, and with fields of their class."""

import json
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem import cli
from timefem.elements.element import ELEMENTS
from timefem.elements.one_step import OneStep

MODEL = """
[time]
span = [0, 1]
n_elements = 10
[bodies.mass]
type = "point"
mass = 2
velocity = [0, 0, 1]
[forces.spring]
type = "spring"
bodies = ["mass"]
point_b = [0, 0, -1]
stiffness = 8
length = 0.5
[solver]
"""


@dataclass(frozen=True)
class Blended(OneStep):
    """Forces of a midpoint that is moved: order 1 but for a weight of one half."""

    weight: float = 0.5
    implicit: bool = False

    name = "blended"

    def density(self, s):
        place = s.q0 + self.weight * (s.q1 - s.q0)
        balance = s.inertia((s.p0 - s.p1) * s.per_h) + s.midpoint_force(place, s.velocity(s.qm, s.pm))
        return ca.vertcat(balance, s.inertia((s.q1 - s.q0) * s.per_h - s.velocity(s.qm, s.pm))), \
            s.constraints(s.q1, s.t1)


@pytest.fixture(autouse=True)
def blended(monkeypatch):
    monkeypatch.setitem(ELEMENTS, "blended", Blended)
    from timefem.models import document, schema, schema_values
    enum = schema_values.TABLES["solver"]["properties"]["element"]
    monkeypatch.setitem(enum["else"], "enum", list(ELEMENTS))
    monkeypatch.setitem(enum["then"]["properties"]["name"], "enum", list(ELEMENTS))
    for made in (schema.schema, document.validator):
        made.cache_clear()
    yield
    for made in (schema.schema, document.validator):
        made.cache_clear()
    del ELEMENTS.places["blended"]


@pytest.mark.parametrize("stated, element", [
    ('element = "blended"', Blended()), ('element = {name = "blended"}', Blended()),
    ('element = {name = "blended", weight = 0.75, implicit = true}', Blended(0.75, True)),
    ('element = {name = "mg", degree = 1, n_points = 3}', tf.MixedGalerkin(1, 3))])
def test_fields_in_files(stated, element, tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(MODEL + stated + "\n")
    model = tf.load_model(path)
    assert model.element == element
    sol = model.solve(progress=False)
    expected = tf.solve(model.problem, element, 10, progress=False)
    np.testing.assert_array_equal(sol.z, expected.z)
    for options in ((), ("--element", element.name)):  # the file's own element keeps its fields
        saved = tmp_path / "by.h5"
        assert cli.main(["run", str(path), *options, "--output", str(saved)]) == 0
        np.testing.assert_array_equal(tf.load(saved).z, expected.z)
    shown = "blended, weight 0.75, implicit True, degree" if element == Blended(0.75, True) else f"{element.name}, "
    assert shown in capsys.readouterr().out
    assert cli.main(["run", str(path), "--json"]) == 0
    fields = {"weight": element.weight, "implicit": element.implicit} if element.name == "blended" else None
    assert json.loads(capsys.readouterr().out).get("fields") == fields


@pytest.mark.parametrize("stated, message", [
    ('element = {name = "blended", wait = 1}',
     "element: 'blended' has no 'wait'; it has weight, implicit; did you mean 'weight'?"),
    ('element = {weight = 1}', "the key 'name' is missing"),
    ('element = {name = "blendet"}', "must be one of"),
    ('element = "blended"\ndegree = 2', "degree belongs to element"),
    ('element = {name = "mg", degree = 2}\ndegree = 3', "degree is given twice")])
def test_what_is_wrong_is_named(stated, message, tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(MODEL + stated + "\n")
    with pytest.raises(tf.InputError) as error:
        tf.load_model(path)
    place, _, said = str(error.value).partition(": ")
    assert place.startswith(f"{path}:") and message in said
