"""What the figures share: schemes and their labels, energies, increments, runs of the top."""

import numpy as np

import timefem as tf
from timefem.cases import find_case
from timefem.cases.single_bodies import top_on_tip

SCHEMES = {"EML": tf.EML(), "EMH": tf.EMH(), "MPL": tf.MPL(), "MPH": tf.MPH()}
COLOURS = {"EML": "C0", "EMH": "C1", "MPL": "C2", "MPH": "C3"}


def mass_spring():
    """5.1 by EML; Table 2, which gives the step, is lost: this is the authors' code."""
    return tf.solve(find_case("mass-spring").make(t_end=10.0), tf.EML(), n_elements=100)


def spring_pendulum(h=0.01):
    """5.2 by EML."""
    return tf.solve(find_case("spring-pendulum").make(t_end=1.0), tf.EML(), n_elements=round(1 / h))


def free_body():
    """5.3 by EML, h = 0.05 s."""
    return tf.solve(find_case("free-body").make(t_end=2.0), tf.EML(), n_elements=40)


def run_top(name, h=0.01, t_end=2.0):
    """5.4 by a scheme.

    At 1.4 rad per step the equations of MPL have several solutions: a march follows a wrong one, windows of one element
    with an mG(1) march as guess the right one.
    """
    driver = tf.Windows(1) if name == "MPL" else None
    return tf.solve(top_on_tip(t_end=t_end), SCHEMES[name], n_elements=round(t_end / h),
                    newton=tf.Newton(line_search=True, max_iterations=100), driver=driver)


def closed_loop(rotation="quaternion", h=0.1):
    """5.5 by EML; Table 5, which gives the data, is lost: these are of the authors' code."""
    return tf.solve(find_case("four-bar").make(rotation, t_end=10.0), tf.EML(), n_elements=round(10 / h))


def generalized_energy(solution):
    """E of (74) at the nodes; of Hamiltonian schemes with v = M4^-1 p, which makes it H."""
    return solution.energy.generalized() if "velocity" in solution.fields else solution.energy()


def total_energy(solution):
    """E_tot of (80), T(q, v) + V, at the nodes."""
    p, v = solution.z[:, solution.system.n_q:], solution.field("velocity")
    potential = solution.system.potential(solution.t, solution.z)
    return (p * v).sum(axis=1) + 2 * potential - solution.energy.generalized()


def largest_step(values):
    """Largest increment from node to node."""
    return np.abs(np.diff(values, axis=0)).max()


def draw_increments(ax, solution, values, **style):
    """Increments from node to node."""
    ax.plot(solution.t[1:], np.diff(values, axis=0), linewidth=1, **style)
    ax.set(xlabel="time [s]", xlim=(0, solution.t[-1]))


def draw_energies(ax, solution):
    """Kinetic, potential and generalized energy."""
    potential, total = solution.system.potential(solution.t, solution.z), generalized_energy(solution)
    for values, label, style in ((total - potential, "kinetic", "--"), (potential, "potential", ":"),
                                 (total, "generalized $E$", "-")):
        ax.plot(solution.t, values, style, label=label)
    ax.set(xlabel="time [s]", ylabel="energy [J]", xlim=(0, solution.t[-1]), ylim=(None, 1.22 * total[0]))
    ax.legend(ncols=3, loc="upper center", fontsize="x-small", columnspacing=1, handlelength=1.6)


def draw_constant(ax, solution, values, ylabel):
    """A conserved quantity, on an axis on which round-off does not show."""
    ax.plot(solution.t, values)
    middle = values.mean()
    ax.set(xlabel="time [s]", ylabel=ylabel, xlim=(0, solution.t[-1]), ylim=(0.8 * middle, 1.2 * middle))


def draw_loop(ax, solution, t, label="{}"):
    """The four bars as lines from joint to joint; bars 1 and 3 lie along e2, bars 2 and 4 along e1."""
    for i, body in enumerate(solution.system.bodies):
        half = 5 * solution.rotation_matrix(body, t)[:, 1 if i % 2 == 0 else 0]
        ends = solution.position(body, t) + np.array([-half, half])
        ax.plot(*ends.T, color=f"C{i}", linewidth=4, solid_capstyle="round", clip_on=False, in_layout=False,
                label=label.format(f"bar {i + 1}"))
        ax.plot(*ends.T, "o", color="0.25", markersize=4, clip_on=False, in_layout=False)


def frame(ax, zoom, ticks, labels="small"):
    """Labels of the axes in space, about so many ticks on each, and one scale for all."""
    for name, n in zip("xyz", ticks, strict=True):
        getattr(ax, f"set_{name}label")(f"${name}$ [m]", fontsize=labels)
        ax.locator_params(axis=name, nbins=n)
    ax.zaxis.set_rotate_label(False)
    ax.zaxis.label.set_rotation(90)
    ax.set_box_aspect([np.ptp(getattr(ax, f"get_{name}lim")()) for name in "xyz"], zoom=zoom)
