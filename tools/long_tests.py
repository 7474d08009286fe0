"""Check the markers `long`, of tests that `make test` leaves out, against the times of a run.

    .venv/bin/python -m pytest --durations=0 -m "not slow" > log; python tools/long_tests.py log [seconds]

Names tests without the marker that take more than `seconds` with all their cases, and those that have it and take less
than a tenth of that; ends with status 1 if there are any of the first kind. `make test-all` runs both.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

LINE = re.compile(r"^([\d.]+)s (?:call|setup|teardown)\s+(tests/\S+?::[^\s\[]+)")
ROOT = Path(__file__).parents[1]


def times(log):
    """Seconds of each test, all its cases together."""
    found = Counter()
    for match in filter(None, map(LINE.match, Path(log).read_text().splitlines())):
        found[match[2]] += float(match[1])
    return found


def marked():
    """Tests that are long, or have a case that is."""
    run = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "long"], cwd=ROOT,
                         capture_output=True, text=True)
    return {line.split("[")[0] for line in run.stdout.splitlines() if "::" in line}


def main(log, seconds=2.0):
    """Print what should change, the longest tests first."""
    limit, long, found = float(seconds), marked(), times(log)
    slow = [(name, t) for name, t in found.most_common() if t > limit and name not in long]
    fast = [(name, t) for name, t in found.most_common() if t < limit / 10 and name in long]
    for what, tests in (("mark as long", slow), ("could be quick", fast)):
        for name, t in tests:
            print(f"{what}: {t:7.2f} s  {name}")
    quick = sum(t for name, t in found.items() if name not in long)
    print(f"{len(found)} tests; those of `make test` take {quick:.0f} s of one process")
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
