"""Fixtures of several folders."""

import pytest


@pytest.fixture
def timefem(capfd):
    """Run a command line: exit status, standard output and standard error."""
    from timefem import cli

    def run(*arguments):
        status = cli.main([str(a) for a in arguments])
        return status, *capfd.readouterr()
    return run
