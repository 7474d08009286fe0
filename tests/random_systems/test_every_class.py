"""Which public classes of mechanics random systems draw: each, or there is a reason."""

import numpy as np
import pytest

import timefem as tf

from . import extras, others, own_bodies
from .draft import built, drawn

NOT_DRAWN = {
    "AngleOutput": "its axis is one of space by name, which no turned world has",
    "OrientationOutput": "belongs to a path of poses in inverse dynamics",
    "Control": "exerts no force: formulas and states see it, where a problem finds it",
    "MassProperties": "no part: sums and differences of bodies, of which one is made",
    "Cost": "of optimal control", "Effort": "of optimal control; each `optimum` has two",
}


def draft_with(kind, seed=0):
    """A draft whose one extra is of a kind, from the first seed that has what it acts on."""
    for s in range(seed, seed + 200):
        draft = drawn(s) | {"extras": []}
        rng = np.random.default_rng([s, 5])
        extra = (others.numbers_of if kind in others.KINDS else extras._drawn)(
            *(rng, draft, kind) if kind in others.KINDS else (rng, draft, kind, False))
        if extra and (kind not in others.KINDS or others.KINDS[kind].rows <= own_bodies.freedoms(draft) - 2):
            return draft | {"extras": [extra]}
    raise AssertionError(kind)


def public_classes():
    return {name for name in tf.__all__ if isinstance(cls := getattr(tf, name), type)
            and cls.__module__.startswith("timefem.mechanics") and not issubclass(cls, Exception)}


@pytest.mark.long
def test_every_public_class_of_mechanics_is_drawn_or_there_is_a_reason(monkeypatch):
    seen = set()
    for name in public_classes():
        cls = getattr(tf, name)
        init = cls.__init__

        def noted(self, *args, _init=init, **options):
            seen.update(c.__name__ for c in type(self).__mro__)
            _init(self, *args, **options)

        monkeypatch.setattr(cls, "__init__", noted)
    for kind in (*others.KINDS, *extras.KINDS):
        built(draft_with(kind))
    for time in others.TIMES:
        draft = draft_with("force in time")
        built(draft | {"extras": [draft["extras"][0] | {"time": time}]})
    for seed in range(20):
        built(drawn(seed), rotation=("quaternion", "directors")[seed % 2])
    assert sorted(public_classes() - seen) == sorted(NOT_DRAWN)
