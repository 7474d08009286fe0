"""Hooks of the documentation's build.

Formulas become MathML, which browsers show without a script or a network.
"""

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.S)


def on_page_content(content, **_):
    return FORMULA.sub(_mathml, content)


def _mathml(match):
    inline, block = match.group(2), match.group(3)
    text = html.unescape(inline if inline is not None else block).strip()
    return convert(text, display="inline" if inline is not None else "block")
