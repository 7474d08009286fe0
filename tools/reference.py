"""Reference pages in docs/reference, from the docstrings: the lines `::: name` of tools/reference/*.md are expanded.

python tools/reference.py [--check]

`options: {members: [...]}` under such a line lists the methods, or the names of a module, that are shown. Lines
`@help COMMAND@` become the help of the command line.
"""

import importlib
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

SOURCES = Path(__file__).with_name("reference")
PAGES = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- made by tools/reference.py from the docstrings: change these, or tools/reference -->\n\n"
ENTRY = re.compile(r"^::: (\S+)\n((?: +.*\n)*)", re.M)
EXAMPLE = re.compile(r"(?:^>>> .*\n(?:^\.\.\. .*\n?|^(?!>>>|\s*$).*\n?)*\n?)+", re.M)
LISTS = "Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"


def page(text):
    """The expanded text of a page."""
    text = ENTRY.sub(lambda m: entry(m.group(1), m.group(2)), text)
    return NOTE + re.sub(r"^@help ?(.*)@$", help_of, text, flags=re.M).rstrip() + "\n"


def help_of(match):
    """What a command says of itself."""
    command = [sys.executable, "-m", "timefem", *match.group(1).split(), "--help"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"})
    return f"```text\n{run.stdout.strip()}\n```"


def entry(name, options):
    """What is said of one name, with the members that the options list."""
    members = re.search(r"members: \[([^]]*)\]", options)
    members = [m.strip() for m in members.group(1).split(",")] if members else []
    thing = found(name)
    if inspect.ismodule(thing):
        return "".join(described(getattr(thing, m), m) for m in members)
    if "inherited_members: true" in options and not members:
        # plain values have the docstring of their type
        members = sorted(m for m in dir(thing) if not m.startswith("_") and getattr(thing, m).__doc__ and
                         not isinstance(getattr(thing, m), bool | int | float | str | tuple))
    own = described(thing, name.rpartition(".")[2])
    return own + "".join(described(inspect.getattr_static(thing, m), m, thing) for m in members)


def found(name):
    """A module, or what is in one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(importlib.import_module(module), last)


def described(thing, name, owner=None):
    """Heading, signature and docstring."""
    if isinstance(thing, property | classmethod | staticmethod):
        thing = thing.fget if isinstance(thing, property) else thing.__func__
        is_call = not isinstance(inspect.getattr_static(owner, name), property)
    else:
        thing = getattr(thing, "func", thing) if owner and not callable(thing) else thing  # of a cached property
        is_call = callable(thing) and (owner is None or not hasattr(inspect.getattr_static(owner, name), "func"))
    title = f"{owner.__name__}.{name}" if owner else name
    text = f"{'####' if owner else '###'} {title}\n\n"
    if is_call:
        text += f"```py\n{signature(thing, title, drop_self=owner is not None)}\n```\n\n"
    return text + in_markdown(inspect.getdoc(thing) or "") + "\n\n"


def signature(thing, title, drop_self):
    """Call with its arguments, wrapped."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return title
    if drop_self and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    shown, star = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        star |= p.kind is p.VAR_POSITIONAL
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown.append(prefix + p.name + ("" if p.default is p.empty else f"={plain(p.default)}"))
    line = f"{title}({', '.join(shown)})"
    if len(line) <= 100:
        return line
    return f"{title}(\n" + textwrap.fill(", ".join(shown), 96, initial_indent="    ", subsequent_indent="    ",
                                         break_long_words=False) + ")"


def plain(value):
    """A default as text, without addresses in memory."""
    text = repr(value)
    return "..." if re.search(r"<.* at 0x|<factory>", text) or len(text) > 60 else text


def in_markdown(doc):
    """A numpydoc docstring with its sections as lists."""
    parts = re.split(r"^([A-Z][\w ]*)\n-{3,}$", doc, flags=re.M)
    text = parts[0].strip()
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        text += f"\n\n**{title}**\n\n" + (items(body) if title in LISTS else body.strip())
    return code(text)


def items(body):
    """`name : kind` with its text, as a list."""
    out = []
    for line in body.strip("\n").split("\n"):
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            names = ", ".join(f"`{n.strip()}`" for n in name.split(",")) if kind or "shape (" not in name else name
            out.append(f"- {names}" + (f" : {kind}" if kind else ""))
        elif line.strip() and out:
            out[-1] += (" — " if " — " not in out[-1] and not out[-1].endswith("—") else " ") + line.strip()
        elif line.strip():
            out.append(f"- {line.strip()}")
    return "\n".join(out)


def code(text):
    """Examples of docstrings as blocks that are shown and not run."""
    return EXAMPLE.sub(lambda m: f"```pycon\n{m.group(0).rstrip()}\n```\n", text + "\n").rstrip()


def main(check=False):
    """Write the pages; with `check` tell those that are not as they would be written."""
    stale = []
    for source in sorted(SOURCES.glob("*.md")):
        text, target = page(source.read_text()), PAGES / source.name
        if not target.exists() or target.read_text().split() != text.split():  # however help is wrapped
            stale.append(source.name)
            if not check:
                target.write_text(text)
    return stale


if __name__ == "__main__":
    check = "--check" in sys.argv[1:]
    stale = main(check)
    print(f"{'stale' if check else 'written'}: {', '.join(stale) or 'none'}")
    sys.exit(1 if check and stale else 0)
