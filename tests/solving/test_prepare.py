"""Prepared solvers: the numbers of fresh solves, whatever is changed, and no more work than needed."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.mechanics.numbers.names import names_of_numbers

pytestmark = pytest.mark.long

SAME = {"rtol": 0, "atol": 1e-12}


def pendulum(mass=2.0, inertia=(0.4, 0.5, 0.3), k=30.0, gravity=-9.81, amplitude=1.5, speed=1.0):
    """A body on a hinge with a spring to the ground, and a load that swings."""
    rod = tf.RigidBody(mass, inertia, name="rod")
    hinge = tf.Revolute(body_a=rod, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    spring = tf.Spring(rod, None, (0.5, 0, 0), (1.0, 0.0, 1.0), k, 0.5, name="spring")
    load = tf.Force(rod, (0.0, 0.0, 2.0), time=tf.Sine(amplitude, 1.0), name="load")
    system = tf.System([rod, hinge, spring, load], gravity=(0, 0, gravity))
    state = {rod: tf.Pose((0.5, 0, 0), velocity=(0, 0, -0.5 * speed), angular_velocity=(0, speed, 0))}
    return tf.InitialValueProblem(system, state, (0, 0.5))


def close(a, b):
    size = np.abs(b.z).max()
    np.testing.assert_allclose(a.z / size, b.z / size, **SAME)
    np.testing.assert_allclose(a.nodal.state / size, b.nodal.state / size, **SAME)
    size = np.abs(b.nodal.multipliers).max(initial=1.0)
    np.testing.assert_allclose(a.nodal.multipliers / size, b.nodal.multipliers / size, rtol=0, atol=1e-10)


CHANGES = {
    "mass": ({"rod.mass": 3.0}, {"mass": 3.0}),
    "inertia": ({"rod.inertia": (0.5, 0.6, 0.4)}, {"inertia": (0.5, 0.6, 0.4)}),
    "principal value": ({"rod.inertia[1]": 0.6}, {"inertia": (0.4, 0.6, 0.3)}),
    "stiffness": ({"spring.stiffness": 45.0}, {"k": 45.0}),
    "gravity": ({"gravity": (0, 0, -1.6)}, {"gravity": -1.6}),
    "component of gravity": ({"gravity[2]": -1.6}, {"gravity": -1.6}),
    "function of time": ({"load.time.amplitude": 2.5}, {"amplitude": 2.5}),
    "several": ({"rod.mass": 2.5, "spring.stiffness": 20.0, "gravity[2]": -5.0},
                {"mass": 2.5, "k": 20.0, "gravity": -5.0}),
}


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(1, 1), tf.EML()], ids=lambda e: e.name)
@pytest.mark.parametrize("name", CHANGES)
def test_changed_numbers(element, name):
    changes, arguments = CHANGES[name]
    solver = tf.prepare(pendulum(), element, 12)
    before = solver.solve()
    kept = before.nodal.state.copy(), before.system.parts[0].mass
    found = solver.solve(parameters=changes)
    close(found, tf.solve(pendulum(**arguments), element, 12))
    close(solver.solve(), tf.solve(pendulum(), element, 12))  # changes count from what was prepared
    assert np.array_equal(before.nodal.state, kept[0]) and before.system.parts[0].mass == kept[1]


@pytest.mark.parametrize("driver", ["march", "global", "windows"])
def test_changed_start_and_time(driver):
    problem, element = pendulum(), tf.MixedGalerkin(2)
    rod = problem.system["rod"]
    solver = tf.prepare(problem, element, 12, driver=driver)
    for speed in (1.0, 2.0, -1.5):
        start = {rod: tf.Pose((0.5, 0, 0), velocity=(0, 0, -0.5 * speed), angular_velocity=(0, speed, 0))}
        close(solver.solve(start=start), tf.solve(pendulum(speed=speed), element, 12, driver=driver))
        close(solver.solve(start=pendulum(speed=speed).z0), tf.solve(pendulum(speed=speed), element, 12, driver=driver))
    longer = solver.solve(t_span=(0, 0.7))
    fresh = pendulum()
    close(longer, tf.solve(tf.InitialValueProblem(fresh.system, fresh._state, (0, 0.7)), element, 12, driver=driver))
    graded = np.linspace(0, 1, 13) ** 1.2 * 0.5
    close(solver.solve(mesh=graded), tf.solve(pendulum(), element, mesh=graded, driver=driver))


def test_original_parts_mean_those_that_stand_for_them():
    problem = pendulum()
    rod = problem.system["rod"]
    solution = tf.prepare(problem, tf.MixedGalerkin(1), 4).solve(parameters={(rod, "mass"): 5.0})
    assert solution.system["rod"].mass == 5.0 and rod.mass == 2.0
    np.testing.assert_array_equal(solution.position(rod, 0.1), solution.position("rod", 0.1))
    # velocities at the start are kept, so that momenta grow with the mass
    np.testing.assert_allclose(solution.velocity(rod, 0.0), (0, 0, -0.5), **SAME)
    np.testing.assert_allclose(solution.z[0, 7:10], (0, 0, -2.5), **SAME)


def test_plans_are_made_once(monkeypatch):
    made, own = [], ElementPlan.__init__
    monkeypatch.setattr(ElementPlan, "__init__", lambda self, *a: made.append(a) or own(self, *a))
    solver = tf.prepare(pendulum(), tf.MixedGalerkin(2), 24)  # a march in doubt makes one of its own
    solver.solve()
    n = len(made)
    for mass in (1.0, 2.0, 3.0):
        solver.solve(parameters={"rod.mass": mass})
    assert len(made) == n


@pytest.mark.parametrize("case, changes", [
    ("four-bar", {"gravity[2]": -4.0}), ("nutating-top", {"gravity[2]": -5.0}), ("rolling-disc", {"gravity[2]": -5.0}),
    ("andrews-squeezer", {}), ("bricard", {"gravity[1]": -3.0}),
])
def test_cases(case, changes):
    """Systems that drop redundant constraints, and nonholonomic ones."""
    problem = find_case(case).make(t_end=0.02)
    names = names_of_numbers(problem.system)
    changes = {name: value for name, value in changes.items() if "gravity" in names}
    body = next(b for b in problem.system.bodies if f"{problem.system.label(b)}.mass" in names)
    changes[f"{problem.system.label(body)}.mass"] = 1.1 * body.mass
    element = tf.MixedGalerkin(1)
    solver = tf.prepare(problem, element, 5)
    solver.solve()
    found = solver.solve(parameters=changes)
    again = tf.prepare(problem, element, 5).solve(parameters=changes)
    close(found, again)
    assert found.success and np.abs(found.z - solver.solve().z).max() > 1e-9


def test_redundant_constraints_stay_dropped():
    box = tf.RigidBody(1.0, (1, 1, 1), name="box")
    joints = [tf.Spherical(body_a=box, point_a=(x, 0, 0), point_b=(x, 0, 0), name=f"tip {x}") for x in (0, 1)]
    system = tf.System([box, *joints], gravity=(0, 0, -9.81), redundant="drop")
    problem = tf.InitialValueProblem(system, {box: tf.Pose(angular_velocity=(1, 0, 0))}, (0, 0.2))
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 5)
    found = solver.solve(parameters={"box.mass": 3.0})
    assert found.system.dropped == problem.system.dropped and found.system["box"].mass == 3.0
    other = tf.RigidBody(3.0, (1, 1, 1), name="box")
    joints = [tf.Spherical(body_a=other, point_a=(x, 0, 0), point_b=(x, 0, 0), name=f"tip {x}") for x in (0, 1)]
    system = tf.System([other, *joints], gravity=(0, 0, -9.81), redundant="drop")
    close(found, tf.solve(tf.InitialValueProblem(system, {other: tf.Pose(angular_velocity=(1, 0, 0))}, (0, 0.2)),
                          tf.MixedGalerkin(2), 5))


def test_formulas_and_composites():
    pendulum = tf.GeneralizedSystem(1, lambda q, v, c: c[0] * c[1] ** 2 * v[0] ** 2 / 2,
                                    lambda q, c: -9.81 * c[0] * c[1] * np.cos(1.0) * q[0], parameters=[2.0, 0.5])
    problem = tf.InitialValueProblem(pendulum, tf.Coordinates([1.0], [0.0]), (0, 1))
    found = tf.prepare(problem, tf.MixedGalerkin(1), 5).solve(parameters={"body1.parameters[1]": 0.7})
    assert found.system.bodies[0].formula_parameters.tolist() == [2.0, 0.7]
    np.testing.assert_allclose(found.z[-1, 0], 1 + 9.81 * np.cos(1.0) / 0.7 / 2, **SAME)

    def hanging(stiffness):
        rope = tf.Rope(1.0, tf.RopeSection(stiffness, 0.1), n_elements=2, name="rope")
        top = tf.Spherical(body_a=rope.at(0), point_a=(0, 0, 0), point_b=(0, 0, 0))
        return tf.InitialValueProblem(tf.System([rope, top], gravity=(0, 0, -9.81)), {}, (0, 0.1))

    solver = tf.prepare(hanging(100.0), tf.MixedGalerkin(2), 5)
    close(solver.solve(parameters={"rope.section": tf.RopeSection(300.0, 0.1)}),
          tf.solve(hanging(300.0), tf.MixedGalerkin(2), 5))


@pytest.mark.parametrize("arguments, words", [
    ({"parameters": {"rod.mas": 1}}, "did you mean 'mass'"),
    ({"parameters": {"rad.mass": 1}}, "did you mean 'rod.mass'"),
    ({"parameters": {"gravty": (0, 0, 0)}}, "did you mean"),
    ({"parameters": {"load.time.amplitud": 1}}, "did you mean 'amplitude'"),
    ({"parameters": {"rod.inertia[7]": 1}}, "no entry 'rod.inertia"),
    ({"parameters": {"rod.mass": -1}}, "'rod': mass must be positive"),
    ({"parameters": {"rod.inertia": (1, 1, np.nan)}}, "'rod': inertia must be finite"),
    ({"parameters": {("rod",): 1}}, "is neither a name such as"),
    ({"parameters": {"rod.inertia[0]": 1, "rod.inertia": (1, 1, 1)}}, "the same number, or one inside of the other"),
    ({"parameters": [1]}, "must be a dict"),
    ({"strt": {}}, "did you mean 'start'"),
    ({"end": {}}, "could change"),
    ({"start": {"rad": tf.Pose()}}, "no body 'rad'"),
    ({"start": {"rod": tf.Pose((0.6, 0, 0))}}, "violates the constraint"),
    ({"mesh": [0, 0.2]}, "time span"),
    ({"t_span": (1, 0)}, "go forward"),
])
def test_wrong_input_is_refused(arguments, words):
    solver = tf.prepare(pendulum(), tf.MixedGalerkin(1), 4)
    with pytest.raises(tf.InputError, match=words):
        solver.solve(**arguments)
    close(solver.solve(), tf.solve(pendulum(), tf.MixedGalerkin(1), 4))  # no harm is done


def test_no_checkpoint():
    with pytest.raises(tf.InputError, match="belongs to one solve"):
        tf.prepare(pendulum(), tf.MixedGalerkin(1), 4, checkpoint="a.h5")


def test_rates_of_joints_and_rotors_see_other_inertias():
    def problem(inertia):
        bar = tf.RigidBody(2.0, (0.35, 0.1, inertia), name="bar")
        hinge = tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                            name="hinge")
        motor = tf.Motor(hinge, gear=20, rotor_inertia=1e-3, torque=tf.Sine(0.1, 0.5), name="motor")
        system = tf.System([bar, hinge, motor], gravity=(0, -9.81, 0))
        return tf.InitialValueProblem(system, {"hinge": (0.4, 2.0)}, (0, 1))

    found = tf.prepare(problem(0.3), tf.MixedGalerkin(2), 20).solve(parameters={"bar.inertia[2]": 0.42})
    fresh = tf.solve(problem(0.42), tf.MixedGalerkin(2), 20)
    np.testing.assert_allclose(found.z, fresh.z, rtol=0, atol=1e-12)
    assert abs(found.joint("hinge").rate(0.0) - 2.0) < 1e-12
    np.testing.assert_allclose(found.joint("hinge").rate(), fresh.joint("hinge").rate(), rtol=0, atol=1e-12)
