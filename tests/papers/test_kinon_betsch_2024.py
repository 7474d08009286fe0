"""Claims of Kinon & Betsch (2024): EML, its reductions, MPL, MPH and EMH; numerics.md section 2."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import reference, slope
from tests.papers.one_step import drift, free_body, free_body_error, top, top_error
from timefem.cases import find_case

pytestmark = pytest.mark.long

EXACT = {"inverse_mass": "exact"}
LIVENS = [tf.EML(), tf.REML(), tf.NullEML()]

# element, options, errors of the free body at h = 0.005 and 0.0025, of the top at h = 0.00125
TABLE = [*((e, {}, 0.10238, 0.025361, 6.987e-3) for e in LIVENS), (tf.EMH(), {}, 0.036316, 0.0090858, 2.558e-2),
         (tf.MPL(), {}, 0.015301, 0.0038208, 1.074e-2), (tf.MPH(), EXACT, 0.015301, 0.0038208, 1.074e-2),
         (tf.MPH(), {}, 0.096740, 0.024277, 2.062e-2)]
CASES = pytest.mark.parametrize("element, options, coarse, fine, top_size", TABLE,
                                ids=[e.name + "-exact" * bool(o) for e, o, *_ in TABLE])


@CASES
def test_free_body_errors_and_order(element, options, coarse, fine, top_size):
    h = (0.005, 0.0025, 0.00125)
    errors = [free_body_error(element, step, **options)[0] for step in h]
    assert errors[:2] == pytest.approx([coarse, fine], rel=0.05)
    assert slope(h, errors) == pytest.approx(2, abs=0.03)


@CASES
def test_top_errors_and_order(element, options, coarse, fine, top_size):
    h = (0.00125, 0.000625, 0.0003125)
    errors = [top_error(element, step, **options)[0] for step in h]
    assert errors[0] == pytest.approx(top_size, rel=0.05)
    assert slope(h, errors) == pytest.approx(2, abs=0.05)


@CASES
def test_invariants(element, options, coarse, fine, top_size):
    _, body = free_body_error(element, 0.005, **options)
    _, gyro = top_error(element, 0.00125, **options)
    assert drift(body.angular_momentum()) <= 1e-11
    assert drift(gyro.angular_momentum()[:, 2:]) <= 1e-11
    for solution in (body, gyro):
        assert solution.errors()["configuration"] <= 1e-13
        if element in LIVENS:
            assert drift(solution.energy.generalized()) <= 1e-11
            assert drift(solution.energy()) > 1e-8  # H is another function off the midpoints
        elif element == tf.EMH():
            assert drift(solution.energy()) <= 1e-11
        else:
            assert drift(solution.energy()) > 1e-8


@pytest.mark.parametrize("make", [free_body, top, lambda: find_case("four-bar").make(t_end=1.5),
                                  lambda: find_case("physical-pendulum").make("directors", t_end=0.5)],
                         ids=["free body", "top", "four-bar", "pendulum in directors"])
def test_the_reductions_are_the_same_scheme(make):
    """EML = REML = Null-EML; the scheme amplifies round-off, so that a second is long enough."""
    solutions = [tf.solve(make(), element, 300) for element in LIVENS]
    first = solutions[0]
    for other in solutions[1:]:
        for a, b in ((first.z, other.z), (first.field("velocity"), other.field("velocity"))):
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * max(np.abs(a).max(), 1))


def test_mpl_is_mph_with_the_exact_inverse():
    for make in (free_body, top):
        a, b = tf.solve(make(), tf.MPL(), 400), tf.solve(make(**EXACT), tf.MPH(), 400)
        np.testing.assert_allclose(b.z, a.z, rtol=0, atol=1e-10 * np.abs(a.z).max())


# ---- 5.1, 5.2: mass matrices that are singular and that vary

@pytest.mark.parametrize("element", [tf.EML(), tf.REML()], ids=["eml", "reml"])
@pytest.mark.parametrize("name, n_elements", [("mass-spring", (250, 500, 1000)), ("spring-pendulum", (250, 500, 1000))])
def test_systems_by_formulas(name, n_elements, element):
    data = reference(name.replace("-", "_"))["states"][-1]
    errors = []
    for n in n_elements:
        solution = tf.solve(find_case(name).make(t_end=data["t"]), element, n)
        energy = solution.energy.generalized()
        assert drift(energy) <= (5e-11 if element.name == "reml" else 1e-13)  # of REML what Newton leaves adds up
        assert solution.errors()["configuration"] <= 1e-12
        errors.append(np.abs(solution.z[-1][:3] - data["q"]).max())
    assert -slope(n_elements, errors) == pytest.approx(2, abs=0.1)


# ---- 5.5: the closed loop

@pytest.mark.parametrize("element", [*LIVENS, tf.EMH(), tf.NullEMH()], ids=lambda e: e.name)
def test_closed_loop(element):
    """Energy is exact after the pulse; angular momentum is not, with the gap of a joint in space axes."""
    problem, drifts = find_case("four-bar").make(t_end=5.0), []
    for n in (50, 100, 200):
        solution = tf.solve(problem, element, n)
        assert solution.success, solution.status.message
        after = solution.t > 1 - 1e-9
        energy = solution.energy.generalized() if solution.fields.get("velocity") is not None else solution.energy()
        assert drift(energy[after]) <= 1e-11
        drifts.append(np.ptp(solution.angular_momentum()[after], axis=0).max())
        assert solution.errors()["configuration"] <= 1e-11
    assert slope((50, 100, 200), drifts) == pytest.approx(-2, abs=0.3)


def test_closed_loop_in_directors_keeps_the_angular_momentum():
    solution = tf.solve(find_case("four-bar").make("directors", t_end=3.0), tf.EML(), 60)
    after = solution.t > 1 - 1e-9
    assert drift(solution.angular_momentum()[after]) <= 1e-11
    assert drift(solution.energy.generalized()[after]) <= 1e-11


def test_velocities_of_eml_alternate_in_long_runs():
    """What the docstring of EML warns of: the part of v along the quaternion grows, though all invariants hold."""
    h = 0.005
    solution = tf.solve(free_body(t_end=25.0), tf.REML(), round(25 / h))
    along = np.einsum("ta,ta->t", solution.z[:, 3:7], solution.field("velocity")[:, 3:7])
    late, later = (np.abs(along[round(t / h):round(t / h) + 20]).max() for t in (5, 15))
    assert later > 10 * late
    assert np.all(along[3000:3020:2] * along[3001:3021:2] < 0)
    assert drift(solution.energy.generalized()) <= 1e-10
    assert drift(solution.energy()) > 1e-2
    directors = tf.solve(free_body("directors", t_end=25.0), tf.EML(), round(25 / h))
    assert drift(directors.energy()) <= 1e-11
