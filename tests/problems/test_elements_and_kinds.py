"""Every time element with every kind of problem: it works, or is refused with its name before work starts."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.element import ELEMENTS, named_element

pytestmark = pytest.mark.long

CASES = {"initial": "free-body", "boundary": "reorientation", "optimal": "reorientation-effort",
         "inverse": "crane-inverse", "initial, joint": "physical-pendulum", "boundary, joint": "pendulum-boundary",
         "unknown numbers": "pendulum-periodic", "bounds": "slew-time"}
REFUSED = {
    "dir-em": {("quaternion", kind) for kind in CASES},
    "algo-c1": {(r, k) for r in ("quaternion", "directors") for k in ("initial, joint", "boundary, joint",
                                                                      "unknown numbers", "bounds")},
    **{name: {("directors", kind) for kind in CASES} | {("quaternion", k) for k in (
        "boundary, joint", "unknown numbers", "bounds")} for name in ("zupan3", "zupan3-printed", "newmark-so3")}}


N = {"unknown numbers": 60}  # elements, others 12
COMPILED = {("zupan3", "optimal"), ("zupan3-printed", "optimal")}  # 5 s of compilation each


def pairs():
    for name in ELEMENTS:
        for kind in CASES:
            slow = kind not in ("initial", "boundary", "optimal", "inverse") or (name, kind) in COMPILED
            yield pytest.param(name, kind, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize("name, kind", list(pairs()))
def test_works_or_is_refused(name, kind):
    case, element = find_case(CASES[kind]), named_element(name)
    for rotation in ("quaternion", "directors"):
        problem = case.make(rotation=rotation, t_end=0.2 if kind.startswith("initial") else None)
        if (rotation, kind) in REFUSED.get(name, ()) or (kind == "inverse" and name != "mg"):
            with pytest.raises(tf.InputError) as error:
                tf.solve(problem, element, 12, progress=False)
            told = str(error.value)
            assert name in told or type(element).__name__ in told
            assert any(word in told for word in ("use ", "takes MixedGalerkin"))
        elif rotation == "quaternion" or name == "dir-em" or kind in ("initial, joint", "boundary, joint"):
            sol = tf.solve(problem, element, N.get(kind, 12), progress=False)
            assert sol.success, sol.status.message


@pytest.mark.parametrize("name", ["newmark-so3", *(pytest.param(name, marks=pytest.mark.slow) for name in (
    "zupan3", "zupan3-printed"))])
def test_optimal_control_by_schemes_in_body_axes(name):
    problem = find_case("reorientation-effort").make()
    errors = [tf.solve(problem, named_element(name), n, progress=False).objective - 2738.682727 for n in (40, 80)]
    assert errors[1] < 1.5
    np.testing.assert_allclose(errors[0] / errors[1], 4, rtol=0.02)
