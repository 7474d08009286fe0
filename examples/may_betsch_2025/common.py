"""What the figures share: the two examples, runs with several numbers of Gauss points, errors against a reference."""

import numpy as np

import timefem as tf
from timefem.cases import find_case


def box(rotation="quaternion", inverse_mass=None, t_end=5.0):
    """Spinning box, Sect. 5.1: the initial-value problem."""
    return find_case("spinning-box").make(rotation=rotation, inverse_mass=inverse_mass, t_end=t_end)


def pendulum(t_end=5.0):
    """Physical pendulum in quaternions, Sect. 5.2."""
    return find_case("physical-pendulum").make(t_end=t_end)


def runs(problem, points, h=0.05):
    """Solutions of mG(1) by number of Gauss points."""
    n = round(problem.t_span[1] / h)
    return {g: tf.solve(problem, tf.MixedGalerkin(1, n_points=g), n_elements=n) for g in points}


def drift(values):
    """Largest change from the start."""
    return np.abs(values - values[0]).max()


def draw_drifts(figure, solutions, label, legend):
    """Changes of L2 (left) and of the energy (right) over time."""
    left, right = figure.subplots(1, 2)
    for key, sol in solutions.items():
        momentum, energy = sol.angular_momentum()[:, 1], sol.energy()
        left.plot(sol.t, momentum - momentum[0], linewidth=1, label=label.format(key))
        right.plot(sol.t, energy - energy[0], linewidth=1, label=label.format(key))
    left.set(xlabel="time [s]", ylabel="$L_2 - L_2(0)$ [kg m²/s]", title="angular momentum")
    right.set(xlabel="time [s]", ylabel="$H - H(0)$ [J]", title="energy")
    right.legend(title=legend)


def convergence(elements, n_elements):
    """Relative errors (66) of q at the end, and their orders, by element and rotation, and the lengths of the elements:
    dict of what `draw_convergence` takes."""
    errors, orders = {}, {}
    for rotation in ("quaternion", "directors"):
        problem = box(rotation)
        h = np.array([problem.t_span[1] / n for n in n_elements])
        reference = tf.solve(problem, tf.MixedGalerkin(4), n_elements=1000).z[-1, :problem.system.n_q]
        for element_name, element in elements.items():
            name = f"{element_name}, {rotation}"
            ends = [tf.solve(problem, element, n_elements=n).z[-1, :problem.system.n_q] for n in n_elements]
            errors[name] = np.array([np.linalg.norm(reference - end) / np.linalg.norm(reference) for end in ends])
            orders[name] = slope(h, errors[name])
    return {"h": h, "errors": errors, "orders": orders}


def slope(h, errors, floor=1e-11):
    """Fitted order above the plateau of round-off."""
    keep = errors > floor
    return np.polyfit(np.log(h[keep]), np.log(errors[keep]), 1)[0]


def draw_convergence(ax, h, errors, orders):
    """Errors over the length of the elements, with their fitted orders."""
    for (name, values), order, marker in zip(errors.items(), orders.values(), "osDv^<>p" * 2, strict=False):
        line = "--" if "directors" in name else "-"
        ax.loglog(h, values, marker + line, markersize=4, label=f"{name}: order {order:.1f}")
    ax.set(xlabel="length of an element [s]", ylabel="relative error of q at 5 s")
    ax.set_xticks(h, [f"{value:.4g}" for value in h])
    ax.minorticks_off()
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))


LEVELS = {"configuration": "residual on configuration level",
          "velocity": "velocity of the point at the support [m/s]",
          "quaternion_momentum": "q.p of the quaternion [kg m^2/s]"}  # from which (69) makes the velocity level


def draw_constraints(figure, solutions, label):
    """Constraints on the quaternion (left) and of the joint (right), configuration and velocity level."""
    left, right = figure.subplots(1, 2)
    for key, sol in solutions.items():
        phi, psi = sol.constraints()
        names = sol.system.constraint_names
        own = np.array(["unit length" in name for name in names])
        for ax, chosen, rate in ((left, own, "q.p"), (right, ~own, "velocity")):
            for values, level, style in ((phi, "configuration", "-"), (psi, rate, "--")):
                ax.plot(sol.t, np.abs(values[:, chosen]).max(axis=1) + 1e-18, style, label=label.format(key, level))
    left.set(xlabel="time [s]", ylabel="largest residual", title="unit length of the quaternion", yscale="log")
    left.legend()
    right.set(xlabel="time [s]", title="fixed point", yscale="log")
    right.legend()
