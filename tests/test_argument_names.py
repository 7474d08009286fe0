"""Names that are not known: errors with the nearest one."""

import copy
import inspect
import pickle

import pytest

import timefem as tf

BOX = tf.RigidBody(1, [1, 1, 1], name="box")
PROBLEM = tf.InitialValueProblem(tf.System([BOX]), {}, (0, 1))


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: tf.Spring(BOX, stifness=3), TypeError, "'stifness'; did you mean 'stiffness'?"),
    (lambda: tf.RigidBody(1, [1, 1, 1], nam="a"), TypeError, "'nam'; did you mean 'name'?"),
    (lambda: tf.MixedGalerkin(degre=1), TypeError, "'degre'; did you mean 'degree'?"),
    (lambda: tf.InitialValueProblem(PROBLEM.system, stat={}, t_span=(0, 1)), TypeError, "did you mean 'state'?"),
    (lambda: tf.Windows(sise=3), TypeError, "'sise'; it takes window"),
    (lambda: tf.PETSc(option={}), TypeError, "did you mean 'options'?"),
    (lambda: tf.Pose(positon=(1, 2, 3)), TypeError, "did you mean 'position'?"),
    (lambda: tf.solve(PROBLEM, tf.MixedGalerkin(1), 4, dirver="march"), TypeError, "did you mean 'driver'?"),
    (lambda: tf.solve(PROBLEM, tf.MixedGalerkin(1), 4, driver="marsh"), tf.InputError, "did you mean 'march'?"),
    (lambda: tf.Revolute(BOX, axis_A=(0, 0, 1)), TypeError, "did you mean 'axis_a'?"),
    (lambda: tf.Sprng, AttributeError, "did you mean 'Spring'?"),
    (lambda: PROBLEM.system.find("bax"), tf.InputError, "it has box"),
], ids=lambda x: x if isinstance(x, str) else "")
def test_the_nearest_name_is_told(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


RESULTS = {"Conditioning", "CriticalValue", "Equilibrium", "Estimate", "Floquet", "LinearModel", "Lyapunov", "Mode",
           "Modes", "MultiplierRank", "OsimModel", "Periodic", "PhasedSolution", "Robot", "RootLocus", "Simulation",
           "Solution", "StaticPath", "studies"}  # which nobody makes by hand


def arguments(name):
    """Names of the arguments of what users call; none where others go on to `solve`, or there are none."""
    thing = getattr(tf, name)
    if name in RESULTS or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return []
    parameters = (getattr(thing, "__signature__", None) or inspect.signature(thing)).parameters.values()
    return [p.name for p in parameters] if all(p.kind is not p.VAR_KEYWORD for p in parameters) else []


@pytest.mark.parametrize("name", [name for name in tf.__all__ if arguments(name)])
def test_all_that_is_public_tells_the_nearest_argument(name):
    word = max(arguments(name), key=len)
    with pytest.raises(TypeError, match=f"did you mean '{word}'") as caught:
        getattr(tf, name)(**{word[1:] if len(word) > 1 else word + "s": None})
    assert name in str(caught.value)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: tf.floquet(PROBLEM), "solution must be a Solution, not InitialValueProblem"),
    (lambda: tf.lyapunov(BOX), "solution must be a Solution, not RigidBody"),
    (lambda: tf.simulate(PROBLEM, None), "problem must be an OptimalControl, not InitialValueProblem"),
    (lambda: tf.most_likely_noise(3, tf.MixedGalerkin(1)), "problem must be an Estimation, not 3"),
    (lambda: tf.multiplier_rank(BOX, tf.MixedGalerkin(1)), "problem must be an InitialValueProblem, not RigidBody"),
    (lambda: tf.redundant_constraints(system=None, t=0, z=[]), "system must be a System, not None"),
    (lambda: tf.equilibrium(BOX), "system must be a System, not RigidBody"),
    (lambda: tf.describe(PROBLEM), "system must be a System, not InitialValueProblem"),
    (lambda: tf.connect(BOX, BOX), "a must be a Port, not RigidBody"),
])
def test_what_is_of_another_class_is_named(call, words):
    with pytest.raises(tf.InputError, match=words):
        call()


def test_unknown_cases(timefem):
    status, out, err = timefem("run", "spining-box")
    assert status and not out and err.splitlines() == [
        "timefem: error: case: there is no 'spining-box'; did you mean 'spinning-box'?"]


def test_objects_are_copied_and_pickled_as_before():
    element = tf.MixedGalerkin(2, form="impulse")
    assert pickle.loads(pickle.dumps(element)) == element == copy.deepcopy(element)


def test_the_public_names_are_all_that_is_seen():
    names = [name for name in dir(tf) if not name.startswith("_")]
    assert {"solve", "RigidBody", "Spring"} <= set(names)
    assert not {"os", "display", "validate", "lazy_loader", "did_you_mean"} & set(names)


@pytest.mark.parametrize("package", ["mechanics", "problems"])
def test_names_of_rooms_are_there(package):
    room = getattr(tf, package)
    assert room.__all__ and all(getattr(room, name).__module__.startswith("timefem.") for name in room.__all__)
