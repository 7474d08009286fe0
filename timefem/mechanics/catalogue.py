"""All parts that files can name, found in the folders of bodies, joints, forces and composite parts."""

import importlib
import re
from functools import cache

from ..memory import Late
from . import bodies, composites, contacts, forces, joints
from .declared.declared import Declared

pkgutil = Late("pkgutil")

FOLDERS = bodies, joints, forces, contacts, composites


@cache
def catalogue():
    """Class name -> class, of every part that declares its arguments. A new file in one of the folders is enough."""
    found = {}
    for folder in FOLDERS:
        for place in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            module = importlib.import_module(place.name)
            found |= {name: cls for name, cls in vars(module).items() if isinstance(cls, type)
                      and issubclass(cls, Declared) and cls.__module__ == place.name and cls.fields
                      and cls.__init__ is Declared.__init__ and not (cls.abstract or name.startswith("_"))}
    return found


def known(part):
    """Whether files can name the class of a part. A subclass may have other formulas: only the very class will do."""
    return catalogue().get(type(part).__name__) is type(part)


def arguments(part):
    """Names of the attributes, without its bodies, from which a part can be made again."""
    return tuple(name for name, field in part.fields.items() if field.in_descriptions and not field.is_body)


def stored(part):
    """`arguments` of a part that files can name; none of others."""
    return arguments(part) if known(part) else ()


def acts_through(cls):
    """Whether a part of the class has its bodies from the joints and parts that it refers to, and none of its own."""
    return bool(refers_in(cls)) and not any(field.is_body and not field.key for field in cls.fields.values())


def refers_in(cls):
    """The fields of a class whose values name other parts: name -> field."""
    return {name: field for name, field in cls.fields.items() if field.refers}


def file_type(cls):
    """The `type` of a class in a model file: RigidDistance is "rigid_distance"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])", "_", cls.__name__).lower()


def file_types(table):
    """The parts that one table of a model file can state: type -> class."""
    return {file_type(cls): cls for cls in catalogue().values()
            if cls.table == table and all(field.in_files or field.optional for field in cls.fields.values())}


def made(cls, bodies, arguments, key=None):
    """A part of that class from its bodies, in the order of `part.bodies`, and its other arguments by name; with the
    `key` of another one it is the same part."""
    places = [name for name, field in cls.fields.items() if field.is_body]
    if places and cls.fields[places[0]].several:
        bodies = [list(bodies)]
    named = {**dict(zip(places, bodies, strict=False)), **arguments}
    part = cls.__new__(cls, **named)
    if key is not None:
        vars(part)["key"] = key
    part.__init__(**named)
    return part
