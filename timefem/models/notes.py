"""What a robot's file states and the robot leaves out: attributes by table, and other notes."""

from dataclasses import dataclass, field

MOST_NAMES = 8  # in one note


@dataclass(frozen=True)
class Attributes:
    """Attributes of an element.

    Attributes
    ----------
    read : str
        Those that count, separated by spaces.
    idle : str
        Those that have no effect on a motion here: pictures, contacts, numerical settings of a simulator.
    neutral : dict
        Attribute that is not read -> value, or values, with which it has no effect.
    """

    read: str
    idle: str = ""
    neutral: dict = field(default_factory=dict)

    def left_out(self, given):
        """Those of a dict that would have an effect, and are not read."""
        known = {*self.read.split(), *self.idle.split()}
        return [name for name, value in given.items() if name not in known and not name.startswith("xmlns")
                and not any(_same(value, neutral) for neutral in _several(self.neutral.get(name, ())))]


def _several(value):
    return value if isinstance(value, tuple) else (value,)


def _same(text, other):
    try:
        return [float(word) for word in text.split()] == [float(word) for word in other.split()]
    except ValueError:
        return text.split() == other.split()


class Notes:
    """Notes in their order; the same attribute of several elements makes one."""

    def __init__(self):
        self._found = {}  # text, or tag and attribute -> names of elements

    def add(self, text):
        self._found.setdefault(text, [])

    def append_named(self, text, name):
        """A note about several things: the text has {} where their names go."""
        self._found.setdefault((text,), []).append(name)

    def check(self, attributes, tag, given, name):
        """Note what an element states and is not read."""
        for attribute in attributes.left_out(given):
            self.append_named(f"{attribute} of <{tag}> {{}} is left out", name)

    @property
    def all(self):
        return tuple(text if isinstance(text, str) else text[0].format(listed(names))
                     for text, names in self._found.items())


def listed(names):
    """Names in a sentence."""
    names = list(dict.fromkeys(names))
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def limits_note(joints):
    """That ranges of joints are data; None where there are none."""
    names = [joint.name for joint in joints if {"lower", "upper"} & joint.limits.keys()]
    if not names:
        return None
    return f"the limits of {listed(names)} are data (tree.joints[i].limits) and do not stop a motion: add a tf.EndStop"
