"""Meshes for a tolerance in inverse dynamics and optimal control: estimates against errors, and where elements go."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.cases.inverse import elastic_arm, trolley_crane
from timefem.errors import InputError
from timefem.mechanics.time_functions import Transfer
from timefem.problems.kinds import error_estimate
from timefem.problems.refinement import size_of_components, size_of_controls
from timefem.solvers.march.motion import size_of_motion

pytestmark = pytest.mark.long

AXIS, ANGLE = np.array([1, 2, 2]) / 3, 2.5
REORIENTATION = 2738.6827273  # minimum effort, found by direct collocation


def estimated(problem, element, sol):
    mesh = tf.TimeMesh(np.interp(sol.t, sol.t[[0, -1]], problem.t_span))
    return error_estimate(problem, element)(sol, mesh, 1.0).errors


def state_error(sol, t, z):
    return (np.abs(sol(t) - z) / size_of_motion(sol.system, t, z)).max()


# ---- inverse dynamics

@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize(("degree", "n"), [(1, 80), (2, 20), (3, 20)])
def test_estimate_of_inverse_dynamics_is_close(redundant, degree, n):
    problem, answer = trolley_crane(redundant=redundant)
    element = tf.MixedGalerkin(degree)
    sol = tf.solve(problem, element, n)
    found = estimated(problem, element, sol)
    fine, u = tf.solve(problem, tf.MixedGalerkin(4), 8 * n), answer(sol.t)[1]
    wrong = np.abs((problem.controls(sol.t, sol.z) - u) / size_of_controls(problem.system, u)).max()
    assert found["controls"] == pytest.approx(wrong, rel=0.05)
    assert found["state"] == pytest.approx(state_error(sol, sol.t, fine(sol.t)), rel=0.05)


def test_controls_of_the_crane_are_as_accurate_as_asked():
    problem, answer = trolley_crane()
    sol = tf.solve(problem, tf.MixedGalerkin(3), tolerance=1e-7)
    u = answer(sol.t)[1]
    wrong = np.abs((problem.controls(sol.t, sol.z) - u) / size_of_controls(problem.system, u)).max()
    assert sol.success and 1e-9 < wrong <= 1e-7
    assert sol.statistics["meshes"][-1] == len(sol.t) - 1 and sol.statistics["tolerance"] == 1e-7
    assert sol.statistics["estimated_error"] == max(sol.statistics["estimated_errors"].values())


def test_elements_gather_at_a_sharp_event_and_save_work():
    problem = elastic_arm(Transfer(5.1, 7.3, 0.0, 1.0, 3), t_end=12.0)
    fine = tf.solve(problem, tf.MixedGalerkin(4), 1200)
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-4)
    assert sol.success and {5.1, 7.3} <= set(np.round(sol.t, 12).tolist())
    assert sol.statistics["estimated_errors"]["state"] == pytest.approx(state_error(sol, sol.t, fine(sol.t)), rel=0.1)
    lengths = np.diff(sol.t)
    assert lengths.max() > 5 * lengths.min() and 5 <= sol.t[lengths.argmin()] < 7.4
    uniform = tf.solve(problem, tf.MixedGalerkin(2), 2 * len(lengths))
    assert estimated(problem, tf.MixedGalerkin(2), uniform)["controls"] > sol.statistics["estimated_error"]


# ---- optimal control without bounds

def reorientation(rotation="quaternion"):
    body = tf.RigidBody(mass=12, inertia=[5, 26, 29], rotation=rotation, name="satellite")
    turned = np.append(np.cos(ANGLE / 2), np.sin(ANGLE / 2) * AXIS)
    end = {body: tf.EndState(orientation=turned, angular_velocity=(0, 0, 0))}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 2), cost=tf.Effort(tf.ControlTorque(body)))


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize(("degree", "n"), [(1, 60), (2, 24), (3, 16)])
def test_estimate_of_optimal_control_is_close(rotation, degree, n):
    problem, element = reorientation(rotation), tf.MixedGalerkin(degree)
    sol, fine = tf.solve(problem, element, n), tf.solve(problem, tf.MixedGalerkin(4), 5 * n)
    found, system = estimated(problem, element, sol), problem.system
    xi, weights = tf.gauss_legendre(6)
    t = sol.t[:-1, None] + np.diff(sol.t)[:, None] * xi

    def mean(values, size):
        return np.diff(sol.t) @ ((np.abs(values) / size).max(axis=2) @ weights) / 2

    wrong = {"objective": abs(sol.objective / REORIENTATION - 1), "state": state_error(sol, sol.t, fine(sol.t)),
             "controls between nodes": mean(sol.controls(t) - fine.controls(t),
                                            size_of_controls(system, sol.fields["controls"])),
             "costates between nodes": mean(sol.field("costates", t) - fine.field("costates", t),
                                            size_of_components(system, sol.field("costates", t.ravel())))}
    for name, error in wrong.items():
        assert found[name] == pytest.approx(error, rel=0.03 if name == "objective" else 0.3), name


@pytest.mark.parametrize(("degree", "tolerance"), [(2, 1e-6), (3, 1e-8)])
def test_reorientation_to_a_tolerance(degree, tolerance):
    sol = tf.solve(reorientation(), tf.MixedGalerkin(degree), tolerance=tolerance)
    fine = tf.solve(reorientation(), tf.MixedGalerkin(4), 100)
    assert sol.success and sol.objective == pytest.approx(REORIENTATION, rel=tolerance)
    assert tolerance / 100 < state_error(sol, sol.t, fine(sol.t)) <= 1.3 * tolerance


@pytest.mark.parametrize("form", ["energy", "impulse"])
def test_reorientation_to_a_tolerance_with_other_forms(form):
    sol = tf.solve(reorientation(), tf.MixedGalerkin(2, form=form), tolerance=1e-5, progress=False)
    fine = tf.solve(reorientation(), tf.MixedGalerkin(4), 60)
    assert sol.success and sol.objective == pytest.approx(REORIENTATION, rel=1e-5)
    error = state_error(sol, sol.t, fine(sol.t))
    assert 1e-7 < error <= 1.5e-5
    assert 0.5 * error < sol.statistics["estimated_errors"]["state"] < 10 * error
    again = tf.solve(reorientation(), sol.element.element.element, mesh=sol.t, guess=sol, progress=False)
    assert again.statistics["newton_iterations"]["max"] <= 2


def test_arm_in_least_time_to_a_tolerance():
    """Coordinates of joints, whose momenta have no equation of their own to have costates of."""
    problem = find_case("two-link-arm-time").make()
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 10, tolerance=1e-3, progress=False)
    fine = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 80, guess=sol, progress=False)
    assert sol.success and fine.success and sol.statistics["estimated_error"] <= 1e-3
    assert abs(sol.objective / fine.objective - 1) < 1e-3


def layers():
    """A mass that is held away from where it is cheap to be at both ends only: layers of 0.1 s of 10 s."""
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    cost = tf.Cost(lambda u, q, v, t: (1e-4 * u[0]**2 + q[0]**2) / 2, [push], [body])
    end = {body: tf.EndState(position=[1, None, None], velocity=[0, None, None])}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose((1, 0, 0))}, end, (0, 10.0), cost=cost)


@pytest.mark.parametrize("degree", [2, 3])
def test_boundary_layers_take_fewer_elements_than_on_a_uniform_mesh(degree):
    problem, element = layers(), tf.MixedGalerkin(degree)
    fine = tf.solve(problem, tf.MixedGalerkin(5), 600)
    assert fine.objective == pytest.approx(0.1 * 2**0.5, rel=1e-9)  # twice the layer of a quadratic cost
    sol = tf.solve(problem, element, tolerance=1e-6)
    error = state_error(sol, sol.t, fine(sol.t))
    assert sol.success and error <= 1e-6 and 0.5 * error < sol.statistics["estimated_error"] < 2 * error
    uniform = tf.solve(problem, element, int(2 * sol.statistics["n_elements"]))
    assert state_error(uniform, uniform.t, fine(uniform.t)) > error
    lengths = np.diff(sol.t)
    assert lengths[[0, -1]].max() < 0.1 * lengths.max()


# ---- inequalities

SWITCH = np.sqrt(1 / (1 + 1 / 0.37))
DURATION = SWITCH * (1 + 1 / 0.37)


def slider(lower=-0.37, **options):
    """A mass of 1 kg over 0.5 m in least time, faster to start than to stop: the push is 1 N until `SWITCH`."""
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    end = {body: tf.EndState(position=[0.5, None, None], velocity=[0, None, None])}
    time = tf.Cost(lambda u, q, v, t: 1.0, name="time")
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 1.5), cost=time, actuators=push,
                             free_time=True, bounds={push: (lower, 1)})


@pytest.mark.parametrize(("degree", "n"), [(1, 15), (1, 33), (2, 15), (2, 33)])
def test_estimate_where_a_control_jumps(degree, n):
    problem, element = slider(), tf.MixedGalerkin(degree)
    sol = tf.solve(problem, element, n)
    found, error = estimated(problem, element, sol), sol.objective / DURATION - 1
    assert found["duration"] == pytest.approx(found["objective"], rel=1e-6)
    assert error < found["objective"] < 2 * error


@pytest.mark.parametrize("degree", [1, 2])
def test_a_node_moves_to_the_switch(degree):
    """On which the elements are exact, so that the first mesh will do; 8 times as many equal ones are worse."""
    problem = slider()
    sol = tf.solve(problem, tf.MixedGalerkin(degree), tolerance=5e-6)
    assert sol.success and sol.statistics["backend"] == "interior-point"
    assert sol.t[-1] == pytest.approx(DURATION, rel=1e-6)
    assert np.abs(sol.t - SWITCH).min() < 1e-4 and len(sol.t) == 17
    uniform = tf.solve(problem, tf.MixedGalerkin(degree), 8 * 16 + 1)
    assert uniform.objective - DURATION > sol.objective - DURATION


def test_symmetric_slew_is_exact_where_a_node_is_at_the_switch():
    sol = tf.solve(slider(lower=-1), tf.MixedGalerkin(2), tolerance=1e-6)
    assert sol.success and sol.t[-1] == pytest.approx(2**0.5, rel=1e-6)
    assert np.abs(sol.t - sol.t[-1] / 2).min() < 1e-6
    odd = tf.solve(slider(lower=-1), tf.MixedGalerkin(2), tolerance=1e-6, n_elements=15)
    assert odd.success and odd.t[-1] == pytest.approx(2**0.5, rel=1e-6) and odd.statistics["meshes"][0] == 15


def test_path_inequality_to_a_tolerance():
    """Rest to rest over 3 m in 1.5 s, not faster than 2.5 m/s: parabolas of 0.45 s, and an even run between."""
    body = tf.PointMass(2.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    end = {body: tf.EndState(position=[3, None, None], velocity=[0, None, None])}
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 1.5), cost=tf.Effort(push),
                                path=lambda now, u: now.velocity("slider")[0] - 2.5)
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-5)
    exact = 4 * 2.0**2 * 2.5**2 / (3 * 0.45)
    assert sol.success and sol.objective == pytest.approx(exact, rel=1e-6)


# ---- unknown numbers

@pytest.mark.parametrize("bounded", [False, True])
def test_unknown_parameter(bounded):
    body = tf.PointMass(2.0, dimension=1, name="slider")
    push, spring = tf.ControlForce(body, [(1, 0, 0)], name="push"), tf.Spring(body, stiffness=3.0, name="spring")
    end = {body: tf.EndState(position=[3, None, None], velocity=[0, None, None])}
    problem = tf.OptimalControl(tf.System([body, spring]), {body: tf.Pose((1, 0, 0))}, end, (0, 1.5),
                                cost=tf.Effort(push), parameters={"k": (spring, "stiffness")},
                                end_cost=lambda end, numbers: 0.5 * (numbers["k"] - 3)**2,
                                bounds={push: (-15, 15), "k": (0.1, 9)} if bounded else None)
    fine = tf.solve(problem, tf.MixedGalerkin(4), 60)
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-6)
    errors = sol.statistics["estimated_errors"]
    for name, wrong in (("k", sol.parameters["k"] / fine.parameters["k"] - 1),
                        ("objective", sol.objective / fine.objective - 1)):
        assert 0.95 * abs(wrong) < errors[name] < (2.2 if bounded else 1.05) * abs(wrong) <= 1e-6


def test_free_time():
    body = tf.PointMass(2.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    end = {body: tf.EndState(position=[3, None, None], velocity=[0, None, None])}
    cost = [tf.Effort(push), tf.Cost(lambda u, q, v, t: 5.0, name="time")]
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 1.5), cost=cost, free_time=True)
    sol = tf.solve(problem, tf.MixedGalerkin(1), tolerance=1e-4)
    exact = (18 * 4 * 9 / 5) ** 0.25
    errors = sol.statistics["estimated_errors"]
    assert sol.success and errors["duration"] == pytest.approx(abs(sol.t[-1] / exact - 1), rel=0.5)
    assert errors["duration"] <= sol.statistics["estimated_error"] <= 1e-4


# ---- what cannot be

def test_refusals():
    for element in (tf.BubnovGalerkin(2), tf.EML()):
        with pytest.raises(InputError, match=r"multipliers of .* do not converge; take MixedGalerkin"):
            tf.solve(reorientation(), element, tolerance=1e-4)
    crane, _ = trolley_crane()
    with pytest.raises(InputError, match="inverse dynamics takes MixedGalerkin"):
        tf.solve(crane, tf.EML(), tolerance=1e-4)
    for problem in (crane, reorientation()):
        with pytest.raises(InputError, match="tolerance must be positive"):
            tf.solve(problem, tf.MixedGalerkin(2), tolerance=-1e-4)
        with pytest.raises(InputError, match="n_elements or mesh to start from, not both"):
            tf.solve(problem, tf.MixedGalerkin(2), 10, mesh=np.linspace(*problem.t_span, 11), tolerance=1e-4)
        with pytest.raises(InputError, match="give either n_elements or mesh, or tolerance"):
            tf.solve(problem, tf.MixedGalerkin(2))


def test_unattainable_tolerance_of_optimal_control():
    sol = tf.solve(layers(), tf.MixedGalerkin(6), tolerance=1e-18)
    assert not sol.success and sol.status.reason == "not accurate" and "estimated error" in sol.status.message


def test_errors_are_estimated_by_the_method_that_is_given(monkeypatch):
    """The solution on halved elements, too, is one by the tolerance and iterations asked for."""
    seen, solve = [], tf.InteriorPoint.solve

    def noted(self, program):
        seen.append((self.tolerance, self.options.mu_start))
        return solve(self, program)

    monkeypatch.setattr(tf.InteriorPoint, "solve", noted)
    body = tf.PointMass(1.0, dimension=1, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: tf.Pose((1, 0, 0))}, (0, 1),
                                tf.Effort(push), bounds={push: (-5, 5)})
    method = tf.InteriorPoint(tolerance=1e-7, options={"mu_start": 0.05})
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-3, method=method, progress=False)
    assert sol.success and len(seen) >= 2 and set(seen) == {(1e-7, 0.05)}
