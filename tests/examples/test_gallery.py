"""The machines of the gallery give their numbers, are short, and have pictures."""

import json

import pytest

from timefem.reproduction.gallery import about, find_machines, run_machine

pytestmark = pytest.mark.long

MACHINES = find_machines()
MOST_LINES = 60


@pytest.mark.parametrize("name", MACHINES)
def test_machine(name, tmp_path):
    facts = run_machine(MACHINES[name], tmp_path)
    assert facts["agrees"], facts
    assert (tmp_path / f"{MACHINES[name].stem}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", MACHINES)
def test_scripts_are_short_and_say_what_they_show(name):
    assert len(MACHINES[name].read_text().splitlines()) < MOST_LINES
    assert 30 < len(about(MACHINES[name])) < 250


def test_command_line(timefem, tmp_path):
    status, out, _ = timefem("gallery", "--json")
    assert status == 0 and list(json.loads(out)) == list(MACHINES)
    status, out, _ = timefem("gallery", "rope", "-o", tmp_path, "--json")
    facts = json.loads(out)["rope"]
    assert status == 0 and facts["agrees"] and abs(facts["number"] - facts["expected"]) <= facts["tolerance"]
    status, _, err = timefem("gallery", "rop")
    assert status and "did you mean 'rope'?" in err
