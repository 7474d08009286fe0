"""Boundary-value problems solved, on one mesh or on several: guesses, mesh sequences, homotopy, errors."""

import time
from dataclasses import replace

import numpy as np

from ... import validate
from ...assembly import TimeMesh
from ...elements.mixed_galerkin import MixedGalerkin
from ...errors import IllConditioned, InputError, SolveError, UnderResolved, warn
from ...mechanics.bodies import rotations
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.states.assemble import consistent_states
from ...mechanics.states.consistent_multipliers import multipliers_along
from ...mechanics.values.of_parts import has_reaction_forces
from ...memory import Late
from ...parallel import own_world
from ...polynomials import CubicSpline
from ...progress import progress as progress_bar
from ...solution.audit import jump_of
from ...solution.solution import Solution
from ...solvers.equations.nonlinear import WARN_ABOVE
from ...solvers.equations.outcome import Outcome, transferred
from ...solvers.nonlinear.newton import Newton, follow, newton, newton_with_homotopy
from ...sparse import estimated_norm
from ...status import Reason, Status
from ..initial.global_driver import Global
from ..initial.kind import solve_initial
from ..initial.march_driver import March
from ..initial.problem import InitialValueProblem
from ..parameters import of_bodies
from ..refinement import HigherOrderErrors, solve_refined
from ..statistics import solve_statistics
from ..task import Task
from .equations import BoundaryForm

SAMPLES = 16  # configurations between which a spline runs; as many more for each extra turn


def interpolation(problem, turns=0, axis=None):
    """States of a motion from the configuration at the start to that at the end: a function `t -> z`.

    Parameters
    ----------
    problem : BoundaryValueProblem
    turns : int
        Full turns of all bodies besides; without `axis` an even number, about the axis of the way itself, so that
        quaternions keep their signs. Bodies without an orientation go around where springs hold them, else the origin.
    axis : {0, 1, 2}, optional
        Axis of these turns, of bodies their own.

    Returns
    -------
    callable
        For times of shape (n,), states (n, n_z).
    """
    system, conditions = problem.system, problem.conditions_at_ends
    n, (t0, t1) = system.n_q, problem.t_span
    s = np.linspace(0, 1, SAMPLES * (1 + abs(turns)) + 1)
    q = np.zeros((len(s), n))
    for body in system.bodies:
        part = system.coordinates(body)
        held = [np.array(one.point_b) for one in system.parts if one.bodies == (body,) and hasattr(one, "point_b")]
        centre = np.mean(held, axis=0) if held else np.zeros(3)
        q[:, part] = _path(body, s, conditions.z0[:n][part], conditions.z1[:n][part], turns, axis, centre)
    times = t0 + (t1 - t0) * s
    if system.n_constraints > sum(len(b.constraint_names) for b in system.bodies):
        q = _on_constraints(system, times, q)
    spline = CubicSpline(times, q)

    def states(t):
        q, v = spline(t), spline(t, 1)
        return np.concatenate([q, system.momentum(t, np.concatenate([q, np.zeros_like(q)], axis=-1), v)], axis=-1)

    return states


def _path(body, s, first, last, turns, axis, centre):
    path = first + s[:, None] * (last - first)
    if hasattr(body, "quaternion"):
        path[:, 3:] = _turned(first[3:], last[3:], s, turns, axis)
    elif hasattr(body, "rotation_matrix"):
        a, b = (rotations.quaternion_from_matrix(body.rotation_matrix(x)) for x in (first, last))
        turned = rotations.matrix_from_quaternion(_turned(a, b if a @ b >= 0 else -b, s, turns, axis))
        path[:, 3:] = np.swapaxes(turned, 1, 2).reshape(len(s), -1)
    elif turns and body.has_position and body.begins_with_position and body.dimension > 1:
        _carry_around(path, s, turns, axis, centre)
    return path


def _carry_around(path, s, turns, axis, centre):
    """Turn places (n, d) about an axis of space through a centre, as an orbit does; without `axis` across its plane."""
    arms, d = np.zeros((len(s), 3)), path.shape[1]
    arms[:, :d] = path - centre[:d]
    across = np.cross(arms[0], arms[-1]) if axis is None else np.eye(3)[axis]
    if across.any() and (d == 3 or not across[:2].any()):
        about = across / np.linalg.norm(across)
        turn = [rotations.matrix_from_quaternion(np.append(np.cos(a), np.sin(a) * about)) for a in np.pi * turns * s]
        path[:] = centre[:d] + np.einsum("nij,nj->ni", turn, arms)[:, :d]


def _turned(a, b, s, turns, axis):
    """Quaternions on the great circle from a to b, with further turns."""
    if axis is None:
        return _great_circle(a, b, s, np.pi * turns)
    angle, spin = np.pi * turns * s[:, None], np.eye(4)[1 + axis]
    path = _great_circle(a, (-1) ** turns * b, s, 0.0)
    after = np.concatenate([np.zeros((len(s), 1)), np.eye(3)[[axis] * len(s)]], axis=1)
    product = np.concatenate([-path[:, 1:] @ spin[1:, None],
                              path[:, :1] * after[:, 1:] + np.cross(path[:, 1:], after[:, 1:])], axis=1)
    return np.cos(angle) * path + np.sin(angle) * product


def _great_circle(a, b, s, more):
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    across = b - (a @ b) * a
    if np.linalg.norm(across) < 1e-9:  # any axis will do
        across = np.array([-a[1], a[0], -a[3], a[2]])
    across /= np.linalg.norm(across)
    angle = np.arctan2(b @ across, b @ a) + more  # half that of the body
    return np.cos(angle * s)[:, None] * a + np.sin(angle * s)[:, None] * across


def _on_constraints(system, times, q):
    """Configurations that hold the constraints, near the given ones; as they are where none is found."""
    out = q.copy()
    zero = np.zeros(system.n_q)
    for i, t in enumerate(times):
        near = {b: CanonicalState(q[i, system.coordinates(b)], zero[system.coordinates(b)]) for b in system.bodies}
        try:
            out[i] = np.concatenate([s.q for s in consistent_states(system, near, t).values()])
        except InputError:
            continue
        for body in system.bodies:  # the sign of quaternions
            part = system.coordinates(body)
            if hasattr(body, "quaternion") and out[i, part][3:] @ q[i, part][3:] < 0:
                out[i, part.start + 3:part.stop] *= -1
    return out


COARSE, COARSE_ELEMENT = 12, MixedGalerkin(2)  # elements of the mesh on which the guess becomes a motion
UNMET = {True: 1e-6, False: 0.05}  # violation of a condition that only reduced it holds; Bubnov-Galerkin elements keep
# constraints at their nodes as well as they are accurate
GUESSES = ("interpolation", "march")
DEFAULT = Newton()


class BoundarySolver:
    """What the solves of one problem on several meshes share; arguments as for `solve`.

    Attributes
    ----------
    tells : bool
        Whether it warns where conditions do not determine a motion.
    """

    tells = False

    def __init__(self, problem, element, driver=None, newton=None, show=False, kept=None):
        self.begin, self.kept = time.perf_counter(), kept
        self.problem, self.element, self.driver = problem, element, driver or Global()
        self.settings, self.show = newton or DEFAULT, show
        self.comm = own_world() if self.driver.distributed else None
        self.form = BoundaryForm(problem.conditions_at_ends, element, kept=kept)
        self.iterations, self.seconds, self.backward_error = 0, {"assemble": 0.0, "solve": 0.0}, 0.0

    def solve(self, mesh, guess=None):
        guess = self._default_guess() if guess is None else guess
        coarse = self.element == self._coarse_element and mesh.n_elements < 2 * COARSE
        if isinstance(guess, Solution):
            x = self.from_solution(guess, mesh)
        elif not isinstance(guess, str) or coarse:
            x = self.from_guess(mesh, guess)
        else:
            x = self._from_coarse(mesh, guess)
        x, status, equations = self.newton(mesh, x)
        if status.reason == Reason.NOT_REACHED and coarse and isinstance(guess, str) and guess == "interpolation":
            shorter = self._from_shorter_times(mesh)
            if shorter is not None:
                x, status, equations = self.newton(mesh, self.from_solution(shorter, mesh))
        sol = self.solution(mesh, x, status, equations)
        if sol.success and self.tells and self.comm is None:
            warn_if_undetermined(self, sol, x, equations)
        return sol

    def newton(self, mesh, x, homotopy=True):
        equations = self.form.equations(mesh, x, self.driver.scaling, self.driver.linear, self.comm)
        reference = self.form.reference(x)
        with progress_bar("boundary-value problem", self.settings.max_iterations, self.show) as bar:
            if homotopy:
                x, status, n = newton_with_homotopy(equations, equations.take(x), self.settings, reference,
                                                    bar.iteration)
            else:
                careful = replace(self.settings, line_search=True)
                x, status = newton(equations, equations.take(x), careful, reference, bar.iteration)
                n = max(len(status.residual_history) - 1, 0)
        x = equations.gather(x)
        self.iterations += n
        for name in self.seconds:
            self.seconds[name] += equations.seconds[name]
        self.backward_error = max(self.backward_error, equations.backward_error)
        if status.success:
            name, value = self.form.unmet(x)
            if not value <= UNMET[self.element.can_march]:
                detail = f"the iteration ended where '{name}' is violated by {value:.2g}, beyond the reach of the guess"
                status = Status.failure(Reason.NOT_CONVERGED, 0, mesh.nodes[0], status.residual_history, detail)
        return x, status, equations

    # ---- guesses

    def _default_guess(self):
        if any(of_bodies(self.problem.numbers)):  # along a straight path nothing depends on a mass
            return "march"
        given = [getattr(t, name, None) is not None for t in self.problem.end.values()
                 for name in ("q", "position", "orientation")]
        c, n = self.problem.conditions_at_ends, self.problem.system.n_q
        # where a throw is to come back by unknown numbers a straight path is at rest, and those of springs do nothing
        stays = np.allclose(c.z0[:n], c.z1[:n], rtol=0, atol=1e-9 * np.abs(c.z0[:n]).max(initial=0.0))
        back = self.problem.unknown_names and stays and c.z0[n:].any()
        return "interpolation" if any(given) and not back else "march"

    def _states(self, guess, mesh, element=None):
        """Nodal states, shape (n_elements, n_shapes, n_z)."""
        basis = (element or self.element).state.basis
        times, n, k = mesh.points(basis), self.problem.system.n_z, basis.n_shapes - 1
        if isinstance(guess, str):
            validate.choice("guess", guess, GUESSES)
            guess = interpolation(self.problem) if guess == "interpolation" else self._marched(mesh)
        if callable(guess):
            states = np.asarray(guess(times.ravel()), float)
            if states.shape != (times.size, n) or not np.all(np.isfinite(states)):
                raise InputError(f"guess must give finite states of shape {(times.size, n)}, not {states.shape}")
            return states.reshape(*times.shape, n)
        if np.ndim(guess) == 3:
            return guess
        guess = validate.array("guess", guess, (k * mesh.n_elements + 1, n))
        return guess[k * np.arange(mesh.n_elements)[:, None] + np.arange(k + 1)]

    def _marched(self, mesh):
        c, system, (t0, t1) = self.problem.conditions_at_ends, self.problem.system, self.problem.t_span
        if self.problem.free_time:
            t1 = t0 + c.c[0]
        start = InitialValueProblem(system, c.z0, (t0, t1))
        sol = solve_initial(Task(start, self._coarse_element, max(100, mesh.n_elements), driver=March(),
                                 progress=False))
        if not sol.success:
            raise InputError(f"guess='march' failed ({sol.status.message}); give another guess")
        nodes, times = mesh.nodes[[0, -1]], sol.t[[0, -1]]
        return lambda t: sol(np.clip(times[0] + (t - nodes[0]) * (np.diff(times) / np.diff(nodes)), *times))

    def from_guess(self, mesh, guess):
        """All unknowns on a mesh, of a guess that is not a solution, as for `solve`."""
        states = self._states(guess, mesh)
        multipliers = self._multipliers(mesh, states)
        times = mesh.points(self.element.state.basis)
        values = self.element.nodal_values(self.problem.system, times, states, multipliers)
        return self.form.pack(dict(zip(self.element.trial, values, strict=True)))

    def _multipliers(self, mesh, states):
        """Zero; where forces depend on those of constraints consistent ones, without which numbers of such forces have
        no effect."""
        system, basis = self.problem.system, self.element.multiplier.basis
        found = np.zeros((mesh.n_elements, basis.n_shapes, system.n_multipliers))
        if has_reaction_forces(system):
            z = np.einsum("ij,ejz->eiz", self.element.state.basis.values(basis.points), states)
            try:
                values = multipliers_along(system, mesh.points(basis).ravel(), z.reshape(-1, system.n_z))
            except InputError:
                return found
            found[:] = values[:, :system.n_multipliers].reshape(found.shape)
        return found

    def from_solution(self, sol, mesh):
        if sol.system.n_z != self.problem.system.n_z:
            raise InputError(f"the guess is a solution with {sol.system.n_z} components of the state, not "
                             f"{self.problem.system.n_z}")
        if not sol.success:
            raise InputError(f"the guess is a solution that failed: {sol.status.message}")
        same_mesh = np.array_equal(sol.t, mesh.nodes)
        if same_mesh and not len(self.form.constants) and (x := sol.nodal.dofs(self.form.plan)) is not None:
            return self.form.placed(x)
        kept = sol.element.kept_multipliers(sol.system)
        values = {"state": sol.nodal.state, "multipliers": sol.nodal.multipliers[..., kept], **sol.fields}
        same = {name: sol.element.trial[name] for name in values if name in self.element.trial}
        values = {name: values[name] for name in same
                  if values[name].shape[-1] == self.form.plan.columns.fields[
                      list(self.form.full_element.trial).index(name)].shape[1]}
        full = self._transferred(values, sol.element, mesh if same_mesh else TimeMesh(sol.t), mesh)
        none = np.zeros((mesh.n_elements, self.element.multiplier.basis.n_shapes, self.problem.system.n_multipliers))
        own = self.element.nodal_values(self.problem.system, mesh.points(self.element.state.basis), full["state"], none)
        full |= {name: v for name, v in zip(self.element.trial, own, strict=True) if name not in values}
        if len(self.form.constants):
            constants, known = self.form.constants.copy(), sol.statistics.get("parameters", {})
            for i, name in enumerate(self.problem.unknown_names):
                if name in known:
                    constants[i] = known[name] / (self.form.span if name == "duration" else 1)
            if "duration" in self.problem.unknown_names and "duration" not in known:
                constants[0] = (sol.t[-1] - sol.t[0]) / self.form.span
            constants[self.form.n_unknown:] = sol.z[0][self.form.copied]
            full["constants"] = np.broadcast_to(constants, (mesh.n_elements, 2, len(constants)))
        return self.form.pack(full)

    def _transferred(self, values, element, mesh, other):
        full = self.form.full_element
        sizes = {name: f.shape[1] for name, f in zip(full.trial, self.form.plan.columns.fields, strict=True)}
        return transferred(values, element, mesh, full, sizes, other)

    @property
    def _coarse_element(self):
        return COARSE_ELEMENT.fitting(self.problem.system)

    def _from_coarse(self, mesh, guess):
        """The solution by mG(2) on a coarse mesh; the guess itself where there is none.

        Each rank solves there alone: it is quick, and how many ranks there are shows in no guess.
        """
        stride = -(-mesh.n_elements // COARSE)
        coarse = TimeMesh(mesh.nodes[np.unique(np.append(np.arange(0, mesh.n_elements, stride), mesh.n_elements))])
        element = self._coarse_element
        driver = replace(self.driver, linear="chain") if self.driver.distributed else self.driver
        rough = BoundarySolver(self.problem, element, driver, self.settings, self.show, self.kept)
        sol = rough.solve(coarse, guess)
        self.iterations += rough.iterations
        if not sol.success:
            return self.from_guess(mesh, guess)
        return self.from_solution(sol, mesh)

    def _from_shorter_times(self, mesh, most=10):
        """The motion on a mesh by motions that take less time, from one that is found after at most so many halvings
        of it, each the guess of a longer one; None where that leads nowhere. The shorter they are, the less do forces
        count against inertia, and the straighter they go."""
        problem, (t0, t1) = self.problem, self.problem.t_span
        if not problem.prescribes_configurations:
            return None

        def solve_in(share, before):
            nodes = TimeMesh(t0 + share * (mesh.nodes - t0))
            try:
                other = BoundarySolver(problem.changed(t_span=(t0, t0 + share * (t1 - t0))), self.element, self.driver,
                                       self.settings, self.show, self.kept)
                guess = "interpolation"
                if before is not None:  # momenta go with the inverse of the time
                    n, longer = problem.system.n_q, share * (t1 - t0) / (before.t[-1] - t0)
                    guess = before.nodal.state * np.repeat([1.0, 1 / longer], n)
                x, status, equations = other.newton(nodes, other.from_guess(nodes, guess), homotopy=False)
            except InputError:  # prescribed motions do not meet the ends then
                return None, 0
            self.iterations += other.iterations
            return (other.solution(nodes, x, status, equations) if status.success else None), other.iterations

        found, halvings = None, 0
        while found is None and halvings < most:
            halvings += 1
            found, _ = solve_in(0.5**halvings, None)
        if found is None:
            return None
        found, s = follow(lambda s, sol: solve_in(0.5**(halvings * (1 - s)), sol), found, first=1 / halvings)
        return found if s == 1 else None

    # ---- the result

    def solution(self, mesh, x, status, equations):
        numbers, n = self.form.numbers(x), mesh.n_elements if status.success else 0
        values = self.form.values(x, n)
        nodes = mesh.nodes
        if "duration" in numbers:
            nodes = nodes[0] + (nodes - nodes[0]) * (numbers["duration"] / self.form.span)
        system = self.form.solved_system(numbers) if status.success else self.problem.system
        total = time.perf_counter() - self.begin
        seconds = {"setup": total - sum(self.seconds.values()), **self.seconds, "total": total}
        outcome = Outcome(values, status, np.array([self.iterations]), equations.n_unknowns, seconds,
                          n_ranks=equations.comm.size if equations.comm else 1, backward_error=self.backward_error,
                          ordering=equations.linear.ordering, per_rank=equations.per_rank)
        statistics = solve_statistics(self.driver, self.driver.linear.name, mesh, outcome, parameters=numbers)
        found = Solution.of(system, self.element, nodes[:n + 1], self.form.ends_of(x)[0], values, status, statistics)
        found._problem = self.problem
        return found


# ---- whether conditions at the ends determine a motion, or others beside it meet them as well

scipy = Late("scipy")

SUSPECT = 30  # of the motion, by the size of a shift: below, one motion is determined however coarse the mesh is
LONG = 2000  # elements: from twice as many a coarser mesh is looked at first, as five solves take long


def warn_if_undetermined(solver, sol, x, equations):
    """Warn where the conditions hold for other motions as well, to the accuracy of the mesh.

    By how much the motion moves where a condition is shifted converges with the mesh, and grows with the order of the
    element where conditions determine nothing: it is the inverse of the error of the mesh then.

    Parameters
    ----------
    solver : BoundarySolver
    sol : Solution
    x : ndarray
        Its unknowns.
    equations : ElementEquations
        Theirs, on one process.
    """
    if equations.linear.no_transpose:
        return
    every = len(sol.t) // LONG
    if every > 1 and not _on_part(solver, sol, every) > SUSPECT:
        return
    # factors of the last step, if there was one, are of an iterate as far from x as that step: they tell enough here
    if len(sol.t) < 5 or (equations.has_factors and not _of_factors(equations) > SUSPECT):
        return
    found = _response(equations, x)
    if not found > SUSPECT:  # spares a second mesh
        return
    grows = found * np.finfo(float).eps > WARN_ABOVE
    if not grows:
        before = _on_part(solver, sol, 2)
        grows = found > before * max(2.5, 2 ** (getattr(sol.element, "order", 2) / 2))  # rows may be weighted by h
    if grows:
        warn(f"the conditions at the ends do not determine the motion: a shift of one by {1 / found:.0e} of its size "
             "changes the whole motion, and a smaller one does on a finer mesh; this is one of many motions. Give "
             "another condition, or another time", IllConditioned)


def _on_part(solver, sol, every):
    """As `_response`, on a mesh of some of the nodes."""
    coarse = TimeMesh(np.unique(np.append(sol.t[::every], sol.t[-1])))
    guess = solver.from_solution(sol, coarse)
    return _response(solver.form.equations(coarse, guess, solver.driver.scaling, solver.driver.linear), guess)


def _response(equations, x):
    """By how much the motion moves at most where one of its equations is not met, both by their sizes; infinite where
    the tangent is singular."""
    if equations.x is not x:
        equations.evaluate(x)
    try:
        equations.factor()
    except SolveError:
        return np.inf
    return _of_factors(equations)


def _of_factors(equations):
    """The norm of the inverse of the tangent that was factored last by the number of unknowns, in some five solves."""
    n, linear = equations.n_unknowns, equations.linear

    def plain(b):
        return linear.solve(b.flatten())

    def transposed(b):
        return linear.solve_transposed(b.flatten())

    inverse = scipy.sparse.linalg.LinearOperator((n, n), plain, rmatvec=transposed, dtype=float)
    return float(estimated_norm(inverse, t=1, itmax=2)) / n


# ---- Boundary-value problems solved: on one mesh, or on meshes that are found for a tolerance

def solve_boundary(task):
    """Solve a boundary-value problem: a `Task` of `timefem.solve`."""
    problem = task.problem

    def solve_on(element, mesh, last):
        solver = BoundarySolver(problem, element, task.driver, task.newton, task.progress, task.kept)
        solver.tells = task.tolerance is None and task.kept.once  # many solves are to be quick
        return solver.solve(mesh, task.guess if last is None else last)

    if task.tolerance is not None:
        return solve_refined(task, solve_on, BoundaryErrors)

    solution = solve_on(task.element, task.mesh_through(problem.system.kinks), None)
    jump = jump_of(solution) if solution.success and task.kept.once else None  # many solves are to be quick
    if jump is not None:
        warn(f"the motion goes straight through '{jump.name}' at t = {jump.time:.3g}, which holds at the "
             "nodes, and not between them: take more elements, or a higher degree", UnderResolved)
    return solution


# ---- estimated errors of boundary-value problems

class BoundaryErrors(HigherOrderErrors):
    """Of boundary-value problems, with the unknown numbers relative to their guesses."""

    def prepare(self):
        self.solver = BoundarySolver(self.problem, self.better)
        self.plan = self.solver.form.plan

    def assembled(self, sol, mesh):
        x = self.solver.from_solution(sol, mesh)
        return self.solver.form.equations(mesh, x), x

    def errors(self, sol, mesh, before, after):
        errors, form = super().errors(sol, mesh, before, after), self.solver.form
        if form.n_unknown:
            change = (after["constants"] - before["constants"])[0, 0] / form.sizes
            errors |= dict(zip(self.problem.unknown_names, np.abs(change[:form.n_unknown]).tolist(), strict=True))
        return errors
