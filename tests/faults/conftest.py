"""Faults that strangers found, one file per kind, each with what is right; runs make a table (`make test-faults`)."""

import numpy as np
import pytest

WIDTHS = 46, 22, 22, 7


def short(value):
    """A value in a line of the table."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray | list | tuple) and np.asarray(value).dtype.kind == "f":
        return "(" + ", ".join(f"{x:.4g}" for x in np.ravel(value)) + ")"
    return " ".join(str(value).split())


@pytest.fixture
def fault(request):
    """`fault(name, right, found)` compares, writes a line of the table, and fails where they differ.

    Numbers and arrays are equal to `rtol` (1e-9) and `atol` (0); anything else is compared by ==. Where what is right
    is no value, `right` says it and `met` whether it holds: `fault("a ball", "at most 1", energy, met=energy <= 1)`.
    """
    def compare(name, right, found, rtol=1e-9, atol=0.0, met=None):
        if met is None:
            try:
                met = np.allclose(np.asarray(found, float), np.asarray(right, float), rtol=rtol, atol=atol) \
                    and np.shape(found) == np.shape(right)
            except (TypeError, ValueError):
                met = found == right
        line = name, short(right), short(found), "right" if met else "WRONG"
        request.node.user_properties.append(("fault", line))
        assert met, f"{name}: {short(right)} is right, {short(found)} was found"
    return compare


def pytest_terminal_summary(terminalreporter):
    lines = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if "/faults/" not in f"/{report.nodeid}" or report.when != "call":
                continue
            told = [line for key, line in report.user_properties if key == "fault"]
            kind = report.nodeid.partition("::")[0].rpartition("/")[2].removeprefix("test_").removesuffix(".py")
            if outcome == "failed" and not any(line[-1] == "WRONG" for line in told):
                message = str(report.longrepr).strip().splitlines()
                reason = next((line[2:] for line in message if line.startswith("E ")), message[-1])
                told = [*told, [report.nodeid.partition("::")[2], "an answer", short(reason), "FAILED"]]
            lines += [(kind, *line) for line in told]
    if not lines:
        return
    terminalreporter.section("faults")
    form = "".join(f"{{:{width}}}  " for width in WIDTHS[:3]) + "{}"
    terminalreporter.line(form.format("fault", "right", "found", "verdict"))
    for kind in sorted({line[0] for line in lines}):
        terminalreporter.line(kind.replace("_", " "))
        for _, *line in (line for line in lines if line[0] == kind):
            terminalreporter.line(form.format(*(f"  {line[0]}"[:WIDTHS[0]], *(text[:width] for text, width in
                                                                             zip(line[1:], WIDTHS[1:])))))
    wrong = sum(line[-1] != "right" for line in lines)
    terminalreporter.line(f"{len(lines)} lines, {wrong} not right")
