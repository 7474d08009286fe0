"""What a controller moves and measures, as arguments."""

from __future__ import annotations

from ...errors import InputError
from ..declared import Field
from ..inversion.outputs import Output
from .actuators import Actuator, JointControl


class Drives(Field):
    """Joints, pairs of joint and name of a coordinate, and actuators."""

    refers, kind_of_value, schema_type = True, "sequence", "drives"
    kept_as = "tuple[Any, ...]"

    def check(self, title, value):
        return tuple(self._drive(title, given) for given in listed(title, value))

    def _drive(self, title, given):
        if isinstance(given, Actuator) and given.n_controls:
            return given
        try:
            return JointControl(given[0], coordinate=given[1]) if isinstance(given, list | tuple) else \
                JointControl(given)
        except InputError as error:
            raise InputError(f"{title}: {error}, and no actuator") from None

    def described(self, value, refer):
        return [refer.coordinate(d.bound) if isinstance(d, JointControl) else {"part": refer.part(d)} for d in value]

    def restored(self, data, found):
        return [found.part(d["part"]) if isinstance(d, dict) else found.coordinate(d) for d in data]

    def moved(self, value, stand_in):
        return [(stand_in(d.joint), d.coordinate) if isinstance(d, JointControl) else stand_in(d) for d in value]


class Inputs(Field):
    """Joints, pairs of joint and name of a coordinate, and outputs; the joints among the drives for None."""

    refers, kind_of_value, schema_type = True, "sequence", "inputs"
    kept_as = "tuple[Any, ...]"

    def __init__(self, help=""):
        super().__init__(help, default=None, optional=True)

    def checked(self, part, value):
        title = part._argument(self.name)
        given = [d.bound for d in part.drives if isinstance(d, JointControl)] if value is None else \
            [self._input(title, x) for x in listed(title, value)]
        if not given:
            raise InputError(f"{title} are needed, because no joint is among the drives")
        return tuple(given)

    def _input(self, title, given):
        if isinstance(given, Output):
            return given
        joint, name = given if isinstance(given, list | tuple) and len(given) == 2 else (given, None)
        if not getattr(joint, "coordinates", ()):
            raise InputError(f"{title} must be joints with coordinates, or outputs, not {given!r}")
        return joint.bound(name or joint.coordinates[0].name)

    def described(self, value, refer):
        return [x.described(refer) if is_output(x) else refer.coordinate(x) for x in value]

    def restored(self, data, found):
        return [Output.restored(x, found) if isinstance(x, dict) else found.coordinate(x) for x in data]

    def moved(self, value, stand_in):
        return [x.moved(stand_in) if is_output(x) else (stand_in(x.owner), x.coordinate.name) for x in value]


def is_output(x):
    return isinstance(x, Output)


def listed(title, values):
    if not isinstance(values, list | tuple) or not values:
        raise InputError(f"{title} must be a list, not {values!r}")
    return values
