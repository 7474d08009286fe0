"""The stiff flyball governor (A05 of the IFToMM library of multibody benchmarks) by Exudyn, in joint coordinates.

For the numbers of the entry `library-a05-governor` of `timefem verify`. Needs the package exudyn, best in an
environment of its own; prints the place of the slider [m] and the speed of the shaft [rad/s].
"""

import exudyn as exu
import numpy as np
from exudyn.utilities import (
    InertiaCuboid,
    InertiaMassPoint,
    MarkerKinematicTreeRigid,
    NodeGenericODE2,
    ObjectKinematicTree,
    SpringDamper,
)

LENGTH, THIN, BLOCK, OUT, DENSITY, BALL = 1.0, 0.01, 0.1, 0.05, 3000.0, 5.0


def governor(t_end, tolerance):
    """Coordinates and rates of shaft, slider and rods at the end."""
    system = exu.SystemContainer().AddSystem()

    def rod(side):
        bar = InertiaCuboid(DENSITY, [LENGTH, THIN, THIN]).Translated([side * LENGTH / 2, 0, 0])
        return bar + InertiaMassPoint(BALL).Translated([side * LENGTH, 0, 0])

    links = [InertiaCuboid(DENSITY, [THIN, THIN, LENGTH]).Translated([0, 0, LENGTH / 2]),
             InertiaCuboid(DENSITY, [BLOCK] * 3), rod(1), rod(-1)]
    turns, offsets, inertias, centres = (exu.Matrix3DList(), exu.Vector3DList(), exu.Matrix3DList(),
                                         exu.Vector3DList())
    for link, offset in zip(links, ([0, 0, 0], [0, 0, 0.5], [OUT, 0, LENGTH], [-OUT, 0, LENGTH]), strict=True):
        turns.Append(np.eye(3))
        offsets.Append(offset)
        inertias.Append(link.InertiaCOM())
        centres.Append(link.com)
    joint, tilt = exu.JointType, np.pi / 6
    node = system.AddNode(NodeGenericODE2(
        numberOfODE2Coordinates=4, referenceCoordinates=[0] * 4, initialCoordinates=[0, 0, tilt, -tilt],
        initialCoordinates_t=[2 * np.pi, 0, 0, 0]))
    tree = system.AddObject(ObjectKinematicTree(
        nodeNumber=node, jointTypes=[joint.RevoluteZ, joint.PrismaticZ, joint.RevoluteY, joint.RevoluteY],
        linkParents=[-1, 0, 0, 0], jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=inertias,
        linkCOMs=centres, linkMasses=[link.mass for link in links], gravity=[0, 0, -9.81], baseOffset=[0, 0, 0]))
    for link, side in ((2, 1), (3, -1)):
        ends = [system.AddMarker(MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=n, localPosition=place))
                for n, place in ((1, [side * OUT, 0, 0]), (link, [side * LENGTH / 2, 0, 0]))]
        system.AddObject(SpringDamper(markerNumbers=ends, stiffness=8e5, damping=4e4, referenceLength=0.5))
    system.Assemble()
    settings = exu.SimulationSettings()
    steps = settings.timeIntegration
    steps.numberOfSteps, steps.endTime, steps.verboseMode = round(t_end / 0.01), t_end, 0
    steps.relativeTolerance = steps.absoluteTolerance = tolerance
    steps.automaticStepSize, steps.minimumStepSize = True, 1e-14
    settings.solutionSettings.writeSolutionToFile = False
    system.SolveDynamic(settings, solverType=exu.DynamicSolverType.DOPRI5)
    return system.systemData.GetODE2Coordinates(), system.systemData.GetODE2Coordinates_t()


if __name__ == "__main__":
    for t_end in (0.5, 1.0, 10.0):
        q, v = governor(t_end, 1e-11)
        print(f"{t_end:g}: {0.5 + q[1]:.16g}, {v[0]:.16g}", flush=True)
