"""Lines of the tables and keys of a TOML file, which the parser does not give."""

import re

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

TOKEN = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'"
                   r"|#[^\n]*|[\[\]{}=\n]|[^\s\[\]{}=#\"']+", re.S)
DEEPEST = 20  # tables in each other; no schema has that many


def key_lines(text):
    """Line numbers of the tables and keys of a valid TOML file: dict from tuples of keys.

    Keys inside of inline tables and arrays have no entry; an array of tables has its numbers.
    """
    found, table, numbers = {}, (), {}
    words, in_value, depth, line, start = [], False, 0, 1, 1

    def note():
        nonlocal table
        keys = _keys("".join(words).strip("[]"))
        if words[:2] == ["[", "["]:
            before = _numbered(keys, numbers, last=False)
            numbers[before] = numbers.get(before, -1) + 1
        if words[0] == "[":
            table = keys = _numbered(keys, numbers)
        else:
            keys = table + keys
        for n in range(1, min(len(keys), DEEPEST) + 1):
            found.setdefault(keys[:n], start)

    for match in TOKEN.finditer(text):
        token = match[0]
        if token == "\n" and depth == 0:
            if words:
                note()
            words, in_value = [], False
        elif in_value:
            depth += (token in "[{") - (token in "]}")
        elif token == "=":
            in_value = True
        elif token[0] not in "#\n":
            start = start if words else line
            words.append(token)
        line += token.count("\n")
    if words:
        note()
    return found


def _numbered(keys, numbers, last=True):
    """Keys with the present numbers of arrays of tables, of the last key as well or not."""
    out = ()
    for n, key in enumerate(keys, 1):
        out += (key,)
        if out in numbers and (last or n < len(keys)):
            out += (numbers[out],)
    return out


def _keys(text):
    """The names of a key such as a."b.c".d."""
    data, keys = tomllib.loads(f"{text} = 0"), ()
    while isinstance(data, dict):
        key, data = next(iter(data.items()))
        keys += (key,)
    return keys
