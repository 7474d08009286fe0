"""Hooks of the documentation's build.

Formulas become MathML, which browsers show without a script or a network; lines `@help COMMAND@` become the help of
the command line.
"""

import html
import os
import re
import subprocess
import sys

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.S)


def on_page_markdown(markdown, **_):
    return re.sub(r"^@help ?(.*)@$", _help, markdown, flags=re.M)


def on_page_content(content, **_):
    return FORMULA.sub(_mathml, content)


def _mathml(match):
    inline, block = match.group(2), match.group(3)
    text = html.unescape(inline if inline is not None else block).strip()
    return convert(text, display="inline" if inline is not None else "block")


def _help(match):
    command = [sys.executable, "-m", "timefem.cli", *match.group(1).split(), "--help"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"})
    return f"```text\n{run.stdout.strip()}\n```"
