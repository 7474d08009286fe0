"""Constructor and documentation of a part, from the arguments that it declares."""

from inspect import Parameter, Signature, cleandoc
from itertools import pairwise

from .field import REQUIRED, Field, Name

SECTIONS = ("Raises\n---", "Notes\n---", "Examples\n---", "Attributes\n---")


def declared(cls):
    """The arguments of a class: those of its bases first, its own in the order in which they are written."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, field in vars(base).items():
            if isinstance(field, Field):
                found.pop(name, None)
                found[name] = field
            elif name in found and name != "name":  # replaced by something else
                del found[name]
    if found and not any(isinstance(field, Name) for field in found.values()):
        found["name"] = NAME
    bodies = {name: field for name, field in found.items() if field.is_body and not field.key}
    return bodies | {name: field for name, field in found.items() if name not in bodies}


NAME = Name()
NAME.name = "name"


def signature(fields, keyword_only):
    """Signature of the constructor; with `keyword_only` all but bodies go by name."""
    parameters, exempt = [], keyword_only if isinstance(keyword_only, tuple) else ()
    for name, field in fields.items():
        by_name = bool(keyword_only) and not ((field.is_body and not field.key) or name in exempt)
        way = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(field.argument or name, way,
                                    default=Parameter.empty if field.default is REQUIRED else field.default))
    positional = [p for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    late = [q.name for p, q in pairwise(positional)
            if q.default is Parameter.empty is not p.default]
    if late:
        raise TypeError(f"{late[0]} is needed, but is declared after an argument with a default; declare it before "
                        "that one, or with default=None, with which it is still required")
    return Signature(parameters)


def documented(text, fields):
    """The docstring of a class with a section of its parameters."""
    text = cleandoc(text or "")
    lines = ["Parameters", "----------"]
    for name, field in fields.items():
        ground = field.is_body and field.ground
        optional = ", optional" * (not field.required)
        lines.append(f"{field.argument or name} : {field.kind_of_value}{optional}")
        said = field.help + f" [{field.unit}]" * bool(field.unit)
        if field.default is not REQUIRED and field.default is not None:
            said += ("; " if said else "") + f"default {field.default!r}"
        if ground:
            said += ("; " if said else "") + "None is the ground"
        lines += [f"    {said}."] if said and not said.endswith(".") else [f"    {said}"] if said else []
    places = [text.index(section) for section in SECTIONS if section in text]
    place = min(places, default=len(text))
    return f"{text[:place].rstrip()}\n\n" + "\n".join(lines) + ("\n\n" + text[place:] if places else "\n")
