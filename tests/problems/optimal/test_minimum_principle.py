"""Controls that cost more than others would: minima of programs that are none of the problem are left."""

import numpy as np
import pytest

import timefem as tf
from timefem.problems.optimal.diagnosis.doubts import better_controls

pytestmark = pytest.mark.long


def transfer(limits=(), lower=-np.pi, upper=2 * np.pi):
    """From the orbit of Earth to that of Mars in least time, by a low thrust (Bryson and Ho, 2.5: 3.3192)."""
    angle = tf.Control(name="angle")
    thrust = "0.1405 / (1 - 0.0749 * t)"
    ship = tf.State("ship", f"[x[1], x[2]**2 / x[0] - 1 / x[0]**2 + {thrust} * sin(u[0]), "
                            f"-x[1] * x[2] / x[0] + {thrust} * cos(u[0])]", n=3, controls=[angle])
    return tf.OptimalControl(tf.System([ship, angle]), {ship: [1, 0, 1]}, {ship: [1.525, 0, 1.525**-0.5]}, (0, 4),
                             end_cost="end.t", free_time=True, limits=limits,
                             bounds={angle: (lower, upper), "duration": (0.5, 20)})


@pytest.mark.parametrize("n", [40, 60, 80, 120])
def test_an_angle_does_not_wait_at_its_bound(n):
    """It did, and the time was 3.331, 3.459, 3.483 and 3.619."""
    sol = tf.solve(transfer(), tf.MixedGalerkin(2), n, progress=False)
    assert sol.success and sol.objective == pytest.approx(3.31922, rel=1e-5)
    assert better_controls(transfer(), sol) is None


def test_what_was_tried_is_told_and_can_be_left_out():
    plain = tf.solve(transfer(), tf.MixedGalerkin(2), 40, progress=False, strategies=[])
    found = better_controls(transfer(), plain)
    assert plain.objective > 3.322 and "angle is " in found.text
    sol = tf.solve(transfer(), tf.MixedGalerkin(2), 40, progress=False)
    first, *others = [attempt.name for attempt in sol.attempts]
    assert first == "first guess" and others and set(others) == {"minimum principle"}
    assert "angle" in sol.attempts[1].why and "costs less" in sol.attempts[1].why
    assert sol.attempts[0].cost == pytest.approx(plain.objective, rel=1e-12) and sol.attempts[-1].cost is not None
    assert f"there are other minima: first guess {plain.objective:.8g}" in sol.status.message
    assert [attempt.cost for attempt in plain.attempts] == [plain.objective] and "minima" not in plain.status.message


def test_starts_that_led_to_one_minimum_each_lead_to_the_same():
    found = tf.solve_all(transfer(), tf.MixedGalerkin(2), 60, n_starts=4, progress=False, processes=1)
    assert len(found) == 1 and found[0].statistics["starts"] == [0, 1, 2, 3]


def test_in_a_phase():
    sol = tf.solve(tf.Phases([transfer()]), tf.MixedGalerkin(2), 60, progress=False)
    assert sol.success and sol.objective == pytest.approx(3.31922, rel=1e-5)


def test_controls_in_limits_and_those_that_enter_linearly_are_left_as_they_are():
    limited = transfer(tf.Limit("u[0]", -3.0, 6.0, name="narrow"))
    assert better_controls(limited, tf.solve(limited, tf.MixedGalerkin(2), 20, progress=False, strategies=[])) is None
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    block = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()},
                              {mass: tf.EndState(position=(1, None, None), velocity=(0, None, None))}, (0, 2),
                              actuators=push, end_cost="end.t", free_time=True, bounds={push: (-1, 1)})
    assert better_controls(block, tf.solve(block, tf.MixedGalerkin(2), 20, progress=False)) is None


def test_a_concave_cost_takes_the_better_bound():
    """Between bounds of -1 and 1, x' = u, the cost x - u^2 is least with u = -1 all along: -T^2 / 2 - T. A solve from
    u = 0 ends at the other bound in the last elements."""
    push = tf.Control(name="push")
    state = tf.State("x", "[u[0]]", n=1, controls=[push])
    problem = tf.OptimalControl(tf.System([state, push]), {state: [0]}, {}, (0, 1), "now.q('x')[0] - u[0]**2",
                                bounds={push: (-1, 1)})
    plain = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False, strategies=[])
    found = better_controls(problem, plain)
    assert plain.objective < -1.5 or found is not None
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert sol.objective == pytest.approx(-1.5, rel=1e-6)


def test_other_controls_stay_within_bounds():
    """A temperature at its bound at the first node only: at a point within the element the bound cost less, with more
    than the bound at the node."""
    heat = tf.Control(name="heat")
    batch = tf.State("x", "[-4000 * exp(-2500 / u[0]) * x[0]**2,"
                          " 4000 * exp(-2500 / u[0]) * x[0]**2 - 620000 * exp(-5000 / u[0]) * x[1]]", n=2,
                     controls=[heat])
    problem = tf.OptimalControl(tf.System([batch, heat]), {batch: [1, 0]}, {}, (0, 1), end_cost="-end.q('x')[1]",
                                bounds={heat: (298, 398)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False, strategies=[])
    assert sol.success and np.count_nonzero(sol.fields["controls"] > 397.9) == 1
    assert better_controls(problem, sol) is None


@pytest.mark.parametrize("n", [20, 40])
def test_headings_without_bounds_are_those_that_cost_least(n):
    """Zermelo's boat across a current that grows (Bryson & Ho, Applied Optimal Control, Sect. 2.7), from straight
    lines: some headings were turned the other way, and it took 7.84 and 5.82 for 5.46."""
    heading = tf.Control(name="heading")
    boat = tf.State("boat", "[cos(u[0]) - x[1], sin(u[0])]", n=2, controls=[heading])
    crossing = tf.OptimalControl(tf.System([boat, heading]), {boat: [3.66, -1.86]}, {boat: [0, 0]}, (0, 5),
                                 end_cost="end.t", free_time=True, bounds={"duration": (0.25, 50)})
    sol = tf.solve(crossing, tf.MixedGalerkin(2), n, progress=False)
    assert sol.success and sol.objective == pytest.approx(5.457865, rel=1e-6)
    assert better_controls(crossing, sol) is None
