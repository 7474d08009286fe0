"""Schemes by name on the command line, and which case each element can take."""

import json

import pytest

from timefem.cases import CASES
from timefem.cli import main
from timefem.elements.named import ELEMENTS, SCHEMES

pytestmark = pytest.mark.long

SHORT = ("--n-elements", "10", "--t-end", "0.02", "--json")


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("name", ["eml", "reml", "null-eml", "emh", "null-emh", "mpl", "mph", "quat-vi", "algo-c1"])
def test_a_scheme_by_name(capsys, name):
    status, out, _ = run(capsys, "run", "free-body", "--element", name, *SHORT)
    report = json.loads(out)
    assert (status, report["element"], report["status"]) == (0, name, "converged")
    assert ("generalized_energy_error_max" in report) == (name in ("eml", "reml", "null-eml", "mpl"))


def test_aliases_and_directors(capsys):
    assert json.loads(run(capsys, "run", "free-body", "--element", "quat-em", *SHORT)[1])["element"] == "emh"
    status, out, _ = run(capsys, "run", "free-body", "--element", "dir-em", "--rotation", "directors", *SHORT)
    assert (status, json.loads(out)["element"]) == (0, "dir-em")


@pytest.mark.parametrize("arguments, message", [
    (("free-body", "--element", "em"), "element: there is no 'em'; did you mean 'eml'?"),
    (("free-body", "--element", "eml", "--degree", "2"), "--degree belongs to --element mg and bg"),
    (("free-body", "--element", "emh", "--drop", "end"), "--drop belongs to --element bg"),
    (("free-body", "--element", "dir-em"), "dir-em takes directors, and body is in quaternions; use EMH()"),
    (("heavy-top", "--element", "algo-c1"), "no joints")])
def test_bad_elements(capsys, arguments, message):
    status, out, err = run(capsys, "run", *arguments, "--t-end", "0.02")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_list_names_the_schemes_and_what_they_take(capsys):
    listed = json.loads(run(capsys, "list", "--json")[1])["elements"]
    assert set(listed) == {"mg", "bg", *SCHEMES} == set(ELEMENTS)
    assert all(facts["description"] for facts in listed.values())
    facts = json.loads(run(capsys, "list", "--elements", "--json")[1])["elements"]
    assert set(facts) == set(listed) and all(set(cases) == set(CASES) for cases in facts.values())
    assert facts["eml"]["four-bar"] is None and "FixedPoint" in facts["algo-c1"]["heavy-top"]
    table = run(capsys, "list", "--elements")[1]
    assert "algo-c1" in table and "does not take" in table
