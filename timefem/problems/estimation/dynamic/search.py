"""The search for the most likely motion: weights of outliers, clocks that are off, and windows that grow."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from .... import interrupts
from ....assembly import TimeMesh
from ....elements.evaluation.plan import ElementPlan
from ....errors import SolveError
from ....memory import Late
from ....status import Reason, Status
from ...initial.march_driver import March
from ...initial.problem import InitialValueProblem
from ...task import Task
from ..options import DEFAULTS
from .chain import EstimationChain, Kkt, SlabKkt, can_share, element_of, gauss_newton, rests
from .posterior import Posterior
from .program import EstimationProgram

ASTRAY = "the search moved away from the motion that was measured"


class Found:
    """A solution on a mesh.

    Attributes
    ----------
    chain : EstimationChain
    program : EstimationProgram
    v : ndarray
    status : Status
    iterations : int
    """

    def __init__(self, search, program, kkt, v, status):
        self.program, self.chain, self.v, self.status = program, program.chain, v, status
        self.iterations = search.iterations
        self._search, self.kkt, self.first = search, kkt, program.base

    @property
    def guess(self):
        """Variables of the motion where the search began."""
        return (self.first - self.program.base) / self.chain.sizes

    @property
    def n_ranks(self):
        """How many share its steps."""
        return self.kkt.comm.size if hasattr(self.kkt, "comm") else 1

    @cached_property
    def posterior(self):
        """The posterior distribution, None where the solve failed."""
        return Posterior(self.program, self.kkt, self.v) if self.status.success else None

    def leave_ranks(self):
        """Work out what ranks share, so that each can be asked by itself from then on."""
        if self.n_ranks == 1:
            return
        if self.posterior is not None:
            self.posterior.settle()
        self.kkt = Kkt(self.program)
        if self.posterior is not None:
            self.posterior.stays_here(self.kkt)

    @property
    def x(self):
        return self.program.place(self.v)

    def without(self, left_out):
        """Variables of the motion that is found without some sensors, by their numbers, and its sum of squares; None
        where there is none."""
        other = self._search.without(left_out)(self.chain.mesh)
        return ((other.x - self.program.base) / self.chain.sizes, other.squares) if other.status.success else None

    @property
    def squares(self):
        """The sum of squares, of robust losses with their last weights."""
        return 2 * self.program.objective(self.v)

    @cached_property
    def cost(self):
        """The least cost, where losses are robust of their own functions."""
        problem = self.program.problem
        return self.squares / 2 + sum(loss.excess(self.kkt.lengths(i, self.v), sensor.measured.sum(axis=1)) for i, (
            loss, sensor) in enumerate(zip(problem.losses(), problem.measurements, strict=True)) if loss is not None)


class Search:
    """Solves of an estimation problem on meshes.

    Parameters
    ----------
    task : Task
    bar
        Of the progress.
    comm : mpi4py communicator, optional
        Of ranks that share the elements of meshes that are long enough.
    """

    name = "Gauss-Newton"

    def __init__(self, task: Any, bar: Any, comm: Any = None) -> None:
        self.task, self.problem, self.bar, self._comm = task, task.problem, bar, comm
        self.element, self.system = element_of(task.problem, task.element)
        self.plan = ElementPlan(self.system, self.element)
        self.iterations = 0

    def __call__(self, mesh: TimeMesh, x: np.ndarray | None = None) -> Found:
        """The solution on a mesh, from unknowns x or from the motion of the prior's mean."""
        chain = EstimationChain(self.problem, self.plan, mesh)
        if x is not None:
            return self.settled(chain, x)
        guess = first_guess(self.task, chain)
        found = self._from(chain, guess)
        found.first = guess
        return found

    def _from(self, chain, guess):
        """The solution from a guess, by windows that grow where the steps from it end elsewhere."""
        mesh, found = chain.mesh, self.settled(chain, guess, by_steps=True)
        if found.status.reason == Reason.STOPPED or (found.status.success and not self._astray(found.squares)):
            return found
        self.bar.note("windows that grow")
        grown = self._grown(mesh)
        if grown is None:
            return found
        if grown.status.success:
            return found if found.status.success and found.cost <= grown.cost else grown
        return found if found.status.success else self.settled(chain, guess)

    def without(self, left_out):
        """The same search for the motion by the other sensors."""
        other = copy(self)
        other.problem, other._comm, other.iterations = self.problem.without(left_out), None, 0
        return other

    def _astray(self, squares):
        n = sum(sensor.n_measured for sensor in self.problem.measurements)
        robust = any(loss is not None for loss in self.problem.losses())
        return not robust and squares > n + DEFAULTS.astray * np.sqrt(2 * n)

    # ---- windows

    def _grown(self, mesh):
        """From a short window at the start, each next one twice as long, with the motion of the last one going on."""
        found = None
        for n in self._ends(mesh):
            part, whole = TimeMesh(mesh.nodes[:n + 1]), n == mesh.n_elements
            problem = self.problem if whole else self.problem.until(float(part.nodes[-1]))
            if not problem.measurements:
                continue
            chain = EstimationChain(problem, self.plan, part)
            x = first_guess(self.task, chain) if found is None else \
                prolonged(self.task, chain, found.chain, found.x)
            found = self.settled(chain, x, DEFAULTS.near if whole else DEFAULTS.rough)
            if found.status.reason == Reason.STOPPED:
                return None
        return found

    def _ends(self, mesh):
        """Numbers of elements of the windows."""
        times = np.unique(np.concatenate([s.times_of_motion for s in self.problem.measurements]))
        nodes = np.searchsorted(mesh.nodes, times - DEFAULTS.same_time * (mesh.nodes[-1] - mesh.nodes[0]))
        nodes = np.unique(nodes[nodes > 0])
        ends, count = [], 1
        while count < len(nodes):
            ends.append(int(nodes[count - 1]))
            count = max(count + 1, int(DEFAULTS.growth * count))
        return [*dict.fromkeys([*ends, mesh.n_elements])]

    # ---- weights and clocks

    def settled(self, chain, x, near=DEFAULTS.near, by_steps=False):
        """A solution whose weights rest, and whose times lie in the elements in which they are looked for."""
        offsets = self._offsets(chain, x)
        program = EstimationProgram(chain, x, self.bar.step, offsets)
        if near == DEFAULTS.rough:
            program.narrow(DEFAULTS.narrower)
        kkt, v, robust = self._kkt(program), program.start, any(loss is not None for loss in chain.problem.losses())
        ends = DEFAULTS.weighing if robust else near
        for _ in range(DEFAULTS.rounds):
            v, status = self._minimum(program, kkt, v, max(ends, near), by_steps)
            found = Found(self, program, kkt, v, status)
            if not status.success:
                break
            change, moved = self._weigh(program, kkt, v), self._offsets(chain, found.x)
            if self._elements(chain, offsets) != self._elements(chain, moved):
                offsets, weights = moved, [term.weights for term in program.sensors]
                program = EstimationProgram(chain, found.x, self.bar.step, offsets)
                for term, own in zip(program.sensors, weights, strict=True):
                    term.weights = own
                kkt, v = self._kkt(program), program.start
            elif change <= DEFAULTS.rested:
                if ends <= near:
                    break
                ends = near
        return found

    def _minimum(self, program, kkt, v, near, by_steps):
        """By full Gauss-Newton steps, and where these lead nowhere by damped ones; `by_steps` near measured values.
        """
        found, status, n = gauss_newton(program, kkt, v, near=near)
        self.iterations += n
        if status.success or status.reason == Reason.SINGULAR_TANGENT:
            return found, status
        damped = Damped(program, Kkt(program), (found, v))
        if by_steps and self._astray(2 * damped.cost):
            return found, status
        status, n = damped.search(near)
        self.iterations += n
        if not status.success and status.reason != Reason.STOPPED:
            status = Status.failure(Reason.NOT_CONVERGED, 0, 0.0, status.residual_history, ASTRAY,
                                    remedy=self._remedy())
        return damped.v, status

    def _remedy(self):
        """What may help where the search gets lost: of what nothing but a wide prior is known."""
        names = [sensor.title for sensor in self.problem.start_sensors[1]]
        if not names:
            return "narrow the priors, give more elements, or noise to what moves by itself"
        others = f" and {len(names) - DEFAULTS.told} others" if len(names) > DEFAULTS.told else ""
        return f"give the {', '.join(names[:DEFAULTS.told])}{others}, which are wide, or measure more"

    def _kkt(self, program):
        return SlabKkt(program, self._comm) if can_share(program, self._comm) else Kkt(program)

    def _weigh(self, program, kkt, v):
        """Give each measurement its weight; the largest change."""
        change = 0.0
        for i, (loss, sensor) in enumerate(zip(program.problem.losses(), program.problem.measurements, strict=True)):
            if loss is None:
                continue
            term, weights = program.sensors[i], loss.weights(kkt.lengths(i, v), sensor.measured.sum(axis=1))
            change = max(change, float(np.abs(weights - term.weights).max(initial=0.0)))
            term.weights = weights
        return change

    def _offsets(self, chain, x):
        """Time offsets of sensors, where they are unknown, at unknowns x."""
        if not chain.problem.n_constants:
            return {}
        numbers = chain.nodal(x, "constants")[-1, -1]
        return {u.sensor: float(numbers[u.places][0]) for u in chain.problem.unknowns
                if u.name == "time_offset" and u.sensor is not None and u.sensor >= 0}

    def _elements(self, chain, offsets):
        """In which elements the times of sensors lie, hashable."""
        sensors = chain.problem.measurements
        return {i: np.searchsorted(chain.mesh.nodes, sensors[i].times + offset).tobytes()
                for i, offset in offsets.items() if i < len(sensors)}


# ---- damped Gauss-Newton steps on motions that hold: a search that goes no farther than the model may be trusted
#
# Where directions are known by next to nothing, such as torsion of a beam whose axis is seen, full steps are as long as
# wide priors are, and a line search along them goes nowhere. Levenberg and Marquardt's remedy is here: the damping is
# the information of the priors themselves, forces and numbers included, in which wide ones count by the size of the
# problem. Each step is followed by least-squares corrections that bring the motion back to its equations, so that costs
# compare.

PRIORS = "prior", "number", "noise"


class Damped:
    """A search by damped steps from motions that hold.

    Parameters
    ----------
    program : EstimationProgram
    kkt : Kkt
        Of all elements, on this process.
    points : sequence of ndarray
        Variables, of which the best ones that a motion is next to are where the search begins.

    Attributes
    ----------
    v : ndarray
        Variables so far.
    cost : float
        What they cost, infinite where there is no motion next to any point.
    """

    def __init__(self, program, kkt, points):
        self.program, self.kkt, self.cost, self.v = program, kkt, np.inf, points[-1]
        for v in points:
            with np.errstate(all="ignore"):
                self._take(self._next_to(v))

    def _take(self, v):
        if v is not None and (cost := self.program.objective(v)) < self.cost:
            self.v, self.cost = v, cost

    def _next_to(self, v):
        """The motion that holds next to v, by Newton's corrections, as full steps may have led far off their equations;
        None where they lead nowhere."""
        try:
            return self._held(v, self._factor)
        except SolveError:
            return None

    def _factor(self, v, mu=1.0):
        """Factor `[H + mu D, A^T; A, 0]` at a point, D of the priors."""
        terms = self.program.sum
        self.kkt.factor(v, mu * (terms.hessian(v, PRIORS) + DEFAULTS.wide**2 * terms.hessian(v, ("wide",))))

    def _held(self, v, factor=lambda v: None):
        """The motion that holds next to v, by corrections of the last factors, or by `factor(v)` anew before each; None
        where they lead nowhere."""
        program, before = self.program, np.inf
        for _ in range(DEFAULTS.corrections):
            violation = self.kkt.violation(v)
            size = program.size(v)
            if violation <= DEFAULTS.held * size:
                return v
            if not violation < before:
                return v if violation <= DEFAULTS.holds * size else None
            before = violation
            factor(v)
            v = v + self.kkt.solve(np.zeros(program.n), -program.rows(v))
        return None

    def search(self, near):
        """Status and number of steps, as of `gauss_newton`.

        Source: H. B. Nielsen, Damping parameter in Marquardt's method, IMM-REP-1999-05, DTU (1999), for the damping.
        """
        program, kkt, lengths, mu, faster = self.program, self.kkt, [], 1.0, 2.0
        if not np.isfinite(self.cost):
            return Status.failure(Reason.NOT_CONVERGED, 0, 0.0, lengths, "no motion is near the guess"), 0
        for n in range(1, DEFAULTS.most_damped + 1):
            if interrupts.asked():
                interrupts.answer()
                return Status.failure(Reason.STOPPED, 0, 0.0, lengths), n
            try:
                with np.errstate(all="ignore"):
                    self._factor(self.v, mu)
                    gradient = program.gradient(self.v)
                    step = kkt.solve(-gradient, -program.rows(self.v))
                    trial, changed = program.within_bounds(self.v + step, kkt)
                    trial = self._held(trial) if np.isfinite(trial).all() else None
                    cost = np.inf if trial is None else program.objective(trial)
            except SolveError as error:
                return Status.failure(Reason.SINGULAR_TANGENT, 0, 0.0, lengths, str(error)), n
            lengths.append(kkt.length(step))
            program.on_iteration(lengths[-1])
            expected = -gradient @ step - kkt.length(step, program.sum.hessian(self.v))**2 / 2
            ratio = (self.cost - cost) / expected if expected > 0 else -1.0
            if max(abs(expected), abs(self.cost - cost)) <= DEFAULTS.same_time * self.cost:  # they are rounding
                ratio = 0.5
            if changed or (ratio > 0 and np.isfinite(cost)):
                self.v, self.cost = trial, cost
                if (lengths[-1] <= near or rests(lengths)) and not changed:
                    return Status(True, residual_history=lengths), n
                mu, faster = mu * max(1 / 3, 1 - (2 * ratio - 1)**3), 2.0
            else:
                mu, faster = mu * faster, 2 * faster
                if not np.isfinite(1 / mu) or mu > 1 / np.finfo(float).eps**2:
                    break
        return Status.failure(Reason.NOT_CONVERGED, 0, 0.0, lengths, f"{n} damped Gauss-Newton steps did not "
                                                                     "converge"), n


# ---- where the search begins

initial = Late("timefem.problems.initial.kind")


def first_guess(task, chain):
    """All unknowns of a chain: the motion from the prior's mean without noise, and means of unknown numbers."""
    problem, element, mesh = task.problem, chain.plan.element, chain.mesh
    times = mesh.points(element.state.basis)
    states, multipliers = _marched(problem, task.element, mesh, problem.z0)
    return unknowns_of(chain, times, states, multipliers, problem.guesses)


def unknowns_of(chain, times, states, multipliers, numbers):
    """Unknowns from nodal states and multipliers."""
    element, plan = chain.plan.element, chain.plan
    values = element.nodal_values(plan.system, times, states, multipliers)
    if chain.problem.n_constants:
        values[list(element.trial).index("constants")][:] = numbers
    return plan.columns.pack(*values)


def prolonged(task, chain, before, x):
    """Unknowns of a chain that goes on where a shorter one ends: what that found, then a march from its last state."""
    plan, mesh, n = chain.plan, chain.mesh, before.mesh.n_elements
    values = [v.copy() for v in plan.columns.unpack(x)]
    last = values[0][-1, -1]
    rest = TimeMesh(mesh.nodes[n:])
    states, multipliers = _marched(chain.problem, task.element, rest, last)
    numbers = before.nodal(x, "constants")[-1, -1] if chain.problem.n_constants else np.zeros(0)
    more = unknowns_of(chain, rest.points(plan.element.state.basis), states, multipliers, numbers)
    return plan.columns.pack(*(np.concatenate(both) for both in zip(values, plan.columns.unpack(more), strict=True)))


def _marched(problem, element, mesh, z0):
    """Nodal states and multipliers of a march; where it fails the last state goes on."""
    start = InitialValueProblem.__new__(InitialValueProblem)
    span = float(mesh.nodes[0]), float(mesh.nodes[-1])
    start.__dict__.update(system=problem.system, z0=z0, t_span=span, _state=z0, _assemble=False)
    task = Task(start, element, mesh=mesh, driver=March(keep_mesh=True), progress=False)
    found = initial.run_driver(task, mesh)
    n = found.n_solved
    state, multipliers, _ = found.values.arrays
    shape = (mesh.n_elements, element.state.basis.n_shapes, problem.system.n_z)
    out = np.empty(shape)
    out[:n] = state
    out[n:] = state[-1, -1] if n else z0
    full = np.zeros((mesh.n_elements, element.multiplier.basis.n_shapes, problem.system.n_multipliers))
    if multipliers.shape[-1] == full.shape[-1]:
        full[:n] = multipliers
    return out, full
