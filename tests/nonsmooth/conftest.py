"""Fixtures of tests of contacts."""

import os
import signal

import pytest

from timefem.problems.initial.checkpoint import Recorder


@pytest.fixture
def stop(monkeypatch):
    """Send SIGTERM to this process at the visit of the recorder that comes after a time."""
    visit = Recorder.visit

    def at(time):
        def visits(self, steps, what):
            motion = what()[-1]
            if motion.keywords["march"].t >= time:
                os.kill(os.getpid(), signal.SIGTERM)
            return visit(self, steps, what)

        monkeypatch.setattr(Recorder, "visit", visits)

    yield at
    monkeypatch.setattr(Recorder, "visit", visit)
