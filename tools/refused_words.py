"""Refuse phrases that are not idiomatic, in code, tests, examples and pages; prints what to say instead.

python tools/refused_words.py [FOLDER ...]

Names of code are left alone: what is refused are phrases, and words that no name has.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = "timefem", "docs", "examples", "benchmarks", "tests", "tools", "README.md", "CONTRIBUTING.md"
REFUSED = {
    r"(is|are|was|were|be|been) told": "is reported, is named in a message",
    r"told (of|apart)": "reported; distinguished",
    r"[Ww]hat is asked( of| for)?": "what is prescribed",
    r"in the place of": "instead of",
    r"made anew": "rebuilt",
    r"[Ww]hat becomes of": "what happens to",
    r"without a word": "silently, without a warning",
    r"(?<!have or )(?<!you )want(s|ed to)": "needs, requires",
    r"comes? out (as|at|too|alike)": "is, gives",
    r"stands? beside": "is next to, is given with",
    r"mend(s|ed)? (it|its|the)": "fix, correct, repair",
    r"(is|are|no \w+) of use": "is useful, is usable",
    r"stand-?ins?": "alias",
    r"(is|are) glanced at": "is checked quickly",
}


# One of these is in each phrase; searching for them first is faster.
HINTS = ("told", "hat is asked", "the place of", "anew", "hat becomes", "a word", "want", "out ", "beside", "mend",
         "of use", "stand", "glanced")


def phrases(path):
    """Refused phrases of a file: line, phrase, what to say instead."""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not any(hint in line for hint in HINTS):
            continue
        for refused, instead in REFUSED.items():
            for found in re.finditer(rf"\b{refused}\b(?!\()", line):
                yield number, found.group(), instead


def main(places=PLACES):
    """Print them; returns their number."""
    count = 0
    for place in places:
        path = Path(place) if Path(place).exists() else ROOT / place
        files = [path] if path.is_file() else sorted(f for end in ("py", "md", "ipynb") for f in path.rglob(f"*.{end}"))
        for file in files:
            if file.name != Path(__file__).name and "tests/data" not in str(file):
                for number, phrase, instead in phrases(file):
                    print(f"{file}:{number}: {phrase!r}; say: {instead}")
                    count += 1
    return count


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:] or PLACES)))
