"""Links and joints as arguments of a part."""

from ....errors import InputError
from ...declared import Field


class Rows(Field):
    """A sequence of `Link` or `TreeJoint`, or of dicts of their arguments."""

    varies = True

    def __init__(self, cls, help):
        super().__init__(help)
        self.cls, self.kind_of_value = cls, f"sequence of {cls.__name__}"
        self.given_as, self.kept_as = f"Sequence[{cls.__name__}]", f"tuple[{cls.__name__}, ...]"

    def checked(self, part, value):
        if isinstance(value, str | dict) or not hasattr(value, "__iter__"):
            raise InputError(f"{part._argument(self.name)} must be a sequence of {self.cls.__name__}, not {value!r}")
        return tuple(self._made(part, entry) for entry in value)

    def _made(self, part, entry):
        if isinstance(entry, self.cls):
            return entry
        if not isinstance(entry, dict):
            raise InputError(f"{part._argument(self.name)} must be a sequence of {self.cls.__name__}, not {entry!r}")
        try:
            return self.cls(**entry)
        except TypeError as error:
            raise InputError(f"{part._argument(self.name)}: {error}") from None
