"""XML files of robots: elements with their lines, and attributes as checked values. No entities, no other files."""

import xml.etree.ElementTree as ElementTree
from xml.parsers import expat

import numpy as np

from .. import validate
from ..errors import InputError
from .document import read_file

LARGEST = 10**7  # bytes of a file
DEEPEST = 500  # elements in each other


class XmlFile:
    """Elements of a file with their lines, and their attributes as checked values."""

    def __init__(self, path):
        self.path, self._lines = path, {}
        try:
            data = read_file(path, LARGEST)
        except InputError as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        self.root = self._parsed(data)

    def _parsed(self, data):
        builder, parser, depth = ElementTree.TreeBuilder(), expat.ParserCreate(), [0]

        def start(tag, attributes):
            depth[0] += 1
            if depth[0] > DEEPEST:
                raise InputError(f"{self.path}, line {parser.CurrentLineNumber}: more than {DEEPEST} elements are "
                                 "nested")
            self._lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

        def refuse(*_):
            raise InputError(f"{self.path}, line {parser.CurrentLineNumber}: document types and entities are refused; "
                             "remove <!DOCTYPE ...>")

        def end(tag):
            depth[0] -= 1
            builder.end(tag)

        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
        try:
            parser.Parse(data, True)
            return builder.close()
        except (expat.ExpatError, LookupError, ValueError, AssertionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path} is not XML: {error}") from None

    def adopt(self, other):
        """Know the lines of the elements of another file."""
        self._lines |= {element: f"{line} of {other.path}" for element, line in other._lines.items()}

    def same_line(self, element, other):
        """Know an element that stands for another one."""
        self._lines[element] = self._lines[other]

    def error(self, element, fault):
        name = f" {element.get('name')!r}" if element.get("name") else ""
        return InputError(f"{self.path}, line {self._lines[element]}: <{element.tag}>{name} {fault}")

    def text(self, element, attribute):
        value = element.get(attribute)
        if not value:
            raise self.error(element, f"has no attribute {attribute!r}")
        return value

    def numbers(self, element, attribute, n, default=None):
        """So many numbers of an attribute (None: any), shape (n,); the default where there is none."""
        text = None if element is None else element.get(attribute)
        if text is None and default is not None:
            return np.array(default, float)
        words = self.text(element, attribute).split()
        try:
            return validate.array(attribute, [float(word) for word in words], (n,))
        except ValueError as error:  # also InputError
            what = "numbers" if n is None else f"{n} numbers" if n > 1 else "a number"
            reason = f" ({error})" if isinstance(error, InputError) and n in (None, len(words)) else ""
            raise self.error(element, f"needs {what} for {attribute!r}, not {text!r}{reason}") from None

    def number(self, element, attribute, default=None):
        return float(self.numbers(element, attribute, 1, None if default is None else (default,))[0])

    def child(self, element, tag):
        found = element.find(tag)
        if found is None:
            raise self.error(element, f"has no <{tag}>")
        return found

    def made(self, element, cls, *arguments, **values):
        """A part, whose errors name the element."""
        try:
            return cls(*arguments, **values)
        except InputError as error:
            raise self.error(element, f"is not possible: {error}") from None
