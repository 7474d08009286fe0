"""Error against time with rigid contact, beside MuJoCo and Exudyn: balls that bounce and begin to roll, a bar, a
four-bar linkage with a stop, a robot that lands on four legs and stands, twenty discs in a box.

The balls have closed forms; the bar, which bounces on its ends with friction, a piecewise one (`tests/data/nonsmooth`);
the linkage, whose rocker meets a stop once without losses, a march of 640 elements; the robot, held by its motors, a
march of 400 elements, by the height of its trunk and four joints after it has landed. timefem marches mG(2), bar and
linkage mG(3), with rigid contact; its time is that of a second solve, with the kernels at hand. MuJoCo and Exudyn (`pip
install mujoco exudyn`) have no rigid contact here: contacts are soft, as hard as the time step takes (`solref = -k 0`
without damping where energy is kept, else a time constant of two steps; Exudyn: limit stops with k), in MuJoCo with
elliptic cones and Newton's solver at 1e-12. The bar is timefem's alone, as soft contact has another law of impact, and
the ball that rolls is not stated in Exudyn. The discs (`discs.py`: 51 impacts without losses, by which an error at the
start grows a hundred times) are compared with closed forms from impact to impact; there is Newton, too (`pip install
newton`, its semi-implicit solver on the processor, in single precision). All use one thread.

`--events` tells instead what contacts cost that do not touch, and events in elements of the same march, mG(2);
`--again` the time of a second solve where contacts stay closed, or many bodies hit each other: a chain of twenty links
that drops on a floor, Newton's cradle of ten balls, a box that tumbles to rest, the discs.

    python benchmarks/bench_contacts.py [--quick] [--json] [--events] [--again]
"""

import argparse
import functools
import importlib
import itertools
import json
import os
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import discs  # noqa: E402
import numpy as np  # noqa: E402

import timefem as tf  # noqa: E402

BAR_CASE, LINKAGE, ROBOT = "bar with friction", "four-bar with a stop", "robot that stands"
DISCS = "twenty discs in a box"
G, RADIUS, MASS, FRICTION = 9.81, 0.1, 1.0, 0.2
DROP, SPEED = 0.8, 1.0  # m above the floor, m/s
ENDS = {"bouncing ball": 3.0, "ball that begins to roll": 0.4, BAR_CASE: 1.5, LINKAGE: 0.8, ROBOT: 1.0,
        DISCS: discs.END}  # s
BAR = json.loads((Path(__file__).parents[1] / "tests/data/nonsmooth/bar.json").read_text())
XML = """<mujoco><option timestep="{h}" gravity="0 0 -9.81" integrator="{integrator}" cone="elliptic" tolerance="1e-12"
iterations="200" impratio="100"/><worldbody><geom type="plane" size="9 9 1" {law}/><body pos="0 0 {z}"><freejoint/>
<geom type="sphere" size="0.1" mass="1" {law}/></body></worldbody></mujoco>"""

LENGTHS, BASE, STOP = (0.2, 0.5, 0.4), 0.5, 0.25  # m of crank, coupler, rocker and base; rad from the start
LINKAGE_XML = """<mujoco><compiler angle="radian"/><option timestep="{h}" gravity="0 -9.81 0" integrator="{integrator}"
tolerance="1e-12" iterations="200"/><worldbody><body euler="0 0 {angles[0]}"><joint type="hinge" axis="0 0 1"/>
<inertial pos="0.1 0 0" mass="1" diaginertia="{inertia[0]}"/><body pos="0.2 0 0" euler="0 0 {bend}">
<joint type="hinge" axis="0 0 1"/><inertial pos="0.25 0 0" mass="1" diaginertia="{inertia[1]}"/>
<site name="end" pos="0.5 0 0"/></body></body><body pos="0.5 0 0" euler="0 0 {angles[2]}">
<joint type="hinge" axis="0 0 1" limited="true" range="-0.25 0.25" solreflimit="-{stiffness} 0"
solimplimit="0.9999 0.9999 0.001"/><inertial pos="0.2 0 0" mass="1" diaginertia="{inertia[2]}"/>
<site name="top" pos="0.4 0 0"/></body></worldbody>
<equality><connect site1="end" site2="top" solref="{soft} 1" solimp="0.9999 0.9999 0.001"/></equality></mujoco>"""

LEG = """<body name="thigh{i}" pos="{x} {y} 0"><joint name="hip{i}" type="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.4" diaginertia="0.002 0.002 0.0005"/><body name="shank{i}" pos="0 0 -0.2">
<joint name="knee{i}" type="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.2" diaginertia="0.001 0.001 0.0002"/>
<geom name="foot{i}" type="sphere" size="0.02" pos="0 0 -0.2" {law}/></body></body>"""
ROBOT_XML = """<mujoco><compiler angle="radian"/><option timestep="{h}" gravity="0 0 -9.81" integrator="{integrator}"
cone="elliptic" tolerance="1e-12" iterations="200" impratio="100"/><worldbody>
<geom name="floor" type="plane" size="9 9 1" {law}/><body name="trunk" pos="0 0 {z}"><freejoint/>
<inertial pos="0 0 0" mass="4" diaginertia="0.05 0.1 0.12"/>{legs}</body></worldbody><actuator>{motors}</actuator>
</mujoco>"""
LEGS, HOLD = ((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)), (80.0, 3.0)
BENT = {f"{name}{i}": angle for i in range(4) for name, angle in (("hip", 0.5), ("knee", -1.0))}
HEIGHT = 0.02 + 0.1 + 0.4 * np.cos(0.5)  # of the trunk at the start, with feet 0.1 m above the floor
STANDS = "hip0", "knee0", "hip2", "knee2"


def robot_xml(h=1e-3, integrator="Euler", law='friction="0.8 0 0"', motors=True):
    """The robot in MJCF, held by motors with position and damping."""
    legs = "".join(LEG.format(i=i, x=x, y=y, law=law) for i, (x, y) in enumerate(LEGS))
    held = "".join(f'<position joint="{name}" kp="{HOLD[0]}" kv="{HOLD[1]}"/>' for name in BENT)
    return ROBOT_XML.format(h=h, integrator=integrator, law=law, legs=legs, motors=held if motors else "", z=HEIGHT)


def robot_by_timefem(n):
    """Height, and angles of two hips and two knees, at the end."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(robot_xml(motors=False))
        file.flush()
        robot = tf.read_mjcf(file.name, contacts="rigid")
    tree = robot.tree
    hold = [tf.PDControl(tree.joint(name), stiffness=HOLD[0], damping=HOLD[1], reference=angle, name=f"hold {name}")
            for name, angle in BENT.items()]
    state = {tree: {tree.joint_names[0]: tf.Pose((0, 0, HEIGHT)), **BENT}}
    problem = tf.InitialValueProblem(robot.system(parts=hold), state, (0, ENDS[ROBOT]))
    begin = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    seconds = time.process_time() - begin
    angles = [float(sol.joint(name).coordinate()[-1]) for name in STANDS]
    return np.array([sol.position(tree.link("trunk"), ENDS[ROBOT])[2], *angles]), seconds


def linkage():
    """Ends of crank, coupler and rocker at the start, and their angles."""
    pin = LENGTHS[0] * np.array([0.5, np.sqrt(0.75)])
    pivot = np.array([BASE, 0.0])
    line = pivot - pin
    r = np.hypot(*line)
    along = (LENGTHS[1]**2 - LENGTHS[2]**2 + r**2) / (2 * r)
    top = pin + (along * line + np.sqrt(LENGTHS[1]**2 - along**2) * np.array([-line[1], line[0]])) / r
    ends = [(np.zeros(2), pin), (pin, top), (pivot, top)]
    return ends, [float(np.arctan2(*(b - a)[::-1])) for a, b in ends]


def linkage_by_timefem(n):
    """Angle and rate of the crank at the end."""
    ends, angles = linkage()
    links = crank, coupler, rocker = [tf.RigidBody(1.0, (x * x / 12,) * 3, "directors", name=name) for x, name in
                                      zip(LENGTHS, ("crank", "coupler", "rocker"), strict=True)]
    half = [(x / 2, 0, 0) for x in LENGTHS]
    back = [(-x / 2, 0, 0) for x in LENGTHS]
    axis = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    hinge = tf.Revolute(rocker, None, point_a=back[2], point_b=(BASE, 0, 0), **axis, direction_a=(1, 0, 0),
                        direction_b=(np.cos(angles[2]), np.sin(angles[2]), 0))
    parts = [*links, tf.Revolute(crank, None, point_a=back[0], point_b=(0, 0, 0), **axis),
             tf.Revolute(crank, coupler, point_a=half[0], point_b=back[1], **axis),
             tf.Revolute(coupler, rocker, point_a=half[1], point_b=half[2], **axis), hinge,
             tf.EndStop(hinge, lowest=-STOP, highest=STOP, restitution=1.0)]
    state = {link: tf.Pose((*(a + b) / 2, 0), [np.cos(turn / 2), 0, 0, np.sin(turn / 2)])
             for link, (a, b), turn in zip(links, ends, angles, strict=True)}
    system = tf.System(parts, gravity=(0, -G, 0), redundant="drop")
    problem = tf.InitialValueProblem(system, state, (0, ENDS[LINKAGE]))
    begin = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(3), n, progress=False)
    seconds = time.process_time() - begin
    turn = sol.rotation_matrix(crank, ENDS[LINKAGE])
    return np.array([np.arctan2(turn[1, 0], turn[0, 0]),
                     sol.angular_velocity(crank, ENDS[LINKAGE], "space")[2]]), seconds


MARCHED = {LINKAGE: (linkage_by_timefem, 640), ROBOT: (robot_by_timefem, 400)}  # and elements of what they are near to


@functools.cache
def by_march(name):
    """The state at the end by many elements."""
    march, n = MARCHED[name]
    return march(n)[0]


def exact(name):
    """Place along and above the floor at the end, and the velocities; of the bar with its angle."""
    end = ENDS[name]
    if name == DISCS:
        return discs.by_events()[0]
    if name in MARCHED:
        return by_march(name)
    if name == BAR_CASE:
        return np.array([float(x) for x in BAR["end"]])
    if name == "bouncing ball":
        fall = np.sqrt(2 * DROP / G)
        since = (end - fall) % (2 * fall)
        speed = G * fall - G * since
        return np.array([0, RADIUS + G * fall * since - G * since**2 / 2, 0, speed])
    stop = 2 * SPEED / (7 * FRICTION * G)
    way = SPEED * stop - FRICTION * G * stop**2 / 2 + 5 / 7 * SPEED * (end - stop)
    return np.array([way, RADIUS, 5 / 7 * SPEED, 0])


def bar_by_timefem(n):
    """The same of the bar."""
    bar = tf.RigidBody(2.0, (0.15, 0.15, 0.15), "directors", name="bar")
    ends = tf.PlaneContact(bar, normal=(0, 1, 0), points=[[-0.5, 0, 0], [0.5, 0, 0]], restitution=0.6, friction=0.3)
    start = tf.Pose((0, 1.2, 0), (np.cos(0.2), 0, 0, np.sin(0.2)), velocity=(1, 0.5, 0), angular_velocity=(0, 0, 3))
    problem = tf.InitialValueProblem(tf.System([bar, ends], gravity=(0, -G, 0)), {bar: start}, (0, 1.5))
    begin = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(3), n, progress=False)
    seconds = time.process_time() - begin
    turn = sol.rotation_matrix(bar, 1.5)
    found = [*sol.position(bar, 1.5)[:2], np.arctan2(turn[1, 0], turn[0, 0]), *sol.velocity(bar, 1.5)[:2],
             sol.angular_velocity(bar, 1.5, "space")[2]]
    return apart(np.array(found), exact(BAR_CASE)), seconds


def apart(found, expected):
    """Largest difference; turns of the angle of the bar do not count."""
    difference = found - expected
    if len(difference) == 6:
        difference[2] = (difference[2] + np.pi) % (2 * np.pi) - np.pi
    return float(np.abs(difference).max())


def by_timefem(name, n):
    """Error and seconds of n elements."""
    if name == BAR_CASE:
        return bar_by_timefem(n)
    if name == DISCS or name in MARCHED:
        found, seconds = discs.by_timefem(n) if name == DISCS else MARCHED[name][0](n)
        return apart(found, exact(name)), seconds
    ball = tf.RigidBody(MASS, [0.4 * MASS * RADIUS**2] * 3, name="ball")
    bounces = name == "bouncing ball"
    floor = tf.PlaneContact(ball, radius=RADIUS, restitution=float(bounces), friction=0.0 if bounces else FRICTION)
    start = tf.Pose((0, 0, RADIUS + DROP * bounces), velocity=(0 if bounces else SPEED, 0, 0))
    problem = tf.InitialValueProblem(tf.System([ball, floor], gravity=(0, 0, -G)), {ball: start}, (0, ENDS[name]))
    begin = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    seconds = time.process_time() - begin
    x, v = sol.position(ball, ENDS[name]), sol.velocity(ball, ENDS[name])
    return float(np.abs(np.array([x[0], x[2], v[0], v[2]]) - exact(name)).max()), seconds


def by_mujoco(mujoco, name, n):
    """Error and seconds of n steps, the better one of two integrators."""
    h, bounces, found = ENDS[name] / n, name == "bouncing ball", []
    for integrator in ("Euler", "RK4"):
        if name == DISCS:
            state, seconds = discs.by_mujoco(mujoco, n, integrator)
            found.append((apart(state, exact(name)), seconds))
            continue
        stiffness = (0.2 / h)**2  # the contact takes some 30 steps
        if name == LINKAGE:
            angles, inertia = linkage()[1], [f"{x**2 / 12} {x**2 / 12} {x**2 / 12}" for x in LENGTHS]
            model = mujoco.MjModel.from_xml_string(LINKAGE_XML.format(
                h=h, integrator=integrator, angles=angles, bend=angles[1] - angles[0], inertia=inertia,
                stiffness=stiffness, soft=2 * h))
            data = mujoco.MjData(model)
            begin = time.process_time()
            for _ in range(n):
                mujoco.mj_step(model, data)
            seconds = time.process_time() - begin
            found.append((apart(np.array([angles[0] + data.qpos[0], data.qvel[0]]), exact(name)), seconds))
            continue
        if name == ROBOT:
            law = f'solref="{2 * h} 1" solimp="0.9999 0.9999 0.001" friction="0.8 0 0"'
            model = mujoco.MjModel.from_xml_string(robot_xml(h, integrator, law))
            data = mujoco.MjData(model)
            for joint, angle in BENT.items():
                data.joint(joint).qpos = angle
                data.ctrl[list(BENT).index(joint)] = angle
            begin = time.process_time()
            for _ in range(n):
                mujoco.mj_step(model, data)
            seconds = time.process_time() - begin
            state = np.array([data.qpos[2], *(data.joint(joint).qpos[0] for joint in STANDS)])
            found.append((apart(state, exact(name)), seconds))
            continue
        law = f'solref="{-stiffness} 0" friction="0"' if bounces else f'solref="{2 * h} 1" friction="{FRICTION} 0 0"'
        model = mujoco.MjModel.from_xml_string(XML.format(
            h=h, integrator=integrator, z=RADIUS + DROP * bounces, law=law + ' solimp="0.9999 0.9999 0.001"'))
        data = mujoco.MjData(model)
        data.qvel[0] = 0.0 if bounces else SPEED
        begin = time.process_time()
        for _ in range(n):
            mujoco.mj_step(model, data)
        seconds = time.process_time() - begin
        state = np.array([data.qpos[0], data.qpos[2], data.qvel[0], data.qvel[2]])
        found.append((apart(state, exact(name)), seconds))
    return min(found)


def by_exudyn(exudyn, name, n):
    """Error and seconds of n steps of the bouncing ball or the discs, the better one of two integrators."""
    from exudyn import itemInterface as items

    end, found = ENDS["bouncing ball"], []
    for solver in (exudyn.DynamicSolverType.GeneralizedAlpha, exudyn.DynamicSolverType.RK44):
        if name == DISCS:
            state, seconds = discs.by_exudyn(exudyn, n, solver)
            found.append((apart(state, exact(name)), seconds))
            continue
        model = exudyn.SystemContainer().AddSystem()
        ground = model.AddMarker(items.MarkerNodeCoordinate(nodeNumber=model.AddNode(items.NodePointGround()),
                                                            coordinate=0))
        node = model.AddNode(items.Node1D(initialCoordinates=[DROP]))
        model.AddObject(items.ObjectMass1D(mass=MASS, nodeNumber=node))
        ball = model.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0))
        model.AddLoad(items.LoadCoordinate(markerNumber=ball, load=-MASS * G))
        states = model.AddNode(items.NodeGenericData(initialCoordinates=[0, 0, 0], numberOfDataCoordinates=3))
        model.AddObject(items.ObjectConnectorCoordinateSpringDamperExt(
            markerNumbers=[ground, ball], nodeNumber=states, useLimitStops=True, limitStopsLower=0, limitStopsUpper=9,
            limitStopsStiffness=MASS * (0.2 * n / end)**2))
        model.Assemble()
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = n, end
        settings.timeIntegration.generalizedAlpha.spectralRadius = 1
        settings.solutionSettings.writeSolutionToFile = False
        begin = time.process_time()
        model.SolveDynamic(settings, solverType=solver)
        seconds = time.process_time() - begin
        state = [float(np.ravel(model.GetNodeOutput(node, kind))[0]) for kind in (
            exudyn.OutputVariableType.Coordinates, exudyn.OutputVariableType.Coordinates_t)]
        found.append((apart(np.array([0, RADIUS + state[0], 0, state[1]]), exact("bouncing ball")), seconds))
    return min(found)


def cost_system(walls, distance):
    """A ball that bounces on a floor, or between four walls with friction, so far away; without contacts if None."""
    ball = tf.RigidBody(MASS, [0.4 * MASS * RADIUS**2] * 3, name="ball")
    normals = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)] if walls else [(0, 0, 1)]
    contacts = [] if distance is None else [
        tf.PlaneContact(ball, radius=RADIUS, normal=n, plane_point=[-distance * x for x in n], restitution=1.0,
                        friction=0.2 * walls, name=f"plane {n}") for n in normals]
    start = tf.Pose((0.1, 0.2, 0), velocity=(5.0, 7.1, 0) if walls else (0.2, 0, 0), angular_velocity=(0, 0, 20.0))
    return tf.System([ball, *contacts], gravity=(0, 0, -G * (not walls))), {ball: start}


def costs(n=4000, turns=7):
    """Of each system: time of an element without contacts, march with contacts far away over that without, and time
    of an event; medians."""
    for walls, end in ((False, 60.0), (True, 20.0)):
        problems = [tf.InitialValueProblem(*cost_system(walls, distance), (0, end)) for distance in (None, 1e6, 0.7)]
        seconds, n_events = np.zeros((turns, 3)), 0
        for turn in range(-2, turns):  # the first ones make kernels
            for k, problem in enumerate(problems):
                begin = time.process_time()
                sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
                seconds[turn, k] = time.process_time() - begin
            n_events = len(sol.events)
        none, far, near = np.median(seconds, axis=0)
        event = (near - far) / n_events
        print(f"{'four walls' if walls else 'floor':12} element {none / n * 1e6:6.2f} us, far {far / none:5.2f}, "
              f"{n_events} events: {event * 1e6:7.0f} us = {event * n / none:6.0f} elements")


def scenes():
    """Name -> problem, degree of mG and number of elements, of marches with many events of many bodies."""
    links = [tf.PointMass(0.5, 1, name=f"link {i}") for i in range(20)]
    chain = [tf.PlaneContact(link, normal=(1, 0, 0), name=f"floor {i}") for i, link in enumerate(links)]
    chain += [tf.Tether(a, b, length=0.1, name=f"tether {i}") for i, (a, b) in enumerate(itertools.pairwise(links))]
    heights = {link: tf.Pose((0.1 * (i + 0.5), 0, 0)) for i, link in enumerate(links)}
    balls = [tf.PointMass(1.0, 1, name=f"ball {i}") for i in range(10)]
    cradle = [tf.SphereContact(b, a, radius_a=0.5, radius_b=0.5, restitution=1.0)
              for a, b in itertools.pairwise(balls)]
    line = {ball: tf.Pose((1.001 * i, 0, 0)) for i, ball in enumerate(balls)}
    line[balls[0]] = tf.Pose((-0.5, 0, 0), velocity=(1, 0, 0))
    box = tf.RigidBody(1.0, (0.02, 0.03, 0.04), name="box")
    floor = tf.BoxContact(box, size=(0.4, 0.3, 0.2), restitution=0.3, friction=0.4, name="floor")
    thrown = {box: tf.Pose((0, 0, 0.3), velocity=(0.3, 0.1, 0), angular_velocity=(0.5, 0.3, 0))}
    return {"chain of 20": (tf.InitialValueProblem(tf.System([*links, *chain], (-G, 0, 0)), heights, (0, 0.7)), 1, 14),
            "cradle of 10": (tf.InitialValueProblem(tf.System([*balls, *cradle]), line, (0, 1.0)), 2, 10),
            "box": (tf.InitialValueProblem(tf.System([box, floor], (0, 0, -G)), thrown, (0, 0.8)), 2, 40)}


def again(turns=7):
    """Of each scene: events, and the median time of a solve after two others."""
    for name, (problem, degree, n) in scenes().items():
        seconds = []
        for _ in range(turns + 2):
            begin = time.process_time()
            sol = tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False)
            seconds.append(time.process_time() - begin)
        print(f"{name:13} {len(sol.events):3} events: {1e3 * np.median(seconds[2:]):6.1f} ms, first "
              f"{1e3 * seconds[0]:6.0f} ms")
    seconds = [discs.by_timefem(20)[1] for _ in range(turns + 1)]
    print(f"{'discs':13}  51 events: {1e3 * np.median(seconds[1:]):6.1f} ms")


def installed(name):
    """A module, or None with a word."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed (pip install {name}): left out")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few points")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--events", action="store_true", help="cost of events, in elements")
    parser.add_argument("--again", action="store_true", help="time of second solves with many events")
    options = parser.parse_args()
    if options.events or options.again:
        (costs if options.events else again)()
        return
    mujoco, exudyn, newton = map(installed, ("mujoco", "exudyn", "newton"))
    result = {}
    for name in ENDS:
        by_timefem(name, 10)  # kernels
        numbers = (50, 100, 200) if name == ROBOT else (10, 20, 40, 80)
        ours = [(n, *by_timefem(name, n)) for n in (numbers[::2] if options.quick else numbers)]
        steps = (2_000, 20_000) if options.quick else (1_000, 10_000, 100_000, 1_000_000)
        theirs = [(n, *by_mujoco(mujoco, name, n)) for n in steps] if mujoco and name != BAR_CASE else []
        few = steps[:3] if name == DISCS else steps
        others = [(n, *by_exudyn(exudyn, name, n)) for n in few] if exudyn and name in ("bouncing ball", DISCS) else []
        result[name] = {"timefem": ours, "mujoco": theirs, "exudyn": others}
        if newton and name == DISCS:
            found = [(n, *discs.by_newton(newton, n)) for n in few[:2]]
            result[name]["newton"] = [(n, apart(state, exact(name)), seconds) for n, state, seconds in found]
    if options.json:
        print(json.dumps(result))
        return
    for name, rows in result.items():
        print(f"\n{name}: elements or steps, error at the end [m, m/s], time [s]")
        for code, points in rows.items():
            for n, error, seconds in points:
                print(f"  {code:8} {n:8} {error:9.1e} {seconds:9.4f}")


if __name__ == "__main__":
    main()
