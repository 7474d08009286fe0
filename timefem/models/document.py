"""A TOML file that satisfies the schema, and errors that name its file, line and key."""

import codecs
import copy
import json
import os
import re
import stat
from functools import cache, cached_property

from ..atomic_write import real_path
from ..errors import InputError, nearest_name
from ..memory import tomllib
from ..problems.kinds import in_files
from .schema import schema
from .schema_values import EVERY

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


# ---- The bytes of a file that a user names: of a regular one, and not of more than a model needs

def read_file(path, most):
    """Bytes of a file of at most `most` bytes.

    Raises
    ------
    InputError
        When there is none, it is a folder, a device, or a pipe (which would be waited for), or it is larger.
    """
    real = real_path(path)
    try:
        if not stat.S_ISREG(os.stat(real).st_mode) and not os.path.isdir(real):
            raise InputError("it is not a regular file")
        with open(real, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None
    if len(data) > most:
        raise InputError(f"it is larger than {most} bytes, more than any such file")
    return data


# ---- A TOML file that satisfies the schema, and errors that name its file, line and key

OF_WHOLE_FILE = "phases", "couplings", "sensitivity", "continuation"
LARGEST_FILE = 10**8  # bytes
LARGEST = 1e100  # products of larger numbers overflow


class Document:
    """The data of a model file.

    Parameters
    ----------
    path : str or path-like
    changes : dict, optional
        Numbers that replace those of the file: key, spelt as in "bodies.bar.inertia[1]" -> number.

    Attributes
    ----------
    data : dict
    follows : bool
        Whether it is a phase that follows another one.

    Raises
    ------
    InputError
        When the file cannot be read, is not TOML, or does not satisfy the schema; and for changes of other than numbers
        in the file.
    """

    follows = False

    def __init__(self, path, changes=None):
        self.path = str(path)
        try:
            self.text = _decoded(read_file(path, LARGEST_FILE))
        except InputError as error:
            raise self._failure(None, f"cannot be read: {error}") from None
        try:
            self.data = tomllib.loads(self.text)
        except RecursionError:
            raise self._failure(None, "is not a TOML file: it is nested too deeply") from None
        except ValueError as error:
            line = re.search(r"\(at line (\d+)", str(error))
            raise self._failure(line and line[1], f"is not a TOML file: {error}") from None
        self._validate()
        for key, value in (changes or {}).items():
            place, last = self._place(key)
            place[last] = value
        if changes:
            self._validate()

    def give_data(self, path):
        """Take measured values from another file, of estimation alone."""
        problem = self.data.get("problem", {})
        users = [name for name, kind in in_files().items() if "data" in kind.in_files.keys]
        if problem.get("kind") not in users:
            raise self.error(("problem", "kind"), f'must be "{users[0]}", which takes measured values')
        problem["data"] = os.path.abspath(path)

    def phases(self):
        """The documents of the phases of the file, in their order."""
        return [Phase(self, k) for k in range(len(self.data["phases"]))]

    def full(self, keys):
        """Keys from the top of the file."""
        return keys

    @property
    def whole(self):
        """The data of the whole file."""
        return self.data

    def number(self, key):
        """The number at a key; InputError when there is none."""
        place, last = self._place(key)
        return float(place[last])

    def _place(self, key):
        """The table or array that a key is in, and its last name or index."""
        words = [int(number) if number else quoted or name for number, quoted, name in
                 re.findall(r"\[(\d+)\]|'([^']+)'|([^.'\[\]]+)", key)]
        place, value = None, self.data
        for n, word in enumerate(words):
            known = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
            if word not in known:
                raise self._failure(None, f"there is no {spell(words[:n + 1])!r} in it, so that {key!r} cannot be "
                                          f"changed; known here are {', '.join(map(str, known)) or 'none'}")
            place, value = value, value[word]
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.error(words, f"{key!r} cannot be changed: it is not a number")
        return place, words[-1]

    def _failure(self, line, message):
        place = self.path if line is None else f"{self.path}:{line}"
        return InputError(" ".join(f"{place}: {message}".split()))

    def error(self, keys, message):
        """InputError at a key, given by its names (and numbers, inside of arrays) from the top of the file."""
        keys = self.full(keys)
        return self._failure(self.line(keys), f"{spell(keys)}: {message}" if keys else message)

    def line(self, keys):
        """Line of a key, or of the nearest table around it that has a line of its own; None: there is none."""
        keys, lines = tuple(keys), self._lines
        return next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), None)

    @cached_property
    def _lines(self):
        return key_lines(self.text)

    def _validate(self):
        errors = list(validator(not self.data.keys() <= EVERY).iter_errors(self.data))
        if errors:
            # an unknown key first: it may be the missing one, misspelt
            told = [(e.validator != "additionalProperties", *explain(e)) for e in errors]
            told = [(rank, self.line(self.full(keys)) or 0, keys, message) for rank, keys, message in told]
            _, _, keys, message = min(told, key=lambda entry: entry[:2])
            raise self.error(keys, message)


class Phase(Document):
    """What a file says of one of its phases: what stands at its top, with what the phase states in place of it.

    Attributes
    ----------
    own : dict
        The latter.
    """

    def __init__(self, whole, k):
        self.path, self.text, self._k, self.follows, self._whole = whole.path, whole.text, k, k > 0, whole.data
        self.own = {key: value for key, value in whole.data["phases"][k].items() if key != "name"}
        top = {key: value for key, value in whole.data.items() if key not in OF_WHOLE_FILE}
        top["problem"] = whole.data["problem"] | {"kind": "optimal"}
        self.data = copy.deepcopy(merged(top, self.own))
        self._validate()

    @property
    def whole(self):
        return self._whole

    def full(self, keys):
        place, n = self.own, 0
        while n < len(keys) and keys[n] in (place if isinstance(place, dict) else ()):
            place, n = place[keys[n]], n + 1
        return ("phases", self._k, *keys) if n or keys == ("link",) else keys


def merged(table, other):
    """A table with what another one has in addition, or in place of it."""
    both = {key: merged(table[key], other[key]) for key in table.keys() & other.keys()
            if isinstance(table[key], dict) and isinstance(other[key], dict)}
    return {**table, **other, **both}


def _decoded(data):
    """Text in UTF-8, or in UTF-16 as some editors write it; these begin with a byte order mark."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"it is not UTF-8 text in line {line} ({error.reason}); save it in that encoding") from None


@cache
def validator(whole):
    """Validator of the schema, or of tables of `EVERY` kind of problem alone, with strict numbers: finite, and integers
    without a decimal point."""
    from jsonschema import Draft202012Validator, validators

    def number(_, x):
        return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= LARGEST

    def integer(_, x):
        return number(_, x) and isinstance(x, int)

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", number).redefine("integer", integer)
    return validators.extend(Draft202012Validator, type_checker=types)(schema(whole))


def explain(error):
    """Keys and message of an error of the validator; the schema's descriptions say what would be right."""
    keys, wrong = tuple(error.absolute_path), error.instance
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        key = next(k for k in wrong if k not in known)
        top = "; it belongs to the top of the file, above all [tables]" * (bool(keys) and key in schema()["properties"])
        return (*keys, key), f"unknown key; {suggest(key, known)}{top}"
    if error.validator == "required":
        missing = next(k for k in error.validator_value if k not in wrong)
        known = error.schema.get("properties", {}).get(missing, {})
        what = ", ".join(known[name] for name in ("title", "description") if name in known)
        return keys, f"the key {missing!r} is missing" + (f": {what}" if what else "")
    if error.validator == "enum":
        return keys, f"must be one of {', '.join(map(json.dumps, error.validator_value))}, not {shorten(wrong)}"
    if "description" in error.schema:
        return keys, f"must be {error.schema['description']}, not {shorten(wrong)}"
    return keys, error.message


def suggest(word, known):
    """What a word that is not known may have meant."""
    close = nearest_name(word, known)
    return (f"did you mean {close!r}? " if close is not None else "") + f"known are {', '.join(known) or 'none'}"


def shorten(value):
    """A value for a message."""
    if isinstance(value, dict):
        return f"a table with {', '.join(map(repr, list(value)[:8])) or 'no keys'}"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def spell(keys):
    """`bodies.top.inertia[1]`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += "." * bool(text) + (key if re.fullmatch(r"[\w-]+", key) else repr(key))
    return text
