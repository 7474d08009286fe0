"""Marches with rigid contact against states of 20 digits: errors, orders, times and impulses of events."""

import numpy as np
import pytest

from tests import contact_systems as systems

# (elements, error that is not to be passed twice over) by degree; the order between this and twice as many elements
CASES = {"two_balls": {1: (1600, 7.2e-2), 2: (800, 1.5e-4), 3: (400, 2.1e-6)},
         "nonlinear_stop": {1: (160, 3.8e-4), 2: (80, 1.8e-7), 3: (40, 8.3e-10)},
         "bar": {1: (320, 8.3e-4), 2: (160, 2.1e-7), 3: (80, 1.8e-10)},
         "off_circle": {1: (160, 4.1e-4), 2: (80, 3.0e-8), 3: (40, 4.4e-10)},
         "ladder": {1: (80, 1.3e-4), 2: (40, 7.8e-9), 3: (20, 1.4e-10)}}
LEAST = {"bar": 0.35, "ladder": 0.3, "off_circle": 0.3}  # of the order, with k = 3, near rounding


@pytest.mark.long
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_references_are_reached_with_the_order_of_the_element(name, degree):
    end, found_events = systems.reference(name)
    n, bound = CASES[name][degree]
    errors = []
    for m in (n // 4, n // 2, n):
        sol, found = getattr(systems, name)(degree, m)
        assert sol.success
        errors.append(np.abs(found - end).max())
    assert errors[-1] < 2 * bound
    slope = -np.polyfit(np.log([1, 2, 4]), np.log(errors), 1)[0]
    slack = LEAST.get(name, 0.2) if degree == 3 else 0.2
    assert 2 * degree - slack < slope < 2 * degree + max(slack, 0.3)
    assert len(sol.events) == len(found_events)
    for event, (time, *_) in zip(sol.events, found_events, strict=True):
        assert abs(event.t - float(time)) < max(1.1 * bound, 1e-11)
    assert sol.contact_gaps().min() > -1e-12
    assert np.abs(sol.energy.balance()).max() < 1e-9 * np.abs(sol.energy()).max() or name == "nonlinear_stop"


def test_the_impulses_of_the_bar():
    sol, _ = systems.bar(3, 80)
    for event, (_, end, (normal, along)) in zip(sol.events, systems.reference("bar")[1], strict=True):
        assert event.kind == "impact"
        assert event.contacts == (f"ends: contact {0 if end == 'end -1' else 1}",)
        found = event.impulses[0]
        assert found[0] == pytest.approx(float(normal), rel=1e-8)
        assert np.abs(found[1:]).max() == pytest.approx(abs(float(along)), rel=1e-8)


def test_the_ball_without_losses():
    end, times = systems.reference("ball")
    for degree in (1, 2):
        sol, found = systems.ball(degree, 30)
        assert np.abs(found - end).max() < 1e-12
        assert [event.t for event in sol.events] == pytest.approx([float(t) for t, *_ in times], rel=0, abs=1e-12)
        assert sol.contact_gaps().min() > -1e-12
        assert np.abs(sol.energy() - sol.energy()[0]).max() < 1e-13


@pytest.mark.long
def test_the_ball_that_comes_to_rest_and_rolls():
    end, events = systems.reference("spinning_ball")
    for degree, n in ((1, 40), (2, 20), (3, 10)):
        sol, found = systems.spinning_ball(degree, n)
        assert np.abs(found - end).max() < 1e-11
        rolls = next(event for event in sol.events if event.kind == "sticks")
        assert rolls.t == pytest.approx(float(events[-1][0]), rel=0, abs=1e-12)
        for event, (time, _, impulse) in zip(sol.events, events[:6], strict=False):
            assert event.t == pytest.approx(float(time), rel=0, abs=1e-12)
            np.testing.assert_allclose(event.impulses[0, :2], list(map(float, impulse)), rtol=1e-11)
    assert [event.kind for event in sol.events[-2:]] == ["rests", "sticks"]


def test_quaternions_and_directors_agree():
    for case in (systems.bar, systems.ladder):
        (_, a), (_, b) = case(3, 80, rotation="directors"), case(3, 160, rotation="quaternion")
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-9)
