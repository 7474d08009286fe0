"""Values of parts at given states, evaluated by CasADi's VM: for initial states and post-processing."""

import threading

import casadi as ca
import numpy as np

from .symbols import Symbols

PIECE = 256  # points that are evaluated at once
MOST_BUFFERS = 500  # kept by a thread


def evaluate(function, z, t, c):
    """Evaluate `function(z, t, c)` for all parts of a group at many points.

    Shapes (n, n_parts, n_local), (n,), (n_parts, n_c) -> (n, n_parts, n_out).
    """
    n, n_parts, n_local = z.shape
    n_out = function.size1_out(0)
    if n == 0 or n_out == 0:
        return np.zeros((n, n_parts, n_out))
    # through buffers and in pieces: CasADi's own matrices and long maps take ten times as long as the evaluation
    arguments = [np.ascontiguousarray(x, dtype=float)
                 for x in (z.reshape(n * n_parts, n_local), t if n_parts == 1 else np.repeat(t, n_parts),
                           c if n == 1 else np.tile(c, (n, 1)))]
    out = np.zeros((n * n_parts, n_out))
    for start in range(0, len(out), PIECE):
        stop = min(start + PIECE, len(out))
        buffer, run, _ = _buffer(function, stop - start)
        for i, x in enumerate(arguments):
            if x.size:
                buffer.set_arg(i, memoryview(x[start:stop]))
        buffer.set_res(0, memoryview(out[start:stop]))
        run()
    return out.reshape(n, n_parts, n_out)


def _buffer(function, size):
    """The buffer of a function at so many points, and what evaluates it; of this thread, as it is no place for two."""
    buffers = _kept.__dict__.setdefault("buffers", {})
    key = function.__hash__(), size  # that of the address
    if key not in buffers:
        if len(buffers) == MOST_BUFFERS:
            buffers.clear()
        buffers[key] = *(function.map(size) if size > 1 else function).buffer(), function
    return buffers[key]


_kept = threading.local()
_POINTWISE = {}  # by kind of part; systems keep what they use
MOST_KINDS = 200  # kept: formulas make a kind each, and loops over formulas would fill the memory


def pointwise(part):
    """CasADi functions of one kind of part: energy, constraints, and their first derivatives.

    Parts of bodies with `velocity_by_solve` take `(z, v)` in the place of z. Then "derivatives" are those at fixed
    velocities, of H by Legendre's transformation, and "by velocity" has the others; "velocity" of a part that drives a
    coordinate by its momentum, such as a counter of turns, takes the v of the bodies.
    """
    if part.kind not in _POINTWISE:
        if len(_POINTWISE) >= MOST_KINDS:
            del _POINTWISE[next(iter(_POINTWISE))]
        s, solved = Symbols(part), sees_velocities(part)
        z, n = ca.vertcat(*s.q, *s.p), sum(b.n_q for b in part.bodies)
        velocity = ca.SX.sym("v", n)
        velocities = ca.vertsplit(velocity, [sum(b.n_q for b in part.bodies[:i]) for i in range(len(part.bodies) + 1)])
        if solved:
            s.velocity = velocities
        state, kinetic = ca.vertcat(z, velocity) if solved else z, ca.SX(part.kinetic(s, velocities))
        arguments, moving = [state, s.t, s.parameters], [ca.vertcat(z, velocity), s.t, s.parameters]
        potential = ca.SX(part.potential_energy(s))
        legendre = (ca.dot(s.p[0], velocity) if part.is_body else 0) - kinetic + potential
        energy = legendre if solved and not part.has_velocity else ca.SX(part.energy(s))
        theta = ca.vertcat(part.constraints(s), part.velocity_constraints(s))
        generalized = ca.SX(part.force(s))
        force = ca.vertcat(generalized, ca.SX(n, 1))
        rate, w = ca.SX.sym("rate", n), ca.SX.sym("w", theta.numel())
        power = ca.dot(generalized, rate) + ca.jacobian(energy, s.t) + ca.dot(w, ca.jacobian(theta, s.t))
        derivatives = [ca.gradient(energy, z) - force, ca.jacobian(theta, z), ca.jacobian(theta, s.t), theta]
        functions = _POINTWISE[part.kind] = {
            "depends on time": any(ca.depends_on(ca.SX(d), s.t) for d in derivatives),
            "hamiltonian": ca.Function("hamiltonian", arguments, [ca.densify(energy)]),
            "potential": ca.Function("potential", arguments, [ca.densify(potential)]),
            "generalized energy": ca.Function("generalized_energy", moving, [ca.densify(ca.SX(legendre))]),
            "kinetic": ca.Function("kinetic", moving, [ca.densify(kinetic)]),
            "momentum": ca.Function("momentum", moving, [ca.densify(ca.gradient(kinetic, velocity))]),
            "theta": ca.Function("theta", arguments, [ca.densify(theta)]),
            "positions": ca.Function("positions", arguments, [ca.densify(theta[:theta.numel() // 2])]),
            "power": None if ca.SX(power).is_zero() else ca.Function(
                "power", [ca.vertcat(state, rate, w), *arguments[1:]], [ca.densify(power)]),
            "derivatives": ca.Function("derivatives", arguments,
                                       [ca.vertcat(*(ca.vec(ca.densify(d)) for d in derivatives))]),
        }
        if solved:
            by_velocity = ca.jacobian(ca.gradient(kinetic, velocity), ca.vertcat(*s.q)), ca.jacobian(theta, velocity)
            functions["by velocity"] = ca.Function("by_velocity", arguments, [
                ca.vertcat(*(ca.vec(ca.densify(d)) for d in by_velocity))])
        if part.has_velocity or (part.is_body and not solved):
            by_momenta = ca.gradient(energy, ca.vertcat(*s.p))
            functions["velocity"] = ca.Function("velocity", arguments, [ca.densify(by_momenta)])
        if part.n_controls:
            u = ca.SX.sym("u", part.n_controls)
            functions["control force"] = ca.Function(
                "control_force", [ca.vertcat(state, u), *arguments[1:]], [ca.densify(part.control_force(s, u))])
        if part.nonholonomic_names:
            form, (matrix, drift) = part.velocity_form(s), part.pfaffian(s)
            form_rate = ca.jacobian(form, s.t)
            derivatives = [matrix, ca.jacobian(form, z), drift, form_rate]
            drifts = ca.SX(ca.vertcat(drift, form_rate))
            functions |= {
                "velocity form": ca.Function("velocity_form", arguments, [ca.densify(form)]),
                "velocity form derivatives": ca.Function("velocity_form_derivatives", arguments, [
                    ca.vertcat(*(ca.vec(ca.densify(d)) for d in derivatives))]),
                "drifts": None if drifts.is_zero() else ca.Function("drifts", arguments, [ca.densify(drifts)]),
            }
    return _POINTWISE[part.kind]


def sees_velocities(part):
    """Whether formulas of a part take velocities, which do not follow from momenta by a formula."""
    return any(body.velocity_by_solve for body in part.bodies)
