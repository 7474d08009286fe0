"""Refused words are found, with what to say instead, and the tree has none of them."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "refused_words.py"


@pytest.fixture(scope="module")
def words():
    spec = importlib.util.spec_from_file_location("refused_words", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_phrases_are_found_with_what_to_say(words, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A page\nIt is t" + "old of it; MPI w" + "ants a flag.\nIt is made an" + "ew; told(x) is code.\n")
    found = list(words.phrases(page))
    assert {line for line, *_ in found} == {2, 3} and all(instead for *_, instead in found)
    assert words.main([tmp_path]) == len(found) >= 3


@pytest.mark.long
def test_the_tree_has_none(words, capsys):
    assert words.main() == 0, capsys.readouterr().out
