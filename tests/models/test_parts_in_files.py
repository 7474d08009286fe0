"""Parts in model files: read, solved as from Python, saved, and differentiated against files with other numbers."""

import numpy as np
import pytest

import timefem as tf
from tests.mechanics.forces.test_parts_on_trees import DRIVES, GRAVITY, PARTS, SPAN, STATE, marched, on_tree
from timefem.models import load_model

pytestmark = pytest.mark.long

TEXT = 'law = "-c[0] * (x[0] - 0.1) - c[1] * v[0]"\nparameters = [3.0, 0.5]'
SWIRL = """
arm = f[0].direction([0, 0, 0.2])
F = c[0] * cross(f[0].velocity_at(arm), [0, 1, 0])
M = cross(arm, F)
[F[0], F[1], F[2], M[0], M[1], M[2]]
"""
FILE = """
gravity = [0, 0, -9.81]
[time]
span = [0, 0.1]
n_elements = 10
[solver]
degree = 2
[bodies.arm]
type = "tree"
links = [{name = "base"}, {name = "a", mass = 2, centre = [0, 0, 0.3], inertia = [0.05, 0.05, 0.01]},
         {name = "b", mass = 1, centre = [0, 0, 0.2], inertia = [0.02, 0.02, 0.015]}]
joints = [{name = "s", parent = "base", child = "a", axis = [0, 1, 0]},
          {name = "e", parent = "a", child = "b", position = [0, 0, 0.6], axis = [0, 1, 0]}]
[bodies.arm.state]
s = [0.3, 1.0]
e = [0.5, -1.0]
"""
ENTRIES = {  # points count from the frame of the link
    "joint_spring": 'joint = "e"\nstiffness = 5\nrest = 0.1', "joint_damper": 'joint = "e"\ndamping = 0.2',
    "joint_force": 'joint = "e"\nvalue = {sine = {amplitude = 1, frequency = 2}}',
    "joint_friction": 'joint = "e"\nfriction = 0.3\nfriction_width = 0.5\nbreakaway = 0.4\nstribeck = 1.0',
    "end_stop": 'joint = "e"\nlowest = -0.5\nhighest = 0.48\nstiffness = 500\ndamping = 0.2',
    "motor": 'joint = "s"\ngear = 20\ndamping = 1e-3\ntorque = {sine = {amplitude = 0.1, frequency = 2}}',
    "rotor": 'joint = "s"\ngear = 20\ndamping = 1e-3\nrotor_inertia = 1e-3\n'
             'torque = {sine = {amplitude = 0.1, frequency = 2}}',
    "pd_control": 'joint = "e"\nstiffness = 20\ndamping = 1\nreference = {sine = {amplitude = 0.2, frequency = 1}}',
    "prescribed_joint": 'joint = "e"\nvalue = {polynomial = {coefficients = [0.5, -1.0, 0.3]}}',
    "spring": 'bodies = ["arm.b", "arm.a"]\npoint_a = [0, 0, 0.4]\npoint_b = [0.2, 0, 0.3]\nstiffness = 30',
    "damper": 'bodies = ["arm.b"]\npoint_a = [0, 0, 0.4]\npoint_b = [1, 0, 0]\ndamping = 3',
    "slack_rope": 'bodies = ["arm.b"]\npoint_a = [0, 0, 0.4]\npoint_b = [1, 0, 0]\nlength = 0.9\nstiffness = 300',
    "drag": 'body = "arm.b"\ncoefficient = 0.5\npoint = [0, 0, 0.4]',
    "force": 'body = "arm.b"\nvalue = [1, 2, 3]\npoint = [0, 0, 0.2]\nframe = "body"\n'
             'time = {sine = {amplitude = 1, frequency = 2}}',
    "plane_contact": 'body = "arm.b"\npoints = [[0, 0, 0.4]]\nradius = 0.05\nstiffness = 1e3\ndamping = 0.1\n'
                     'friction = 0.2\nfriction_width = 0.05\nplane_point = [0, 0, 0.9]',
    "controller": f'drives = ["e"]\n{TEXT}',
    "sampled": f'drives = [["e", "angle"]]\nperiod = 0.02\ndelay = 0.01\n{TEXT}',
    "formula_force": f'bodies = ["arm.b"]\nformula = """{SWIRL}"""\nparameters = [3.0]',
}
TABLES = {"motor": "actuators", "prescribed_joint": "joints"}


def written(tmp_path, name, more=""):
    path, kind = tmp_path / "model.toml", {"rotor": "motor", "sampled": "sampled_controller"}.get(name, name)
    path.write_text(f'{FILE}[{TABLES.get(kind, "forces")}.x]\ntype = "{kind}"\n{ENTRIES[name]}\n{more}')
    return path


@pytest.mark.long
@pytest.mark.parametrize("name", ENTRIES)
def test_model_files_and_saved_solutions(tmp_path, name):
    sol = load_model(written(tmp_path, name)).solve(progress=False)
    same = marched(on_tree(PARTS[name])[0])
    np.testing.assert_allclose(sol.z, same.z, rtol=0, atol=1e-12)
    for which in (sol, same):
        which.save(tmp_path / "s.h5")
        again = tf.load(tmp_path / "s.h5")
        np.testing.assert_array_equal(again.energy(), which.energy())
        np.testing.assert_array_equal(again.energy.work(), which.energy.work())
        np.testing.assert_array_equal(again.joint("e").force(), which.joint("e").force())


NUMBERS = {  # as a key of the file, and as a parameter
    "joint_spring": "rest", "joint_damper": "damping", "joint_force": "value.sine.amplitude",
    "joint_friction": "friction", "end_stop": "highest", "motor": "gear", "rotor": "rotor_inertia",
    "pd_control": "stiffness", "spring": "stiffness", "damper": "damping", "slack_rope": "length",
    "drag": "coefficient", "force": "value[0]", "plane_contact": "friction", "controller": "parameters[0]",
    "sampled": "parameters[1]", "formula_force": "parameters[0]",
}


@pytest.mark.long
@pytest.mark.parametrize("name", NUMBERS)
def test_sensitivities_of_files(tmp_path, name):
    number = NUMBERS[name]
    parameter = f"x.{number.replace('sine.', '')}"
    path = written(tmp_path, name, f'[sensitivity]\nof = ["end:arm.v[0]"]\nparameters = ["{parameter}"]\n')
    model = load_model(path)
    found, = model.sensitivities()["functionals"].values()
    table = TABLES.get({"rotor": "motor"}.get(name, name), "forces")
    key, ends = f"{table}.x.{number}", []
    at = model.document.number(key)
    h = 1e-4 * abs(at)
    for sign in (1, -1):
        other = load_model(path, changes={key: at + sign * h})
        ends.append(next(iter(other.sensitivities()["functionals"].values()))["value"])
    kinked = name in ("end_stop", "plane_contact", "slack_rope")
    np.testing.assert_allclose(found["derivatives"], (ends[0] - ends[1]) / (2 * h), rtol=2e-4 if kinked else 1e-6)
    assert abs(found["derivatives"][0]) > 1e-6


IN_FILES = {
    "joint_control": 'joint = "e"', "motor": 'joint = "e"\ngear = 2',
    "length_control": 'bodies = ["arm.b", "arm.a"]\npoint_a = [0, 0, 0.3]\npoint_b = [0.2, 0, 0.3]',
    "control_force": 'body = "arm.b"\ndirections = [[1, 0, 0]]\npoint = [0, 0, 0.3]\nframe = "body"\n'
                     'reaction = "arm.a"',
    "control_torque": 'body = "arm.b"\naxes = [[0, 1, 0]]\nreaction = "arm.a"',
    "thruster": 'body = "arm.b"\ndirection = [1, 0, 0]\npoint = [0, 0, 0.3]\ndrag = 0.1',
    "formula_force": 'bodies = ["arm.b"]\nformula = "c[0] * f[0].velocity * u[0]"\nparameters = [3.0]\nn_controls = 1',
}
OF_DRIVES = {"motor": "gear", "length_control": "point_b[0]", "control_force": "point[2]", "thruster": "point[2]",
             "formula_force": "parameters[0]"}


@pytest.mark.long
@pytest.mark.parametrize("name", IN_FILES)
def test_drives_that_controllers_move(tmp_path, name):
    """By a law in the file, as from Python; and by a number of the drive, which the controller has as well."""
    path = tmp_path / "model.toml"
    number = OF_DRIVES.get(name)
    text = f'{FILE}[actuators.x]\ntype = "{name}"\n{IN_FILES[name]}\n' \
        '[outputs.bend]\ntype = "formula"\nbodies = ["arm"]\nformula = "f[0].q[1] + f[0].q[0]**2"\n' \
        '[forces.law]\ntype = "controller"\ndrives = ["x"]\ninputs = ["e", "bend"]\n' \
        'law = "c[0] + x[0] - 0.1 * v[1]"\nparameters = [2.0]\n'
    asked = '", "'.join(["law.parameters[0]"] + [f"x.{number}"] * (number is not None))
    path.write_text(f'{text}[sensitivity]\nof = ["end:arm.v[0]"]\nparameters = ["{asked}"]\n')
    model = load_model(path)
    sol = model.solve(progress=False)
    if name != "formula_force":  # whose force acts at another point there
        (problem, drive), law = on_tree(DRIVES[name]), lambda x, v, t, c: c[0] + x[0] - 0.1 * v[1]
        arm = problem.system.bodies[0]
        bend = tf.FormulaOutput(lambda q: q[1] + q[0]**2, arm)
        led = tf.Controller([drive], law, [arm.joint("e"), bend], [2.0])
        same = marched(tf.InitialValueProblem(tf.System([arm, led], gravity=GRAVITY), {arm: STATE}, SPAN))
        np.testing.assert_allclose(sol.z, same.z, rtol=0, atol=1e-12)
        same.save(tmp_path / "s.h5")  # its drive is not in the system
        np.testing.assert_array_equal(tf.load(tmp_path / "s.h5").work(), same.energy.work())
    found = next(iter(model.sensitivities(sol)["functionals"].values()))["derivatives"]
    for change, key in zip(found, ("forces.law.parameters[0]", f"actuators.x.{number}")[:len(found)], strict=True):
        at, ends = model.document.number(key), []
        h = 1e-4 * abs(at)
        for sign in (1, -1):
            other = load_model(path, changes={key: at + sign * h})
            ends.append(next(iter(other.sensitivities()["functionals"].values()))["value"])
        np.testing.assert_allclose(change, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, err_msg=key)
        assert abs(change) > 1e-6


def test_constraints_and_potentials_by_formulas_are_saved(tmp_path):
    """Python functions become texts, with which a system rebuilt has the same numbers, and a text stays as it is."""
    beads = [tf.PointMass(1.0, name=name) for name in "ab"]
    system = tf.System([
        *beads, tf.Constraint(beads[0], lambda f, t, c: f[0].position[2] - c[0] * f[0].position[0]**2, 1, [0.3],
                              ["bowl"]),
        tf.NonholonomicConstraint(beads[1], "f[0].velocity[1] - sin(t) * f[0].velocity[0]", 1),
        tf.NonlinearSpring(*beads, potential=lambda l, k: k * (l - 1)**4, parameters=[4.0]),
        tf.Force(beads[0], value=(0, "sin(t)", lambda t: t**2))], gravity=GRAVITY)
    state = {beads[0]: tf.Pose((1, 0, 0.3), velocity=(0, 0.5, 0)), beads[1]: tf.Pose((2, 1, 1), velocity=(1, 0, 0))}
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 1)), tf.MixedGalerkin(2), 20, progress=False)
    sol.save(tmp_path / "s.h5")
    again = tf.load(tmp_path / "s.h5")
    np.testing.assert_array_equal(again.energy.work(), sol.energy.work())
    np.testing.assert_array_equal(again.system.constraints(sol.t, sol.z), system.constraints(sol.t, sol.z))
    assert list(again.system.constraint_names) == list(system.constraint_names) == ["Constraint 1: bowl"]
    more = tf.solve(tf.InitialValueProblem(again.system, {"a": state[beads[0]], "b": state[beads[1]]}, (0, 1)),
                    sol.element, 20, progress=False)
    np.testing.assert_allclose(more.z, sol.z, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("text", "message"), [
    ('law = "-c[0] * y"', r"forces.x.law: .* unknown name 'y'; it has x, v, t, c, pi"),
    ('law = "open(1)"', r"forces.x.law: .* unknown name 'open'"),
    ('law = "x[0].__class__"', "has no '__class__'"),
    ('law = ["x[0]", "v[0]"]', "must return 1 value"),
    ('law = "x[3]"', "out of bounds"),
    ("law = 3", "forces.x.law: must be a formula in quotes"),
    ('law = "x[0]"\ninputs = ["elbow"]', "forces.x.inputs.0.: there is no joint 'elbow'"),
])
def test_laws_that_are_refused(tmp_path, text, message):
    path = tmp_path / "model.toml"
    path.write_text(f'{FILE}[forces.x]\ntype = "controller"\ndrives = ["e"]\n{text}\n')
    with pytest.raises(tf.InputError, match=message):
        load_model(path)
