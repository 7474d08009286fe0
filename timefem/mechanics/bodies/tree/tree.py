"""Open chains of rigid links in joint coordinates."""

from functools import cached_property

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ...part import Body
from ..states import CanonicalState, Coordinates
from .links import Link, TreeJoint
from .recursion import kinetic, mass_moment, placements, solved_energy
from .structure import moving_bodies


class Tree(Body):
    """Links joined in an open chain whose base is fixed in space: q are the joint coordinates.

    `T(q, v)` comes from the recursion over the links, in O(n) operations, and the force of joint i is
    `Q_i = -d_i qdot_i - f_i tanh(qdot_i / w)`. There are no constraints. `MixedGalerkin(k, form="lagrange")` takes it
    as it is, with q alone as unknowns, and other elements whose velocities are their own do, too. Angles are unwrapped.
    The frame of the base link is that of space.

    Parameters
    ----------
    links : sequence of Link
        One of them, the base, is the child of no joint.
    joints : sequence of TreeJoint
    friction_width : float, optional
        w [rad/s or m/s] of Coulomb friction; without it joints must have none.
    name : str, optional

    Attributes
    ----------
    joint_names : tuple of str
        Of the joints whose coordinates q are, in order: depth first from the base. Mimic joints follow them.
    links, joints : tuple
    mass : float
        Of the links that move [kg].

    Raises
    ------
    InputError
        When links and joints make no tree, and for a joint that moves no mass.

    Examples
    --------
    >>> import timefem as tf
    >>> arm = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1, centre=(0.5, 0, 0), inertia=(0, 0.1, 0.1))],
    ...               [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0))], name="arm")
    >>> system = tf.System([arm], gravity=(0, 0, -9.81))
    >>> problem = tf.InitialValueProblem(system, {arm: {"hinge": (0.5, 0.0)}}, (0, 1))
    """

    has_inverse_mass = False
    no_inverse = ("has a mass matrix that varies with its joints",
                  "use MixedGalerkin(k, form='lagrange') (--form lagrange), which does without")

    def __init__(self, links, joints, friction_width=None, name=None):
        self.name = name
        for what, values, cls in (("links", links, Link), ("joints", joints, TreeJoint)):
            for value in values:
                if not isinstance(value, cls):
                    raise InputError(f"{self._title}: {what} must be a sequence of {cls.__name__}, not {value!r}")
        self.links, self.joints = tuple(links), tuple(joints)
        self._bodies, names, self._sits = moving_bodies(self._title, self.links, self.joints)
        self.joint_names, self.n_q = tuple(names), len(names)
        self.mass = float(sum(body.mass for body in self._bodies))
        self.friction_width = friction_width
        if friction_width is not None:
            self.friction_width = validate.real(f"{self._title}: friction_width", friction_width, positive=True)
        rubbing = [body.joint.name for body in self._bodies if body.joint.friction]
        if rubbing and friction_width is None:
            raise InputError(f"{self._title}: joint {rubbing[0]!r} has Coulomb friction, which needs a friction_width "
                             "[rad/s or m/s]")
        self._check_mass()

    def __repr__(self):
        return f"Tree({self.n_q} joints, {len(self.links)} links" + (f", name={self.name!r})" if self.name else ")")

    @cached_property
    def kind(self):
        numbers = tuple((b.joint.kind, b.joint.damping, b.joint.friction, b.parent, b.coordinate, b.factor, b.offset,
                         b.mass, *map(float, np.concatenate([b.turn.ravel(), b.place, b.moment, b.inertia.ravel()])))
                        for b in self._bodies)
        return "tree", self.n_q, self.friction_width, numbers

    # ---- formulas

    @cached_property
    def _kinetic(self):
        q, v = ca.SX.sym("q", self.n_q), ca.SX.sym("v", self.n_q)
        energy = kinetic(self._bodies, q, v)
        mass, momenta = ca.hessian(energy, v)
        mass = ca.sparsify(mass)
        return {"T": ca.Function("kinetic", [q, v], [energy]), "M": ca.Function("mass", [q], [mass]),
                "momenta": ca.Function("momenta", [q, v], [ca.densify(momenta)])}

    @cached_property
    def _placements(self):
        q = ca.SX.sym("q", self.n_q)
        return ca.Function("placements", [q], [ca.densify(x) for pair in placements(self._bodies, q) for x in pair])

    def kinetic_of_velocity(self, q, v, c):
        return self._kinetic["T"](q, v)

    def kinetic_energy(self, q, p, c):
        return solved_energy(self._kinetic["M"](q), p)

    def centre_of_mass(self, q):
        """Centre of mass of the moving links in space, SX (3,)."""
        return mass_moment(self._bodies, q) / self.mass

    def force(self, s):
        force, v = [ca.SX(0)] * self.n_q, s.velocity[0] if self._resists else None
        for body in self._bodies:
            i, joint = body.coordinate, body.joint
            rate = body.factor * v[i] if self._resists else 0
            if joint.damping:
                force[i] -= body.factor * joint.damping * rate
            if joint.friction:
                force[i] -= body.factor * joint.friction * ca.tanh(rate / self.friction_width)
        return ca.vertcat(*force)

    @property
    def _resists(self):
        return any(body.joint.damping or body.joint.friction for body in self._bodies)

    # ---- numbers

    def _check_mass(self):
        """Refuse joints that move no mass."""
        mass = self.mass_matrix(np.random.default_rng(0).uniform(0.1, 1, self.n_q))
        diagonal = np.diag(mass)
        for name, entry in zip(self.joint_names, diagonal, strict=True):
            if not entry > 0:
                raise InputError(f"{self._title}: joint {name!r} moves no mass; give the links beyond it mass and "
                                 "inertia, or fix it")
        smallest = np.linalg.eigvalsh(mass / np.sqrt(np.outer(diagonal, diagonal)))[0]
        if not smallest > 1e-13:
            raise InputError(f"{self._title}: some motion of the joints moves no mass; give the links inertia")
        self.mass_scale = diagonal

    def mass_matrix(self, q):
        """Mass matrix M(q), shape (..., n) -> (..., n, n)."""
        q = np.asarray(q, float)
        values = [np.array(ca.densify(self._kinetic["M"](x))) for x in q.reshape(-1, self.n_q)]
        return np.reshape(values, (*q.shape, self.n_q))

    def velocity(self, q, p):
        """Rates of the coordinates, `qdot = M^-1 p`, shape (..., n)."""
        return np.linalg.solve(self.mass_matrix(q), np.asarray(p, float)[..., None])[..., 0]

    def joint_states(self, q, p):
        """Position and rate of every joint that moves, mimic joints too: name -> two arrays of shape (...)."""
        v = self.velocity(q, p)
        return {b.joint.name: (b.factor * np.asarray(q, float)[..., b.coordinate] + b.offset,
                               b.factor * v[..., b.coordinate]) for b in self._bodies}

    def link_pose(self, link, q):
        """Place (3,) [m] and rotation matrix (3, 3) in space of the frame of a link, by name, at coordinates (n,)."""
        number, turn, place = self._sits[validate.choice(f"{self._title}: link", link, tuple(self._sits))]
        if number < 0:
            return place, turn
        values = self._placements(validate.array("q", q, (self.n_q,)))
        origin, rotation = (np.array(x) for x in values[2 * number:2 * number + 2])
        return origin[:, 0] + rotation @ place, rotation @ turn

    def state(self, value, t=0.0):
        """Coordinates and momenta, two arrays of length n.

        Of `Coordinates`, a `CanonicalState`, or a dict from joint to position, or to (position, rate); joints left
        out are at zero and rest.

        Raises
        ------
        InputError
            For another type or length, an unknown joint, and a mimic joint, which follows another one.
        """
        if isinstance(value, dict):
            value = self._by_joint(value)
        if not isinstance(value, Coordinates | CanonicalState):
            raise InputError(f"{self._title}: the state must be a dict from joint to position or (position, rate), or "
                             f"Coordinates(q, v), not {value!r}")
        if len(value.q) != self.n_q:
            raise InputError(f"{self._title}: q must have length {self.n_q}, not {len(value.q)}")
        if isinstance(value, CanonicalState):
            return value.q, value.p
        return value.q, np.array(self._kinetic["momenta"](value.q, value.v)).ravel()

    def _by_joint(self, given):
        state = np.zeros((2, self.n_q))
        for name, value in given.items():
            if name not in self.joint_names:
                joint = next((b.joint for b in self._bodies if b.joint.name == name), None)
                if joint is not None:
                    raise InputError(f"{self._title}: joint {name!r} mimics {joint.mimic[0]!r}; give the state of that "
                                     "one")
                validate.choice(f"{self._title}: joint", name, self.joint_names)
            value = np.append(value, 0.0) if np.ndim(value) == 0 or len(value) == 1 else value
            state[:, self.joint_names.index(name)] = validate.array(f"{self._title}: {name}: (position, rate)", value,
                                                                    (2,))
        return Coordinates(*state)
