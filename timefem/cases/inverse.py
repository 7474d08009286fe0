"""Problems of inverse dynamics, as functions with the answers where they are known, and as cases."""

import casadi as ca
import numpy as np

from timefem import (
    BoundaryValueProblem,
    Constraint,
    ControlForce,
    ControlTorque,
    CoordinateOutput,
    Coordinates,
    EndState,
    Formula,
    FormulaOutput,
    GeneralizedControl,
    GeneralizedSystem,
    Gravity,
    InverseDynamics,
    PointMass,
    Pose,
    PositionOutput,
    RayleighDissipation,
    Revolute,
    RigidBody,
    Spherical,
    System,
    TimeFunction,
    Transfer,
)

from .single_bodies import GRAVITY, box_inertia
from .table import define_problem

TROLLEY, LOAD, WINCH = 10.0, 100.0, 10.0  # masses [kg]; of the winch the inertia over the squared radius of its drum


def trolley_crane(x=(0.0, 5.0), z=(-4.0, -1.0), t_end=3.0, redundant=False):
    """Overhead trolley crane: a trolley that is pushed, a winch that pulls the rope, and a load whose place in a plane
    is prescribed from rest to rest. It is flat: coordinates and controls follow from four derivatives of that place
    (Blajer & Kolodziejczyk 2004; Betsch, Quasem & Uhlar 2009).

    Coordinates are the place of the trolley, the length of the rope and the angle of swing; with `redundant` place,
    length and the two coordinates of the load, with one constraint. Controls: forces on trolley and rope [N].

    Returns
    -------
    problem : InverseDynamics
    answer : callable
        `answer(times)` -> coordinates (n, n_q), controls (n, 2).
    """
    g = -GRAVITY[2]
    place = [Transfer(0.0, t_end, *ends, smoothness=5) for ends in (x, z)]
    if redundant:
        trolley, rope = PointMass(TROLLEY, 1, name="trolley"), PointMass(WINCH, 1, name="rope")
        load = PointMass(LOAD, 2, name="load")
        length = Constraint([trolley, rope, load], _rope_length, 1, name="rope length")
        system = System([trolley, rope, load, length, Gravity(load, (0, -g, 0))])
        outputs = PositionOutput(load, "x"), PositionOutput(load, "y")
        drives = [ControlForce(trolley, [(1, 0, 0)]), GeneralizedControl(rope, [[1.0]])]
        states = [{trolley: Pose((x[i], 0, 0)), rope: Pose((-z[i], 0, 0)), load: Pose((x[i], z[i], 0))} for i in (0, 1)]
    else:
        system = GeneralizedSystem(3, _crane_kinetic, lambda q, c: -LOAD * g * q[1] * ca.cos(q[2]), name="crane")
        crane = system.bodies[0]
        outputs = (FormulaOutput(lambda q: _load(q)[0], crane, "load x"),
                   FormulaOutput(lambda q: _load(q)[1], crane, "load z"))
        drives = GeneralizedControl(crane, [[1, 0], [0, 1], [0, 0]], name="drives")
        states = [{crane: Coordinates([x[i], -z[i], 0.0], np.zeros(3))} for i in (0, 1)]
    problem = InverseDynamics(system, dict(zip(outputs, place, strict=True)), *states, (0.0, t_end), actuators=drives)

    t = ca.SX.sym("t")
    x_t, z_t = (f(t) for f in place)
    ax, az = _rate(x_t, t, 2), _rate(z_t, t, 2) + g
    swing, rope_force = ca.atan(-ax / az), LOAD * ca.sqrt(ax**2 + az**2)
    length = -z_t / ca.cos(swing)
    position = x_t - length * ca.sin(swing)
    controls = (TROLLEY * _rate(position, t, 2) - rope_force * ca.sin(swing), WINCH * _rate(length, t, 2) - rope_force)
    coordinates = (position, length, x_t, z_t) if redundant else (position, length, swing)
    return problem, _answer(t, coordinates, controls)


def _load(q):
    return ca.vertcat(q[0] + q[1] * ca.sin(q[2]), -q[1] * ca.cos(q[2]))


def _crane_kinetic(q, v, c):
    return (TROLLEY * v[0]**2 + WINCH * v[1]**2 + LOAD * ca.sumsqr(ca.jtimes(_load(q), q, v))) / 2


def _rope_length(frames, t, c):
    trolley, rope, load = (f.q for f in frames)
    return ((load[0] - trolley[0])**2 + load[1]**2 - rope[0]**2) / 2


def mass_chain(n, trajectory, t_end=5.0, mass=1.0, stiffness=4.0, start_only=False):
    """A chain of n masses and springs, pushed at the first mass, with the last one prescribed: relative degree 2 n.

    Returns
    -------
    problem : InverseDynamics
    answer : callable
        `answer(times)` -> coordinates (n_times, n), control (n_times, 1).
    """
    def potential(q, c):
        return stiffness / 2 * ca.sumsqr(q[1:] - q[:-1]) if n > 1 else 0 * q[0]

    system = GeneralizedSystem(n, lambda q, v, c: mass / 2 * ca.sumsqr(v), potential, name="chain")
    chain = system.bodies[0]
    trajectory = trajectory if isinstance(trajectory, TimeFunction) else Formula(trajectory)
    near = {chain: Coordinates(np.zeros(n), np.zeros(n))}
    problem = InverseDynamics(system, {CoordinateOutput(chain, n - 1, "last mass"): trajectory}, near,
                              None if start_only else near, (0.0, t_end),
                              actuators=GeneralizedControl(chain, np.eye(n)[:, :1], name="push"))
    t = ca.SX.sym("t")
    places = [trajectory(t)]
    for i in range(n):  # what the next mass, in the end the hand, does to each mass
        further = stiffness * (places[0] - places[1]) if i else 0
        force = ca.cse(mass * _rate(places[0], t, 2) + further)
        if i < n - 1:
            places.insert(0, places[0] + force / stiffness)
    return problem, _answer(t, places, [force])


def elastic_arm(trajectory=Transfer(1.0, 3.0, 0.0, 1.0, 3), t_end=4.0, stiffness=50.0, start_only=False):
    """Two bars of 1 m and 1 kg in a horizontal plane, a motor at the shoulder and a spring at the elbow. Prescribed is
    the angle at which the end is seen from the shoulder, for small angles of the elbow: not minimum phase, for the
    internal dynamics has the eigenvalues +-sqrt(600 / s^2) (after Seifried 2012).

    Returns
    -------
    InverseDynamics
    """
    def kinetic(q, v, c):
        both = v[0] + v[1]
        return v[0]**2 / 6 + (v[0]**2 + v[0] * both * ca.cos(q[1]) + both**2 / 3) / 2

    system = GeneralizedSystem(2, kinetic, lambda q, c: stiffness * q[1]**2 / 2, name="arm")
    arm = system.bodies[0]
    trajectory = trajectory if isinstance(trajectory, TimeFunction) else Formula(trajectory)
    states = [{arm: Coordinates([float(trajectory(t)), 0.0], np.zeros(2))} for t in (0.0, t_end)]
    return InverseDynamics(system, {FormulaOutput(lambda q: q[0] + q[1] / 2, arm, "end of the arm"): trajectory},
                           states[0], None if start_only else states[1], (0.0, t_end),
                           actuators=GeneralizedControl(arm, [[1.0], [0.0]], name="motor"))


def four_bar_lift(rise=0.4, t_end=1.0, **rotation):
    """A load on the coupler of a four-bar in the plane of e2 and e3, lifted from rest to rest by a torque on the crank.

    Crank of 0.5 m, coupler of 1.2 m with a load of 20 kg in its middle, rocker of 1 m, and 1.3 m between the pins in
    the ground; a closed loop with redundant constraints.

    Returns
    -------
    problem : InverseDynamics
    bodies : tuple
        Crank, coupler, rocker, load.
    """
    ground, lengths, angle = 1.3, (0.5, 1.2, 1.0), -0.8
    first, last = np.zeros(3), np.array([0, ground, 0])
    pin_a = lengths[0] * np.array([0, np.cos(angle), np.sin(angle)])
    way = last - pin_a
    distance = np.linalg.norm(way)
    along = (distance**2 + lengths[1]**2 - lengths[2]**2) / (2 * distance)
    pin_b = pin_a + along * way / distance + np.sqrt(lengths[1]**2 - along**2) * np.cross((1, 0, 0), way / distance)
    ends = [(first, pin_a), (pin_a, pin_b), (last, pin_b)]
    bars, state = [], {}
    for name, length, mass, (a, b) in zip(("crank", "coupler", "rocker"), lengths, (2.0, 22.0, 3.0), ends, strict=True):
        bar = RigidBody(mass, box_inertia(mass, (0.1, length, 0.1)), size=(0.1, length, 0.1), name=name, **rotation)
        direction = (b - a) / length
        state[bar] = Pose((a + b) / 2, np.column_stack([(1, 0, 0), direction, np.cross((1, 0, 0), direction)]))
        bars.append(bar)
    axes = dict(axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    half = [np.array([0, length / 2, 0]) for length in lengths]
    joints = [Revolute(bars[0], point_a=-half[0], point_b=first, **axes),
              Revolute(bars[0], bars[1], point_a=half[0], point_b=-half[1], **axes),
              Revolute(bars[2], point_a=-half[2], point_b=last, **axes),
              Revolute(bars[2], bars[1], point_a=half[2], point_b=half[1], **axes)]
    system = System([*bars, *joints], gravity=GRAVITY, redundant="drop")
    height = PositionOutput(bars[1], "z", name="load height")
    start = float(state[bars[1]].position[2])
    lift = Transfer(0.0, t_end, start, start + rise, smoothness=3)
    problem = InverseDynamics(system, {height: lift}, state, None, (0.0, t_end),
                              actuators=ControlTorque(bars[0], [(1, 0, 0)], name="motor"))
    return problem, tuple(bars)


def _rate(expression, t, n):
    for _ in range(n):
        expression = ca.cse(ca.jacobian(ca.SX(expression), t))
    return expression


def _answer(t, coordinates, controls):
    function = ca.Function("answer", [t], [ca.densify(ca.vertcat(*coordinates)), ca.densify(ca.vertcat(*controls))])

    def answer(times):
        values = function.map(len(times))(np.reshape(times, (1, -1)))
        return tuple(np.array(v).T for v in values)

    return answer


@define_problem("crane-inverse", "Knuckle-boom crane", "inverse", t_end=4.0, n_elements=40)
def knuckle_boom(t_end, **rotation):
    """A boom of 6 m and a jib of 4 m in the plane of e2 and e3, with a load of 500 kg at the tip that goes from one
    place to another in 4 s, from rest to rest: the torques of the two motors, at the foot of the boom and between both.
    """
    boom = RigidBody(300, box_inertia(300, (0.3, 6, 0.3)), size=(0.3, 6, 0.3), name="boom", **rotation)
    jib = RigidBody(120, box_inertia(120, (0.2, 4, 0.2)), size=(0.2, 4, 0.2), name="jib", **rotation)
    load = PointMass(500, name="load")
    joints = [Revolute(boom, point_a=(0, -3, 0), point_b=(0, 0, 0), name="foot", **HINGE),
              Revolute(boom, jib, point_a=(0, 3, 0), point_b=(0, -2, 0), name="knuckle", **HINGE),
              Spherical(jib, load, point_a=(0, 2, 0), point_b=(0, 0, 0), name="hook")]
    motors = [ControlTorque(boom, [(1, 0, 0)], name="boom motor"),
              ControlTorque(jib, [(1, 0, 0)], reaction=boom, name="jib motor")]
    up, down = about_x(np.pi / 3), about_x(-np.pi / 6)
    knuckle = up @ [0, 6, 0]
    state = {boom: Pose(knuckle / 2, up), jib: Pose(knuckle + down @ [0, 2, 0], down),
             load: Pose(knuckle + down @ [0, 4, 0])}
    start = state[load].position
    outputs = {PositionOutput(load, "y"): Transfer(0.0, 4.0, start[1], start[1] - 2.0, smoothness=3),
               PositionOutput(load, "z"): Transfer(0.0, 4.0, start[2], start[2] + 1.5, smoothness=3)}
    return InverseDynamics(System([boom, jib, load, *joints], gravity=GRAVITY), outputs, state, None, (0.0, t_end),
                           actuators=motors)


@define_problem("trolley-crane", "Overhead trolley crane", "inverse", t_end=3.0, n_elements=60)
def crane(t_end):
    """A trolley that is pushed and a winch that pulls the rope bring a load of 100 kg from one place to another, from
    rest to rest; a flat system, whose controls need four derivatives of the path (Blajer & Kolodziejczyk)."""
    return trolley_crane(t_end=t_end)[0]


@define_problem("elastic-arm", "Arm with an elastic elbow", "inverse", t_end=4.0, n_elements=80)
def arm(t_end):
    """Two bars with a motor at the shoulder and a spring at the elbow, whose end is prescribed; not minimum phase, so
    that no march in time could find the torque (after Seifried)."""
    return elastic_arm(Transfer(t_end / 4, 3 * t_end / 4, 0.0, 1.0, 3), t_end)


# ---- Cases with conditions at both ends of the time span

HINGE = {"axis_a": (1, 0, 0), "axis_b": (1, 0, 0)}


def about_x(angle):
    """Rotation matrix of a turn about e1."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def hung_bar(angle):
    """Pose of the bar of 10 m along e2, held at one end, at an angle above the horizontal."""
    turn = about_x(angle)
    return Pose(turn @ [0, 5, 0], turn)


def pendulum(*further, **rotation):
    """The bar of the case physical-pendulum on a hinge, and the System with parts `make(bar)` besides."""
    size = (1.0, 10.0, 1.0)
    bar = RigidBody(100, box_inertia(100, size), size=size, name="pendulum", **rotation)
    hinge = Revolute(bar, point_a=(0, -5, 0), point_b=(0, 0, 0), name="hinge", **HINGE)
    return bar, System([bar, hinge, *(make(bar) for make in further)], gravity=GRAVITY)


@define_problem("pendulum-boundary", "Pendulum between two angles", "boundary", t_end=1.3, n_elements=40)
def pendulum_boundary(t_end, **rotation):
    """The physical pendulum, sent from 60 degrees below the horizontal so that it is 30 degrees above it at the end."""
    bar, system = pendulum(**rotation)
    return BoundaryValueProblem(system, (0.0, t_end), {bar: hung_bar(-np.pi / 3)}, {bar: hung_bar(np.pi / 6)})


@define_problem("reorientation", "Free body between two orientations", "boundary", t_end=2.0, n_elements=40)
def reorientation(t_end, **rotation):
    """A free body with the principal inertias 5, 26, 29 kg m^2 that turns by 2.5 rad about (1, 2, 2)/3, without
    torques."""
    body = RigidBody(12, (5, 26, 29), size=(5, 2, 1), name="body", **rotation)
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)
    return BoundaryValueProblem(System([body]), (0.0, t_end), {body: Pose()}, {body: Pose(orientation=turned)})


@define_problem("four-bar-boundary", "Four-bar between two poses", "boundary", t_end=1.0, n_elements=60)
def four_bar_boundary(t_end, **rotation):
    """A crank of 1 m, a coupler of 3 m and a rocker of 2.5 m under gravity, hinged to the ground 3 m apart, between
    two poses of the crank, 0.4 and 2.2 rad above the horizontal; a closed loop with redundant constraints."""
    lengths, ground = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5}, 3.0
    bars = {name: RigidBody(l, box_inertia(l, (0.1, l, 0.1)), size=(0.1, l, 0.1), name=name, **rotation)
            for name, l in lengths.items()}
    crank, coupler, rocker = bars.values()
    low, high = ({bar: (0, side * lengths[name] / 2, 0) for name, bar in bars.items()} for side in (-1, 1))
    joints = [Revolute(crank, point_a=low[crank], point_b=(0, 0, 0), **HINGE),
              Revolute(crank, coupler, point_a=high[crank], point_b=low[coupler], **HINGE),
              Revolute(coupler, rocker, point_a=high[coupler], point_b=high[rocker], **HINGE),
              Revolute(rocker, point_a=low[rocker], point_b=(0, ground, 0), **HINGE)]

    def poses(turn):
        pin, post = np.array([np.cos(turn), np.sin(turn)]), np.array([ground, 0])
        way = np.linalg.norm(post - pin)
        along = (lengths["coupler"]**2 - lengths["rocker"]**2 + way**2) / (2 * way)
        u = (post - pin) / way
        top = pin + along * u + np.sqrt(lengths["coupler"]**2 - along**2) * np.array([-u[1], u[0]])
        found = {}
        for bar, a, b in ((crank, 0 * pin, pin), (coupler, pin, top), (rocker, post, top)):
            found[bar] = Pose((0, *(a + b) / 2), about_x(np.arctan2(*(b - a)[::-1])))
        return found

    system = System([*bars.values(), *joints], gravity=GRAVITY, redundant="drop")
    return BoundaryValueProblem(system, (0.0, t_end), poses(0.4), poses(2.2))


@define_problem("pendulum-periodic", "Periodic swing of a pendulum", "boundary", t_end=6.3, n_elements=60)
def pendulum_periodic(t_end, **rotation):
    """The physical pendulum from rest at 2 rad from hanging down and back; unknown are the period, of which t_end is a
    guess, and the resistance of the air, which turns out to be zero."""
    bar, system = pendulum(lambda bar: RayleighDissipation(bar, name="air"), **rotation)
    start = hung_bar(2.0 - np.pi / 2)
    rest = EndState(start.position, start.orientation, (0, 0, 0), (0, 0, 0))
    air = next(part for part in system.parts if part.name == "air")
    return BoundaryValueProblem(system, (0.0, t_end), {bar: rest}, periodic=True, free_time=True,
                                parameters={"resistance": (air, "linear")})
