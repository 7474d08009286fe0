"""Reasons: texts for people, files and comparisons, with remedies and sets of what to do for code."""

import json
import pickle
from copy import deepcopy

import pytest

from timefem.errors import InputError
from timefem.status import FINAL, RETRY, SHORTER, Reason, Status

FAILURES = [reason for reason in Reason if reason is not Reason.CONVERGED]


@pytest.mark.parametrize("reason", Reason)
def test_reasons_are_texts(reason):
    text = reason.value
    assert reason == text and hash(reason) == hash(text) and Reason(text) is reason
    assert f"{reason}" == str(reason) == f"{reason:s}" == text and repr(reason) == repr(text)
    assert json.loads(json.dumps(reason)) == text
    assert pickle.loads(pickle.dumps(reason)) is deepcopy(reason) is reason


@pytest.mark.parametrize("reason", FAILURES)
def test_each_failure_has_a_remedy(reason):
    status = Status.failure(reason, 3, 0.5, [])
    assert status.message.startswith(f"{reason} in element 3 at t = 0.5: ") and len(reason.remedy) > 10
    assert not Reason.CONVERGED.remedy


def test_what_to_do():
    assert SHORTER < RETRY and not FINAL & RETRY and Reason.CONVERGED not in RETRY | FINAL
    assert "not converged" in RETRY and "stopped" in FINAL


def test_a_status_takes_texts_and_no_others():
    assert Status(False, "infeasible").reason is Reason.INFEASIBLE
    with pytest.raises(ValueError, match="no idea"):
        Status(False, "no idea")


def test_files():
    status = Status.failure(Reason.NOT_CONVERGED, 3, 0.5, [1.0, 2.0])
    data = json.loads(json.dumps(status.as_dict()))
    assert data["reason"] == "not converged" and Status.from_dict(data) == status
    assert Status.from_dict(data).reason is Reason.NOT_CONVERGED
    with pytest.raises(InputError, match="reason of its status cannot be 'lost'"):
        Status.from_dict({**data, "reason": "lost"})
