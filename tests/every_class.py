"""A system with a part of every class, and every number that these declare, for tests of formulas of numbers."""

import casadi as ca
import numpy as np

import timefem as tf
from timefem.mechanics.catalogue import catalogue
from timefem.mechanics.numbers.arguments import entries

LINE = [tf.Line((0, 0, 0), (1, 0, 0))]


def every_class(seed, zeros=False, costs=True):
    """The system; with `zeros` all numbers vanish that may; `costs` are what files do not hold.

    Motions do not matter: joints may contradict one another.
    """
    rng = np.random.default_rng(seed)

    def n(low=0.5, high=1.5):
        return float(rng.uniform(low, high))

    def z(low=0.5, high=1.5):
        return 0.0 * n(low, high) if zeros else n(low, high)

    def vector():
        return rng.uniform(0.3, 1.0, 3) * (not zeros)

    def direction():
        return np.array([0.6, 0.0, 0.8]) if zeros else rng.uniform(-1, 1, 3)

    def turn():
        q = np.array([1.0, 0, 0, 0]) if zeros else rng.normal(size=4)
        return q / np.linalg.norm(q)

    def inertia(full):
        r = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        matrix = r @ np.diag(rng.uniform(2, 3, 3)) @ r.T
        return (matrix + matrix.T) / 2 if full else np.diag(matrix).copy()

    full = not zeros
    a, b = (tf.RigidBody(n(), inertia(full), name=name, size=rng.uniform(0.5, 1, 3)) for name in "ab")
    d, e = (tf.RigidBody(n(), inertia(full and name == "d"), "directors", name=name) for name in "de")
    f = tf.RigidBody(n(), inertia(False), name="f")
    plate = tf.RigidBody(n(), [1.0, 1.0, 2.0], "directors", name="plate")
    p, flat = tf.PointMass(n(), name="p"), tf.PointMass(n(), 2, name="flat")
    g = tf.GeneralizedSystem(3, lambda q, v, c: (c[0] * v[0]**2 + c[1] * (v[1] + v[0])**2 + c[0] * c[1] * v[2]**2) / 2,
                             parameters=[n(), n()], name="g").parts[0]
    held = tf.GeneralizedSystem(2, lambda q, v, c: c[0] * (v[0]**2 + 2 * v[1]**2) / 2,
                                constraints=lambda q, c: q[0] - c[1] * q[1], parameters=[n(), n()], regularize=True,
                                name="held").parts[0]
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[n(), n(), z()], name="coil")
    sand, angles = tf.VariableMass(n(), name="sand"), tf.Control(2, name="angles")
    charge = tf.State("charge", "c[0] * (u[0] - x[0]) + c[1] * f[0].velocity[0]", bodies=[p], controls=[angles],
                      parameters=[n(), z()])
    tree = tree_of(n, z, vector, direction, turn, inertia, zeros)
    on = {"point_a": vector(), "point_b": vector()}
    axes = {"axis_a": direction(), "axis_b": direction()}
    across = {} if zeros else {"direction_a": direction(), "direction_b": direction()}
    joints = [
        tf.Revolute(a, b, **on, **axes, name="revolute"),
        tf.Revolute(b, d, **on, **axes, **across, name="set revolute"),
        tf.Spherical(a, d, **on, name="spherical"), tf.Cylindrical(a, b, **on, **axes, name="cylindrical"),
        tf.Planar(a, b, **on, **axes, name="planar"),
        tf.Prismatic(a, e, **on, axis_b=direction(), orientation=turn(), name="prismatic"),
        tf.Universal(a, b, **on, axis_a=direction(), axis_b=(0, 0.5, 1) if zeros else direction(), name="universal"),
        tf.Weld(a, f, **on, orientation=turn(), name="weld"), tf.RigidDistance(a, p, point_a=vector(), length=n(),
                                                                               name="distance"),
        tf.FixedPoint(a, vector(), vector(), name="fixed point"),
        tf.PrescribedPosition(a, position=(tf.Sine(n(), n(), z(), z()), n(), tf.Ramp(0, n(), 0, n(), "smooth")),
                              point=vector(), name="prescribed position"),
        tf.PrescribedAngle(a, b, angle=tf.Polynomial([z(), n(), z()], z()), axis_b=(0, 0.2, 1), direction_a=direction(),
                           direction_b=(n(), 0, 0), name="prescribed angle"),
        tf.RollingDisc(a, radius=n(), normal=direction(), plane_point=vector(), axis=direction(), name="disc"),
        tf.RollingSphere(b, radius=n(), normal=direction(), plane_point=vector(), name="sphere"),
        tf.KnifeEdge(a, point=vector(), across=direction(), name="edge"),
        tf.NonTwisting(d, a=z(0.2, 0.8), name="twist"),
        tf.Constraint([a, b], lambda f, t, c: ca.sumsqr(f[0].position - f[1].position) - c[0] * c[1], 1,
                      parameters=[n(), n()], name="constraint"),
        tf.NonholonomicConstraint(a, lambda f, t, c: c[0] * f[0].velocity[0] - c[1], 1, parameters=[n(), z()],
                                  name="nonholonomic"),
    ]
    named = {joint.name: joint for joint in joints}
    hinge, planar, universal, cylindrical = map(named.get, ("revolute", "planar", "universal", "cylindrical"))
    table = tf.Table([0, 0.5 * n(), 1.5, 2 + n()], rng.uniform(-1, 1, 4), "cubic")
    spline = tf.Spline([0, 1, 2, 3, 4, 5.0], rng.uniform(-1, 1, 6), 3)
    pair = {"body_a": a, "body_b": b, **on}
    thruster = tf.Thruster(a, direction=direction(), point=vector(), drag=z(), name="thruster")
    matrix = tf.GeneralizedControl(g, rng.uniform(-1, 1, (3, 2)), name="matrix")
    motor = tf.Motor(hinge, gear=n(), rotor_inertia=n(), damping=z(), torque=tf.Step(n(), n()), name="motor")
    cable = tf.ControlForce(a, rng.uniform(-1, 1, (2, 3)), vector(), reaction=b, name="cable")
    pulse = tf.TrianglePulse(0, n(), 2, n())
    forces = [
        tf.Spring(**pair, stiffness=n(), length=z(), name="spring"), tf.Damper(**pair, damping=z(), name="damper"),
        tf.NonlinearSpring(**pair, potential=lambda l, k, m: k * l**2 + m * l, parameters=[n(), z()], name="nonlinear"),
        tf.TorsionalSpring(a, b, axis=direction(), stiffness=n(), rest=z(), orientation=turn(), name="torsional"),
        tf.RotationalSpring(a, b, stiffness=n(), orientation=turn(), name="rotational"),
        tf.TorsionalDamper(a, b, axis=direction(), damping=z(), name="torsional damper"),
        tf.RayleighDissipation(a, linear=z(), angular=z(), name="rayleigh"),
        tf.SlackRope(**pair, length=n(), stiffness=n(), damping=z(), name="slack"),
        tf.Drag(a, z(), vector(), vector(), name="drag"),
        tf.Force(a, (pulse, tf.Table([0, n(), 2.0], rng.uniform(-1, 1, 3)), "sin(t)"), vector(),
                 time=tf.Transfer(0, n(), z(), n()), name="force"),
        tf.Torque(a, (table, spline, z()), time=z(), name="torque"),
        tf.PlaneContact(a, normal=direction(), plane_point=vector(), stiffness=n(), damping=z(),
                        points=rng.uniform(-1, 1, (2, 3)), radius=z(), friction=z(), friction_width=n(),
                        name="contact"),
        tf.BoxContact(b, normal=direction(), plane_point=vector(), stiffness=n(), damping=z(), name="box"),
        tf.BoxContact(a, normal=direction(), plane_point=vector(), stiffness=n(), size=rng.uniform(1, 2, 3),
                      name="own box"),
        *contacts(a, b, p, n, z, vector, direction, turn, rng),
        tf.Tyre(a, normal=direction(), plane_point=vector(), stiffness=n(), damping=z(), radius=n(), axis=direction(),
                longitudinal=z(), lateral=z(), slow=n(), name="tyre"),
        tf.JointSpring(hinge, stiffness=n(), rest=z(), name="joint spring"),
        tf.JointSpring(planar, coordinate="u", stiffness=n(), name="planar spring"),
        tf.JointDamper(universal, coordinate="angle_a", damping=z(), name="joint damper"),
        tf.JointForce(cylindrical, coordinate="displacement", value=tf.Sine(n(), n()), name="joint force"),
        tf.JointFriction(hinge, friction=z(0.2, 0.4), friction_width=n(), breakaway=z(), stribeck=z(), damping=z(),
                         name="friction"),
        tf.BearingFriction(hinge, friction=z(0.2, 0.4), friction_width=n(), radius=n(), length=z(), collar=z(),
                           breakaway=z(), stribeck=z(), name="bearing"),
        tf.FormulaForce(a, lambda f, t, c, r: c[0] * r[:3] - c[1] * f[0].velocity, parameters=[z(), n()],
                        reactions=[hinge], name="reacting force"),
        tf.EndStop(hinge, lowest=-n(), highest=n(), stiffness=n(), damping=z(), name="stop"),
        tf.PDControl(hinge, stiffness=z(), damping=z(), reference=tf.Ramp(0, 1, z(), n()), feedforward=z(), name="pd"),
        tf.PrescribedJoint(planar, coordinate="angle", value=tf.Sine(n(), n()), name="prescribed joint"),
        tf.JointControl(universal, coordinate="angle_b", name="drive"),
        tf.LengthControl(**pair, name="cylinder"), tf.ControlTorque(a, rng.uniform(-1, 1, (2, 3)), name="wheels"),
        tf.FormulaForce(a, lambda f, t, c, u: c[0] * u[0] * f[0].velocity, parameters=[z()], controls=[angles],
                        name="steered"),
        tf.FormulaForce(a, lambda f, t, c: c[0] * f[0].velocity + c[1], parameters=[z(), n()], name="formula force"),
        tf.JointSpring(tree.joint("hinge"), stiffness=n(), rest=z(), name="spring on tree"),
        tf.Controller([hinge, thruster], lambda x, v, t, c: [c[0] * x, c[1] * v], parameters=[z(), n()],
                      name="feedback"),
        tf.SampledController([(planar, "v")], lambda x, v, t, c: c[0] * x, period=0.1, parameters=[n()],
                             name="sampled"),
        tf.PortConnection([a, coil], "f[0].angular_velocity[2]", "f[1].rate[0]", gain=n(), name="ports"),
        tf.connect(tf.Port(cylindrical, "displacement"), tf.Port(coil), gain=n(), name="ports of a joint"),
        tf.FormulaEnergy(p, lambda e, t, c: c[0] * e[0]**2, parameters=[n()], n_lift=1,
                         lift=lambda f, t, c: f[0].position[2], name="energy"),
        motor, cable, matrix, thruster, angles,
    ]
    rope = tf.Rope(LINE, tf.RopeSection(n(), n(), z()), 2, 2, mass="gauss", name="rope")
    beam = tf.Beam(LINE, section(n, z), 2, 2, rotation="directors", mass="consistent", name="beam")
    turned = tf.Beam([tf.Line((0, 0, 0), (1, 1, 0))], section(n, z), 1, 2, triads="space", name="turned")
    chain = tf.MassSpringChain(3, n(), n(), (1, 0, 0), length=z(), damping=z(), name="chain")
    loads = [tf.LineForce(beam, (n(), tf.Sine(n(), n()), z()), time=tf.Ramp(0, 1, 0, n()),
                          profile=rng.uniform(0.5, 1, 3), name="line force"),
             tf.LineTorque(turned, (n(), z(), z()), name="line torque")]
    bodies = [a, b, d, e, f, plate, p, flat, g, held, tree, coil, sand, charge]
    effort = [tf.Effort(cable, rng.uniform(1, 2, 2), name="effort")] if costs else []
    weights = [tf.Gravity(body, vector() + 0.1) for body in (*bodies[:8], tree, beam.nodes[1], chain.nodes[0])]
    return tf.System([*bodies, *joints, *forces, beam, turned, rope, chain, *loads, *effort, *weights])


def contacts(a, b, p, n, z, vector, direction, turn, rng):
    """By a penalty, and rigid ones."""
    law = {"stiffness": n(), "damping": z(), "friction": z(), "friction_width": n()}
    rigid = {"restitution": z(0.2, 0.4), "friction": z()}
    plane = {"normal": direction(), "plane_point": vector(), "motion": (tf.Sine(n(), n()), z(), 0.0),
             "surface_velocity": vector()}
    return [
        tf.PlaneContact(a, on=b, points=rng.uniform(-1, 1, (2, 3)), radius=z(), **plane, **rigid, name="on a body"),
        tf.BoxContact(a, **plane, **rigid, name="rigid box"),
        tf.BoxPairContact(a, b, size_b=rng.uniform(1, 2, 3), edges=False, **rigid, name="boxes"),
        tf.EllipsoidContact(a, half_axes=rng.uniform(1, 2, 3), centre=vector(), orientation=turn(), **plane, **law,
                            name="ellipsoid"),
        tf.RimContact(b, radius=n(), axis=direction(), centre=vector(), **plane, **law, name="rim"),
        tf.SphereContact(a, b, radius_a=n(), radius_b=n(), point_a=vector(), point_b=vector(), **law, name="spheres"),
        tf.DiscContact(a, b, radius_a=n(), radius_b=n(2, 3), axis=direction(), inside=True, **rigid, name="discs"),
        tf.SurfaceContact(a, on=b, formula="x[2] - c[0] * sin(x[0] + t)", parameters=[n()], point=vector(), **law,
                          name="waves"),
        tf.EdgeContact(a, b, start_a=vector(), end_a=rng.uniform(1, 2, 3), start_b=vector(), end_b=rng.uniform(1, 2, 3),
                       outwards=(n(), 0.0, -n()), **rigid, name="edges"),
        tf.FormulaContact([a, p], formula="f[1].position[0] - c[0] * f[0].position[2]", parameters=[n()],
                          slip="f[1].velocity[1] - f[0].velocity[1]", n_slip=1, **rigid, name="row"),
        tf.Tether(a, p, point_a=vector(), length=n(), restitution=z(0.2, 0.4), name="tether"),
    ]


def section(n, z):
    second = n(), n()
    return tf.Section(n(), (n(), n()), n(), (n(), n()), n(), (0.9 * sum(second), *second), damping=z())


def tree_of(n, z, vector, direction, turn, inertia, zeros):
    links = [tf.Link("ground"), *(tf.Link(name, n(), vector(), inertia(not zeros), turn()) for name in
                                  ("upper", "lower", "hand", "ball", "foot"))]
    at = {"position": vector(), "orientation": turn()}
    joints = [tf.TreeJoint("hinge", "ground", "upper", "revolute", **at, axis=direction(), damping=z(), friction=z(),
                           stiffness=z(), rest=z(), armature=z()),
              tf.TreeJoint("slide", "upper", "lower", "prismatic", **at, axis=direction(), damping=z()),
              tf.TreeJoint("fixed", "lower", "hand", "fixed", **at),
              tf.TreeJoint("ball joint", "upper", "ball", "spherical", **at),
              tf.TreeJoint("follower", "ball", "foot", "revolute", **at, axis=direction(), mimic=("hinge", 0.5, 0.1))]
    return tf.Tree(links, joints, 0.1, name="tree")


def numbers_of(system):
    """All entries of `NumberMap`: of the parts, and of composite parts, that are not made by others."""
    found = []
    for part in (*system.parts, *system.composites):
        if part.owner is None:
            names = [name for name, field in part.fields.items() if field.varies] or part.changeable.values()
            found += [(part, name, *steps) for name in names for steps in entries(name, getattr(part, name))]
    return found


def classes_without_a_part(system):
    """Names of classes in the catalogue of which the system has none."""
    made = {type(part).__name__ for part in (*system.parts, *system.composites)}
    return set(catalogue()) - made
