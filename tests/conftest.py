"""Fixtures of several folders."""

import pytest


@pytest.fixture
def timefem(capfd, monkeypatch):
    """Run a command line: exit status, standard output and standard error, without lines of what takes ten seconds."""
    from timefem import cli, progress

    monkeypatch.setattr(progress, "EVERY", float("inf"))

    def run(*arguments):
        status = cli.main([str(a) for a in arguments])
        return status, *capfd.readouterr()
    return run
