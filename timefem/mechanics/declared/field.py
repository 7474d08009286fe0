"""An argument of a part, declared as a class attribute."""

import numpy as np

from ... import validate
from ...errors import InputError
from ..numbers.arithmetic import joined

REQUIRED = object()


class Field:
    """An argument of the constructor, and the attribute of that name.

    Parameters
    ----------
    help : str
        What it is.
    unit : str
        SI unit, "" for none.
    default : object
        Without one the argument is needed. None: it follows one with a default, and is needed all the same, unless
        `optional`.
    optional : bool
        None is a value.
    """

    is_body = is_function = is_joint = several = False
    in_files = True  # whether a file can state it
    in_descriptions = True  # whether descriptions of systems have it
    varies = False  # whether it is of numbers that enter formulas, and does not shape them
    refers = False  # whether its value names parts of the system: has `described`, `restored` and `moved` then
    kind_of_value = "object"  # for the documentation
    given_as = kept_as = "Any"  # types of the argument and of the attribute, for `tools/stubs.py`
    argument = None  # its name in the constructor, if other than that of the attribute
    schema_type = None  # name of a definition in the schema of model files

    def __init__(self, help="", unit="", default=REQUIRED, *, optional=False):
        self.help, self.unit, self.default, self.optional = help, unit, default, optional

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, part, owner):
        if part is None:
            return self
        raise AttributeError(f"{owner.__name__} has no {self.name} yet")

    @property
    def required(self):
        """Whether a file has to state it."""
        return self.default is REQUIRED or (self.default is None and not self.optional)

    def checked(self, part, value):
        """The value as the part keeps it; InputError when it cannot be."""
        if value is None and self.optional:
            return None
        return self.check(part._argument(self.argument or self.name), value)

    def check(self, title, value):
        return value

    def numbers(self, value):
        """What enters the formulas, ndarray."""
        return np.zeros(0)

    def stored(self, part, value):
        """The value as files of solutions have it."""
        return value

    def shapes_at(self, value, steps):
        """Whether a number inside of the value, see `put`, shapes the formulas: they lack it as long as it is zero."""
        return not self.varies

    def of_symbols(self, value):
        """A value that is of expressions, as formulas of numbers take it."""
        return joined(*value) if isinstance(value, list | tuple) else value

    def form(self, value):
        """What tells formulas apart, hashable."""
        return None

    def form_in(self, part, value):
        """`form` of a value in a part."""
        return self.form(value)

    def schema(self):
        """JSON schema of the value in a model file."""
        return {"$ref": f"#/$defs/{self.schema_type}"}


class On(Field):
    """A body that the part acts on.

    Parameters
    ----------
    rotating : bool
        It needs an orientation.
    ground : bool
        It may be left out, for the ground.
    key : str, optional
        Of its own in model files; else it is in `body`, or in the list `bodies`.
    """

    is_body = True
    given_as = kept_as = "BodyFrame"
    schema_type = "body"

    def __init__(self, help="", *, rotating=False, ground=False, key=None):
        super().__init__(help, default=None if ground else REQUIRED, optional=ground)
        self.rotating, self.ground, self.key = rotating, ground, key

    @property
    def kind_of_value(self):
        return "RigidBody" if self.rotating else "Body"

    def __get__(self, part, owner):
        if part is None:
            return self
        place = [f.name for f in part.fields.values() if f.is_body].index(self.name)
        return part.given_bodies[place] if place < len(part.given_bodies) else None


class OnJoint(Field):
    """A joint of whose coordinates the part acts on one; needs `coordinate`, its name."""

    is_joint, refers, kind_of_value, schema_type = True, True, "Joint", "joint"
    given_as, kept_as = "Joint | TreeJointCoordinate", "Joint"

    def check(self, title, value):
        if not getattr(value, "coordinates", ()) or not hasattr(value, "constraint_names"):
            raise InputError(f"{title} must be a joint with an angle or a displacement (Revolute, Cylindrical, "
                             f"Universal, Prismatic, Planar, or joint(name) of a Tree), not {value!r}")
        return value

    def described(self, value, refer):
        return None if value is None else refer.joint(value)

    def restored(self, data, found):
        return None if data is None else found.joint(data)

    def moved(self, value, stand_in):
        return None if value is None else stand_in(value)


class CoordinateName(Field):
    """Which of the coordinates of the `joint`, or of the one that is the argument `of`; the first unless given."""

    kind_of_value, schema_type = "str", "coordinate"
    given_as = kept_as = "str"

    def __init__(self, help="which coordinate of the joint, where it has several: the first unless given", of="joint"):
        super().__init__(help, default=None, optional=True)
        self.of = of

    def check(self, title, value):
        return value

    def checked(self, part, value):
        joint = getattr(part, self.of)
        if joint is None and value is not None:
            raise InputError(f"{part._argument(self.name)} = {value!r} needs {self.of}")
        if joint is None:
            return None
        names = tuple(c.name for c in joint.coordinates)
        return names[0] if value is None else validate.choice(part._argument(self.name), value, names)


class Name(Field):
    """The name of the part; last in the constructor unless it is declared elsewhere."""

    kind_of_value = given_as = kept_as = "str"

    def __init__(self):
        super().__init__("Used in messages and files.", default=None, optional=True)
