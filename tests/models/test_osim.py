"""Models of OpenSim: places of bodies by hand, and a motion found again from markers."""

from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.models.osim import read_osim
from timefem.problems.estimation.problem import Estimation

pytestmark = pytest.mark.long

FILE = Path(__file__).parents[1] / "data" / "motion" / "leg.osim"


def about_z(a):
    return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])


def about_y(a):
    return np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])


def moved(*steps):
    """Product of frames (rotation matrix, place)."""
    turn, place = np.eye(3), np.zeros(3)
    for own_turn, own_place in steps:
        turn, place = turn @ own_turn, place + turn @ np.asarray(own_place, float)
    return turn, place


def leg(tx, ty, tilt, hip, knee, ankle):
    """Frames of the bodies of the file, as its format says."""
    pelvis = (np.eye(3), (tx, ty, 0)), (about_z(tilt), (0, 0, 0))
    child = about_z(0.05)
    back = child.T, -child.T @ np.array([0, 0.01, 0])
    femur = (*pelvis, (np.eye(3), (-0.07, -0.066, 0.083)), (np.eye(3), (0, 0.002, 0)), (about_z(hip), (0, 0, 0)), back)
    tibia = (*femur, (about_y(0.1), (0, -0.4, 0)), (np.eye(3), (0.003 - 0.01 * knee, 0, 0)),
             (about_z(knee), (0, 0, 0)))
    foot = (*tibia, (np.eye(3), (0, -0.43, 0)), (about_z(ankle), (0, 0, 0)))
    return {"pelvis": moved(*pelvis), "femur": moved(*femur), "tibia": moved(*tibia), "foot": moved(*foot)}


def test_places_of_bodies():
    model, q = read_osim(FILE), np.array([0.3, 0.9, 0.2, 0.4, -0.7, 0.1])
    assert model.tree.joint_names == ("pelvis_tx", "pelvis_ty", "pelvis_tilt", "hip_flexion", "knee_angle",
                                      "ankle_angle")
    for name, (turn, place) in leg(*q).items():
        found = model.tree.link_pose(name, q)
        np.testing.assert_allclose(found[0], place, rtol=0, atol=1e-14)
        np.testing.assert_allclose(found[1], turn, rtol=0, atol=1e-14)
    assert model.tree.mass == pytest.approx(25.9) and model.gravity == (0.0, -9.80665, 0.0)
    assert model.start == {"pelvis_tilt": 0, "pelvis_tx": 0, "pelvis_ty": 0.95, "hip_flexion": 0.1, "knee_angle": -0.2,
                           "ankle_angle": 0}
    assert next(j for j in model.tree.joints if j.name == "hip_flexion").limits == {"lower": -2.0, "upper": 2.0}
    assert any("soleus" in note for note in model.notes) and any("hip_adduction" in note for note in model.notes)


def test_motion_from_markers():
    model, rng, t = read_osim(FILE), np.random.default_rng(1), np.linspace(0, 1, 51)
    q = np.stack([t, 0.95 + 0.02 * np.sin(12 * t), 0.1 * np.sin(6 * t), 0.5 * np.sin(6 * t), -0.6 + 0.5 * np.cos(6 * t),
                  0.2 * np.sin(5 * t)], axis=1)
    frames = [leg(*x) for x in q]
    places = {name: np.array([f[link.address[1]][1] + f[link.address[1]][0] @ point for f in frames])
              for name, (link, point) in model.markers.items()}
    data = tf.MarkerData("walk.trc", t, tuple(places), np.stack(
        [p + 0.001 * rng.standard_normal(p.shape) for p in places.values()], axis=1))
    problem = Estimation(model.system(), data.sensors(model.markers, 0.001), dynamics="none",
                         noise={"all": 100.0}, prior={model.tree: model.start})
    sol = tf.solve(problem, tf.MixedGalerkin(2), progress=False)
    assert sol.success and np.abs(sol.q - q).max() < 0.02
    deviations = np.stack([sol.std(name)[:, 0] for name in model.tree.joint_names], axis=1)
    assert 0.85 < np.mean(np.abs(sol.q - q) < 2 * deviations) <= 1.0


@pytest.mark.parametrize("old, new, message", [
    ('Version="40000"', 'Version="30000"', "its format is 30000.*open it in OpenSim 4"),
    ("OpenSimDocument", "Document", "it is not an OpenSim model"),
    ('<LinearFunction name="function"><coefficients> -0.01 0.003</coefficients></LinearFunction>',
     '<SimmSpline name="function"><x>0 1</x><y>0 1</y></SimmSpline>', "moves by a SimmSpline, which is not read"),
    ("<PinJoint name", "<ScapulothoracicJoint name", "is not read; CustomJoint"),
    ("<mass>9</mass>", "<mass>nine</mass>", "needs 1 numbers, not 'nine'"),
    ("<socket_parent_frame>tibia_end", "<socket_parent_frame>tibia_tip", "which is neither a body nor a frame"),
    ("<socket_parent_frame>/bodyset/foot", "<socket_parent_frame>/bodyset/toes", "'/bodyset/toes'")])
def test_what_is_refused(tmp_path, old, new, message):
    text = FILE.read_text().replace(old, new)
    if "Scapulo" in new:
        text = text.replace("</PinJoint>", "</ScapulothoracicJoint>")
    path = tmp_path / "leg.osim"
    path.write_text(text)
    with pytest.raises(tf.InputError, match=message):
        read_osim(path)


CONSTRAINTS = """<ConstraintSet name="constraintset"><objects>
  <CoordinateCouplerConstraint name="follow"><isEnforced>{}</isEnforced>
    <coupled_coordinates_function><LinearFunction><coefficients>-0.5 0.1</coefficients></LinearFunction>
    </coupled_coordinates_function>
    <independent_coordinate_names>knee_angle</independent_coordinate_names>
    <dependent_coordinate_name>ankle_angle</dependent_coordinate_name>
  </CoordinateCouplerConstraint>
  <PointConstraint name="held"><socket_body_1>/ground</socket_body_1><socket_body_2>/bodyset/foot</socket_body_2>
    <location_body_1>0.1 0 0.1</location_body_1><location_body_2>0.2 0 0.1</location_body_2></PointConstraint>
</objects></ConstraintSet>"""


def test_couplings_and_loops(tmp_path):
    path = tmp_path / "leg.osim"
    path.write_text(FILE.read_text().replace("<ForceSet", CONSTRAINTS.format("true") + "<ForceSet"))
    model = read_osim(path)
    assert "ankle_angle" not in model.tree.joint_names and len(model.joints) == 1
    q = np.array([0.3, 0.9, 0.2, 0.4, -0.7])
    turn, place = leg(*q, 0.1 + 0.5 * 0.7)["foot"]
    found = model.tree.link_pose("foot", q)
    np.testing.assert_allclose(found[0], place, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found[1], turn, rtol=0, atol=1e-14)
    assert model.system().n_constraints == 3
    path.write_text(FILE.read_text().replace("<ForceSet", CONSTRAINTS.format("false") + "<ForceSet"))
    assert "ankle_angle" in read_osim(path).tree.joint_names
    path.write_text(FILE.read_text().replace("<ForceSet", CONSTRAINTS.replace("PointConstraint", "RollingConstraint")
                                             .format("true") + "<ForceSet"))
    with pytest.raises(tf.InputError, match="coordinate couplers and point constraints are"):
        read_osim(path)
