"""A TOML file that satisfies the schema, and errors that name its file, line and key."""

import difflib
import json
import os
import re
from functools import cache, cached_property

from ..errors import InputError
from .parts import ACTUATORS, COMPOSITES, FORCES, JOINTS
from .schema import schema

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

PARTS = {"bodies": COMPOSITES, "joints": JOINTS, "forces": FORCES, "actuators": ACTUATORS}
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

    Raises
    ------
    InputError
        When the file cannot be read, is not TOML, or does not satisfy the schema; and for changes of what is no number
        in the file.
    """

    def __init__(self, path, changes=None):
        self.path = os.fspath(path)
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # a pipe would be waited for
            raise self._failure(None, "cannot be read: it is no regular file")
        try:
            with open(path, "rb") as file:
                self.text = file.read().decode("utf-8-sig")  # some editors begin with a byte order mark
        except OSError as error:
            raise self._failure(None, f"cannot be read: {error.strerror or error}") from None
        except (UnicodeDecodeError, ValueError) as error:  # ValueError: a path that cannot be one
            raise self._failure(None, f"cannot be read as UTF-8 text: {error}") from None
        try:
            self.data = tomllib.loads(self.text)
        except RecursionError:
            raise self._failure(None, "is not a TOML file: it is nested too deeply") from None
        except ValueError as error:
            line = re.search(r"\(at line (\d+)", str(error))
            raise self._failure(line and line[1], f"is not a TOML file: {error}") from None
        self._use_current_names()
        self._validate()
        for key, value in (changes or {}).items():
            place, last = self._place(key)
            place[last] = value
        if changes:
            self._validate()

    def _use_current_names(self):
        """Rename keys of parts that had another name before."""
        for table, types in PARTS.items():
            entries = self.data.get(table)
            for entry in entries.values() if isinstance(entries, dict) else ():
                kind = entry.get("type") if isinstance(entry, dict) else None
                cls = types.get(kind) if isinstance(kind, str) else None
                for key in [key for key in entry if key in cls.earlier] if cls is not None else ():
                    entry[cls.current_name(key)] = entry.pop(key)

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
                raise self._failure(None, f"there is no {spell(words[:n + 1])!r} in it, of which {key!r} is to be "
                                          f"changed; known here are {', '.join(map(str, known)) or 'none'}")
            place, value = value, value[word]
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.error(words, f"{key!r} is to be changed, but is no number")
        return place, words[-1]

    def _failure(self, line, message):
        place = self.path if line is None else f"{self.path}:{line}"
        return InputError(" ".join(f"{place}: {message}".split()))

    def error(self, keys, message):
        """InputError at a key, given by its names (and numbers, inside of arrays) from the top of the file."""
        return self._failure(self.line(keys), f"{spell(keys)}: {message}" if keys else message)

    def line(self, keys):
        """Line of a key, or of the nearest table around it that has a line of its own; None: there is none."""
        keys, lines = tuple(keys), self._lines
        return next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), None)

    @cached_property
    def _lines(self):
        return key_lines(self.text)

    def _validate(self):
        errors = list(validator().iter_errors(self.data))
        if errors:
            # an unknown key first: it may be the missing one, misspelt
            told = [(e.validator != "additionalProperties", *explain(e)) for e in errors]
            told = [(rank, self.line(keys) or 0, keys, message) for rank, keys, message in told]
            _, _, keys, message = min(told, key=lambda entry: entry[:2])
            raise self.error(keys, message)


@cache
def validator():
    """Validator of the schema with strict numbers: finite, and integers without a decimal point."""
    from jsonschema import Draft202012Validator, validators

    def number(_, x):
        return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= LARGEST

    def integer(_, x):
        return number(_, x) and isinstance(x, int)

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", number).redefine("integer", integer)
    return validators.extend(Draft202012Validator, type_checker=types)(schema())


def explain(error):
    """Keys and message of an error of the validator; the schema's descriptions say what would be right."""
    keys, wrong = tuple(error.absolute_path), error.instance
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        key = next(k for k in wrong if k not in known)
        return (*keys, key), f"unknown key; {suggest(key, known)}"
    if error.validator == "required":
        return keys, f"the key {next(k for k in error.validator_value if k not in wrong)!r} is missing"
    if error.validator == "enum":
        return keys, f"must be one of {', '.join(map(json.dumps, error.validator_value))}, not {shorten(wrong)}"
    if "description" in error.schema:
        return keys, f"must be {error.schema['description']}, not {shorten(wrong)}"
    return keys, error.message


def suggest(word, known):
    """What a word that is not known may have meant."""
    close = difflib.get_close_matches(word, known, 1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"known are {', '.join(known) or 'none'}"


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


def key_lines(text):
    """Line numbers of the tables and keys of a valid TOML file: dict from tuples of keys.

    The parser gives no positions, so that statements are found one by one: a statement is as many lines as it takes
    to be TOML by itself. Keys inside of inline tables and arrays have no entry.
    """
    found, table, statement, start = {}, (), "", 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        start = start if statement else number
        statement += line + "\n"
        # only these can end a statement of several lines; a long table of numbers is not parsed line by line
        if start < number and not any(mark in line for mark in ("]", '"""', "'''")):
            continue
        try:
            tomllib.loads(statement)
        except ValueError:
            continue
        keys = statement_keys(statement)
        if statement.lstrip().startswith("["):
            table = keys
        else:
            keys = table + keys
        for n in range(1, len(keys) + 1):
            found.setdefault(keys[:n], start)
        statement = ""
    return found


def statement_keys(statement):
    """Keys of a statement `[a.b]` or `a.b = value`; none of an empty line."""
    data = {}
    if statement.lstrip().startswith("["):
        data = tomllib.loads(statement)
    for sign in re.finditer("=", statement):
        if data:
            break
        try:
            data = tomllib.loads(statement[:sign.start()] + "= 0")
        except ValueError:  # an equals sign inside of a quoted key
            continue
    keys = ()
    while isinstance(data, dict) and data:
        key, data = next(iter(data.items()))
        keys += (key,)
    return keys
