"""What the figures share: runs of the three cases, angular momenta in both frames, the path of the third director."""

import numpy as np

import timefem as tf
from timefem.cases import find_case

# steps that resolve the motion; the paper's 0.005 s is for all three, and too long for cases 2 and 3
LENGTHS = {False: {1: 0.005, 2: 1e-4, 3: 1e-4}, True: {1: 0.005, 2: 2.5e-4, 3: 2.5e-4}}
MOMENTA = {1: (20.57142857, -72.85714286), 2: (-1236.25, -537.5), 3: (-614.26785714, -250.96428571)}  # exact, steady
ENERGIES = {1: 717.42857143, 2: 299251.75149063, 3: 72719.28608694}
RATES = {1: 18.97366596, 2: 445.00443697, 3: 219.61052026}  # |omega| in the steady state [rad/s]
LOADED = {1: 0.0, 2: 1.0, 3: 1.0}  # until then [s]
VIEW = 25, 35  # elevation and azimuth of the eye on the sphere [degrees]
LOADS = ("The numbers of the paper's tables are not known here; exact ones stand in their place. With the loads as "
         "printed the frame turns by {:.1f} rad in the paper's step of 0.005 s, which does not resolve the motion; the "
         "step here is {:g} s.")


def run(number, element=None, h=0.005, t_end=5.0):
    """Solution of a case, by the energy-momentum scheme unless another element is given."""
    return tf.solve(find_case(f"nontwisting-{number}").make(t_end=t_end), element or tf.NonTwistingEM(),
                    n_elements=round(t_end / h))


def body_momentum(sol):
    """Angular momentum in body axes at the nodes, "MAM" in the paper."""
    return np.einsum("tij,ti->tj", sol.rotation_matrix("frame", sol.t), sol.angular_momentum())


def third_director(sol):
    """d3 at the nodes."""
    return sol.rotation_matrix("frame", sol.t)[:, :, 2]


def steady(sol, number):
    """The nodes after the load."""
    return sol.t >= LOADED[number] - 1e-9


def remark_of_loads(number, quick):
    """Why the step is shorter than the paper's."""
    return LOADS.format(RATES[number] * 0.005, LENGTHS[quick][number])


def turning(d3):
    """Axis of the plane in which a director turns, from its first two values, and its angles in that plane [rad]."""
    axis = np.cross(d3[0], d3[1])
    axis /= np.linalg.norm(axis)
    return axis, np.unwrap(np.arctan2(d3 @ np.cross(axis, d3[0]), d3 @ d3[0]))


def plane(d3):
    """Normal of the plane through the centre of the sphere that is closest to a path."""
    return np.linalg.svd(d3, full_matrices=False)[2][-1]


def check_momenta(finding, sol, number):
    """Momenta in space oscillate, those in body axes are constant after the load."""
    after = steady(sol, number)
    space, body = sol.angular_momentum()[after], body_momentum(sol)
    axis, angle = turning(third_director(sol)[after])
    across = np.linalg.norm(space - np.outer(space @ axis, axis), axis=1)
    finding.check("amplitude of SAM in the steady state [kg m²/s]", across.mean(), "not 0: it oscillates",
                  across.mean() > 0.01 * np.linalg.norm(space[0]))
    change = np.ptp(across) / across.mean()
    finding.check("relative change of that amplitude", change, "0", change < 1e-9)
    turn = np.diff(angle) / np.diff(sol.t[after])
    change = np.ptp(turn) / turn.mean()
    finding.check("relative change of the frequency", change, "0", change < 1e-9)
    size, change = np.abs(MOMENTA[number]).max(), np.abs(body[after] - body[after][0]).max(axis=0)
    for i, exact in enumerate(MOMENTA[number]):
        value = body[-1, i]
        finding.check(f"MAM {i + 1} in the steady state [kg m²/s]", value, f"{exact:.4f}, exact",
                      abs(value - exact) < 2e-3 * size)
        finding.check(f"change of MAM {i + 1} [kg m²/s]", change[i], "0", change[i] < 1e-11 * size)
    third = np.abs(body[:, 2]).max()
    finding.check("largest MAM 3 [kg m²/s]", third, "0" if number == 1 else "0 (of second order in h under load)",
                  third < (1e-12 if number == 1 else 1e-6) * size)


def check_energy(finding, sol, number):
    """The kinetic energy is constant after the load."""
    energy = sol.energy()[steady(sol, number)]
    exact, change = ENERGIES[number], np.ptp(energy)
    finding.check("kinetic energy in the steady state [J]", energy[-1], f"{exact:.4f}, exact",
                  abs(energy[-1] / exact - 1) < 5e-3)
    finding.check("change of it [J]", change, "0", change < 1e-12 * exact)


def draw_momenta(figure, sol, number):
    """Angular momentum in space (left; with a close-up where it is fast) and in body axes (right)."""
    if number == 1:
        left, right = figure.subplots(1, 2)
        views = [left]
    else:
        axes = figure.subplot_mosaic([["space", "body"], ["end", "body"]])
        left, right, views = axes["space"], axes["body"], [axes["space"], axes["end"]]
        axes["end"].set_xlim(sol.t[-1] - 0.05, sol.t[-1])
    for i in range(3):
        for ax in views:
            ax.plot(sol.t, sol.angular_momentum()[:, i], linewidth=0.3 if ax is not views[-1] else 1, color=f"C{i}")
        right.plot(sol.t, body_momentum(sol)[:, i], label=f"component {i + 1}")
    for ax in (*views, right):
        ax.set(xlabel="time [s]", ylabel="[kg m²/s]")
    left.set_title("angular momentum in space (SAM)")
    right.set_title("angular momentum in body axes (MAM)")
    figure.legend(handles=right.get_lines(), loc="outside lower center", ncol=3)


def draw_energy(figure, sol, study):
    """Kinetic energy (left) and second quotient of precision (right)."""
    left, right = figure.subplots(1, 2)
    energy = sol.energy()
    unit, scale = ("kJ", 1e-3) if energy.max() > 1e4 else ("J", 1)
    left.plot(sol.t, energy * scale)
    left.set(xlabel="time [s]", ylabel=f"kinetic energy [{unit}]", ylim=(0, 1.1 * scale * energy.max()),
             title="kinetic energy")
    right.plot(study.t, study.quotients, linewidth=1)
    right.axhline(4, color="black", linestyle=":", linewidth=1)
    right.set(xlabel="time [s]", ylabel="quotient", ylim=(3.8, 4.2),
              title=f"second quotient of precision, h = {study.h:g} s")


def draw_sphere(figure, paths):
    """Paths of the third director, by label, on the unit sphere."""
    ax = figure.add_subplot(projection="3d", computed_zorder=False)
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 37), np.linspace(0, np.pi, 19))
    sphere = np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)
    ax.plot_surface(*sphere, color="0.9", alpha=0.25, linewidth=0, shade=False, zorder=1)
    ax.plot_wireframe(*sphere, color="0.6", linewidth=0.3, rstride=3, cstride=3, zorder=3)
    elevation, azimuth = np.radians(VIEW)
    eye = np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)
    for (label, d3), colour in zip(paths.items(), ("C0", "C1"), strict=False):
        near = (d3 @ eye > 0)[:, None]
        ax.plot(*np.where(near, np.nan, d3).T, color=colour, linewidth=0.8, alpha=0.5, zorder=2)
        ax.plot(*np.where(near, d3, np.nan).T, color=colour, linewidth=1.5, label=label, zorder=4)
    first = next(iter(paths.values()))[0]
    ax.plot(*first[:, None], "ko", markersize=4, label="start", zorder=5)
    ticks = (-1, 0, 1)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$", xticks=ticks, yticks=ticks, zticks=ticks)
    ax.set_box_aspect((1, 1, 1), zoom=1.1)
    ax.view_init(*VIEW)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncol=3)
