"""What the figures share: the two prescribed rotations, runs, errors of the rotation."""

import numpy as np

import timefem as tf
from timefem.cases import find_case, single_bodies
from timefem.reproduction import Finding

T_END = 5 * np.pi
VECTORS = {"i": single_bodies.rotation_i, "ii": single_bodies.rotation_ii}
TORQUES = {"i": single_bodies.torque_i, "ii": single_bodies.torque_ii}
SCHEMES = {"corrected": tf.Zupan3(), "as printed": tf.Zupan3Printed(), "Simo and Vu-Quoc": tf.NewmarkSO3()}
FLOORS = {("i", 0.05): 1e-9, ("i", 0.01): 1e-12, ("ii", 0.05): 1e-8}  # of the axes; errors pass through zero
REMARK = ("As printed the scheme is of second order: the factor in (20) must be 1/24, not 1/48, and the angular "
          "velocity needs the last update too. What the paper says of its scheme is checked with these corrections. "
          "Thick: angle between computed and exact rotation; thin: difference of their angles, which leaves out the "
          "error of the axis.")


def values(function, t):
    """A function of time in CasADi symbols at many times, shape (n_times, 3)."""
    import casadi as ca

    s = ca.SX.sym("t")
    value = function(s)
    value = ca.vertcat(*value) if isinstance(value, tuple) else value
    return np.array(ca.Function("f", [s], [value])(t[None])).T


def errors(sol, case):
    """Errors of the rotation at the nodes [rad].

    Returns
    -------
    turn : ndarray
        Angle of the rotation from the exact to the computed one.
    angle : ndarray
        Difference of the angles of rotation, which leaves out the error of the axis.
    """
    vector = values(VECTORS[case], sol.t)
    size = np.linalg.norm(vector, axis=1)
    exact = np.column_stack([np.cos(size / 2), np.sinc(size / (2 * np.pi))[:, None] * vector / 2])
    q = sol.quaternion("body", sol.t)
    turn = 4 * np.arcsin(np.minimum(*(np.linalg.norm(q - s * exact, axis=1) for s in (1, -1))) / 2)
    angle = np.abs(_angle(q) - _angle(exact))
    return turn, angle


def _angle(q):
    """Angle of a rotation, 0 to pi."""
    return 2 * np.arctan2(np.linalg.norm(q[:, 1:], axis=1), np.abs(q[:, 0]))


def run(case, element, h):
    """Solution of a load case."""
    return tf.solve(find_case(f"rotation-{case}").make(t_end=T_END), element, n_elements=round(T_END / h))


def compare(case, h):
    """Finding with the errors of the three schemes with a step h."""
    finding = Finding(data={"h": h, "case": case, "errors": {}}, remark=REMARK)
    for name, element in SCHEMES.items():
        sol = run(case, element, h)
        finding.data["errors"][name] = sol.t, *errors(sol, case)
    return finding


def largest(finding):
    """Largest error of the position by scheme [rad]."""
    return {name: turn.max() for name, (_, turn, _) in finding.data["errors"].items()}


def check_gain(finding, at_least):
    """The corrected scheme is more accurate than Newmark's method."""
    error = largest(finding)
    for (name, value), claimed in zip(error.items(), ("the smallest", "between", "the largest"), strict=True):
        rank = sorted(error.values()).index(value)
        finding.check(f"largest error, {name} [rad]", value, claimed, rank == list(error).index(name))
    gain = error["Simo and Vu-Quoc"] / error["corrected"]
    finding.check("error of Simo and Vu-Quoc / corrected", gain, "much larger than 1", gain > at_least)


def check_orders(finding, case, h, until=T_END):
    """Orders of the three schemes from the largest errors with h and h/2, up to a time."""
    whole = {}
    for (name, element), order in zip(SCHEMES.items(), (3, 2, 2), strict=True):
        t, turn, _ = finding.data["errors"][name]
        sol = run(case, element, h / 2)
        fine = errors(sol, case)[0]
        whole[name] = np.log2(turn.max() / fine.max())
        measured = np.log2(turn[t <= until].max() / fine[sol.t <= until].max())
        claimed = 3 if name == "as printed" else order
        finding.check(f"order, {name}, up to {until:.1f} s", measured, str(claimed), abs(measured - claimed) < 0.15,
                      "the factor 1/48 in (20), and an angular velocity without the last update, leave order 2")
    if until < T_END:
        finding.remark += (f" Orders are those of the largest errors up to {until:.1f} s, with h = {h} and {h / 2} s; "
                           f"over the whole time they are {', '.join(f'{o:.2f} ({n})' for n, o in whole.items())}.")


def draw_errors(finding, figure):
    """Errors of the present method (left) and of Simo and Vu-Quoc (right) over time."""
    left, right = figure.subplots(1, 2, sharey=True)
    for (name, (t, turn, angle)), colour in zip(finding.data["errors"].items(), ("C0", "C1", "C2"), strict=True):
        ax = right if name == "Simo and Vu-Quoc" else left
        ax.semilogy(t[1:], angle[1:], colour, linewidth=0.6, alpha=0.5, label=f"{name}, angle alone")
        ax.semilogy(t[1:], turn[1:], colour, linewidth=1.5, label=name)
    left.set(ylabel="error [rad]", title="present method")
    right.set(title="Simo and Vu-Quoc method")
    left.set_ylim(bottom=FLOORS[finding.data["case"], finding.data["h"]])
    for ax in (left, right):
        ax.set_xlabel("time [s]")
        ax.legend(loc="lower right")


def torque(case):
    """Finding with the torque, checked by the motion that it makes."""
    t = np.linspace(0, T_END, 2001)
    finding = Finding(data={"t": t, "torque": values(TORQUES[case], t)})
    turn = errors(run(case, tf.MixedGalerkin(4), T_END / 1600), case)[0].max()
    finding.check("largest error of the rotation under this torque, by mG(4) [rad]", turn, "0", turn < 1e-8)
    return finding


def draw_torque(finding, figure):
    """Components of the torque in space axes over time."""
    ax = figure.subplots()
    for i, component in enumerate(finding.data["torque"].T, 1):
        ax.plot(finding.data["t"], component, linewidth=1, label=f"$M_{i}$")
    ax.set(xlabel="time [s]", ylabel="torque [N m]")
    ax.legend(loc="upper left")
