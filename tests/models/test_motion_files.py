"""Files of measured motions: .trc, .mot, CSV and C3D."""

import numpy as np
import pytest

import timefem as tf
from timefem.models.motion_data import read_c3d, read_csv, read_mot, read_trc

pytestmark = pytest.mark.long

TRC = """PathFileType\t4\t(X/Y/Z)\twalk.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames
100\t100\t3\t2\tmm\t100\t1\t3
Frame#\tTime\tHEEL\t\t\tTOE\t\t
\t\tX1\tY1\tZ1\tX2\tY2\tZ2

1\t0.00\t1\t2\t3\t10\t20\t30
2\t0.01\t1.5\t2.5\t3.5\t\t\t
3\t0.02\t2\t3\t4\t12\t22\t32
"""
MOT = """Coordinates
version=1
nRows=2
nColumns=3
inDegrees=yes

endheader
time\tslide\thinge
0.0\t0.5\t90
0.1\t0.6\t 45
"""


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path
    return write


def test_trc(written):
    found = read_trc(written("walk.trc", TRC))
    assert found.names == ("HEEL", "TOE") and found.positions.shape == (3, 2, 3)
    np.testing.assert_allclose(found.times, [0, 0.01, 0.02])
    np.testing.assert_allclose(found.place("HEEL")[1], [0.0015, 0.0025, 0.0035])
    assert np.isnan(found.place("TOE")[1]).all() and found.missing == pytest.approx(1 / 6)
    np.testing.assert_allclose(found.turned().place("HEEL")[0], [0.001, -0.003, 0.002])  # y up to z up
    assert len(found.between(0.005, 1.0).times) == 2


@pytest.mark.parametrize("old, new, message", [
    ("PathFileType", "Path", "is not a .trc file"), ("mm\t100", "inch\t100", "units must be one of m, cm, mm"),
    ("\t3\t2\tmm", "\t3\t3\tmm", "announces 3 markers, but line 4 names 2"),
    ("\t3\t2\tmm", "\t4\t2\tmm", "announces 4 frames, but there are 3"),
    ("TOE", "HEEL", "two markers are called 'HEEL'"),
    ("0.02\t2", "0.01\t2", "row 3 of the data has 0.01 s after 0.01 s"),
    ("12\t22", "12\tabc", "line 9: 'abc' is not a number"),
    ("\t32\n", "\t32\t7\n", "line 9: it has 7 coordinates, but 2 markers have 6")])
def test_trc_that_is_wrong(written, old, new, message):
    with pytest.raises(tf.InputError, match=message):
        read_trc(written("walk.trc", TRC.replace(old, new, 1)))


def test_unknown_markers(written):
    found = read_trc(written("walk.trc", TRC))
    with pytest.raises(tf.InputError, match=r"no marker 'HEELL'.*HEEL"):
        found.place("HEELL")
    with pytest.raises(tf.InputError, match="none of its markers"):
        found.sensors({"knee": (tf.PointMass(1.0), (0, 0, 0))}, 0.001)
    with pytest.raises(tf.InputError, match="no time between 5 and 6 s"):
        found.between(5, 6)
    sensors = found.sensors({"TOE": (tf.PointMass(1.0), (0, 0, 0))}, {"TOE": 0.002}, loss="huber")
    assert [s.name for s in sensors] == ["TOE"] and sensors[0].n_measured == 6


def slider():
    links = [tf.Link("ground"), tf.Link("cart", mass=1), tf.Link("rod", mass=1, centre=(1, 0, 0))]
    joints = [tf.TreeJoint("slide", "ground", "cart", "prismatic"), tf.TreeJoint("hinge", "cart", "rod")]
    return tf.System([tf.Tree(links, joints, name="slider")])


def test_mot_in_degrees(written):
    """Angles are turned into radians, ways are not."""
    found = read_mot(written("ik.mot", MOT))
    assert found.in_degrees and found.names == ("slide", "hinge")
    sensors = {s.name: s for s in found.sensors(slider(), 0.01)}
    np.testing.assert_allclose(sensors["hinge"].values[:, 0], [np.pi / 2, np.pi / 4])
    np.testing.assert_allclose(sensors["slide"].values[:, 0], [0.5, 0.6])
    renamed = read_mot(written("other.mot", MOT.replace("hinge", "q2")))
    both = renamed.sensors(slider(), {"slide": 0.01, "q2": 0.02}, joints={"q2": "hinge"})
    np.testing.assert_allclose(both[1].values[:, 0], [np.pi / 2, np.pi / 4])
    with pytest.raises(tf.InputError, match="stands for 'elbow', which is not a joint"):
        renamed.sensors(slider(), 0.01, joints={"q2": "elbow"})


@pytest.mark.parametrize("old, new, message", [
    ("endheader", "", "no line 'endheader'"), ("nRows=2", "nRows=3", "announces 3 rows, but there are 2"),
    ("time\t", "t\t", "no column 'time'"), ("0.6\t 45", "0.6", "line 10: it has 2 values, but there are 3 columns"),
    ("slide\thinge", "hinge\thinge", "two columns are called 'hinge'")])
def test_mot_that_is_wrong(written, old, new, message):
    with pytest.raises(tf.InputError, match=message):
        read_mot(written("ik.mot", MOT.replace(old, new, 1)))


def test_csv(written):
    text = "Time;hand_x;hand_y;hand_z;load\n0;1;2;3;5\n0.1;2;;4;6\n"
    found = read_csv(written("hand.csv", text))
    np.testing.assert_allclose(found.column("load"), [5, 6])
    markers = found.markers(units="cm")
    assert markers.names == ("hand",)
    np.testing.assert_allclose(markers.place("hand"), [[0.01, 0.02, 0.03], [0.02, np.nan, 0.04]])
    with pytest.raises(tf.InputError, match="units must be one of"):
        found.markers(units="feet")
    with pytest.raises(tf.InputError, match="no columns in threes"):
        read_csv(written("load.csv", "t,load\n0,1\n1,2\n")).markers()
    with pytest.raises(tf.InputError, match="line 2: 'one' is not a number"):
        read_csv(written("load.csv", "t,load\n0,one\n"))
    with pytest.raises(tf.InputError, match="cannot be read"):
        read_csv("nowhere.csv")


def test_c3d(tmp_path):
    ezc3d = pytest.importorskip("ezc3d")
    c3d = ezc3d.c3d()
    c3d["parameters"]["POINT"]["RATE"]["value"] = [100]
    c3d["parameters"]["POINT"]["LABELS"]["value"] = ("HEEL", "TOE")
    c3d["parameters"]["POINT"]["UNITS"]["value"] = ("mm",)
    points = np.ones((4, 2, 5))
    points[:3] = 1000 * np.arange(30).reshape(3, 2, 5)
    points[:3, 1, 3] = np.nan
    c3d["data"]["points"] = points
    c3d.write(str(tmp_path / "walk.c3d"))
    found = read_c3d(tmp_path / "walk.c3d")
    assert found.names == ("HEEL", "TOE")
    np.testing.assert_allclose(np.diff(found.times), 0.01)
    np.testing.assert_allclose(found.place("HEEL"), points[:3, 0].T / 1000)
    assert np.isnan(found.place("TOE")[3]).all() and not np.isnan(found.place("TOE")[[0, 1, 2, 4]]).any()
    (tmp_path / "other.c3d").write_text("no such file")
    with pytest.raises(tf.InputError, match="is not a C3D file"):
        read_c3d(tmp_path / "other.c3d")


def test_c3d_without_its_library(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ezc3d", None)
    with pytest.raises(tf.MissingBackend, match=r"timefem\[motion\]"):
        read_c3d("walk.c3d")
