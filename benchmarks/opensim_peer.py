"""Inverse kinematics by OpenSim of the model and the file that `bench_estimation.py` hands over; prints seconds."""

import json
import sys
import time
from pathlib import Path

import opensim as osim


def model_of(given):
    """Hinges about z, pins as point constraints, and markers."""
    model, bodies = osim.Model(), []
    bodies.append(model.getGround())
    for i, parent in enumerate(given["parents"]):
        body = osim.Body(f"link{i}", 1.0, osim.Vec3(0.15, 0, 0), osim.Inertia(0.01, 0.01, 0.01))
        joint = osim.PinJoint(f"hinge{i}", bodies[parent], osim.Vec3(given["length"] * (i > 0), 0, 0), osim.Vec3(0),
                              body, osim.Vec3(0), osim.Vec3(0))
        joint.updCoordinate().setName(f"joint{i}")
        joint.updCoordinate().setDefaultValue(given["start"][i])
        model.addBody(body)
        model.addJoint(joint)
        bodies.append(body)
    for i, point, j in given["pins"]:
        model.addConstraint(osim.PointConstraint(bodies[i + 1], osim.Vec3(*point), bodies[j + 1],
                                                 osim.Vec3(given["length"], 0, 0)))
    for name in given["markers"]:
        model.addMarker(osim.Marker(name, bodies[int(name.removeprefix("marker")) + 1], osim.Vec3(*given["point"])))
    model.finalizeConnections()
    return model


def main():
    given = json.load(sys.stdin)
    folder, tool = Path(given["folder"]), osim.InverseKinematicsTool()
    model = model_of(given)
    tool.setModel(model)
    tool.setMarkerDataFileName(str(folder / "motion.trc"))
    tool.setStartTime(given["t"][0])
    tool.setEndTime(given["t"][1])
    tool.setOutputMotionFileName(str(folder / "out.mot"))
    tool.setResultsDir(str(folder))
    begin = time.process_time()
    if not tool.run():
        sys.exit("OpenSim failed")
    print(time.process_time() - begin)


if __name__ == "__main__":
    main()
