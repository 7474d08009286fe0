"""Parts of classes that the package does not know: with other numbers, in joint coordinates, by coordinates."""

from functools import cached_property

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.elements.evaluation.elements_in_lanes import ElementBatch
from timefem.mechanics.composites.composite import Composite
from timefem.mechanics.declared import Integer, Real
from timefem.mechanics.forces.springs import PointForce
from timefem.mechanics.joints.frame import Displacement
from timefem.mechanics.joints.joint import Joint
from timefem.mechanics.part import Body, Part
from timefem.mechanics.symbols import Symbols
from timefem.mechanics.values.conserved import conserved

REST = {"atol": 0.0, "rtol": 1e-9}


class HardeningSpring(PointForce):
    """A cubic spring."""

    stiffness = Real("k", "N/m", above=0, default=None)
    hardening = Real("k3", "N/m^3", 0.0, least=0)

    def energy(self, s):
        c, square = self.named(s.own), self._square(s)
        return c.stiffness / 2 * square + c.hardening / 4 * square**2


class BySquare(HardeningSpring):
    """The same, stated as the base asks for."""

    energy = PointForce.energy

    def energy_of_square(self, s, square):
        c = self.named(s.own)
        return c.stiffness / 2 * square + c.hardening / 4 * square**2


class Crosswise(PointForce):
    """A force across the line."""

    size = Real("f", "N", 1.0)

    def force(self, s):
        return ca.jtimes(self._place(s, 0, s.own[:3]), s.q[0], ca.vertcat(0, 0, self.named(s.own).size), True)


class Masses(Composite):
    """Masses in a row with springs to the ground, all by numbers."""

    n = Integer("number of masses", least=1, most=9)
    mass = Real("of each", "kg", above=0)
    stiffness = Real("k", "N/m", above=0)

    def make_nodes(self):
        return [tf.PointMass(self.mass * (i + 1)) for i in range(self.n)]

    def make_elements(self):
        return [tf.Spring(node, stiffness=self.stiffness) for node in self.nodes]

    def reference(self, i):
        return tf.Pose((i + 1, 0, 0))


@pytest.mark.parametrize("element", [tf.EMH(), tf.EML(), tf.MixedGalerkin(1, keep="all")], ids=lambda e: e.name)
def test_an_energy_that_is_stated_anew_acts_in_every_element(element):
    """What a base makes of its own formula, such as the lift of a spring, is not that of another one."""
    ends = []
    for kind in (HardeningSpring, BySquare):
        mass = tf.PointMass(2.0, name="mass")
        system = tf.System([mass, kind(mass, point_b=(0.1, 0, 0), stiffness=4.0, hardening=10.0)])
        problem = tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0), velocity=(0, 1, 0))}, (0, 0.5))
        solution = tf.solve(problem, element, 20, progress=False)
        np.testing.assert_allclose(solution.energy(solution.t), solution.energy(0.0), rtol=1e-10)
        ends.append(solution.position(mass, 0.5))
    np.testing.assert_allclose(*ends, atol=1e-3, rtol=0)
    assert ends[0][0] < 0.5


def test_numbers_of_one_part_are_not_those_of_its_class():
    """The second spring would have the stiffness of the first."""
    class OfSelf(HardeningSpring):
        def energy(self, s):
            return self.stiffness / 2 * self._square(s)

    class Far(tf.RigidDistance):
        extra = Real("further by", "m", 0.0)

        def formula(self, a, b, t, c):
            return [super().formula(a, b, t, c)[0] - self.extra]

    mass = tf.PointMass(1.0, name="mass")
    for part in (OfSelf(mass, stiffness=2.0), Far(mass, length=1.0, extra=0.5)):
        system = tf.System([mass, part])
        with pytest.raises(tf.InputError, match=rf"{type(part).__name__}: its formulas read self\..*c = self.named"):
            tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0))}, (0, 0.1))
        with pytest.raises(tf.InputError, match=r"its formulas read self\."):
            ElementBatch(system, tf.EMH())


def test_a_formula_of_a_joint_may_be_a_vector():
    class AsVector(tf.RigidDistance):
        def formula(self, a, b, t, c):
            return ca.vertcat(*super().formula(a, b, t, c))

    mass = tf.PointMass(1.0)
    found = [tf.System([mass, kind(mass, length=0.6)]).constraints(0.0, np.ones(6)) for kind in
             (tf.RigidDistance, AsVector)]
    np.testing.assert_array_equal(*found)
    assert found[0].any()


def test_arguments_that_are_needed_are_named():
    with pytest.raises(tf.InputError, match=r"HardeningSpring: stiffness is missing"):
        HardeningSpring(tf.PointMass(1.0))
    assert "stiffness : " in HardeningSpring.__doc__ and "stiffness : float, optional" not in HardeningSpring.__doc__
    with pytest.raises(TypeError, match="late is needed, but is declared after an argument with a default"):
        class Wrong(PointForce):
            late = Real("late", "N")


def test_what_a_base_says_of_its_formulas_ends_where_they_are_stated_anew():
    class Tilted(tf.Spring):
        def energy(self, s):
            return super().energy(s) + s.q[0][2]

    class Windy(tf.Damper):
        def force(self, s):
            return super().force(s) + ca.vertcat(1, *[0] * (s.q[0].numel() + s.q[1].numel() - 1))

    class Rod(tf.RigidDistance):
        def formula(self, a, b, t, c):
            return [(b.point(c.point_b) - a.point(c.point_a))[0] - c.length]

    a, b = tf.PointMass(1.0), tf.PointMass(2.0)
    for kind, numbers, said in ((tf.Spring, {"stiffness": 1.0}, (1, 6, 6)), (Tilted, {"stiffness": 1.0}, (0, 0, 0)),
                                (HardeningSpring, {"stiffness": 1.0}, (0, 0, 0)), (Crosswise, {}, (1, 6, 0)),
                                (BySquare, {"stiffness": 1.0}, (1, 6, 6)), (tf.Damper, {"damping": 1.0}, (1, 6, 6)),
                                (Windy, {"damping": 1.0}, (1, 6, 0)), (tf.RigidDistance, {"length": 1.0}, (0, 6, 6)),
                                (Rod, {"length": 1.0}, (0, 0, 0))):
        part = kind(a, b, **numbers)
        s, motions = Symbols(part), part.workless_motions()
        found = part.lift(s) is not None, part.symmetry(s).shape[1], 0 if motions is None else motions.shape[1]
        assert found == said, kind


def test_nothing_is_taken_for_constant_that_a_force_across_the_line_changes():
    for spring, constant in ((BySquare, True), (HardeningSpring, False)):
        mass = tf.PointMass(1.0)
        system = tf.System([mass, spring(mass, stiffness=1.0)])
        assert (conserved(system, 0.0)[0] is not None) is constant
    assert conserved(tf.System([mass, Crosswise(mass)]), 0.0)[0] is None


class Shared(HardeningSpring):
    """Of a user who calls a share of the force `part`."""

    part = Real("of the force that counts", "1", 1.0, above=0)

    def energy(self, s):
        return self.named(s.own).part * super().energy(s)


def test_an_argument_may_be_called_part():
    body = tf.PointMass(1.0, name="ball")
    system, whole = (tf.System([body, Shared(body, point_b=(1, 0, 0), stiffness=k, part=part, name="spring")])
                     for k, part in ((4.0, 0.5), (2.0, 1.0)))
    ends = [tf.solve(tf.InitialValueProblem(one, {}, (0, 0.5)), tf.MixedGalerkin(2), 8, progress=False).z[-1]
            for one in (whole, system, system.with_numbers({"spring.stiffness": 4.0, "spring.part": 0.5}))]
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, **REST)


def test_a_composite_with_other_numbers():
    def end(system):
        return tf.solve(tf.InitialValueProblem(system, {}, (0, 0.5)), tf.MixedGalerkin(2), 8, progress=False).z[-1]

    system = tf.System([Masses(n=2, mass=1.0, stiffness=3.0, name="row")])
    anew = tf.System([Masses(n=2, mass=1.5, stiffness=5.0, name="row")])
    np.testing.assert_array_equal(end(system.with_numbers({"row.mass": 1.5, "row.stiffness": 5.0})), end(anew))


@pytest.mark.parametrize("row", [Masses(n=3, mass=1.0, stiffness=3.0, name="row"),
                                 tf.MassSpringChain(3, 3.0, 10.0, (1, 0, 0), name="row")])
def test_numbers_of_members_hold_in_any_order_and_later(row):
    def numbers(system):
        return [*(body.mass for body in system.bodies), *{part.stiffness for part in system.parts if not part.is_body}]

    system = tf.System([row])
    masses, more = numbers(system)[:3], numbers(system.with_numbers({"row.stiffness": 20.0}))[3:]
    asked = {"row.node[0].mass": 5.0, "row.stiffness": 20.0}
    both, turned = system.with_numbers(asked), system.with_numbers(dict(reversed(asked.items())))
    first = system.with_numbers({"row.node[0].mass": 5.0})
    later, again = first.with_numbers({"row.stiffness": 20.0}), both.with_numbers({"row.stiffness": 20.0})
    for found in (both, turned, later, again):
        assert numbers(found) == [5.0, *masses[1:], *more]
        for part in found.parts:  # what stands on a member sees its number
            for body in part.bodies:
                assert body.mass == found.bodies[found.bodies.index(body)].mass
    assert numbers(later.with_numbers({"row.node[0].mass": 6.0}).with_numbers({"row.mass": 2.0}))[0] == 6.0
    assert numbers(system)[:3] == masses


def test_entries_of_numbers_of_members_hold():
    class Rods(Composite):
        length = Real("of a rod", "m", above=0)

        def make_nodes(self):
            return [tf.RigidBody(1.0, [self.length, self.length, 1.0])]

        def make_elements(self):
            return []

        def reference(self, i):
            return tf.Pose()

    system = tf.System([Rods(1.0, name="rods")])
    found = system.with_numbers({"rods.node[0].inertia[2]": 1.5, "rods.length": 2.0})
    np.testing.assert_array_equal(np.diag(found.bodies[0].inertia), [2.0, 2.0, 1.5])
    found = found.with_numbers({"rods.length": 1.2}).with_numbers({"rods.node[0].inertia[0]": 1.3})
    np.testing.assert_array_equal(np.diag(found.with_numbers({"rods.length": 1.4}).bodies[0].inertia), [1.3, 1.4, 1.5])


def test_derivatives_by_a_composite_part_leave_given_numbers_of_members():
    row = tf.MassSpringChain(3, 3.0, 10.0, (1, 0, 0), name="row")
    system = tf.System([row]).with_numbers({"row.node[0].mass": 5.0})

    def motion(system):
        problem = tf.InitialValueProblem(system, {"row.node[2]": tf.Pose((3, 0, 0), velocity=(1, 0, 0))}, (0, 1))
        return tf.solve(problem, tf.MixedGalerkin(2), 3, progress=False)

    found = tf.gradient(motion(system), tf.EndValue(lambda bodies, t: bodies[0].position[0]),
                        [tf.Parameter("row", "mass"), tf.Parameter("row", "stiffness")])
    for name, value, derivative in (("mass", 3.0, found[0]), ("stiffness", 10.0, found[1])):
        ends = [motion(system.with_numbers({f"row.{name}": value + d})).z[-1, 0] for d in (1e-4, -1e-4)]
        assert derivative == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-6)


def test_a_composite_part_without_members_is_refused():
    class Perhaps(Masses):
        n = Integer("number of masses", least=0, most=9)

    class Hung(Perhaps):
        def make_elements(self):
            return [tf.Spring(self.nodes[0], stiffness=self.stiffness)]

    for cls in (Perhaps, Hung):
        with pytest.raises(tf.InputError, match=f"{cls.__name__} 'row': make_nodes gave no bodies"):
            cls(n=0, mass=1.0, stiffness=1.0, name="row")


def test_a_force_acts_in_joint_coordinates():
    rod = tf.RigidBody(1.0, [0.1, 0.1, 0.01], name="rod")
    hinge = tf.Revolute(rod, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    spring = HardeningSpring(rod, point_a=(0, 0, -0.5), point_b=(1, 0, -0.5), stiffness=4.0, hardening=10.0)
    places = []
    for coordinates in ("bodies", "joint"):
        system = tf.System([rod, hinge, spring], gravity=(0, 0, -9.81), coordinates=coordinates)
        problem = tf.InitialValueProblem(system, {rod: tf.Pose((0, 0, -0.5))}, (0, 0.7))
        places.append(tf.solve(problem, tf.MixedGalerkin(4), 30, progress=False).position(rod, 0.7))
    np.testing.assert_allclose(places[0], places[1], atol=1e-10, rtol=0)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_bodies_start_by_coordinates(rotation):
    body, ball = tf.RigidBody(2.0, [0.1, 0.2, 0.25], rotation=rotation, name="body"), tf.PointMass(3.0, name="ball")
    system = tf.System([body, ball])
    poses = {body: tf.Pose((1, 2, 3), (0.5, 0.5, 0.5, 0.5), (1, 0, 2), (0.3, -0.2, 0.5)),
             ball: tf.Pose((4, 5, 6), velocity=(1, 2, 3))}
    start = tf.InitialValueProblem(system, poses, (0, 1)).z0
    q, v = start[:system.n_q], system.velocity(0.0, start)
    given = {b: tf.Coordinates(q[system.coordinates(b)], v[system.coordinates(b)]) for b in (body, ball)}
    np.testing.assert_allclose(tf.InitialValueProblem(system, given, (0, 1)).z0, start, atol=1e-14, rtol=0)


def test_a_mass_that_burns_starts_by_coordinates():
    rocket = tf.VariableMass(10.0, dimension=2, name="rocket")
    start = tf.InitialValueProblem(tf.System([rocket]), {rocket: tf.Coordinates((1, 2, 8), (3, 4, 0))}, (0, 1)).z0
    np.testing.assert_allclose(start, [1, 2, 8, 24, 32, 0], **REST)
    for coordinates, message in (((1, 2, -8), "mass must be positive, not -8"), ((1, 2), "length 3, not 2")):
        with pytest.raises(tf.InputError, match=message):
            tf.InitialValueProblem(tf.System([rocket]), {rocket: tf.Coordinates(coordinates)}, (0, 1))


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_the_rate_of_a_state_sees_a_link(coordinates):
    """A motor with inductance drives a pendulum; the same by a solver of ordinary differential equations."""
    rod = tf.RigidBody(1.0, [1 / 12, 1 / 12, 1e-3], name="rod")
    hinge = tf.Revolute(rod, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    current = tf.State("current", "(c[0] - c[1] * x[0] - c[2] * f[0].angular_velocity[1]) / c[3]", bodies=[rod],
                       parameters=[6.0, 1.0, 0.2, 0.02])
    torque = tf.FormulaForce([rod, current], "[[0, 0, 0, 0, 0.2 * f[1].q[0], 0], 0]", name="torque")
    system = tf.System([rod, hinge, current, torque], gravity=(0, 0, -9.81), coordinates=coordinates)
    problem = tf.InitialValueProblem(system, {rod: tf.Pose((0, 0, -0.5)), current: 0.0}, (0, 0.5))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 24, progress=False)
    exact = solve_ivp(lambda t, y: [y[1], 3 * (0.2 * y[2] - 0.5 * 9.81 * np.sin(y[0])), (6 - y[2] - 0.2 * y[1]) / 0.02],
                      (0, 0.5), [0, 0, 0], method="Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    found = [*sol.position(rod, 0.5)[[0, 2]], sol.coordinates("current", 0.5)[0]]
    np.testing.assert_allclose(found, [-0.5 * np.sin(exact[0]), -0.5 * np.cos(exact[0]), exact[2]], atol=1e-7, rtol=0)


def test_ends_are_met_by_coordinates():
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    ends = {"pose": (tf.Pose((1, 0, 0), velocity=(0.5, 0, 0)),), "coordinates": (tf.Coordinates([1.0], [0.5]),)}
    costs = {how: tf.solve(tf.OptimalControl(tf.System([mass, push]), {mass: tf.Pose()}, {mass: end}, (0, 1),
                                             tf.Effort(push)), tf.MixedGalerkin(2), 4, progress=False).objective
             for how, (end,) in ends.items()}
    assert costs["coordinates"] == pytest.approx(costs["pose"], rel=1e-12)


class Bead(Body):
    """A mass on a line, in a coordinate of which it is a multiple."""

    mass = Real("mass", "kg", above=0)
    stretch = Integer("x = stretch q", 1, least=1, most=9)
    n_q, kind = 1, ("bead",)

    def numbers(self, c):
        return {"mass": c.mass}

    @property
    def mass_scale(self):
        return np.ones(1)

    def kinetic_energy(self, q, p, c):
        return p[0] ** 2 / (2 * self.inertia(c))

    def kinetic_of_velocity(self, q, v, c):
        return self.inertia(c) * v[0] ** 2 / 2

    def inertia(self, c):
        return c[0]

    def velocity(self, q, p):
        return np.asarray(p, float) / float(self.inertia(self.own_parameters))


class HeavyBead(Bead):
    """It inherits a `kind`, a plain value."""

    def inertia(self, c):
        return 2 * c[0]


class LongBead(Bead):
    """One whose formulas depend on an integer, and which leaves its `kind` to the class and that."""

    kind = Part.kind

    def inertia(self, c):
        return self.stretch**2 * c[0]


class Pull(Part):
    def __init__(self, body):
        self.bodies = (body,)

    @cached_property
    def kind(self):
        return "pull", self.bodies[0].kind

    def energy(self, s):
        return -self.force_along * s.q[0][0]

    force_along = 1.0


class Push(Pull):
    force_along = -3.0


def test_classes_that_share_a_kind_have_formulas_of_their_own():
    """T = m v^2/2 with a force of 1 N for 1 s: q = 1/(2 m), whatever was made before, and side by side."""
    for order in (1, -1):
        beads = [Bead(2.0), HeavyBead(2.0), LongBead(2.0, 2), LongBead(2.0, 3)][::order]
        parts = [make(bead) for bead in beads for make in (Pull, Push)]
        problem = tf.InitialValueProblem(tf.System([*beads, *parts]), {b: tf.Coordinates([0.0], [0.0]) for b in beads},
                                         (0, 1))
        end = tf.solve(problem, tf.MixedGalerkin(1), 2, progress=False).z[-1, :4]
        np.testing.assert_allclose(end[::order], [-1 / 2, -1 / 4, -1 / 8, -1 / 18], rtol=1e-10)
    alike = [HeavyBead(1.0), HeavyBead(3.0)]
    assert alike[0].kind == alike[1].kind and len(tf.System(alike).groups) == 1


def test_a_body_that_reads_no_pose_says_so():
    bead = Bead(2.0, name="bead")
    for has_position in (False, True):
        bead.has_position = has_position
        with pytest.raises(tf.InputError, match=r"Coordinates\(q, v\) of 1 values, .*Bead has no method state\(pose\)"):
            tf.InitialValueProblem(tf.System([bead]), {bead: tf.Pose((1, 0, 0))}, (0, 1))
        bead = Bead(2.0, name="bead")


def test_a_force_across_a_plane_is_no_rate_of_mass():
    rocket = tf.VariableMass(10.0, dimension=2, name="rocket")
    with pytest.raises(tf.InputError, match="rate of its mass is the fourth number"):
        tf.FormulaForce(rocket, "[1, 0, -2]")
    assert tf.FormulaForce(rocket, "[1, 0, 0, -2]")


class SprungLinks(Composite):
    """Rigid links along x with springs at their hinges about y, which count turns."""

    n = Integer("number of links", least=1, most=100)
    stiffness = Real("of a hinge", "N m", above=0)

    def make_nodes(self):
        return [tf.RigidBody(0.5, [0.001, 0.5 * 0.4**2 / 12, 0.5 * 0.4**2 / 12]) for _ in range(self.n)]

    def make_elements(self):
        y, left, right = (0, 1, 0), (-0.2, 0, 0), (0.2, 0, 0)
        pairs = zip(self.nodes, (None, *self.nodes), strict=False)
        hinges = [tf.Revolute(b, a, point_a=left, point_b=right if a else (0, 0, 0), axis_a=y, axis_b=y)
                  for b, a in pairs]
        return [*hinges, *(tf.JointSpring(hinge, stiffness=self.stiffness) for hinge in hinges)]

    def reference(self, i):
        return tf.Pose((0.4 * i + 0.2, 0, 0))


def test_elements_of_a_composite_part_bring_their_helpers():
    """Angles phi of two links at rest: k (phi_i - phi_(i-1)) is the moment of the weights beyond hinge i."""
    links = SprungLinks(2, 6.0, name="links")
    still = tf.equilibrium(tf.System([links], gravity=(0, 0, -9.81)), {})
    x = [still.position(node) for node in links.nodes]
    phi = np.array([np.arctan2(-(still.rotation_matrix(node)[2, 0]), still.rotation_matrix(node)[0, 0])
                    for node in links.nodes])
    hinge = 0.4 * np.array([np.cos(phi[0]), 0, -np.sin(phi[0])])
    weight = 0.5 * 9.81
    np.testing.assert_allclose(6.0 * np.diff([0, *phi]), [weight * (x[0][0] + x[1][0]), weight * (x[1] - hinge)[0]],
                               rtol=1e-9)
    assert phi[0] > 0.5  # far from where it is stated


def test_what_a_joint_of_a_user_cannot_do_is_named(tmp_path):
    class Follower(Joint):
        """A point of a on a line of b, with the place along it as its coordinate, but no `relative`."""

        constraint_names = ("y", "z")
        coordinate_kinds = {"along": Displacement}  # noqa: RUF012

        def formula(self, a, b, t, c):
            return (a.position - b.position)[1:]

        def coordinate_numbers(self, c):
            return {"along": [0.0] * 6 + [1.0, 0.0, 0.0]}

    body = tf.RigidBody(1.0, [1, 1, 1], name="body")
    system = tf.System([body, Follower(body, name="follower")])
    assert system.coordinates("body") == system.coordinates(body)
    with pytest.raises(tf.InputError, match=r"Follower has coordinates, but no method `relative`"):
        tf.InitialValueProblem(system, {"follower": 0.3}, (0, 1))
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 1)), tf.MixedGalerkin(1), 2, progress=False)
    with pytest.raises(tf.InputError, match=r"files name classes of timefem alone, and Follower is not one"):
        sol.save(tmp_path / "sol.h5")


class Screw(Joint):
    """A nut that turns as it moves, by numbers that are made of the pitch."""

    pitch = Real("pitch", "m")
    constraint_names = ("thread",)
    point_mass_dimension = 3

    def numbers(self, c):
        return {**super().numbers(c), "turns": 1 / c.pitch}

    def formula(self, a, b, t, c):
        return [a.position[0] * c.turns]


class DividingScrew(Screw):
    """The same by a formula that divides."""

    def numbers(self, c):
        return Joint.numbers(self, c)

    def formula(self, a, b, t, c):
        return [a.position[0] / c.pitch]


class EndlessScrew(Screw):
    """Has a number that is infinite, whatever the pitch."""

    def numbers(self, c):
        return {**Joint.numbers(self, c), "turns": np.inf + 0 * c.pitch}


def test_numbers_that_divide_by_zero_are_named():
    nut = tf.PointMass(1.0, name="nut")
    with pytest.raises(tf.InputError, match=r"^Screw 'screw': pitch must not be 0: its numbers divide by it$"):
        Screw(nut, pitch=0.0, name="screw")
    for joint, reason in ((DividingScrew, "its number 'pitch' is 0, by which its formula divides; give another value"),
                          (EndlessScrew, "its number 'turns' is inf; correct what it is made of")):
        system = tf.System([nut, joint(nut, pitch=0.0, name="screw")])
        with pytest.raises(tf.InputError, match=f"^screw is not finite at the initial state, t = 0: {reason}$"):
            tf.InitialValueProblem(system, {nut: tf.Pose()}, (0, 1))
    system = tf.System([nut, Screw(nut, pitch=0.5, name="screw")], gravity=(0, 1, 0))
    assert tf.solve(tf.InitialValueProblem(system, {nut: tf.Pose()}, (0, 1)), tf.MixedGalerkin(1), 5,
                    progress=False).success
