"""What the figures share: the schemes by the names of the paper, runs of the free body and of the top."""

import timefem as tf
from timefem.cases import find_case
from timefem.cases.single_bodies import top_on_tip

SCHEMES = {"QUAT_EM": tf.EMH(), "QUAT_VI": tf.QuatVI(), "DIR_EM": tf.DirEM(), "ALGO_C1": tf.AlgoC1()}
MARKERS = dict(zip(SCHEMES, "osDv", strict=True))
NEWTON = tf.Newton(line_search=True, max_iterations=100)
MARCH = tf.March(keep_mesh=True)  # schemes fail where they have no solution


def rotation_of(name):
    """Coordinates that the scheme is stated in."""
    return "directors" if name == "DIR_EM" else "quaternion"


def run_free_body(name, h, t_end=1.0):
    """5.1 by a scheme."""
    problem = find_case("free-body").make(rotation_of(name), t_end=t_end)
    return tf.solve(problem, SCHEMES[name], n_elements=round(t_end / h), newton=NEWTON, driver=MARCH)


def run_top(name, n_elements, t_end=1.0):
    """5.2 by a scheme."""
    return tf.solve(top_on_tip(rotation_of(name), t_end), SCHEMES[name], n_elements=n_elements, newton=NEWTON,
                    driver=MARCH)


def draw_errors(ax, lengths, errors, orders, title):
    """Errors over the step, with their fitted orders."""
    for name, values in errors.items():
        ax.loglog(lengths, values, f"{MARKERS[name]}-", markersize=4, label=f"{name}: order {orders[name]:.2f}")
    ax.set(xlabel=r"step $\Delta t$ [s]", title=title)
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.legend(fontsize="x-small")


def draw_mass_centre(figure, solutions, exact, centre):
    """Coordinates x (left) and z (right) of the centre of mass by several schemes, and the analytic solution."""
    for ax, i, letter in zip(figure.subplots(1, 2), (0, 2), "xz", strict=True):
        times = next(iter(solutions.values())).t
        ax.plot(times, exact(times)[:, i], "k-", linewidth=1, label="analytic")
        for (name, sol), style, colour in zip(solutions.items(), ("--", ":"), ("C0", "C1"), strict=True):
            ax.plot(sol.t, centre(sol)[:, i], style, color=colour, label=name)
        low, high = ax.get_ylim()
        ax.set(xlabel="time [s]", ylabel=f"${letter}$ of the centre of mass [m]", xlim=(0, times[-1]),
               ylim=(low, high + 0.15 * (high - low)))
        ax.legend(ncols=3, loc="upper center", fontsize="x-small", columnspacing=1, handlelength=1.5)
