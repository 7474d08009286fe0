"""The spinning box twice: all of time at once, distributed over the ranks, and element by element.

    mpirun -n 2 python examples/demo.py        # also without mpirun; PETSc options: -timefem_ksp_type gmres ...

The Bubnov-Galerkin method couples its elements, so that the whole motion is one sparse system, which PETSc solves on
all ranks. mG(2) is marched. Prints errors, iterations and seconds, and draws the errors of energy and momentum and
the box.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import numpy as np

import timefem as tf
from timefem.cases import find_case
from timefem.cli import split_petsc_options

T_END = 5.0


def main(n_elements=200, petsc_options=None):
    """Solve both ways. Under mpirun all ranks call this; every rank returns the global solution, rank 0 also the rest.

    Returns
    -------
    dict
        `solutions` by name and `errors` by name: |R - R_ref|_F at t = 5 s, against mG(4) on 800 elements.
    """
    problem = find_case("spinning-box").make(t_end=T_END)
    petsc = importlib.util.find_spec("petsc4py") and importlib.util.find_spec("mpi4py")
    linear = tf.PETSc(petsc_options) if petsc else tf.TimeChain()
    bg = tf.solve(problem, tf.BubnovGalerkin(degree=3), n_elements, driver=tf.Global(linear))
    solutions = {"Bubnov-Galerkin, k = 3": bg}
    if rank():
        return {"solutions": solutions, "errors": {}}
    solutions["mG(2)"] = tf.solve(problem, tf.MixedGalerkin(degree=2), n_elements)
    reference = tf.solve(problem, tf.MixedGalerkin(degree=4), 800).rotation_matrix("box", T_END)
    for name, sol in solutions.items():
        if not sol.success:
            raise tf.SolveError(f"{name}: {sol.status.message}")
    errors = {name: np.linalg.norm(sol.rotation_matrix("box", T_END) - reference) for name, sol in solutions.items()}
    return {"solutions": solutions, "errors": errors}


def rank():
    """Rank of this process, 0 without mpirun."""
    from timefem import parallel as communicator

    return communicator.rank()


def print_table(result):
    """One row per solution."""
    from rich.console import Console
    from rich.table import Table

    solutions = result["solutions"]
    table = Table(title=f"Spinning box, {T_END:g} s", title_justify="left")
    table.add_column("")
    for name in solutions:
        table.add_column(name, justify="right")

    def row(label, value):
        table.add_row(label, *(value(name, sol, sol.statistics) for name, sol in solutions.items()))

    row("driver", lambda name, sol, s: ", ".join(filter(None, (s["driver"], s["backend"]))))
    row("ranks", lambda name, sol, s: str(s["n_ranks"]))
    row("elements", lambda name, sol, s: str(s["n_elements"]))
    row("unknowns of a solve", lambda name, sol, s: str(s["n_unknowns"]))
    row("Newton iterations", lambda name, sol, s: f"{s['newton_iterations']['mean']:.2f}")
    row("error of the rotation", lambda name, sol, s: f"{result['errors'][name]:.1e}")
    row("error of the energy [J]", lambda name, sol, s: f"{sol.errors()['energy']:.1e}")
    row("error of the momentum [kg m²/s]", lambda name, sol, s: f"{sol.errors()['angular_momentum']:.1e}")
    row("seconds", lambda name, sol, s: f"{s['seconds']['total']:.2f}")
    Console(markup=False).print(table)  # [J] is a unit


def plot(result, path):
    """Errors of energy and momentum over time, and the box at six times."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 7))
    energy, momentum = figure.add_axes((0.07, 0.08, 0.41, 0.46)), figure.add_axes((0.57, 0.08, 0.41, 0.46))
    for (name, sol), style in zip(result["solutions"].items(), ("-", "--")):
        e, l = sol.energy(), sol.angular_momentum()
        # the start is exact, and a logarithmic axis has no zero
        energy.semilogy(sol.t[1:], np.maximum(np.abs(e - e[0])[1:], 1e-15), style, label=name)
        momentum.semilogy(sol.t[1:], np.maximum(np.abs(l - l[0]).max(axis=1)[1:], 1e-15), style, label=name)
    energy.set(xlabel="t [s]", ylabel="|H - H(0)| [J]", title="error of the energy (339.5 J)")
    momentum.set(xlabel="t [s]", ylabel="largest |L - L(0)| [kg m²/s]",
                 title="error of the angular momentum (133 kg m²/s)")
    for ax in (energy, momentum):
        ax.grid(alpha=0.3)
    energy.legend(loc="center right")
    # three-dimensional axes draw in a square: one larger than the figure, with the row of boxes across its middle
    box = figure.add_axes((-0.08, 0.0, 1.16, 1.6), projection="3d", zorder=-1)
    box.patch.set_visible(False)
    result["solutions"]["mG(2)"].plot.snapshots(np.linspace(0, 2.5, 6), ax=box)
    box.set_title("")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    arguments, petsc_options = split_petsc_options(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-elements", type=int, default=200)
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    arguments = parser.parse_args(arguments)
    result = main(arguments.n_elements, petsc_options or None)
    if rank() == 0:
        arguments.output.mkdir(parents=True, exist_ok=True)
        print_table(result)
        plot(result, arguments.output / "demo.png")
        print(arguments.output / "demo.png")
