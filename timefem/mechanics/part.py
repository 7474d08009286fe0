"""What a mechanical part offers: energies and constraints in CasADi symbols."""

from abc import ABC, abstractmethod

import numpy as np


class Symbols:
    """CasADi symbols of the local coordinates that a part sees.

    Attributes
    ----------
    q, p, velocity : list of SX
        Coordinates, momenta and velocities `qdot = dH/dp` of each body the part acts on.
    t : SX
        Time.
    own, bodies : SX, list of SX
        Parameters of the part itself and of each body it acts on.
    """

    def __init__(self, part):
        import casadi as ca

        bodies = part.bodies
        self.q = [ca.SX.sym(f"q{i}", b.n_q) for i, b in enumerate(bodies)]
        self.p = [ca.SX.sym(f"p{i}", b.n_q) for i, b in enumerate(bodies)]
        self.t = ca.SX.sym("t")
        self.bodies = [ca.SX.sym(f"body{i}", len(b.own_parameters)) for i, b in enumerate(bodies)]
        self.own = self.bodies[0] if isinstance(part, Body) else ca.SX.sym("own", len(part.own_parameters))
        self.parameters = self.own if isinstance(part, Body) else ca.vertcat(self.own, *self.bodies)
        self.velocity = [ca.gradient(b.kinetic_energy(q, p, c), p)
                         for b, q, p, c in zip(bodies, self.q, self.p, self.bodies, strict=True)]


class Part(ABC):
    """A body, joint or force, stated by its energy and its constraints.

    Kernels are made per `kind`: parts of one kind differ only in `own_parameters`.

    Attributes
    ----------
    name : str
        Used in messages; the system numbers unnamed parts.
    bodies : tuple of Body
        Bodies whose coordinates the part sees, in the order of its local coordinates.
    own_parameters : ndarray
        Numbers that enter the formulas.
    constraint_names : tuple of str
        One name per constraint on configuration level.
    """

    name = None
    bodies = ()
    own_parameters = np.zeros(0)
    constraint_names = ()

    @property
    @abstractmethod
    def kind(self):
        """Hashable; equal for parts that share their formulas."""

    @property
    def parameters(self):
        """All parameters of the local formulas: the part's own, then those of its bodies."""
        return np.concatenate([self.own_parameters, *(b.own_parameters for b in self.bodies)])

    def energy(self, s):
        """Contribution to the Hamiltonian, SX scalar, in the symbols `s`."""
        return 0

    def force(self, s):
        """Generalized force Q(q, p, t) that does not derive from an energy, SX of the length of the local q."""
        import casadi as ca

        return ca.SX(sum(b.n_q for b in self.bodies), 1)

    def constraints(self, s):
        """Constraints Phi(q, t) on configuration level, SX of length n_constraints."""
        import casadi as ca

        return ca.SX(0, 1)

    def velocity_constraints(self, s):
        """Constraints Psi(q, p, t) on velocity level: the time derivative of Phi."""
        import casadi as ca

        phi = self.constraints(s)
        rate = ca.jtimes(phi, ca.vertcat(*s.q), ca.vertcat(*s.velocity))
        return rate + ca.jacobian(phi, s.t)


class Body(Part):
    """A part with coordinates of its own.

    Subclasses give `n_q`, `kinetic_energy`, `kind`, and the NumPy functions that turn coordinates and momenta into
    positions and velocities (arrays with leading batch axes).
    """

    n_q = 0

    @property
    def bodies(self):
        return (self,)

    @property
    def parameters(self):
        return self.own_parameters

    @abstractmethod
    def kinetic_energy(self, q, p, c):
        """Kinetic energy T(q, p), SX scalar, with parameters `c`."""

    def energy(self, s):
        return self.kinetic_energy(s.q[0], s.p[0], s.own)
