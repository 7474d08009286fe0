"""Fixtures of several folders."""

from pathlib import Path

import pytest

LONG_TESTS = Path(__file__).with_name("long_tests.txt")  # made by tools/long_tests.py


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that `make test` leaves out, and `make test-all` does not."""
    long = tuple(line.split()[1] for line in LONG_TESTS.read_text().splitlines())
    for item in items:
        if item.nodeid.startswith(long):  # a folder, a file, or a test
            item.add_marker(pytest.mark.long)


@pytest.fixture
def timefem(capfd):
    """Run a command line: exit status, standard output and standard error."""
    from timefem import cli

    def run(*arguments):
        status = cli.main([str(a) for a in arguments])
        return status, *capfd.readouterr()
    return run
