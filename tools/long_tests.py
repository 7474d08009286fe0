"""Choose the tests that `make test` leaves out, from a run of all: the longest ones, until the rest takes little time.

    .venv/bin/python -m pytest --durations=0 -m "not slow" > log; python tools/long_tests.py log [seconds]

Writes tests/long_tests.txt: seconds of all its cases together, and the test. `make test-all` runs them.
"""

import re
import sys
from collections import Counter
from pathlib import Path

LINE = re.compile(r"^([\d.]+)s (?:call|setup|teardown)\s+(tests/\S+?::\S+?)(?:\[|\s*$)")
LIST = Path(__file__).parents[1] / "tests" / "long_tests.txt"


def main(log, seconds=150.0):
    """Leave out the longest tests until all others together take less than `seconds` of one process."""
    found = Counter()
    for line in Path(log).read_text().splitlines():
        match = LINE.match(line)
        if match:
            found[match[2]] += float(match[1])
    rest, out = sum(found.values()), []
    for name, time in found.most_common():
        if rest <= float(seconds):
            break
        rest -= time
        out.append(f"{time:8.1f} {name}")
    LIST.write_text("\n".join(out) + "\n")
    print(f"{len(out)} of {len(found)} tests left out; the others take {rest:.0f} s together")


if __name__ == "__main__":
    main(*sys.argv[1:])
