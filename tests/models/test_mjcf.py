"""MJCF files against MuJoCo: the numbers in tests/data/mjcf, see truth.py there."""

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.symbols import Symbols
from timefem.mechanics.values.of_parts import control_force

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[1] / "data" / "mjcf"
N_Q, N_V = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}, {"free": 6, "ball": 3, "slide": 1, "hinge": 1}


class Truth:
    def __init__(self, name, folder):
        self.data = json.loads((FOLDER / f"{name}.json").read_text())
        path = folder / f"{name}.xml"
        path.write_text(self.data["xml"])
        self.robot = tf.read_mjcf(path)
        self.tree, self.places = self.robot.tree, []
        for joint in self.data["joints"]:
            self.places.append(self.tree.joint(joint).dofs)

    def coordinates(self, q):
        out, first = np.zeros(self.tree.n_q), 0
        for place in self.places:
            out[place] = q[first:first + len(place)]
            first += len(place)
        return out

    def rates(self, q):
        """P with qdot = P v."""
        p, column = np.zeros((self.tree.n_q, sum(N_V[k] for k in self.data["kinds"]))), 0
        for place, kind in zip(self.places, self.data["kinds"], strict=True):
            if kind in ("free", "ball"):
                w, x, y, z = q[place[-4:]]
                if kind == "free":
                    p[place[:3], column + np.arange(3)] = 1
                turn = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2
                p[np.ix_(place[-4:], column + 3 * (kind == "free") + np.arange(3))] = turn
            else:
                p[place[0], column] = 1
            column += N_V[kind]
        return p


@pytest.fixture(scope="module", params=["arm", "flyer"])
def truth(request, tmp_path_factory):
    return Truth(request.param, tmp_path_factory.mktemp("mjcf"))


def test_masses(truth):
    found = {link.name: link.mass for link in truth.tree.links}
    for name, mass in truth.data["masses"].items():
        assert found[name] == pytest.approx(mass, rel=1e-13)


def test_start(truth):
    q, _ = truth.tree.state(truth.robot.start)
    np.testing.assert_allclose(q, truth.coordinates(np.array(truth.data["start"])), rtol=0, atol=1e-14)


def test_mass_matrix(truth):
    for sample in truth.data["samples"]:
        q = truth.coordinates(sample["q"])
        p = truth.rates(q)
        found = p.T @ truth.tree.mass_matrix(q) @ p
        np.testing.assert_allclose(found, sample["mass"], rtol=0, atol=1e-12 * np.abs(found).max())


def test_forces(truth):
    """Springs and dampers; and the bias forces, as those of the acceleration that MuJoCo finds."""
    tree, s = truth.tree, Symbols(truth.tree)
    v = ca.SX.sym("v", tree.n_q)
    s.velocity = [v]
    held = ca.gradient(ca.SX(tree.potential_energy(s)), s.q[0])
    passive = ca.Function("passive", [s.q[0], v, s.own], [tree.force(s) - held])
    for sample in truth.data["samples"]:
        q, step = truth.coordinates(sample["q"]), 1e-6
        p = truth.rates(q)
        rate = p @ sample["v"]
        found = p.T @ np.array(passive(q, rate, tree.own_parameters)).ravel()
        np.testing.assert_allclose(found, sample["passive"], rtol=0, atol=1e-12)
        turn = (truth.rates(q + step * rate) - truth.rates(q - step * rate)) / (2 * step) @ sample["v"]
        inverse = tree.inverse_dynamics(q, rate, p @ sample["a"] + turn, truth.robot.gravity)
        size = np.abs(sample["bias"]).max()
        np.testing.assert_allclose(p.T @ inverse, sample["passive"], rtol=0, atol=1e-8 * size)


def written(folder, world, more="", name="robot.xml"):
    path = folder / name
    path.write_text(f'<mujoco model="m">\n{more}\n<worldbody>\n{world}\n</worldbody></mujoco>')
    return path


ROD = '<body name="{0}" pos="{1}"><joint name="{0}" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" ' \
      'size="0.05"/>{2}</body>'


def test_equality_and_motors(tmp_path):
    """A parallelogram closed by a connect constraint, a joint that follows another one, and a motor."""
    world = ROD.format("a", "0 0 0", ROD.format("b", "1 0 0", "")) + ROD.format("c", "0 0 -1", "") + \
        ROD.format("d", "0 1 0", "")
    path = written(tmp_path, world, """<equality><connect body1="b" body2="c" anchor="0 0 -1"/>
        <joint joint1="d" joint2="a" polycoef="0.1 2 0 0 0"/></equality>
        <actuator><motor name="drive" joint="a" gear="3"/><position joint="b" kp="3"/></actuator>""")
    robot = tf.read_mjcf(path)
    with pytest.raises(tf.InputError, match=r"state must be a dict from joint to position .* not \(0, 1\)"):
        robot.problem((0, 1))
    assert robot.tree.joint_names == ("a", "b", "c") and len(robot.joints) == 1
    assert robot.notes == ("contacts are left out", "<position> actuator 2 is left out: only motors of hinges, "
                           "slides and fixed tendons of these act here")
    system = robot.system(parts=list(robot.actuators.values()))
    z = np.zeros(system.n_z)
    np.testing.assert_allclose(control_force(system, 0.0, z, [2.0]), (6, 0, 0), rtol=0, atol=0)
    np.testing.assert_allclose(robot.joints[0].point_b, (1, 0, 0), rtol=0, atol=1e-15)
    states = robot.tree.joint_states(np.array([0.3, 0, 0]), np.zeros(3))
    assert states["d"][0] == pytest.approx(0.7, abs=1e-15)


def test_motors_of_tendons(tmp_path):
    """A fixed tendon pulls its joints with their arms, of which one follows another; spatial ones are left out."""
    world = ROD.format("a", "0 0 0", ROD.format("b", "1 0 0", "")) + ROD.format("c", "0 1 0", "")
    path = written(tmp_path, world, """<equality><joint joint1="c" joint2="a" polycoef="0 2 0 0 0"/></equality>
        <tendon><fixed name="flexor"><joint joint="a" coef="0.1"/><joint joint="b" coef="-0.3"/>
        <joint joint="c" coef="0.05"/></fixed><spatial name="rope"/></tendon>
        <actuator><motor name="pull" tendon="flexor" gear="10"/><motor name="other" tendon="rope"/></actuator>""")
    robot = tf.read_mjcf(path)
    assert list(robot.actuators) == ["pull"] and any("rope" in note for note in robot.notes)
    system = robot.system(parts=list(robot.actuators.values()))
    force = control_force(system, 0.0, np.zeros(system.n_z), [2.0])
    np.testing.assert_allclose(force, (2 * 10 * (0.1 + 2 * 0.05), -6), rtol=0, atol=1e-14)


def test_loop_runs(tmp_path):
    world = ROD.format("a", "0 0 0", ROD.format("b", "1 0 0", "")).replace('name="b" axis', 'name="b" ref="20" axis')
    path = written(tmp_path, world, '<equality><connect body1="b" anchor="1 0 0"/></equality>')
    problem = tf.read_mjcf(path).problem({"b": 0.35}, (0, 0.2), gravity=(0, 0, 0))
    assert problem.system.n_constraints == 2  # in its plane
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 5, progress=False)
    assert sol.success
    end = tf.read_mjcf(path).tree.link("b", (1, 0, 0))
    np.testing.assert_allclose(end.position(sol.z[-1][:2]), (2, 0, 0), rtol=0, atol=1e-9)


def test_included(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rod.xml").write_text("<mujocoinclude>" + ROD.format("a", "0 0 0", "") + "</mujocoinclude>")
    robot = tf.read_mjcf(written(tmp_path, '<include file="parts/rod.xml"/>'))
    assert robot.tree.joint_names == ("a",)
    (tmp_path / "parts" / "more.xml").write_text('<mujocoinclude><include file="rod.xml"/></mujocoinclude>')
    robot = tf.read_mjcf(written(tmp_path, '<include file="parts/more.xml"/>'))  # beside the file that includes it
    assert robot.tree.joint_names == ("a",)
    for name, message in (("../x.xml", "outside the folder"), ("/etc/passwd", "outside the folder"),
                          ("none.xml", "cannot be read"), ("robot.xml", "included already")):
        with pytest.raises(tf.InputError, match=message):
            tf.read_mjcf(written(tmp_path, f'<include file="{name}"/>'))


def test_weld_with_pose_and_anchor(tmp_path):
    """The anchor of the second body comes to the place of `relpose` in the first one, as in MuJoCo's engine."""
    world = ROD.format("a", "0 0 0", "") + \
        '<body name="c" pos="2 0 0"><freejoint name="c"/><geom type="box" size="0.1 0.2 0.3"/></body>'
    half = 0.5**0.5
    path = written(tmp_path, world, f'''<equality><weld body1="a" body2="c" anchor="0.1 0.2 0.3"
        relpose="0.4 0.5 0.6 {half} 0 0 {half}"/></equality>''')
    robot = tf.read_mjcf(path)
    system = robot.system()
    q = tf.InitialValueProblem(system, tf.assemble(system, {robot.tree: robot.start}), (0, 1)).z0[:robot.tree.n_q]
    (x, r), (y, s) = robot.tree.link_pose("a", q), robot.tree.link_pose("c", q)
    np.testing.assert_allclose(y + s @ (0.1, 0.2, 0.3), x + r @ (0.4, 0.5, 0.6), rtol=0, atol=1e-12)
    np.testing.assert_allclose(r.T @ s, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], rtol=0, atol=1e-12)


def test_aligned_free_joints(tmp_path):
    """MuJoCo turns the frames of such bodies, and with them what their coordinates mean."""
    world = '<body name="c"><freejoint name="f" align="{}"/><geom type="box" size="0.1 0.2 0.3" pos="1 0 0"/></body>'
    note = "align of <freejoint> f is left out"
    assert note in tf.read_mjcf(written(tmp_path, world.format("true"))).notes
    assert note not in tf.read_mjcf(written(tmp_path, world.format("false"))).notes
    aligned = tf.read_mjcf(written(tmp_path, world.format("auto"), '<compiler alignfree="true"/>'))
    assert "alignfree of <compiler> is left out" in aligned.notes


BAD = {
    "root": ("mujoco", "robot", "line 1: <robot> must be <mujoco>"),
    "number": ('size="0.05"', 'size="wide"', "line 4: <geom> needs numbers for 'size', not 'wide'"),
    "size": ('size="0.05"', 'size="-1"', "needs 2 positive numbers for 'size'"),
    "type": ('type="capsule"', 'type="torus"', "is of type 'torus'; known are sphere"),
    "joint": ('name="a" axis', 'type="screw" axis', "is of type 'screw'; known are hinge"),
    "class": ('name="a" axis', 'class="soft" axis', "is of the class 'soft', which no <default> states"),
    "axis": ('axis="0 1 0"', 'axis="0 0 0"', "axis of length zero"),
    "mesh": ('type="capsule"', 'type="mesh"', "has no attribute 'mesh'"),
    "tag": ("<worldbody>", "<world/><worldbody>", "<world> is unknown in <mujoco>"),
    "composite": ("<geom", "<composite/><geom", "<composite> is not supported in a body"),
    "entity": ("<mujoco", '<!DOCTYPE r [<!ENTITY a "b">]><mujoco', "document types and entities are refused"),
    "equality": ("<worldbody>", '<equality><connect body1="x" anchor="0 0 0"/></equality><worldbody>', "the body 'x'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(case, tmp_path):
    old, new, message = BAD[case]
    text = written(tmp_path, ROD.format("a", "0 0 0", "")).read_text().replace(old, new)
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(tf.InputError, match=message):
        tf.read_mjcf(path)


def test_mutated_files(tmp_path):
    """1000 damaged files: read, or refused in one line, and nothing else."""
    texts = [json.loads((FOLDER / f"{name}.json").read_text())["xml"] for name in ("arm", "flyer")]
    rng, path, refused = np.random.default_rng(0), tmp_path / "mutated.xml", 0
    letters = list('<>"/= 0123456789.-eabhxyz&\n')
    for n in range(1000):
        text = list(texts[n % 2])
        for _ in range(rng.integers(1, 5)):
            i, what = rng.integers(len(text)), rng.integers(3)
            text[i:i + (what != 1) * rng.integers(1, 12)] = rng.choice(letters, rng.integers(1, 4)) if what else []
        path.write_text("".join(text))
        try:
            tf.read_mjcf(path)
        except tf.InputError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert 300 < refused < 1000
