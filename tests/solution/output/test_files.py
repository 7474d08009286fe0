"""Save and load: bit for bit, atomic, and clear about what cannot be read or written."""

import json
import os
import pickle
import stat

import h5py
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem.atomic_write import check_writable
from timefem.mechanics.describe import build, describe
from timefem.solution import load
from timefem.solution.output.hdf5 import seal
from timefem.solution.solution import Solution
from timefem.status import Status

pytestmark = pytest.mark.long

FULL = [[5.0, 0.3, -0.2], [0.3, 6.0, 0.1], [-0.2, 0.1, 7.0]]


def full_inertia(rotation, **options):
    """Two bodies with products of inertia, one held at a point, and gravity on one only."""
    a = tf.RigidBody(2, FULL, rotation, name="a", size=(1, 2, 3), **options)
    b = tf.RigidBody(3, FULL)
    support = tf.FixedPoint(a, [0, 0, 1.5], at=[0.1, 0.2, 1.7])
    system = tf.System([support, b, tf.Gravity(b, [0, 0.3, -9.81], name="weight"), a])
    return tf.InitialValueProblem(system, {a: tf.Pose([0.1, 0.2, 0.2]), b: tf.Pose(angular_velocity=[1, 2, 3])},
                                  (0, 0.2))


PROBLEMS = {**{f"box {r}": (lambda r=r: spinning_box(r, 0.2)) for r in ROTATIONS},
            **{f"pendulum {r}": (lambda r=r: pendulum(r, 0.2)) for r in ROTATIONS},
            **{f"full inertia {r}": (lambda r=r: full_inertia(r)) for r in ROTATIONS},
            "exact": lambda: full_inertia("quaternion", inverse_mass="exact")}
ELEMENTS = [tf.MixedGalerkin(2, n_points=3), tf.MixedGalerkin(4, nodes="lobatto"), tf.BubnovGalerkin(2, drop="end"),
            tf.BubnovGalerkin(2, multipliers="continuous")]


def assert_equal(a, b):
    """Two solutions are equal bit for bit, and give the same energies and tables."""
    for name in ("t", "z", "nodal_state", "nodal_multipliers"):
        x, y = getattr(a, name), getattr(b, name)
        assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes(), name
    assert a.element == b.element and a.status == b.status
    assert a.system.constraint_names == b.system.constraint_names
    for one, other in zip(a.system.parts, b.system.parts, strict=True):
        assert type(one) is type(other) and one.kind == other.kind and one.name == other.name
        assert one.parameters.tobytes() == other.parameters.tobytes()
    assert a.to_dict() == b.to_dict()  # statistics, energies, momenta, constraints


@pytest.fixture
def sol():
    return tf.solve(spinning_box(t_end=0.2), tf.MixedGalerkin(2), 4, progress=False)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_round_trip_of_systems(problem, tmp_path):
    sol = tf.solve(problem(), tf.MixedGalerkin(1), 4, progress=False)
    sol.save(tmp_path / "a.h5")
    assert_equal(sol, load(tmp_path / "a.h5"))


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_round_trip_of_elements(element, tmp_path):
    sol = tf.solve(pendulum(t_end=0.3), element, 3, progress=False)
    assert sol.success
    sol.save(str(tmp_path / "a.h5"))
    loaded = load(str(tmp_path / "a.h5"))
    assert_equal(sol, loaded)
    t = np.linspace(0, 0.3, 7)
    assert np.array_equal(sol(t), loaded(t)) and np.array_equal(sol.multipliers(t), loaded.multipliers(t))


@pytest.mark.parametrize("n_solved", [0, 3])
def test_partial_solutions(sol, n_solved, tmp_path):
    status = Status.failure("not converged", n_solved, sol.t[n_solved], [1.0, np.inf, np.nan])
    part = Solution(sol.system, sol.element, sol.t[:n_solved + 1], sol.z[0], sol.nodal.state[:n_solved],
                    sol.nodal.multipliers[:n_solved], status, sol.statistics)
    part.save(tmp_path / "a.h5")
    loaded = load(tmp_path / "a.h5")
    assert not loaded.success and "not converged in element" in loaded.status.message
    assert loaded.nodal.state.tobytes() == part.nodal.state.tobytes() and loaded.z.shape == (n_solved + 1, 14)
    np.testing.assert_equal(loaded.status.as_dict(), status.as_dict())
    assert np.array_equal(loaded.energy(), part.energy())


def test_solve_that_fails_at_once(tmp_path):
    sol = tf.solve(spinning_box(t_end=5), tf.BubnovGalerkin(2), 2, newton=tf.Newton(max_iterations=1), progress=False)
    assert not sol.success and len(sol.t) == 1
    sol.save(tmp_path / "a.h5")
    assert_equal(sol, load(tmp_path / "a.h5"))


def test_large_texts(sol, tmp_path):
    """More text than the 64 KiB that HDF5 keeps in an object header."""
    sol.statistics["note"] = "x" * 200_000
    sol.save(tmp_path / "a.h5")
    assert load(tmp_path / "a.h5").statistics["note"] == sol.statistics["note"]


def test_numpy_statistics(sol, tmp_path):
    sol.statistics |= {"n": np.int64(3), "list": np.arange(2.0)}
    sol.save(tmp_path / "a.h5")
    assert load(tmp_path / "a.h5").statistics["list"] == [0.0, 1.0]


def test_no_code_in_the_file(sol, tmp_path):
    sol.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert set(file) == {"t", "z0", "nodal_state", "nodal_multipliers", "audit"}
        assert all(file[name].dtype == float and file[name].fletcher32 for name in file)
        assert file.attrs["format_version"] == 2 and file.attrs["timefem_version"] == tf.__version__


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_box_size_is_kept(rotation):
    body = build(describe(full_inertia(rotation).system)).find("a")
    assert body.size.tolist() == [1, 2, 3]


@pytest.mark.parametrize("size", [(1, 2), (1, 2, 0), "box"])
def test_box_size_is_checked(size):
    with pytest.raises(tf.InputError, match="size"):
        tf.RigidBody(1, [1, 1, 1], size=size)


def test_beams_along_curves_are_kept_as_points():
    """What a function of Python says of a curve goes to files, and to other processes, as points."""
    arc = tf.Curve(lambda u: np.stack([np.sin(u), 1 - np.cos(u), 0 * u], axis=1), 1.2, (0, 0, 1), twist=0.3)
    section = tf.Section(EA=500, GA=500, GJ=20, EI=20, mass=1, inertia=(0.08, 0.04, 0.04))
    system = tf.System([tf.Beam(arc, section, 2, 2, name="bow")])
    again = build(json.loads(json.dumps(describe(system))))
    for other in again.composites[0], pickle.loads(pickle.dumps(system)).composites[0]:
        for (x, axes), (place, triad) in zip(other.rest, system.composites[0].rest, strict=True):
            np.testing.assert_allclose(x, place, rtol=0, atol=1e-15)
            np.testing.assert_allclose(axes, triad, rtol=0, atol=1e-14)
    assert describe(again) == describe(system)


# ---- what cannot be saved

def test_unknown_part_is_named_when_saving(sol, tmp_path):
    class Wind(tf.Gravity):
        """A force that files do not know, though they know its base class."""

    system = tf.System([*sol.system.parts, Wind(sol.system.bodies[0], [1, 0, 0], name="storm")])
    sol.system = system
    with pytest.raises(tf.InputError, match=r"storm cannot be saved: .*, and Wind is not one"):
        sol.save(tmp_path / "a.h5")
    assert os.listdir(tmp_path) == []


def test_function_in_a_part_is_named_when_saving():
    system = pendulum().system
    vars(system.parts[1])["point"] = lambda t: t  # as a part of one's own might hold; those of timefem refuse it
    with pytest.raises(tf.InputError, match="support cannot be saved: point is <function"):
        describe(system)


def test_unknown_element_is_named_when_saving(sol, tmp_path):
    class Own(tf.MixedGalerkin):
        """An element that files do not know."""

    sol.element = Own(2)
    with pytest.raises(tf.InputError, match="Own"):
        sol.save(tmp_path / "a.h5")


# ---- what cannot be read

def change(path, **attributes):
    with h5py.File(path, "a") as file:
        for name, (old, new) in attributes.items():
            assert old in file.attrs[name]
            file.attrs[name] = file.attrs[name].replace(old, new)
    seal(path)


@pytest.mark.parametrize("name, old, new, message", [
    ("system", "QuaternionBody", "Subprocess", "unknown part 'Subprocess'; known are .*QuaternionBody"),
    ("system", '"mass"', '"weight"', "damaged"),
    ("system", '"parts"', '"things"', "damaged"),
    ("element", "MixedGalerkin", "Trapezoidal", "unknown element 'Trapezoidal'"),
    ("element", "MixedGalerkin", "gauss_legendre", "unknown element"),
    ("element", '"degree": 2', '"degree": 3', "nodal_state has shape"),
    ("status", '"success"', '"luck"', "luck"),
    ("statistics", "{", "[", "cannot be read"),
    ("statistics", '"max"', '"m!x"', "newton_iterations of its statistics must have max and mean"),
    ("format", "timefem", "other", "is not a timefem solution")])
def test_changed_files_are_refused(sol, tmp_path, name, old, new, message):
    path = tmp_path / "changed.h5"
    sol.save(path)
    change(path, **{name: (old, new)})
    with pytest.raises(tf.InputError, match=message) as error:
        load(path)
    assert "changed.h5" in str(error.value)


def test_newer_format_is_refused(sol, tmp_path):
    sol.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file.attrs["format_version"] = 99
    seal(tmp_path / "a.h5")
    with pytest.raises(tf.InputError, match=r"a\.h5 has format version 99"):
        load(tmp_path / "a.h5")


def test_missing_foreign_and_truncated_files(sol, tmp_path):
    path = tmp_path / "a.h5"
    with pytest.raises(tf.InputError, match=r"there is no file .*a\.h5"):
        load(path)
    with pytest.raises(tf.InputError, match=str(tmp_path)):
        load(tmp_path)
    with h5py.File(path, "w") as file:
        file["t"] = [1.0]
    with pytest.raises(tf.InputError, match=r"a\.h5 is not a timefem solution"):
        load(path)
    path.write_text("t,x\n1,2\n")
    with pytest.raises(tf.InputError, match=r"a\.h5 cannot be read"):
        load(path)
    sol.save(path)
    content = path.read_bytes()
    for keep in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:keep])
        with pytest.raises(tf.InputError, match=r"a\.h5 cannot be read"):
            load(path)


def test_the_name_of_phases_says_where_they_are(tmp_path):
    """Each is in a file of its own, so that there is none of the name that was given."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")

    def way(start, end):
        return tf.OptimalControl(tf.System([mass]), {mass: start}, {mass: end}, (0, 1), tf.Effort(push))

    half, rest = tf.EndState(position=(1, None, None)), tf.EndState(position=(2, None, None), velocity=(0, None, None))
    found = tf.solve(tf.Phases([way(tf.Pose(), half), way(half, rest)]), tf.MixedGalerkin(1), 2, progress=False)
    names = found.save(str(tmp_path / "way.h5"))
    assert np.array_equal(tf.load(names[1]).z, found[1].z)
    with pytest.raises(tf.InputError, match=r"there is no file .*way\.h5; solutions of phases .* first in way-1\.h5$"):
        tf.load(tmp_path / "way.h5")


def test_damaged_bytes_do_not_pass_for_numbers(sol, tmp_path):
    path = tmp_path / "a.h5"
    sol.save(path)
    with h5py.File(path) as file:
        chunk = file["nodal_state"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(tf.InputError, match=r"a\.h5 cannot be read"):
        load(path)


# ---- atomic writing

@pytest.mark.parametrize("name", ["a", "a.csv", "a.json"])
def test_failed_write_keeps_the_old_file(sol, tmp_path, monkeypatch, name):
    path = tmp_path / name
    sol.save(path)
    old = path.read_bytes()

    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    # each stops in the middle of the writing
    monkeypatch.setattr(h5py.File, "create_dataset", broken)
    monkeypatch.setattr("json.dump", broken)
    monkeypatch.setattr("timefem.solution.output.tables.np.column_stack", broken)
    with pytest.raises(KeyboardInterrupt):
        sol.save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [name]


def test_full_disk_names_the_file(sol, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"could not write .*a\.h5.*No space left"):
        sol.save(tmp_path / "a.h5")
    assert os.listdir(tmp_path) == []


def test_overwrites_and_follows_links(sol, tmp_path):
    (tmp_path / "real.h5").write_text("older")
    (tmp_path / "link.h5").symlink_to(tmp_path / "real.h5")
    sol.save(tmp_path / "link.h5")
    assert (tmp_path / "link.h5").is_symlink()
    assert_equal(sol, load(tmp_path / "real.h5"))
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(os.stat(tmp_path / "real.h5").st_mode) == 0o666 & ~umask


def test_check_writable(sol, tmp_path, monkeypatch):
    path = tmp_path / "a.h5"
    assert check_writable(path) == path.resolve()
    assert not path.exists()
    with pytest.raises(tf.InputError, match=r"cannot write .*: it is a folder"):
        check_writable(tmp_path)
    for missing in (tmp_path / "none" / "a.h5", tmp_path / "file" / "a.h5"):
        (tmp_path / "file").write_text("")
        with pytest.raises(tf.InputError, match=r"cannot write .*a\.h5: there is no folder"):
            check_writable(missing)
    # root may write everywhere, so the answer of the system is replaced
    monkeypatch.setattr(os, "access", lambda *args: False)
    for write, ending in ((check_writable, "h5"), (sol.save, "h5"), (sol.save, "csv"), (sol.save, "json")):
        with pytest.raises(tf.InputError, match=rf"cannot write .*a\.{ending}: no permission"):
            write(path.with_suffix(f".{ending}"))


def test_endings_of_other_formats(sol, tmp_path):
    for ending, message, options in (("png", r"does not make .png files; plot\(\)\.savefig does", {}),
                                     ("csv", r"save\(\) of .csv files got an unexpected .*'fps'", {"fps": 5}),
                                     ("h5", r"save\(\) of .h5 files got an unexpected .*'times'", {"times": [0.0]})):
        path = tmp_path / f"b.{ending}"
        with pytest.raises((tf.InputError, TypeError), match=message):
            sol.save(path, **options)
        assert not path.exists()


@pytest.mark.parametrize("ending", ["avi", "xlsx", "mat", "npz", "h6"])
def test_unknown_endings_are_refused(sol, tmp_path, ending):
    """Another kind of file was meant, and an HDF5 file was written under its name."""
    with pytest.raises(tf.InputError, match=rf"save does not make \.{ending} files; .*\.h5 .*\.csv"):
        sol.save(tmp_path / f"motion.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["A.H5", "A.CSV", "A.Json", "A.PVD", "A.GIF", "A.Html", "a"])
def test_endings_in_capitals(sol, tmp_path, name):
    sol.save(tmp_path / name)
    assert (tmp_path / name).stat().st_size


@pytest.mark.parametrize("name, ending", [("to_csv", "csv"), ("to_json", "json"), ("to_vtk", "pvd")])
def test_earlier_names_of_files(sol, tmp_path, name, ending):
    times = np.linspace(*sol.t[[0, -1]], 3)
    with pytest.warns(DeprecationWarning, match=rf"Solution\.{name} is deprecated .*; use save\("):
        getattr(sol, name)(tmp_path / f"a.{ending}", times)
    sol.save(tmp_path / f"b.{ending}", times)
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes().replace(b"b/b_", b"a/a_")
    if name == "to_json":
        with pytest.warns(DeprecationWarning, match="to_dict"):
            assert sol.to_json() == sol.to_dict()
