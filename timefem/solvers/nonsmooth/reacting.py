"""Accelerations where forces depend on those of constraints, or on normal forces of contacts: step by step linear."""

from functools import cached_property

import numpy as np

from ...mechanics.contacts.reacting import SeenContact
from ...mechanics.values.equations_of_motion import MotionFormulas
from ...mechanics.values.evaluate import evaluator
from ...mechanics.values.of_parts import solved
from ...status import Reason
from .events import Stuck, some
from .sharing import Sharing, without_contacts


class Reactions:
    """The forces of a system that depend on those of constraints and contacts.

    Attributes
    ----------
    names : list of str
        Of parts that see such forces.
    system : System
        In which the normal forces of contacts are multipliers, after those of constraints.
    m : int
        Constraints.
    normal : ndarray of int
        Contacts that have normal forces.
    """

    def __init__(self, contacts):
        system = contacts.system
        self.names = [system.label(part) for part in system.parts if part.reactions_of]
        self.normal = np.flatnonzero(~contacts.persistent)
        rows, n = 3 * self.normal, len(self.normal)
        seen = [SeenContact(*contacts.parts[c], False, (0,), []) for c in self.normal]
        self.system = without_contacts(system, seen, Sharing(rows, n, rows, np.eye(n)))
        self.m = system.n_constraints

    def loads(self, states, seen):
        """Given normal forces of rows of contacts, (n, n_contacts), by what is seen."""
        contacts, n = states.contacts, len(states.t)
        if not any(part.reactions_of for part, _ in contacts.parts):
            return states.load
        zeros = {"a": contacts.system.n_q, "nu": contacts.system.n_nonholonomic,
                 "controls": sum(part.n_controls for part in contacts.system.parts)}
        return evaluator(contacts.system, "load", formulas=MotionFormulas)(
            contacts.system, states.t, states.q, repeatable=False, v=states.v, gamma=seen[:, :self.m],
            **{name: np.zeros((n, k)) for name, k in zeros.items()})[0]

    def __call__(self, t, q, v, seen):
        """Forces (n, n_q), and their derivatives (n, n_q, n_seen), by constraint forces and then normal forces."""
        system, n = self.system, len(q)
        zeros = {"a": system.n_q, "nu": system.n_nonholonomic,
                 "controls": sum(part.n_controls for part in system.parts)}
        force, by_seen = evaluator(system, "rubbed", "rubbed_g", formulas=MotionFormulas)(
            system, t, q, repeatable=False, v=v, gamma=seen, **{name: np.zeros((n, k)) for name, k in zeros.items()})
        return force, by_seen.dense()


class Reacting:
    """The same at `ContactStates`, and how what is seen follows from the forces on the coordinates."""

    def __init__(self, states, reactions):
        self.states, self.reactions = states, reactions

    @cached_property
    def _constraint_forces(self):
        """At rest, (n, m), and by further forces on the coordinates, (n, m, n_q)."""
        states, m = self.states, self.reactions.m
        mobility, accelerations = states.plain
        n_q = accelerations.shape[1]
        force, heavy = states.forces, states.pattern("row_a").dense()
        by_force = states.constraint_forces_by_forces[:, :m]
        moved = mobility(np.broadcast_to(np.eye(n_q), (len(force), n_q, n_q)))
        at_rest = by_force @ (force - np.einsum("nij,nj->ni", heavy, accelerations))[:, :, None]
        return at_rest[:, :, 0], by_force @ (np.eye(n_q) - heavy @ moved)

    def linear(self, seen):
        """`Linear` about what is seen, (n, n_seen)."""
        states, m, normal = self.states, self.reactions.m, self.reactions.normal
        force, by_seen = self.reactions(states.t, states.q, states.v, seen)
        at_rest, by_force = self._constraint_forces
        force = force - np.einsum("nij,nj->ni", by_seen, seen)
        force += np.einsum("nij,nj->ni", by_seen[:, :, :m], at_rest)
        n_q = force.shape[1]
        try:
            feedback = np.linalg.inv(np.eye(n_q) - by_seen[:, :, :m] @ by_force)
        except np.linalg.LinAlgError:
            feedback = np.full((len(force), n_q, n_q), np.nan)
        by_normal = np.zeros((len(force), n_q, states.contacts.n))
        by_normal[:, :, normal] = by_seen[:, :, m:]
        return Linear(states, feedback, force, by_normal, (at_rest, by_force, normal))

    def solved(self, step):
        """What `step(seen) -> seen` finds in the end, by Newton's method.

        Raises
        ------
        Stuck
            Where it finds nothing, as in mechanisms that jam.
        """
        start = np.zeros((len(self.states.t), self.reactions.m + len(self.reactions.normal)))
        found = solved(step, start)
        if not np.isfinite(found).all():
            raise Stuck(Reason.NO_MODE, "no constraint forces are found on which those of "
                        f"{some(self.reactions.names)} depend")
        return found


class Linear:
    """Accelerations linear in the forces of contacts: `a = accelerations + mobility(forces on the coordinates)`.

    Attributes
    ----------
    accelerations : ndarray, shape (n, n_q)
        Without forces of contacts.
    by_normal : ndarray, shape (n, n_q, n_contacts)
        Forces on the coordinates that normal forces make besides their own.
    """

    def __init__(self, states, feedback, force, by_normal, seen):
        self._plain, self._feedback, self._force, self.by_normal, self._seen = (
            states.plain, feedback, force, by_normal, seen)
        self._states = states
        self.accelerations = self._plain[1] + self.mobility(force)

    def mobility(self, forces):
        """Accelerations by forces (n, n_q) or (n, n_q, k)."""
        if forces.ndim == 2:
            return self.mobility(forces[:, :, None])[:, :, 0]
        return self._plain[0](self._feedback @ forces)

    def seen(self, forces):
        """What is seen, (n, n_seen), by forces of contacts (n, n_contacts, 3)."""
        at_rest, by_force, normal = self._seen
        pushed = self._states.jacobian.transposed_times(forces.reshape(len(forces), -1))
        pushed = pushed + np.einsum("nij,nj->ni", self.by_normal, forces[:, :, 0]) + self._force
        pushed = (self._feedback @ pushed[:, :, None])[:, :, 0]
        return np.concatenate([at_rest + np.einsum("nij,nj->ni", by_force, pushed), forces[:, normal, 0]], axis=1)

    def compliance(self, rows):
        """How forces of some of the rows move all of these at the first state, shape (n_rows, n_rows)."""
        own, columns = self._states.jacobian.dense_rows(rows), np.flatnonzero(rows % 3 == 0)
        pushes = own.swapaxes(1, 2).copy()
        pushes[:, :, columns] += self.by_normal[:, :, rows[columns] // 3]
        return (own @ self.mobility(pushes))[0]
