"""Cost model of a distributed Newton iteration, fitted on this machine and drawn to 10^4 ranks; see docs/scaling.md.

    python benchmarks/scaling_model.py [--output docs/images/scaling.png] [--json]

Measured here: time per element of assembly, of elimination and recovery of the whole chain, of the first, an inner
and the last slab; of a block of the interface system; per step of the march. Assumed: a network.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import timefem as tf
from timefem.assembly import Assembler, Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.linear.time_chain.slab_lu import SlabLU

LATENCY, BANDWIDTH = 2e-6, 1e10  # s, bytes per s: assumed, of a common cluster
N_NEWTON = 3  # iterations of a global solve from a good guess


def slab_times(n=5000, repeats=5):
    """Seconds per element: assembly; elimination and recovery in the three kinds of slab; step of the march."""
    problem = find_case("spinning-box").make(t_end=0.0125 * n)
    mesh = tf.TimeMesh.uniform(problem.t_span, n)
    element = tf.BubnovGalerkin(1)
    scale = Scaling.of("full", problem.system, element, 0.0, problem.z0)
    chain = ElementEquations(ElementPlan(problem.system, element), mesh, scale)
    march = tf.solve(problem, tf.MixedGalerkin(1), n_elements=n)
    x = chain.plan.pack(mesh, march.nodal_state, march.nodal_multipliers)
    n_node = chain.plan.columns.n_node
    every = (np.ones(n_node, bool),) * 2
    shared, none = (n_node, n_node), (0, 0)
    kinds = {"all": (chain.assembler, none, none), "first": (chain.assembler, none, shared)}
    behind = Assembler(chain.plan, mesh, every, every, scale)  # its first node takes part
    kinds |= {"inner": (behind, shared, shared), "last": (behind, shared, none)}
    slabs = {}
    for name, (assembler, *ends) in kinds.items():
        p = assembler.pattern
        starts = [np.delete(s, 1) for s in (p.column_starts, p.row_starts)]  # the first block has the first node, too
        slabs[name] = SlabLU(p.indptr, p.indices, *starts, *ends)
    chain.evaluate(x)
    data = {chain.assembler: chain.data, behind: behind.evaluate(x)[1]}
    taken = {name: [] for name in ("assembly", "march", *slabs)}
    for repeat in range(repeats + 1):
        start = time.perf_counter()
        chain.evaluate(x)
        taken["assembly"].append(time.perf_counter() - start)
        for name, slab in slabs.items():
            assembler, start = kinds[name][0], time.perf_counter()
            slab.factor(data[assembler])
            work, reduced = slab.eliminate(np.ones(assembler.pattern.n_rows))
            slab.recover(work, np.zeros(len(reduced)))
            taken[name].append(time.perf_counter() - start)
        taken["march"].append(tf.solve(problem, tf.MixedGalerkin(1), n_elements=n).statistics["seconds"]["solve"])
        if repeat == 0:
            for values in taken.values():
                values.clear()  # compilation
    return {name: statistics.median(values) / n for name, values in taken.items()}, n_node


def interface_time(n_node, n_blocks=1000, repeats=3):
    """Seconds per block of a block-tridiagonal system of nodes between slabs, by SuperLU."""
    rng = np.random.default_rng(0)
    band = [sp.block_diag([rng.normal(size=(n_node, n_node)) for _ in range(n_blocks)], format="lil")]
    n = n_node * n_blocks
    matrix = band[0].tocsc() + sp.diags_array(10 * np.ones(n), format="csc")
    off = sp.block_diag([rng.normal(size=(n_node, n_node)) for _ in range(n_blocks - 1)], format="csc")
    padded = sp.block_array([[None, off], [sp.csc_array((n_node, n_node)), None]], format="csc")
    matrix = sp.csc_matrix(matrix + padded + padded.T)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        spla.splu(matrix, permc_spec="NATURAL").solve(np.ones(n))
        times.append(time.perf_counter() - start)
    return statistics.median(times) / n_blocks


def iteration(p, e, c, block, n_node):
    """Model of one Newton iteration on p ranks with e elements [s]: slabs of equal work, interface on one rank."""
    share = np.where(p == 1, e, e / p)
    work = np.where(p == 1, c["assembly"] + c["all"], c["assembly"] + np.where(p == 2, c["first"], c["inner"]))
    bytes_per_node = 8 * (2 * n_node) ** 2
    gather = np.log2(np.maximum(p, 2)) * LATENCY * 4 + p * bytes_per_node / BANDWIDTH
    return share * work + np.where(p > 1, p * block + gather, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("docs/images/scaling.png"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    c, n_node = slab_times()
    block = interface_time(n_node)
    ranks = np.unique(np.round(np.logspace(0, 4, 81)).astype(int))
    speed, break_even = {}, {}
    for e in (10**5, 10**6, 10**7, 10**8):
        total = iteration(ranks, e, c, block, n_node)
        speed[e] = total[0] / total
        faster = ranks[N_NEWTON * total < e * c["march"]]
        break_even[e] = int(faster[0]) if len(faster) else None
    result = {"microseconds per element": {k: 1e6 * v for k, v in c.items()},
              "microseconds per interface block": 1e6 * block, "unknowns per node": n_node,
              "best ranks": {e: int(ranks[np.argmax(s)]) for e, s in speed.items()},
              "largest speed-up": {e: float(s.max()) for e, s in speed.items()},
              "ranks from which 3 global iterations beat the march": break_even}
    print(json.dumps(result, indent=1) if args.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    draw(ranks, speed, args.output)


def draw(ranks, speed, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for (e, values), style in zip(speed.items(), ("-", "--", ":", "-."), strict=True):
        ax.loglog(ranks, values, style, label=f"$10^{{{round(np.log10(e))}}}$ elements")
    ax.loglog(ranks, ranks, color="0.7", linewidth=1, label="ideal")
    ax.set(xlabel="ranks", ylabel="speed-up of a Newton iteration over 1 rank (model)")
    ax.grid(alpha=0.3)
    ax.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
