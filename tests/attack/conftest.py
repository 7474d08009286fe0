"""The scale of the attacks, and the table of what came of them."""

import pytest

TABLE = []  # attack, number of trials, what came of them, longest time


def pytest_addoption(parser):
    parser.addoption("--attack-scale", type=float, default=None,
                     help="share of the full number of trials, 1: 2000 models, 500 solutions, 500 checkpoints ...")


@pytest.fixture
def scale(request):
    """`scale(number)`: trials of an attack whose full number that is."""
    share = request.config.getoption("--attack-scale", default=None)
    return lambda number: max(1, round(number * (0.05 if share is None else share)))


@pytest.fixture
def report():
    """Adds a line to the table: name, outcomes, longest time [s]."""
    def add(name, outcomes, longest):
        TABLE.append((name, sum(outcomes.values()), dict(outcomes), longest))
    return add


def pytest_terminal_summary(terminalreporter):
    if TABLE:
        terminalreporter.section("attacks")
        for name, n, outcomes, longest in TABLE:
            told = ", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items()))
            terminalreporter.line(f"{name:22} {n:5} trials: {told}; longest {longest:.1f} s")
