"""An argument of a part, and arguments by what they hold: numbers, vectors, choices, functions of time."""

import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError
from ...memory import Late
from ..bodies.rotations import as_quaternion, matrix_from_quaternion
from ..numbers.arguments import by_rows, is_symbolic, joined, rotation_matrix, unit

# ---- An argument of a part, declared as a class attribute

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


formulas = Late("timefem.mechanics.time_formulas")


class Real(Field):
    """A number within limits: `above` and `least` from below, `most` from above; `remedy` where it is too small."""

    kind_of_value = kept_as = "float"
    given_as, varies = "Number", True

    def __init__(self, help="", unit="", default=REQUIRED, *, above=None, least=None, most=None,
                 remedy=None, optional=False):
        super().__init__(help, unit, default, optional=optional)
        self.above, self.least, self.most, self.remedy = above, least, most, remedy

    def check(self, title, value):
        value = validate.real(title, value)
        if self.above is not None and value <= self.above:
            bound = f"positive, not {digits(value)}" if self.above == 0 else \
                f"above {digits(self.above)}, not {digits(value, self.above)}"
            raise InputError(f"{title} must be {bound}" + f"; {self.remedy}" * bool(self.remedy))
        low, high = self.least, self.most
        if low is not None and high is not None and not low <= value <= high:
            raise InputError(f"{title} must be between {digits(low)} and {digits(high)}, not "
                             f"{digits(value, low, high)}")
        if low is not None and value < low:
            raise InputError(f"{title} must not be negative, but is {digits(value)}" if low == 0 else
                             f"{title} must be at least {digits(low)}, not {digits(value, low)}")
        return value

    def numbers(self, value):
        return value if is_symbolic(value) else np.array([value])

    def form(self, value):
        return value is not None if self.optional else None

    def schema(self):
        known = {(0, None, None): "positive", (None, 0, None): "not_negative", (None, None, None): "number"}
        limits = self.above, self.least, self.most
        if limits in known:
            return {"$ref": f"#/$defs/{known[limits]}"}
        return {"description": f"a number from {digits(self.least)} to {digits(self.most)}", "type": "number",
                "minimum": self.least, "maximum": self.most}


class Term(Real):
    """A number of a term that formulas lack where it is zero, unless it is among the free ones of the part; `vanishes`:
    whether the term does, as the number goes to zero."""

    def __init__(self, *arguments, vanishes=True, **named):
        super().__init__(*arguments, **named)
        self.vanishes = vanishes

    def form_in(self, part, value):
        return part.has(self.name)

    def shapes_at(self, value, steps):
        return value == 0


class Integer(Field):
    """An integer from `least` to `most`, which shapes the formulas."""

    kind_of_value = given_as = kept_as = "int"

    def __init__(self, help="", default=REQUIRED, *, least, most, optional=False):
        super().__init__(help, default=default, optional=optional)
        self.least, self.most = least, most

    def check(self, title, value):
        value = validate.integer(title, value, minimum=self.least)
        if value > self.most:
            raise InputError(f"{title} must be {self.described}, not {value}")
        return value

    @property
    def described(self):
        few = range(self.least, self.most + 1)
        return f"{', '.join(map(str, few[:-1]))} or {few[-1]}" if len(few) < 5 else f"{self.least} to {self.most}"

    def form(self, value):
        return value

    def schema(self):
        return {"description": self.described if self.most - self.least < 4 else f"an integer from {self.described}",
                "type": "integer", "minimum": self.least, "maximum": self.most}


class Flag(Field):
    """True or False, which shapes the formulas."""

    kind_of_value, schema_type = "bool", "flag"
    given_as = kept_as = "bool"

    def check(self, title, value):
        return validate.flag(title, value)

    def form(self, value):
        return value


class Choice(Field):
    """One of some words, which shapes the formulas."""

    kept_as = "str"

    def __init__(self, help, choices, default=REQUIRED):
        super().__init__(help, default=default)
        self.choices = choices

    @property
    def kind_of_value(self):
        return "{" + ", ".join(f'"{c}"' for c in self.choices) + "}"

    @property
    def given_as(self):
        return f"Literal[{', '.join(f'{c!r}' for c in self.choices)}]"

    def check(self, title, value):
        return validate.choice(title, value, self.choices)

    def form(self, value):
        return value

    def schema(self):
        return {"enum": list(self.choices)}


class Vector(Field):
    """Three numbers."""

    kind_of_value, schema_type = "array_like, shape (3,)", "vector"
    given_as, kept_as, varies = "Vector", "np.ndarray", True

    def check(self, title, value):
        return validate.array(title, value, (3,))

    def numbers(self, value):
        return value


class Point(Vector):
    """A point in the axes of the body `of` (its number) from the centre of mass, of a link of a tree from its origin;
    in space where that is the ground."""

    def __init__(self, help="", default=REQUIRED, *, of=0):
        super().__init__(help, "m", default)
        self.of = of

    def checked(self, part, value):
        value = super().checked(part, value)
        if self.of < len(part.bodies) and not part.bodies[self.of].has_orientation and part.refuses_arms and \
                np.any(value):
            raise InputError(f"{part._argument(self.name)} must be zero, because body {'ab'[self.of]} is a point mass")
        return value


class Direction(Vector):
    """A vector of any length but zero; its unit vector enters the formulas."""

    def check(self, title, value):
        return validate.direction(title, value)[0]

    def numbers(self, value):
        return unit(value) if is_symbolic(value) else validate.direction("direction", value)[1]


class Orientation(Field):
    """A unit quaternion or rotation matrix; its matrix enters the formulas, column by column."""

    kind_of_value, schema_type = "array_like, shape (4,) or (3, 3)", "orientation"
    given_as, kept_as, varies = "Vector | Matrix", "np.ndarray", True

    def checked(self, part, value):
        try:
            as_quaternion(value)
        except InputError as error:
            shown = str(error).replace("orientation", self.name)
            raise InputError(f"{part._title}: {shown}") from None
        return np.array(value, float)

    def numbers(self, value):
        return by_rows(self.matrix(value).T)

    def matrix(self, value):
        """The rotation matrix of a value."""
        if value.shape == (3, 3):
            return value if is_symbolic(value) else matrix_from_quaternion(as_quaternion(value))
        return rotation_matrix(value)


class Numbers(Field):
    """Any number of numbers."""

    kind_of_value = "array_like, shape (n,)"
    given_as, kept_as, varies = "Vector", "np.ndarray", True

    def __init__(self, help="", default=REQUIRED, *, argument=None):
        super().__init__(help, default=default)
        self.argument = argument

    def check(self, title, value):
        return validate.array(title, value, (None,))

    def numbers(self, value):
        return value

    def form(self, value):
        return len(value)

    def schema(self):
        return {"description": "a list of numbers", "type": "array", "items": {"$ref": "#/$defs/number"}}


class Rows(Field):
    """A matrix with three columns, one vector in each row; as many rows as wanted."""

    kind_of_value = "array_like, shape (n, 3)"
    given_as, kept_as, varies = "Matrix", "np.ndarray", True

    def check(self, title, value):
        return validate.array(title, value, (None, 3))

    def numbers(self, value):
        return by_rows(value)

    def form(self, value):
        return len(value)

    def schema(self):
        return {"description": "a list of at least one vector of three numbers", "type": "array",
                "items": {"$ref": "#/$defs/vector"}, "minItems": 1}


class Function(Field):
    """A number, or a function of time; `prescribes` a motion, so that its rate must not jump."""

    is_function, kind_of_value, schema_type = True, "float, TimeFunction or callable", "function"
    varies = True
    given_as, kept_as = "Number | TimeFunction | UserFunction", "TimeFunction"

    def __init__(self, help="", unit="", default=REQUIRED, *, prescribes=False):
        super().__init__(help, unit, default)
        self.prescribes = prescribes

    def check(self, title, value):
        value = self._made(title, value)
        for f in self.functions(value) if self.prescribes else ():
            if not f.has_rate:
                raise InputError(f"{title}: the rate of a {type(f).__name__} jumps, which takes an infinite force; "
                                 f"use Ramp(..., kind='smooth') or Table(..., kind='cubic')")
        return value

    def _made(self, title, value):
        return formulas.as_time_function(title, value)

    def of_symbols(self, value):
        return value

    def functions(self, value):
        """The functions of time of a value, as a tuple."""
        return (value,)

    def numbers(self, value):
        return joined(*(getattr(f, "parameters", f) for f in self.functions(value)))

    def form(self, value):
        return tuple(f.form for f in self.functions(value))


class VectorFunction(Function):
    """Three numbers or functions of time, or one function that returns three values."""

    kind_of_value, schema_type = "array_like, shape (3,), or callable", "vector_function"
    given_as = "Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction"
    kept_as = "tuple[TimeFunction, ...]"

    def _made(self, title, value):
        return formulas.as_vector_function(title, value)

    def functions(self, value):
        return value
