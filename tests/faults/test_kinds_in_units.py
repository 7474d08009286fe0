"""Every kind of problem in four systems of units: the same answer to 1e-9, as no number with a unit decides."""

import casadi
import numpy as np
import pytest

import timefem as tf

UNITS = {"mg, mm, ms": (1e6, 1e3, 1e3), "Gg, km, h": (1e-6, 1e-3, 1 / 3600), "g, um, us": (1e3, 1e6, 1e6),
         "kt, Gm, d": (1e-6, 1e-9, 1 / 86400)}
ELEMENT = tf.MixedGalerkin(2)


class Arm:
    """Two links that hang by hinges, drawn by a spring, in a unit of mass, length and time."""

    def __init__(self, mass, length, time, rotation="quaternion", damping=0.0, stiffness=6.0):
        self.mass, self.length, self.time = mass, length, time
        inertia = mass * length**2
        a = tf.RigidBody(1.2 * mass, np.array([0.05, 0.06, 0.02]) * inertia, rotation=rotation, name="a")
        b = tf.RigidBody(0.7 * mass, np.array([0.03, 0.025, 0.01]) * inertia, rotation=rotation, name="b")
        self.hinge = tf.Revolute(a, point_a=(0, 0, 0.3 * length), point_b=(0, 0, 0), axis_a=(0, 1, 0),
                                 axis_b=(0, 1, 0), name="hinge")
        self.elbow = tf.Revolute(a, b, point_a=(0, 0, -0.3 * length), point_b=(0, 0, 0.2 * length), axis_a=(0, 1, 0),
                                 axis_b=(0, 1, 0), name="elbow")
        self.a, self.b = a, b
        self.spring = tf.Spring(b, None, stiffness=stiffness * mass / time**2, length=0.4 * length,
                                point_b=(0.7 * length, 0, -0.5 * length), name="spring")
        parts = [a, b, self.hinge, self.elbow, self.spring]
        if damping:
            parts.append(tf.JointDamper(joint=self.elbow, damping=damping * mass * length**2 / time, name="damper"))
        self.system = tf.System(parts, gravity=(0, 0, -9.81 * length / time**2))

    def problem(self, span=1.0, start=(0.4, -0.3)):
        return tf.InitialValueProblem(self.system, dict(zip((self.hinge, self.elbow), start, strict=True)),
                                      (0, span * self.time))

    def motion(self, sol, n=5):
        t = np.linspace(*sol.t[[0, -1]], n)
        return np.concatenate([np.concatenate([sol.position(body, t) / self.length,
                                               sol.rotation_matrix(body, t).reshape(n, 9)], axis=1)
                               for body in (self.a, self.b)], axis=1)


def solved(problem, n=40, **options):
    sol = tf.solve(problem, ELEMENT, n, progress=False, **options)
    assert sol.success, sol.status.message
    return sol


def march(*units):
    arm = Arm(*units)
    return arm.motion(solved(arm.problem()))


def directors(*units):
    arm = Arm(*units, rotation="directors")
    return arm.motion(solved(arm.problem(), driver="global"))


def to_a_tolerance(*units):
    arm = Arm(*units)
    sol = tf.solve(arm.problem(2.0), ELEMENT, tolerance=1e-5, progress=False)
    assert sol.success
    return arm.motion(sol)


def damped_to_a_tolerance(*units):
    arm = Arm(*units, damping=0.3, rotation="directors")
    sol = tf.solve(arm.problem(2.0), tf.MixedGalerkin(3), tolerance=1e-7, progress=False)
    assert sol.success
    return arm.motion(sol)


def global_to_a_tolerance(*units):
    """On meshes that follow from defects of elements, solved for in the user's units: other meshes, or singular."""
    moved = []
    for rotation, degree, damping, tolerance in ("quaternion", 2, 0.0, 1e-5), ("directors", 3, 0.3, 1e-7):
        arm = Arm(*units, rotation=rotation, damping=damping)
        sol = tf.solve(arm.problem(2.0), tf.MixedGalerkin(degree), tolerance=tolerance, driver="global", progress=False)
        assert sol.success
        moved.append(arm.motion(sol))
    return np.array(moved)


def energy_form_to_a_tolerance(*units):
    """Whose rates of the lengths of quaternions are in velocities: scaled as in momenta no step was short enough."""
    arm = Arm(*units)
    sol = tf.solve(arm.problem(2.0), tf.MixedGalerkin(2, form="energy"), tolerance=1e-5, progress=False)
    assert sol.success and "not determined" not in sol.status.message
    return arm.motion(sol)


def light_to_a_tolerance(*units):
    """A fly on a spring at the bob of a pendulum, whose error counts by its own motion; from rest."""
    mass, length, time = units
    bob, fly = tf.PointMass(2.0 * mass, name="bob"), tf.PointMass(1e-4 * mass, name="fly")
    parts = [tf.RigidDistance(bob, point_b=(0, 0, 0), length=length),
             tf.Spring(bob, fly, stiffness=0.02 * mass / time**2, length=0.3 * length)]
    system = tf.System([bob, fly, *parts], gravity=(0, 0, -9.81 * length / time**2))
    place = np.array([np.sin(0.5), 0, -np.cos(0.5)])
    start = {bob: tf.Pose(place * length), fly: tf.Pose((place + [0, 0.4, 0]) * length)}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 2 * time)), ELEMENT, tolerance=1e-5, progress=False)
    assert sol.success
    t = np.linspace(0, sol.t[-1], 5)
    return np.concatenate([sol.position(bob, t), sol.position(fly, t)]) / length


def top_to_a_tolerance(*units):
    """Of one body, whose turns and places are of one size in SI units."""
    mass, length, time = units
    top = tf.RigidBody(mass, np.array([0.1, 0.1, 0.02]) * mass * length**2, name="top")
    tip = tf.Spherical(top, point_a=(0, 0, -0.3 * length), point_b=(0, 0, 0))
    system, half = tf.System([top, tip], gravity=(0, 0, -9.81 * length / time**2)), 0.3
    up, spin = np.array([np.sin(2 * half), 0, np.cos(2 * half)]), 30 / time
    start = {top: tf.Pose(0.3 * length * up, (np.cos(half), 0, np.sin(half), 0), angular_velocity=(0, 0, spin))}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, time)), ELEMENT, tolerance=1e-4, progress=False)
    assert sol.success
    return sol.rotation_matrix(top, np.linspace(0, time, 5)).reshape(5, 9)


def boundary(*units):
    arm = Arm(*units)
    sol = solved(arm.problem(0.3))
    ends = [{body: tf.Pose(sol.position(body, t), sol.rotation_matrix(body, t)) for body in (arm.a, arm.b)}
            for t in sol.t[[0, -1]]]
    return arm.motion(solved(tf.BoundaryValueProblem(arm.system, (0, 0.3 * arm.time), *ends)))


def at_rest(*units):
    arm = Arm(*units)
    found = tf.equilibrium(arm.system, arm.problem().z0)
    assert found.success
    return np.concatenate([found.state[body].q / np.append([arm.length] * 3, [1] * 4) for body in (arm.a, arm.b)])


def frequencies(*units):
    arm = Arm(*units, damping=0.02)
    found = tf.equilibrium(arm.system, arm.problem().z0)
    return np.sort_complex(tf.linearize(arm.system, found.state).eigenvalues * arm.time)


def steady_or_not(*units):
    """A bob that turns steadily, others that turn too fast and swing, and one whose spring changes with time."""
    mass, length, time = units
    bob = tf.PointMass(2.0 * mass, name="bob")
    rod = tf.RigidDistance(bob, point_b=(0, 0, 0), length=length)
    system = tf.System([bob, rod], gravity=(0, 0, -9.81 * length / time**2))
    place, rate = np.array([np.sin(0.5), 0, -np.cos(0.5)]) * length, np.sqrt(9.81 / np.cos(0.5)) / time
    starts = [tf.Pose(place, velocity=(0, more * rate * place[0], 0)) for more in (1.0, 1.05)]
    starts.append(tf.Pose((0, 0, -length), velocity=(0.8 * length / time, 0, 0)))
    models = [tf.linearize(system, {bob: start}) for start in starts]
    spring = tf.FormulaForce(bob, lambda f, t, c: -c[0] * (1 + casadi.sin(c[1] * t) / 2) * f[0].position,
                             parameters=[4 * mass / time**2, 3 / time])
    models.append(tf.linearize(tf.System([bob, spring]), {bob: tf.Pose()}))
    assert [model.steady for model in models] == [True, False, False, False]
    return np.concatenate([np.sort_complex(model.eigenvalues * time) for model in models])


def settled(*units):
    arm = Arm(*units)
    problem = arm.problem(start=(0.02, -0.05))
    modes = tf.modes(arm.system, tf.equilibrium(arm.system, problem.z0).state)
    return np.array([mode.frequency for mode in modes]) * arm.time


def hung(mass, length, time, damping=0.0, torque=None):
    """A body that hangs by a hinge, and the hinge."""
    bar = tf.RigidBody(2.0 * mass, np.array([0.08, 0.06, 0.03]) * mass * length**2, name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, 0.5 * length), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    energy, more = mass * length**2 / time**2, []
    if damping:
        more.append(tf.JointDamper(joint=hinge, damping=damping * energy * time, name="damper"))
    if torque is not None:
        more.append(tf.Torque(bar, (0, torque * energy, 0), time=tf.Sine(1.0, 1 / (1.7 * time)), name="drive"))
    return tf.System([bar, hinge, *more], gravity=(0, 0, -9.81 * length / time**2)), bar, hinge


def periodic(*units):
    """Without a drive: its period is found, and multipliers are one twice, to the root of rounding."""
    system, _, hinge = hung(*units)
    found = tf.periodic(system, {hinge: 0.5}, 1.4 * units[2], n_elements=40)
    assert found.success
    return np.array([found.period / units[2]])


def driven(*units):
    system, bar, hinge = hung(*units, damping=0.3, torque=0.4)
    found = tf.periodic(system, {hinge: 0.1}, 1.7 * units[2], n_elements=40)
    assert found.success
    sol = found.solution
    multipliers = tf.floquet(sol).multipliers
    return np.concatenate([sol.position(bar, sol.t[::10]).ravel() / units[1], multipliers.real, multipliers.imag])


def critical(*units):
    """The stiffness of a spring at which an upright bar buckles."""
    mass, length, time = units

    def upright(stiffness):
        bar = tf.RigidBody(2.0 * mass, np.array([0.08, 0.06, 0.03]) * mass * length**2, name="bar")
        hinge = tf.Revolute(bar, point_a=(0, 0, -0.5 * length), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
        spring = tf.JointSpring(joint=hinge, stiffness=stiffness * mass * length**2 / time**2)
        return tf.linearize(tf.System([bar, hinge, spring], gravity=(0, 0, -9.81 * length / time**2)),
                            {bar: tf.Pose((0, 0, 0.5 * length))})

    found, = tf.critical_values(upright, (5.0, 15.0))
    assert found.kind == "divergence"
    return np.array([found.value])


def identified(*units):
    """Two numbers by what a motion with others shows, which are found from a start of half."""
    _, length, time = units
    t = np.linspace(0, time, 11)

    def build(p):
        system, _, hinge = hung(*units, damping=p[0])
        return tf.InitialValueProblem(system, {hinge: p[1]}, (0, time))

    true = solved(build([0.3, 0.5]), 30)
    places = true.position(true.system.bodies[0], t)
    seen = tf.Measurement(lambda bodies, t: bodies[0].position, t, places, deviation=1e-3 * length)
    found = tf.identify(build, [0.15, 0.4], ELEMENT, 30, seen, progress=False)
    return np.array(found.values)


def path(*units):
    """Two springs, a flat gable, that snap through: both limit loads, by the unit of the load."""
    mass, length, time = units
    top, force = tf.PointMass(mass, name="top"), mass * length / time**2
    springs = [tf.Spring(top, None, point_b=(side * length, 0, 0), stiffness=100.0 * mass / time**2,
                         length=np.hypot(1.0, 0.3) * length) for side in (-1, 1)]
    guide = tf.Constraint(top, "f[0].position[1]", 1)
    push = tf.Force(top, (0, 0, -force), time=tf.Ramp(-1000 * time, 1000 * time, -1000, 1000))
    found = tf.equilibrium_path(tf.System([top, *springs, guide, push]), 8.0 * time,
                                {top: tf.Pose((0, 0, 0.3 * length))}, progress=False)
    assert found.success and len(found.critical) == 2
    return np.concatenate([[point["t"] / time, point["q"][2] / length] for point in found.critical])


def assembled(*units):
    """From poses that are apart."""
    arm, length = Arm(*units), units[1]
    found = tf.assemble(arm.system, {arm.a: tf.Pose((0.1 * length, 0, -0.3 * length)),
                                     arm.b: tf.Pose((0.2 * length, 0, -0.7 * length))})
    return np.concatenate([found[body].q / np.append([length] * 3, [1] * 4) for body in (arm.a, arm.b)])


def refused(*units):
    """A millionth off counts, rounding does not."""
    arm, length, found = Arm(*units), units[1], []
    right = arm.problem().z0
    for off in (1e-6, 1e-15):
        z = right + np.append([off * length], np.zeros(len(right) - 1))
        try:
            tf.InitialValueProblem(arm.system, z, (0, units[2]))
            found.append(0.0)
        except tf.InputError:
            found.append(1.0)
    assert found == [1.0, 0.0]
    return np.array(found)


def rebound(*units):
    """A ball that falls on a spring, and is pushed to be half as high at the end."""
    mass, length, time = units
    ball, force = tf.PointMass(mass, dimension=1, name="ball"), mass * length / time**2
    fan, floor = (tf.ControlForce(ball, [(1, 0, 0)], name=name) for name in ("fan", "floor"))
    contact = tf.SpringContact(lambda now, u: now.q(ball)[0], lambda now, u: u[1], 850 * mass / time**2, mass=mass,
                               restitution=0.5, eps=1e-4 * length**2)
    start, end = ({ball: tf.Pose((height * length, 0, 0))} for height in (1.0, 0.5))
    problem = tf.OptimalControl(tf.System([ball], gravity=(-9.81 * length / time**2, 0, 0)), start, end, (0, time),
                                tf.Effort(fan), actuators=[fan, floor], limits=contact)
    sol = tf.solve(problem, tf.MixedGalerkin(1), 50, progress=False)
    assert sol.success and sol.z[:, 0].min() < 0.05 * length
    return np.append(sol.z[::5, 0] / length, sol.controls(sol.t[1::5])[:, 0] / force)


def sensitivity(*units):
    arm = Arm(*units)
    sol = solved(arm.problem())
    end = tf.EndValue(lambda bodies, t: bodies[0].position[0], bodies=["b"])
    found = np.ravel(tf.gradient(sol, end, [tf.Parameter(arm.a, "mass"), tf.Parameter(arm.spring, "stiffness")]))
    return found / arm.length * np.array([arm.mass, arm.mass / arm.time**2])


def ensemble(*units):
    arm = Arm(*units)
    solver = tf.prepare(arm.problem(), ELEMENT, 20, progress=False)
    runs = solver.solve_many(None, {"a.mass": np.array([1.0, 1.3]) * arm.mass}, n_workers=1, progress=False)
    return np.array([run[-1, :3] / arm.length for run in runs.z])


def counting_turns(*units):
    """Springs of joints count turns: counters of a mass of one did not converge, or not to the same digits, where the
    masses of bodies are far from one."""
    arm, moved = Arm(*units), []
    energy = units[0] * units[1]**2 / units[2]**2
    springs = [tf.JointSpring(joint=joint, stiffness=stiffness * energy) for joint, stiffness in
               ((arm.hinge, 3.0), (arm.elbow, 0.5))]
    arm.system = tf.System([*arm.system.bodies, arm.hinge, arm.elbow, *springs],
                           gravity=(0, 0, -9.81 * units[1] / units[2]**2))
    moved.append(arm.motion(tf.solve(arm.problem(), tf.MixedGalerkin(2, form="energy"), 40, progress=False)))
    moved.append(arm.motion(solved(arm.problem(), driver="global", tolerance=1e-6)))
    sol = solved(arm.problem(0.3))
    ends = [{body: tf.Pose(sol.position(body, t), sol.rotation_matrix(body, t)) for body in (arm.a, arm.b)}
            for t in sol.t[[0, -1]]]
    moved.append(arm.motion(solved(tf.BoundaryValueProblem(arm.system, (0, 0.3 * units[2]), *ends))))
    return np.array(moved)


def periodic_with_a_count(*units):
    mass, length, time = units
    system, _, hinge = hung(*units)
    spring = tf.JointSpring(joint=hinge, stiffness=4 * mass * length**2 / time**2)
    system = tf.System([*system.bodies, hinge, spring], gravity=(0, 0, -9.81 * length / time**2))
    found = tf.periodic(system, {hinge: 0.5}, 1.2 * time, n_elements=40)
    assert found.success
    return np.array([found.period / time])


def impact_beside_constraints(*units, stop=False):
    """A bob on a rod meets the floor: lengths, squares of lengths and angles are constrained side by side."""
    mass, length, time = units
    arm, bob = tf.RigidBody(mass, [0.02 * mass * length**2] * 3, name="arm"), tf.PointMass(0.5 * mass, name="bob")
    hinge = tf.Revolute(arm, point_a=(-0.5 * length, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    rod = tf.RigidDistance(arm, bob, point_a=(0.5 * length, 0, 0), length=0.4 * length)
    floor = tf.PlaneContact(bob, radius=0.05 * length, plane_point=(0, 0, -0.55 * length), restitution=0.9)
    stops = [tf.EndStop(hinge, lowest=-0.3, highest=0.3, restitution=0.5)] if stop else []
    system = tf.System([arm, bob, hinge, rod, floor, *stops], gravity=(0, 0, -9.81 * length / time**2))
    start = {arm: tf.Pose((0.5 * length, 0, 0)), bob: tf.Pose((1.4 * length, 0, 0))}
    sol = solved(tf.InitialValueProblem(system, start, (0, 0.6 * time)))
    return sol.position(bob, sol.t[-1]) / length


def stop_beside_a_floor(*units):
    """Gaps of the same bodies are lengths and angles."""
    return impact_beside_constraints(*units, stop=True)


def estimated(*units):
    """An arm seen by a camera, whose torque and spring are not known: it went astray in Gg, km, h."""
    arm, (mass, length, time) = Arm(*units, damping=0.02), units
    rng, times, inertia = np.random.default_rng(1), np.arange(1, 16) / 30, mass * length**2
    seen = solved(arm.problem(0.5), 15).position(arm.b, times * time)[:, [0, 2]] + \
        0.003 * length * rng.standard_normal((15, 2))
    camera = tf.Marker("b", axes="xz", times=times * time, values=seen, sigma=0.003 * length)
    prior = {name: tf.StatePrior((at, 0.0), q=0.3, v=1.0 / time) for name, at in (("hinge", 0.3), ("elbow", -0.2))}
    stiffness = mass / time**2
    problem = tf.Estimation(arm.system, [camera], noise={"hinge": 1e-5 * (inertia / time**2)**2 * time}, prior=prior,
                            numbers={"k": ("spring.stiffness", tf.Prior(5 * stiffness, stiffness))},
                            t_span=(0, 0.5 * time))
    sol = solved(problem, 15)
    found = sol.parameters["k"] / stiffness, sol.std("k") / stiffness, *(ask("hinge", 0.3 * time)[:1] for ask in (
        sol.value, sol.std))
    return np.concatenate([np.ravel(value) for value in found])


def estimated_from_rest(*units):
    """What stands at the origin has no size by its start."""
    mass, length, time = units
    body = tf.PointMass(2 * mass, dimension=1, name="body")
    spring = tf.Spring(body, None, point_b=(-length, 0, 0), stiffness=30 * mass / time**2, length=length, name="spring")
    times, rng = np.arange(1, 21) / 20, np.random.default_rng(2)
    values = (0.2 * np.sin(4 * times) + 0.002 * rng.standard_normal(20)) * length
    camera = tf.Marker("body", axes="x", times=times * time, values=values[:, None], sigma=0.002 * length)
    prior = tf.StatePrior(tf.Pose(), position=0.1 * length, velocity=length / time)
    problem = tf.Estimation(tf.System([body, spring]), [camera], prior={"body": prior}, t_span=(0, time),
                            noise={"body": 0.1 * (mass * length / time**2)**2 * time})
    sol = solved(problem, 20)
    return np.append(sol.position(body, sol.t)[:, 0], sol.std("body", 0.5 * time)[0]) / length


def stiff_stop_to_a_tolerance(*units):
    """Whose mesh followed the rounding in small errors, and the answer the mesh by 1e-6."""
    arm, energy = Arm(*units), units[0] * units[1]**2 / units[2]**2
    stop = tf.EndStop(arm.elbow, lowest=-0.6, highest=0.4, stiffness=2e4 * energy, damping=0.4 * units[2])
    arm.system = tf.System([arm.a, arm.b, arm.hinge, arm.elbow, arm.spring, stop],
                           gravity=(0, 0, -9.81 * units[1] / units[2]**2))
    sol = tf.solve(arm.problem(1.2), ELEMENT, tolerance=1e-4, progress=False)
    assert sol.success
    return arm.motion(sol)


def rolling(*units, form="hamilton"):
    """A tilted disc and a skate, whose rates are weighed by momenta alone: marched, and solved at once."""
    mass, length, time = units
    inertia, weight, moved, tilt = mass * length**2, 9.81 * length / time**2, [], 0.3
    disc = tf.RigidBody(2.0 * mass, np.array([0.045, 0.09, 0.045]) * inertia, name="disc")
    roll = tf.RollingDisc(disc, radius=0.3 * length, axis=(0, 1, 0))
    spin = np.array([0.4, 5.0, 0.0]) / time
    turned = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    velocity = 0.3 * length * np.cross(turned @ spin, turned[:, 2])
    skate = tf.RigidBody(2.0 * mass, np.array([0.1, 0.12, 0.2]) * inertia, name="skate")
    ice = tf.Planar(skate, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    edge = tf.KnifeEdge(skate, point=(-0.2 * length, 0, 0))
    for body, parts, side, start in (
            (disc, [roll], 0.0, tf.Pose((0, 0, 0.3 * length * np.cos(tilt)), turned, velocity=velocity,
                                        angular_velocity=spin)),
            (skate, [ice, edge], 0.3, tf.Pose(velocity=(length / time, 0.3 * length / time, 0),
                                              angular_velocity=(0, 0, 1.5 / time)))):
        problem = tf.InitialValueProblem(tf.System([body, *parts], gravity=(side * weight, 0, -weight)), {body: start},
                                         (0, time))
        for options in {}, {"driver": "global"}:
            sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), 20, progress=False, **options)
            assert sol.success, sol.status.message
            moved.append(np.concatenate([sol.position(body, sol.t[-1]) / length,
                                         sol.rotation_matrix(body, sol.t[-1]).ravel()]))
    return np.array(moved)


def rolling_by_energy(*units):
    """Whose multipliers of lengths of quaternions are momenta, and no rates as in the guess that is marched."""
    return rolling(*units, form="energy")


KINDS = (march, directors, to_a_tolerance, damped_to_a_tolerance, global_to_a_tolerance,
         energy_form_to_a_tolerance, light_to_a_tolerance, top_to_a_tolerance, boundary,
         at_rest, frequencies, steady_or_not, settled, periodic, driven, critical, identified, path, assembled, refused,
         rebound, sensitivity, ensemble, counting_turns, periodic_with_a_count, impact_beside_constraints,
         stop_beside_a_floor, estimated, estimated_from_rest, rolling, rolling_by_energy,
         stiff_stop_to_a_tolerance)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_kinds_in_units(kind):
    right = kind(1.0, 1.0, 1.0)
    for name, units in UNITS.items():
        found = kind(*units)
        off = np.abs(found - right).max() / np.abs(right).max()
        assert off <= 1e-9, f"{name}: {off:.1e}"
