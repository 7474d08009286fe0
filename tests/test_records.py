"""`timefem.records.frozen` makes what `dataclass(frozen=True)` makes, without the compilation of methods."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field

import pytest

from timefem.records import frozen


class Pair:
    """Two numbers and what goes with them."""

    a: float
    b: float = 2.0
    tags: dict = field(default_factory=dict, hash=False)
    note: str = field(default="", compare=False, repr=False)
    _: KW_ONLY
    sign: int = 1

    def __post_init__(self):
        object.__setattr__(self, "a", float(self.a))


Usual, Own = (decorate(type("Pair", (), {name: value for name, value in vars(Pair).items()
                                         if name not in ("__dict__", "__weakref__")}))
              for decorate in (dataclass(frozen=True), frozen))


@frozen
class Point:
    x: float
    y: float = 0.0


@frozen(eq=False)
class Thing:
    x: float


def outcome(make):
    """What is made, or the type of the error."""
    try:
        return make()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("arguments, named", [
    ((1,), {}), ((1, 3), {"sign": -1}), ((), {"b": 1, "a": 2}), ((1, 2, {"c": 3}, "said"), {}),
    ((), {}), ((1,), {"a": 2}), ((1, 2, {}, "", 1), {}), ((1,), {"c": 2}), (("word",), {})])
def test_constructors_and_what_is_shown(arguments, named):
    usual, own = (outcome(lambda cls=cls: vars(cls(*arguments, **named))) for cls in (Usual, Own))
    assert usual == own
    if isinstance(own, dict):
        usual, own = Usual(*arguments, **named), Own(*arguments, **named)
        assert list(vars(usual)) == list(vars(own)) and repr(usual) == repr(own) and hash(usual) == hash(own)
        assert own == Own(*arguments, **named) != dataclasses.replace(own, b=7.0)
        assert own.__eq__(usual) is NotImplemented
        assert dataclasses.asdict(usual) == dataclasses.asdict(own) and copy.deepcopy(own) == own
        assert dataclasses.replace(own, note="other") == own  # is not compared


def test_errors_name_the_argument():
    with pytest.raises(TypeError, match=r"Pair\(\) got an unexpected keyword argument 'tag'; did you mean 'tags'\?"):
        Own(1, tag={})
    with pytest.raises(TypeError, match=r"Pair\(\) needs a"):
        Own(b=1)


def test_class_level():
    assert inspect.signature(Usual).replace(parameters=[]) == inspect.signature(Own).replace(parameters=[])
    for usual, own in zip(*(inspect.signature(cls).parameters.values() for cls in (Usual, Own)), strict=True):
        assert (usual.name, usual.kind, usual.annotation, repr(usual.default)) == \
            (own.name, own.kind, own.annotation, repr(own.default))
    assert Usual.__match_args__ == Own.__match_args__ and Own.__doc__ == Pair.__doc__
    assert dataclasses.is_dataclass(Own) and Own.__dataclass_params__.frozen


def test_frozen():
    point = Point(1.0)
    for change in (lambda: setattr(point, "x", 2.0), lambda: setattr(point, "z", 2.0), lambda: delattr(point, "y")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert pickle.loads(pickle.dumps(point)) == point and copy.copy(point) == point
    match point:
        case Point(x, y):
            assert (x, y) == (1.0, 0.0)
    assert Thing(1.0) != Thing(1.0) and len({Thing(1.0), Thing(1.0)}) == 2


def test_subclasses():
    @dataclass(frozen=True)
    class Further(Point):
        z: float = 3.0

    class Plain(Point):
        pass

    assert Further(1, 2) == Further(1, 2, 3.0) and repr(Further(1, 2)).endswith("Further(x=1, y=2, z=3.0)")
    plain = Plain(1.0)
    plain.further = 2.0  # as of a dataclass
    assert plain == Plain(1.0) != Point(1.0)
    with pytest.raises(TypeError, match="non-frozen"):
        dataclass(type("Loose", (Point,), {"__annotations__": {"z": float}, "z": 1.0}))


def test_own_methods_stay():
    @frozen
    class Named:
        name: str

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

        def __repr__(self):
            return self.name

    assert Named("a") == 1 and hash(Named("a")) == 7 and repr(Named("a")) == "a"


def test_nothing_is_compiled():
    for name in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"):
        own = [inspect.unwrap(vars(cls)[name]).__code__ for cls in (Own, Point)]
        assert own[0] is own[1], name
